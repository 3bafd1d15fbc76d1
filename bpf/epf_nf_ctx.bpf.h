/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The context of a netfilter program, in the form that epf_packet.bpf.h needs. The program
 * has no pointer into the packet: the kernel copies bytes from it, read through a dynptr
 * (bpf_dynptr_from_skb(), Linux 6.4). Byte 0 is the first byte of the IP header, at every
 * hook. Structures have the kernel's names; BTF locates their fields.
 */
#ifndef EPF_NF_CTX_BPF_H
#define EPF_NF_CTX_BPF_H

#include <bpf/bpf_core_read.h>

#ifndef __VMLINUX_H__
struct net_device {
	char name[16];
	int ifindex;
} __attribute__((preserve_access_index));

struct nf_hook_state {
	struct net_device *in;
	struct net_device *out;
} __attribute__((preserve_access_index));

struct sk_buff {
	unsigned int len;
	__u32 mark;
} __attribute__((preserve_access_index));

struct bpf_nf_ctx {
	const struct nf_hook_state *state;
	struct sk_buff *skb;
};
#endif

extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *ptr) __ksym;

#define epf_ctx bpf_nf_ctx
#define epf_ctx_len(ctx) ((ctx)->skb->len)
#define epf_ctx_iface(ctx) epf_nf_iface(ctx)
#define epf_load_bytes epf_nf_load_bytes

/* The interface that a packet came in on; if none, the one it leaves by. */
static __always_inline __u32 epf_nf_iface(struct bpf_nf_ctx *ctx)
{
	const struct net_device *dev = ctx->state->in;

	if (!dev)
		dev = ctx->state->out;
	return dev ? (__u32)dev->ifindex : 0;
}

/* Return: 0, or a negative errno: the packet has fewer bytes. A function with a stack of its
 * own, because the verifier lets nothing else be written where a dynptr was.
 */
static __attribute__((noinline, unused)) long epf_nf_load_bytes(struct bpf_nf_ctx *ctx, __u32 off,
								void *to, __u32 n)
{
	struct bpf_dynptr packet;

	if (bpf_dynptr_from_skb((struct __sk_buff *)ctx->skb, 0, &packet))
		return -1;
	return bpf_dynptr_read(to, n, &packet, off, 0);
}

#endif /* EPF_NF_CTX_BPF_H */
