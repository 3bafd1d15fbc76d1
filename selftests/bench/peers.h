/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by xdp_bench and the programs in peers.bpf.c. */
#ifndef PEERS_H
#define PEERS_H

#include <linux/types.h>

#define PEERS_FLOWS 1000000
#define PEERS_BLOOM_K 5
#define PEERS_KEY_AT 26 /* offset in the frame: the IPv4 source address */
#define PEERS_WORDS 186 /* words of eight bytes from there on, in 1,514 bytes */

/* Twice the five words of an IPv4 flow, the same for fragments and ICMP. */
struct peers_key {
	__u32 saddr;
	__u32 daddr;
	__u32 l4;
	__u32 proto;
};

/**
 * struct peers - global state of the programs
 * @base: first key; each packet gets the next
 * @mask: number of keys before they repeat, less one
 * @next: number of the packet
 * @window_ns: window of the LRU table
 * @current: the bloom map that is being filled
 */
struct peers {
	__u32 base;
	__u32 mask;
	__u32 next;
	__u32 current;
	__u64 window_ns;
};

#endif /* PEERS_H */
