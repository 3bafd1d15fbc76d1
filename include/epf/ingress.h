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
#define EPF_INGRESS_PIN_SHARED "ingress-shared"
#define EPF_INGRESS_PIN_RING "ring" /* with EPF_XDP_LOG */

#define EPF_INGRESS_RING_BYTES (1u << 20)

/* Is the incoming rate above the rate of the rule? Without a rate: below. A side of struct
 * epf_counts.
 */
enum epf_ingress_side { EPF_INGRESS_BELOW, EPF_INGRESS_ABOVE, EPF_INGRESS_SIDES };

/**
 * struct epf_ingress_rule - the one value of the rule map
 * @opts: packet key
 * @drops: EPF_XDP_ADMIT: set of enum epf_outcome; above the rate their packets are dropped
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
