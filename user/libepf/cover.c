// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The probability that all positions of a key are set in a block ("cover").
 *
 * Distinct random positions: a Markov chain on the number of the k positions
 * that are set. It starts at 0 and takes a Poisson number of steps. Each key of
 * the block sets as many of the u positions not yet set as k draws without
 * replacement from B find (hypergeometric). All terms are positive and few, so
 * nothing cancels. Inclusion and exclusion would subtract numbers near 6000 to
 * get 1e-10.
 *
 * Fields: each of the k fields of a key names one position or none, and several
 * may name the same. If u positions are not yet set, a field of another key
 * sets one of them with probability u / values. So the probability that m
 * fields set all u is a mean of two such probabilities for m - 1 fields, one
 * for u - 1 positions and one for u. The computation does all u at once, and
 * nothing cancels.
 *
 * Double hashing: a key is a progression h1, h1 + h2, ... in a ring of B
 * places. Shifts and odd factors map progressions to progressions and places to
 * places, one to one. So only the power of two in h2 of the tested key matters:
 * take h1 as 0 and h2 as 2^v. By inclusion and exclusion over the sets S of its
 * places, with a(S) the share of all B * B progressions that miss S,
 *
 *	probability = sum over S of (-1)^|S| exp(-load (1 - a(S)))
 *
 * The code counts progressions by the places that they meet, sums the counts
 * over subsets, and joins sets of equal a(S): some hundreds of the 2^k terms
 * remain. Their weights are integers with sum 0, so exp may be replaced by
 * expm1.
 */
#include "cover.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FULL 60.0       /* a position is missed with probability exp(-FULL) at most */
#define LOAD_STEP 512.0 /* exp(-LOAD_STEP) is far from the smallest double */
#define TAIL 1e-24      /* Poisson terms below this are left out */

/* C(n, r); a double holds it exactly for the n and r of a lane. */
static double cover_choose(int n, int r)
{
	double c = 1;
	int i;

	if (r < 0 || r > n)
		return 0;
	for (i = 0; i < r; i++)
		c = c * (n - i) / (i + 1);
	return c;
}

void epf_cover_chain_init(struct epf_cover_chain *c, unsigned int block_bits, unsigned int bits)
{
	int b = (int)block_bits, k = (int)bits;
	int from, to;

	c->block_bits = block_bits;
	c->bits = bits;
	for (from = 0; from <= k; from++)
		for (to = from; to <= k; to++)
			c->step[from].at[to] = cover_choose(k - from, to - from) *
					       cover_choose(b - k + from, k - to + from) /
					       cover_choose(b, k);
}

/* Apply one more key to the probabilities @now; @c describes the keys. */
typedef void (*key_fn)(const void *c, struct epf_cover_row *now);

/* Apply a Poisson number of keys with mean @load <= LOAD_STEP. */
static struct epf_cover_row some_keys(key_fn key, const void *c, struct epf_cover_row now,
				      double load)
{
	struct epf_cover_row sum = { { 0 } };
	double weight = exp(-load);
	unsigned int i;
	int x;

	for (x = 0; x <= load || weight > TAIL; x++) {
		for (i = 0; i <= EPF_COVER_BITS_MAX; i++)
			sum.at[i] += weight * now.at[i];
		key(c, &now);
		weight *= load / (x + 1);
	}
	return sum;
}

/* The same for any mean, beginning with an empty block. */
static struct epf_cover_row many_keys(key_fn key, const void *c, double load)
{
	struct epf_cover_row now = { { 1 } };

	for (; load > LOAD_STEP; load -= LOAD_STEP)
		now = some_keys(key, c, now, LOAD_STEP);
	return some_keys(key, c, now, load);
}

/* A key_fn for distinct positions; the index is the number of positions set. */
static void distinct_key(const void *self, struct epf_cover_row *now)
{
	const struct epf_cover_chain *c = self;
	struct epf_cover_row next = { { 0 } };
	unsigned int from, to;

	for (from = 0; from <= c->bits; from++)
		for (to = from; to <= c->bits; to++)
			next.at[to] += now->at[from] * c->step[from].at[to];
	*now = next;
}

double epf_cover_chain(const struct epf_cover_chain *c, double load)
{
	if (load * c->bits > FULL * c->block_bits)
		return 1;
	return many_keys(distinct_key, c, load).at[c->bits];
}

double epf_cover_distinct(unsigned int block_bits, unsigned int bits, double load)
{
	struct epf_cover_chain c;

	epf_cover_chain_init(&c, block_bits, bits);
	return epf_cover_chain(&c, load);
}

void epf_cover_fields_init(struct epf_cover_fields *c, unsigned int values, unsigned int block_bits,
			   unsigned int bits)
{
	unsigned int i, u;

	memset(c, 0, sizeof(*c));
	c->values = values;
	c->bits = bits;
	c->own.at[0] = 1;
	for (i = 0; i < bits; i++)
		for (u = i + 1; u--;) {
			double finds = c->own.at[u] * (block_bits - u) / values;

			c->own.at[u] -= finds;
			c->own.at[u + 1] += finds;
		}
}

/* A key_fn for fields; the index is the number of positions of the tested key. */
static void key_of_fields(const void *self, struct epf_cover_row *now)
{
	const struct epf_cover_fields *c = self;
	unsigned int i, u;

	for (i = 0; i < c->bits; i++)
		for (u = c->bits; u; u--)
			now->at[u] += (now->at[u - 1] - now->at[u]) * u / c->values;
}

struct epf_cover_row epf_cover_fields(const struct epf_cover_fields *c, double load)
{
	struct epf_cover_row all;
	unsigned int u;

	if (load * c->bits <= FULL * c->values)
		return many_keys(key_of_fields, c, load);
	for (u = 0; u <= EPF_COVER_BITS_MAX; u++)
		all.at[u] = 1;
	return all;
}

/* The term @weight * exp(-load * @met), with met = 1 - a(S). */
struct term {
	double met;
	double weight;
};

#define CLASSES_MAX 10 /* v = 0 .. log2(B) */

struct epf_cover_double {
	unsigned int bits, block_bits;
	unsigned int nr[CLASSES_MAX];
	struct term *term[CLASSES_MAX];
};

/* Count all progressions by the set of those places i 2^@v, i < @places, of the
 * tested key that they meet, into @count.
 */
static void count_met(unsigned int *count, unsigned int b, unsigned int k, unsigned int v,
		      unsigned int places)
{
	unsigned int rest = (1u << v) - 1;
	unsigned int h1, h2, i, at, set;

	memset(count, 0, sizeof(*count) << places);
	for (h2 = 0; h2 < b; h2++)
		for (h1 = 0; h1 < b; h1++) {
			set = 0;
			for (i = 0, at = h1; i < k; i++, at = (at + h2) & (b - 1))
				if (!(at & rest) && at >> v < places)
					set |= 1u << (at >> v);
			count[set]++;
		}
}

/* Replace the @count of each set by the sum over all its subsets. */
static void sum_subsets(unsigned int *count, unsigned int k)
{
	unsigned int set, bit;

	for (bit = 1; bit < 1u << k; bit <<= 1)
		for (set = 0; set < 1u << k; set++)
			if (set & bit)
				count[set] += count[set ^ bit];
}

/* Add the sign of each set S to @weight, indexed by the progressions that miss S. */
static void weigh(int *weight, const unsigned int *count, unsigned int places)
{
	unsigned int all = (1u << places) - 1, set;

	/* a progression misses S if it meets only places of the complement */
	for (set = 0; set <= all; set++)
		weight[count[all ^ set]] += __builtin_parity(set) ? -1 : 1;
}

/* Set the terms of @v from @weight, and clear @weight. Return: false if there
 * is no memory.
 */
static bool collect(struct epf_cover_double *c, unsigned int v, int *weight)
{
	unsigned int n, nr = 0, total = c->block_bits * c->block_bits;
	struct term *term;

	for (n = 0; n <= total; n++)
		nr += !!weight[n];
	term = nr ? calloc(nr, sizeof(*term)) : NULL;
	if (!term)
		return false;
	c->term[v] = term;
	c->nr[v] = nr;
	for (n = 0; n <= total; n++) {
		if (weight[n])
			*term++ = (struct term){ 1 - (double)n / total, weight[n] };
		weight[n] = 0;
	}
	return true;
}

struct epf_cover_double *epf_cover_double_new(unsigned int block_bits, unsigned int bits)
{
	unsigned int b = block_bits, v, places;
	struct epf_cover_double *c = calloc(1, sizeof(*c));
	unsigned int *count = malloc(sizeof(*count) << bits);
	int *weight = calloc((size_t)b * b + 1, sizeof(*weight));
	bool good = c && count && weight;

	if (c) {
		c->block_bits = b;
		c->bits = bits;
	}
	for (v = 0; good && b >> v; v++) {
		places = bits < b >> v ? bits : b >> v;
		count_met(count, b, bits, v, places);
		sum_subsets(count, places);
		weigh(weight, count, places);
		good = collect(c, v, weight);
	}
	free(weight);
	free(count);
	if (good)
		return c;
	epf_cover_double_free(c);
	return NULL;
}

void epf_cover_double_free(struct epf_cover_double *c)
{
	unsigned int v;

	if (!c)
		return;
	for (v = 0; v < CLASSES_MAX; v++)
		free(c->term[v]);
	free(c);
}

double epf_cover_double(const struct epf_cover_double *c, unsigned int v, double load)
{
	double sum = 0;
	unsigned int i;

	if (load * c->bits > FULL * c->block_bits)
		return 1;
	for (i = 0; i < c->nr[v]; i++)
		sum += c->term[v][i].weight * expm1(-load * c->term[v][i].met);
	return fmin(sum, 1);
}

double epf_cover_share(unsigned int block_bits, unsigned int v)
{
	return block_bits >> v > 1 ? ldexp(.5, -(int)v) : 1.0 / block_bits;
}
