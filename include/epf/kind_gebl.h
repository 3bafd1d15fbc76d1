/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gebl: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The estimator: in a block with n of B bits set, k distinct bits are all set with
 * probability C(n, k) / C(B, k); over the epochs of one group as for ge; then the mean over
 * groups. Double hashing has few sequences, about which set bits say nothing: for one step
 * all B starts are tried. The room is the mean over blocks of what is found there, together
 * with the other epochs.
 */
#ifndef EPF_KIND_GEBL_H
#define EPF_KIND_GEBL_H

#include "gebl.h"
#include "estimator.h"
#include "image.h"
#include "kind_fixed.h"
#include "room.h"

#include <linux/epochfilter.h>

/* --------------------------------------------- false-positive rate ---- */

/* Double hashing in one group with step @step. Return: the probability of a hit in one of
 * the epochs.
 */
EPF_FN_BIG __u64 epf_gebl_sample_double(struct epf_estimator *g, const struct epf_gebl *f,
					const __u64 *group, __u32 step)
{
	__u64 starts[EPF_GEBL_BLOCK_WORDS], any[EPF_GEBL_BLOCK_WORDS] = { 0 };
	__u32 n = epf_gebl_block(&f->shape), age, w, sum = 0;
	__u64 unit = EPF_ESTIMATOR_ONE / f->shape.block_bits;

	for (age = 0; age < epf_gebl_counted(f); age++) {
		epf_gebl_starts(group + epf_gebl_segment(f, age) * n, n, f->shape.bits, step,
				starts);
		for (w = 0; w < n; w++) {
			g->chance[age] += unit * epf_popcount(starts[w]);
			any[w] |= starts[w];
		}
	}
	for (w = 0; w < n; w++)
		sum += epf_popcount(any[w]);
	return unit * sum << EPF_ESTIMATOR_SHIFT;
}

/* The same for distinct positions. */
EPF_FN __u64 epf_gebl_sample_distinct(struct epf_estimator *g, const struct epf_gebl *f,
				      const __u32 *set)
{
	__u64 any = 0, q;
	__u32 age;

	for (age = 0; age < epf_gebl_counted(f); age++) {
		q = epf_gebl_cover(g->inverse, set[age], f->shape.bits);
		g->chance[age] += q >> EPF_ESTIMATOR_SHIFT;
		any = epf_either_q56(any, q);
	}
	return any;
}

/**
 * epf_gebl_sample() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads r + 1 adjacent blocks.
 */
EPF_FN_BIG void epf_gebl_sample(struct epf_estimator *g, const struct epf_gebl *f, __u64 random)
{
	__u32 n = epf_gebl_block(&f->shape), age, i;
	__u64 at = epf_mulhi(random, f->shape.blocks), any;
	const __u64 *group = f->word + at * epf_gebl_group(&f->shape);
	__u32 set[EPF_GEBL_EPOCHS_MAX + 1] = { 0 };

	for (i = 0; !g->samples && i < f->shape.bits; i++)
		g->inverse[i] = (1ULL << 63) / (f->shape.block_bits - i);
	for (age = 0; age < epf_gebl_counted(f); age++) {
		const __u64 *block = group + epf_gebl_segment(f, age) * n;

		for (i = 0; i < n; i++)
			set[age] += epf_popcount(block[i]);
		g->set[age] += set[age];
		g->seen[age] += 64 * n;
	}
	any = f->shape.offsets == EPF_GEBL_DOUBLE ?
		      epf_gebl_sample_double(g, f, group, (__u32)epf_word(random, 1)) :
		      epf_gebl_sample_distinct(g, f, set);
	g->any += any >> EPF_ESTIMATOR_SHIFT;
	g->samples++;
}

/* The same as epf_ge_rate_q56(). */
EPF_FN __u64 epf_gebl_rate_q56(const struct epf_estimator *g, const struct epf_gebl *f)
{
	(void)f;
	return epf_estimator_mean(g->any, g->samples);
}

/* The same as epf_ge_layer_q56(). */
EPF_FN __u64 epf_gebl_layer_q56(const struct epf_estimator *g, const struct epf_gebl *f, __u32 age,
				__u64 *fill_q56)
{
	*fill_q56 = 0;
	if (age >= epf_gebl_counted(f))
		return 0;
	*fill_q56 = epf_estimator_fill(g, age);
	return epf_estimator_mean(g->chance[age], g->samples);
}

/* ------------------------------------------------------------ room ---- */

EPF_FN_BIG void epf_gebl_set_room(struct epf_gebl *f)
{
	struct epf_room *r = f->room;
	__u64 all = epf_room_blocks(r, f->shape.blocks), any = 0;
	__u32 age;

	for (age = 1; age < epf_gebl_counted(f); age++)
		any = epf_either_q56(any, epf_frac_q56(r->share[epf_gebl_segment(f, age)], all));
	epf_room_set(r, f->now, epf_room_part(epf_room_rest(r, any), all));
}

EPF_FN_BIG void epf_gebl_set_shares(struct epf_gebl *f, const struct epf_estimator *g)
{
	__u64 all = epf_room_blocks(f->room, f->shape.blocks);
	__u32 age;

	for (age = 0; age < epf_gebl_counted(f); age++)
		f->room->share[epf_gebl_segment(f, age)] =
			epf_room_part(epf_estimator_mean(g->chance[age], g->samples), all);
	f->room->stale = 1;
}

EPF_FN_BIG void epf_gebl_count(struct epf_gebl *f, struct epf_room *r)
{
	__u32 i;

	r->shift = epf_room_shift(f->shape.blocks);
	for (i = 0; i < f->shape.bits; i++)
		r->inverse[i] = (1ULL << 63) / (f->shape.block_bits - i);
	f->room = r;
	epf_gebl_set_room(f);
}

/* ------------------------------------------------------- snapshots ---- */

EPF_FN struct epf_gebl_shape epf_gebl_shape_of(const struct epf_shape *s)
{
	struct epf_gebl_shape to;

	to.blocks = s->gebl.blocks;
	to.block_bits = s->gebl.block_bits;
	to.epochs = s->gebl.epochs;
	to.bits = s->gebl.bits;
	to.offsets = s->gebl.offsets;
	return to;
}

EPF_FN void epf_gebl_save(const struct epf_gebl *f, struct epf_snap_locked *s)
{
	s->words = epf_gebl_words(&f->shape);
	s->now = f->now;
}

EPF_FN int epf_gebl_load(struct epf_gebl *f, const struct epf_snap_locked *s)
{
	if (!epf_image_plain(s, epf_gebl_words(&f->shape), f->shape.epochs))
		return -EINVAL;
	f->now = (__u32)s->now;
	return 0;
}

/* ------------------------------------------------------------- row ---- */

#if EPF_TABLES

EPF_FIXED_KIND(gebl, offsets, s.epochs, s.epochs + 1, NULL, NULL);

#endif /* EPF_TABLES */

#endif /* EPF_KIND_GEBL_H */
