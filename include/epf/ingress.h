/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Definitions that the programs of bpf/admit.bpf.c and bpf/log_new.bpf.c share with the
 * tool that attaches them: rule, counters, records. No functions.
 *
 * An interface has one of each map, pinned where epf/xdp.h says. The tool writes the rule
 * before it attaches the program.
 */
#ifndef EPF_INGRESS_H
#define EPF_INGRESS_H

#include "bucket.h"
#include "xdp.h"

#define EPF_INGRESS_PIN_RULE "ingress-rule"
#define EPF_INGRESS_PIN_COUNTS "ingress-counts"
#define EPF_INGRESS_PIN_SHARED "ingress-shared"
#define EPF_INGRESS_PIN_RING "ring" /* with EPF_XDP_LOG */

#define EPF_INGRESS_RING_BYTES (1u << 20)

/* Is the incoming rate above the rate of the rule? Without a rate: below. */
enum epf_ingress_side { EPF_INGRESS_BELOW, EPF_INGRESS_ABOVE, EPF_INGRESS_SIDES };

/* The result for a packet; each packet is counted once. */
enum epf_ingress_reason {
	EPF_INGRESS_RECENT,    /* in the filter */
	EPF_INGRESS_NEW,       /* not in it, and passed; with EPF_XDP_LOG: recorded */
	EPF_INGRESS_LEFT_OUT,  /* not in it, and no token was left */
	EPF_INGRESS_RING_FULL, /* EPF_XDP_LOG: not in it, and no room for a record */
	EPF_INGRESS_CONTROL,   /* passed because of its kind, enum epf_control */
	EPF_INGRESS_NOT_IP,    /* passed because it is not IP */
	EPF_INGRESS_FRAGMENT,  /* not the first one, where the options need ports */
	EPF_INGRESS_TRUNCATED, /* ends before the bytes that the key needs */
	EPF_INGRESS_MALFORMED, /* a header contradicts itself */
	EPF_INGRESS_SATURATED, /* found, but the error may be above the filter's limit */
	EPF_INGRESS_OVERDUE,   /* found, but nobody ends the filter's epochs */
	EPF_INGRESS_NO_FILTER, /* destroyed by force */
	EPF_INGRESS_ERROR,     /* any other error */
	EPF_INGRESS_UNCOVERED, /* absent here, and data of a host of the cluster are missing */
	EPF_INGRESS_REASONS
};

#define EPF_INGRESS_KEYLESS EPF_INGRESS_TRUNCATED /* this reason and all later ones */

/* Sets of reasons: what the packet hides, which is its sender's choice; and what the filter
 * does not know.
 */
#define EPF_INGRESS_HIDDEN (1u << EPF_INGRESS_TRUNCATED | 1u << EPF_INGRESS_MALFORMED)
#define EPF_INGRESS_UNKNOWN (~0u << EPF_INGRESS_SATURATED)

/**
 * struct epf_ingress_rule - the one value of the rule map
 * @opts: packet key
 * @drops: EPF_XDP_ADMIT: set of reasons; above the rate their packets are dropped
 * @slice: packets that a CPU counts for itself, see epf_meter_slice()
 * @rate: EPF_XDP_ADMIT: rate of all packets that have a key or should have one
 * @fresh: tokens for new flows: packets above @rate, or records
 */
struct epf_ingress_rule {
	struct epf_pkt_opts opts;
	__u32 drops;
	__u32 slice;
	struct epf_bucket rate;
	struct epf_bucket fresh;
};

/**
 * struct epf_ingress_shared - the words that CPUs share, a cache line each
 * @level: for @rate; every packet reads it, one in @slice writes it
 * @tokens: for @fresh; written for each token that is taken
 */
struct epf_ingress_shared {
	__u64 level;
	__u64 apart[7];
	__u64 tokens;
	__u64 apart_too[7];
};

/**
 * struct epf_ingress_counts - the one value of the map of counts, per CPU
 * @side: by enum epf_ingress_side and enum epf_ingress_reason
 * @pending: packets not yet added to the level
 *
 * Plain additions: XDP programs of one CPU do not interrupt one another, except on
 * PREEMPT_RT, where a count may be lost.
 */
struct epf_ingress_counts {
	struct epf_xdp_count side[EPF_INGRESS_SIDES][EPF_INGRESS_REASONS];
	__u64 pending;
};

/**
 * struct epf_ingress_record - the first packet of a flow
 * @time_ns: CLOCK_MONOTONIC
 * @src: address, as it is in the packet; for IPv4 the first four bytes
 * @dst: likewise
 * @vids: nonzero VLAN ids, twelve bits each, the innermost in the low bits
 * @bytes: length of the packet
 * @id: ports, or ICMP type, code and id, or the fragment's id, as they are in the packet
 * @version: 4 or 6
 * @proto: of the transport header
 * @fragment: @id is the fragment's
 * @reserved: zero
 */
struct epf_ingress_record {
	__u64 time_ns;
	__u64 src[2];
	__u64 dst[2];
	__u64 vids;
	__u32 bytes;
	__u8 id[4];
	__u8 version;
	__u8 proto;
	__u8 fragment;
	__u8 reserved[5];
};
EPF_ASSERT(sizeof(struct epf_ingress_record) == 64, "of the ring");

#endif /* EPF_INGRESS_H */
