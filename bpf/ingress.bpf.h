/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common code of the XDP programs that judge incoming packets by a rule of their own: maps,
 * the key of a packet, counters. The filter is pure BPF, or with EPF_MODULE the module's.
 */
#ifndef INGRESS_BPF_H
#define INGRESS_BPF_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include "epf_packet.bpf.h"
#ifdef EPF_MODULE
#include "epf_all_held.bpf.h"
#else
#include "epf_all_inline.bpf.h"
#endif
#include <epf/ingress.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_ingress_rule);
} epf_rule SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_ingress_shared);
} epf_shared SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_counts);
} epf_counts SEC(".maps");

/* Working data of the programs; none is NULL. */
struct ingress {
	const struct epf_ingress_rule *rule;
	struct epf_ingress_shared *shared;
	struct epf_counts *counts;
};

static __always_inline bool ingress_maps(struct ingress *in)
{
	__u32 zero = 0;

	in->rule = bpf_map_lookup_elem(&epf_rule, &zero);
	in->shared = bpf_map_lookup_elem(&epf_shared, &zero);
	in->counts = bpf_map_lookup_elem(&epf_counts, &zero);
	return in->rule && in->shared && in->counts;
}

#ifdef EPF_MODULE
/* The module makes the key again in each call, from the contents that it uses. */
struct ingress_packet {
	int verdict;
};

/* Return: 0, or an error of the packet or of a filter that was destroyed. */
static __always_inline int ingress_find(struct epf_ctx *ctx, const struct epf_ingress_rule *rule,
					struct ingress_packet *p)
{
	struct epf_pkt_opts opts = epf_pkt_opts_read(&rule->opts);
	int ret = bpf_epf_xdp_test_held(&epf_held, ctx, &opts, sizeof(opts));

	p->verdict = ret;
	return ret < 0 && ret != -ENOSPC ? ret : 0;
}

static __always_inline int ingress_test(const struct ingress_packet *p)
{
	return p->verdict;
}

/* Return: the verdict before, or an error. This and the next two are for the packet that
 * ingress_find() has found.
 */
static __always_inline int ingress_insert(struct epf_ctx *ctx, const struct epf_ingress_rule *rule,
					  const struct ingress_packet *p)
{
	struct epf_pkt_opts opts = epf_pkt_opts_read(&rule->opts);

	return bpf_epf_xdp_test_and_insert_held(&epf_held, ctx, &opts, sizeof(opts));
}

/* The verdict of the cluster; @verdict: that of the local filter. */
static __always_inline int ingress_cluster(struct epf_ctx *ctx, const struct epf_ingress_rule *rule,
					   const struct ingress_packet *p, int verdict)
{
	struct epf_pkt_opts opts = epf_pkt_opts_read(&rule->opts);

	return epf_held_cluster(verdict,
				bpf_epf_xdp_test_held(&epf_all_held, ctx, &opts, sizeof(opts)));
}

/* Return: the verdict of the cluster before, or an error. */
static __always_inline int ingress_learn(struct epf_ctx *ctx, const struct epf_ingress_rule *rule)
{
	return ingress_cluster(ctx, rule, NULL, ingress_insert(ctx, rule, NULL));
}
#else
/* epf_xdp_digest() for keys derived from flows only. Without the keys of whole packets the
 * verifier reads a third as much.
 */
static __always_inline int ingress_key(struct epf_ctx *ctx, const struct epf_hash *h,
				       const struct epf_pkt_opts *opts, __u64 *digest)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	struct epf_xdp_ask ask = { .opts = epf_pkt_opts_read(opts) };
	__u64 first, tail;
	int err;

	if (p + 38 <= (const __u8 *)(long)ctx->data_end &&
	    epf_flow_plain(p, 38, &ask.opts, &first, &tail)) {
		*digest = epf_digest_words(h, first, tail, 14);
		return 0;
	}
	if (ask.opts.key < EPF_PKT_FLOW || ask.opts.flags & EPF_PKT_MARK)
		return -EINVAL;
	err = epf_xdp_control(ctx, &ask);
	if (!err)
		err = epf_xdp_flow(ctx, &ask, h);
	*digest = ask.digest;
	return err;
}

/* The key of a packet, and the contents @at that it belongs to. */
struct ingress_packet {
	__u64 digest;
	__u32 at;
};

/* Without a filter, any hash can identify the packets that have no key. Return: 0, or an
 * error as above.
 */
static __always_inline int ingress_find(struct epf_ctx *ctx, const struct epf_ingress_rule *rule,
					struct ingress_packet *p)
{
	__u32 zero = 0;
	struct epf_bpf_filter *table = bpf_map_lookup_elem(&epf_table, &zero);
	struct epf_bpf_slot *slot;
	int err;

	if (!table)
		return -ENODEV;
	p->at = epf_inline_slot(&slot);
	if (p->at >= EPF_BPF_SLOTS)
		slot = &table->slot[0];
	err = ingress_key(ctx, &slot->hash, &rule->opts, &p->digest);
	return err || p->at < EPF_BPF_SLOTS ? err : -ENODEV;
}

static __always_inline int ingress_test(const struct ingress_packet *p)
{
	return epf_inline_any(epf_inline_test(p->digest, p->at));
}

/* Return: the verdict before, or an error. This and the next one are for the packet that
 * ingress_find() has found.
 */
static __always_inline int ingress_insert(struct epf_ctx *ctx, const struct epf_ingress_rule *rule,
					  const struct ingress_packet *p)
{
	return epf_inline_test_and_insert(p->digest, p->at);
}

/* The verdict of the cluster; @verdict: that of the local filter. */
static __always_inline int ingress_cluster(struct epf_ctx *ctx, const struct epf_ingress_rule *rule,
					   const struct ingress_packet *p, int verdict)
{
	return epf_inline_cluster(p->digest, p->at, verdict);
}

/* Return: the verdict of the cluster before, or an error. */
static __always_inline int ingress_learn(struct epf_ctx *ctx, const struct epf_ingress_rule *rule)
{
	struct ingress_packet p;
	int err = ingress_find(ctx, rule, &p);

	return err ? err : ingress_cluster(ctx, rule, &p, ingress_insert(ctx, rule, &p));
}
#endif

/* Take a token for a new flow. */
static __always_inline bool ingress_token(const struct ingress *in)
{
	const struct epf_bucket *fresh = &in->rule->fresh;
	__u64 now = epf_bucket_now(fresh, bpf_ktime_get_coarse_ns());

	return epf_bucket_take(fresh, &in->shared->tokens, now);
}

static __always_inline void ingress_count(struct epf_ctx *ctx, struct ingress *in, bool above,
					  __u32 outcome)
{
	struct epf_count *count;

	barrier_var(outcome); /* compare and index must use one register */
	if (outcome >= EPF_OUTCOMES)
		return;
	count = &in->counts->by[above][outcome];
	count->packets++;
	count->bytes += epf_ctx_len(ctx);
}

#endif /* INGRESS_BPF_H */
