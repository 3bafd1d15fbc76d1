// SPDX-License-Identifier: GPL-2.0
/*
 * A filter of most of the memory: creating, rotating, clearing, copying and destroying
 * it stalls no other process, and its memory is charged to its creator.
 *
 * The test watches another filter, which another process uses without pause on another
 * CPU. On an emulated machine short stalls are normal, so a stall fails only if it is
 * much longer than the longest time for which either CPU itself stood still; the
 * longest one is reported.
 */
#include "epftest.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MIB (1ULL << 20)
#define MIB_LINES (MIB / 64)
#define GROSS_NS (5 * SEC)
#define PARAMETERS "/sys/module/epochfilter/parameters/"
#define CGROUP "/sys/fs/cgroup"
#define GROUP CGROUP "/epf-big"

/**
 * struct pulse - progress of the other processes
 * @worst_ns: longest batch since this was zero
 * @batches: batches done
 * @still_ns: longest time for which a CPU stood still since this was zero
 */
static struct pulse {
	atomic_ullong worst_ns;
	atomic_ullong batches;
	atomic_ullong still_ns[2];
} * pulse;

static void note(atomic_ullong *worst, __u64 since)
{
	__u64 took = test_now() - since;

	if (took > *worst)
		*worst = took;
}

static void beat(int fd)
{
	__u64 i, start;

	test_pin(1); /* there may be only one CPU */
	for (i = 0;; i++) {
		start = test_now();
		test_insert(fd, 1, i * 512, 512);
		note(&pulse->worst_ns, start);
		pulse->batches++;
	}
}

static void watch_cpu(int cpu)
{
	__u64 start;

	test_pin(cpu);
	for (;;) {
		start = test_now();
		test_sleep(MS);
		note(&pulse->still_ns[cpu], start);
	}
}

static bool beats(void *arg)
{
	return pulse->batches;
}

static pid_t beside[3];

static void start_pulse(void)
{
	int fd = test_make_plain("mod-pulse", 7000), i;

	pulse = mmap(NULL, sizeof(*pulse), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	test_demand(pulse != MAP_FAILED);
	fflush(stdout);
	for (i = 0; i < 3; i++) {
		beside[i] = fork();
		test_demand(beside[i] >= 0);
		if (!beside[i] && i < 2)
			watch_cpu(i);
		if (!beside[i])
			beat(fd);
	}
	test_pin(0);
	test_demand(test_wait(beats, NULL));
}

static void stop_pulse(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		kill(beside[i], SIGKILL);
		waitpid(beside[i], NULL, 0);
	}
}

static void set_caps(const char *mib)
{
	test_demand(!test_write(PARAMETERS "max_filter_mib", mib));
	test_demand(!test_write(PARAMETERS "max_total_mib", mib));
}

static __u64 began;

static void watch(void)
{
	pulse->worst_ns = 0;
	pulse->still_ns[0] = 0;
	pulse->still_ns[1] = 0;
	began = test_now();
}

static void calm(const char *what)
{
	__u64 took = test_now() - began;
	__u64 still = pulse->still_ns[0] + pulse->still_ns[1];

	tap_ok(pulse->worst_ns < GROSS_NS + 2 * still,
	       "%s, %llu ms: no batch beside it takes longer than %llu ms; CPUs stood still for %llu",
	       what, took / MS, pulse->worst_ns / MS, still / MS);
}

static long long free_kib(void)
{
	return test_number("/proc/meminfo", "MemFree:");
}

static bool freed(void *arg)
{
	return free_kib() > *(long long *)arg;
}

/* Touch every page up to the last, in an order that defeats read-ahead. */
static void touch_all(int fd, __u64 bytes)
{
	const volatile char *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	__u64 off;

	test_demand(at != MAP_FAILED);
	for (off = 0; off < bytes; off += 16 * PAGE)
		(void)at[off];
	munmap((void *)at, bytes);
}

#define BIG_POINTS 10
static void try_big(void)
{
	__u64 mib = test_number("/proc/meminfo", "MemAvailable:") / 1024 * 2 / 3;
	struct epf_params p = test_params("mod-big", mib * MIB_LINES, 2, 10, 1ULL << 30);
	/* KASAN keeps freed memory, and its metadata, for a while. */
	long long before = free_kib() - (64 + (long long)mib / 16) * 1024;
	int fd;

	start_pulse();
	watch();
	test_is(epf_dev_create(test_dev, &p, test_key, NULL), 0, "a filter of %llu MiB", mib);
	calm("creating");
	fd = test_open(p.name);
	test_demand(fd >= 0);
	test_insert(fd, 2, 0, 20000);
	watch();
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	calm("rotating");
	test_is(test_count(fd, 2, 0, 20000), 20000, "all keys are there");
	watch();
	test_demand(!epf_filter_clear(fd));
	calm("clearing");
	test_is(test_count(fd, 2, 0, 20000), 0, "no key is there");
	watch();
	touch_all(fd, mib * MIB);
	calm("reading all of it");
	close(fd);
	watch();
	test_is(test_destroy(p.name, 0), 0, "destroyed");
	tap_ok(test_wait(freed, &before), "the memory comes back");
	calm("destroying");
	stop_pulse();
}

#define MANY 32
#define MANY_POINTS 5
static void try_too_much(void)
{
	__u64 mib = test_number("/proc/meminfo", "MemTotal:") / 1024;
	struct epf_params p = test_params("mod-big", mib * MIB_LINES, 1, 5, 700);
	long long before = free_kib() - 64 * 1024;
	long err = 0;
	int i, nr;

	test_is(epf_dev_create(test_dev, &p, NULL, NULL), -ENOMEM,
		"as much as all memory, %llu MiB: ENOMEM", mib);
	p.nr_lines /= 8;
	for (nr = 0; nr < MANY && !err; nr++) {
		snprintf(p.name, sizeof(p.name), "mod-many-%d", nr);
		err = epf_dev_create(test_dev, &p, NULL, NULL);
	}
	test_is(err, -ENOMEM, "an eighth again and again: ENOMEM in the end");
	tap_ok(nr > 4, "that was the %dth", nr);
	for (i = 0; i < nr - 1; i++) {
		snprintf(p.name, sizeof(p.name), "mod-many-%d", i);
		test_demand(!test_destroy(p.name, 0));
	}
	tap_ok(test_wait(freed, &before), "the memory comes back");
	test_is(test_number("/proc/vmstat", "oom_kill "), 0, "nobody was killed for it");
}

/* Create in a new memory control group. Return: result of the creation. */
static long create_in_group(const struct epf_params *p)
{
	char pid[16];
	int status;
	pid_t child = fork();

	if (!child) {
		snprintf(pid, sizeof(pid), "%d", getpid());
		if (test_write(GROUP "/cgroup.procs", pid))
			_exit(255);
		_exit(-epf_dev_create(test_dev, p, NULL, NULL));
	}
	test_demand(child > 0 && waitpid(child, &status, 0) == child);
	test_demand(WIFEXITED(status) && WEXITSTATUS(status) != 255);
	return -WEXITSTATUS(status);
}

static long long charged(void)
{
	return test_number(GROUP "/memory.current", "");
}

static bool uncharged(void *arg)
{
	return charged() < (long long)(4 * MIB);
}

static bool make_group(void)
{
	test_write(CGROUP "/cgroup.subtree_control", "+memory");
	return (!mkdir(GROUP, 0755) || errno == EEXIST) && !access(GROUP "/memory.max", W_OK);
}

#define GROUP_POINTS 6
static void try_group(void)
{
	struct epf_params p = test_params("mod-group", 64 * MIB_LINES, 2, 10, 700);
	int i;

	if (!make_group()) {
		for (i = 0; i < GROUP_POINTS; i++)
			test_skip("memory control group", "there are none");
		return;
	}
	test_is(create_in_group(&p), 0, "64 MiB made in a control group");
	tap_ok(charged() >= (long long)(64 * MIB), "are charged to it: %llu KiB", charged() / 1024);
	test_demand(!test_destroy(p.name, 0));
	tap_ok(test_wait(uncharged, NULL), "destroyed by another, they are uncharged");
	test_demand(!test_write(GROUP "/memory.max", "33554432"));
	test_is(create_in_group(&p), -ENOMEM, "above memory.max: ENOMEM");
	test_is(test_number(GROUP "/memory.events", "oom_kill "), 0, "nobody was killed for it");
	p.nr_lines = 16 * MIB_LINES;
	test_is(create_in_group(&p), 0, "below memory.max");
	test_demand(!test_destroy(p.name, 0));
	test_wait(uncharged, NULL);
	rmdir(GROUP);
}

int main(void)
{
	test_begin(BIG_POINTS + MANY_POINTS + GROUP_POINTS + 1);
	set_caps("1048576");
	try_group();
	try_big();
	try_too_much();
	set_caps("0");
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
