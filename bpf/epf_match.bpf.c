// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A rule for iptables' "-m bpf --object-pinned" with a pure BPF filter: what the module's
 * match epf does for the module's filters.
 *
 * The kernel runs it from the network header on, at LOCAL_OUT in process context and with
 * migration allowed (net/netfilter/xt_bpf.c). That is harmless: everything is within an RCU
 * section, and the address of a CPU's words is computed only once. If two CPUs add to the
 * same plain counter, one addition may be lost, as with programs that interrupt one another
 * (epf/bpf.h).
 *
 * Socket filters read packets only through a helper, as with EPF_NO_PERFMON.
 */
#define EPF_TC
#include "epf_packet.bpf.h"
#include "epf_inline.bpf.h"

#include <epf/match.h>
#include <epf/rule.h>

/* Set before the program is loaded; without a time. */
const volatile struct xt_epf_rule rule = { 0 };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_counts);
} epf_counts SEC(".maps");

static __always_inline void count(__u32 outcome, __u32 bytes)
{
	__u32 zero = 0;
	struct epf_counts *counts = bpf_map_lookup_elem(&epf_counts, &zero);

	barrier_var(outcome); /* compare and index must use one register */
	if (!counts || outcome >= EPF_OUTCOMES)
		return;
	__sync_fetch_and_add(&counts->by[0][outcome].packets, 1);
	__sync_fetch_and_add(&counts->by[0][outcome].bytes, bytes);
}

/* @ask and @learn are those of the rule, as constants. */
static __always_inline int look(struct __sk_buff *skb, bool asks, __u8 learn)
{
	struct xt_epf_rule r = rule;
	struct epf_xdp_ask ask = { .opts = r.key };
	struct epf_bpf_slot *slot;
	__u32 at = epf_inline_slot(&slot);
	int ret;

	if (at == EPF_BPF_SLOTS)
		return -ENODEV;
	ret = epf_xdp_flow(skb, &ask, &slot->hash);
	if (ret)
		return ret;
	if (!asks)
		return epf_inline_insert(ask.digest, at);
	if (learn == XT_EPF_LEARN)
		ret = epf_inline_test_and_insert(ask.digest, at);
	else
		ret = epf_inline_test(ask.digest, at);
	ret = epf_rule_recent(&r, ret, 0);
	if (ret <= 0 && learn == XT_EPF_LEARN_NEW)
		epf_inline_insert(ask.digest, at);
	return ret;
}

static __always_inline int match(struct __sk_buff *skb, bool asks, __u8 learn)
{
	__u32 outcome = epf_forget(epf_rule_outcome(asks, look(skb, asks, learn)));
	struct xt_epf_rule r = rule;

	count(outcome, skb->len);
	return epf_rule_holds(&r, outcome);
}

/* Only one of these is loaded, so the verifier reads no operation that is not used. */
SEC("?socket")
int epf_match(struct __sk_buff *skb)
{
	return match(skb, true, XT_EPF_LEARN_NOTHING);
}

SEC("?socket")
int epf_match_learn(struct __sk_buff *skb)
{
	return match(skb, false, XT_EPF_LEARN);
}

SEC("?socket")
int epf_match_both(struct __sk_buff *skb)
{
	return match(skb, true, XT_EPF_LEARN);
}

SEC("?socket")
int epf_match_new(struct __sk_buff *skb)
{
	return match(skb, true, XT_EPF_LEARN_NEW);
}

char _license[] SEC("license") = "Dual BSD/GPL";
