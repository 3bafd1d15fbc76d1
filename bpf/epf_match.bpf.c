// SPDX-License-Identifier: GPL-2.0
/*
 * A rule for iptables' "-m bpf --object-pinned", of a filter that is pure BPF: what
 * the module's match epf is for the module's filters.
 *
 * The kernel runs it from the network header on, at LOCAL_OUT in process context, and
 * there with migration allowed (net/netfilter/xt_bpf.c). That does no harm: all is
 * within an RCU section, and words of a CPU are used by an address that is computed
 * once. Additions of two CPUs to the same plain counter may lose one, as those of
 * programs that interrupt one another do (epf/bpf.h).
 *
 * Socket filters read packets through a helper only: EPF_NO_PERFMON's way.
 */
#define EPF_TC
#include "epf_packet.bpf.h"
#include "epf_inline.bpf.h"

#include <epf/rule.h>

/* Set before it is loaded; without a time. */
const volatile struct xt_epf_rule rule = { 0 };

/* Of the rule's options @ask and @learn, which are constants here. */
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
	int ret = look(skb, asks, learn);
	struct xt_epf_rule r = rule;

	return epf_rule_holds(&r, ret);
}

/* One of these is loaded: so the verifier reads no operation that is not used. */
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

char _license[] SEC("license") = "GPL";
