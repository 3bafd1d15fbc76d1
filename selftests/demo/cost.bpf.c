// SPDX-License-Identifier: GPL-2.0
/*
 * The time of a packet: by a filter that is pure BPF, and by what the kernel has
 * instead, all under the same digest. Each run writes a number into its packet, which
 * is part of the key. cost.c runs them.
 */
#include "../../bpf/epf_packet.bpf.h"
#include "../../bpf/epf_inline.bpf.h"
#include "cost.h"

struct cost_shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} lru SEC(".maps");

/* Two, as a window takes: user space would empty the older one now and then. */
struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 1);
	__uint(map_extra, COST_BLOOM_K);
	__uint(value_size, sizeof(__u64));
} bloom0 SEC(".maps"), bloom1 SEC(".maps");

static __always_inline bool number(struct xdp_md *ctx)
{
	__u8 *p = (__u8 *)(long)ctx->data;

	if (p + COST_BYTES > (__u8 *)(long)ctx->data_end)
		return false;
	*(__u64 *)(p + COST_AT) = shared.next++;
	return true;
}

/* Return: slot of the filter, or EPF_BPF_SLOTS. */
static __always_inline __u32 digest_of(struct xdp_md *ctx, __u64 *digest)
{
	struct epf_bpf_slot *slot;
	__u32 at = epf_inline_slot(&slot);

	if (at == EPF_BPF_SLOTS || !number(ctx) ||
	    epf_xdp_digest(ctx, &slot->hash, &shared.opts, digest))
		return EPF_BPF_SLOTS;
	return at;
}

SEC("xdp")
int null(struct xdp_md *ctx)
{
	return number(ctx) ? XDP_PASS : XDP_ABORTED;
}

SEC("xdp")
int digest(struct xdp_md *ctx)
{
	__u64 d;

	return digest_of(ctx, &d) == EPF_BPF_SLOTS ? XDP_ABORTED : XDP_PASS;
}

SEC("xdp")
int filter(struct xdp_md *ctx)
{
	__u64 d;
	__u32 at = digest_of(ctx, &d);

	if (at == EPF_BPF_SLOTS)
		return XDP_ABORTED;
	if (epf_inline_test_and_insert(d, at) > 0)
		shared.found++;
	return XDP_PASS;
}

SEC("xdp")
int lru_hash(struct xdp_md *ctx)
{
	__u64 d, *seen;

	if (digest_of(ctx, &d) == EPF_BPF_SLOTS)
		return XDP_ABORTED;
	seen = bpf_map_lookup_elem(&lru, &d);
	if (seen) {
		*seen = shared.next;
		shared.found++;
	} else {
		bpf_map_update_elem(&lru, &d, &shared.next, BPF_ANY);
	}
	return XDP_PASS;
}

SEC("xdp")
int bloom(struct xdp_md *ctx)
{
	__u64 d;

	if (digest_of(ctx, &d) == EPF_BPF_SLOTS)
		return XDP_ABORTED;
	if (!bpf_map_peek_elem(&bloom0, &d)) {
		shared.found++;
		return XDP_PASS;
	}
	if (!bpf_map_peek_elem(&bloom1, &d))
		shared.found++;
	bpf_map_push_elem(&bloom0, &d, BPF_ANY);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
