// SPDX-License-Identifier: GPL-2.0
/*
 * The chance that all positions of a key are set in a block.
 *
 * Distinct random positions: a Markov chain on how many of the k positions
 * are set, started at 0, after a Poisson number of steps. A key that comes sets,
 * of the u not set yet, as many as k draws without replacement from B find
 * (hypergeometric). All terms are positive and few, so that nothing cancels:
 * inclusion and exclusion would subtract numbers near 6000 to get 1e-10.
 *
 * Fields: the k fields of a key name one position each, or none, and several may name
 * the same. Of u positions that are not set yet, a field of another key sets one with
 * chance u / values. So the chance that m fields set all u is a mean of two such chances
 * of m - 1, for u - 1 and for u: all u at once, and nothing cancels.
 *
 * Double hashing: a key is a progression h1, h1 + h2, ... in a ring of B places.
 * Shifts and odd factors map progressions to progressions and places to places,
 * one to one, so of the key asked for only the power of two in h2 matters: h1
 * may be taken as 0 and h2 as 2^v. By inclusion and exclusion over the sets S of
 * its places, with a(S) the share of all B * B progressions that miss S,
 *
 *	chance = sum over S of (-1)^|S| exp(-load (1 - a(S)))
 *
 * Progressions are counted by the places that they meet, the counts summed over
 * subsets, and sets of equal a(S) taken together: of the 2^k terms some hundreds
 * remain. Their weights are whole numbers of sum 0, so that exp may be expm1.
 */
#include "cover.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FULL 60.0	/* a position is missed with chance exp(-FULL) at most */
#define LOAD_STEP 512.0 /* exp(-LOAD_STEP) is far from the smallest double */
#define TAIL 1e-24	/* Poisson terms below this are left out */

/* C(n, r), exact in a double for the n and r of a lane. */
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

void epf_cover_chain_init(struct epf_cover_chain *c, unsigned int block_bits,
			  unsigned int bits)
{
	int b = (int)block_bits, k = (int)bits;
	int from, to;

	c->block_bits = block_bits;
	c->bits = bits;
	for (from = 0; from <= k; from++)
		for (to = from; to <= k; to++)
			c->step[from].at[to] =
				choose(k - from, to - from) *
				choose(b - k + from, k - to + from) /
				choose(b, k);
}

/* One more key, to the chances @now; @c is what the keys are. */
typedef void (*key_fn)(const void *c, struct epf_cover_row *now);

/* A Poisson number of keys, of mean @load <= LOAD_STEP. */
static struct epf_cover_row some_keys(key_fn key, const void *c,
				      struct epf_cover_row now, double load)
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

/* The same of any mean, from where no key has come. */
static struct epf_cover_row many_keys(key_fn key, const void *c, double load)
{
	struct epf_cover_row now = { { 1 } };

	for (; load > LOAD_STEP; load -= LOAD_STEP)
		now = some_keys(key, c, now, LOAD_STEP);
	return some_keys(key, c, now, load);
}

/* By the number of positions that are set. */
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

double epf_cover_distinct(unsigned int block_bits, unsigned int bits,
			  double load)
{
	struct epf_cover_chain c;

	epf_cover_chain_init(&c, block_bits, bits);
	return epf_cover_chain(&c, load);
}

void epf_cover_fields_init(struct epf_cover_fields *c, unsigned int values,
			   unsigned int block_bits, unsigned int bits)
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

/* By the number of positions that the key asked for has. */
static void key_of_fields(const void *self, struct epf_cover_row *now)
{
	const struct epf_cover_fields *c = self;
	unsigned int i, u;

	for (i = 0; i < c->bits; i++)
		for (u = c->bits; u; u--)
			now->at[u] += (now->at[u - 1] - now->at[u]) * u /
				      c->values;
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

/* @weight terms exp(-load @met), met = 1 - a(S). */
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

/* The places i 2^@v, i < @places, of the key asked for; all progressions by the
 * set of them that they meet, into @count.
 */
static void count_met(unsigned int *count, unsigned int b, unsigned int k,
		      unsigned int v, unsigned int places)
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

/* @count of each set becomes that of all its subsets together. */
static void sum_subsets(unsigned int *count, unsigned int k)
{
	unsigned int set, bit;

	for (bit = 1; bit < 1u << k; bit <<= 1)
		for (set = 0; set < 1u << k; set++)
			if (set & bit)
				count[set] += count[set ^ bit];
}

/* Sets S by the number of progressions that miss S, with signs. */
static void weigh(int *weight, const unsigned int *count, unsigned int places)
{
	unsigned int all = (1u << places) - 1, set;

	/* missing S is meeting a subset of its complement only */
	for (set = 0; set <= all; set++)
		weight[count[all ^ set]] += __builtin_parity(set) ? -1 : 1;
}

/* The terms of v, from @weight, which is emptied. Return: is there memory? */
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
			*term++ = (struct term){ 1 - (double)n / total,
						 weight[n] };
		weight[n] = 0;
	}
	return true;
}

struct epf_cover_double *epf_cover_double_new(unsigned int block_bits,
					      unsigned int bits)
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

double epf_cover_double(const struct epf_cover_double *c, unsigned int v,
			double load)
{
	double sum = 0;
	unsigned int i;

	if (load * c->bits > FULL * c->block_bits)
		return 1;
	for (i = 0; i < c->nr[v]; i++)
		sum += c->term[v][i].weight *
		       expm1(-load * c->term[v][i].met);
	return fmin(sum, 1);
}

double epf_cover_share(unsigned int block_bits, unsigned int v)
{
	return block_bits >> v > 1 ? ldexp(.5, -(int)v) : 1.0 / block_bits;
}
