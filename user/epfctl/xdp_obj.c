// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The BPF objects that this program contains, and what libbpf says about them. */
#include "xdp.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd.h"

#define MODULE "epochfilter"
#define MODULE_BTF "/sys/kernel/btf/" MODULE

/* EPF_BPF_OUT, set by the Makefile, is where the objects were built. */
#define EMBED(name)                                                             \
	__asm__(".pushsection .rodata\n"                                        \
		".balign 8\n" #name "_start:\n"                                 \
		".incbin \"" EPF_BPF_OUT "/" #name ".bpf.o\"\n" #name "_end:\n" \
		".popsection\n");                                               \
	extern const char __attribute__((visibility("hidden"))) name##_start[], name##_end[]

EMBED(xdp_dedup);
EMBED(xdp_dedup_inline);
EMBED(xdp_dedup_bare);
EMBED(epf_bind);
EMBED(tc_mark);
EMBED(reflex);
EMBED(reflex_tc);
EMBED(reflex_bare);
EMBED(reflex_tc_bare);
EMBED(nf);
EMBED(nf_module);
EMBED(admit);
EMBED(log_new);
EMBED(admit_module);
EMBED(log_new_module);
EMBED(reflex_module);
EMBED(reflex_tc_module);
EMBED(epf_hold);

static const struct {
	const char *name;
	const char *start;
	const char *end;
} objects[] = {
	[XDP_OBJ_DEDUP] = { "xdp_dedup", xdp_dedup_start, xdp_dedup_end },
	[XDP_OBJ_DEDUP_INLINE] = { "xdp_dedup_inline", xdp_dedup_inline_start,
				   xdp_dedup_inline_end },
	[XDP_OBJ_DEDUP_BARE] = { "xdp_dedup_bare", xdp_dedup_bare_start, xdp_dedup_bare_end },
	[XDP_OBJ_BIND] = { "epf_bind", epf_bind_start, epf_bind_end },
	[XDP_OBJ_TC_MARK] = { "tc_mark", tc_mark_start, tc_mark_end },
	[XDP_OBJ_REFLEX] = { "reflex", reflex_start, reflex_end },
	[XDP_OBJ_REFLEX_TC] = { "reflex_tc", reflex_tc_start, reflex_tc_end },
	[XDP_OBJ_REFLEX_BARE] = { "reflex_bare", reflex_bare_start, reflex_bare_end },
	[XDP_OBJ_REFLEX_TC_BARE] = { "reflex_tc_bare", reflex_tc_bare_start, reflex_tc_bare_end },
	[XDP_OBJ_NF] = { "nf", nf_start, nf_end },
	[XDP_OBJ_NF_MODULE] = { "nf_module", nf_module_start, nf_module_end },
	[XDP_OBJ_ADMIT] = { "admit", admit_start, admit_end },
	[XDP_OBJ_LOG_NEW] = { "log_new", log_new_start, log_new_end },
	[XDP_OBJ_ADMIT_MODULE] = { "admit_module", admit_module_start, admit_module_end },
	[XDP_OBJ_LOG_NEW_MODULE] = { "log_new_module", log_new_module_start, log_new_module_end },
	[XDP_OBJ_REFLEX_MODULE] = { "reflex_module", reflex_module_start, reflex_module_end },
	[XDP_OBJ_REFLEX_TC_MODULE] = { "reflex_tc_module", reflex_tc_module_start,
				       reflex_tc_module_end },
	[XDP_OBJ_HOLD] = { "epf_hold", epf_hold_start, epf_hold_end },
};

struct bpf_object *xdp_obj_open(enum xdp_obj which)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = objects[which].name);
	size_t len = (size_t)(objects[which].end - objects[which].start);
	struct bpf_object *obj;

	obj = bpf_object__open_mem(objects[which].start, len, &opts);
	if (!obj)
		fail_errno(errno, "cannot open the BPF object %s: %m", objects[which].name);
	return obj;
}

/* A more informative complaint replaces a less informative one; of equals the first stays. */
enum telling { SAYS_NOTHING, SAYS_LIBRARY, SAYS_VERIFIER, SAYS_KERNEL };
static enum telling telling;
static char complaint[256];
static char program[32]; /* the one that the verifier complained of */

static void complain(enum telling how, const char *text, size_t len)
{
	if (how <= telling)
		return;
	telling = how;
	snprintf(complaint, sizeof(complaint), "%.*s", (int)len, text);
}

/* The verifier's reason is its last line before the statistics. */
static void complain_log(const char *log)
{
	const char *end = strstr(log, "\nprocessed "), *line;

	if (!end)
		return;
	for (line = end; line > log && line[-1] != '\n'; line--)
		;
	complain(SAYS_VERIFIER, line, (size_t)(end - line));
}

/* libbpf's messages about a program begin with "libbpf: prog 'NAME': ". */
static void note_program(const char *text)
{
	static const char begin[] = "prog '";
	const char *name = strstr(text, begin);

	if (!name)
		return;
	name += sizeof(begin) - 1;
	snprintf(program, sizeof(program), "%.*s", (int)strcspn(name, "'"), name);
}

static void xdp_obj_note(const char *text)
{
	static const char kernels[] = "Kernel error message: ";
	const char *said = strstr(text, kernels);

	if (said) {
		said += sizeof(kernels) - 1;
		complain(SAYS_KERNEL, said, strcspn(said, "\n"));
	} else if (strstr(text, "BEGIN PROG LOAD LOG")) {
		note_program(text);
		complain_log(text);
	} else {
		complain(SAYS_LIBRARY, text, strcspn(text, "\n"));
	}
}

int xdp_obj_keep(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return -1;
	xdp_obj_note(text);
	free(text);
	return 0;
}

static int epfctl_xdp_obj_keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? xdp_obj_keep(fmt, ap) : 0;
}

void xdp_obj_quiet(void)
{
	telling = SAYS_NOTHING;
	complaint[0] = 0;
	libbpf_set_print(epfctl_xdp_obj_keep);
}

const char *xdp_obj_complaint(void)
{
	return complaint;
}

bool xdp_obj_refused(void)
{
	return telling == SAYS_VERIFIER;
}

bool xdp_obj_needs_perfmon(const char *doing)
{
	struct utsname kernel;

	if (!xdp_obj_refused() || caps_perfmon())
		return false;
	uname(&kernel);
	fail("%s needs CAP_PERFMON on Linux %s, whose verifier refuses program %s "
	     "without it: %s",
	     doing, kernel.release, program, complaint);
	return true;
}

bool xdp_obj_possible(void)
{
	if (access("/sys/kernel/btf/vmlinux", F_OK))
		fail("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF), so programs "
		     "cannot call the module: use a filter that is pure BPF");
	else if (access("/sys/module/" MODULE, F_OK))
		fail("the module is not loaded: run 'modprobe " MODULE "'");
	else if (access(MODULE_BTF, F_OK))
		fail("the module was loaded without BTF, so programs cannot "
		     "call it: 'epfctl doctor' says why");
	else
		return true;
	return false;
}
