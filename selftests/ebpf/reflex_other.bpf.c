// SPDX-License-Identifier: GPL-2.0
/* Another user's program at a tc hook: it sets a mark and passes the packet on. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int other_marks(struct __sk_buff *skb)
{
	skb->mark = 0x82000007;
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
