// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A netfilter hook: packets are looked up in a filter, or learnt, or both, as the rule
 * says. The rule is data, so that one program serves every hook. The filter is pure BPF, or
 * with EPF_MODULE the module's.
 *
 * A packet is learnt before the hook has passed it, by atomic operations on memory that all
 * CPUs share; nothing is taken out of a per-CPU place. So a softirq that interrupts an
 * insertion in process context does not make it get lost, and the answer to a packet that
 * was passed finds the key.
 *
 * The kernel takes NF_DROP or NF_ACCEPT from such a program and lets it write nothing. With
 * a filter of the module, the module sets marks.
 */
#define EPF_NF
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/netfilter.h>
#include <stdbool.h>

#include "epf_packet.bpf.h"
#ifdef EPF_MODULE
#include "epf_all_held.bpf.h"
#else
#include "epf_all_inline.bpf.h"
#endif
#include "epf_rule.bpf.h"
#include <epf/nf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_nf_rule);
} nf_rule SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_counts);
} epf_counts SEC(".maps");

/* An IPv4 header without options and the four bytes after it, as little-endian words. */
struct plain {
	__u64 word[3];
};

static __always_inline __u32 plain_proto(const struct plain *p)
{
	return p->word[1] >> 8 & 0xff;
}

/* Is the packet epf_is_plain(), with a protocol that has ports? */
static __always_inline bool read_plain(struct epf_ctx *ctx, struct plain *p)
{
	if (epf_load_bytes(ctx, 0, p, sizeof(*p)))
		return false;
	return (p->word[0] & 0xff) == 0x45 && !(p->word[0] >> 48 & 0xff3f) &&
	       (p->word[0] >> 8 & 0xff00) + (p->word[0] >> 24 & 0xff) >= 24 &&
	       epf_has_ports(plain_proto(p));
}

static __always_inline int match_plain(const struct plain *p, const struct epf_nf_rule *rule)
{
	__u32 port = p->word[2] >> (rule->dport ? 48 : 32);

	if (rule->all)
		return MATCHED;
	port = (port & 0xff) << 8 | (port >> 8 & 0xff);
	return listed(&rule->of, proto_of(plain_proto(p)), port) ? MATCHED : NOT_MATCHED;
}

/* If the rule matches all packets, this matches those that have the key. */
static __always_inline int find_all(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
				    struct epf_xdp_found *found)
{
	int err = epf_xdp_l3(ctx, ask, found);

	if (!err)
		err = epf_xdp_find(ctx, ask, found);
	if (err > 0) /* an ICMP error */
		err = epf_xdp_find(ctx, ask, found);
	return unless_control(ctx, ask, err ? err : MATCHED);
}

/* What the filter says, and how long ago that was. Return: enum epf_outcome. */
static __always_inline __u32 answer(const struct epf_nf_rule *rule, int ret)
{
	if (ret > 0 && !(rule->op & EPF_NF_ASK))
		return EPF_OUT_KNOWN;
	return outcome_asked(&rule->of, ret);
}

#ifdef EPF_MODULE
/* The data from which the module makes the key. */
struct key {
	struct epf_pkt_opts opts;
	__u32 iface;
};

#define test_in(map) bpf_epf_nf_test_held(map, ctx->skb, key->iface, &key->opts, sizeof(key->opts))

static __always_inline int test(struct epf_ctx *ctx, struct key *key)
{
	return epf_held_cluster(test_in(&epf_held), test_in(&epf_all_held));
}

static __always_inline int insert(struct epf_ctx *ctx, struct key *key)
{
	return bpf_epf_nf_insert_held(&epf_held, ctx->skb, key->iface, &key->opts,
				      sizeof(key->opts));
}
#else
/* A key, and the contents that it belongs to. */
struct key {
	__u64 digest;
	__u32 at;
};

static __always_inline int test(struct epf_ctx *ctx, struct key *key)
{
	int ret = epf_inline_test(key->digest, key->at);

	return epf_inline_cluster(key->digest, key->at, ret);
}

static __always_inline int insert(struct epf_ctx *ctx, struct key *key)
{
	return epf_inline_insert(key->digest, key->at);
}
#endif

static __always_inline __u32 learn(struct epf_ctx *ctx, struct key *key)
{
	return outcome_learnt(insert(ctx, key));
}

/* Look the key up, then insert it: the result is the one from before. If a key cannot be
 * inserted, or is only learnt, the result says so.
 */
static __always_inline __u32 use(struct epf_ctx *ctx, const struct epf_nf_rule *rule,
				 struct key *key)
{
	__u32 op = rule->op, told, learnt;
	int ret;

	if (op == EPF_NF_LEARN)
		return learn(ctx, key);
	ret = test(ctx, key);
	told = answer(rule, ret);
	if (op == EPF_NF_ASK || ((op & EPF_NF_IF_NEW) && ret > 0))
		return told;
	learnt = learn(ctx, key);
	return learnt == EPF_OUT_LEARNT && (op & EPF_NF_ASK) ? told : learnt;
}

/* Any packet. Return: is it matched, or an error? */
static __always_inline int find(struct epf_ctx *ctx, const struct epf_nf_rule *rule,
				struct epf_xdp_ask *ask, struct epf_xdp_found *found)
{
	return rule->all ? find_all(ctx, ask, found) :
			   match(ctx, ask, &rule->of, found, rule->dport);
}

#ifdef EPF_MODULE
/* The module makes the key, from the same source, and uses it on the same contents. */
static __always_inline __u32 look(struct epf_ctx *ctx, const struct epf_nf_rule *rule)
{
	struct epf_xdp_found found = { 0 };
	struct epf_xdp_ask ask = { 0 };
	struct plain plain;
	struct key key;
	int ret;

	ask.opts = epf_pkt_opts_read(&rule->of.opts[0]);
	ret = read_plain(ctx, &plain) ? match_plain(&plain, rule) : find(ctx, rule, &ask, &found);
	if (ret != MATCHED)
		return outcome_of(ret);
	key.opts = ask.opts;
	key.iface = epf_ctx_iface(ctx);
	return use(ctx, rule, &key);
}
#else
static __always_inline bool plain_control(const struct plain *p)
{
	const __u8 *bytes = (const __u8 *)p->word;

	return epf_is_local_group4(bytes + 16) ||
	       (plain_proto(p) == 17 && epf_control_udp(bytes + 20, 67));
}

/* The key of a plain packet. Return: false: the options call for another one, or for none
 * as it is a control packet.
 */
static __always_inline bool digest_plain(const struct plain *p, const struct epf_pkt_opts *opts,
					 const struct epf_hash *h, __u64 *digest)
{
	__u64 addrs = p->word[1] >> 32 | p->word[2] << 32;
	__u64 first;

	if (opts->key != EPF_PKT_FLOW || opts->flags & EPF_PKT_SCOPES ||
	    (opts->flags & EPF_PKT_PASS_CONTROL && plain_control(p)))
		return false;
	first = 4 | plain_proto(p) << 8 | p->word[2] >> 32 << 16 | addrs << 48;
	addrs >>= 16;
	if (opts->flags & EPF_PKT_REVERSE)
		epf_flow_plain_reverse(&first, &addrs);
	*digest = epf_digest_words(h, first, addrs, 14);
	return true;
}

static __always_inline __u32 look_long(struct epf_ctx *ctx, const struct epf_nf_rule *rule,
				       struct epf_xdp_ask *ask, struct epf_bpf_slot *slot,
				       struct key *key)
{
	struct epf_xdp_found found = { 0 };
	int ret = find(ctx, rule, ask, &found);

	if (ret != MATCHED)
		return outcome_of(ret);
	if (key->at >= EPF_BPF_SLOTS)
		return EPF_OUT_NO_FILTER;
	found.scope.iface = epf_ctx_iface(ctx);
	found.scope.mark = ctx->skb->mark;
	ret = epf_xdp_make(ask, &slot->hash, &found);
	key->digest = ask->digest;
	return ret ? outcome_of(ret) : use(ctx, rule, key);
}

/* The key is used only on the contents that it was made for, whatever is swapped meanwhile.
 */
static __always_inline __u32 look(struct epf_ctx *ctx, const struct epf_nf_rule *rule)
{
	struct epf_xdp_ask ask = { 0 };
	struct epf_bpf_slot *slot;
	struct plain plain;
	struct key key;
	bool is_plain;

	ask.opts = epf_pkt_opts_read(&rule->of.opts[0]);
	key.at = epf_inline_slot(&slot);
	is_plain = read_plain(ctx, &plain);
	if (is_plain && match_plain(&plain, rule) == NOT_MATCHED)
		return EPF_OUT_OTHER;
	if (is_plain && key.at < EPF_BPF_SLOTS &&
	    digest_plain(&plain, &ask.opts, &slot->hash, &key.digest))
		return use(ctx, rule, &key);
	return look_long(ctx, rule, &ask, slot, &key);
}
#endif

static __always_inline void count(struct epf_counts *counts, __u32 outcome, __u32 bytes)
{
	__sync_fetch_and_add(&counts->by[0][outcome].packets, 1);
	__sync_fetch_and_add(&counts->by[0][outcome].bytes, bytes);
}

static __always_inline int done(struct epf_ctx *ctx, const struct epf_reflex_act *act)
{
#ifdef EPF_MODULE
	if (act->verdict == EPF_REFLEX_MARK)
		bpf_epf_nf_set_mark(ctx->skb, act->value, act->mask);
#endif
	return act->verdict == EPF_REFLEX_DROP ? NF_DROP : NF_ACCEPT;
}

static __always_inline __u64 differs(const struct net_device *dev, const struct epf_nf_iface *want,
				     __u32 word)
{
	__u64 name = *(const __u64 *)&dev->name[8 * word];

	return (name ^ want->name[word]) & want->mask[word];
}

static __always_inline bool through(const struct net_device *dev, const struct epf_nf_iface *want)
{
	if (!want->mask[0])
		return true;
	return dev && !differs(dev, want, 0) && !differs(dev, want, 1);
}

SEC("netfilter")
int nf_look(struct bpf_nf_ctx *ctx)
{
	__u32 zero = 0, outcome;
	const struct epf_nf_rule *rule = bpf_map_lookup_elem(&nf_rule, &zero);
	struct epf_counts *counts = bpf_map_lookup_elem(&epf_counts, &zero);

	if (!rule || !counts)
		return NF_ACCEPT;
	outcome = through(ctx->state->in, &rule->in) && through(ctx->state->out, &rule->out) ?
			  look(ctx, rule) :
			  EPF_OUT_OTHER;
	barrier_var(outcome); /* compare and index must use one register */
	if (outcome >= EPF_OUTCOMES)
		return NF_ACCEPT;
	count(counts, outcome, epf_ctx_len(ctx));
	return done(ctx, &rule->of.act[outcome]);
}

char _license[] SEC("license") = "Dual BSD/GPL";
