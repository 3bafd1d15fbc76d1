/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cover of a cluster (epf/cluster.h), in a program. Its loader replaces epf_cover with
 * the cluster's map and sets epf_clustered; otherwise the verifier removes the code that
 * asks the filter of all, because it knows that constant.
 */
#ifndef EPF_COVER_BPF_H
#define EPF_COVER_BPF_H

#ifndef __VMLINUX_H__
#include <linux/bpf.h>
#include <linux/types.h>
#endif
#include <linux/errno.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include <epf/cluster.h>

/* A section of its own, so that the loader sets it in every object in the same way. Programs
 * that are always of a cluster have no such constant.
 */
#ifdef EPF_CLUSTER
#define epf_clustered 1
#else
SEC(".rodata.cluster") const volatile __u32 epf_clustered = 0;
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_cluster_cover);
} epf_cover SEC(".maps");

/* As epf_cluster_until(); 0: there is no cover. */
static __always_inline __u64 epf_cover_until(void)
{
	__u32 zero = 0;
	const struct epf_cluster_cover *cover = bpf_map_lookup_elem(&epf_cover, &zero);

	return cover ? epf_cluster_until(cover) : 0;
}

/* As epf_cluster_covered(). */
static __always_inline bool epf_cover_holds(__u64 until, __u64 since)
{
	__u32 zero = 0;
	const struct epf_cluster_cover *cover = bpf_map_lookup_elem(&epf_cover, &zero);

	return cover && epf_cluster_covered(cover, until, since, bpf_ktime_get_ns());
}

#endif /* EPF_COVER_BPF_H */
