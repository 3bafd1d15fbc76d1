// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Accept only answers: tc egress learns the flows that are sent, and ingress looks packets
 * up by the same key reversed. One source for four objects: XDP, or with EPF_TC both
 * programs of tc; the filter is pure BPF, or with EPF_MODULE the module's.
 *
 * Only packets that the rule matches are looked up. The filter's answer, or why it has
 * none, is an enum epf_outcome. The rule says what is done for each outcome: it is
 * data, so that one program serves every rule.
 *
 * With a cluster the answer may be to a packet that another host has sent.
 *
 * An answer to a packet that was sent inside the window is always found: the learning
 * program has inserted the key before the packet leaves, by atomic operations on memory
 * that all CPUs share. Nothing is taken out of a per-CPU place meanwhile, so a program that
 * interrupts another one finds all that it needs (lanes.h). A filter of the module is
 * passed as the map that holds it, from which nobody takes it.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>

#include "epf_packet.bpf.h"
#ifdef EPF_MODULE
#include "epf_all_held.bpf.h"
#else
#include "epf_all_inline.bpf.h"
#endif
#include "epf_rule.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_reflex_rule);
} epf_rule SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_counts);
} epf_counts SEC(".maps");

/* A plain packet is matched in place. */
static __always_inline int match_plain(struct epf_ctx *ctx, const struct epf_reflex_rule *rule,
				       const struct epf_pkt_opts *opts, bool sent)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;

	if (p + 38 > (const __u8 *)(long)ctx->data_end || opts->link != EPF_LINK_ETHER ||
	    !epf_is_plain(p, 38) || p[23] == 1)
		return NOT_PLAIN;
	return listed(rule, proto_of(p[23]), epf_be16(sent ? p + 36 : p + 34)) ? MATCHED :
										 NOT_MATCHED;
}

#ifdef EPF_MODULE
#ifdef EPF_TC
#define ask_filter bpf_epf_skb_test_held
#define learn_filter bpf_epf_skb_insert_held
#else
#define ask_filter bpf_epf_xdp_test_held
#endif

/* The module makes the key, from the same source and the same bytes. */
static __always_inline __u32 use(struct epf_ctx *ctx, const struct epf_reflex_rule *rule,
				 struct epf_pkt_opts *opts, enum epf_reflex_side side)
{
#ifdef EPF_TC
	if (side == EPF_REFLEX_LEARN) {
		return outcome_learnt(learn_filter(&epf_held, ctx, opts, sizeof(*opts)));
	}
#endif
	return outcome_asked(rule,
			     epf_held_cluster(ask_filter(&epf_held, ctx, opts, sizeof(*opts)),
					      ask_filter(&epf_all_held, ctx, opts, sizeof(*opts))));
}

/* The module makes the key and uses it on the same contents. */
static __always_inline __u32 look(struct epf_ctx *ctx, const struct epf_reflex_rule *rule,
				  enum epf_reflex_side side)
{
	bool sent = side == EPF_REFLEX_LEARN;
	struct epf_xdp_found found = { 0 };
	struct epf_xdp_ask ask = { 0 };
	int ret;

	ask.opts = epf_pkt_opts_read(&rule->opts[side]);
	ret = match_plain(ctx, rule, &ask.opts, sent);
	if (ret == NOT_PLAIN)
		ret = match(ctx, &ask, rule, &found, sent);
	return ret == MATCHED ? use(ctx, rule, &ask.opts, side) : outcome_of(ret);
}
#else
/* The key of a plain packet. Return: false: it is not a plain flow. */
static __always_inline bool digest_plain(struct epf_ctx *ctx, const struct epf_pkt_opts *opts,
					 const struct epf_hash *h, __u64 *digest)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	__u64 first, tail;

	if (p + 38 > (const __u8 *)(long)ctx->data_end ||
	    !epf_flow_plain_found(p, 38, opts, &first, &tail))
		return false;
	*digest = epf_digest_words(h, first, tail, 14);
	return true;
}

/* Insert the key, or look it up. Return: enum epf_outcome. */
static __always_inline __u32 use(const struct epf_reflex_rule *rule, __u64 digest, __u32 at,
				 enum epf_reflex_side side)
{
	int ret;

	if (side == EPF_REFLEX_LEARN)
		return outcome_learnt(epf_inline_insert(digest, at));
	ret = epf_inline_test(digest, at);
	return outcome_asked(rule, epf_inline_cluster(digest, at, ret));
}

/* The key is used only on the contents that it was made for, whatever is swapped meanwhile.
 */
static __always_inline __u32 look(struct epf_ctx *ctx, const struct epf_reflex_rule *rule,
				  enum epf_reflex_side side)
{
	bool sent = side == EPF_REFLEX_LEARN;
	struct epf_xdp_found found = { 0 };
	struct epf_xdp_ask ask = { 0 };
	struct epf_bpf_slot *slot;
	__u64 digest;
	__u32 at;
	int ret;

	ask.opts = epf_pkt_opts_read(&rule->opts[side]);
	ret = match_plain(ctx, rule, &ask.opts, sent);
	if (ret == NOT_MATCHED)
		return EPF_OUT_OTHER;
	at = epf_inline_slot(&slot);
	if (ret == MATCHED && at < EPF_BPF_SLOTS &&
	    digest_plain(ctx, &ask.opts, &slot->hash, &digest))
		return use(rule, digest, at, side);
	ret = match(ctx, &ask, rule, &found, sent);
	if (ret != MATCHED)
		return outcome_of(ret);
	if (at >= EPF_BPF_SLOTS)
		return EPF_OUT_NO_FILTER;
	ret = epf_xdp_make(&ask, &slot->hash, &found);
	return ret ? outcome_of(ret) : use(rule, ask.digest, at, side);
}

#endif

/* Look the packet up, and count. Return: what to do; NULL: pass. */
static __always_inline const struct epf_reflex_act *judge(struct epf_ctx *ctx,
							  enum epf_reflex_side side)
{
	__u32 zero = 0, outcome;
	const struct epf_reflex_rule *rule = bpf_map_lookup_elem(&epf_rule, &zero);
	struct epf_counts *counts = bpf_map_lookup_elem(&epf_counts, &zero);

	if (!rule || !counts)
		return NULL;
	outcome = epf_forget(look(ctx, rule, side));
	barrier_var(outcome); /* compare and index must use one register */
	if (outcome >= EPF_OUTCOMES)
		return NULL;
	counts->by[side][outcome].packets++;
	counts->by[side][outcome].bytes += epf_ctx_len(ctx);
	return &rule->act[outcome];
}

#ifdef EPF_TC
/* The packet is passed, whatever happens to its key. */
SEC("tc")
int reflex_learn(struct __sk_buff *skb)
{
	judge(skb, EPF_REFLEX_LEARN);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int reflex_ask(struct __sk_buff *skb)
{
	const struct epf_reflex_act *act = judge(skb, EPF_REFLEX_ASK);

	if (act && act->verdict == EPF_REFLEX_DROP)
		return TC_ACT_SHOT;
	if (act && act->verdict == EPF_REFLEX_MARK)
		skb->mark = (skb->mark & ~act->mask) | act->value;
	return TC_ACT_UNSPEC;
}
#else
SEC("xdp")
int reflex_ask(struct xdp_md *ctx)
{
	const struct epf_reflex_act *act = judge(ctx, EPF_REFLEX_ASK);

	return act && act->verdict == EPF_REFLEX_DROP ? XDP_DROP : XDP_PASS;
}
#endif

char _license[] SEC("license") = "Dual BSD/GPL";
