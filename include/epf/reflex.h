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
#define EPF_REFLEX_PIN_COUNTS "counts"
#define EPF_REFLEX_PIN_LEARN "learn" /* link of the learning program, if it has one */
#define EPF_REFLEX_PIN_ASK "ask"     /* link of the asking program at tc ingress, if it has one */

/* Which program; an index of struct epf_reflex_counts and of @opts. */
enum epf_reflex_side {
	EPF_REFLEX_ASK,   /* ingress */
	EPF_REFLEX_LEARN, /* egress */
	EPF_REFLEX_SIDES
};

/* The result for a packet; each packet is counted once, on its side. */
enum epf_reflex_reason {
	EPF_REFLEX_RECENT,    /* ask: it answers a packet that was learnt in the window */
	EPF_REFLEX_ABSENT,    /* ask: it answers no such packet */
	EPF_REFLEX_OLDER,     /* ask: it answers one from longer ago than @within */
	EPF_REFLEX_LEARNT,    /* learn */
	EPF_REFLEX_OTHER,     /* the rule does not match it */
	EPF_REFLEX_CONTROL,   /* passed because of its kind, enum epf_control */
	EPF_REFLEX_FRAGMENT,  /* of a protocol that the rule matches; has no ports */
	EPF_REFLEX_TRUNCATED, /* ends before the bytes that the key needs */
	EPF_REFLEX_MALFORMED, /* a header contradicts itself */
	EPF_REFLEX_SATURATED, /* found, but the error may be above the filter's limit */
	EPF_REFLEX_OVERDUE,   /* found, but nobody ends the filter's epochs */
	EPF_REFLEX_NO_FILTER, /* destroyed by force */
	EPF_REFLEX_ERROR,     /* any other error */
	EPF_REFLEX_UNCOVERED, /* absent here, and data of a host of the cluster are missing */
	EPF_REFLEX_REASONS
};

/* What the filter does not know: this reason and all later ones. What the packet hides
 * (EPF_REFLEX_TRUNCATED, EPF_REFLEX_MALFORMED) is its sender's choice, and no such reason.
 */
#define EPF_REFLEX_UNKNOWN EPF_REFLEX_SATURATED

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
 * @act: what is done at ingress, by enum epf_reflex_reason; EPF_REFLEX_OLDER has the same
 *	as EPF_REFLEX_ABSENT
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
	struct epf_reflex_act act[EPF_REFLEX_REASONS];
	__u32 any[EPF_REFLEX_PROTOS];
	__u32 port[EPF_REFLEX_PROTOS][EPF_REFLEX_WORDS];
	__u32 within;
	__u64 within_ns;
};

/**
 * struct epf_reflex_counts - the one value of the map of counts, per CPU
 * @side: by enum epf_reflex_side and enum epf_reflex_reason
 *
 * Plain additions, separate for each side. Bottom halves are disabled at both hooks, so
 * programs of one side do not interrupt one another, except on PREEMPT_RT, where a count
 * may be lost.
 */
struct epf_reflex_counts {
	struct epf_xdp_count side[EPF_REFLEX_SIDES][EPF_REFLEX_REASONS];
};

#endif /* EPF_REFLEX_H */
