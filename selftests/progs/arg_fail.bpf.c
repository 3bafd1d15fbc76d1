// SPDX-License-Identifier: GPL-2.0
/* Arguments: filters must be filters, and memory must be as long as stated. */
#include <stdbool.h>

#include "slot.bpf.h"

#define WITH_FILTER(f, code)                          \
	({                                            \
		struct epf_filter *f = take_filter(); \
		if (f) {                              \
			code;                         \
			bpf_epf_release(f);           \
		}                                     \
		XDP_PASS;                             \
	})

SEC("xdp")
FAILS(BAD_MEMORY)
int key_longer_than_stack(struct xdp_md *ctx)
{
	__u64 key = 1;

	return WITH_FILTER(f, bpf_epf_test(f, &key, sizeof(key) + 16));
}

SEC("xdp")
FAILS(BAD_MEMORY)
int key_longer_than_value(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();

	if (!slot)
		return XDP_PASS;
	return WITH_FILTER(f, bpf_epf_insert(f, &slot->scratch, 9));
}

SEC("xdp")
FAILS(BAD_MEMORY)
int key_of_any_length(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();
	__u32 len;

	if (!slot)
		return XDP_PASS;
	len = *(volatile __u32 *)&slot->scratch;
	return WITH_FILTER(f, bpf_epf_test(f, &slot->scratch, len));
}

SEC("xdp")
FAILS(BAD_MEMORY)
int key_behind_packet(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;

	return WITH_FILTER(f, bpf_epf_test_and_insert(f, data, 16));
}

/* References in a map cannot be accessed as bytes. */
SEC("xdp")
FAILS(BAD_MEMORY)
int key_over_reference(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();

	if (!slot)
		return XDP_PASS;
	return WITH_FILTER(f, bpf_epf_test(f, slot, 8));
}

SEC("xdp")
FAILS(BAD_MEMORY)
int key_is_a_number(struct xdp_md *ctx)
{
	return WITH_FILTER(f, bpf_epf_test(f, (void *)0x1234, 8));
}

SEC("xdp")
FAILS("write into map forbidden")
int options_read_only(struct xdp_md *ctx)
{
	return WITH_FILTER(f, bpf_epf_xdp_test_and_insert(f, ctx, (const void *)&filter_id,
							  sizeof(filter_id)));
}

SEC("xdp")
FAILS(BAD_MEMORY)
int options_longer_than_stack(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = {};

	return WITH_FILTER(f, bpf_epf_xdp_test_and_insert(f, ctx, &opts, 64));
}

SEC("xdp")
FAILS("R5 type=scalar expected=fp")
int digest_nowhere(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = {};

	return WITH_FILTER(f, bpf_epf_xdp_digest(f, ctx, &opts, sizeof(opts), (__u64 *)8));
}

SEC("xdp")
FAILS(NOT_A_FILTER)
int filter_is_a_map_value(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();
	__u64 key = 1;

	if (!slot)
		return XDP_PASS;
	return bpf_epf_test((void *)&slot->scratch, &key, sizeof(key)) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
FAILS(NOT_A_FILTER)
int filter_is_the_context(struct xdp_md *ctx)
{
	__u64 key = 1;

	return bpf_epf_test((void *)ctx, &key, sizeof(key)) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
FAILS(NOT_A_FILTER)
int filter_is_the_stack(struct xdp_md *ctx)
{
	struct epf_filter fake = {};
	__u64 key = 1;

	return bpf_epf_test(&fake, &key, sizeof(key)) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
FAILS(NOT_TO_RELEASE)
int release_of_a_number(struct xdp_md *ctx)
{
	bpf_epf_release((void *)0x1234);
	return XDP_PASS;
}

SEC("xdp")
FAILS("expected pointer to ctx")
int context_is_the_stack(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = {};
	struct xdp_md fake = {};

	return WITH_FILTER(f, bpf_epf_xdp_test_and_insert(f, &fake, &opts, sizeof(opts)));
}

/* An argument that must be a map is a map. */
SEC("tc")
FAILS(NOT_A_MAP)
int map_is_its_value(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = {};
	struct slot *slot = get_slot();

	return slot ? bpf_epf_skb_insert_held(slot, skb, &opts, sizeof(opts)) : 0;
}

SEC("tc")
FAILS(NOT_A_MAP)
int map_is_the_stack(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = {};
	__u64 fake[16] = {};

	return bpf_epf_skb_insert_held(fake, skb, &opts, sizeof(opts));
}

SEC("tc")
FAILS(NOT_A_MAP)
int map_is_the_context(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = {};

	return bpf_epf_skb_test_held(skb, skb, &opts, sizeof(opts));
}

SEC("xdp")
FAILS(NOT_A_MAP)
int map_is_a_number(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = {};

	return bpf_epf_xdp_test_held((void *)0x1234, ctx, &opts, sizeof(opts));
}

SEC("xdp")
FAILS(NOT_A_MAP)
int map_is_a_filter(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = {};

	return WITH_FILTER(f, bpf_epf_xdp_test_held(f, ctx, &opts, sizeof(opts)));
}

SEC("tc")
FAILS("expected pointer to ctx")
int buffer_is_the_stack(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = {};
	struct __sk_buff fake = {};

	return bpf_epf_skb_test_held(&slots, &fake, &opts, sizeof(opts));
}
