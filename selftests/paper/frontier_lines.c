// SPDX-License-Identifier: GPL-2.0
/*
 * Count the lines that the core touches. This file is compiled with -fsanitize=thread and
 * linked without its runtime: the compiler inserts a call at each load and store, and the
 * functions here record the lines. So the traced code is the core itself. Prefetches are
 * not counted.
 *
 * Everything that is neither on the stack nor in the filter's struct counts as its memory.
 */
#include "frontier.h"

#include <math.h>

#define STACK (1u << 20)
#define LINE 64
#define SEEN_MAX 512

static struct {
	const char *own; /* the filter's struct */
	__u64 seen[SEEN_MAX];
	unsigned int nr;
} watch;

#define HOOK __attribute__((no_sanitize("thread"))) void

static HOOK touch(const char *p, unsigned int bytes)
{
	const char *here = __builtin_frame_address(0);
	__u64 line = (__u64)p / LINE, end = ((__u64)p + bytes - 1) / LINE;
	unsigned int i;

	if (!watch.own || (p > here - STACK && p < here + STACK) ||
	    (p >= watch.own && p < watch.own + sizeof(struct kind)))
		return;
	for (; line <= end; line++) {
		for (i = 0; i < watch.nr && watch.seen[i] != line; i++)
			;
		if (i == watch.nr && i < SEEN_MAX)
			watch.seen[watch.nr++] = line;
	}
}

/* clang-format off */
#define HOOKS(bytes)							\
	HOOK __tsan_read##bytes(void *p);				\
	HOOK __tsan_read##bytes(void *p) { touch(p, bytes); }		\
	HOOK __tsan_write##bytes(void *p);				\
	HOOK __tsan_write##bytes(void *p) { touch(p, bytes); }		\
	HOOK __tsan_unaligned_read##bytes(void *p);			\
	HOOK __tsan_unaligned_read##bytes(void *p) { touch(p, bytes); }	\
	HOOK __tsan_unaligned_write##bytes(void *p);			\
	HOOK __tsan_unaligned_write##bytes(void *p) { touch(p, bytes); }
/* clang-format on */
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

HOOK __tsan_read_range(void *p, long n);
HOOK __tsan_read_range(void *p, long n)
{
	touch(p, (unsigned int)n);
}

HOOK __tsan_write_range(void *p, long n);
HOOK __tsan_write_range(void *p, long n)
{
	touch(p, (unsigned int)n);
}

HOOK __tsan_init(void);
HOOK __tsan_init(void)
{
}

HOOK __tsan_func_entry(void *p);
HOOK __tsan_func_entry(void *p)
{
	(void)p;
}

HOOK __tsan_func_exit(void *p);
HOOK __tsan_func_exit(void *p)
{
	(void)p;
}

/* The compiler does not know what the hooks do: results of tests must be used, and memory
 * that the hooks write may have changed.
 */
#define USED(v) __asm__ volatile("" : : "r"(v) : "memory")

#define TEST(name)                                   \
	case KIND_##name:                            \
		USED(kind_##name##_test(k, digest)); \
		break;
static __attribute__((noinline)) void test(const struct kind *k, __u64 digest)
{
	switch (k->ops - kind_ops) {
		KINDS(TEST)
	}
}

#define INSERT(name)                             \
	case KIND_##name:                        \
		kind_##name##_insert(k, digest); \
		break;
static __attribute__((noinline)) void insert(struct kind *k, __u64 digest)
{
	if (k->ops == &kind_ops[KIND_tlbf]) { /* the worker does not run here */
		epf_tlbf_insert(&k->tlbf.f, digest, k->now_ns);
		return;
	}
	switch (k->ops - kind_ops) {
		KINDS(INSERT)
	}
	USED(k);
}

static HOOK begin(const struct kind *k)
{
	watch.nr = 0;
	watch.own = (const char *)k;
	USED(k);
}

/* Return: number of lines touched since the last call; updates the maxima in @lines. */
static __attribute__((no_sanitize("thread"))) double end(struct lines *lines)
{
	__u64 first = ~0ULL, last = 0;
	unsigned int i;

	USED(lines);
	watch.own = NULL;
	for (i = 0; i < watch.nr; i++) {
		first = watch.seen[i] < first ? watch.seen[i] : first;
		last = watch.seen[i] > last ? watch.seen[i] : last;
	}
	if (lines && watch.nr > lines->most)
		lines->most = watch.nr;
	if (lines && watch.nr && last - first > lines->apart)
		lines->apart = last - first;
	return watch.nr;
}

/* Mean number of lines until a position is not set, if a share @set is set. */
static double until_unset(double set, unsigned int bits)
{
	return (1 - pow(set, bits)) / (1 - set);
}

static bool computed(const struct kind *k, struct lines *lines)
{
	unsigned int bits;

	if (k->ops == &kind_ops[KIND_cbf]) {
		bits = k->cbf.shape.bits;
		lines->insert = 2 * bits + 1;
	} else if (k->ops == &kind_ops[KIND_sbf]) {
		bits = k->sbf.shape.bits;
		lines->insert = bits + k->sbf.shape.decrements;
	} else {
		return false;
	}
	lines->absent = until_unset(pow(k->fpr, 1.0 / bits), bits);
	lines->present = bits;
	lines->most = bits;
	return true;
}

void lines_count(struct kind *k, __u64 inserted, __u64 tests, struct lines *lines)
{
	__u64 i, oldest = inserted - k->window;

	*lines = (struct lines){ 0 };
	if (computed(k, lines))
		return;
	for (i = 0; i < tests; i++) {
		begin(k);
		test(k, kind_other(i << 40));
		lines->absent += end(lines) / (double)tests;
		begin(k);
		test(k, kind_key(oldest + epf_mulhi(kind_other(i), k->window)));
		lines->present += end(lines) / (double)tests;
	}
	for (i = 0; i < tests / 10; i++) {
		begin(k);
		insert(k, kind_key(inserted + i));
		lines->insert += end(NULL) / (double)(tests / 10);
	}
}
