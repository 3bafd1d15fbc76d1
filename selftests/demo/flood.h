/* SPDX-License-Identifier: GPL-2.0 */
/* What flood.bpf.c and flood.c share. */
#ifndef DEMO_FLOOD_H
#define DEMO_FLOOD_H

#include <linux/types.h>

#define FLOOD_BYTES 64 /* of a frame */

/**
 * struct flood_shared - the generator's global data
 * @next: number of the next packet
 * @mask: of the number's bits that choose a source address, 2^n - 1
 * @source: first source address; its bits below @mask are zero
 * @shuffle: nonzero: addresses come in an order that looks random
 * @source_port: of all packets; 0: a different one for each, 1024 and above
 * @ports: number of destination ports that packets take in turn
 * @port: the first of them
 * @ifindex: interface that frames are sent through
 */
struct flood_shared {
	__u64 next;
	__u32 mask;
	__u32 source;
	__u32 shuffle;
	__u32 source_port;
	__u32 ports;
	__u32 port;
	__u32 ifindex;
};

#endif /* DEMO_FLOOD_H */
