// SPDX-License-Identifier: GPL-2.0
/*
 * kinds_bench: compares all kinds at equal bytes, with so many keys that each
 * key of the window has 14 bits, each kind in its best shape for that. One
 * thread, on ready digests, with the core for one owner (EPF_PRIVATE): no
 * atomics. A report.
 *
 *	kinds_bench [--smoke] [MIB]...	default: 1 512; --smoke: 1 8, which takes
 *					seconds and says little
 *
 * absent	keys never inserted
 * present	keys of the window, of any age
 * insert	new keys; without rotation, which is given per insertion
 * batched	32 keys at a time, prefetched; not for the baselines
 *
 * Filters up to BASE_MIB are filled for two windows. Larger ones, by a multiple
 * of 8, are grown from one of that size, see kind_grow(). Insertions into these
 * are late in an epoch; into small ones they are whole epochs.
 *
 * All filters exist at the same time, 7 GiB at 512 MiB, and take turns, RUNS
 * times. A size for which the machine has no memory is left out. The figures
 * are the median, and the median of the ratios to ge_paper in the same run.
 * Times are CPU times of the thread. If a filter misses keys of its window, the
 * exit status is 1.
 */
#include "../clock.h"
#include "../kinds.h"
#include "../median.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BITS_PER_KEY 14
#define SLACK (1.0 / 7)
#define BASE_MIB 8
#define SMOKE_BASE_MIB 1
#define WINDOWS 2
#define RUNS 5
#define BATCH 32
#define OPS (1u << 19)
#define SMOKE_OPS (1u << 14)
#define FOUND_GROWN .9 /* for dict: keys of the backyard are not found */

enum operation { ABSENT, ABSENT_BATCH, PRESENT, PRESENT_BATCH, INSERT, INSERT_BATCH, OPERATIONS };
static const char *const operation_name[OPERATIONS] = {
	"absent", "batched", "present", "batched", "insert", "batched",
};

/**
 * struct subject - a filter under test
 * @ns: time of an operation, by run
 * @rotate_ns: time of all timed rotations
 * @left: insertions until a rotation is due
 * @next: number of the key to be inserted next
 * @found: found keys of @asked present ones
 */
struct subject {
	struct kind k;
	double ns[OPERATIONS][RUNS];
	double rotate_ns;
	__u64 rotations, left, next;
	__u64 found, asked;
	__u64 *known;
};

static __u64 *fresh;
static __u32 ops = OPS;
static __u64 base_mib = BASE_MIB;

/* Loops with the functions of one kind inlined. Return: hits. */
#define LOOPS(name)                                                         \
	static __u64 name##_tests(const struct kind *k, const __u64 *d)     \
	{                                                                   \
		__u64 hits = 0;                                             \
		__u32 i;                                                    \
                                                                            \
		for (i = 0; i < ops; i++)                                   \
			hits += kind_##name##_test(k, d[i]) > 0;            \
		return hits;                                                \
	}                                                                   \
	static void name##_inserts(struct kind *k, const __u64 *d, __u64 n) \
	{                                                                   \
		__u64 i;                                                    \
                                                                            \
		for (i = 0; i < n; i++)                                     \
			kind_##name##_insert(k, d[i]);                      \
	}

#define BATCHES(name)                                                             \
	static __u64 name##_tests_batch(const struct kind *k, const __u64 *d)     \
	{                                                                         \
		struct kind_probe p[BATCH];                                       \
		__u64 hits = 0;                                                   \
		__u32 i, j;                                                       \
                                                                                  \
		for (i = 0; i < ops; i += BATCH) {                                \
			for (j = 0; j < BATCH; j++)                               \
				kind_##name##_aim(k, d[i + j], &p[j]);            \
			for (j = 0; j < BATCH; j++)                               \
				hits += kind_##name##_test_at(k, &p[j]) > 0;      \
		}                                                                 \
		return hits;                                                      \
	}                                                                         \
	static void name##_inserts_batch(struct kind *k, const __u64 *d, __u64 n) \
	{                                                                         \
		struct kind_probe p[BATCH];                                       \
		__u64 i, j, m;                                                    \
                                                                                  \
		for (i = 0; i < n; i += m) {                                      \
			m = n - i < BATCH ? n - i : BATCH;                        \
			for (j = 0; j < m; j++)                                   \
				kind_##name##_aim_insert(k, d[i + j], &p[j]);     \
			for (j = 0; j < m; j++)                                   \
				kind_##name##_insert_at(k, &p[j]);                \
		}                                                                 \
	}

KINDS(LOOPS)
BATCHES(lanes1)
BATCHES(lanes2)
BATCHES(lanes4)
BATCHES(elastic)
BATCHES(dict)
BATCHES(ge)
BATCHES(ge_paper)
BATCHES(gebl)
BATCHES(apbf)
BATCHES(apbbf)
BATCHES(tlbf)
#define cbf_tests_batch NULL
#define cbf_inserts_batch NULL
#define sbf_tests_batch NULL
#define sbf_inserts_batch NULL

static const struct loops {
	__u64 (*tests[2])(const struct kind *k, const __u64 *d);
	void (*inserts[2])(struct kind *k, const __u64 *d, __u64 n);
} loops[KIND_COUNT] = {
#define TABLE(name)                                             \
	[KIND_##name] = { { name##_tests, name##_tests_batch }, \
			  { name##_inserts, name##_inserts_batch } },
	KINDS(TABLE)
#undef TABLE
};

static void time_tests(struct subject *s, int run, enum operation op)
{
	const struct loops *l = &loops[s->k.ops - kind_ops];
	bool present = op == PRESENT || op == PRESENT_BATCH;
	double begin;
	__u64 hits;

	if (!l->tests[op & 1])
		return;
	begin = cpu_ns();
	hits = l->tests[op & 1](&s->k, present ? s->known : fresh);
	s->ns[op][run] = (cpu_ns() - begin) / ops;
	s->found += present ? hits : 0;
	s->asked += present ? ops : 0;
}

static void rotate(struct subject *s)
{
	double begin = cpu_ns();

	if (!s->k.epochs)
		return;
	s->k.ops->rotate(&s->k);
	s->rotate_ns += cpu_ns() - begin;
	s->rotations++;
	s->left = s->k.epoch_keys;
}

/* Insert new keys in each run, epoch by epoch. */
static void time_inserts(struct subject *s, int run, enum operation op)
{
	const struct loops *l = &loops[s->k.ops - kind_ops];
	static __u64 keys[OPS];
	double begin, ns = 0;
	__u64 i, n;

	if (!l->inserts[op & 1])
		return;
	for (i = 0; i < ops; i++)
		keys[i] = kind_key(s->next++);
	for (i = 0; i < ops; i += n) {
		if (s->k.epochs && !s->left)
			rotate(s);
		n = s->k.epochs && s->left < ops - i ? s->left : ops - i;
		begin = cpu_ns();
		l->inserts[op & 1](&s->k, keys + i, n);
		ns += cpu_ns() - begin;
		s->left -= s->k.epochs ? n : 0;
	}
	s->ns[op][run] = ns / ops;
}

static void *alloc(__u64 bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		fprintf(stderr, "error: no memory for %llu bytes\n", bytes);
		exit(2);
	}
	return p;
}

/* Make a full filter of @mib MiB, and keys of its window. */
static void prepare(struct subject *s, enum kind_nr nr, __u64 mib)
{
	__u64 base = mib < base_mib ? mib : base_mib, times = mib / base, i;
	double window = floor((double)(base << 23) / BITS_PER_KEY);
	struct kind small;
	bool fine;

	fine = !kind_fit(&small, nr, window, BITS_PER_KEY, SLACK) && kind_open(&small);
	if (fine) {
		s->next = kind_fill(&small, WINDOWS);
		s->k = small;
		fine = times == 1 || kind_grow(&s->k, &small, times);
	}
	if (!fine) {
		fprintf(stderr, "error: no memory for %s of %llu MiB\n", kind_ops[nr].name, mib);
		exit(2);
	}
	if (nr <= KIND_lanes4)
		s->k.lanes.f.epoch = &s->k.state.epoch;
	if (times > 1)
		kind_close(&small);
	s->left = times > 1 ? s->k.epoch_keys : 0;
	s->known = alloc(ops * sizeof(*s->known));
	for (i = 0; i < ops; i++)
		s->known[i] = kind_grown_key(&s->k,
					     kind_key(s->next - 1 -
						      epf_mulhi(kind_other(~i), small.window)),
					     times);
}

static double middle_of(const double v[RUNS])
{
	double sorted[RUNS];

	memcpy(sorted, v, sizeof(sorted));
	return median(sorted, RUNS);
}

static void print_ns(const struct subject *s)
{
	int op;

	printf("%-9s %5.2f  %.5f", s->k.ops->name, (double)s->k.bytes * 8 / (double)s->k.window,
	       s->k.fpr);
	for (op = 0; op < OPERATIONS; op++)
		if (s->ns[op][0] > 0)
			printf(" %8.1f", middle_of(s->ns[op]));
		else
			printf("        -");
	if (s->rotations)
		printf(" %8.2f\n", s->rotate_ns / (double)s->rotations / (double)s->k.epoch_keys);
	else
		printf("        -\n");
}

static void print_ratios(const struct subject *s, const struct subject *to)
{
	double ratio[RUNS];
	int op, run;

	printf("%-9s x", s->k.ops->name);
	for (op = 0; op < OPERATIONS; op++) {
		for (run = 0; run < RUNS; run++)
			ratio[run] = to->ns[op][run] / s->ns[op][run];
		if (s->ns[op][0] > 0)
			printf(" %8.2f", middle_of(ratio));
		else
			printf("        -");
	}
	printf("\n");
}

static void print_head(const char *first)
{
	int op;

	printf("%s", first);
	for (op = 0; op < OPERATIONS; op++)
		printf(" %8s", operation_name[op]);
}

/* Return: does each filter find its keys? */
static bool report(const struct subject *s, __u64 mib)
{
	bool fine = true;
	int i;

	printf("%llu MiB, %d bits a key, median of %d runs of %u, ns\n", mib, BITS_PER_KEY, RUNS,
	       ops);
	print_head("kind       bits  error  ");
	printf("   rotate\n");
	for (i = 0; i < KIND_COUNT; i++)
		print_ns(&s[i]);
	print_head("times as fast as ge_paper\nkind       ");
	printf("\n");
	for (i = 0; i < KIND_COUNT; i++)
		print_ratios(&s[i], &s[KIND_ge_paper]);
	for (i = 0; i < KIND_COUNT; i++) {
		double found = (double)s[i].found / (double)s[i].asked;
		double least = i == KIND_sbf                    ? 0 :
			       i == KIND_dict && mib > base_mib ? FOUND_GROWN :
								  1;

		if (found < least)
			printf("%s: finds %.4f of its keys\n", kind_ops[i].name, found);
		fine &= found >= least;
	}
	fflush(stdout);
	return fine;
}

static bool has_memory(__u64 mib)
{
	__u64 page = (__u64)sysconf(_SC_PAGESIZE);
	__u64 free_mib = (__u64)sysconf(_SC_AVPHYS_PAGES) * page >> 20;

	return mib * (KIND_COUNT + 1) < free_mib;
}

static bool run(__u64 mib)
{
	static struct subject s[KIND_COUNT];
	bool fine;
	int i, n, op;

	if (!has_memory(mib)) {
		printf("%llu MiB: left out, not enough memory is free\n", mib);
		return true;
	}
	memset(s, 0, sizeof(s));
	for (i = 0; i < KIND_COUNT; i++)
		prepare(&s[i], i, mib);
	for (n = 0; n < RUNS; n++)
		for (op = ABSENT; op < INSERT; op++)
			for (i = 0; i < KIND_COUNT; i++)
				time_tests(&s[i], n, op);
	for (n = 0; n < RUNS; n++)
		for (op = INSERT; op < OPERATIONS; op++)
			for (i = 0; i < KIND_COUNT; i++)
				time_inserts(&s[i], n, op);
	for (i = 0; i < KIND_COUNT; i++)
		rotate(&s[i]);
	fine = report(s, mib);
	for (i = 0; i < KIND_COUNT; i++) {
		kind_close(&s[i].k);
		free(s[i].known);
	}
	return fine;
}

int main(int argc, char **argv)
{
	bool smoke = argc > 1 && !strcmp(argv[1], "--smoke");
	bool fine = true;
	int i;

	ops = smoke ? SMOKE_OPS : OPS;
	base_mib = smoke ? SMOKE_BASE_MIB : BASE_MIB;
	fresh = alloc(ops * sizeof(*fresh));
	for (i = 0; i < (int)ops; i++)
		fresh[i] = kind_other((__u64)i << 24);
	for (i = 1 + smoke; i < argc; i++) {
		__u64 mib = strtoull(argv[i], NULL, 10);

		if (!mib || (mib > base_mib && mib % (8 * base_mib))) {
			fprintf(stderr,
				"error: %s MiB: up to %llu, or a multiple of 8 times that\n",
				argv[i], base_mib);
			return 2;
		}
		fine &= run(mib);
	}
	if (argc == 1 + smoke) {
		fine &= run(1);
		fine &= run(smoke ? 8 : 512);
	}
	free(fresh);
	return !fine;
}
