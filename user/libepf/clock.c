// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The offsets of a time namespace are fixed before the first process enters it, and a process
 * with several threads cannot enter another one. So each process reads them once: after
 * unshare(CLONE_NEWTIME), the next child is in another namespace than its parent.
 */
#include "clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS 1000000000LL

/**
 * struct offsets - what this process's clocks are ahead of the kernel's, in ns
 * @state: OFFSETS_READ: the others are valid, read after this with acquire semantics. Any number
 *	of threads may write at once, and all write the same
 */
static struct offsets {
	int state;
	long long monotonic;
	long long boottime;
	bool known;
} offsets;

#define OFFSETS_READ 1

static bool same_link(const char *one, const char *other)
{
	char a[64], b[64];
	ssize_t n = readlink(one, a, sizeof(a)), m = readlink(other, b, sizeof(b));

	return n > 0 && n == m && !memcmp(a, b, (size_t)n);
}

/* Read the offsets that process @pid hands to its children. */
static bool offsets_of(struct offsets *o, const char *pid)
{
	char path[64], clock[16];
	long long s, ns;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/ns/time_for_children", pid);
	if (!same_link("/proc/self/ns/time", path))
		return false;
	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fscanf(f, "%15s %lld %lld", clock, &s, &ns) == 3)
		if (!strcmp(clock, "monotonic"))
			o->monotonic = s * NS + ns;
		else if (!strcmp(clock, "boottime"))
			o->boottime = s * NS + ns;
	fclose(f);
	return true;
}

/* A process that has called unshare() itself is in another namespace than its children, as a rule
 * in that of its parent. A kernel without time namespaces has no file of them.
 */
static struct offsets offsets_read(void)
{
	struct offsets o = { 0 };
	char parent[16];

	snprintf(parent, sizeof(parent), "%d", getppid());
	o.known = offsets_of(&o, "self") || offsets_of(&o, parent) ||
		  (!access("/proc/self/stat", F_OK) && access("/proc/self/ns/time", F_OK));
	return o;
}

/* A child has one thread, so nobody writes meanwhile. */
static void offsets_forget(void)
{
	__atomic_store_n(&offsets.state, 0, __ATOMIC_RELAXED);
}

/* Without memory for the handler, a child keeps the offsets of its parent. */
__attribute__((constructor)) static void offsets_begin(void)
{
	pthread_atfork(NULL, NULL, offsets_forget);
}

static const struct offsets *offsets_here(void)
{
	struct offsets o;

	if (__atomic_load_n(&offsets.state, __ATOMIC_ACQUIRE) == OFFSETS_READ)
		return &offsets;
	o = offsets_read();
	__atomic_store_n(&offsets.monotonic, o.monotonic, __ATOMIC_RELAXED);
	__atomic_store_n(&offsets.boottime, o.boottime, __ATOMIC_RELAXED);
	__atomic_store_n(&offsets.known, o.known, __ATOMIC_RELAXED);
	__atomic_store_n(&offsets.state, OFFSETS_READ, __ATOMIC_RELEASE);
	return &offsets;
}

static long long read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

__u64 epf_clock_ns(void)
{
	return (__u64)(read_ns(EPF_CLOCK_OWN) - offsets_here()->monotonic);
}

__u64 epf_boot_ns(void)
{
	return (__u64)(read_ns(CLOCK_BOOTTIME) - offsets_here()->boottime);
}

__u64 epf_wall_ns(void)
{
	return (__u64)read_ns(CLOCK_REALTIME);
}

struct timespec epf_clock_after(__u64 ns)
{
	long long until = read_ns(EPF_CLOCK_OWN) + (long long)ns;

	return (struct timespec){ .tv_sec = until / NS, .tv_nsec = until % NS };
}

bool epf_clock_known(void)
{
	return offsets_here()->known;
}
