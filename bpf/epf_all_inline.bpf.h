/* SPDX-License-Identifier: GPL-2.0 */
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
	h = &table->slot[at].hash;
	return h->kind == all->hash.kind && h->key[0] == all->hash.key[0] &&
	       h->key[1] == all->hash.key[1];
}

#define EPF_ALL_COVERED 2u /* beside a slot */

/* Where to look. A function of its own for a loader without CAP_PERFMON, whose verifier would
 * otherwise read what follows again for each of its branches. Return: the slot of the filter
 * of all, with EPF_ALL_COVERED if the cover is about its contents and has not expired; or
 * -EHOSTUNREACH: the filter of all is gone, or has another key.
 */
EPF_FN_SPLIT int epf_all_ready(__u32 at)
{
	const struct epf_cluster_cover *cover;
	bool covered = epf_cover_now(&cover);
	struct epf_bpf_slot *slot;
	__u32 all = epf_inline_slot_in(&epf_all_table, &slot);

	if (all >= EPF_BPF_SLOTS || !cover || !epf_all_same_hash(at, slot))
		return -EHOSTUNREACH;
	return (int)(covered && slot->serial == cover->serial ? all | EPF_ALL_COVERED : all);
}

/**
 * epf_inline_test_all() - the verdict of a cluster, where the local filter says "absent"
 * @digest: of contents @at of the local filter
 * @at: slot
 *
 * Return: a verdict; -EHOSTUNREACH also if the filter of all is gone or has another key. If
 * it has other contents than those that the cover is about, it has no "absent".
 */
EPF_FN_APART int epf_inline_test_all(__u64 digest, __u32 at)
{
	int ready = epf_all_ready(at);
	struct epf_inline f;

	if (ready < 0 || epf_inline_get_in(&f, (__u32)ready & ~EPF_ALL_COVERED, &epf_all_table,
					   &epf_all_lines, &epf_all_cpus))
		return -EHOSTUNREACH;
	return epf_cluster_verdict(0, epf_inline_look(&f, digest), ready & EPF_ALL_COVERED);
}

/* The verdict of the cluster; @verdict: that of the local filter. */
static __always_inline int epf_inline_cluster(__u64 digest, __u32 at, int verdict)
{
	return epf_clustered && !verdict ? epf_inline_test_all(digest, at) : verdict;
}

#endif /* EPF_ALL_INLINE_BPF_H */
