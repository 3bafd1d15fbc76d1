// SPDX-License-Identifier: GPL-2.0
/*
 * audit_bench: compares the engines of an audit on ready digests in memory. A
 * report; it asserts only that all engines give the same bitmap.
 *
 * usage: audit_bench [MIB]...    (1 70 512)
 *
 * Lines are filled as at 14 bits per key of the window, with all epochs full,
 * one line per key and 5 positions: three of eight positions are set. The keys
 * were never inserted. Runs of the engines alternate; a ratio is of the medians
 * with the same number of threads: one, and one per CPU. Then it prints the
 * measurements of epf_audit_choose() on lines that lie as in a snapshot file,
 * and how fast lines are copied and all positions counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <audit.h>
#include <copy.h>

#include "../clock.h"
#include "../median.h"

#define RUNS 5
#define KEYS (1u << 22)
#define ENGINES_MAX 8
#define EPOCH 43 /* any */

static void *alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "error: no memory for %zu bytes\n", bytes);
		exit(2);
	}
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void fill(struct epf_line *lines, uint64_t nr)
{
	for (uint64_t n = 0; n < nr * EPF_LANES; n++) {
		uint64_t a = epf_word(n, 1), b = epf_word(n, 2);
		uint64_t set = a & (b | epf_rotl(b, 23));

		lines[n / EPF_LANES].lane[n % EPF_LANES] = (set & ~EPF_TAG_MASK) |
							   epf_lane_tag(EPOCH, n % EPF_LANES);
	}
}

static double rate(const struct epf_engine *e, const struct epf_view *v,
		   const struct epf_keys *keys, struct epf_answer *a)
{
	double t = wall_s();

	if (e->query(v, keys, a)) {
		fprintf(stderr, "error: %s does not answer\n", e->name);
		exit(1);
	}
	return keys->n / (wall_s() - t) / 1e6;
}

static void same(uint64_t *sum, const struct epf_answer *a)
{
	if (*sum && *sum != a->bitmap_xxh3) {
		fprintf(stderr, "error: bitmaps differ\n");
		exit(1);
	}
	*sum = a->bitmap_xxh3;
}

static void compare(const struct epf_view *v, const struct epf_keys *keys, struct epf_answer *a,
		    unsigned int mib)
{
	double rates[ENGINES_MAX][RUNS];
	const struct epf_engine *e;
	uint64_t sum = 0;

	for (unsigned int r = 0; r < RUNS; r++)
		for (unsigned int i = 0; (e = epf_engine_at(i)); i++) {
			rates[i][r] = e->usable() ? rate(e, v, keys, a) : 0;
			if (e->usable())
				same(&sum, a);
		}
	for (unsigned int i = 0; (e = epf_engine_at(i)); i++) {
		median(rates[i], RUNS);
		if (e->usable())
			printf("%4u MiB  threads %-4s %-7s %8.1f M keys/s  ratio %5.2f\n", mib,
			       a->threads ? "1" : "all", e->name, rates[i][RUNS / 2],
			       rates[i][RUNS / 2] / rates[0][RUNS / 2]);
	}
}

/* Measure lines that begin in the middle of cache lines. */
static void choice(const struct epf_view *aligned, const struct epf_params *p, unsigned int mib)
{
	struct epf_rates rates[EPF_ENGINES_MAX];
	const struct epf_engine *e;
	struct epf_params file = *p;
	struct epf_choice c;
	struct epf_view v;

	file.nr_lines--; /* half a line before and half a line behind */
	if (epf_view_init(&v, (const char *)aligned->lines + 32, &file, NULL, EPOCH))
		exit(2);
	epf_audit_measure(&v, 0, rates);
	epf_audit_choose(&c, &v, 1ULL << 40, true, 0, rates);
	for (unsigned int i = 0; (e = epf_engine_at(i)); i++)
		if (rates[i].here > 0)
			printf("%4u MiB  as in a file %-7s in place %8.1f M keys/s  settled %8.1f M keys/s  copy %5.1f GB/s\n",
			       mib, e->name, rates[i].here / 1e6, rates[i].there / 1e6,
			       rates[i].carry / 1e9);
	printf("%4u MiB  many keys: %s\n", mib, c.why);
}

static double copy_rate(void (*copy)(void *to, const void *from, size_t bytes), void *to,
			const void *from, size_t bytes)
{
	double t = wall_s();

	copy(to, from, bytes);
	return bytes / (wall_s() - t) / 1e9;
}

static void plain(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

static void copies(const struct epf_view *v, unsigned int mib)
{
	size_t bytes = (size_t)mib << 20;
	double ours[RUNS], theirs[RUNS];
	void *to = alloc(bytes);

	memcpy(to, v->lines, bytes); /* fault in its pages */
	for (unsigned int r = 0; r < RUNS; r++) {
		ours[r] = copy_rate(epf_copy_away, to, v->lines, bytes);
		theirs[r] = copy_rate(plain, to, v->lines, bytes);
	}
	median(ours, RUNS);
	median(theirs, RUNS);
	printf("%4u MiB  copied word by word %5.1f GB/s  memcpy %5.1f GB/s  ratio %5.2f\n", mib,
	       ours[RUNS / 2], theirs[RUNS / 2], ours[RUNS / 2] / theirs[RUNS / 2]);
	munmap(to, bytes);
}

static void count(const struct epf_view *v, unsigned int mib)
{
	struct epf_estimate e;
	double t = wall_s();

	if (epf_view_estimate(v, 0, &e))
		exit(2);
	printf("%4u MiB  all positions counted: %.1f GB/s\n", mib,
	       mib * 1048576. / (wall_s() - t) / 1e9);
}

static void run(unsigned int mib)
{
	struct epf_params p = {
		.kind = EPF_KIND_LANES,
		.lines_per_key = 1,
		.bits_per_key = 5,
		.nr_lines = (__u64)mib << 20 >> 6,
	};
	struct epf_line *lines = alloc((size_t)mib << 20);
	uint64_t *digests = alloc(KEYS * sizeof(*digests));
	struct epf_keys keys = { .data = digests, .n = KEYS };
	struct epf_answer a = { .bitmap = alloc(KEYS / 8) };
	struct epf_view v;

	fill(lines, p.nr_lines);
	for (uint64_t i = 0; i < KEYS; i++)
		digests[i] = epf_word(i, 3);
	if (epf_view_init(&v, lines, &p, NULL, EPOCH))
		exit(2);
	for (a.threads = 1;; a.threads = 0) {
		compare(&v, &keys, &a, mib);
		if (!a.threads)
			break;
	}
	choice(&v, &p, mib);
	copies(&v, mib);
	count(&v, mib);
	munmap(a.bitmap, KEYS / 8);
	munmap(digests, KEYS * sizeof(*digests));
	munmap(lines, (size_t)mib << 20);
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[] = { 1, 70, 512 };

	for (int i = 1; i < argc; i++)
		run((unsigned int)strtoul(argv[i], NULL, 10));
	for (unsigned int i = 0; argc < 2 && i < 3; i++)
		run(sizes[i]);
	return 0;
}
