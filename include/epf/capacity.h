/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many keys an epoch may take before the error of its filter exceeds a limit. Integers
 * only; for creation and for the ends of epochs, never for each packet.
 *
 * The model is that of user/libepf/size.c. The keys that share one line are Poisson
 * distributed, and each has k/L fields. The probability that the fields of x keys have
 * covered the positions of another key is that of a Markov chain, one step per field, on
 * the number of positions not yet covered. All terms are positive, so nothing cancels. An
 * epoch errs if the lines of all L parts do, the filter if one of its eight epochs does.
 *
 * The error is computed once, at EPF_CAPACITY_STEPS evenly spaced numbers of keys up to the
 * number at which a single epoch reaches the limit. In between it is interpolated, which
 * never understates it where it is convex; EPF_CAPACITY_MARGIN is added to cover other
 * places, and rounding down. selftests/core/capacity.c compares the result with libepf.
 *
 * A key is counted when it sets a bit that was not set. A key that is a false positive sets
 * none: of d random keys about d - (the sum of the errors they met) are counted, and the
 * table is in counted keys.
 */
#ifndef EPF_CAPACITY_H
#define EPF_CAPACITY_H

#include "q56.h"
#include "geometry.h"

#define EPF_CAPACITY_STEPS 128u /* a power of two */
/* The table ends where a line has so many keys on average, even below the limit: even with
 * one position per key the error of one epoch is then above 0.99.
 */
#define EPF_CAPACITY_LOAD 384u
/* The most keys in one line that are distinguished: at EPF_CAPACITY_LOAD, more occur with
 * probability 1e-15 only.
 */
#define EPF_CAPACITY_KEYS 576u
#define EPF_CAPACITY_MARGIN 14 /* errors count as 1 + 2^-14 times as much */

/**
 * struct epf_capacity - the error of an epoch by its keys, up to a limit
 * @limit_q56: of the filter
 * @keys: counted in the epoch, ascending from 0
 * @q56: its error then, ascending; without any key it is the share of keys that have no
 *	position
 */
struct epf_capacity {
	__u64 limit_q56;
	__u64 keys[EPF_CAPACITY_STEPS + 1];
	__u64 q56[EPF_CAPACITY_STEPS + 1];
};

/**
 * struct epf_capacity_work - working memory of epf_capacity_init()
 * @row: probability of each number of positions not covered; one more, which stays 0
 * @cover: probability that x keys cover all
 */
struct epf_capacity_work {
	__u64 row[EPF_PART_BITS_MAX + 2];
	__u64 cover[EPF_CAPACITY_KEYS];
};

/* Add one field of the key that is looked up: it selects a new position, or one that is
 * already there, or none.
 */
EPF_FN_BIG void epf_capacity_own(__u64 *row)
{
	__u32 u;

	for (u = EPF_PART_BITS_MAX; u; u--)
		row[u] = (row[u] * (EPF_FIELDS - EPF_LANE_BITS + u) +
			  row[u - 1] * (EPF_LANE_BITS + 1 - u)) >>
			 EPF_FIELD_SHIFT;
	row[0] = row[0] * (EPF_FIELDS - EPF_LANE_BITS) >> EPF_FIELD_SHIFT;
}

/* Add one field of another key: it covers one of the u positions that are left, or none. */
EPF_FN_BIG void epf_capacity_other(__u64 *row)
{
	__u32 u;

	for (u = 0; u <= EPF_PART_BITS_MAX; u++)
		row[u] = (row[u] * (EPF_FIELDS - u) + row[u + 1] * (u + 1)) >> EPF_FIELD_SHIFT;
}

/* Once x keys leave a smaller probability than this, more keys count as leaving none. */
#define EPF_CAPACITY_SURE (1ULL << 16)

/* Compute @cover, with @k fields per key. */
EPF_FN_BIG void epf_capacity_cover(struct epf_capacity_work *w, __u32 k)
{
	__u32 x, i;

	memset(w->row, 0, sizeof(w->row));
	w->row[0] = EPF_Q56_ONE;
	for (i = 0; i < k; i++)
		epf_capacity_own(w->row);
	for (x = 0; x < EPF_CAPACITY_KEYS; x++) {
		w->cover[x] = w->row[0];
		if (w->row[0] > EPF_Q56_ONE - EPF_CAPACITY_SURE) {
			w->cover[x] = EPF_Q56_ONE;
			continue;
		}
		for (i = 0; i < k; i++)
			epf_capacity_other(w->row);
	}
}

#define EPF_CAPACITY_MODE (1ULL << 50) /* so that the sum of weights is below 2^56 */

/* The mean of @cover over lines into which @keys keys were put at random: Poisson weights,
 * from the most likely number of keys outwards.
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
EPF_FN_BIG __u64 epf_capacity_error(const struct epf_capacity_work *w, const struct epf_geom *g,
				    __u64 keys)
{
	__u64 q = epf_pow_q56(epf_capacity_mean(w->cover, keys, g->part_lines), g->parts);

	q += q >> EPF_CAPACITY_MARGIN;
	return q < EPF_Q56_ONE ? q : EPF_Q56_ONE;
}

/* Number of keys at which an epoch alone reaches the limit, rounded up to a sixteenth. */
EPF_FN_BIG __u64 epf_capacity_top(const struct epf_capacity_work *w, const struct epf_geom *g,
				  __u64 limit_q56)
{
	__u64 most = g->part_lines * EPF_CAPACITY_LOAD;
	__u64 top = 1, unit;

	while (top < most && epf_capacity_error(w, g, top) < limit_q56)
		top *= 2;
	unit = top / 16;
	if (unit)
		for (top = 8 * unit;
		     epf_capacity_error(w, g, top) < limit_q56 && top < most && top < 16 * unit;)
			top += unit;
	return top < most ? top : most;
}

/* Fraction bits of the number of keys that are not counted. */
#define EPF_CAPACITY_LOST 16
#define EPF_CAPACITY_LOST_ONE (1ULL << EPF_CAPACITY_LOST)

/**
 * epf_capacity_init() - compute how many keys an epoch may take
 * @c: result
 * @g: shape of the filter
 * @limit_q56: largest error allowed, below EPF_Q56_ONE
 * @w: working memory
 *
 * Takes a fraction of a millisecond.
 */
EPF_FN_BIG void epf_capacity_init(struct epf_capacity *c, const struct epf_geom *g, __u64 limit_q56,
				  struct epf_capacity_work *w)
{
	__u64 top, q, keys, before = 0, lost = 0;
	__u32 i;

	epf_capacity_cover(w, g->bits);
	c->limit_q56 = limit_q56;
	top = epf_capacity_top(w, g, limit_q56);
	c->keys[0] = 0;
	c->q56[0] = epf_capacity_error(w, g, 0);
	for (i = 1; i <= EPF_CAPACITY_STEPS; i++) {
		keys = top * i / EPF_CAPACITY_STEPS;
		q = epf_capacity_error(w, g, keys);
		lost += epf_mul_q56((keys - before) << EPF_CAPACITY_LOST, q);
		before = keys;
		c->keys[i] = keys - ((lost + EPF_CAPACITY_LOST_ONE - 1) >> EPF_CAPACITY_LOST);
		c->q56[i] = q > c->q56[i - 1] ? q : c->q56[i - 1];
	}
}

/* Is @a < @b? Returns all bits or none, without a branch; both are below 2^63. */
EPF_FN __u64 epf_capacity_below(__u64 a, __u64 b)
{
	return 0 - ((a - b) >> 63);
}

/* The point of @y where @x, ascending, is @v; the last point if @v is beyond. A verifier
 * that follows mispredicted branches requires every address here to be of one kind,
 * whichever path leads to it. So the search has no branch, and each caller has a copy.
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
	return y[low] +
	       epf_mul_q56(y[low + 1] - y[low], epf_frac_q56(v - x[low], x[low + 1] - x[low]));
}

/**
 * epf_capacity_q56() - the error of one epoch
 * @c: capacity
 * @keys: counted in it
 *
 * Return: q56; EPF_Q56_ONE if it alone exceeds the limit.
 */
EPF_FN_BIG __u64 epf_capacity_q56(const struct epf_capacity *c, __u64 keys)
{
	if (keys > c->keys[EPF_CAPACITY_STEPS])
		return EPF_Q56_ONE;
	return epf_capacity_at(c->keys, c->q56, keys);
}

/**
 * epf_capacity_keys() - the inverse of epf_capacity_q56()
 * @c: capacity
 * @q56: an error
 *
 * Return: counted keys at which an epoch has this error.
 */
EPF_FN_BIG __u64 epf_capacity_keys(const struct epf_capacity *c, __u64 q56)
{
	if (q56 < c->q56[0])
		return 0;
	return epf_capacity_at(c->q56, c->keys, q56);
}

/**
 * epf_capacity_room() - how many keys the current epoch may take
 * @c: capacity
 * @q56: errors of the seven others, EPF_LIVE_EPOCHS
 *
 * Return: counted keys up to which the error of the filter is within the limit; 0 if the
 * other epochs alone exceed it.
 */
EPF_FN_BIG __u64 epf_capacity_room(const struct epf_capacity *c, const __u64 *q56)
{
	__u64 any = 0;
	__u32 i;

	for (i = 0; i < EPF_LIVE_EPOCHS; i++)
		any = epf_either_q56(any, q56[i]);
	if (any >= c->limit_q56)
		return 0;
	/* 1 - (1 - any) (1 - x) = limit */
	return epf_capacity_keys(c, epf_frac_q56(c->limit_q56 - any, EPF_Q56_ONE - any));
}

/* The room of epoch @e. @share: errors of the epochs that are over, by epoch modulo 8. */
EPF_FN_BIG __u64 epf_capacity_room_of(const struct epf_capacity *c, const __u64 *share, __u64 e)
{
	__u64 others[EPF_LIVE_EPOCHS];
	__u32 i;

	for (i = 0; i < EPF_LIVE_EPOCHS; i++)
		others[i] = share[(e - 1 - i) % EPF_LANES];
	return epf_capacity_room(c, others);
}

#endif /* EPF_CAPACITY_H */
