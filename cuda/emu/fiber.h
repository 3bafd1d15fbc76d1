/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Switching of stacks: the machine-specific part of the emulation. It also
 * informs the sanitizers of each switch.
 *
 * On x86-64 a switch is a few instructions. Elsewhere ucontext does it, with a
 * system call each time, and the address sanitizer warns about that.
 */
#ifndef EPF_EMU_FIBER_H
#define EPF_EMU_FIBER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) /* clang's spelling */
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
static inline void __sanitizer_start_switch_fiber(void **, const void *, size_t)
{
}

static inline void __sanitizer_finish_switch_fiber(void *, const void **, size_t *)
{
}
#endif

#if defined(__x86_64__)

typedef void *fiber_context;

/* Callee-saved registers go onto the old stack. */
extern "C" void emu_exchange(fiber_context *from, const fiber_context *to);
__asm__(".text\n"
	".type emu_exchange, @function\n"
	"emu_exchange:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq (%rsi), %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size emu_exchange, . - emu_exchange\n");

/* Prepare the stack as if emu_exchange() had left it at the beginning of @enter. */
static inline void fiber_prepare(fiber_context *c, char *stack, size_t bytes, void (*enter)(void))
{
	void **top = (void **)(void *)(stack + bytes) - 8;

	top[6] = (void *)enter;
	*c = top;
}

#else

#include <ucontext.h>

typedef ucontext_t fiber_context;

static inline void emu_exchange(fiber_context *from, const fiber_context *to)
{
	if (swapcontext(from, to))
		abort();
}

static inline void fiber_prepare(fiber_context *c, char *stack, size_t bytes, void (*enter)(void))
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = bytes;
	makecontext(c, enter, 0);
}

#endif

#define FIBER_PAGE 65536u
#define FIBER_STACK (4 * FIBER_PAGE) /* sanitized frames are large */

/* Return: a stack with an inaccessible page below it. The program ends if there
 * is no memory.
 */
static inline char *fiber_stack(void)
{
	char *map = (char *)mmap(NULL, FIBER_PAGE + FIBER_STACK, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED || mprotect(map, FIBER_PAGE, PROT_NONE))
		abort();
	return map + FIBER_PAGE;
}

static inline void fiber_stack_free(char *stack)
{
	munmap(stack - FIBER_PAGE, FIBER_PAGE + FIBER_STACK);
}

#endif /* EPF_EMU_FIBER_H */
