// SPDX-License-Identifier: GPL-2.0
/*
 * Sizing: geometry from promises.
 *
 * The model. A key never inserted is reported by an epoch when, in each of the
 * L parts, the k_j positions it names in one line are all set. Each epoch holds
 * at most ceil(keys_per_window / 7) keys, each has one line among the n/L of a
 * part, so the keys that meet in a line are Poisson with mean
 * load = keys * L / n, and each sets k_j distinct positions of 62, as the
 * asking key does. Lines of different parts are independent, and so are
 * epochs: with p_j the chance of part j,
 *
 *	fpr = 1 - (1 - p_1 .. p_L)^8		all eight epochs full
 *
 * cover.h has p_j.
 */
#include "epf.h"
#include "cover.h"

#include <epf/geometry.h>

#include <math.h>

#define BITS_MAX EPF_PART_BITS_MAX
#define LINES_STEP 4u /* so that every L divides the number of lines */
#define FPR_MIN 1e-9
#define FPR_MAX 0.5
#define SAME_MEMORY 1.01 /* geometries this near are equal in memory */
#define BITS_MEMORY 1.015 /* so much memory is spent to save positions */

/* All eight epochs, each a false positive with chance @p. */
static double any_epoch(double p)
{
	return p < 1 ? -expm1(EPF_LANES * log1p(-p)) : 1;
}

double epf_size_fpr(__u64 nr_lines, unsigned int lines_per_key,
		    unsigned int bits_per_key, double keys)
{
	struct epf_geom g;
	struct epf_cover_chain c;
	double p = 1;
	unsigned int j;

	if (epf_geom_init(&g, nr_lines, lines_per_key, bits_per_key) ||
	    !(keys >= 0))
		return 1;
	for (j = 0; j < g.parts; j++) {
		epf_cover_chain_init(&c, EPF_LANE_BITS, epf_geom_bits(&g, j));
		p *= epf_cover_chain(&c, keys / (double)g.part_lines);
	}
	return any_epoch(p);
}

/* A search: chains for every k_j, and the keys of one epoch. */
struct search {
	struct epf_cover_chain chain[BITS_MAX + 1];
	double keys;
	double budget;
};

/* The best k for given lines, into @size. */
static void choose_bits(const struct search *s, __u64 nr_lines,
			unsigned int parts, struct epf_size *size)
{
	double load = s->keys / (double)(nr_lines / parts);
	double p[BITS_MAX + 1];
	unsigned int k, j;

	for (k = 1; k <= EPF_PART_BITS_MAX; k++)
		p[k] = epf_cover_chain(&s->chain[k], load);
	size->fpr = 2;
	for (k = parts; k <= parts * EPF_PART_BITS_MAX; k++) {
		double all = 1;

		for (j = 0; j < parts; j++)
			all *= p[k / parts + (j < k % parts)];
		all = any_epoch(all);
		if (all >= size->fpr)
			continue;
		size->fpr = all;
		size->bits_per_key = k;
	}
	size->nr_lines = nr_lines;
	size->lines_per_key = parts;
}

/* The least lines, up to @max_lines, that keep the budget; else @max_lines.
 * More lines never make the best k worse, so halving finds them.
 */
static void choose_lines(const struct search *s, __u64 max_lines,
			 unsigned int parts, struct epf_size *size)
{
	__u64 low = EPF_LINES_MIN / LINES_STEP;
	__u64 high = max_lines / LINES_STEP;

	choose_bits(s, high * LINES_STEP, parts, size);
	if (size->fpr > s->budget)
		return;
	while (low < high) {
		__u64 mid = (low + high) / 2;

		choose_bits(s, mid * LINES_STEP, parts, size);
		if (size->fpr <= s->budget)
			high = mid;
		else
			low = mid + 1;
	}
	choose_bits(s, low * LINES_STEP, parts, size);
}

static double fpr_of(const struct search *s, __u64 nr_lines,
		     unsigned int parts, unsigned int k)
{
	double load = s->keys / (double)(nr_lines / parts);
	unsigned int more = k % parts;

	return any_epoch(
		pow(epf_cover_chain(&s->chain[k / parts], load), parts - more) *
		pow(epf_cover_chain(&s->chain[k / parts + 1], load), more));
}

/* Each position costs time: take fewer where little memory makes up for it. */
static void spare_bits(const struct search *s, __u64 max_lines,
		       struct epf_size *size)
{
	unsigned int parts = size->lines_per_key;
	__u64 low = size->nr_lines / LINES_STEP;
	__u64 high = (__u64)((double)size->nr_lines * BITS_MEMORY);
	unsigned int k = parts;

	high = (high < max_lines ? high : max_lines) / LINES_STEP;
	while (k < size->bits_per_key &&
	       fpr_of(s, high * LINES_STEP, parts, k) > s->budget)
		k++;
	if (k == size->bits_per_key)
		return;
	while (low < high) {
		__u64 mid = (low + high) / 2;

		if (fpr_of(s, mid * LINES_STEP, parts, k) <= s->budget)
			high = mid;
		else
			low = mid + 1;
	}
	size->nr_lines = low * LINES_STEP;
	size->bits_per_key = k;
	size->fpr = fpr_of(s, size->nr_lines, parts, k);
}

/* Is @a to be taken rather than @b, which has fewer lines per key? */
static bool better(const struct search *s, const struct epf_size *a,
		   const struct epf_size *b)
{
	if (a->fpr > s->budget)
		return a->fpr < b->fpr;
	if (b->fpr > s->budget)
		return true;
	return (double)b->nr_lines > SAME_MEMORY * (double)a->nr_lines;
}

static bool valid(const struct epf_size_req *req)
{
	unsigned int l = req->lines_per_key;

	if (!(req->keys_per_window >= 1) || !isfinite(req->keys_per_window))
		return false;
	if (!(req->budget >= FPR_MIN && req->budget <= FPR_MAX))
		return false;
	if (req->max_bytes && req->max_bytes < EPF_LINES_MIN * EPF_LINE_BYTES)
		return false;
	return !l || l == 1 || l == 2 || l == EPF_PARTS_MAX;
}

int epf_size(const struct epf_size_req *req, struct epf_size *size)
{
	__u64 max_lines = EPF_LINES_MAX;
	unsigned int l;
	struct search s;
	unsigned int k;

	if (!valid(req))
		return -EINVAL;
	if (req->max_bytes && req->max_bytes / EPF_LINE_BYTES < max_lines)
		max_lines = req->max_bytes / EPF_LINE_BYTES;
	s.keys = ceil(req->keys_per_window / EPF_LIVE_EPOCHS);
	s.budget = req->budget;
	for (k = 1; k <= BITS_MAX; k++)
		epf_cover_chain_init(&s.chain[k], EPF_LANE_BITS, k);
	size->fpr = 2;
	for (l = 1; l <= EPF_PARTS_MAX; l *= 2) {
		struct epf_size with;

		if (req->lines_per_key && req->lines_per_key != l)
			continue;
		choose_lines(&s, max_lines, l, &with);
		if (better(&s, &with, size))
			*size = with;
	}
	if (size->fpr <= s.budget) {
		spare_bits(&s, max_lines, size);
		return 0;
	}
	return max_lines < EPF_LINES_MAX ? -ENOSPC : -E2BIG;
}
