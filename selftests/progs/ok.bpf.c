// SPDX-License-Identifier: GPL-2.0
/* Programs that must load, and work as described if they can be run. */
#include <linux/errno.h>
#include <stdbool.h>

#include "slot.bpf.h"

/* Call all functions on one key: absent, then present in the current epoch. */
static __always_inline bool all_functions(struct epf_filter *f, __u64 key)
{
	__u64 digest;

	if (bpf_epf_key_digest(f, &key, sizeof(key), &digest))
		return false;
	if (bpf_epf_test(f, &key, sizeof(key)) || bpf_epf_test_digest(f, digest))
		return false;
	if (bpf_epf_test_and_insert(f, &key, sizeof(key)) != 0 ||
	    bpf_epf_test_and_insert(f, &key, sizeof(key)) != 1)
		return false;
	if (bpf_epf_test_and_insert_digest(f, digest) != 1 || bpf_epf_test_digest(f, digest) != 1)
		return false;
	if (bpf_epf_insert(f, &key, sizeof(key)) || bpf_epf_insert_digest(f, digest))
		return false;
	return bpf_epf_test(f, &key, sizeof(key)) == 1;
}

static __always_inline int run(struct epf_filter *f, __u64 key)
{
	int ret = 0;

	if (!f)
		return 0;
	if (all_functions(f, key))
		ret = RAN;
	bpf_epf_release(f);
	return ret;
}

SEC("xdp")
RUNS int xdp_keys(struct xdp_md *ctx)
{
	return run(take_filter(), 1);
}

SEC("tc")
RUNS int tc_keys(struct __sk_buff *skb)
{
	return run(take_filter(), 2);
}

SEC("syscall")
RUNS int syscall_keys(void *ctx)
{
	return run(bpf_epf_acquire(filter_id), 3);
}

SEC("xdp.frags")
RUNS int xdp_packet(struct xdp_md *ctx)
{
	struct epf_filter *f = take_filter();
	struct epf_pkt_opts opts = { .key = EPF_PKT_FRAME };
	struct epf_pkt_opts bad = { .key = 9 };
	__u64 digest = 0;
	int ret = 0;

	if (!f)
		return 0;
	if (!bpf_epf_xdp_digest(f, ctx, &opts, sizeof(opts), &digest) && digest &&
	    !bpf_epf_test_digest(f, digest) &&
	    bpf_epf_xdp_test_and_insert(f, ctx, &opts, sizeof(opts)) == 0 &&
	    bpf_epf_xdp_test_and_insert(f, ctx, &opts, sizeof(opts)) == 1 &&
	    bpf_epf_test_digest(f, digest) == 1 &&
	    bpf_epf_xdp_digest(f, ctx, &bad, sizeof(bad), &digest) == -EINVAL)
		ret = RAN;
	bpf_epf_release(f);
	return ret;
}

/* The reference stays in its map. @map: one that contains a filter. */
static __always_inline bool skb_held(void *map, struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_FRAME };
	struct epf_pkt_opts bad = { .key = 9 };

	return bpf_epf_skb_test_held(map, skb, &opts, sizeof(opts)) == 0 &&
	       bpf_epf_skb_insert_held(map, skb, &opts, sizeof(opts)) == 0 &&
	       bpf_epf_skb_test_held(map, skb, &opts, sizeof(opts)) == 1 &&
	       bpf_epf_skb_test_held(map, skb, &bad, sizeof(bad)) == -EINVAL;
}

SEC("tc")
RUNS int tc_held(struct __sk_buff *skb)
{
	return skb_held(&slots, skb) ? RAN : 0;
}

SEC("xdp.frags")
RUNS int xdp_held(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_FRAME };

	if (bpf_epf_xdp_test_held(&slots, ctx, &opts, sizeof(opts)) ||
	    bpf_epf_xdp_test_and_insert_held(&slots, ctx, &opts, sizeof(opts)) ||
	    bpf_epf_xdp_insert_held(&slots, ctx, &opts, sizeof(opts)))
		return 0;
	return bpf_epf_xdp_test_and_insert_held(&slots, ctx, &opts, sizeof(opts)) == 1 ? RAN : 0;
}

/* Maps without a filter, or of another kind, give an error at run time only. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} no_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slot);
} cpu_slots SEC(".maps");

SEC("tc")
RUNS int tc_held_nowhere(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_FRAME };

	if (bpf_epf_skb_test_held(&no_slots, skb, &opts, sizeof(opts)) != -ENODEV ||
	    bpf_epf_skb_insert_held(&cpu_slots, skb, &opts, sizeof(opts)) != -ENODEV)
		return 0;
	return RAN;
}

/* A packet without a key gives its error even without a filter. */
SEC("xdp")
RUNS int xdp_held_nowhere(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_FRAME };
	struct epf_pkt_opts mark = { .key = EPF_PKT_FRAME, .flags = EPF_PKT_MARK };

	if (bpf_epf_xdp_test_held(&no_slots, ctx, &opts, sizeof(opts)) != -ENODEV ||
	    bpf_epf_xdp_insert_held(&no_slots, ctx, &opts, sizeof(opts)) != -ENODEV)
		return 0;
	return bpf_epf_xdp_test_and_insert_held(&no_slots, ctx, &mark, sizeof(mark)) == -EINVAL ?
		       RAN :
		       0;
}

SEC("cgroup_skb/egress")
int cgroup_held(struct __sk_buff *skb)
{
	return skb_held(&slots, skb);
}

/* Keys straight from a packet, checked as the verifier requires. */
SEC("xdp")
RUNS int xdp_key_in_packet(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct epf_filter *f;
	int ret = 0;

	if (data + 14 > (void *)(long)ctx->data_end)
		return 0;
	f = take_filter();
	if (!f)
		return 0;
	if (bpf_epf_test_and_insert(f, data, 14) == 0 && bpf_epf_test(f, data, 14) == 1)
		ret = RAN;
	bpf_epf_release(f);
	return ret;
}

/* Lengths: 0 and 257 are refused at run time, 1 and 256 are not. */
SEC("syscall")
RUNS int syscall_lengths(void *ctx)
{
	struct epf_filter *f = bpf_epf_acquire(filter_id);
	static char key[EPF_KEY_MAX + 1];
	int ret = 0;

	if (!f)
		return 0;
	if (bpf_epf_test(f, key, EPF_KEY_MAX + 1) == -EINVAL &&
	    bpf_epf_insert(f, key, EPF_KEY_MAX + 1) == -EINVAL &&
	    bpf_epf_test(f, key, EPF_KEY_MAX) == 0 && bpf_epf_test_and_insert(f, key, 1) == 0 &&
	    bpf_epf_test(f, key, 1) == 1 && bpf_epf_test(f, key, 2) == 0)
		ret = RAN;
	bpf_epf_release(f);
	return ret;
}

SEC("syscall")
RUNS int syscall_no_such_filter(void *ctx)
{
	struct epf_filter *f = bpf_epf_acquire(0);

	if (f) {
		bpf_epf_release(f);
		return 0;
	}
	return RAN;
}

/* A reference moves into a map, is used from there, and comes back. */
SEC("syscall")
RUNS int syscall_kptr(void *ctx)
{
	struct epf_filter *f = bpf_epf_acquire(filter_id);
	struct slot *slot = get_slot();
	int ret = 0;

	if (!f)
		return 0;
	if (!slot) {
		bpf_epf_release(f);
		return 0;
	}
	f = bpf_kptr_xchg(&slot->filter, f);
	if (f)
		bpf_epf_release(f);
	f = bpf_kptr_xchg(&slot->filter, NULL);
	if (!f)
		return 0;
	if (all_functions(f, 4))
		ret = RAN;
	f = bpf_kptr_xchg(&slot->filter, f); /* freed with the map */
	if (f)
		bpf_epf_release(f);
	return ret;
}

/* Not run: needs packets that netfilter sees. */
struct sk_buff {
	unsigned int len;
} __attribute__((preserve_access_index));

/* A member of its type would leave struct sk_buff a declaration in BTF. */
struct bpf_nf_ctx {
	const void *state;
	void *skb;
};

SEC("netfilter")
int netfilter_held(struct bpf_nf_ctx *ctx)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_FLOW, .link = EPF_LINK_IP };

	bpf_epf_nf_set_mark(ctx->skb, 1, 3);
	return !bpf_epf_nf_test_held(&slots, ctx->skb, 1, &opts, sizeof(opts)) &&
	       !bpf_epf_nf_insert_held(&slots, ctx->skb, 1, &opts, sizeof(opts));
}

SEC("netfilter")
int netfilter_keys(struct bpf_nf_ctx *ctx)
{
	return run(take_filter(), 5) == RAN;
}
