/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * apbbf: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The probability of a hit in a slice is the mean over blocks of the product over parts;
 * estimator_aged.h and room_aged.h do the rest. For the room, that of blocks which are equally
 * full is used.
 */
#ifndef EPF_KIND_APBBF_H
#define EPF_KIND_APBBF_H

#include "apbbf.h"
#include "estimator_aged.h"
#include "image.h"
#include "kind_fixed.h"
#include "room_aged.h"

#include <linux/epochfilter.h>

/* --------------------------------------------- false-positive rate ---- */

/* Add a block of slice @i to the sample: a key hits there if in each part the one bit it
 * selects is set.
 */
EPF_FN_BIG void epf_apbbf_sample_block(struct epf_estimator *g, const struct epf_apbbf *f, __u32 i,
				       const __u64 *block)
{
	__u32 part = 1u << f->part_shift, j, set;
	__u64 q = EPF_Q56_ONE;

	for (j = 0; j < f->shape.bits; j++) {
		set = epf_apbbf_part(block, j * part, part);
		q = (q >> f->part_shift) * set;
		g->set[i] += set;
	}
	g->chance[i] += q >> EPF_ESTIMATOR_SHIFT;
	g->seen[i] += f->shape.block_bits;
}

/**
 * epf_apbbf_sample() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads a block in each of 16 slices; the next sample reads the next 16 slices.
 */
EPF_FN void epf_apbbf_sample(struct epf_estimator *g, const struct epf_apbbf *f, __u64 random)
{
	__u64 at = epf_mulhi(random, f->shape.nr_blocks) * (f->shape.block_bits / 64);
	__u32 slices = epf_aged_counted(&f->ring), n;

	for (n = epf_estimator_slices(slices); n; n--) {
		__u32 i = epf_estimator_turn(g, slices);
		__u64 place = epf_aged_place(&f->ring, i);

		epf_apbbf_sample_block(g, f, i, f->word + place * f->slice_words + at);
	}
	g->samples++;
}

/* The same as epf_ge_rate_q56(). */
EPF_FN __u64 epf_apbbf_rate_q56(const struct epf_estimator *g, const struct epf_apbbf *f)
{
	return epf_row_q56(g, epf_aged_row(&f->ring, f->shape.block_bits));
}

/* The same as epf_row_layer_q56(). */
EPF_FN __u64 epf_apbbf_layer_q56(const struct epf_estimator *g, const struct epf_apbbf *f,
				 __u32 age, __u64 *fill_q56)
{
	return epf_row_layer_q56(g, epf_aged_row(&f->ring, f->shape.block_bits), age, fill_q56);
}

/* ------------------------------------------------------------ room ---- */

/* The @n-th root, @n a power of two. */
EPF_FN_BIG __u64 epf_room_root(__u64 q, __u32 n)
{
	for (; n > 1; n /= 2)
		q = epf_sqrt_q56(q);
	return q;
}

EPF_FN_BIG void epf_apbbf_set_room(struct epf_apbbf *f)
{
	struct epf_room *r = f->room;
	struct epf_front s = { &r->row, f->ring.k, epf_aged_counted(&f->ring), f->shape.bits };
	__u64 all = epf_room_blocks(r, f->shape.nr_blocks), hit;
	__u32 i;

	for (i = 0; i < s.nr; i++) {
		hit = epf_frac_q56(r->share[epf_aged_place(&f->ring, i)], all);
		r->row.hit[i] = i < s.k ? epf_room_root(hit, s.bits) : hit;
	}
	for (i = 0; i < s.k; i++)
		r->row.ratio[i] = EPF_Q56_ONE;
	epf_front_begin(&s);
	r->most = epf_room_part(epf_front_room(&s, r->limit_q56), all);
	r->grown = 0;
	r->stale = 0;
}

EPF_FN_BIG void epf_apbbf_set_shares(struct epf_apbbf *f, const struct epf_estimator *g)
{
	struct epf_row row = epf_aged_row(&f->ring, f->shape.block_bits);
	__u64 all = epf_room_blocks(f->room, f->shape.nr_blocks);
	__u32 i;

	for (i = 0; i < row.nr; i++)
		f->room->share[epf_aged_place(&f->ring, i)] = epf_room_part(epf_row_hit(g, row, i),
									    all);
	f->room->stale = 1;
}

EPF_FN void epf_apbbf_count(struct epf_apbbf *f, struct epf_room *r)
{
	r->shift = epf_room_shift(f->shape.nr_blocks);
	f->room = r;
	epf_apbbf_set_room(f);
}

/* ------------------------------------------------------- snapshots ---- */

EPF_FN struct epf_apbbf_shape epf_apbbf_shape_of(const struct epf_shape *s)
{
	struct epf_apbbf_shape to;

	to.nr_blocks = s->apbbf.blocks;
	to.k = s->apbbf.k;
	to.l = s->apbbf.l;
	to.block_bits = s->apbbf.block_bits;
	to.bits = s->apbbf.bits;
	return to;
}

EPF_FN void epf_apbbf_save(const struct epf_apbbf *f, struct epf_snap_locked *s)
{
	s->words = epf_apbbf_words(&f->shape);
	s->now = f->ring.base;
}

EPF_FN int epf_apbbf_load(struct epf_apbbf *f, const struct epf_snap_locked *s)
{
	if (!epf_image_plain(s, epf_apbbf_words(&f->shape), f->ring.k + f->ring.l - 1))
		return -EINVAL;
	f->ring.base = (__u32)s->now;
	return 0;
}

/* ------------------------------------------------------------- row ---- */

#if EPF_TABLES

EPF_FIXED_KIND(apbbf, bits, s.l, s.k + s.l, NULL, NULL);

#endif /* EPF_TABLES */

#endif /* EPF_KIND_APBBF_H */
