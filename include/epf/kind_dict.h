/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dict: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The estimator: a key is a false positive if its bucket has a pass mark, or if its
 * fingerprint matches a live one in its bucket or, if that has a spill mark, in its two
 * buckets of the backyard.
 *
 * The room: a cell matches with probability at most 1 / M; a pass mark lets a bucket of keys
 * pass. So M cells, or as many as marks stand for, err always.
 */
#ifndef EPF_KIND_DICT_H
#define EPF_KIND_DICT_H

#include "dict.h"
#include "estimator.h"
#include "image.h"
#include "kind_fixed.h"
#include "room.h"

#include <linux/epochfilter.h>

/* --------------------------------------------- false-positive rate ---- */

/* Count the live cells of a bucket by age. Return: their number. */
EPF_FN_BIG __u32 epf_dict_sample_cells(const struct epf_dict *f, const struct epf_dict_table *t,
				       const __u64 *bucket, __u32 *by_age)
{
	__u32 used = epf_dict_used(t, bucket), live = 0, i;

	for (i = 0; i < used; i++) {
		__u64 tag = epf_dict_get(bucket, t->first + i * t->width, f->shape.tag_bits);

		if (!epf_dict_live(f, tag))
			continue;
		by_age[epf_dict_age(f, tag)]++;
		live++;
	}
	return live;
}

/**
 * epf_dict_sample() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads a bucket of each table.
 */
EPF_FN void epf_dict_sample(struct epf_estimator *g, const struct epf_dict *f, __u64 random)
{
	const __u64 *home = epf_dict_bucket(f, epf_mulhi(random, f->shape.buckets));
	const __u64 *yard = epf_dict_bucket(f, f->shape.buckets + epf_mulhi(epf_word(random, 1),
									    f->shape.yard));
	__u32 live = epf_dict_sample_cells(f, &f->table[0], home, g->set);
	__u32 pass = epf_dict_marked(f, home, EPF_DICT_PASS);

	epf_dict_sample_cells(f, &f->table[1], yard, g->seen);
	if (pass != EPF_DICT_NEVER) {
		g->chance[pass] += EPF_ESTIMATOR_ONE;
		g->passed_cells += live;
	} else if (epf_dict_marked(f, home, EPF_DICT_SPILL) != EPF_DICT_NEVER) {
		g->spilt++;
		g->spilt_cells += live;
	}
	g->samples++;
}

/* The probability of matching one of @cells cells found in @samples buckets. */
EPF_FN __u64 epf_dict_sample_agree(const struct epf_dict_table *t, __u64 cells, __u64 samples)
{
	return epf_ratio_q56(cells, samples * t->slots) >> t->rem_bits;
}

/* The probability of matching @home cells of the first table, or of being looked up in the
 * backyard and matching @yard cells there.
 */
EPF_FN __u64 epf_dict_sample_cell(const struct epf_estimator *g, const struct epf_dict *f,
				  __u64 home, __u64 yard)
{
	const struct epf_dict_table *t = f->table;
	__u64 n = g->samples;
	__u64 one = epf_dict_sample_agree(&t[1], yard, n);
	__u64 asks = epf_ratio_q56(g->spilt, n);
	__u64 there = epf_dict_sample_agree(&t[0], g->spilt_cells, n);
	__u64 sum = epf_dict_sample_agree(&t[0], home, n);

	if (asks > there)
		sum += epf_mul_q56(asks - there, epf_either_q56(one, one));
	return sum < EPF_Q56_ONE ? sum : EPF_Q56_ONE;
}

/* The same as epf_ge_rate_q56(). */
EPF_FN __u64 epf_dict_rate_q56(const struct epf_estimator *g, const struct epf_dict *f)
{
	__u64 passes = 0, home = 0, yard = 0, sum;
	__u32 age;

	for (age = 0; age < epf_dict_counted(f); age++) {
		passes += g->chance[age];
		home += g->set[age];
		yard += g->seen[age];
	}
	sum = epf_estimator_mean(passes, g->samples) +
	      epf_dict_sample_cell(g, f, home - g->passed_cells, yard);
	return sum < EPF_Q56_ONE ? sum : EPF_Q56_ONE;
}

/**
 * epf_dict_layer_q56() - the part of one generation in it
 * @g: samples
 * @f: filter
 * @age: of the generation
 * @fill_q56: set to the share of all cells that belong to it
 *
 * Return: the probability that such a key passes by a mark of that generation or matches
 * one of its fingerprints, whatever the others hold; 0 for a generation that does not
 * count.
 */
EPF_FN __u64 epf_dict_layer_q56(const struct epf_estimator *g, const struct epf_dict *f, __u32 age,
				__u64 *fill_q56)
{
	const struct epf_dict_table *t = f->table;
	__u64 home, yard, cells;

	*fill_q56 = 0;
	if (age >= epf_dict_counted(f))
		return 0;
	home = t[0].buckets * t[0].cells;
	yard = t[1].buckets * t[1].cells;
	cells = home + yard;
	*fill_q56 = epf_ratio_q56(g->set[age], g->samples * t[0].cells) / cells * home +
		    epf_ratio_q56(g->seen[age], g->samples * t[1].cells) / cells * yard;
	return epf_either_q56(epf_estimator_mean(g->chance[age], g->samples),
			      epf_dict_sample_cell(g, f, g->set[age], g->seen[age]));
}

/* ------------------------------------------------------------ room ---- */

EPF_FN_BIG void epf_dict_set_room(struct epf_dict *f)
{
	__u32 mask = (1u << f->shape.tag_bits) - 1, age;
	__u64 m = f->shape.buckets * epf_dict_passes(f), all = 0, most;

	for (age = 0; age < epf_dict_counted(f); age++)
		all += f->room->share[(f->now - age) & mask];
	most = epf_room_part(f->room->limit_q56, m);
	f->room->most = most > all ? most - all : 0;
	f->room->grown = 0;
	f->room->stale = 0;
}

/* Scale @n of the samples taken to all @buckets. */
EPF_FN __u64 epf_dict_scaled(const struct epf_estimator *g, __u64 n, __u64 buckets)
{
	return g->samples ? n * buckets / g->samples : 0;
}

EPF_FN_BIG void epf_dict_set_shares(struct epf_dict *f, const struct epf_estimator *g)
{
	__u32 mask = (1u << f->shape.tag_bits) - 1, age;

	for (age = 0; age < epf_dict_counted(f); age++)
		f->room->share[(f->now - age) & mask] =
			epf_dict_scaled(g, g->set[age], f->shape.buckets) +
			epf_dict_scaled(g, g->seen[age], f->shape.yard) +
			epf_dict_scaled(g, g->chance[age] / EPF_ESTIMATOR_ONE, f->shape.buckets) *
				epf_dict_passes(f);
	f->room->stale = 1;
}

EPF_FN void epf_dict_count(struct epf_dict *f, struct epf_room *r)
{
	f->room = r;
	epf_dict_set_room(f);
}

/* ------------------------------------------------------- snapshots ---- */

EPF_FN struct epf_dict_shape epf_dict_shape_of(const struct epf_shape *s)
{
	struct epf_dict_shape to;

	to.buckets = s->dict.buckets;
	to.yard = s->dict.yard;
	to.generations = s->dict.generations;
	to.tag_bits = s->dict.tag_bits;
	to.rem_bits = s->dict.rem_bits;
	to.slots = s->dict.slots;
	to.lines = s->dict.lines;
	return to;
}

/* The position of the scan is not saved: a copy made piece by piece has none. */
EPF_FN void epf_dict_save(const struct epf_dict *f, struct epf_snap_locked *s)
{
	s->words = epf_dict_words(&f->shape);
	s->now = f->now;
}

/* Before inserting, the owner must check and tidy every bucket: then all have been visited,
 * and no old tag becomes valid again. For tests, checking is enough.
 */
EPF_FN int epf_dict_load(struct epf_dict *f, const struct epf_snap_locked *s)
{
	if (!epf_image_plain(s, epf_dict_words(&f->shape), (1u << f->shape.tag_bits) - 1))
		return -EINVAL;
	f->now = (__u32)s->now;
	f->visited = f->shape.buckets + f->shape.yard;
	return 0;
}

/* ------------------------------------------------------------- row ---- */

#if EPF_TABLES

EPF_FN_BIG bool epf_dict_row_sound(const struct epf_locked *f, __u32 i, __u64 at, __u64 n)
{
	__u64 words = EPF_LANES * f->dict.shape.lines, nr;

	(void)i;
	for (nr = at / words; nr < (at + n) / words; nr++)
		if (!epf_dict_sound(&f->dict, nr))
			return false;
	return true;
}

EPF_FN_BIG void epf_dict_row_tidy(struct epf_locked *f, __u32 i, __u64 at, __u64 n)
{
	__u64 words = EPF_LANES * f->dict.shape.lines, nr;

	(void)i;
	for (nr = at / words; nr < (at + n) / words; nr++)
		epf_dict_tidy(&f->dict, nr);
}

EPF_FIXED_KIND(dict, lines, s.generations, s.generations + 1, epf_dict_row_sound,
	       epf_dict_row_tidy);

#endif /* EPF_TABLES */

#endif /* EPF_KIND_DICT_H */
