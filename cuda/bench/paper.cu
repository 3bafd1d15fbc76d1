// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The paper's run (Alpay and Sarioglu, "Guarded Epoch Bloom Filters for
 * Sliding-Window Membership", 2026, at scale): 200 million insertions, 40
 * million in the window, 10 million live and 10 million absent queries, of
 * every filter. The core on the host checks the results of lanes.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#define SIGMAS 3.3 /* 999 of 1000 samples are within so many standard deviations */
#define REPLAYS 3
#define SAMPLE (1u << 20) /* results that the core checks */

struct run {
	__u64 window, inserts, asked;
	__u64 *keys; /* all insertions, in order */
};

static double replay(struct filter *f, const struct kind *kind, const struct run *r)
{
	double best = 0, s;
	int i;

	for (i = 0; i < (bench.emulated ? 1 : REPLAYS); i++) {
		filter_make(f, kind, r->window);
		span_begin();
		must(filter_insert(f, r->keys, r->inserts), "insertions");
		s = span_end();
		best = i && best < s ? best : s;
	}
	return best;
}

/* ---- lanes, on the host ---- */

/**
 * struct mirror - copy of the card's lines on the host
 */
struct mirror {
	struct epf_lanes f;
	__u64 epoch;
};

static void *to_host(const void *from, size_t bytes)
{
	void *to = malloc(bytes);

	must(to ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, bench.stream) :
		  cudaErrorMemoryAllocation,
	     "memory of the host");
	must(cudaStreamSynchronize(bench.stream), "a copy to the host");
	return to;
}

static void mirror_make(struct mirror *m, const struct filter *f)
{
	m->epoch = f->lanes.epoch;
	m->f.geom = f->lanes.geom;
	m->f.epoch = &m->epoch;
	m->f.line = (struct epf_line *)to_host(f->lanes.line, f->bytes);
}

/* Return: do the first results, with ages, equal the core's? */
static bool as_core(const struct mirror *m, const __u64 *digest, const __u32 *bitmap,
		    const __u8 *ages, __u64 n)
{
	struct epf_probe p;
	int verdict;
	__u64 i;

	for (i = 0; i < n; i++) {
		epf_probe(&m->f, digest[i], &p);
		verdict = epf_lanes_test(&m->f, &p);
		if ((bitmap[i / 32] >> i % 32 & 1) != (verdict != 0) ||
		    ages[i] != (verdict ? verdict - EPF_PRESENT : EPF_AGE_ABSENT))
			return false;
	}
	return true;
}

static void check_answers(struct filter *f, const struct mirror *m, __u64 n)
{
	__u32 *bitmap;
	__u64 *digest;
	__u8 *ages;

	n = n < SAMPLE ? n : SAMPLE;
	must(f->kind->query(f, 1, bench.keys, n, bench.bitmap), "a question");
	digest = (__u64 *)to_host(bench.keys, n * sizeof(*digest));
	bitmap = (__u32 *)to_host(bench.bitmap, (n + 31) / 32 * 4);
	ages = (__u8 *)to_host(bench.ages, n);
	law(as_core(m, digest, bitmap, ages, n), "bitmap and ages are the core's");
	free(digest);
	free(bitmap);
	free(ages);
}

/* Return: bit i is set if lane i is not stale. Adds the set positions to @bits. */
static __u32 lanes_in_use(const struct epf_line *line, __u64 epoch, __u64 bits[EPF_LANES])
{
	__u32 used = 0, i;

	for (i = 0; i < EPF_LANES; i++) {
		if ((line->lane[i] & EPF_TAG_MASK) != epf_lane_tag(epoch, i))
			continue;
		used |= 1u << i;
		bits[i] += epf_popcount(epf_lane_positions(line->lane[i]));
	}
	return used;
}

/* Return: the probability that some lane of @line among @used has an absent
 * key. The key's fields are the same in all lanes, so lanes are not
 * independent: the sum is by inclusion and exclusion over sets of lanes, and a
 * set counts the positions that all its lanes have. @chance is indexed by this
 * number.
 */
static double line_error(const struct epf_line *line, __u32 used,
			 const double chance[EPF_LANE_BITS + 1])
{
	__u64 common[1 << EPF_LANES];
	double sum = 0, p;
	__u32 set;

	common[0] = ~EPF_TAG_MASK;
	for (set = 1; set < 1 << EPF_LANES; set++) {
		common[set] = common[set & (set - 1)] & line->lane[__builtin_ctz(set)];
		if (set & ~used)
			continue;
		p = chance[epf_popcount(common[set])];
		sum += epf_popcount(set) % 2 ? p : -p;
	}
	return sum;
}

/* Return: the probability that an absent key is found, over all lines, and the
 * number of set positions; L = 1.
 */
static double predicted(const struct mirror *m, __u64 bits[EPF_LANES])
{
	double chance[EPF_LANE_BITS + 1], sum = 0;
	__u32 set;
	__u64 i;

	memset(bits, 0, EPF_LANES * sizeof(*bits));
	for (set = 0; set <= EPF_LANE_BITS; set++)
		chance[set] = pow((set + EPF_FIELDS - EPF_LANE_BITS) / (double)EPF_FIELDS,
				  m->f.geom.bits);
	for (i = 0; i < m->f.geom.part_lines; i++)
		sum += line_error(&m->f.line[i], lanes_in_use(&m->f.line[i], m->epoch, bits),
				  chance);
	return sum / (double)m->f.geom.part_lines;
}

static void check_tally(const struct filter *f, const __u64 bits[EPF_LANES])
{
	size_t bytes = EPF_CU_TALLY * sizeof(unsigned long long);
	unsigned long long *nr = (unsigned long long *)card_memory(bytes, "counters"), *got;
	__u32 lane, set;
	__u64 sum;

	must(cudaMemsetAsync(nr, 0, bytes, bench.stream), "counters");
	must(epf_cu_tally(&f->lanes, nr, bench.stream), "a count");
	got = (unsigned long long *)to_host(nr, bytes);
	for (lane = 0; lane < EPF_LANES; lane++) {
		for (sum = 0, set = 0; set <= EPF_LANE_BITS; set++)
			sum += set * got[lane * (EPF_LANE_BITS + 1) + set];
		if (sum != bits[lane])
			law(false, "positions set are counted exactly");
	}
	law(true, "positions set are counted exactly");
	free(got);
	cudaFree(nr);
}

static __u64 found(struct filter *f, __u64 seed, __u64 first, __u64 n)
{
	must(keys_make(bench.keys, seed, first, n), "keys");
	must(f->kind->query(f, 0, bench.keys, n, bench.bitmap), "a question");
	return present_in(bench.bitmap, n);
}

/* How many of the 10 million absent keys the core finds in the same run on a CPU, for
 * kinds[0] and kinds[1] with their present shapes.
 */
static const __u64 found_by_core[] = { 875141, 224778 };

/* Check the guarantees of lanes: the oldest keys of the window are present, and
 * the false-positive rate is the one that the set positions predict. Overwrites
 * bench.keys with a mix of keys.
 */
static void check_lanes(struct filter *f, const struct run *r)
{
	__u64 oldest = f->inserted - f->window, bits[EPF_LANES], wrong, old;
	double n = (double)r->asked, p, sigma, error;
	struct mirror m;

	mirror_make(&m, f);
	old = found(f, SEED_LIVE, oldest, r->asked);
	wrong = found(f, SEED_ABSENT, 0, r->asked);
	p = predicted(&m, bits);
	sigma = sqrt(p * (1 - p) / n);
	error = (double)wrong / n;
	record("oldest", "s:name d:asked d:missing", f->kind->name, n, n - (double)old);
	record("error", "s:name d:asked d:error d:predicted d:low d:high", f->kind->name, n, error,
	       p, p - SIGMAS * sigma, p + SIGMAS * sigma);
	law(old == r->asked, "the oldest keys of the window are there");
	law(fabs(error - p) <= SIGMAS * sigma, "the error is the predicted one");
	if (!bench.emulated)
		law(wrong == found_by_core[f->kind - kinds], "the core finds as many absent keys");
	check_tally(f, bits);
	must(keys_draw(bench.keys, oldest, f->window, r->asked / 2), "keys");
	check_answers(f, &m, r->asked);
	free(m.f.line);
}

void run_paper(void)
{
	struct run r = { 40 * MB, 200 * MB, 10 * MB, NULL };
	const struct kind *kind;
	struct filter f;
	double s;

	if (bench.emulated)
		r = { 14000, 70000, 4096, NULL };
	r.keys = (__u64 *)card_memory(r.inserts * sizeof(*r.keys), "all insertions");
	must(keys_make(r.keys, SEED_LIVE, 0, r.inserts), "keys");
	for (kind = kinds; kind < kinds + NR_KINDS; kind++) {
		s = replay(&f, kind, &r);
		filter_ask(&f, "paper", r.asked, s);
		ceiling(EPF_LINE_BYTES, f.bytes);
		if (kind->lanes)
			check_lanes(&f, &r);
	}
	cudaFree(r.keys);
}
