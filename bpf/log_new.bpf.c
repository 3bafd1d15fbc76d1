// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Log once: for each flow, or peer, write a record of its first packet in the window to a
 * ring that one process reads. Every packet is passed.
 *
 * A new packet has a record, or it is counted because no token was left or the ring had no
 * room. Its key is inserted in any case, so one or the other happens once in a window. With
 * a cluster one of its hosts writes the record; while data of a host are missing, both may.
 */
#include "ingress.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EPF_INGRESS_RING_BYTES);
} epf_ring SEC(".maps");

static __always_inline void fill(struct epf_ingress_record *r, const struct epf_xdp_found *found,
				 __u32 bytes)
{
	const struct epf_flow *f = &found->flow;

	*r = (struct epf_ingress_record){
		.time_ns = bpf_ktime_get_ns(),
		.src = { f->src[0], f->src[1] },
		.dst = { f->dst[0], f->dst[1] },
		.vids = found->l3.vids,
		.bytes = bytes,
		.id = { f->four, f->four >> 8, f->four >> 16, f->four >> 24 },
		.version = f->six ? 6 : 4,
		.proto = f->proto,
		.fragment = f->fragment,
	};
}

/* The first packet of a flow; fields that cannot be read are 0. A function of its own, to
 * save stack. Return: 0; 1: there is no room for a record.
 */
EPF_FN_APART int log_packet(struct epf_ctx *ctx)
{
	struct epf_xdp_ask ask = { .opts.key = EPF_PKT_FLOW };
	struct epf_xdp_found found = { 0 };
	struct epf_ingress_record *r;

	if (!epf_xdp_l3(ctx, &ask, &found))
		epf_xdp_find(ctx, &ask, &found);
	r = bpf_ringbuf_reserve(&epf_ring, sizeof(*r), 0);
	if (!r)
		return 1;
	fill(r, &found, epf_ctx_len(ctx));
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("xdp")
int xdp_log_new(struct xdp_md *ctx)
{
	struct ingress in;
	__u32 outcome;
	int ret;

	if (!ingress_maps(&in))
		return XDP_PASS;
	ret = ingress_learn(ctx, in.rule);
	if (ret)
		outcome = ret > 0 ? EPF_OUT_RECENT : epf_outcome_of(ret);
	else
		outcome = EPF_OUT_ABSENT;
	if (!ret || ret == -EHOSTUNREACH) {
		if (!ingress_token(&in))
			outcome = EPF_OUT_LEFT_OUT;
		else
			in.counts->effect[EPF_EFFECT_RING_FULL] += log_packet(ctx);
	}
	ingress_count(ctx, &in, false, outcome);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
