/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs of bpf/reflex.bpf.c and the tool that attaches them share. No
 * functions.
 *
 * One interface has one rule map and one map of counts, pinned where epf/xdp.h says.
 * The learning program at tc egress and the asking one in XDP or at tc ingress use the
 * same two maps and the same filter. The tool writes the rule before it attaches a
 * program, and never after.
 */
#ifndef EPF_REFLEX_H
#define EPF_REFLEX_H

#include "xdp.h"

#define EPF_REFLEX_PIN_RULE "rule"
#define EPF_REFLEX_PIN_COUNTS "counts"
#define EPF_REFLEX_PIN_LEARN "learn" /* link of the learning program, if it has one */
#define EPF_REFLEX_PIN_ASK "ask"     /* likewise, at tc ingress */

/* Which programs; an index of struct epf_reflex_counts and of @opts. */
enum epf_reflex_side {
	EPF_REFLEX_ASK,   /* ingress */
	EPF_REFLEX_LEARN, /* egress */
	EPF_REFLEX_SIDES
};

/* What a packet was found to be; each is counted once, on its side. */
enum epf_reflex_reason {
	EPF_REFLEX_RECENT,    /* ask: it answers a packet that was learnt in the window */
	EPF_REFLEX_ABSENT,    /* ask: it answers none */
	EPF_REFLEX_OLDER,     /* ask: it answers one, but of longer ago than @within */
	EPF_REFLEX_LEARNT,    /* learn */
	EPF_REFLEX_OTHER,     /* the rule does not match it */
	EPF_REFLEX_FRAGMENT,  /* of a protocol that the rule matches; has no ports */
	EPF_REFLEX_TRUNCATED, /* ends before what the key needs */
	EPF_REFLEX_MALFORMED, /* a header contradicts itself */
	EPF_REFLEX_SATURATED, /* found, but the error may be above the filter's limit */
	EPF_REFLEX_OVERDUE,   /* found, but nobody ends the filter's epochs */
	EPF_REFLEX_NO_FILTER, /* destroyed by force */
	EPF_REFLEX_ERROR,     /* any other error */
	EPF_REFLEX_REASONS
};

enum epf_reflex_verdict {
	EPF_REFLEX_PASS,
	EPF_REFLEX_DROP,
	EPF_REFLEX_MARK, /* tc: passed with a mark */
};

/**
 * struct epf_reflex_act - what is done about a packet
 * @verdict: enum epf_reflex_verdict
 * @value: EPF_REFLEX_MARK: bits of the mark; within @mask
 * @mask: the bits that are written; all others stay
 */
struct epf_reflex_act {
	__u32 verdict;
	__u32 value;
	__u32 mask;
};

/* Protocols that a rule tells apart. */
enum epf_reflex_proto {
	EPF_REFLEX_UDP,
	EPF_REFLEX_TCP,
	EPF_REFLEX_PORTS, /* others that have ports: DCCP, SCTP, UDP-Lite */
	EPF_REFLEX_PROTOS
};

#define EPF_REFLEX_WORDS (65536 / 32)

/**
 * struct epf_reflex_rule - the one value of the rule map
 * @opts: packet keys, by enum epf_reflex_side: one is the reverse of the other
 * @act: what is done at ingress, by enum epf_reflex_reason; of EPF_REFLEX_OLDER it is
 *	that of EPF_REFLEX_ABSENT
 * @any: by enum epf_reflex_proto: is any port of it in @port?
 * @port: by enum epf_reflex_proto: the remote ports that are matched, a bit each:
 *	source ports of what comes in, destination ports of what goes out
 * @within: so many epochs back a key is recent, the current one included; 0: in the
 *	whole window
 * @within_ns: the duration that @within was made of; 0: it was given in epochs. For
 *	whoever shows the rule
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
 * Plain additions, each side apart. Bottom halves are disabled at both hooks, so of
 * one side no program interrupts another, except on PREEMPT_RT, where a count may lose
 * one.
 */
struct epf_reflex_counts {
	struct epf_xdp_count side[EPF_REFLEX_SIDES][EPF_REFLEX_REASONS];
};

#endif /* EPF_REFLEX_H */
