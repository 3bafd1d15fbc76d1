// SPDX-License-Identifier: GPL-2.0
/*
 * A flood of UDP packets whose source address and port differ from packet to packet.
 * flood.c runs it over live frames: each frame is rewritten here and redirected into
 * a veth, whose peer receives it as if it came from a wire.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flood.h"

#define ODD 0x9e3779b1u /* multiplying by it permutes numbers below any power of two */

struct flood_shared shared;

/* RFC 791, of a header whose checksum field is zero. */
static __always_inline __u16 checksum(const struct iphdr *ip)
{
	const __u16 *half = (const __u16 *)ip;
	__u32 sum = 0;
	int i;

#pragma unroll
	for (i = 0; i < 10; i++)
		sum += half[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (__u16)~sum;
}

SEC("xdp")
int flood(struct xdp_md *ctx)
{
	struct ethhdr *eth = (struct ethhdr *)(long)ctx->data;
	struct iphdr *ip = (struct iphdr *)(eth + 1);
	struct udphdr *udp = (struct udphdr *)(ip + 1);
	__u32 n = (__u32)shared.next, mixed = n * ODD;
	__u32 port = shared.source_port;

	if ((void *)(udp + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	shared.next++;
	ip->saddr = bpf_htonl(shared.source | ((shared.shuffle ? mixed : n) & shared.mask));
	ip->check = 0;
	ip->check = checksum(ip);
	udp->source = bpf_htons((__u16)(port ? port : 1024 + (mixed >> 17)));
	udp->dest = bpf_htons((__u16)(shared.port + (shared.ports ? n % shared.ports : 0)));
	return (int)bpf_redirect(shared.ifindex, 0);
}

/* The least that a packet costs: nobody looks at it. */
SEC("xdp")
int drop_all(struct xdp_md *ctx)
{
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
