/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core with its shared memory replaced by the machine of machine.h. The text of
 * epf/lanes.h, window.h, elastic.h and journal.h is compiled unchanged; only epf_load()
 * and the like differ. The width of the tag is a variable, so that a narrower one can be
 * tried. Loops have the bounds that they have in BPF; passing one violates a property.
 *
 * This header must be included before any other header of the core.
 */
#ifndef EPF_EXPLORE_SHIM_H
#define EPF_EXPLORE_SHIM_H

#include <epf/shim.h>

__u64 mc_load(const __u64 *p, const char *where);
__u64 mc_load_acquire(const __u64 *p, const char *where);
__u64 mc_load_ordered(const __u64 *p, const char *where);
__u64 mc_load_later(const __u64 *p, const char *where);
void mc_store_release(__u64 *p, __u64 v, const char *where);
void mc_or(__u64 *p, __u64 v, const char *where);
__u64 mc_fetch_or(__u64 *p, __u64 v, const char *where);
__u64 mc_fetch_add(__u64 *p, __u64 v, const char *where);
bool mc_cas(__u64 *p, __u64 *old, __u64 v, const char *where);
bool mc_beyond(__u32 round, __u32 most, const char *where);

#define epf_load(p) mc_load(p, __func__)
#define epf_load_acquire(p) mc_load_acquire(p, __func__)
#define epf_load_ordered(p) mc_load_ordered(p, __func__)
#define epf_load_later(p) mc_load_later(p, __func__)
#define epf_store_release(p, v) mc_store_release(p, v, __func__)
#define epf_or(p, v) mc_or(p, v, __func__)
#define epf_fetch_or(p, v) mc_fetch_or(p, v, __func__)
#define epf_fetch_add(p, v) mc_fetch_add(p, v, __func__)
#define epf_cas(p, old, v) mc_cas(p, old, v, __func__)
#define epf_beyond(round, most) mc_beyond(round, most, __func__)

#include <epf/geometry.h>

extern __u32 mc_tag_shift; /* EPF_LANE_BITS, or one more: a tag of 1 bit */

#undef EPF_TAG_SHIFT
#undef EPF_TAG_MASK
#define EPF_TAG_SHIFT mc_tag_shift
#define EPF_TAG_MASK (~0ULL << mc_tag_shift)

#define EPF_ELASTIC_TRIES 8
#include <epf/elastic.h>
#include <epf/journal.h>
#include <epf/window.h>

#endif /* EPF_EXPLORE_SHIM_H */
