// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sizing: computes a geometry from the promised window and false-positive rate.
 *
 * The model. An epoch reports a key that was never inserted if, in each of the
 * L parts, all positions that the key names in one line are set. An epoch holds
 * at most ceil(keys_per_window / 7) keys. Each of them has one of the n/L lines
 * of a part, so the number of keys in a line is Poisson with mean load
 * = keys * L / n. Each key has k/L fields in its line, and so does the tested key. Lines
 * of different parts are independent. Epochs are independent except for one
 * thing: in all of them the tested key has the same number u of positions in
 * the line of a part, and the fewer these are, the likelier is a hit. With c(u)
 * the probability of a hit in one line (see cover.h) and E the mean over u,
 *
 *	fpr = sum over i = 1 .. 8 of (-1)^(i+1) C(8, i) E(c(u)^i)^L
 *
 * for eight full epochs: E(c(u)^i)^L is the probability of hits in i given
 * epochs. Where fpr is small, it is the first term.
 */
#include "epf.h"
#include "cover.h"

#include <epf/geometry.h>

#include <math.h>

#define BITS_MAX EPF_PART_BITS_MAX
#define LINES_STEP 4u /* every L divides the number of lines */
#define FPR_MIN 1e-9
#define FPR_MAX 0.5
#define SAME_MEMORY 1.01  /* a smaller difference in memory does not count */
#define BITS_MEMORY 1.015 /* memory that may be spent to save positions */

/* E(c(u)^@i) */
static double moment(const struct epf_cover_row *own, const struct epf_cover_row *hit, int i)
{
	double sum = 0;
	unsigned int u;

	for (u = 0; u <= BITS_MAX; u++)
		sum += own->at[u] * pow(hit->at[u], i);
	return sum;
}

/* The false-positive rate of @parts parts with eight epochs of @load keys per
 * line.
 */
static double size_any_epoch(const struct epf_cover_fields *c, double load, unsigned int parts)
{
	struct epf_cover_row hit = epf_cover_fields(c, load);
	double choose = -1, sum = 0;
	int i;

	for (i = 1; i <= (int)EPF_LANES; i++) {
		choose *= -(double)((int)EPF_LANES + 1 - i) / i;
		sum += choose * pow(moment(&c->own, &hit, i), parts);
	}
	return fmax(0, fmin(sum, 1));
}

double epf_size_fpr(__u64 nr_lines, unsigned int lines_per_key, unsigned int bits_per_key,
		    double keys)
{
	struct epf_geom g;
	struct epf_cover_fields c;

	if (epf_geom_init(&g, nr_lines, lines_per_key, bits_per_key) || !(keys >= 0))
		return 1;
	epf_cover_fields_init(&c, EPF_FIELDS, EPF_LANE_BITS, g.bits);
	return size_any_epoch(&c, keys / (double)g.part_lines, g.parts);
}

/* Input of a search: tables for every k/L, keys of one epoch, budget. */
struct search {
	struct epf_cover_fields fields[BITS_MAX + 1];
	double keys;
	double budget;
};

/* The false-positive rate with @bits fields per line. */
static double size_fpr_of(const struct search *s, __u64 nr_lines, unsigned int parts,
			  unsigned int bits)
{
	double load = s->keys / (double)(nr_lines / parts);

	return size_any_epoch(&s->fields[bits], load, parts);
}

/* Set @size to the best k for a given number of lines. */
static void size_choose_bits(const struct search *s, __u64 nr_lines, unsigned int parts,
			     struct epf_size *size)
{
	unsigned int bits;

	size->fpr = 2;
	for (bits = 1; bits <= BITS_MAX; bits++) {
		double all = size_fpr_of(s, nr_lines, parts, bits);

		if (all >= size->fpr)
			continue;
		size->fpr = all;
		size->bits_per_key = parts * bits;
	}
	size->nr_lines = nr_lines;
	size->lines_per_key = parts;
}

/* Find the smallest number of lines, at most @max_lines, that keeps the budget;
 * if none does, use @max_lines. A bisection works because more lines never make
 * the best k worse.
 */
static void choose_lines(const struct search *s, __u64 max_lines, unsigned int parts,
			 struct epf_size *size)
{
	__u64 low = EPF_LINES_MIN / LINES_STEP;
	__u64 high = max_lines / LINES_STEP;

	size_choose_bits(s, high * LINES_STEP, parts, size);
	if (size->fpr > s->budget)
		return;
	while (low < high) {
		__u64 mid = (low + high) / 2;

		size_choose_bits(s, mid * LINES_STEP, parts, size);
		if (size->fpr <= s->budget)
			high = mid;
		else
			low = mid + 1;
	}
	size_choose_bits(s, low * LINES_STEP, parts, size);
}

/* Each position costs time, so use fewer where a little more memory makes up
 * for it.
 */
static void spare_bits(const struct search *s, __u64 max_lines, struct epf_size *size)
{
	unsigned int parts = size->lines_per_key, bits = 1;
	__u64 low = size->nr_lines / LINES_STEP;
	__u64 high = (__u64)((double)size->nr_lines * BITS_MEMORY);

	high = (high < max_lines ? high : max_lines) / LINES_STEP;
	while (parts * bits < size->bits_per_key &&
	       size_fpr_of(s, high * LINES_STEP, parts, bits) > s->budget)
		bits++;
	if (parts * bits == size->bits_per_key)
		return;
	while (low < high) {
		__u64 mid = (low + high) / 2;

		if (size_fpr_of(s, mid * LINES_STEP, parts, bits) <= s->budget)
			high = mid;
		else
			low = mid + 1;
	}
	size->nr_lines = low * LINES_STEP;
	size->bits_per_key = parts * bits;
	size->fpr = size_fpr_of(s, size->nr_lines, parts, bits);
}

/* Return: is @a better than @b, which has fewer lines per key? */
static bool better(const struct search *s, const struct epf_size *a, const struct epf_size *b)
{
	if (a->fpr > s->budget)
		return a->fpr < b->fpr;
	if (b->fpr > s->budget)
		return true;
	return (double)b->nr_lines > SAME_MEMORY * (double)a->nr_lines;
}

static bool size_valid(const struct epf_size_req *req)
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
	__u64 max_lines = EPF_LINES_MAX, most;
	unsigned int l;
	struct search s;
	unsigned int k;

	if (!size_valid(req))
		return -EINVAL;
	if (req->max_bytes && req->max_bytes / EPF_LINE_BYTES < max_lines)
		max_lines = req->max_bytes / EPF_LINE_BYTES;
	s.keys = ceil(req->keys_per_window / EPF_LIVE_EPOCHS);
	s.budget = req->budget;
	for (k = 1; k <= BITS_MAX; k++)
		epf_cover_fields_init(&s.fields[k], EPF_FIELDS, EPF_LANE_BITS, k);
	size->fpr = 2;
	for (l = 1; l <= EPF_PARTS_MAX; l *= 2) {
		struct epf_size with;

		if (req->lines_per_key && req->lines_per_key != l)
			continue;
		most = l * EPF_PART_LINES_MAX;
		choose_lines(&s, max_lines < most ? max_lines : most, l, &with);
		if (better(&s, &with, size))
			*size = with;
	}
	if (size->fpr <= s.budget) {
		most = size->lines_per_key * EPF_PART_LINES_MAX;
		spare_bits(&s, max_lines < most ? max_lines : most, size);
		return 0;
	}
	return max_lines < EPF_LINES_MAX ? -ENOSPC : -E2BIG;
}
