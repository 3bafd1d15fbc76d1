/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * apbf: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The probability of a hit in a slice is the share of its set bits; estimator_aged.h and
 * room_aged.h do the rest.
 */
#ifndef EPF_KIND_APBF_H
#define EPF_KIND_APBF_H

#include "apbf.h"
#include "estimator_aged.h"
#include "image.h"
#include "kind_fixed.h"
#include "room_aged.h"

#include <linux/epochfilter.h>

/* --------------------------------------------- false-positive rate ---- */

/**
 * epf_apbf_sample() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads a word in each of 16 slices; the next sample reads the next 16 slices.
 */
EPF_FN void epf_apbf_sample(struct epf_estimator *g, const struct epf_apbf *f, __u64 random)
{
	__u32 slices = epf_aged_counted(&f->ring), n;

	for (n = epf_estimator_slices(slices); n; n--) {
		__u32 i = epf_estimator_turn(g, slices);
		__u64 place = epf_aged_place(&f->ring, i);

		epf_estimator_word(g, i, f->word + place * f->slice_words, f->slice_words,
				   f->shape.slice_bits, random);
	}
	g->samples++;
}

/* The same as epf_ge_rate_q56(). */
EPF_FN __u64 epf_apbf_rate_q56(const struct epf_estimator *g, const struct epf_apbf *f)
{
	return epf_row_q56(g, epf_aged_row(&f->ring, 0));
}

/* The same as epf_row_layer_q56(). */
EPF_FN __u64 epf_apbf_layer_q56(const struct epf_estimator *g, const struct epf_apbf *f, __u32 age,
				__u64 *fill_q56)
{
	return epf_row_layer_q56(g, epf_aged_row(&f->ring, 0), age, fill_q56);
}

/* ------------------------------------------------------------ room ---- */

EPF_FN_BIG void epf_apbf_set_room(struct epf_apbf *f)
{
	struct epf_room *r = f->room;
	struct epf_front s = { &r->row, f->ring.k, epf_aged_counted(&f->ring), 1 };
	__u32 i;

	for (i = 0; i < s.nr; i++)
		r->row.hit[i] = epf_frac_q56(r->share[epf_aged_place(&f->ring, i)],
					     f->shape.slice_bits);
	for (i = 0; i < s.k; i++)
		r->row.ratio[i] = EPF_Q56_ONE;
	epf_front_begin(&s);
	r->most = epf_room_part(epf_front_room(&s, r->limit_q56), f->shape.slice_bits);
	r->grown = 0;
	r->stale = 0;
}

EPF_FN_BIG void epf_apbf_set_shares(struct epf_apbf *f, const struct epf_estimator *g)
{
	__u32 i;

	for (i = 0; i < epf_aged_counted(&f->ring); i++)
		f->room->share[epf_aged_place(&f->ring, i)] =
			epf_room_part(epf_estimator_fill(g, i), f->shape.slice_bits);
	f->room->stale = 1;
}

EPF_FN void epf_apbf_count(struct epf_apbf *f, struct epf_room *r)
{
	f->room = r;
	epf_apbf_set_room(f);
}

/* ------------------------------------------------------- snapshots ---- */

EPF_FN struct epf_apbf_shape epf_apbf_shape_of(const struct epf_shape *s)
{
	struct epf_apbf_shape to;

	to.slice_bits = s->apbf.slice_bits;
	to.k = s->apbf.k;
	to.l = s->apbf.l;
	return to;
}

EPF_FN void epf_apbf_save(const struct epf_apbf *f, struct epf_snap_locked *s)
{
	s->words = epf_apbf_words(&f->shape);
	s->now = f->ring.base;
}

EPF_FN int epf_apbf_load(struct epf_apbf *f, const struct epf_snap_locked *s)
{
	if (!epf_image_plain(s, epf_apbf_words(&f->shape), f->ring.k + f->ring.l - 1))
		return -EINVAL;
	f->ring.base = (__u32)s->now;
	return 0;
}

/* ------------------------------------------------------------- row ---- */

#if EPF_TABLES

EPF_FIXED_KIND(apbf, l, s.l, s.k + s.l, NULL, NULL);

#endif /* EPF_TABLES */

#endif /* EPF_KIND_APBF_H */
