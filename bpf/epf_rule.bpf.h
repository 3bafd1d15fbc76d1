/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common code of programs that look packets up by a rule, at any hook: whether the rule
 * matches a packet, and the outcome it is counted under. Include it after epf_packet.bpf.h.
 */
#ifndef EPF_RULE_BPF_H
#define EPF_RULE_BPF_H

#include <epf/reflex.h>

/* How a packet relates to the rule, if there is no error. */
enum match {
	MATCHED,
	NOT_MATCHED,
	NOT_PLAIN, /* cannot be decided in place */
};

/* enum epf_reflex_proto; EPF_REFLEX_PROTOS for a protocol without ports. */
static __always_inline __u32 proto_of(__u32 proto)
{
	if (proto == 17)
		return EPF_REFLEX_UDP;
	if (proto == 6)
		return EPF_REFLEX_TCP;
	return epf_has_ports(proto) ? EPF_REFLEX_PORTS : EPF_REFLEX_PROTOS;
}

static __always_inline bool listed(const struct epf_reflex_rule *rule, __u32 proto, __u32 port)
{
	const __u32 *words = &rule->port[0][0];
	__u32 at = epf_opaque(proto * EPF_REFLEX_WORDS + port / 32);

	/* One comparison, of the sum: the verifier of Linux 6.1 loses the bounds of its
	 * parts. Protocols without ports are beyond the bound.
	 */
	return at < EPF_REFLEX_PROTOS * EPF_REFLEX_WORDS && words[at] >> port % 32 & 1;
}

/* Does the rule match the flow that was found? @err: from epf_flow_find(); @sent: the
 * packet goes out, or an ICMP error brings it back. If the protocol is unknown, a packet,
 * and the packet in an ICMP error, counts as one that may match.
 */
static __always_inline int match_found(const struct epf_reflex_rule *rule,
				       const struct epf_xdp_found *found, bool sent, int err)
{
	__u32 proto = epf_forget(proto_of(found->flow.proto)), port;

	if (err == -EPROTO)
		return NOT_MATCHED;
	if (err && !found->flow.proto)
		return err;
	if (proto >= EPF_REFLEX_PROTOS || !rule->any[proto])
		return NOT_MATCHED;
	if (err) /* -ENOMSG: not the first fragment, of a protocol that the rule matches */
		return err;
	port = sent ? found->flow.four >> 16 : found->flow.four;
	return listed(rule, proto, (port & 0xff) << 8 | (port >> 8 & 0xff)) ? MATCHED : NOT_MATCHED;
}

/* @ret, or the kind of a control packet, if the options ask for it. */
static __always_inline int unless_control(struct epf_ctx *ctx, struct epf_xdp_ask *ask, int ret)
{
	int control = ret == NOT_MATCHED ? 0 : epf_xdp_control(ctx, ask);

	return control <= -EPF_CONTROL ? control : ret;
}

/* Find the flow of a packet. Ports are always looked for, whatever the key is; of fragments
 * only the first has them.
 */
static __always_inline int match(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
				 const struct epf_reflex_rule *rule, struct epf_xdp_found *found,
				 bool sent)
{
	__u16 flags = ask->opts.flags;
	__u8 key = ask->opts.key;
	int err;

	ask->opts.key = EPF_PKT_FLOW;
	ask->opts.flags |= EPF_PKT_FIRST;
	err = epf_xdp_l3(ctx, ask, found);
	if (!err)
		err = epf_xdp_find(ctx, ask, found);
	if (err > 0) { /* an ICMP error */
		found->flow.proto = 0;
		err = epf_xdp_find(ctx, ask, found);
	}
	ask->opts.key = found->flow.key = key;
	ask->opts.flags = flags;
	return unless_control(ctx, ask, match_found(rule, found, sent || found->l3.carried, err));
}

/* @ret: neither a digest nor an answer. Return: enum epf_outcome. */
static __always_inline __u32 outcome_of(int ret)
{
	return ret == NOT_MATCHED ? EPF_OUT_OTHER : epf_outcome_of(ret);
}

/* @ret: of an insertion. */
static __always_inline __u32 outcome_learnt(int ret)
{
	return ret ? epf_outcome_of(ret) : EPF_OUT_LEARNT;
}

/* @ret: of the filter: absent, or 1 + the age in epochs, or an error. */
static __always_inline __u32 outcome_asked(const struct epf_reflex_rule *rule, int ret)
{
	if (ret <= 0)
		return ret ? epf_outcome_of(ret) : EPF_OUT_ABSENT;
	return rule->within && (__u32)ret > rule->within ? EPF_OUT_OLDER : EPF_OUT_RECENT;
}

#endif /* EPF_RULE_BPF_H */
