// SPDX-License-Identifier: GPL-2.0
/* For cluster.c: a user's own programs that ask a cluster, by key and by packet. */
#include <linux/bpf.h>

#include "own_cluster.h"

#define EPF_CLUSTER
#include <epf.bpf.h>

struct own_cluster own;

SEC("xdp")
int own_cluster_key(struct xdp_md *ctx)
{
	__u32 bytes = own.key;

	own.verdict = own.inserts ? epf_key_test_and_insert_cluster(&bytes, sizeof(bytes)) :
				    epf_key_test_cluster(&bytes, sizeof(bytes));
	return XDP_PASS;
}

SEC("xdp")
int own_cluster_packet(struct xdp_md *ctx)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_FLOW };

	own.verdict = own.inserts ? epf_packet_test_and_insert_cluster(ctx, &opts) :
				    epf_packet_test_cluster(ctx, &opts);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
