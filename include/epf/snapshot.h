/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Headers of snapshots of lanes, between the interface and the state of a filter. Pure
 * functions; any context.
 */
#ifndef EPF_SNAPSHOT_H
#define EPF_SNAPSHOT_H

#include "window.h"

/* Is a header, which may come from anybody, valid except for its parameters? @last: the
 * greatest epoch that the filter can have.
 */
EPF_FN_BIG bool epf_snap_sound(const struct epf_snap_header *h, __u64 last)
{
	__u32 i;

	if (h->magic != EPF_SNAP_MAGIC || h->version != EPF_SNAP_VERSION ||
	    h->header_bytes != sizeof(*h))
		return false;
	if (h->epoch_begin < EPF_EPOCH_FIRST || h->epoch_begin > h->epoch_end ||
	    h->epoch_end > last)
		return false;
	for (i = 0; i < EPF_EPOCHS; i++)
		if (h->epochs[i].inserts > EPF_INSERTS_MAX || h->epochs[i].age_ns > EPF_NS_MAX)
			return false;
	return true;
}

/**
 * epf_snap_save() - begin a header: format and epochs
 * @h: zeroed
 * @s: state, at rest
 * @inserts: insertions of the current epoch
 * @now_ns: on the clock of @s
 */
EPF_FN_BIG void epf_snap_save(struct epf_snap_header *h, const struct epf_state *s, __u64 inserts,
			      __u64 now_ns)
{
	__u32 i;

	h->magic = EPF_SNAP_MAGIC;
	h->version = EPF_SNAP_VERSION;
	h->header_bytes = sizeof(*h);
	h->epoch_end = s->epoch;
	for (i = 0; i < EPF_EPOCHS; i++) {
		if (!s->ring[i].start_ns)
			continue; /* there was no such epoch */
		h->epochs[i].inserts = s->ring[i].inserts;
		h->epochs[i].age_ns = now_ns - s->ring[i].start_ns;
	}
	h->epochs[s->epoch % EPF_EPOCHS].inserts = inserts;
}

/* Set the state from a sound header. The owner of @s empties all lanes that are stale. Time
 * continues as if the snapshot had been taken now, so keys are retained at least as long as
 * promised. Start times before the clock's zero wrap around; only differences matter.
 */
EPF_FN_BIG void epf_snap_load(const struct epf_snap_header *h, struct epf_state *s, __u64 now_ns)
{
	__u64 e = h->epoch_end;
	__u32 i;

	s->epoch = e;
	s->scanned = e;
	for (i = 0; i < EPF_EPOCHS; i++) {
		s->ring[i].inserts = h->epochs[i].inserts;
		s->ring[i].start_ns = now_ns - h->epochs[i].age_ns;
	}
	s->count = epf_count_pack(e, h->epochs[e % EPF_EPOCHS].inserts);
}

#endif /* EPF_SNAPSHOT_H */
