/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the program of bpf/nf.bpf.c and the tool that attaches it to a netfilter hook
 * share. No functions.
 *
 * One hook has one rule map and one map of counts, pinned below EPF_XDP_PINS in a
 * directory named '@@' and what the command line calls the hook, beside the map "conf"
 * of epf/xdp.h. The tool writes the rule before it attaches the program, and never after.
 */
#ifndef EPF_NF_H
#define EPF_NF_H

#include "reflex.h"

#define EPF_NF_NAME "nf:" /* such names begin with; interfaces have no ':' */
#define EPF_NF_PIN_RULE "nfrule"
#define EPF_NF_PIN_COUNTS "nfcounts"
#define EPF_NF_PIN_IP "nfip"   /* link of family ip, if it has one */
#define EPF_NF_PIN_IP6 "nfip6" /* likewise of ip6 */

/* What a packet was found to be; each is counted once. */
enum epf_nf_reason {
	/* enum epf_reflex_reason: RECENT, ABSENT and OLDER of packets that are asked for */
	EPF_NF_KNOWN = EPF_REFLEX_REASONS, /* learnt only if new, and present */
	EPF_NF_REASONS
};

/* What is done with a key; one of the first two at least. */
#define EPF_NF_ASK 1
#define EPF_NF_LEARN 2
#define EPF_NF_IF_NEW 4 /* what is present is not inserted again */

/**
 * struct epf_nf_rule - the one value of the rule map
 * @of: the first of @opts is the packet key; all else as there
 * @op: EPF_NF_ASK, EPF_NF_LEARN, EPF_NF_IF_NEW
 * @dport: ports of the rule are destination ports of the packet, else source ports
 * @all: every packet is matched, also one without ports
 */
struct epf_nf_rule {
	struct epf_reflex_rule of;
	__u32 op;
	__u32 dport;
	__u32 all;
};

/**
 * struct epf_nf_counts - the one value of the map of counts, per CPU
 * @by: by enum epf_nf_reason
 *
 * Atomic additions: in process context a program may be interrupted by the same one in
 * softirq, and kernels before August 2025 may move it to another CPU.
 */
struct epf_nf_counts {
	struct epf_xdp_count by[EPF_NF_REASONS];
};

#endif /* EPF_NF_H */
