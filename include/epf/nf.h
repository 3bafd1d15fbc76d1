/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Definitions that the program of bpf/nf.bpf.c shares with the tool that attaches it to a
 * netfilter hook. No functions.
 *
 * A hook has one rule map and one map of counts, pinned below EPF_XDP_PINS in a directory
 * named '@@' and the command line's name of the hook, beside the map "conf" of epf/xdp.h.
 * The tool writes the rule before it attaches the program, and never later.
 */
#ifndef EPF_NF_H
#define EPF_NF_H

#include "reflex.h"

#define EPF_NF_NAME "nf:" /* prefix of these names; interfaces have no ':' */
#define EPF_NF_PIN_RULE "nfrule"
#define EPF_NF_PIN_IP "nfip"   /* link of family ip, if it has one */
#define EPF_NF_PIN_IP6 "nfip6" /* the same for ip6 */

/* What is done with a key; at least one of the first two. */
#define EPF_NF_ASK 1
#define EPF_NF_LEARN 2
#define EPF_NF_IF_NEW 4 /* a key that is present is not inserted again */

/**
 * struct epf_nf_iface - the name of an interface
 * @name: as in struct net_device
 * @mask: its bits that are compared: the name and the NUL behind it; zero: any interface,
 * or none
 */
struct epf_nf_iface {
	__u64 name[2];
	__u64 mask[2];
};

/**
 * struct epf_nf_rule - the one value of the rule map
 * @of: the first of @opts is the packet key; the other fields as in struct epf_reflex_rule
 * @op: EPF_NF_ASK, EPF_NF_LEARN, EPF_NF_IF_NEW
 * @dport: ports of the rule are destination ports of the packet, otherwise source ports
 * @all: every packet is matched, also one without ports
 * @in, @out: packets that come in, or leave, through another interface are not matched
 */
struct epf_nf_rule {
	struct epf_reflex_rule of;
	__u32 op;
	__u32 dport;
	__u32 all;
	struct epf_nf_iface in, out;
};

#endif /* EPF_NF_H */
