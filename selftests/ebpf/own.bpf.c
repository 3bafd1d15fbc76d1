// SPDX-License-Identifier: GPL-2.0
/*
 * For own.c: a program of each type that may have a filter. The key is the IPv4 source
 * address of the packet; user space chooses the operation.
 */
#include <linux/bpf.h>
#include <stddef.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>

#include "own.h"
#include <epf.bpf.h>

__u32 op; /* enum own_op */
int verdict = OWN_NONE;

static __always_inline void ask(const __u32 *from)
{
	if (op == OWN_TEST)
		verdict = epf_key_test(from, sizeof(*from));
	else if (op == OWN_INSERT)
		verdict = epf_key_insert(from, sizeof(*from));
	else
		verdict = epf_key_test_and_insert(from, sizeof(*from));
}

static __always_inline void ask_skb(struct __sk_buff *skb)
{
	__u32 from;

	if (!bpf_skb_load_bytes_relative(skb, offsetof(struct iphdr, saddr), &from, sizeof(from),
					 BPF_HDR_START_NET))
		ask(&from);
}

SEC("xdp")
int own_xdp(struct xdp_md *ctx)
{
	__u8 *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 14);

	if ((void *)(ip + 1) <= (void *)(long)ctx->data_end)
		ask(&ip->saddr);
	return XDP_PASS;
}

SEC("xdp")
int own_packet(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_PACKET };

	verdict = epf_packet_test_and_insert(ctx, &opts);
	return XDP_PASS;
}

/* Insert or look up a peer. */
SEC("xdp")
int own_peer(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_PEER };

	if (op == OWN_TEST)
		verdict = epf_packet_test(ctx, &opts);
	else if (op == OWN_INSERT)
		verdict = epf_packet_insert(ctx, &opts);
	else
		verdict = epf_packet_insert_new(ctx, &opts);
	return XDP_PASS;
}

/* Extend the window of known keys. */
SEC("xdp")
int own_new(struct xdp_md *ctx)
{
	__u8 *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 14);

	if ((void *)(ip + 1) <= (void *)(long)ctx->data_end)
		verdict = epf_key_insert_new(&ip->saddr, sizeof(ip->saddr));
	return XDP_PASS;
}

SEC("tc")
int own_tc(struct __sk_buff *skb)
{
	ask_skb(skb);
	return TC_ACT_OK;
}

SEC("cgroup_skb/egress")
int own_cgroup(struct __sk_buff *skb)
{
	ask_skb(skb);
	return 1;
}

SEC("socket")
int own_socket(struct __sk_buff *skb)
{
	ask_skb(skb);
	return 0;
}

struct sk_buff;
struct bpf_nf_ctx {
	const void *state;
	struct sk_buff *skb;
} __attribute__((preserve_access_index));

extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags,
			       struct bpf_dynptr *ptr) __ksym __weak;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *ptr, __u32 offset, void *buffer,
			      __u32 size) __ksym __weak;

SEC("netfilter")
int own_netfilter(struct bpf_nf_ctx *ctx)
{
	struct iphdr room, *ip;
	struct bpf_dynptr ptr;
	__u32 from;

	if (bpf_dynptr_from_skb((struct __sk_buff *)ctx->skb, 0, &ptr))
		return 1;
	ip = bpf_dynptr_slice(&ptr, 0, &room, sizeof(room));
	if (ip && ip->version != 4) /* a test run has an Ethernet header before it */
		ip = bpf_dynptr_slice(&ptr, 14, &room, sizeof(room));
	if (!ip)
		return 1;
	from = ip->saddr; /* memory of a dynptr slice cannot be passed to the module */
	ask(&from);
	return 1;
}

#ifdef EPF_MODULE
static __always_inline void put(struct epf_own_ref *ref, struct epf_filter *f)
{
	if (f)
		epf_own_put(ref, f);
}

/* As if it interrupted programs that hold the first @op references of this CPU. */
SEC("xdp")
int own_nested(struct xdp_md *ctx)
{
	struct epf_own_ref *ref[EPF_OWN_REFS];
	struct epf_filter *a, *b, *c, *d = NULL;
	__u32 key = 1;

	a = epf_own_take(&ref[0]);
	b = epf_own_take(&ref[1]);
	c = epf_own_take(&ref[2]);
	if (op == EPF_OWN_REFS)
		d = epf_own_take(&ref[3]);
	verdict = epf_key_test(&key, sizeof(key));
	put(ref[0], a);
	put(ref[1], b);
	put(ref[2], c);
	put(ref[3], d);
	return XDP_PASS;
}
#endif

char _license[] SEC("license") = "GPL";
