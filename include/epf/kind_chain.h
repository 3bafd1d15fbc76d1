/* SPDX-License-Identifier: GPL-2.0 */
/* The row of chain, see kind.h. */
#ifndef EPF_KIND_CHAIN_H
#define EPF_KIND_CHAIN_H

#include "gauge_chain.h"
#include "image.h"
#include "kind.h"
#include "rooms.h"

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
	epf_chain_gauge(&f->gauge.chain, &f->chain, random);
}

EPF_FN_BIG __u64 epf_chain_row_rate(const struct epf_locked *f, __u64 now_ns)
{
	(void)now_ns;
	return epf_chain_gauge_q56(&f->gauge.chain, &f->chain);
}

EPF_FN_BIG __u64 epf_chain_row_layer(const struct epf_locked *f, __u32 age, __u64 now_ns,
				     __u64 *fill)
{
	(void)now_ns;
	return epf_chain_gauge_layer_q56(&f->gauge.chain, &f->chain, age, fill);
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
	epf_chain_set_shares(&f->chain, &f->gauge.chain);
}

EPF_FN_BIG void epf_chain_row_save(struct epf_locked *f, struct epf_snap_owned *s,
				   __u64 now_ns)
{
	epf_chain_tick(&f->chain, now_ns);
	epf_chain_save(&f->chain, s);
}

EPF_FN_BIG int epf_chain_row_load(struct epf_locked *f, const struct epf_snap_owned *s)
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

	epf_scan(&lanes, at / EPF_LANES, n / EPF_LANES);
}

/* ------------------------------------------------ memory, and epochs ---- */

EPF_FN_BIG bool epf_chain_row_ready(const struct epf_locked *f)
{
	return f->chain.nr;
}

EPF_FN_BIG bool epf_chain_row_hungry(const struct epf_locked *f)
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

EPF_FN_BIG bool epf_chain_row_add(struct epf_locked *f, __u64 now_ns, __u64 *word,
				  __u64 words)
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

static const struct epf_fluid_ops epf_chain_fluid = {
	.ready = epf_chain_row_ready,
	.hungry = epf_chain_row_hungry,
	.plan = epf_chain_row_plan,
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
	.fluid = &epf_chain_fluid,
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
