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
 * p_j is the chance that a Markov chain started at 0 is at k_j after a Poisson
 * number of steps. Its state is how many of the k_j positions are set; a key
 * that comes sets, of the u not set yet, as many as k_j draws without
 * replacement from 62 find (hypergeometric). All terms are positive and few, so
 * that nothing cancels: inclusion-exclusion would subtract numbers near 6000
 * to get 1e-10.
 */
#include "epf.h"

#include <epf/geometry.h>

#include <math.h>

#define BITS_MAX ((int)EPF_PART_BITS_MAX)
#define LINES_STEP 4u /* so that every L divides the number of lines */
#define FPR_MIN 1e-9
#define FPR_MAX 0.5
#define SAME_MEMORY 1.01 /* geometries this near are equal in memory */
#define BITS_MEMORY 1.015 /* so much memory is spent to save positions */

#define LOAD_MAX 2400.0 /* any position of 62 is set, but for 1e-16 */
#define LOAD_STEP 512.0 /* exp(-LOAD_STEP) is far from the smallest double */
#define TAIL 1e-24	/* Poisson terms below this are left out */

/* C(n, r), exact in a double for n <= 62 and r <= 15. */
static double choose(int n, int r)
{
	double c = 1;
	int i;

	if (r < 0 || r > n)
		return 0;
	for (i = 0; i < r; i++)
		c = c * (n - i) / (i + 1);
	return c;
}

/* Chance that @k draws of 62 find @x of @u positions: @x more become set. */
static double finds(int k, int u, int x)
{
	return choose(u, x) * choose((int)EPF_LANE_BITS - u, k - x) /
	       choose((int)EPF_LANE_BITS, k);
}

/* How many of the k positions are set: chances of 0 .. k. */
struct cover {
	double at[BITS_MAX + 1];
};

/* Transitions of the chain of @k positions. */
struct chain {
	double step[BITS_MAX + 1][BITS_MAX + 1];
	int k;
};

static void chain_init(struct chain *c, int k)
{
	int from, to;

	c->k = k;
	for (from = 0; from <= k; from++)
		for (to = from; to <= k; to++)
			c->step[from][to] = finds(k, k - from, to - from);
}

static struct cover one_key(const struct chain *c, const struct cover *now)
{
	struct cover next = { { 0 } };
	int from, to;

	for (from = 0; from <= c->k; from++)
		for (to = from; to <= c->k; to++)
			next.at[to] += now->at[from] * c->step[from][to];
	return next;
}

/* A Poisson number of keys, of mean @load <= LOAD_STEP. */
static struct cover some_keys(const struct chain *c, struct cover now,
			      double load)
{
	struct cover sum = { { 0 } };
	double weight = exp(-load);
	int x, i;

	for (x = 0; x <= load || weight > TAIL; x++) {
		for (i = 0; i <= c->k; i++)
			sum.at[i] += weight * now.at[i];
		now = one_key(c, &now);
		weight *= load / (x + 1);
	}
	return sum;
}

/* Chance that all @c->k positions are set by a Poisson number of keys. */
static double covered(const struct chain *c, double load)
{
	struct cover now = { { 1 } };

	if (load > LOAD_MAX)
		return 1;
	for (; load > LOAD_STEP; load -= LOAD_STEP)
		now = some_keys(c, now, LOAD_STEP);
	return some_keys(c, now, load).at[c->k];
}

/* All eight epochs, each a false positive with chance @p. */
static double any_epoch(double p)
{
	return p < 1 ? -expm1(EPF_LANES * log1p(-p)) : 1;
}

double epf_size_fpr(__u64 nr_lines, unsigned int lines_per_key,
		    unsigned int bits_per_key, double keys)
{
	struct epf_geom g;
	struct chain c;
	double p = 1;
	unsigned int j;

	if (epf_geom_init(&g, nr_lines, lines_per_key, bits_per_key) ||
	    !(keys >= 0))
		return 1;
	for (j = 0; j < g.parts; j++) {
		chain_init(&c, (int)epf_geom_bits(&g, j));
		p *= covered(&c, keys / (double)g.part_lines);
	}
	return any_epoch(p);
}

/* A search: chains for every k_j, and the keys of one epoch. */
struct search {
	struct chain chain[BITS_MAX + 1];
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
		p[k] = covered(&s->chain[k], load);
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

	return any_epoch(pow(covered(&s->chain[k / parts], load),
			     parts - more) *
			 pow(covered(&s->chain[k / parts + 1], load), more));
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
	int k;

	if (!valid(req))
		return -EINVAL;
	if (req->max_bytes && req->max_bytes / EPF_LINE_BYTES < max_lines)
		max_lines = req->max_bytes / EPF_LINE_BYTES;
	s.keys = ceil(req->keys_per_window / EPF_LIVE_EPOCHS);
	s.budget = req->budget;
	for (k = 1; k <= BITS_MAX; k++)
		chain_init(&s.chain[k], k);
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
