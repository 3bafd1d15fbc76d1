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

SEC("socket")
FAILS(CALL_REFUSED)
int on_socket(struct __sk_buff *skb)
{
	acquire();
	return 0;
}

SEC("kprobe")
FAILS(CALL_REFUSED)
int on_kprobe(void *ctx)
{
	acquire();
	return 0;
}

SEC("tracepoint")
FAILS(CALL_REFUSED)
int on_tracepoint(void *ctx)
{
	acquire();
	return 0;
}

SEC("cgroup/sock")
FAILS(CALL_REFUSED)
int on_cgroup_sock(void *ctx)
{
	acquire();
	return 1;
}

/* References by id are for syscall programs. */
SEC("xdp")
FAILS(CALL_REFUSED)
int xdp_acquire(struct xdp_md *ctx)
{
	acquire();
	return XDP_PASS;
}

SEC("tc")
FAILS(CALL_REFUSED)
int tc_acquire(struct __sk_buff *skb)
{
	acquire();
	return 0;
}

SEC("netfilter")
FAILS(CALL_REFUSED)
int netfilter_acquire(void *ctx)
{
	acquire();
	return 1;
}

SEC("tc")
FAILS(CALL_REFUSED)
int tc_packet(struct __sk_buff *skb)
{
	struct epf_filter *f = take_filter();
	struct epf_pkt_opts opts = {};

	if (!f)
		return 0;
	bpf_epf_xdp_test_and_insert(f, (void *)skb, &opts, sizeof(opts));
	bpf_epf_release(f);
	return 0;
}

/* A made-up context would be read as the kernel's own. */
SEC("tc")
FAILS(CALL_REFUSED)
int tc_packet_fake(struct __sk_buff *skb)
{
	struct epf_filter *f = take_filter();
	struct epf_pkt_opts opts = {};
	struct xdp_md fake = {};

	if (!f)
		return 0;
	bpf_epf_xdp_test_and_insert(f, &fake, &opts, sizeof(opts));
	bpf_epf_release(f);
	return 0;
}

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
SEC("xdp")
FAILS(CALL_REFUSED)
int xdp_buffer(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = {};

	bpf_epf_skb_insert_held(&slots, (void *)ctx, &opts, sizeof(opts));
	return XDP_PASS;
}

SEC("tc")
FAILS(CALL_REFUSED)
int tc_xdp_held(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = {};

	bpf_epf_xdp_test_held(&slots, (void *)skb, &opts, sizeof(opts));
	return 0;
}

SEC("tc")
FAILS(CALL_REFUSED)
int tc_nf_held(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = {};

	bpf_epf_nf_insert_held(&slots, (void *)skb, 0, &opts, sizeof(opts));
	return 0;
}

SEC("tc")
FAILS(CALL_REFUSED)
int tc_nf_mark(struct __sk_buff *skb)
{
	bpf_epf_nf_set_mark((void *)skb, 1, 1);
	return 0;
}

SEC("netfilter")
FAILS(CALL_REFUSED)
int netfilter_skb_held(void *ctx)
{
	struct epf_pkt_opts opts = {};

	bpf_epf_skb_insert_held(&slots, ctx, &opts, sizeof(opts));
	return 1;
}

SEC("netfilter")
FAILS(NOT_A_FILTER)
int netfilter_context_held(void *ctx)
{
	struct epf_pkt_opts opts = {};

	bpf_epf_nf_test_held(&slots, ctx, 0, &opts, sizeof(opts));
	return 1;
}

SEC("socket")
FAILS(CALL_REFUSED)
int socket_held(struct __sk_buff *skb)
{
	struct epf_pkt_opts opts = {};

	return bpf_epf_skb_test_held(&slots, skb, &opts, sizeof(opts));
}

SEC("cgroup/sock")
FAILS(CALL_REFUSED "|" NOT_A_FILTER)
int cgroup_sock_held(void *ctx)
{
	struct epf_pkt_opts opts = {};

	bpf_epf_skb_test_held(&slots, ctx, &opts, sizeof(opts));
	return 1;
}
