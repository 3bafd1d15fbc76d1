// SPDX-License-Identifier: GPL-2.0
/*
 * Filters as pure BPF beside an LRU hash map and a Bloom filter map of the same
 * keys, on this machine's own kernel: nanoseconds of a program's run
 * (BPF_PROG_TEST_RUN with repeat, the least of ROUNDS), new and repeated keys, at
 * an equal window: the map has as many entries as the filter's window has keys.
 * Making the key is in all figures ("null"). Another thread ends epochs.
 *
 * usage: ebpf_bench [KEYS]...	keys of the window (1Mi, 8Mi)
 *
 * A window that is filled within some grace periods (README, "Limits") opens: with
 * less than some 500,000 keys this measures that.
 */
#include "ebpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ebpf/calls.h"
#include "libepf/backend.h"
#include "libepf/epf.h"

#define ROUNDS 5
#define RUNS_MAX 1000000u
#define NAME "bench-ebpf"
#define BUDGET 1e-4

/**
 * struct ours - the programs, over a filter
 * @obj: of ebpf.bpf.c
 * @keys: what they do, mapped
 * @window: in keys
 */
struct ours {
	struct bpf_object *obj;
	struct bench_keys *keys;
	__u64 window;
};

static __u64 next_first = 1;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "ebpf_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static volatile bool stop;

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* where there is one */
}

static void *hold(void *arg)
{
	struct ebpf_hold *h = arg;
	__u64 wait_ns;

	run_on(1);
	while (!stop && ebpf_hold_step(h, &wait_ns) >= 0)
		usleep((useconds_t)(wait_ns / 1000));
	return NULL;
}

static __u64 run(const struct ours *o, const char *program, __u64 first,
		 __u64 cycle, __u32 repeat)
{
	static __u8 packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = packet,
		    .data_size_in = sizeof(packet), .repeat = (int)repeat);
	struct bpf_program *p =
		bpf_object__find_program_by_name(o->obj, program);

	*o->keys = (struct bench_keys){ .first = first, .cycle = cycle };
	must(p && !bpf_prog_test_run_opts(bpf_program__fd(p), &t), program);
	return t.duration;
}

/* Keys that never came, asked of the filter as it is. */
static double measured_error(void)
{
	struct epf_batch b = { .size = sizeof(b), .flags = EPF_BATCH_DIGESTS,
			       .count = 1000000 };
	int dev = epf_dev_open(), f = epf_dev_filter(dev, NAME);
	__u64 *digest = malloc(b.count * sizeof(*digest)), i;

	must(dev >= 0 && f >= 0 && digest, "opening the filter");
	for (i = 0; i < b.count; i++)
		digest[i] = epf_word(0x5eed000000000000ULL + i, 2);
	b.keys = (__u64)(uintptr_t)digest;
	must(!epf_filter_batch(f, EPF_IOC_TEST, &b), "asking");
	free(digest);
	epf_close(f);
	epf_close(dev);
	return (double)b.present / b.count;
}

struct row {
	__u64 fresh;
	__u64 repeat;
	double found;	/* of the repeats */
	double met;	/* error when the window was full of fresh keys */
	double unknown; /* of all verdicts of fresh keys and repeats */
};

static void least(__u64 *to, __u64 ns)
{
	if (!*to || ns < *to)
		*to = ns;
}

static struct row measure(const struct ours *o, const char *program,
			  double (*error)(void))
{
	__u32 runs = o->window < RUNS_MAX ? (__u32)o->window : RUNS_MAX;
	__u64 recent = runs / 8;
	struct row r = { 0 };
	int i;

	for (i = 0; i < ROUNDS; i++) {
		__u64 first = next_first;

		next_first += runs;
		least(&r.fresh, run(o, program, first, 0, runs));
		r.unknown += (double)o->keys->unknown;
		r.met = error ? error() : 0;
		/* what came last, over and over: in the window for sure */
		least(&r.repeat, run(o, program, first + runs - recent, recent,
				     runs));
		r.unknown += (double)o->keys->unknown;
		r.found += (double)o->keys->found / ROUNDS / runs;
	}
	r.unknown /= 2.0 * ROUNDS * runs;
	return r;
}

static void print(const char *what, const struct row *r, double mib,
		  const struct row *lru, const char *more)
{
	printf("  %-16s %6llu %6llu   %9.1f MiB", what, r->fresh, r->repeat,
	       mib);
	if (lru)
		printf("   %5.2f %5.2f", (double)lru->fresh / (double)r->fresh,
		       (double)lru->repeat / (double)r->repeat);
	printf("   %.4f found%s\n", r->found, more);
}

/* Memory that the kernel charges for a map. */
static double map_mib(const struct ours *o, const char *name)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->obj, name);
	char path[64], line[128];
	long long bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(m));
	f = fopen(path, "r");
	must(f, path);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "memlock: %lld", &bytes);
	fclose(f);
	return (double)bytes / (1 << 20);
}

static void load(struct ours *o, const char *path)
{
	struct bpf_map *data;

	o->obj = bpf_object__open_file(path, NULL);
	must(o->obj, path);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(o->obj, "lru"),
				 (__u32)o->window);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(o->obj, "bloom"),
				 (__u32)o->window);
	must(!ebpf_reuse_maps(o->obj, NAME), "the filter's maps");
	must(!bpf_object__load(o->obj), "loading the programs");
	data = bpf_object__find_map_by_name(o->obj, ".bss");
	o->keys = mmap(NULL, sizeof(*o->keys), PROT_READ | PROT_WRITE,
		       MAP_SHARED, bpf_map__fd(data), 0);
	must(o->keys != MAP_FAILED, "the programs' data");
}

static struct epf_params plan(__u64 window, __u32 lines_per_key,
			      struct epf_size *size)
{
	struct epf_size_req req = { .keys_per_window = (double)window,
				    .budget = BUDGET,
				    .lines_per_key = lines_per_key };
	struct epf_params p = { .name = NAME };

	must(!epf_size(&req, size), "sizing");
	p.lines_per_key = (__u16)size->lines_per_key;
	p.bits_per_key = (__u16)size->bits_per_key;
	p.nr_lines = size->nr_lines;
	p.window_inserts = window;
	p.budget_ppt = (__u64)(BUDGET * EPF_RATE_ONE);
	p.limit_ppt = 2 * p.budget_ppt;
	return p;
}

static void one_shape(__u64 window, __u32 lines_per_key, const char *object,
		      struct row *null, struct row *lru)
{
	struct epf_create c = { .size = sizeof(c) };
	struct ours o = { .window = window };
	struct ebpf_hold *h;
	struct epf_size size;
	char what[32], more[96];
	pthread_t thread;
	struct row r;
	__u32 id;

	c.params = plan(window, lines_per_key, &size);
	ebpf_destroy(NAME, true);
	errno = -ebpf_create(&c, &id);
	must(!errno, "making a filter");
	errno = -ebpf_hold_begin(NAME, &h);
	must(!errno, "holding it");
	stop = false;
	must(!pthread_create(&thread, NULL, hold, h), "a thread");
	load(&o, object);
	if (!lru->fresh) {
		*null = measure(&o, "bench_null", NULL);
		print("null", null, 0, NULL, "");
		*lru = measure(&o, "bench_lru", NULL);
		print("LRU hash map", lru, map_mib(&o, "lru"), NULL, "");
		r = measure(&o, "bench_bloom", NULL);
		print("Bloom filter map", &r, map_mib(&o, "bloom"), lru,
		      "   forgets nothing");
	}
	r = measure(&o, "bench_epf", measured_error);
	snprintf(what, sizeof(what), "filter, L = %u", size.lines_per_key);
	snprintf(more, sizeof(more),
		 "   k = %u, error %.1e met, %.1e planned; %.2g not known",
		 size.bits_per_key, r.met, size.fpr, r.unknown);
	print(what, &r, (double)size.nr_lines * 64 / (1 << 20), lru, more);
	stop = true;
	pthread_join(thread, NULL);
	ebpf_hold_end(h);
	bpf_object__close(o.obj);
	ebpf_destroy(NAME, true);
}

static void one_window(__u64 window, const char *object)
{
	static const __u32 lines[] = { 1, 2, 4 };
	struct row null = { 0 }, lru = { 0 };
	size_t i;

	printf("window of %llu keys, error 1e-4; ns new, ns repeat, memory, LRU's "
	       "ns by these\n", window);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		one_shape(window, lines[i], object, &null, &lru);
}

int main(int argc, char **argv)
{
	char object[512];
	int i;

	snprintf(object, sizeof(object), "%s.bpf.o", argv[0]);
	ebpf_backend_add();
	epf_backend_choose(EPF_BACKEND_OTHER);
	run_on(0);
	if (argc == 1) {
		one_window(1 << 20, object);
		one_window(1 << 23, object);
	}
	for (i = 1; i < argc; i++)
		one_window(strtoull(argv[i], NULL, 0), object);
	return 0;
}
