/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of epf.bpf.h for a cluster, for pure BPF filters. */
#ifndef EPF_OWN_ALL_INLINE_BPF_H
#define EPF_OWN_ALL_INLINE_BPF_H

#include "epf_own_inline.bpf.h"
#include "epf_all_inline.bpf.h"

static __always_inline int epf_key_test_cluster(const void *key, __u32 len)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_key(key, len, &digest, &at);

	return err ? err : epf_inline_cluster(digest, at, epf_inline_test(digest, at));
}

static __always_inline int epf_key_test_and_insert_cluster(const void *key, __u32 len)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_key(key, len, &digest, &at);

	return err ? err : epf_inline_cluster(digest, at, epf_inline_test_and_insert(digest, at));
}

static __always_inline int epf_packet_test_cluster(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_packet(ctx, opts, &digest, &at);

	return err ? err : epf_inline_cluster(digest, at, epf_inline_test(digest, at));
}

static __always_inline int epf_packet_test_and_insert_cluster(struct xdp_md *ctx,
							      struct epf_pkt_opts *opts)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_packet(ctx, opts, &digest, &at);

	return err ? err : epf_inline_cluster(digest, at, epf_inline_test_and_insert(digest, at));
}

#endif /* EPF_OWN_ALL_INLINE_BPF_H */
