/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locked kinds in snapshots: conversion of their shapes and their state between the
 * interface (linux/epochfilter.h) and the core.
 *
 * Input may come from anybody. epf_KIND_load() accepts a state only if the core could have
 * reached it, as far as loops, divisions and memory offsets depend on it. Memory itself is
 * bits, and any bits are valid, except for dict, see epf_dict_sound().
 *
 * A filter is loaded in three steps: init, load, memory. Slices and tables have no memory
 * until the owner sets the words of each.
 */
#ifndef EPF_IMAGE_H
#define EPF_IMAGE_H

#include "apbbf.h"
#include "apbf.h"
#include "chain.h"
#include "dict.h"
#include "ge.h"
#include "gebl.h"
#include "tlbf.h"

#include <linux/epochfilter.h>

#define EPF_IMAGE_KEYS_MAX (1ULL << 60)
/* Number of each. */
#define EPF_IMAGE_SLICE (sizeof(struct epf_snap_slice) / sizeof(__u64))
#define EPF_IMAGE_TABLE (sizeof(struct epf_snap_table) / sizeof(__u64))

EPF_ASSERT(EPF_SNAP_SLICES == EPF_TLBF_SLICES, "all slices of a tlbf");
EPF_ASSERT(EPF_SNAP_TABLES == EPF_CHAIN_TABLES, "all tables of a chain");

/* ------------------------------------------------------------ shapes ---- */

EPF_FN struct epf_ge_shape epf_ge_shape_of(const struct epf_shape *s)
{
	struct epf_ge_shape to;

	to.segment_bits = s->ge.segment_bits;
	to.epochs = s->ge.epochs;
	to.bits = s->ge.bits;
	to.layout = s->ge.layout;
	return to;
}

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

EPF_FN struct epf_apbf_shape epf_apbf_shape_of(const struct epf_shape *s)
{
	struct epf_apbf_shape to;

	to.slice_bits = s->apbf.slice_bits;
	to.k = s->apbf.k;
	to.l = s->apbf.l;
	return to;
}

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

/* Never given back: the paper's rule. Timed: the staleness rule. */
EPF_FN struct epf_tlbf_shape epf_tlbf_shape_of(const struct epf_shape *s,
					       __u64 span_ns)
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

EPF_FN struct epf_chain_shape epf_chain_shape_of(const struct epf_shape *s,
						 __u64 span_ns)
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

/* ------------------------------------- kinds with one piece of memory ---- */

/* Is everything after the first @used words of slices or tables zero? */
EPF_FN_BIG bool epf_image_ends(const struct epf_snap_owned *s, __u64 used)
{
	const __u64 *word = &s->slice[0].words;
	__u64 any = 0;

	for (; used < EPF_SNAP_SLICES * EPF_IMAGE_SLICE; used++)
		any |= word[used];
	return !any;
}

/* Is @s of a kind with @words words and no state but @now, 0 .. @last? */
EPF_FN bool epf_image_plain(const struct epf_snap_owned *s, __u64 words,
			    __u64 last)
{
	return s->words == words && s->now <= last && !s->nr &&
	       epf_image_ends(s, 0) &&
	       !(s->steady_ns | s->taken | s->last_ns | s->turn |
		 s->start_ns | s->begun);
}

/**
 * epf_ge_save() - the state of a filter that is not retired
 * @f: filter
 * @s: zeroed; its number of words and the kind's state are set
 *
 * The functions of the other kinds do the same.
 */
EPF_FN void epf_ge_save(const struct epf_ge *f, struct epf_snap_owned *s)
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
EPF_FN int epf_ge_load(struct epf_ge *f, const struct epf_snap_owned *s)
{
	if (!epf_image_plain(s, epf_ge_words(&f->shape), f->shape.epochs))
		return -EINVAL;
	f->now = (__u32)s->now;
	return 0;
}

EPF_FN void epf_gebl_save(const struct epf_gebl *f, struct epf_snap_owned *s)
{
	s->words = epf_gebl_words(&f->shape);
	s->now = f->now;
}

EPF_FN int epf_gebl_load(struct epf_gebl *f, const struct epf_snap_owned *s)
{
	if (!epf_image_plain(s, epf_gebl_words(&f->shape), f->shape.epochs))
		return -EINVAL;
	f->now = (__u32)s->now;
	return 0;
}

EPF_FN void epf_apbf_save(const struct epf_apbf *f, struct epf_snap_owned *s)
{
	s->words = epf_apbf_words(&f->shape);
	s->now = f->ring.base;
}

EPF_FN int epf_apbf_load(struct epf_apbf *f, const struct epf_snap_owned *s)
{
	if (!epf_image_plain(s, epf_apbf_words(&f->shape),
			     f->ring.k + f->ring.l - 1))
		return -EINVAL;
	f->ring.base = (__u32)s->now;
	return 0;
}

EPF_FN void epf_apbbf_save(const struct epf_apbbf *f, struct epf_snap_owned *s)
{
	s->words = epf_apbbf_words(&f->shape);
	s->now = f->ring.base;
}

EPF_FN int epf_apbbf_load(struct epf_apbbf *f, const struct epf_snap_owned *s)
{
	if (!epf_image_plain(s, epf_apbbf_words(&f->shape),
			     f->ring.k + f->ring.l - 1))
		return -EINVAL;
	f->ring.base = (__u32)s->now;
	return 0;
}

/* The position of the scan is not saved: a copy made piece by piece has none. */
EPF_FN void epf_dict_save(const struct epf_dict *f, struct epf_snap_owned *s)
{
	s->words = epf_dict_words(&f->shape);
	s->now = f->now;
}

/* Before inserting, the owner must check and tidy every bucket: then all have been visited,
 * and no old tag becomes valid again. For tests, checking is enough.
 */
EPF_FN int epf_dict_load(struct epf_dict *f, const struct epf_snap_owned *s)
{
	if (!epf_image_plain(s, epf_dict_words(&f->shape),
			     (1u << f->shape.tag_bits) - 1))
		return -EINVAL;
	f->now = (__u32)s->now;
	f->visited = f->shape.buckets + f->shape.yard;
	return 0;
}

/* ------------------------------------------------- slices and tables ---- */

/* State that both have: time, and numbers of keys. */
EPF_FN bool epf_image_timed(const struct epf_snap_owned *s)
{
	return s->now && s->now <= EPF_NS_MAX && s->steady_ns <= EPF_NS_MAX &&
	       s->taken <= EPF_IMAGE_KEYS_MAX;
}

/* A slice of a filter without a reserve; it takes keys or has taken them. */
EPF_FN void epf_tlbf_save_slice(const struct epf_tlbf *f, __u32 i,
				struct epf_snap_slice *to)
{
	const struct epf_tlbf_slice *s = epf_tlbf_at(f, i);

	to->words = s->words;
	to->begin_ns = s->begin_ns;
	to->since = s->since;
	to->until = i < f->shape.k ? 0 : s->until;
	to->last_ns = i < f->shape.k ? 0 : s->last_ns;
	to->fn = s->fn;
}

EPF_FN_BIG void epf_tlbf_save(const struct epf_tlbf *f,
			      struct epf_snap_owned *s, __u64 now_ns)
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
				 const struct epf_snap_owned *s, __u32 i)
{
	const struct epf_snap_slice *a = &s->slice[i];
	bool takes = i < shape->k;
	__u64 keys = takes ? 0 : i == shape->k ? s->taken : a[-1].until;
	__u64 last = takes ? 0 : i == shape->k ? s->last_ns : a[-1].last_ns;

	if (a->words < shape->words_min || a->words > shape->words_max ||
	    a->fn >= shape->k || a->begin_ns > s->now || a->since > s->taken)
		return false;
	if (a->until > keys || a->last_ns > last ||
	    (!takes && a->until < a->since))
		return false;
	return !i || (a->begin_ns <= a[-1].begin_ns && a->since <= a[-1].since &&
		      a[-1].fn == (a->fn + 1) % shape->k);
}

EPF_FN_BIG bool epf_tlbf_state_sound(const struct epf_tlbf_shape *shape,
				     const struct epf_snap_owned *s)
{
	__u64 words = 0;
	__u32 i;

	if (!epf_image_timed(s) || s->turn || s->start_ns || s->begun ||
	    s->last_ns > s->now || s->nr < shape->keep ||
	    s->nr > EPF_TLBF_SLICES)
		return false;
	for (i = 0; i < s->nr; i++) {
		if (!epf_tlbf_slice_sound(shape, s, i))
			return false;
		words += s->slice[i].words;
	}
	return words == s->words &&
	       epf_image_ends(s, s->nr * EPF_IMAGE_SLICE);
}

/* The slices have no memory yet. The youngest is in the last place of the ring, as after
 * one shift.
 */
EPF_FN_BIG int epf_tlbf_load(struct epf_tlbf *f, const struct epf_snap_owned *s)
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
		struct epf_tlbf_slice *to =
			&f->slice[(f->head + i) % EPF_TLBF_SLICES];

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

/* For a filter without a reserve whose time has been set. Marks are not saved: they say
 * which memory is wanted next, and are computed again.
 */
EPF_FN_BIG void epf_chain_save(const struct epf_chain *f,
			       struct epf_snap_owned *s)
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
		memcpy(s->table[i].keys, f->table[i].keys,
		       sizeof(s->table[i].keys));
		s->words += s->table[i].words;
	}
}

/* The last key of a table must not be younger than that of the table before it in @s. */
EPF_FN bool epf_chain_table_sound(const struct epf_chain_shape *shape,
				  const struct epf_snap_owned *s, __u32 i)
{
	const struct epf_snap_table *a = &s->table[i];
	__u64 lines = a->words / EPF_LANES;
	__u32 l;

	if (a->words % EPF_LANES || !epf_chain_power(lines) ||
	    lines < shape->lines_min || lines > shape->lines_max ||
	    a->last < EPF_EPOCH_FIRST ||
	    a->last > (i ? a[-1].last : s->turn))
		return false;
	for (l = 0; l < EPF_LANES; l++)
		if (a->keys[l] > EPF_INSERTS_MAX)
			return false;
	return true;
}

EPF_FN_BIG bool epf_chain_state_sound(const struct epf_chain *f,
				      const struct epf_snap_owned *s)
{
	__u64 words = 0;
	__u32 i;

	if (!epf_image_timed(s) || s->last_ns || !s->nr ||
	    s->nr > EPF_CHAIN_TABLES || s->turn > EPF_EPOCH_MAX ||
	    s->begun > s->taken || s->start_ns > s->now ||
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
EPF_FN_BIG int epf_chain_load(struct epf_chain *f,
			      const struct epf_snap_owned *s)
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
		memcpy(f->table[i].keys, s->table[i].keys,
		       sizeof(f->table[i].keys));
	}
	return 0;
}

/* ---------------------------------------------------- what all have ---- */

/* Is the part that does not depend on the kind valid? */
EPF_FN_BIG bool epf_image_sound(const struct epf_snap_owned *s)
{
	__u32 i;

	if (s->size != sizeof(*s) || s->epoch < EPF_EPOCH_FIRST ||
	    s->epoch > EPF_EPOCH_MAX)
		return false;
	for (i = 0; i < EPF_SNAP_PAST; i++)
		if (s->past[i].inserts > EPF_INSERTS_MAX ||
		    s->past[i].age_ns > EPF_NS_MAX)
			return false;
	return true;
}

#endif /* EPF_IMAGE_H */
