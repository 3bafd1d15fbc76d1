/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the module share. Their filters have names that begin with "mod-",
 * so that other filters are not touched.
 *
 * Preconditions of a test are checked with test_demand(): if one fails, the program
 * says so and ends.
 */
#ifndef EPFTEST_H
#define EPFTEST_H

#include <epf/hash.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../core/tap.h"
#include "epf.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MS 1000000ULL     /* ns */
#define SEC 1000000000ULL /* ns */
#define PAGE 4096u
/* How long to wait for an expected event, on a slow emulated machine. */
#define PATIENCE_NS (120 * SEC)

/* The hash key of every filter made here. */
extern const __u64 test_key[2];
/* A descriptor of the device. */
extern int test_dev;

/* Open the device. In a VM without the module load it first, from EPF_KO or the build.
 * Without a device end the program (skipped).
 */
void test_open_device(void);
void test_remove_filters(void);

#define test_demand(cond) test_demanded(cond, #cond, __FILE__, __LINE__)
void test_demanded(bool cond, const char *text, const char *file, int line);

static inline void test_begin(int points)
{
	test_open_device();
	tap_plan(points);
}

/* Return: exit status. */
static inline int test_end(void)
{
	test_remove_filters();
	return tap_end();
}

/* Report the test point that @got equals @want, both errnos or numbers. */
__attribute__((format(printf, 3, 4))) static inline bool test_is(long long got, long long want,
								 const char *claim, ...)
{
	char text[200];
	va_list args;

	va_start(args, claim);
	vsnprintf(text, sizeof(text), claim, args);
	va_end(args);
	if (tap_ok(got == want, "%s", text))
		return true;
	printf("# got %lld%s%s, wanted %lld\n", got, got < 0 ? " " : "",
	       got < 0 ? strerror(-got) : "", want);
	return false;
}

static inline void test_skip(const char *claim, const char *reason)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, claim, reason);
}

/* ioctl(2) with a negative errno. */
long test_ioctl(int fd, unsigned long cmd, void *arg);

/* Return: parameters of mode count, refresh, without a limit. */
struct epf_params test_params(const char *name, __u64 nr_lines, __u32 parts, __u32 bits,
			      __u64 window);
/* The same for a locked kind. */
struct epf_params test_locked_params(const char *name, __u32 kind, __u64 window);
/* Is it a resizable kind, whose window is one of time? */
bool test_is_resizable(__u32 kind);
/* Make the window one of time alone. */
void test_set_span(struct epf_params *p, __u64 span_ns);
/* Create the filter, after destroying any of that name. Return: descriptor. */
int test_make(const struct epf_params *params);
int test_make_kind(const struct epf_params *params, const struct epf_shape *shape);
/* The same with 1024 lines, L = 2, k = 10: the false-positive rate is below 1e-9 while
 * it holds fewer than 300 keys.
 */
int test_make_plain(const char *name, __u64 window);
int test_open(const char *name);                  /* descriptor or -errno */
long test_destroy(const char *name, __u32 flags); /* 0 or -errno */
struct epf_info test_info(int fd);
__u32 test_nr_filters(void); /* all filters, of others too */

/* Begin and end a snapshot; @s, or NULL, gets what the device answers. Read the state or the
 * words of a locked kind. Restore a copy: lines, or a state followed by its words. Return: 0
 * or -errno.
 */
long test_snap_begin(int fd, __u64 pin_ns, struct epf_snap *s);
long test_snap_end(int fd, struct epf_snap *s);
long test_snap_read(int fd, __u32 flags, __u64 at, __u64 bytes, void *to);
long test_restore(int fd, const struct epf_snap_header *h, const void *from);
/* Restore the contents of @from, of kind lanes, into @to. */
void test_copy(int from, int to);
bool test_pinned(int fd);
/* For test_wait(); @fd: pointer to a descriptor. */
bool test_saturated(void *fd);
bool test_recovered(void *fd);
bool test_unpinned(void *fd); /* for test_wait() */

/* Digest @i of stream @s: distinct, and random enough for any test. */
static inline __u64 test_digest(__u64 s, __u64 i)
{
	return epf_word(s << 40 | i, 1);
}

/* Write digests @first .. @first + @n - 1 of stream @s. */
void test_draw(__u64 *digests, __u64 s, __u64 first, __u32 n);
/* Return: arguments of a batch of digests, without room for answers. */
struct epf_batch test_batch(__u64 *digests, __u32 count);
/* @cmd with digests @first .. @first + @n - 1 of stream @s, in batches.
 * Return: how many were present, or -errno.
 */
long test_digests(int fd, unsigned long cmd, __u64 s, __u64 first, __u64 n);
void test_insert(int fd, __u64 s, __u64 first, __u64 n);
long test_count(int fd, __u64 s, __u64 first, __u64 n); /* present */

/* Move this thread to a CPU. Return: can it run there? */
bool test_pin(int cpu);

__u64 test_now(void); /* CLOCK_MONOTONIC, ns */
void test_sleep(__u64 ns);
/* Call @met(@arg) until it is true or time is up. Return: did it become true? */
bool test_wait(bool (*met)(void *arg), void *arg);

/* Return: rounds of a repeated test: @many if EPF_THOROUGH is set (kernels.sh), else
 * @few.
 */
unsigned int test_rounds(unsigned int few, unsigned int many);
/* Wait until the current epoch is @epoch or later. */
bool test_wait_epoch(int fd, __u64 epoch);

/* Map @pages of zeros, followed by an inaccessible page. */
void *test_guarded(size_t pages);

/* Return: the number after @name in a file like /proc/meminfo; or the first number. */
long long test_number(const char *path, const char *name);
/* Return: 0 or -errno. */
int test_write(const char *path, const char *text);
/* Has the kernel never warned, oopsed or found a bad page? */
bool test_kernel_calm(void);

#endif /* EPFTEST_H */
