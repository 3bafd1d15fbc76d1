// SPDX-License-Identifier: GPL-2.0
/*
 * snap_bench: a snapshot of a large filter while keys are inserted without
 * pause. It measures
 * - how long a batch of insertions takes, the slowest of a thousand and the
 *   slowest of all, with a snapshot under way and without;
 * - how often an insertion waits (voluntary context switches), which none does
 *   while the snapshot holds rotation;
 * - the time of the copy, compared with memcpy() of a mapping into memory, both
 *   of them new.
 *
 * A report; it asserts only that insertions continued.
 *
 * usage: snap_bench [MIB [RUNS]]    (4096 3)
 *
 * Each CPU except the first has a process that inserts; the first CPU makes the
 * copy. Memory: twice the filter. Needs root and the module.
 */
#include <math.h>
#include <stdint.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <audit.h>

#include "../clock.h"
#include "../median.h"
#include "../params.h"

#define NAME "bench-snap"
#define BATCH 64u
#define INSERTERS_MAX 64
#define RUNS_MAX 32u
#define ALONE_NS 3000000000ULL /* measured without a snapshot */

/* Return: the histogram bin of a time, four for each doubling. */
#define BUCKETS 256u

/**
 * struct inserter - an inserting process
 * @worst_ns: longest batch since this was set to zero
 * @took: histogram of the batches since then, by time
 * @waits: voluntary context switches before that
 */
struct inserter {
	uint64_t worst_ns;
	uint64_t took[BUCKETS];
	uint64_t waits;
	pid_t pid;
};

/**
 * struct load - measurements of all inserters
 * @batches: batches per second
 * @slow_ms: 999 of 1000 batches took less, or up to a fifth more than that
 * @worst_ms: longest batch
 * @waits: how often batches waited, per second
 */
struct load {
	double batches;
	double slow_ms;
	double worst_ms;
	double waits;
};

static struct inserter *inserters; /* shared memory */
static int nr_inserters;

static void demand(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "error: %s\n", what);
	exit(1);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	demand(!sched_setaffinity(0, sizeof(set), &set), "no such CPU");
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int top = 63 - (unsigned int)__builtin_clzll(ns | 4);

	return 4 * top + (ns >> (top - 2) & 3);
}

static double bucket_ns(unsigned int bucket)
{
	return (4 + bucket % 4) * ldexp(1, (int)(bucket / 4) - 2);
}

/* Insert until killed, at the latest when the parent ends. */
static void insert(struct inserter *t, int filter, uint64_t stream)
{
	uint64_t digest[BATCH], start, took, n = 0;
	struct epf_batch b = {
		.size = sizeof(b),
		.flags = EPF_BATCH_DIGESTS,
		.count = BATCH,
		.keys = (uintptr_t)digest,
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (unsigned int i = 0; i < BATCH; i++)
			digest[i] = epf_word(stream + n++, 1);
		start = wall_ns();
		demand(!ioctl(filter, EPF_IOC_INSERT, &b), "insert");
		took = wall_ns() - start;
		if (took > __atomic_load_n(&t->worst_ns, __ATOMIC_RELAXED))
			__atomic_store_n(&t->worst_ns, took, __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->took[bucket_of(took)], 1, __ATOMIC_RELAXED);
	}
}

static void start_inserters(int filter)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	nr_inserters = cpus < 2 ? 1 : cpus > INSERTERS_MAX ? INSERTERS_MAX : (int)cpus - 1;
	inserters = mmap(NULL, sizeof(*inserters) * INSERTERS_MAX, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	demand(inserters != MAP_FAILED, "no memory");
	for (int i = 0; i < nr_inserters; i++) {
		pid_t pid = fork();

		demand(pid >= 0, "no process");
		if (!pid) {
			stay_on(cpus < 2 ? 0 : i + 1);
			insert(&inserters[i], filter, (uint64_t)i << 48);
		}
		inserters[i].pid = pid;
	}
	stay_on(0);
}

static void stop_inserters(void)
{
	for (int i = 0; i < nr_inserters; i++) {
		kill(inserters[i].pid, SIGKILL);
		waitpid(inserters[i].pid, NULL, 0);
	}
}

static uint64_t waits(pid_t pid)
{
	static const char field[] = "voluntary_ctxt_switches:";
	unsigned long long n = 0;
	char path[32], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	demand(f, "an inserter has ended");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, sizeof(field) - 1))
			n = strtoull(line + sizeof(field) - 1, NULL, 10);
	fclose(f);
	return n;
}

static void load_begin(void)
{
	for (int i = 0; i < nr_inserters; i++) {
		inserters[i].waits = waits(inserters[i].pid);
		__atomic_store_n(&inserters[i].worst_ns, 0, __ATOMIC_RELAXED);
		for (unsigned int b = 0; b < BUCKETS; b++)
			__atomic_store_n(&inserters[i].took[b], 0, __ATOMIC_RELAXED);
	}
}

/* Return: the least time of the slowest in a thousand. */
static double slow_ns(const uint64_t took[BUCKETS], uint64_t batches)
{
	uint64_t slower = 0;
	unsigned int b = BUCKETS;

	while (b && slower <= batches / 1000)
		slower += took[--b];
	return bucket_ns(b);
}

static struct load load_since(uint64_t start)
{
	uint64_t took[BUCKETS] = { 0 }, batches = 0, worst = 0, waited = 0;

	for (int i = 0; i < nr_inserters; i++) {
		const struct inserter *t = &inserters[i];
		uint64_t ns = __atomic_load_n(&t->worst_ns, __ATOMIC_RELAXED);

		for (unsigned int b = 0; b < BUCKETS; b++) {
			uint64_t n = __atomic_load_n(&t->took[b], __ATOMIC_RELAXED);

			took[b] += n;
			batches += n;
		}
		worst = ns > worst ? ns : worst;
		waited += waits(t->pid) - t->waits;
	}
	start = wall_ns() - start;
	return (struct load){ batches * 1e9 / start, slow_ns(took, batches) / 1e6, worst / 1e6,
			      waited * 1e9 / start };
}

/**
 * struct copied - times of a snapshot
 * @start: before everything
 * @held: from when rotation is held
 * @end: when the last line was copied
 * @load: measurements since rotation is held
 */
struct copied {
	uint64_t start, held, end;
	struct load load;
};

static int note(void *ctx, __u64 done, __u64 all)
{
	struct copied *c = ctx;

	if (!c->held) {
		load_begin();
		c->held = wall_ns();
	}
	if (done < all)
		return 0;
	c->end = wall_ns();
	c->load = load_since(c->held);
	return 0;
}

static double snapshot(int filter, struct load *load)
{
	struct epf_snap_file file;
	struct copied c = { .start = wall_ns() };

	demand(!epf_snap_copy(filter, &file, note, &c), "snapshot");
	epf_snap_close(&file);
	*load = c.load;
	return (c.end - c.start) / 1e9;
}

static double plain(int filter, size_t bytes)
{
	uint64_t start = wall_ns();
	void *from = mmap(NULL, bytes, PROT_READ, MAP_SHARED, filter, 0);
	void *to = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	double seconds;

	demand(from != MAP_FAILED && to != MAP_FAILED, "no memory");
	madvise(to, bytes, MADV_HUGEPAGE);
	memcpy(to, from, bytes);
	seconds = (wall_ns() - start) / 1e9;
	munmap(from, bytes);
	munmap(to, bytes);
	return seconds;
}

static struct load alone(void)
{
	struct timespec t = { ALONE_NS / 1000000000, ALONE_NS % 1000000000 };
	uint64_t start = wall_ns();

	load_begin();
	nanosleep(&t, NULL);
	return load_since(start);
}

static void measure(int filter, size_t bytes, unsigned int runs)
{
	double ratio[RUNS_MAX], slow[RUNS_MAX], worst_alone = 0, worst_with = 0;

	for (unsigned int r = 0; r < runs; r++) {
		struct load without = alone(), with;
		double copy = snapshot(filter, &with);
		double memcpy_s = plain(filter, bytes);

		demand(with.batches > 0, "nobody inserted meanwhile");
		printf("run %u  copy %.2f GB/s  memcpy %.2f GB/s  ratio %.2f  "
		       "one batch in 1000 takes %.3f ms, without %.3f ms  "
		       "longest %.2f ms, without %.2f ms  "
		       "batches/s %.0f, without %.0f  "
		       "waits/s %.1f, without %.1f\n",
		       r + 1, bytes / copy / 1e9, bytes / memcpy_s / 1e9, memcpy_s / copy,
		       with.slow_ms, without.slow_ms, with.worst_ms, without.worst_ms, with.batches,
		       without.batches, with.waits, without.waits);
		ratio[r] = memcpy_s / copy;
		slow[r] = with.slow_ms / without.slow_ms;
		worst_with = with.worst_ms > worst_with ? with.worst_ms : worst_with;
		worst_alone = without.worst_ms > worst_alone ? without.worst_ms : worst_alone;
	}
	median(ratio, (size_t)runs);
	median(slow, (size_t)runs);
	printf("%zu MiB  copy to memcpy %.2f  one batch in 1000 %.2f times as long  longest batch %.2f ms, without a snapshot %.2f ms\n",
	       bytes >> 20, ratio[runs / 2], slow[runs / 2], worst_with, worst_alone);
}

static int make(int dev, size_t bytes)
{
	struct epf_params p = { .name = NAME, PARAMS(bytes / 64, 1, 5, 7 * 20000) };
	int filter;

	epf_dev_destroy(dev, NAME, true);
	demand(!epf_dev_create(dev, &p, NULL, NULL), "the filter is not made: "
						     "see the module's limits of memory");
	filter = epf_dev_filter(dev, NAME);
	demand(filter >= 0, "the filter is not opened");
	return filter;
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 4096) << 20;
	unsigned int runs = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 3;
	int dev = epf_dev_open(), filter;

	setvbuf(stdout, NULL, _IOLBF, 0);
	demand(dev >= 0, "no device");
	demand(runs && runs <= RUNS_MAX, "1 to 32 runs");
	filter = make(dev, bytes);
	start_inserters(filter);
	measure(filter, bytes, runs);
	stop_inserters();
	close(filter);
	demand(!epf_dev_destroy(dev, NAME, true), "the filter stays");
	return 0;
}
