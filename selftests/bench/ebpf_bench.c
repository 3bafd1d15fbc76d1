// SPDX-License-Identifier: GPL-2.0
/*
 * Compares filters as pure BPF with an LRU hash map and a Bloom filter map of
 * the same keys, on this machine's own kernel: nanoseconds of a program's run
 * (BPF_PROG_TEST_RUN with repeat, the least of ROUNDS), at an equal window: the
 * maps have as many entries as the filter's window has keys. All figures
 * include making the key ("null"), those of "apart" also the instructions.
 *
 *   new     keys never seen; the filter's window and the LRU map are full, the Bloom
 *           filter is between half full and full
 *   repeat  the keys of the run before, in the same epoch and in the same order, in
 *           which the LRU map's entries lie
 *   mixed   keys of the run before, in disorder
 *   apart   as repeat, with APART instructions before each key. Without them CPUs begin
 *           the next run while the memory of this one is on its way, which they cannot
 *           where a packet takes more instructions than they execute ahead
 *   error   new keys that were found, over the course of an epoch
 *
 * Keys come in runs of at most a quarter of an epoch, and between two runs the
 * filter's holder does the work that is due. So no epoch ends late; otherwise
 * the filter would open and answer "do not know", and the figures would be
 * those of another program. A filter that was open nevertheless, or did not
 * find a repeat, has no figures.
 *
 * usage: ebpf_bench [-j JSON_FILE] [MIB]...       (1 8 64 512)
 *
 * MIB: memory of the filter with one line per key; filters with more lines have
 * less memory for the same window and error. Exit: 0; 1: a filter was open, or
 * something failed.
 */
#include "ebpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ebpf/calls.h"
#include "libepf/epf.h"

#define ROUNDS 5
#define ROUND_KEYS (1u << 19)
#define RUN_MAX 100000u /* keys of a run, which takes far less than a second */
#define NAME "bench-ebpf"
#define BUDGET 1e-4
#define LRU_BYTES 96.0 /* approximate bytes of an entry, to check for memory */

struct counts {
	double ns;
	__u64 keys, found, unknown;
};

/**
 * struct subject - a program, with the memory in which it records keys
 * @what: its name
 * @program: its program in ebpf.bpf.c, which has a second form, "_apart"
 * @map: its map there; NULL: a filter
 * @parts: L of a filter
 * @window: window in keys
 * @obj: object of ebpf.bpf.c
 * @keys: the keys that it makes, mapped
 * @hold: holder of the filter
 * @size: size of the filter
 * @next: number of the next new key
 * @run: keys of a run
 * @ns_new: least time of all rounds for new keys
 * @ns_repeat: likewise for repeats
 * @ns_mixed: likewise for repeats in disorder
 * @ns_apart: likewise for repeats with APART instructions before each
 * @fresh: number of all new keys that were measured
 * @again: number of all repeats
 */
struct subject {
	const char *what, *program, *map;
	__u32 parts;
	__u64 window;
	struct bpf_object *obj;
	struct bench_keys *keys;
	struct ebpf_hold *hold;
	struct epf_size size;
	__u64 next;
	__u32 run;
	double ns_new, ns_repeat, ns_mixed, ns_apart, mib;
	struct counts fresh, again;
};

static const struct subject subjects[] = {
	{ .what = "null", .program = "bench_null", .map = "" },
	{ .what = "LRU hash map", .program = "bench_lru", .map = "lru" },
	{ .what = "Bloom filter map", .program = "bench_bloom", .map = "bloom" },
	{ .what = "filter, L = 1", .program = "bench_epf", .parts = 1 },
	{ .what = "filter, L = 2", .program = "bench_epf", .parts = 2 },
	{ .what = "filter, L = 4", .program = "bench_epf", .parts = 4 },
};

enum { NULL_PROG, LRU, BLOOM, OURS, SUBJECTS = OURS + 3 };

static char object[512];
static bool opened;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "ebpf_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --------------------------------------------------------- subjects ---- */

static void filter_name(const struct subject *s, char *name)
{
	snprintf(name, EPF_NAME_LEN, NAME "-%u", s->parts);
}

/* Return: memory that the kernel charges for a map. */
static double map_mib(const struct subject *s)
{
	struct bpf_map *m = bpf_object__find_map_by_name(s->obj, s->map);
	char path[64], line[128];
	long long bytes = 0;
	FILE *f;

	if (!m)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(m));
	f = fopen(path, "r");
	must(f, path);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "memlock: %lld", &bytes);
	fclose(f);
	return (double)bytes / (1 << 20);
}

/* Is @program the subject's, in either form? */
static bool has_program(const struct subject *s, const char *program)
{
	size_t len = strlen(s->program);

	return !strncmp(program, s->program, len) &&
	       (!program[len] || !strcmp(program + len, "_apart"));
}

static void load(struct subject *s)
{
	struct bpf_program *p;
	struct bpf_map *m;
	char name[EPF_NAME_LEN];

	s->obj = bpf_object__open_file(object, NULL);
	must(s->obj, object);
	bpf_object__for_each_program(p, s->obj)
		bpf_program__set_autoload(p, has_program(s, bpf_program__name(p)));
	if (s->map && (m = bpf_object__find_map_by_name(s->obj, s->map)))
		bpf_map__set_max_entries(m, (__u32)s->window);
	filter_name(s, name);
	if (s->parts)
		must(!ebpf_reuse_maps(s->obj, name), "the filter's maps");
	must(!bpf_object__load(s->obj), "loading the programs");
	m = bpf_object__find_map_by_name(s->obj, ".bss");
	s->keys = mmap(NULL, sizeof(*s->keys), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m),
		       0);
	must(s->keys != MAP_FAILED, "the programs' data");
	if (!s->parts)
		s->mib = map_mib(s);
}

static void unload(struct subject *s)
{
	munmap(s->keys, sizeof(*s->keys));
	bpf_object__close(s->obj);
	s->obj = NULL;
}

static void make_filter(struct subject *s)
{
	struct epf_create c = { .size = sizeof(c) };
	struct epf_params *p = &c.params;
	struct epf_size_req req = {
		.keys_per_window = (double)s->window,
		.budget = BUDGET,
		.lines_per_key = s->parts,
	};
	__u32 id;

	must(!epf_size(&req, &s->size), "sizing");
	filter_name(s, p->name);
	p->lines_per_key = (__u16)s->size.lines_per_key;
	p->bits_per_key = (__u16)s->size.bits_per_key;
	p->nr_lines = s->size.nr_lines;
	p->window_inserts = s->window;
	p->budget_ppt = (__u64)(BUDGET * EPF_RATE_ONE);
	p->limit_ppt = 2 * p->budget_ppt;
	s->mib = (double)p->nr_lines * EPF_LINE_BYTES / (1 << 20);
	ebpf_destroy(p->name, true);
	errno = -ebpf_create(&c, &id);
	must(!errno, "making a filter");
	errno = -ebpf_hold_begin(p->name, &s->hold);
	must(!errno, "holding it");
}

/* ------------------------------------------------------------- runs ---- */

static __u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * 1000 + (__u64)t.tv_nsec / 1000000;
}

/* Do the holder's work. Repeat it if it took long (other programs can make a
 * grace period last), because a filter is overdue one second after the
 * beginning of the work.
 */
static void settle(const struct subject *s)
{
	__u64 wait_ns, began;

	if (!s->hold)
		return;
	do {
		began = now_ms();
		must(ebpf_hold_step(s->hold, &wait_ns) >= 0, "ending epochs");
	} while (now_ms() - began > 100);
}

/* Run @program for @nr keys from number @first on, or for the keys of @mask in
 * disorder, and add the counts to @sum.
 */
static void run_keys(const struct subject *s, const char *program, struct bench_keys keys, __u32 nr,
		     struct counts *sum)
{
	static __u8 packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = (int)nr);
	struct bpf_program *p = bpf_object__find_program_by_name(s->obj, program);

	*s->keys = keys;
	must(p && !bpf_prog_test_run_opts(bpf_program__fd(p), &t), program);
	sum->ns += (double)t.duration * nr;
	sum->keys += nr;
	sum->found += s->keys->found;
	sum->unknown += s->keys->unknown;
}

static void run(const struct subject *s, __u64 first, struct counts *sum)
{
	run_keys(s, s->program, (struct bench_keys){ .first = first }, s->run, sum);
}

static void run_apart(const struct subject *s, __u64 first, struct counts *sum)
{
	char program[64];

	snprintf(program, sizeof(program), "%s_apart", s->program);
	run_keys(s, program, (struct bench_keys){ .first = first }, s->run, sum);
}

/* Run the first keys of a run, as many as the greatest power of two in it, in
 * disorder.
 */
static void run_mixed(const struct subject *s, __u64 first, struct counts *sum)
{
	__u32 bits = 31 - (__u32)__builtin_clz(s->run);
	struct bench_keys keys = { .first = first, .mask = (1ULL << bits) - 1, .half = bits / 2 };

	run_keys(s, s->program, keys, 1u << bits, sum);
}

static void run_new(struct subject *s, __u64 nr, struct counts *sum)
{
	__u64 i;

	for (i = 0; i < nr; i += s->run) {
		settle(s);
		run(s, s->next, sum);
		s->next += s->run;
	}
	settle(s);
}

typedef void (*again_fn)(const struct subject *s, __u64 first, struct counts *sum);

/* Run new keys, which are not measured, and the same keys again by @again. */
static void run_repeat(struct subject *s, __u64 nr, again_fn again, struct counts *sum)
{
	struct counts none = { 0 };
	__u64 i;

	for (i = 0; i < nr; i += s->run) {
		settle(s);
		run(s, s->next, &none);
		again(s, s->next, sum);
		s->next += s->run;
	}
	s->again.unknown += none.unknown;
	settle(s);
}

static void add(struct counts *to, const struct counts *c, double *least)
{
	double ns = c->ns / (double)c->keys;

	if (*least == 0 || ns < *least)
		*least = ns;
	to->keys += c->keys;
	to->found += c->found;
	to->unknown += c->unknown;
}

/* A Bloom filter forgets nothing, so make a new one before it exceeds its load. */
static void renew(struct subject *s, __u64 more)
{
	struct counts none = { 0 };

	if (!s->map || strcmp(s->map, "bloom") || s->next + more <= s->window)
		return;
	unload(s);
	load(s);
	s->next = 0;
	run_new(s, s->window / 2, &none);
}

/* A round has at most a third of a window of keys, so that a Bloom filter suffices. */
static __u64 round_keys(const struct subject *s)
{
	return s->window / 3 < ROUND_KEYS ? s->window / 3 : ROUND_KEYS;
}

static void measure_new(struct subject *s)
{
	struct counts c = { 0 };

	renew(s, round_keys(s) + s->run);
	run_new(s, round_keys(s), &c);
	add(&s->fresh, &c, &s->ns_new);
}

static void measure_again(struct subject *s, again_fn again, double *least)
{
	struct counts c = { 0 };

	renew(s, round_keys(s) + s->run);
	run_repeat(s, round_keys(s), again, &c);
	add(&s->again, &c, least);
}

static void measure_repeat(struct subject *s)
{
	measure_again(s, run, &s->ns_repeat);
}

static void measure_mixed(struct subject *s)
{
	measure_again(s, run_mixed, &s->ns_mixed);
}

static void measure_apart(struct subject *s)
{
	measure_again(s, run_apart, &s->ns_apart);
}

static void rounds(struct subject *all, void (*measure)(struct subject *s))
{
	int s, i;

	for (i = 0; i < ROUNDS; i++)
		for (s = 0; s < SUBJECTS; s++)
			if (all[s].obj)
				measure(&all[s]);
}

/* An epoch is a whole number of runs. Otherwise the keys between its end and
 * the holder's next check would exceed the filter's plan and make errors of the
 * benchmark.
 */
static __u32 run_of(__u64 window)
{
	__u64 epoch = (window + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS;
	__u64 runs = epoch / RUN_MAX < 4 ? 4 : epoch / RUN_MAX + 1;

	return (__u32)((epoch + runs - 1) / runs);
}

/* Bring everything to its load; the LRU map is full only after more than a window. */
static void begin(struct subject *s, const struct subject *as, __u64 window)
{
	struct counts none = { 0 };

	*s = *as;
	s->window = window;
	s->run = run_of(window);
	if (s->parts)
		make_filter(s);
	load(s);
	if (s->map && !strcmp(s->map, "lru"))
		run_new(s, window + window / 4, &none);
	else if (s->parts)
		run_new(s, window + window / EPF_LIVE_EPOCHS, &none);
	else if (*s->map)
		s->next = window; /* renew() */
}

static void end(struct subject *s)
{
	char name[EPF_NAME_LEN];

	if (!s->obj)
		return;
	unload(s);
	if (!s->parts)
		return;
	ebpf_hold_end(s->hold);
	filter_name(s, name);
	ebpf_destroy(name, true);
}

/* ----------------------------------------------------------- report ---- */

/* Return: did the filter answer for all keys, and find all that it had to find? */
static bool good(const struct subject *s)
{
	return !s->parts ||
	       (s->again.found == s->again.keys && !s->again.unknown && !s->fresh.unknown);
}

static double error_of(const struct subject *s)
{
	return (double)s->fresh.found / (double)s->fresh.keys;
}

static void print_times(const struct subject *all, const struct subject *s)
{
	const struct subject *null = &all[NULL_PROG], *lru = &all[LRU];

	printf(" %6.0f %6.0f %6.0f %6.0f   %8.1f MiB", s->ns_new, s->ns_repeat, s->ns_mixed,
	       s->ns_apart, s->mib);
	if (s <= lru || !lru->obj)
		printf("   %23s", "");
	else
		printf("   %5.2f %5.2f %5.2f %5.2f",
		       (lru->ns_new - null->ns_new) / (s->ns_new - null->ns_new),
		       (lru->ns_repeat - null->ns_repeat) / (s->ns_repeat - null->ns_repeat),
		       (lru->ns_mixed - null->ns_mixed) / (s->ns_mixed - null->ns_mixed),
		       (lru->ns_apart - null->ns_apart) / (s->ns_apart - null->ns_apart));
}

static void print(const struct subject *all, const struct subject *s)
{
	printf("  %-17s", s->what);
	if (!s->obj) {
		printf("  not measured: no room for %.0f MiB\n", s->mib);
		return;
	}
	if (!good(s)) {
		printf("  OPEN, no figures: %llu of %llu verdicts \"do not know\", %.4f "
		       "of the repeats found\n",
		       s->fresh.unknown + s->again.unknown, s->fresh.keys + s->again.keys,
		       (double)s->again.found / (double)s->again.keys);
		opened = true;
		return;
	}
	print_times(all, s);
	if (s == &all[NULL_PROG]) {
		printf("\n");
		return;
	}
	printf("   error %7.1e", error_of(s));
	if (s->parts)
		printf(", planned %.1e, k = %u", s->size.fpr, s->size.bits_per_key);
	printf("; %.6f of the repeats found\n", (double)s->again.found / (double)s->again.keys);
}

static void json(FILE *f, const struct subject *all, unsigned int mib)
{
	static bool more;
	const struct subject *s;

	for (s = all; s < all + SUBJECTS; s++) {
		if (!s->obj)
			continue;
		fprintf(f,
			"%s\n {\"mib\": %u, \"window\": %llu, \"subject\": \"%s\", "
			"\"memory_mib\": %.1f, \"open\": %s",
			more ? "," : "", mib, s->window, s->what, s->mib,
			good(s) ? "false" : "true");
		if (good(s))
			fprintf(f,
				", \"new_ns\": %.1f, \"repeat_ns\": %.1f, "
				"\"mixed_ns\": %.1f, \"apart_ns\": %.1f, \"error\": %.3g, \"planned\": %.3g, \"found\": %.6f",
				s->ns_new, s->ns_repeat, s->ns_mixed, s->ns_apart, error_of(s),
				s->size.fpr, (double)s->again.found / (double)s->again.keys);
		fprintf(f, "}");
		more = true;
	}
}

/* Return: the window of a filter of @mib MiB with one line per key. */
static __u64 window_of(unsigned int mib)
{
	struct epf_size_req req = { .keys_per_window = 1e6, .budget = BUDGET, .lines_per_key = 1 };
	struct epf_size size;

	must(!epf_size(&req, &size), "sizing");
	return (__u64)(1e6 * mib * (1 << 20) / EPF_LINE_BYTES / (double)size.nr_lines);
}

/* At most half of the free memory, because the other subjects need memory as well. */
static bool fits(double bytes)
{
	return bytes < (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 2;
}

static void one_size(unsigned int mib, FILE *f)
{
	struct subject all[SUBJECTS];
	__u64 window = window_of(mib);
	int s;

	printf("window of %llu keys, error %g\n  %17s %6s %6s %6s %6s   %12s   LRU's by this, "
	       "less null\n",
	       window, BUDGET, "", "new", "repeat", "mixed", "apart", "memory");
	for (s = 0; s < SUBJECTS; s++) {
		all[s] = subjects[s];
		all[s].mib = LRU_BYTES * (double)window / (1 << 20);
		if (s != LRU || fits(LRU_BYTES * (double)window))
			begin(&all[s], &subjects[s], window);
	}
	rounds(all, measure_new);
	rounds(all, measure_repeat);
	rounds(all, measure_mixed);
	rounds(all, measure_apart);
	for (s = 0; s < SUBJECTS; s++)
		print(all, &all[s]);
	if (f)
		json(f, all, mib);
	for (s = 0; s < SUBJECTS; s++)
		end(&all[s]);
	fflush(stdout);
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* if there is more than one CPU */
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[] = { 1, 8, 64, 512 };
	FILE *f = NULL;
	size_t i;
	int opt;

	while ((opt = getopt(argc, argv, "j:")) == 'j')
		must((f = fopen(optarg, "w")), optarg);
	if (opt != -1)
		return 2;
	snprintf(object, sizeof(object), "%s.bpf.o", argv[0]);
	run_on(0);
	if (f)
		fprintf(f, "[");
	for (i = 0; optind == argc && i < sizeof(sizes) / sizeof(*sizes); i++)
		one_size(sizes[i], f);
	for (; optind < argc; optind++)
		one_size((unsigned int)strtoul(argv[optind], NULL, 0), f);
	if (f)
		fprintf(f, "\n]\n");
	must(!f || !fclose(f), "writing the JSON file");
	return opened;
}
