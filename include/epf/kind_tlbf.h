/* SPDX-License-Identifier: GPL-2.0 */
/* The row of tlbf, see kind.h. */
#ifndef EPF_KIND_TLBF_H
#define EPF_KIND_TLBF_H

#include "gauge_aged.h"
#include "image.h"
#include "kind.h"
#include "rooms.h"

#if EPF_TABLES

EPF_FN_BIG int epf_tlbf_row_setup(struct epf_locked *f, __u64 window_ns, __u64 now_ns)
{
	const struct epf_tlbf_shape s = epf_tlbf_shape_of(&f->shape, window_ns);

	f->epochs = s.l;
	return epf_tlbf_init(&f->tlbf, &s, now_ns);
}

EPF_FN_BIG void epf_tlbf_row_insert(struct epf_locked *f, __u64 digest, __u64 now_ns)
{
	epf_tlbf_insert(&f->tlbf, digest, now_ns);
}

EPF_FN_BIG int epf_tlbf_row_test(const struct epf_locked *f, __u64 digest, __u64 now_ns)
{
	return epf_tlbf_test(&f->tlbf, digest, now_ns);
}

EPF_FN_BIG void epf_tlbf_row_sample(struct epf_locked *f, __u64 random, __u64 now_ns)
{
	epf_tlbf_gauge(&f->gauge.all, &f->tlbf, now_ns, random);
}

EPF_FN_BIG __u64 epf_tlbf_row_rate(const struct epf_locked *f, __u64 now_ns)
{
	return epf_tlbf_gauge_q56(&f->gauge.all, &f->tlbf, now_ns);
}

EPF_FN_BIG __u64 epf_tlbf_row_layer(const struct epf_locked *f, __u32 age, __u64 now_ns,
				    __u64 *fill)
{
	return epf_tlbf_gauge_layer_q56(&f->gauge.all, &f->tlbf, now_ns, age, fill);
}

EPF_FN_BIG int epf_tlbf_row_count(struct epf_locked *f, void *work)
{
	(void)work;
	epf_tlbf_count(&f->tlbf, f->room);
	return 0;
}

EPF_FN_BIG void epf_tlbf_row_set_room(struct epf_locked *f)
{
	epf_tlbf_set_room(&f->tlbf);
}

EPF_FN_BIG void epf_tlbf_row_set_shares(struct epf_locked *f)
{
	epf_tlbf_set_shares(&f->tlbf, &f->gauge.all);
}

EPF_FN_BIG void epf_tlbf_row_save(struct epf_locked *f, struct epf_snap_owned *s,
				  __u64 now_ns)
{
	epf_tlbf_save(&f->tlbf, s, now_ns);
}

EPF_FN_BIG int epf_tlbf_row_load(struct epf_locked *f, const struct epf_snap_owned *s)
{
	return epf_tlbf_load(&f->tlbf, s);
}

EPF_FN_BIG __u64 epf_tlbf_row_piece(const struct epf_locked *f, __u32 i, __u64 **word)
{
	if (i >= f->tlbf.nr)
		return 0;
	*word = epf_tlbf_at(&f->tlbf, i)->word;
	return epf_tlbf_at(&f->tlbf, i)->words;
}

EPF_FN_BIG void epf_tlbf_row_place(struct epf_locked *f, __u32 i, __u64 *word)
{
	f->tlbf.slice[(f->tlbf.head + i) % EPF_TLBF_SLICES].word = word;
}

/* ------------------------------------------------ memory, and epochs ---- */

EPF_FN_BIG bool epf_tlbf_row_ready(const struct epf_locked *f)
{
	return f->tlbf.nr >= f->tlbf.shape.keep;
}

EPF_FN_BIG bool epf_tlbf_row_hungry(const struct epf_locked *f)
{
	return !f->tlbf.spare.words && f->tlbf.nr < EPF_TLBF_SLICES &&
	       epf_tlbf_soon(&f->tlbf, f->tlbf.now_ns);
}

EPF_FN_BIG __u64 epf_tlbf_row_plan(const struct epf_locked *f, __u64 now_ns)
{
	if (epf_tlbf_row_ready(f) && !epf_tlbf_soon(&f->tlbf, now_ns))
		return 0;
	return epf_tlbf_plan(&f->tlbf, now_ns);
}

EPF_FN_BIG bool epf_tlbf_row_add(struct epf_locked *f, __u64 now_ns, __u64 *word,
				 __u64 words)
{
	return epf_tlbf_add(&f->tlbf, now_ns, word, words);
}

EPF_FN_BIG __u64 *epf_tlbf_row_expired(struct epf_locked *f, __u64 now_ns, __u64 *words)
{
	epf_tlbf_tick(&f->tlbf, now_ns);
	return epf_tlbf_expired(&f->tlbf, now_ns, words);
}

EPF_FN_BIG bool epf_tlbf_row_spared(const struct epf_locked *f)
{
	return f->tlbf.spare.words;
}

EPF_FN_BIG __u64 *epf_tlbf_row_spare(struct epf_locked *f, __u64 *words)
{
	*words = f->tlbf.spare.words;
	f->tlbf.spare.words = 0;
	return *words ? f->tlbf.spare.word : NULL;
}

EPF_FN_BIG __u64 *epf_tlbf_row_take(struct epf_locked *f, __u64 *words)
{
	__u64 *word = epf_tlbf_row_spare(f, words);
	const struct epf_tlbf_slice *s;

	if (word || !f->tlbf.nr)
		return word;
	s = epf_tlbf_at(&f->tlbf, --f->tlbf.nr);
	*words = s->words;
	return s->word;
}

/* The head of the ring moves down by one place with each shift. */
EPF_FN_BIG __u64 epf_tlbf_row_turns(const struct epf_locked *f, __u64 known)
{
	__u32 seen = -(__u32)known % EPF_TLBF_SLICES;

	return known + (seen - f->tlbf.head) % EPF_TLBF_SLICES;
}

EPF_FN_BIG __u64 epf_tlbf_row_taken(const struct epf_locked *f)
{
	return f->tlbf.taken;
}

EPF_FN_BIG __u64 epf_tlbf_row_begun(const struct epf_locked *f)
{
	return epf_tlbf_at(&f->tlbf, 0)->since;
}

EPF_FN_BIG __u32 epf_tlbf_row_slices(const struct epf_locked *f)
{
	return f->tlbf.nr + !!f->tlbf.spare.words;
}

/* The window covers the last T ns, and what is older but still in slices that all count:
 * that is everything since the oldest of them began to take keys. It covers nothing from
 * before the clock last jumped, though some of that may be there.
 */
EPF_FN_BIG void epf_tlbf_row_covered(const struct epf_locked *f, __u64 now_ns,
				     __u64 steady_ns, __u64 *inserts, __u64 *ns)
{
	__u32 live = epf_tlbf_live(&f->tlbf, now_ns);
	const struct epf_tlbf_slice *s;

	*inserts = 0;
	*ns = f->tlbf.shape.span_ns;
	if (live) {
		s = epf_tlbf_at(&f->tlbf, live - f->tlbf.shape.k);
		*inserts = f->tlbf.taken - s->since;
		if (now_ns - s->begin_ns > *ns)
			*ns = now_ns - s->begin_ns;
	}
	if (steady_ns < *ns)
		*ns = steady_ns;
}

static const struct epf_fluid_ops epf_tlbf_fluid = {
	.ready = epf_tlbf_row_ready,
	.hungry = epf_tlbf_row_hungry,
	.plan = epf_tlbf_row_plan,
	.add = epf_tlbf_row_add,
	.expired = epf_tlbf_row_expired,
	.spared = epf_tlbf_row_spared,
	.spare = epf_tlbf_row_spare,
	.take = epf_tlbf_row_take,
	.turns = epf_tlbf_row_turns,
	.taken = epf_tlbf_row_taken,
	.begun = epf_tlbf_row_begun,
	.slices = epf_tlbf_row_slices,
	.covered = epf_tlbf_row_covered,
};

static const struct epf_kind_ops epf_tlbf_ops = {
	.name = "tlbf",
	.used = EPF_SHAPE_USED(tlbf, l),
	.needs = EPF_NEEDS_LOCK | EPF_NEEDS_WORKER | EPF_NEEDS_MEMORY,
	.ticks = 2,
	.fluid = &epf_tlbf_fluid,
	.setup = epf_tlbf_row_setup,
	.insert = epf_tlbf_row_insert,
	.test = epf_tlbf_row_test,
	.sample = epf_tlbf_row_sample,
	.rate = epf_tlbf_row_rate,
	.layer = epf_tlbf_row_layer,
	.count = epf_tlbf_row_count,
	.set_room = epf_tlbf_row_set_room,
	.set_shares = epf_tlbf_row_set_shares,
	.save = epf_tlbf_row_save,
	.load = epf_tlbf_row_load,
	.piece = epf_tlbf_row_piece,
	.place = epf_tlbf_row_place,
};

#endif /* EPF_TABLES */

#endif /* EPF_KIND_TLBF_H */
