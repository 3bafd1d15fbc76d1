/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locked kinds in snapshots: what the conversions of their shapes and their state, between
 * the interface (linux/epochfilter.h) and the core, have in common.
 *
 * Input may come from anybody. epf_KIND_load() accepts a state only if the core could have
 * reached it, as far as loops, divisions and memory offsets depend on it. Memory itself is
 * bits, and any bits are valid, except for dict and elastic, see their sound functions.
 *
 * A filter is loaded in three steps: init, load, memory. Slices and tables have no memory
 * until the owner sets the words of each.
 */
#ifndef EPF_IMAGE_H
#define EPF_IMAGE_H

#include "window.h"

#include <linux/epochfilter.h>

#define EPF_IMAGE_KEYS_MAX (1ULL << 60)
/* Number of each. */
#define EPF_IMAGE_SLICE (sizeof(struct epf_snap_slice) / sizeof(__u64))
#define EPF_IMAGE_TABLE (sizeof(struct epf_snap_table) / sizeof(__u64))

/* Is everything after the first @used words of slices or tables zero? */
EPF_FN_BIG bool epf_image_ends(const struct epf_snap_locked *s, __u64 used)
{
	const __u64 *word = &s->slice[0].words;
	__u64 any = 0;

	for (; used < EPF_SNAP_SLICES * EPF_IMAGE_SLICE; used++)
		any |= word[used];
	return !any;
}

/* Is @s of a kind with @words words and no state but @now, 0 .. @last? */
EPF_FN bool epf_image_plain(const struct epf_snap_locked *s, __u64 words, __u64 last)
{
	return s->words == words && s->now <= last && !s->nr && epf_image_ends(s, 0) &&
	       !(s->steady_ns | s->taken | s->last_ns | s->turn | s->start_ns | s->begun);
}

/* State that resizable kinds have: time, and numbers of keys. */
EPF_FN bool epf_image_timed(const struct epf_snap_locked *s)
{
	return s->now && s->now <= EPF_NS_MAX && s->steady_ns <= EPF_NS_MAX &&
	       s->taken <= EPF_IMAGE_KEYS_MAX;
}

/* Is the part that does not depend on the kind valid? */
EPF_FN_BIG bool epf_image_sound(const struct epf_snap_locked *s)
{
	__u32 i;

	if (s->size != sizeof(*s) || s->epoch < EPF_EPOCH_FIRST || s->epoch > EPF_EPOCH_MAX)
		return false;
	for (i = 0; i < EPF_SNAP_PAST; i++)
		if (s->past[i].inserts > EPF_INSERTS_MAX || s->past[i].age_ns > EPF_NS_MAX)
			return false;
	return true;
}

#endif /* EPF_IMAGE_H */
