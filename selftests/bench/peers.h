/* SPDX-License-Identifier: GPL-2.0 */
/* What xdp_bench and the programs in peers.bpf.c share. */
#ifndef PEERS_H
#define PEERS_H

#include <linux/types.h>

#define PEERS_FLOWS 1000000
#define PEERS_BLOOM_K 5
#define PEERS_KEY_AT 26 /* in the frame: the IPv4 source address */
#define PEERS_WORDS 186 /* of eight bytes from there on, of 1,514 bytes in all */

/* Twice the five words that a flow of IPv4 has, fragments and ICMP alike. */
struct peers_key {
	__u32 saddr;
	__u32 daddr;
	__u32 l4;
	__u32 proto;
};

/**
 * struct peers - their global state
 * @base: first key; each packet gets the next
 * @mask: how many keys there are before they begin again, less one
 * @next: number of the packet
 * @window_ns: of the LRU table
 * @current: which of the two bloom maps is filled
 */
struct peers {
	__u32 base;
	__u32 mask;
	__u32 next;
	__u32 current;
	__u64 window_ns;
};

#endif /* PEERS_H */
