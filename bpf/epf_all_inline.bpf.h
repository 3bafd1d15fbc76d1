/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The filter of all of a cluster, without the module: a second set of maps, for a filter
 * that programs only look into, with digests that were made for the first one. Include it
 * after epf_inline.bpf.h.
 */
#ifndef EPF_ALL_INLINE_BPF_H
#define EPF_ALL_INLINE_BPF_H

#include "epf_inline.bpf.h"
#include "epf_cover.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_bpf_filter);
} epf_all_table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EPF_BPF_SLOTS);
	__type(key, __u32);
	/* clang-format off */
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
		__uint(max_entries, 1);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, sizeof(struct epf_line));
	});
	/* clang-format on */
} epf_all_lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_bpf_cpu);
} epf_all_cpus SEC(".maps");

/* Slot @at of @table, below EPF_BPF_SLOTS. The verifier sees the bound here: the compiler may have
 * compared a copy of @at that lay in memory.
 */
static __always_inline const struct epf_bpf_slot *epf_all_slot_of(
	const struct epf_bpf_filter *table, __u32 at)
{
	__u64 n = at;

	__asm__ volatile("%0 &= 1" : "+r"(n));
	return &table->slot[n];
}

/* Do contents @at of the local filter and @all make the same digests? Either may have been
 * swapped or restored. The other words of a hash follow from its key.
 */
static __always_inline bool epf_all_same_hash(__u32 at, const struct epf_bpf_slot *all)
{
	__u32 zero = 0;
	struct epf_bpf_filter *table = bpf_map_lookup_elem(&epf_table, &zero);
	const struct epf_hash *h;

	if (!table || at >= EPF_BPF_SLOTS)
		return false;
	h = &epf_all_slot_of(table, at)->hash;
	return h->kind == all->hash.kind && h->key[0] == all->hash.key[0] &&
	       h->key[1] == all->hash.key[1];
}

#define EPF_ALL_SLOT 3ULL /* the bits of a slot in what epf_all_ready() returns */

/* Where to look. A function of its own for a loader without CAP_PERFMON, whose verifier would
 * otherwise read what follows again for each of its branches. Return: the slot of the filter
 * of all, EPF_BPF_SLOTS if that is gone or has another key; and in the bits above it the
 * promise, rounded down by less than 4 ns, 0 if the cover is about other contents.
 */
EPF_FN_SPLIT __u64 epf_all_ready(__u32 at)
{
	__u32 zero = 0;
	const struct epf_cluster_cover *cover = bpf_map_lookup_elem(&epf_cover, &zero);
	__u64 until = cover ? epf_cluster_until(cover) & ~EPF_ALL_SLOT : 0;
	struct epf_bpf_slot *slot;
	__u32 all = epf_inline_slot_in(&epf_all_table, &slot);

	if (all >= EPF_BPF_SLOTS || !cover || !epf_all_same_hash(at, slot))
		return EPF_BPF_SLOTS;
	return slot->serial == cover->serial ? until | all : all;
}

/* As epf_state_since(), for slot @at of the filter with this @map "table". */
static __always_inline __u64 epf_all_since_in(void *map, __u32 at)
{
	__u32 zero = 0;
	struct epf_bpf_filter *table = bpf_map_lookup_elem(map, &zero);
	const struct epf_bpf_slot *slot;

	if (!table || at >= EPF_BPF_SLOTS)
		return EPF_BEGAN_NEVER;
	slot = epf_all_slot_of(table, at);
	return epf_state_since(&slot->state, epf_load(&slot->began));
}

/* Both filters said "absent": slot @at of the local one, and that of @ready. Is that an answer?
 * The slots are those that were asked, so their words are about these contents, whatever was
 * swapped meanwhile.
 */
EPF_FN_SPLIT int epf_all_covered(__u64 ready, __u32 at)
{
	__u64 own = epf_all_since_in(&epf_table, at);
	__u64 all = epf_all_since_in(&epf_all_table, (__u32)(ready & EPF_ALL_SLOT));

	return epf_cover_holds(ready & ~EPF_ALL_SLOT, epf_cluster_later(own, all));
}

/**
 * epf_inline_test_all() - the verdict of a cluster, where the local filter says "absent"
 * @digest: of contents @at of the local filter
 * @at: slot
 *
 * Return: a verdict; -EHOSTUNREACH also if the filter of all is gone or has another key. If
 * it has other contents than those that the cover is about, or either filter does not retain
 * a window, there is no "absent".
 */
EPF_FN_APART int epf_inline_test_all(__u64 digest, __u32 at)
{
	__u64 ready = epf_all_ready(at);
	struct epf_inline f;
	int ret;

	if (epf_inline_get_in(&f, (__u32)(ready & EPF_ALL_SLOT), &epf_all_table, &epf_all_lines,
			      &epf_all_cpus))
		return -EHOSTUNREACH;
	ret = epf_inline_look(&f, digest);
	return epf_cluster_verdict(0, ret, !ret && epf_all_covered(ready, at));
}

/* The verdict of the cluster; @verdict: that of the local filter. */
static __always_inline int epf_inline_cluster(__u64 digest, __u32 at, int verdict)
{
	return epf_clustered && !verdict ? epf_inline_test_all(digest, at) : verdict;
}

#endif /* EPF_ALL_INLINE_BPF_H */
