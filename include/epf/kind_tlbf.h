/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tlbf: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The probability of a hit in a slice is the share of its set bits; estimator_aged.h and
 * room_aged.h do the rest.
 */
#ifndef EPF_KIND_TLBF_H
#define EPF_KIND_TLBF_H

#include "estimator_aged.h"
#include "image.h"
#include "kind.h"
#include "room_aged.h"
#include "tlbf.h"

#include <linux/epochfilter.h>

EPF_ASSERT(EPF_SNAP_SLICES == EPF_TLBF_SLICES, "all slices of a tlbf");

/* --------------------------------------------- false-positive rate ---- */

EPF_ASSERT(EPF_TLBF_SLICES == EPF_ESTIMATOR_LAYERS, "places are layers");

/* A slice's layer is its place, which does not change when others come. */
EPF_FN struct epf_row epf_tlbf_row(const struct epf_tlbf *f, __u64 now_ns)
{
	struct epf_row row = { f->head, epf_tlbf_live(f, now_ns), f->shape.k, 0 };

	return row;
}

/**
 * epf_tlbf_sample() - take one more sample
 * @g: samples so far
 * @f: filter
 * @now_ns: on the owner's clock
 * @random: chooses the place
 *
 * Reads a word in each of 16 slices; the next sample reads the next 16 slices.
 */
EPF_FN void epf_tlbf_sample(struct epf_estimator *g, const struct epf_tlbf *f, __u64 now_ns,
			    __u64 random)
{
	struct epf_row row = epf_tlbf_row(f, now_ns);
	__u32 n;

	for (n = epf_estimator_slices(row.nr); n; n--) {
		__u32 i = epf_estimator_turn(g, row.nr);
		const struct epf_tlbf_slice *s = epf_tlbf_at(f, i);

		epf_estimator_word(g, epf_row_layer(row, i), s->word, s->words, 64 * s->words,
				   random);
	}
	g->samples++;
}

/**
 * epf_tlbf_rate_q56() - the probability that a key never inserted is present
 * @g: samples
 * @f: filter
 * @now_ns: on the owner's clock
 *
 * Return: q56; without a sample 0.
 */
EPF_FN __u64 epf_tlbf_rate_q56(const struct epf_estimator *g, const struct epf_tlbf *f,
			       __u64 now_ns)
{
	return epf_row_q56(g, epf_tlbf_row(f, now_ns));
}

/* The same as epf_row_layer_q56(), at a time on the owner's clock. */
EPF_FN __u64 epf_tlbf_layer_q56(const struct epf_estimator *g, const struct epf_tlbf *f,
				__u64 now_ns, __u32 age, __u64 *fill_q56)
{
	return epf_row_layer_q56(g, epf_tlbf_row(f, now_ns), age, fill_q56);
}

/* ------------------------------------------------------------ room ---- */

/* The slices that count, at least those that take keys: after a pause the next key makes
 * them count again.
 */
EPF_FN __u32 epf_tlbf_front(const struct epf_tlbf *f)
{
	__u32 live = epf_tlbf_live(f, f->now_ns);

	return live > f->shape.k ? live : f->shape.k;
}

EPF_FN_BIG void epf_tlbf_set_room(struct epf_tlbf *f)
{
	struct epf_room *r = f->room;
	struct epf_front s = { &r->row, f->shape.k, epf_tlbf_front(f), 1 };
	__u64 least = ~0ULL, words;
	__u32 i;

	for (i = 0; i < s.nr; i++) {
		words = epf_tlbf_at(f, i)->words;
		least = i < s.k && words < least ? words : least;
		r->row.hit[i] = epf_frac_q56(r->share[(f->head + i) % EPF_TLBF_SLICES], 64 * words);
	}
	for (i = 0; i < s.k; i++)
		r->row.ratio[i] = epf_frac_q56(least, epf_tlbf_at(f, i)->words);
	epf_front_begin(&s);
	r->most = epf_front_room(&s, r->limit_q56);
	r->grown = 0;
	r->stale = 0;
}

EPF_FN_BIG void epf_tlbf_set_shares(struct epf_tlbf *f, const struct epf_estimator *g)
{
	__u32 i, place;

	for (i = 0; i < epf_tlbf_live(f, f->now_ns); i++) {
		place = (f->head + i) % EPF_TLBF_SLICES;
		f->room->share[place] = epf_room_part(epf_estimator_fill(g, place),
						      64 * epf_tlbf_at(f, i)->words);
	}
	f->room->stale = 1;
}

/* The filter has no slice yet. */
EPF_FN void epf_tlbf_count(struct epf_tlbf *f, struct epf_room *r)
{
	f->room = r;
	r->stale = 1;
}

/* ------------------------------------------------------- snapshots ---- */

/* Never given back: the paper's rule. Timed: the staleness rule. */
EPF_FN struct epf_tlbf_shape epf_tlbf_shape_of(const struct epf_shape *s, __u64 span_ns)
{
	struct epf_tlbf_shape to;

	to.span_ns = span_ns;
	to.words_first = s->tlbf.words_first;
	to.words_min = s->tlbf.words_min;
	to.words_max = s->tlbf.words_max;
	to.k = s->tlbf.k;
	to.l = s->tlbf.l;
	to.keep = s->tlbf.k;
	to.timed = 1;
	return to;
}

/* A slice of a filter without a reserve; it takes keys or has taken them. */
EPF_FN void epf_tlbf_save_slice(const struct epf_tlbf *f, __u32 i, struct epf_snap_slice *to)
{
	const struct epf_tlbf_slice *s = epf_tlbf_at(f, i);

	to->words = s->words;
	to->begin_ns = s->begin_ns;
	to->since = s->since;
	to->until = i < f->shape.k ? 0 : s->until;
	to->last_ns = i < f->shape.k ? 0 : s->last_ns;
	to->fn = s->fn;
}

EPF_FN_BIG void epf_tlbf_save(const struct epf_tlbf *f, struct epf_snap_locked *s, __u64 now_ns)
{
	__u32 i;

	s->nr = f->nr;
	s->now = epf_tlbf_later(f, now_ns);
	s->taken = f->taken;
	s->last_ns = f->last_ns;
	for (i = 0; i < f->nr; i++) {
		epf_tlbf_save_slice(f, i, &s->slice[i]);
		s->words += s->slice[i].words;
	}
}

/* Is slice @i valid after the one before it in @s, which is younger? From slice to slice,
 * times and numbers must not grow.
 */
EPF_FN bool epf_tlbf_slice_sound(const struct epf_tlbf_shape *shape,
				 const struct epf_snap_locked *s, __u32 i)
{
	const struct epf_snap_slice *a = &s->slice[i];
	bool takes = i < shape->k;
	__u64 keys = takes ? 0 : i == shape->k ? s->taken : a[-1].until;
	__u64 last = takes ? 0 : i == shape->k ? s->last_ns : a[-1].last_ns;

	if (a->words < shape->words_min || a->words > shape->words_max || a->fn >= shape->k ||
	    a->begin_ns > s->now || a->since > s->taken)
		return false;
	if (a->until > keys || a->last_ns > last || (!takes && a->until < a->since))
		return false;
	return !i || (a->begin_ns <= a[-1].begin_ns && a->since <= a[-1].since &&
		      a[-1].fn == (a->fn + 1) % shape->k);
}

EPF_FN_BIG bool epf_tlbf_state_sound(const struct epf_tlbf_shape *shape,
				     const struct epf_snap_locked *s)
{
	__u64 words = 0;
	__u32 i;

	if (!epf_image_timed(s) || s->turn || s->start_ns || s->begun || s->last_ns > s->now ||
	    s->nr < shape->keep || s->nr > EPF_TLBF_SLICES)
		return false;
	for (i = 0; i < s->nr; i++) {
		if (!epf_tlbf_slice_sound(shape, s, i))
			return false;
		words += s->slice[i].words;
	}
	return words == s->words && epf_image_ends(s, s->nr * EPF_IMAGE_SLICE);
}

/* The slices have no memory yet. The youngest is in the last place of the ring, as after
 * one shift.
 */
EPF_FN_BIG int epf_tlbf_load(struct epf_tlbf *f, const struct epf_snap_locked *s)
{
	__u32 i;

	if (!epf_tlbf_state_sound(&f->shape, s))
		return -EINVAL;
	f->now_ns = s->now;
	f->last_ns = s->last_ns;
	f->taken = s->taken;
	f->nr = s->nr;
	f->head = EPF_TLBF_SLICES - 1;
	for (i = 0; i < f->nr; i++) {
		const struct epf_snap_slice *from = &s->slice[i];
		struct epf_tlbf_slice *to = &f->slice[(f->head + i) % EPF_TLBF_SLICES];

		to->word = NULL;
		to->words = from->words;
		to->begin_ns = from->begin_ns;
		to->since = from->since;
		to->until = from->until;
		to->last_ns = from->last_ns;
		to->fn = (__u32)from->fn;
	}
	f->quota = epf_tlbf_quota(f);
	return 0;
}

/* ------------------------------------------------------------- row ---- */

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
	epf_tlbf_sample(&f->estimator.all, &f->tlbf, now_ns, random);
}

EPF_FN_BIG __u64 epf_tlbf_row_rate(const struct epf_locked *f, __u64 now_ns)
{
	return epf_tlbf_rate_q56(&f->estimator.all, &f->tlbf, now_ns);
}

EPF_FN_BIG __u64 epf_tlbf_row_layer(const struct epf_locked *f, __u32 age, __u64 now_ns,
				    __u64 *fill)
{
	return epf_tlbf_layer_q56(&f->estimator.all, &f->tlbf, now_ns, age, fill);
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
	epf_tlbf_set_shares(&f->tlbf, &f->estimator.all);
}

EPF_FN_BIG void epf_tlbf_row_save(struct epf_locked *f, struct epf_snap_locked *s, __u64 now_ns)
{
	epf_tlbf_save(&f->tlbf, s, now_ns);
}

EPF_FN_BIG int epf_tlbf_row_load(struct epf_locked *f, const struct epf_snap_locked *s)
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

EPF_FN_BIG bool epf_tlbf_row_needs_memory(const struct epf_locked *f)
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

EPF_FN_BIG bool epf_tlbf_row_add(struct epf_locked *f, __u64 now_ns, __u64 *word, __u64 words)
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
EPF_FN_BIG void epf_tlbf_row_covered(const struct epf_locked *f, __u64 now_ns, __u64 steady_ns,
				     __u64 *inserts, __u64 *ns)
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

EPF_FN __u64 epf_tlbf_row_most(const struct epf_locked *f, __u64 *words)
{
	*words = f->tlbf.shape.words_max;
	return epf_tlbf_most(f->tlbf.shape.k, f->tlbf.shape.l);
}

static const struct epf_resizable_ops epf_tlbf_resizable = {
	.ready = epf_tlbf_row_ready,
	.needs_memory = epf_tlbf_row_needs_memory,
	.plan = epf_tlbf_row_plan,
	.most = epf_tlbf_row_most,
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
	.resizable = &epf_tlbf_resizable,
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
