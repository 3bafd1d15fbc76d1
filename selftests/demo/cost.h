/* SPDX-License-Identifier: GPL-2.0 */
/* What cost.bpf.c and cost.c share. */
#ifndef DEMO_COST_H
#define DEMO_COST_H

#include <linux/epochfilter.h>

#define COST_BYTES 64   /* of a packet */
#define COST_AT 48      /* where its number is, in the payload */
#define COST_BLOOM_K 15 /* the most that the kernel's bloom filters take */

/**
 * struct cost_shared - the programs' global data
 * @next: number of the next packet
 * @found: packets that were taken for repeats
 * @opts: of keys
 */
struct cost_shared {
	__u64 next;
	__u64 found;
	struct epf_pkt_opts opts;
};

#endif /* DEMO_COST_H */
