/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Definitions that the programs of bpf/reflex.bpf.c share with the tool that attaches them.
 * No functions.
 *
 * An interface has one rule map and one map of counts, pinned where epf/xdp.h says. The
 * learning program at tc egress and the asking program in XDP or at tc ingress use the same
 * two maps and the same filter. The tool writes the rule before it attaches a program, and
 * never later.
 */
#ifndef EPF_REFLEX_H
#define EPF_REFLEX_H

#include "xdp.h"

#define EPF_REFLEX_PIN_RULE "rule"
#define EPF_REFLEX_PIN_LEARN "learn" /* link of the learning program, if it has one */
#define EPF_REFLEX_PIN_ASK "ask"     /* link of the asking program at tc ingress, if it has one */

/* Which program; a side of struct epf_counts, and an index of @opts. */
enum epf_reflex_side {
	EPF_REFLEX_ASK,   /* ingress */
	EPF_REFLEX_LEARN, /* egress */
	EPF_REFLEX_SIDES
};

enum epf_reflex_verdict {
	EPF_REFLEX_PASS,
	EPF_REFLEX_DROP,
	EPF_REFLEX_MARK, /* tc: passed with a mark */
};

/**
 * struct epf_reflex_act - what is done with a packet
 * @verdict: enum epf_reflex_verdict
 * @value: EPF_REFLEX_MARK: bits of the mark; within @mask
 * @mask: the bits that are written; the others do not change
 */
struct epf_reflex_act {
	__u32 verdict;
	__u32 value;
	__u32 mask;
};

/* Protocols that a rule distinguishes. */
enum epf_reflex_proto {
	EPF_REFLEX_UDP,
	EPF_REFLEX_TCP,
	EPF_REFLEX_PORTS, /* other protocols with ports: DCCP, SCTP, UDP-Lite */
	EPF_REFLEX_PROTOS
};

#define EPF_REFLEX_WORDS (65536 / 32)

/**
 * struct epf_reflex_rule - the one value of the rule map
 * @opts: packet keys, by enum epf_reflex_side: one is the reverse of the other
 * @act: what is done at ingress, by enum epf_outcome; EPF_OUT_OLDER has the same as
 *	EPF_OUT_ABSENT
 * @any: by enum epf_reflex_proto: does @port have any port of it?
 * @port: by enum epf_reflex_proto: the remote ports that are matched, a bit each: source
 *	ports of incoming packets, destination ports of outgoing ones
 * @within: a key is recent in so many epochs, the current one included; 0: in the whole
 *	window
 * @within_ns: the duration from which @within was computed; 0: it was given in epochs. Only
 *	for displaying the rule
 */
struct epf_reflex_rule {
	struct epf_pkt_opts opts[EPF_REFLEX_SIDES];
	struct epf_reflex_act act[EPF_OUTCOMES];
	__u32 any[EPF_REFLEX_PROTOS];
	__u32 port[EPF_REFLEX_PROTOS][EPF_REFLEX_WORDS];
	__u32 within;
	__u64 within_ns;
};

#endif /* EPF_REFLEX_H */
