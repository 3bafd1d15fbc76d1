// SPDX-License-Identifier: GPL-2.0
/*
 * Program types that may not call the functions: those without a use for them, and for
 * the packet functions all except XDP, whose context is the only one they can read.
 */
#include "slot.bpf.h"

#define CALL_REFUSED "is not allowed"

static __always_inline void acquire(void)
{
	struct epf_filter *f = bpf_epf_acquire(filter_id);

	if (f)
		bpf_epf_release(f);
}

/* A program of a section that the verifier must refuse. */
#define REFUSED(section, name, context, ret, ...) \
	SEC(section)                              \
	FAILS(CALL_REFUSED)                       \
	int name(context *ctx)                    \
	{                                         \
		__VA_ARGS__;                      \
		return ret;                       \
	}

REFUSED("socket", on_socket, struct __sk_buff, 0, acquire())
REFUSED("kprobe", on_kprobe, void, 0, acquire())
REFUSED("tracepoint", on_tracepoint, void, 0, acquire())
REFUSED("cgroup/sock", on_cgroup_sock, void, 1, acquire())
/* References by id are for syscall programs. */
REFUSED("xdp", xdp_acquire, struct xdp_md, XDP_PASS, acquire())
REFUSED("tc", tc_acquire, struct __sk_buff, 0, acquire())
REFUSED("netfilter", netfilter_acquire, void, 1, acquire())

/* Call a packet function of XDP. */
static __always_inline void ask(struct epf_filter *f, void *ctx)
{
	struct epf_pkt_opts opts = {};

	if (!f)
		return;
	bpf_epf_xdp_test_and_insert(f, ctx, &opts, sizeof(opts));
	bpf_epf_release(f);
}

REFUSED("tc", tc_packet, struct __sk_buff, 0, ask(take_filter(), ctx))
/* A made-up context would be read as the kernel's own. */
REFUSED("tc", tc_packet_fake, struct __sk_buff, 0, struct xdp_md fake = {};
	ask(take_filter(), &fake))

SEC("syscall")
FAILS(CALL_REFUSED)
int syscall_packet_fake(void *ctx)
{
	struct epf_filter *f = bpf_epf_acquire(filter_id);
	struct epf_pkt_opts opts = {};
	struct xdp_md fake = {};
	__u64 digest;

	if (!f)
		return 0;
	bpf_epf_xdp_digest(f, &fake, &opts, sizeof(opts), &digest);
	bpf_epf_release(f);
	return 0;
}

struct sk_buff {
	unsigned int len;
} __attribute__((preserve_access_index));

/* Functions on socket buffers are for programs whose context is one. */
static struct epf_pkt_opts any;

#define HELD(call, ...) call(&slots, __VA_ARGS__, &any, sizeof(any))
REFUSED("xdp", xdp_buffer, struct xdp_md, XDP_PASS, HELD(bpf_epf_skb_insert_held, (void *)ctx))
REFUSED("tc", tc_xdp_held, struct __sk_buff, 0, HELD(bpf_epf_xdp_test_held, (void *)ctx))
REFUSED("tc", tc_nf_held, struct __sk_buff, 0, HELD(bpf_epf_nf_insert_held, (void *)ctx, 0))
REFUSED("tc", tc_nf_mark, struct __sk_buff, 0, bpf_epf_nf_set_mark((void *)ctx, 1, 1))
REFUSED("netfilter", netfilter_skb_held, void, 1, HELD(bpf_epf_skb_insert_held, ctx))
REFUSED("socket", socket_held, struct __sk_buff, 0, HELD(bpf_epf_skb_test_held, ctx))

SEC("netfilter")
FAILS(NOT_A_FILTER)
int netfilter_context_held(void *ctx)
{
	HELD(bpf_epf_nf_test_held, ctx, 0);
	return 1;
}

SEC("cgroup/sock")
FAILS(CALL_REFUSED "|" NOT_A_FILTER)
int cgroup_sock_held(void *ctx)
{
	HELD(bpf_epf_skb_test_held, ctx);
	return 1;
}
