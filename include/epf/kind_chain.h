/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chain: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The estimator is that of lanes (estimate.h) for each of its tables, in which a key is
 * looked up independently. The room is as for lanes (capacity.h), for each table.
 */
#ifndef EPF_KIND_CHAIN_H
#define EPF_KIND_CHAIN_H

#include "capacity.h"
#include "chain.h"
#include "estimate.h"
#include "image.h"
#include "kind.h"
#include "room.h"

#include <linux/epochfilter.h>

EPF_ASSERT(EPF_SNAP_TABLES == EPF_CHAIN_TABLES, "all tables of a chain");

/* --------------------------------------------- false-positive rate ---- */

/**
 * epf_chain_estimator() - take one more sample: a line of each part of each table
 * @g: estimator
 * @f: filter whose time has been set
 * @random: 64 bits
 */
EPF_FN_BIG void epf_chain_estimator(struct epf_chain_estimator *g, const struct epf_chain *f,
				    __u64 random)
{
	__u32 i;

	for (i = 0; i < f->nr; i++) {
		struct epf_lanes lanes = epf_chain_lanes(f, i);

		if (!g->samples++)
			epf_cover_init(&g->cover, &lanes.geom);
		epf_fill_add(&g->fill[i], &g->cover, &lanes,
			     epf_mulhi(random, lanes.geom.part_lines));
	}
}

/**
 * epf_chain_rate_q56() - the probability of a false positive, as sampled
 * @g: estimator
 * @f: filter
 */
EPF_FN_BIG __u64 epf_chain_rate_q56(const struct epf_chain_estimator *g, const struct epf_chain *f)
{
	__u64 any = 0;
	__u32 i;

	for (i = 0; i < f->nr; i++)
		any = epf_either_q56(any, epf_fill_q56(&g->fill[i], f->shape.parts));
	return any;
}

/**
 * epf_chain_layer_q56() - the same for one epoch alone
 * @g: estimator
 * @f: filter
 * @age: of the epoch, 0 .. 7
 * @fill: set to the share of set positions in its lanes
 */
EPF_FN_BIG __u64 epf_chain_layer_q56(const struct epf_chain_estimator *g, const struct epf_chain *f,
				     __u32 age, __u64 *fill)
{
	__u64 any = 0, set = 0, seen = 0;
	__u32 l = (f->epoch - age) & 7, i;

	for (i = 0; i < f->nr; i++) {
		const struct epf_fill *s = &g->fill[i];

		any = epf_either_q56(any, epf_fill_lane_q56(s, f->shape.parts, l));
		set += s->bits[l];
		seen += s->lines * f->shape.parts * EPF_LANE_BITS;
	}
	*fill = epf_ratio_q56(set, seen);
	return any;
}

/* ------------------------------------------------------------ room ---- */

/* How many times larger the largest table is than table @i, as a power of two. */
EPF_FN __u32 epf_chain_scale(const struct epf_chain *f, __u32 i)
{
	__u32 shift = 0;

	while (f->table[i].lines << shift < f->shape.lines_max)
		shift++;
	return shift;
}

/* The error of a lane of table @i that has taken @keys keys. */
EPF_FN_BIG __u64 epf_chain_lane_q56(const struct epf_chain *f, __u32 i, __u64 keys)
{
	__u32 shift = epf_chain_scale(f, i);

	return keys > ~0ULL >> shift ? EPF_Q56_ONE :
				       epf_capacity_q56(&f->room->capacity, keys << shift);
}

EPF_FN_BIG void epf_chain_set_room(struct epf_chain *f)
{
	struct epf_room *r = f->room;
	__u64 any = 0, e;
	__u32 i;

	if (!f->nr)
		return;
	for (i = 0; i < f->nr; i++)
		for (e = f->epoch - EPF_LIVE_EPOCHS; e <= f->table[i].last && (i || e < f->epoch);
		     e++)
			any = epf_either_q56(any,
					     epf_chain_lane_q56(f, i,
								r->share[EPF_LANES * i + (e & 7)]));
	epf_room_set(r, f->epoch & 7,
		     epf_capacity_keys(&r->capacity, epf_room_rest(r, any)) >>
			     epf_chain_scale(f, 0));
}

EPF_FN_BIG void epf_chain_set_shares(struct epf_chain *f, const struct epf_chain_estimator *g)
{
	__u32 i, l;

	for (i = 0; i < f->nr; i++)
		for (l = 0; l < EPF_LANES; l++)
			f->room->share[EPF_LANES * i + l] =
				epf_capacity_keys(&f->room->capacity,
						  epf_fill_lane_q56(&g->fill[i], f->shape.parts,
								    l)) >>
				epf_chain_scale(f, i);
	f->room->stale = 1;
}

/* The filter has no table yet. @w: working memory. Return: 0 or -EINVAL. */
EPF_FN_BIG int epf_chain_count(struct epf_chain *f, struct epf_room *r, struct epf_capacity_work *w)
{
	struct epf_geom g;

	if (epf_geom_init(&g, f->shape.lines_max, f->shape.parts, f->shape.bits))
		return -EINVAL;
	epf_capacity_init(&r->capacity, &g, r->limit_q56, w);
	f->room = r;
	r->stale = 1;
	return 0;
}

/* ------------------------------------------------------- snapshots ---- */

EPF_FN struct epf_chain_shape epf_chain_shape_of(const struct epf_shape *s, __u64 span_ns)
{
	struct epf_chain_shape to;

	to.span_ns = span_ns;
	to.lines_first = s->chain.lines_first;
	to.lines_min = s->chain.lines_min;
	to.lines_max = s->chain.lines_max;
	to.load = s->chain.load;
	to.parts = s->chain.lines_per_key;
	to.bits = s->chain.bits_per_key;
	return to;
}

/* For a filter without a reserve whose time has been set. Marks are not saved: they say
 * which memory is wanted next, and are computed again.
 */
EPF_FN_BIG void epf_chain_save(const struct epf_chain *f, struct epf_snap_locked *s)
{
	__u32 i;

	s->nr = f->nr;
	s->now = f->now_ns;
	s->taken = f->taken;
	s->turn = f->epoch;
	s->start_ns = f->start_ns;
	s->begun = f->begun;
	for (i = 0; i < f->nr; i++) {
		s->table[i].words = EPF_LANES * f->table[i].lines;
		s->table[i].last = f->table[i].last;
		memcpy(s->table[i].keys, f->table[i].keys, sizeof(s->table[i].keys));
		s->words += s->table[i].words;
	}
}

/* The last key of a table must not be younger than that of the table before it in @s. */
EPF_FN bool epf_chain_table_sound(const struct epf_chain_shape *shape,
				  const struct epf_snap_locked *s, __u32 i)
{
	const struct epf_snap_table *a = &s->table[i];
	__u64 lines = a->words / EPF_LANES;
	__u32 l;

	if (a->words % EPF_LANES || !epf_chain_power(lines) || lines < shape->lines_min ||
	    lines > shape->lines_max || a->last < EPF_EPOCH_FIRST ||
	    a->last > (i ? a[-1].last : s->turn))
		return false;
	for (l = 0; l < EPF_LANES; l++)
		if (a->keys[l] > EPF_INSERTS_MAX)
			return false;
	return true;
}

EPF_FN_BIG bool epf_chain_state_sound(const struct epf_chain *f, const struct epf_snap_locked *s)
{
	__u64 words = 0;
	__u32 i;

	if (!epf_image_timed(s) || s->last_ns || !s->nr || s->nr > EPF_CHAIN_TABLES ||
	    s->turn > EPF_EPOCH_MAX || s->begun > s->taken || s->start_ns > s->now ||
	    s->now - s->start_ns >= f->epoch_ns)
		return false;
	for (i = 0; i < s->nr; i++) {
		if (!epf_chain_table_sound(&f->shape, s, i))
			return false;
		words += s->table[i].words;
	}
	return words == s->words && s->turn - s->table[0].last <= EPF_LANES &&
	       epf_image_ends(s, s->nr * EPF_IMAGE_TABLE);
}

/* The tables have no memory yet. Before inserting, the owner must scan all of it: then no
 * old tag becomes valid again.
 */
EPF_FN_BIG int epf_chain_load(struct epf_chain *f, const struct epf_snap_locked *s)
{
	__u32 i;

	if (!epf_chain_state_sound(f, s))
		return -EINVAL;
	f->now_ns = s->now;
	f->epoch = s->turn;
	f->start_ns = s->start_ns;
	f->taken = s->taken;
	f->begun = s->begun;
	f->wanted = s->turn;
	for (i = 0; i < 2; i++) {
		f->mark[i].ns = s->now;
		f->mark[i].taken = s->taken;
	}
	f->nr = s->nr;
	for (i = 0; i < f->nr; i++) {
		f->table[i].line = NULL;
		f->table[i].lines = s->table[i].words / EPF_LANES;
		f->table[i].at = 0;
		f->table[i].last = s->table[i].last;
		f->table[i].scanned = s->turn;
		memcpy(f->table[i].keys, s->table[i].keys, sizeof(f->table[i].keys));
	}
	return 0;
}

/* ------------------------------------------------------------- row ---- */

#if EPF_TABLES

EPF_FN_BIG int epf_chain_row_setup(struct epf_locked *f, __u64 window_ns, __u64 now_ns)
{
	const struct epf_chain_shape s = epf_chain_shape_of(&f->shape, window_ns);

	f->epochs = EPF_LIVE_EPOCHS;
	return epf_chain_init(&f->chain, &s, now_ns);
}

EPF_FN_BIG void epf_chain_row_insert(struct epf_locked *f, __u64 digest, __u64 now_ns)
{
	epf_chain_insert(&f->chain, digest, now_ns);
}

EPF_FN_BIG int epf_chain_row_test(const struct epf_locked *f, __u64 digest, __u64 now_ns)
{
	return epf_chain_test(&f->chain, digest, now_ns);
}

EPF_FN_BIG void epf_chain_row_sample(struct epf_locked *f, __u64 random, __u64 now_ns)
{
	(void)now_ns;
	epf_chain_estimator(&f->estimator.chain, &f->chain, random);
}

EPF_FN_BIG __u64 epf_chain_row_rate(const struct epf_locked *f, __u64 now_ns)
{
	(void)now_ns;
	return epf_chain_rate_q56(&f->estimator.chain, &f->chain);
}

EPF_FN_BIG __u64 epf_chain_row_layer(const struct epf_locked *f, __u32 age, __u64 now_ns,
				     __u64 *fill)
{
	(void)now_ns;
	return epf_chain_layer_q56(&f->estimator.chain, &f->chain, age, fill);
}

EPF_FN_BIG int epf_chain_row_count(struct epf_locked *f, void *work)
{
	return epf_chain_count(&f->chain, f->room, (struct epf_capacity_work *)work);
}

EPF_FN_BIG void epf_chain_row_set_room(struct epf_locked *f)
{
	epf_chain_set_room(&f->chain);
}

EPF_FN_BIG void epf_chain_row_set_shares(struct epf_locked *f)
{
	epf_chain_set_shares(&f->chain, &f->estimator.chain);
}

EPF_FN_BIG void epf_chain_row_save(struct epf_locked *f, struct epf_snap_locked *s, __u64 now_ns)
{
	epf_chain_tick(&f->chain, now_ns);
	epf_chain_save(&f->chain, s);
}

EPF_FN_BIG int epf_chain_row_load(struct epf_locked *f, const struct epf_snap_locked *s)
{
	return epf_chain_load(&f->chain, s);
}

EPF_FN_BIG __u64 epf_chain_row_piece(const struct epf_locked *f, __u32 i, __u64 **word)
{
	if (i >= f->chain.nr)
		return 0;
	*word = (__u64 *)f->chain.table[i].line;
	return f->chain.table[i].lines * EPF_LANES;
}

EPF_FN_BIG void epf_chain_row_place(struct epf_locked *f, __u32 i, __u64 *word)
{
	f->chain.table[i].line = (struct epf_line *)word;
}

EPF_FN_BIG void epf_chain_row_tidy(struct epf_locked *f, __u32 i, __u64 at, __u64 n)
{
	struct epf_lanes lanes = epf_chain_lanes(&f->chain, i);

	epf_lanes_scan(&lanes, at / EPF_LANES, n / EPF_LANES);
}

/* ------------------------------------------------ memory, and epochs ---- */

EPF_FN_BIG bool epf_chain_row_ready(const struct epf_locked *f)
{
	return f->chain.nr;
}

EPF_FN_BIG bool epf_chain_row_needs_memory(const struct epf_locked *f)
{
	return !f->chain.spare.lines && f->chain.nr < EPF_CHAIN_TABLES &&
	       epf_chain_soon(&f->chain, f->chain.now_ns);
}

EPF_FN_BIG __u64 epf_chain_row_plan(const struct epf_locked *f, __u64 now_ns)
{
	if (epf_chain_row_ready(f) && !epf_chain_soon(&f->chain, now_ns))
		return 0;
	return epf_chain_plan(&f->chain, now_ns);
}

EPF_FN_BIG bool epf_chain_row_add(struct epf_locked *f, __u64 now_ns, __u64 *word, __u64 words)
{
	return epf_chain_add(&f->chain, now_ns, word, words);
}

EPF_FN_BIG __u64 *epf_chain_row_expired(struct epf_locked *f, __u64 now_ns, __u64 *words)
{
	return epf_chain_expired(&f->chain, now_ns, words);
}

EPF_FN_BIG bool epf_chain_row_spared(const struct epf_locked *f)
{
	return f->chain.spare.lines;
}

EPF_FN_BIG __u64 *epf_chain_row_spare(struct epf_locked *f, __u64 *words)
{
	*words = f->chain.spare.lines * EPF_LANES;
	f->chain.spare.lines = 0;
	return *words ? (__u64 *)f->chain.spare.line : NULL;
}

EPF_FN_BIG __u64 *epf_chain_row_take(struct epf_locked *f, __u64 *words)
{
	__u64 *word = epf_chain_row_spare(f, words);
	const struct epf_chain_table *t;

	if (word || !f->chain.nr)
		return word;
	t = &f->chain.table[--f->chain.nr];
	*words = t->lines * EPF_LANES;
	return (__u64 *)t->line;
}

EPF_FN_BIG bool epf_chain_row_scan(struct epf_locked *f, __u64 lines)
{
	return epf_chain_scan(&f->chain, lines);
}

EPF_FN_BIG __u64 epf_chain_row_turns(const struct epf_locked *f, __u64 known)
{
	(void)known;
	return f->chain.epoch;
}

EPF_FN_BIG __u64 epf_chain_row_taken(const struct epf_locked *f)
{
	return f->chain.taken;
}

EPF_FN_BIG __u64 epf_chain_row_begun(const struct epf_locked *f)
{
	return f->chain.begun;
}

EPF_FN_BIG __u32 epf_chain_row_slices(const struct epf_locked *f)
{
	return f->chain.nr + !!f->chain.spare.lines;
}

EPF_FN __u64 epf_chain_row_most(const struct epf_locked *f, __u64 *words)
{
	*words = EPF_LANES * f->chain.shape.lines_max;
	return EPF_CHAIN_MOST;
}

static const struct epf_resizable_ops epf_chain_resizable = {
	.ready = epf_chain_row_ready,
	.needs_memory = epf_chain_row_needs_memory,
	.plan = epf_chain_row_plan,
	.most = epf_chain_row_most,
	.add = epf_chain_row_add,
	.expired = epf_chain_row_expired,
	.spared = epf_chain_row_spared,
	.spare = epf_chain_row_spare,
	.take = epf_chain_row_take,
	.scan = epf_chain_row_scan,
	.turns = epf_chain_row_turns,
	.taken = epf_chain_row_taken,
	.begun = epf_chain_row_begun,
	.slices = epf_chain_row_slices,
};

static const struct epf_kind_ops epf_chain_ops = {
	.name = "chain",
	.used = EPF_SHAPE_USED(chain, bits_per_key),
	.needs = EPF_NEEDS_LOCK | EPF_NEEDS_WORKER | EPF_NEEDS_MEMORY,
	.ticks = 16,
	.count_bytes = sizeof(struct epf_capacity_work),
	.resizable = &epf_chain_resizable,
	.setup = epf_chain_row_setup,
	.insert = epf_chain_row_insert,
	.test = epf_chain_row_test,
	.sample = epf_chain_row_sample,
	.rate = epf_chain_row_rate,
	.layer = epf_chain_row_layer,
	.count = epf_chain_row_count,
	.set_room = epf_chain_row_set_room,
	.set_shares = epf_chain_row_set_shares,
	.save = epf_chain_row_save,
	.load = epf_chain_row_load,
	.piece = epf_chain_row_piece,
	.place = epf_chain_row_place,
	.tidy = epf_chain_row_tidy,
};

#endif /* EPF_TABLES */

#endif /* EPF_KIND_CHAIN_H */
