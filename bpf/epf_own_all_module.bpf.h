/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of epf.bpf.h for a cluster, for filters of the module. */
#ifndef EPF_OWN_ALL_MODULE_BPF_H
#define EPF_OWN_ALL_MODULE_BPF_H

#include "epf_cover.bpf.h"
#include "epf_own_module.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EPF_OWN_REFS);
	__type(key, __u32);
	__type(value, struct epf_own_ref);
} epf_all_refs SEC(".maps");

static long epf_own_choose_all(__u32 n, struct epf_own_walk *walk)
{
	__u32 at = n % EPF_OWN_REFS;

	return epf_own_fill(bpf_map_lookup_percpu_elem(&epf_all_refs, &at, n / EPF_OWN_REFS), walk);
}

/* As epf_choose, for the filter of all. */
SEC("syscall")
int epf_choose_all(struct epf_choice *choice)
{
	struct epf_own_walk walk = { .id = choice->id };

	bpf_loop(EPF_OWN_CPUS * EPF_OWN_REFS, epf_own_choose_all, &walk, 0);
	return walk.ret;
}

/* Since when does the filter of @refs retain every key? */
static __always_inline __u64 epf_own_since(void *refs)
{
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take_of(refs, &ref);
	__u64 since;

	if (!f)
		return EPF_BEGAN_NEVER;
	since = bpf_epf_since(f);
	epf_own_put(ref, f);
	return since;
}

/* The verdict of the cluster for @ret, that of the filter of all, from after @until. */
static __always_inline int epf_own_cluster(int ret, __u64 until)
{
	bool covered = false;

	if (!ret)
		covered = epf_cover_holds(until, epf_cluster_later(epf_own_since(&epf_refs),
								   epf_own_since(&epf_all_refs)));
	return epf_cluster_verdict(0, ret, covered);
}

/* The verdict of the cluster for a key that the local filter lacks. */
static __always_inline int epf_own_key_all(const void *key, __u32 len)
{
	__u64 until = epf_cover_until();
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take_of(&epf_all_refs, &ref);
	int ret = -EBUSY;

	if (f) {
		ret = bpf_epf_test(f, key, len);
		epf_own_put(ref, f);
	}
	return epf_own_cluster(ret, until);
}

static __always_inline int epf_own_packet_all(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	__u64 until = epf_cover_until();
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take_of(&epf_all_refs, &ref);
	int ret = -EBUSY;

	if (f) {
		ret = bpf_epf_xdp_test(f, ctx, opts, sizeof(*opts));
		epf_own_put(ref, f);
	}
	return epf_own_cluster(ret, until);
}

static __always_inline int epf_key_test_cluster(const void *key, __u32 len)
{
	int verdict = epf_key_test(key, len);

	return verdict ? verdict : epf_own_key_all(key, len);
}

static __always_inline int epf_key_test_and_insert_cluster(const void *key, __u32 len)
{
	int verdict = epf_key_test_and_insert(key, len);

	return verdict ? verdict : epf_own_key_all(key, len);
}

static __always_inline int epf_packet_test_cluster(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	int verdict = epf_packet_test(ctx, opts);

	return verdict ? verdict : epf_own_packet_all(ctx, opts);
}

static __always_inline int epf_packet_test_and_insert_cluster(struct xdp_md *ctx,
							      struct epf_pkt_opts *opts)
{
	int verdict = epf_packet_test_and_insert(ctx, opts);

	return verdict ? verdict : epf_own_packet_all(ctx, opts);
}

#endif /* EPF_OWN_ALL_MODULE_BPF_H */
