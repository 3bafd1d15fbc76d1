// SPDX-License-Identifier: GPL-2.0
/*
 * The error rate: predicted by epf_size(), estimated from the fill, measured.
 *
 * For every L and budget, independent filters of the proposed size get eight full
 * epochs of distinct random keys (the worst phase), and are queried for random keys
 * that were never inserted. Keys of one filter share its lines, so the filters are the
 * sample, not the keys: the interval is that of Student's t over the rates of FILTERS
 * filters, 99.9%, two-sided. Seeds are fixed.
 *
 * The intervals are narrow enough to reject a prediction that treats all lines as
 * equally full, and an estimate that leaves out one of the eight epochs.
 */
#include "owner.h"
#include "tap.h"

#include <epf.h>
#include <epf/estimate.h>

#define FILTERS 32
#define T_999 3.633  /* Student's t, 31 degrees of freedom, 0.9995 */
#define KEYS 84000.0 /* keys of the window */
#define HITS 10000.0 /* hits wanted, over all filters */
#define QUERIES_MAX 30e6
#define COMBINATIONS 15

#include "mean.h"

static void fill(struct owner *o, __u64 seed)
{
	__u64 keys = (__u64)ceil(KEYS / EPF_LIVE_EPOCHS);
	__u32 e, i;

	for (e = 0; e < EPF_LANES; e++) {
		if (e)
			owner_rotate(o);
		for (i = 0; i < keys; i++)
			owner_insert(o, epf_word(seed, 1 + e * 1000000 + i));
	}
}

static double measure(const struct owner *o, __u64 seed, __u64 queries)
{
	__u64 i, hits = 0;

	for (i = 0; i < queries; i++)
		hits += owner_test(o, epf_word(seed ^ i << 20, 7)) != EPF_ABSENT;
	return (double)hits / (double)queries;
}

static double estimate(const struct owner *o)
{
	struct epf_fill sum;
	struct epf_cover c;

	memset(&sum, 0, sizeof(sum));
	epf_cover_init(&c, &o->lanes.geom);
	epf_fill_sample(&sum, &c, &o->lanes, 0, EPF_FILL_SAMPLES);
	return (double)epf_q56_to_ppt(epf_fill_q56(&sum, o->lanes.geom.parts)) / 1e12;
}

/* The rate if every line held the mean number of keys. */
static double evenly_full(const struct epf_size *size, unsigned int parts)
{
	double keys = KEYS / EPF_LIVE_EPOCHS * parts / (double)size->nr_lines;
	double lane = 1;
	unsigned int j;

	for (j = 0; j < parts; j++) {
		double k = size->bits_per_key / parts + (j < size->bits_per_key % parts);

		lane *= pow(1 - pow(1 - k / EPF_LANE_BITS, keys), k);
	}
	return 1 - pow(1 - lane, EPF_LANES);
}

static bool agrees(const struct mean *s, double v)
{
	return fabs(v - mean_of(s)) <= mean_margin(s);
}

static int refused_even, refused_seven; /* how many of the COMBINATIONS */

static void compare(unsigned int parts, double budget)
{
	struct epf_size_req req = { KEYS, budget, 0, parts };
	struct mean rate = { 0, 0 }, error = { 0, 0 }, seven = { 0, 0 };
	double queries = HITS / budget;
	struct epf_size size;
	int i, err = epf_size(&req, &size);

	if (!tap_ok(!err && size.fpr <= budget, "L=%u, budget %g: %llu lines, k=%u, %.1f bits/key",
		    parts, budget, size.nr_lines, size.bits_per_key,
		    (double)size.nr_lines * 512 / KEYS))
		return;
	queries = queries < QUERIES_MAX ? queries : QUERIES_MAX;
	for (i = 0; i < FILTERS; i++) {
		__u64 seed = epf_word(parts * 1000 + (__u64)i, 99);
		struct owner o;
		double measured, estimated;

		owner_init(&o, size.nr_lines, parts, size.bits_per_key);
		fill(&o, seed);
		measured = measure(&o, ~seed, (__u64)(queries / FILTERS));
		mean_add(&rate, measured);
		estimated = estimate(&o);
		mean_add(&error, estimated - measured);
		mean_add(&seven, estimated * 7 / 8 - measured);
		owner_free(&o);
	}
	tap_ok(agrees(&rate, size.fpr), "L=%u, budget %g: predicted %.4g, measured %.4g +- %.2g",
	       parts, budget, size.fpr, mean_of(&rate), mean_margin(&rate));
	tap_ok(agrees(&error, 0), "L=%u, budget %g: estimate from fill off by %.2g +- %.2g", parts,
	       budget, mean_of(&error), mean_margin(&error));
	refused_even += !agrees(&rate, evenly_full(&size, parts));
	refused_seven += !agrees(&seven, 0);
}

int main(void)
{
	static const double budgets[] = { 1e-1, 1e-2, 1e-3, 1e-4, 1e-5 };
	unsigned int parts;
	int i;

	tap_plan(3 * COMBINATIONS + 2);
	for (parts = 1; parts <= EPF_PARTS_MAX; parts *= 2)
		for (i = 0; i < 5; i++)
			compare(parts, budgets[i]);
	tap_ok(refused_even > 2 * COMBINATIONS / 3,
	       "%d of %d refuse a prediction with all lines equally full", refused_even,
	       COMBINATIONS);
	tap_ok(refused_seven > 2 * COMBINATIONS / 3,
	       "%d of %d refuse an estimate that leaves one epoch out", refused_seven,
	       COMBINATIONS);
	return tap_end();
}
