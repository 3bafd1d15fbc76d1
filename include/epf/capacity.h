/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many keys an epoch may take before the error of its filter passes a limit.
 * Integers only; for creation and for the ends of epochs, never for each packet.
 *
 * The model is that of user/libepf/size.c. The keys that meet in one line are
 * Poisson distributed, each sets k_j distinct positions of 62, and the chance
 * that x keys have covered the k_j positions of another key is that of a Markov
 * chain on how many of them are covered. All terms are positive, so nothing
 * cancels. An epoch errs where the lines of all L parts do, the filter where one
 * of its eight epochs does.
 *
 * That is worked out once, at EPF_CAPACITY_STEPS evenly spaced numbers of keys up
 * to the one at which a single epoch reaches the limit. In between the error is
 * interpolated, which never understates it where it is convex; where it is not,
 * and for what is rounded down, EPF_CAPACITY_MARGIN is added. selftests/core/
 * capacity.c compares the result with libepf.
 *
 * Keys are counted when they set a bit that was not set. A key that errs sets
 * none: of d random keys about d - (the sum of the errors they met) are counted,
 * and the table is one of counted keys.
 */
#ifndef EPF_CAPACITY_H
#define EPF_CAPACITY_H

#include "q56.h"
#include "geometry.h"

#define EPF_CAPACITY_STEPS 128u /* a power of two */
/* The table ends where a line has so many keys in the mean, limit or not: even
 * with one position a key the error of one epoch is then above 0.99.
 */
#define EPF_CAPACITY_LOAD 384u
/* Numbers of keys in one line that are told apart: more come to EPF_CAPACITY_LOAD
 * with a chance of 1e-15 only.
 */
#define EPF_CAPACITY_KEYS 576u
#define EPF_CAPACITY_MARGIN 14 /* errors are taken for 1 + 2^-14 times as much */

/**
 * struct epf_capacity - the error of an epoch by its keys, up to a limit
 * @limit_q56: of the filter
 * @keys: counted in the epoch, ascending
 * @q56: its error then, ascending
 */
struct epf_capacity {
	__u64 limit_q56;
	__u64 keys[EPF_CAPACITY_STEPS + 1];
	__u64 q56[EPF_CAPACITY_STEPS + 1];
};

/**
 * struct epf_capacity_work - what epf_capacity_init() needs while it works
 * @step: chance that the next key takes the covered positions from a to b
 * @row: chance of each number of covered positions, before and after
 * @cover: chance that x keys cover all, for the more positions and for the fewer
 */
struct epf_capacity_work {
	__u64 step[EPF_PART_BITS_MAX + 1][EPF_PART_BITS_MAX + 1];
	__u64 row[2][EPF_PART_BITS_MAX + 1];
	__u64 cover[2][EPF_CAPACITY_KEYS];
};

/* C(n, r), n at most EPF_LANE_BITS, r at most EPF_PART_BITS_MAX: below 2^47, and
 * what is divided below 2^53.
 */
EPF_FN_BIG __u64 epf_choose(__u32 n, __u32 r)
{
	__u64 c = 1;
	__u32 i;

	for (i = 0; i < r; i++)
		c = n > i ? c * (n - i) / (i + 1) : 0;
	return c;
}

EPF_FN_BIG void epf_capacity_steps(struct epf_capacity_work *w, __u32 k)
{
	__u64 all = epf_choose(EPF_LANE_BITS, k);
	__u32 from, to;

	for (from = 0; from <= k; from++)
		for (to = from; to <= k; to++)
			w->step[from][to] = epf_frac_q56(
				epf_choose(k - from, to - from) *
					epf_choose(EPF_LANE_BITS - k + from,
						   k - to + from), all);
}

/* Where x keys leave a chance of less than this, more are taken to leave none. */
#define EPF_CAPACITY_SURE (1ULL << 16)

/* @cover[x], with k = @k. */
EPF_FN_BIG void epf_capacity_cover(struct epf_capacity_work *w, __u32 k,
				   __u64 *cover)
{
	__u64 *now = w->row[0], *next = w->row[1], *last;
	__u32 x, from, to;

	epf_capacity_steps(w, k);
	memset(w->row, 0, sizeof(w->row));
	now[0] = EPF_Q56_ONE;
	for (x = 0; x < EPF_CAPACITY_KEYS; x++) {
		cover[x] = now[k];
		if (now[k] > EPF_Q56_ONE - EPF_CAPACITY_SURE) {
			cover[x] = EPF_Q56_ONE;
			continue;
		}
		for (to = 0; to <= k; to++)
			for (next[to] = 0, from = 0; from <= to; from++)
				next[to] += epf_mul_q56(now[from],
							w->step[from][to]);
		last = now;
		now = next;
		next = last;
	}
}

#define EPF_CAPACITY_MODE (1ULL << 50) /* so that the sum of weights is below 2^56 */

/* The mean of @cover over lines that @keys keys were put into at random: Poisson
 * weights, from the most likely number of keys outwards.
 */
EPF_FN_BIG __u64 epf_capacity_mean(const __u64 *cover, __u64 keys, __u64 lines)
{
	__u64 mode = keys / lines;
	__u64 hit = 0, all = 0, w, x;

	for (x = mode, w = EPF_CAPACITY_MODE; w && x < EPF_CAPACITY_KEYS; x++) {
		hit += epf_mul_q56(cover[x], w);
		all += w;
		w = epf_mul_q56(w, epf_frac_q56(keys, lines * (x + 1)));
	}
	for (x = mode, w = EPF_CAPACITY_MODE; w && x; x--) {
		w = epf_mul_q56(w, epf_frac_q56(lines * x, keys));
		hit += epf_mul_q56(cover[x - 1], w);
		all += w;
	}
	return epf_frac_q56(hit, all);
}

/* The error of an epoch of @keys random keys. */
EPF_FN_BIG __u64 epf_capacity_error(const struct epf_capacity_work *w,
				    const struct epf_geom *g, __u64 keys)
{
	__u64 q = epf_pow_q56(epf_capacity_mean(w->cover[1], keys,
						g->part_lines),
			      g->parts - g->more);

	if (g->more)
		q = epf_mul_q56(q, epf_pow_q56(epf_capacity_mean(
						       w->cover[0], keys,
						       g->part_lines),
					       g->more));
	q += q >> EPF_CAPACITY_MARGIN;
	return q < EPF_Q56_ONE ? q : EPF_Q56_ONE;
}

/* Keys at which an epoch alone reaches the limit, rounded up to a sixteenth. */
EPF_FN_BIG __u64 epf_capacity_top(const struct epf_capacity_work *w,
				  const struct epf_geom *g, __u64 limit_q56)
{
	__u64 most = g->part_lines * EPF_CAPACITY_LOAD;
	__u64 top = 1, unit;

	while (top < most && epf_capacity_error(w, g, top) < limit_q56)
		top *= 2;
	unit = top / 16;
	if (unit)
		for (top = 8 * unit; epf_capacity_error(w, g, top) < limit_q56 &&
				     top < most && top < 16 * unit;)
			top += unit;
	return top < most ? top : most;
}

/* Keys that are not counted have so many fraction bits. */
#define EPF_CAPACITY_LOST 16
#define EPF_CAPACITY_LOST_ONE (1ULL << EPF_CAPACITY_LOST)

/**
 * epf_capacity_init() - work out what an epoch may take
 * @c: result
 * @g: shape of the filter
 * @limit_q56: error that it may have at the most, below EPF_Q56_ONE
 * @w: room to work in
 *
 * Takes a fraction of a millisecond.
 */
EPF_FN_BIG void epf_capacity_init(struct epf_capacity *c,
				  const struct epf_geom *g, __u64 limit_q56,
				  struct epf_capacity_work *w)
{
	__u64 top, q, keys, before = 0, lost = 0;
	__u32 i;

	if (g->more)
		epf_capacity_cover(w, epf_geom_bits(g, 0), w->cover[0]);
	epf_capacity_cover(w, epf_geom_bits(g, g->parts - 1), w->cover[1]);
	c->limit_q56 = limit_q56;
	top = epf_capacity_top(w, g, limit_q56);
	c->keys[0] = 0;
	c->q56[0] = 0;
	for (i = 1; i <= EPF_CAPACITY_STEPS; i++) {
		keys = top * i / EPF_CAPACITY_STEPS;
		q = epf_capacity_error(w, g, keys);
		lost += epf_mul_q56((keys - before) << EPF_CAPACITY_LOST, q);
		before = keys;
		c->keys[i] = keys - ((lost + EPF_CAPACITY_LOST_ONE - 1) >>
				     EPF_CAPACITY_LOST);
		c->q56[i] = q > c->q56[i - 1] ? q : c->q56[i - 1];
	}
}

/* Whether @a < @b, as all bits or none; both are below 2^63. No branch. */
EPF_FN __u64 epf_capacity_below(__u64 a, __u64 b)
{
	return 0 - ((a - b) >> 63);
}

/* The point of @y where @x, ascending, is @v; the last where it is beyond. A verifier
 * that follows mispredicted branches wants every address here to be of one kind, whichever
 * way led to it: so the search has no branch, and each caller has a copy.
 */
EPF_FN __u64 epf_capacity_at(const __u64 *x, const __u64 *y, __u64 v)
{
	__u64 low = 0, step;

	if (v >= x[EPF_CAPACITY_STEPS])
		return y[EPF_CAPACITY_STEPS];
	/* x[low] <= v < x[low + 2 * step] */
	EPF_UNROLL
	for (step = EPF_CAPACITY_STEPS / 2; step; step /= 2)
		low += epf_opaque((__u32)(step & ~epf_capacity_below(v, x[low + step])));
	return y[low] + epf_mul_q56(y[low + 1] - y[low],
				    epf_frac_q56(v - x[low], x[low + 1] - x[low]));
}

/**
 * epf_capacity_q56() - the error of one epoch
 * @c: capacity
 * @keys: counted in it
 *
 * Return: q56; EPF_Q56_ONE where it is beyond the limit by itself.
 */
EPF_FN_BIG __u64 epf_capacity_q56(const struct epf_capacity *c, __u64 keys)
{
	if (keys > c->keys[EPF_CAPACITY_STEPS])
		return EPF_Q56_ONE;
	return epf_capacity_at(c->keys, c->q56, keys);
}

/**
 * epf_capacity_keys() - the other way round
 * @c: capacity
 * @q56: an error
 *
 * Return: counted keys at which an epoch has it.
 */
EPF_FN_BIG __u64 epf_capacity_keys(const struct epf_capacity *c, __u64 q56)
{
	return epf_capacity_at(c->q56, c->keys, q56);
}

/**
 * epf_capacity_room() - what the current epoch may take
 * @c: capacity
 * @q56: errors of the seven others, EPF_LIVE_EPOCHS
 *
 * Return: counted keys up to which the error of the filter is within the limit;
 * 0 where the others pass it without any.
 */
EPF_FN_BIG __u64 epf_capacity_room(const struct epf_capacity *c,
				   const __u64 *q56)
{
	__u64 any = 0;
	__u32 i;

	for (i = 0; i < EPF_LIVE_EPOCHS; i++)
		any = epf_either_q56(any, q56[i]);
	if (any >= c->limit_q56)
		return 0;
	/* 1 - (1 - any) (1 - x) = limit */
	return epf_capacity_keys(c, epf_frac_q56(c->limit_q56 - any,
						 EPF_Q56_ONE - any));
}

#endif /* EPF_CAPACITY_H */
