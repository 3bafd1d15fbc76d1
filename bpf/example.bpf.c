/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of each sender, one packet in the window. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <epf.bpf.h>

SEC("xdp")
int one_each(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	/* 0: absent; positive: present; negative: do not know */
	return epf_key_test_and_insert(&ip->saddr, 4) > 0 ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
