/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ge: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The estimator: if a share p of the positions of an epoch is set, all k positions of a key
 * are set with probability p^k, and those in one of the epochs with the complement of the
 * product of complements. What double hashing adds, see docs/theory/ge.md, is also computed
 * from the p. The room follows from the same, for the current epoch together with the
 * others.
 */
#ifndef EPF_KIND_GE_H
#define EPF_KIND_GE_H

#include "ge.h"
#include "estimator.h"
#include "image.h"
#include "kind_fixed.h"
#include "room.h"

#include <linux/epochfilter.h>

/* --------------------------------------------- false-positive rate ---- */

/* Count one line of cells. */
EPF_FN void epf_ge_sample_cells(struct epf_estimator *g, const struct epf_ge *f, __u64 random)
{
	__u32 cell = epf_ge_cell(&f->shape), age, i;
	__u64 line = epf_mulhi(random, epf_ge_words(&f->shape) / 8);
	__u64 cells = f->shape.segment_bits - (line << (9 - cell));
	const __u64 *word = f->word + 8 * line;

	if (cells > 512u >> cell)
		cells = 512u >> cell;
	for (age = 0; age < epf_ge_counted(f); age++) {
		__u64 column = epf_ge_column(&f->shape)
			       << (f->shape.epochs - epf_ge_segment(f, age));

		for (i = 0; i < 8; i++)
			g->set[age] += epf_popcount(word[i] & column);
		g->seen[age] += (__u32)cells;
	}
}

/**
 * epf_ge_sample() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads 8 words, or r + 1 with layout EPF_GE_SEGMENTS.
 */
EPF_FN void epf_ge_sample(struct epf_estimator *g, const struct epf_ge *f, __u64 random)
{
	__u64 words = epf_ge_stride(&f->shape);
	__u32 age;

	g->samples++;
	if (f->shape.layout == EPF_GE_TRANSPOSED) {
		epf_ge_sample_cells(g, f, random);
		return;
	}
	for (age = 0; age < epf_ge_counted(f); age++)
		epf_estimator_word(g, age, f->word + words * epf_ge_segment(f, age), words,
				   f->shape.segment_bits, random);
}

/* Epochs @from .. @to - 1: powers of their fills, and the roots of these. */
struct epf_ge_union {
	__u64 power[EPF_GE_EPOCHS_MAX + 1];
	__u64 root[EPF_GE_EPOCHS_MAX + 1];
	__u32 from;
	__u32 to;
};

/* The probability of a hit in at least one of the epochs. */
EPF_FN __u64 epf_ge_union_q56(const struct epf_ge_union *u)
{
	__u64 any = 0;
	__u32 e;

	for (e = u->from; e < u->to; e++)
		any = epf_either_q56(any, u->power[e]);
	return any;
}

/* Add half a position. Return: the probability then. */
EPF_FN __u64 epf_ge_union_half(struct epf_ge_union *u)
{
	__u32 e;

	for (e = u->from; e < u->to; e++)
		u->power[e] = epf_mul_q56(u->power[e], u->root[e]);
	return epf_ge_union_q56(u);
}

/* Euler's phi of 0 .. 15, four bits each; larger terms are negligible. */
#define EPF_GE_COPRIME 0x86c4a46462422110ULL

/* What double hashing adds: (1/s) sum over q of 2 phi(q) / (q (k - q)) times the integral
 * from q to k of F(d) - F(k), where F(d) is the probability for d positions, F(k) = @all;
 * by Simpson's rule. @u: at power 1.
 */
EPF_FN __u64 epf_ge_sample_more(struct epf_ge_union *u, const struct epf_ge_shape *s, __u64 all)
{
	__u64 low = epf_ge_union_q56(u), weight = 0, more = 0;
	__u32 d;

	for (d = 1; d < s->bits; d++) {
		__u64 mid = epf_ge_union_half(u);
		__u64 high = epf_ge_union_half(u);
		__u64 mean = (low + 4 * mid + high) / 6;

		if (d < 16)
			weight += 2 * (EPF_GE_COPRIME >> 4 * d & 15) * EPF_Q56_ONE /
				  (d * (s->bits - d));
		if (mean > all) /* weight: below 8 */
			more += epf_mulhi((mean - all) << 7, weight << 1) / s->segment_bits;
		low = high;
	}
	return more;
}

/* The probability for epochs @from .. @to - 1. */
EPF_FN_BIG __u64 epf_ge_sample_span(const struct epf_estimator *g, const struct epf_ge_shape *s,
				    __u32 from, __u32 to)
{
	struct epf_ge_union u;
	__u64 all;
	__u32 e;

	u.from = from;
	u.to = to;
	for (e = from; e < to; e++)
		u.power[e] = epf_pow_q56(epf_estimator_fill(g, e), s->bits);
	all = epf_ge_union_q56(&u);
	for (e = from; e < to; e++) {
		u.power[e] = epf_estimator_fill(g, e);
		u.root[e] = epf_sqrt_q56(u.power[e]);
	}
	all += epf_ge_sample_more(&u, s, all);
	return all < EPF_Q56_ONE ? all : EPF_Q56_ONE;
}

/**
 * epf_ge_rate_q56() - the probability that a key never inserted is present
 * @g: samples
 * @f: filter
 *
 * Return: q56; without a sample 0.
 */
EPF_FN __u64 epf_ge_rate_q56(const struct epf_estimator *g, const struct epf_ge *f)
{
	return epf_ge_sample_span(g, &f->shape, 0, epf_ge_counted(f));
}

/**
 * epf_ge_layer_q56() - the part of one epoch in it
 * @g: samples
 * @f: filter
 * @age: of the epoch
 * @fill_q56: set to the share of its positions that are set
 *
 * Return: the probability that such a key is in that epoch, whatever the others hold; 0
 * with @fill_q56 0 for an epoch that does not count.
 */
EPF_FN __u64 epf_ge_layer_q56(const struct epf_estimator *g, const struct epf_ge *f, __u32 age,
			      __u64 *fill_q56)
{
	*fill_q56 = 0;
	if (age >= epf_ge_counted(f))
		return 0;
	*fill_q56 = epf_estimator_fill(g, age);
	return epf_ge_sample_span(g, &f->shape, age, age + 1);
}

/* ------------------------------------------------------------ room ---- */

/* Number of set bits of a segment whose error is @rest. */
EPF_FN_BIG __u64 epf_ge_bits_at(const struct epf_ge *f, __u64 rest)
{
	__u64 fill = 0, bit;

	for (bit = EPF_Q56_ONE; bit; bit >>= 1)
		if ((fill | bit) <= EPF_Q56_ONE && epf_pow_q56(fill | bit, f->shape.bits) <= rest)
			fill |= bit;
	return epf_room_part(fill, f->shape.segment_bits);
}

/* What double hashing adds if the current segment has @set set bits. */
EPF_FN_BIG __u64 epf_ge_room_more(const struct epf_ge *f, __u64 set)
{
	__u64 s = f->shape.segment_bits;
	struct epf_ge_union u;
	__u64 all = 0, fill;
	__u32 age;

	u.from = 0;
	u.to = epf_ge_counted(f);
	for (age = 0; age < u.to; age++) {
		fill = epf_frac_q56(age ? f->room->share[epf_ge_segment(f, age)] : set, s);
		all = epf_either_q56(all, epf_pow_q56(fill, f->shape.bits));
		u.power[age] = fill;
		u.root[age] = epf_sqrt_q56(fill);
	}
	return epf_ge_sample_more(&u, &f->shape, all);
}

/**
 * epf_ge_set_room() - how far the current epoch may be filled
 * @f: filter that counts
 */
EPF_FN_BIG void epf_ge_set_room(struct epf_ge *f)
{
	struct epf_room *r = f->room;
	__u64 any = 0, more, fill;
	__u32 age;

	for (age = 1; age < epf_ge_counted(f); age++) {
		fill = epf_frac_q56(r->share[epf_ge_segment(f, age)], f->shape.segment_bits);
		any = epf_either_q56(any, epf_pow_q56(fill, f->shape.bits));
	}
	more = epf_ge_room_more(f, epf_ge_bits_at(f, epf_room_rest(r, any)));
	any = any + more < EPF_Q56_ONE ? any + more : EPF_Q56_ONE;
	epf_room_set(r, f->now, epf_ge_bits_at(f, epf_room_rest(r, any)));
}

/**
 * epf_ge_set_shares() - set from samples what the segments hold
 * @f: filter that counts, loaded
 * @g: its estimator
 *
 * The functions of the other kinds do the same.
 */
EPF_FN_BIG void epf_ge_set_shares(struct epf_ge *f, const struct epf_estimator *g)
{
	__u32 age;

	for (age = 0; age < epf_ge_counted(f); age++)
		f->room->share[epf_ge_segment(f, age)] = epf_room_part(epf_estimator_fill(g, age),
								       f->shape.segment_bits);
	f->room->stale = 1;
}

/**
 * epf_ge_count() - count from now on
 * @f: empty filter
 * @r: zeroed except for its limit
 *
 * The functions of the other kinds do the same.
 */
EPF_FN void epf_ge_count(struct epf_ge *f, struct epf_room *r)
{
	f->room = r;
	epf_ge_set_room(f);
}

/* ------------------------------------------------------- snapshots ---- */

EPF_FN struct epf_ge_shape epf_ge_shape_of(const struct epf_shape *s)
{
	struct epf_ge_shape to;

	to.segment_bits = s->ge.segment_bits;
	to.epochs = s->ge.epochs;
	to.bits = s->ge.bits;
	to.layout = s->ge.layout;
	return to;
}

/**
 * epf_ge_save() - the state of a filter that is not retired
 * @f: filter
 * @s: zeroed; its number of words and the kind's state are set
 *
 * The functions of the other kinds do the same.
 */
EPF_FN void epf_ge_save(const struct epf_ge *f, struct epf_snap_locked *s)
{
	s->words = epf_ge_words(&f->shape);
	s->now = f->now;
}

/**
 * epf_ge_load() - continue from a state
 * @f: filter just initialized, with the shape of the same snapshot
 * @s: any bytes
 *
 * The functions of the other kinds do the same.
 *
 * Return: 0; -EINVAL: it is not a state of such a filter.
 */
EPF_FN int epf_ge_load(struct epf_ge *f, const struct epf_snap_locked *s)
{
	if (!epf_image_plain(s, epf_ge_words(&f->shape), f->shape.epochs))
		return -EINVAL;
	f->now = (__u32)s->now;
	return 0;
}

/* ------------------------------------------------------------- row ---- */

#if EPF_TABLES

EPF_FIXED_KIND(ge, layout, s.epochs, s.epochs + 1, NULL, NULL);

#endif /* EPF_TABLES */

#endif /* EPF_KIND_GE_H */
