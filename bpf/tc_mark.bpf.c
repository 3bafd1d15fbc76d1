// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tc ingress: the data that xdp_dedup wrote before the packet becomes its mark, which
 * nftables, tc and routing rules can match.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include <epf/xdp.h>

/* The mark of a repeat of age 0; older ones count up from it, within the mask. */
const volatile struct epf_xdp_marks marks = { 0, 0 };

SEC("tc")
int tc_mark(struct __sk_buff *skb)
{
	struct epf_xdp_meta *meta = (void *)(long)skb->data_meta;

	if ((void *)(meta + 1) > (void *)(long)skb->data)
		return TC_ACT_UNSPEC;
	if (meta->magic == EPF_XDP_META_MAGIC)
		skb->mark = (skb->mark & ~marks.mask) | ((marks.first + meta->age) & marks.mask);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
