/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clock of a filter, driven by the packets' time stamps. It cannot go back: a
 * stamp behind the latest counts as the latest. A stamp further ahead than the
 * filter remembers is a *jump*. The clock accepts a jump only if the stamp of
 * the next packet is nearer to the jump than to the time before it. Waiting
 * loses nothing, because no packet that far ahead is a repeat, and one wrong
 * stamp does not stop the clock for the rest of the file.
 */
#ifndef EPFCTL_DEDUP_CLOCK_H
#define EPFCTL_DEDUP_CLOCK_H

#include <stdbool.h>

#include <linux/types.h>

/**
 * struct clock - the time, from 0 at the first packet
 * @reach_ns: a step forward of more than this is a jump
 * @now_ns: the time
 * @latest_ns: stamp at that time
 * @jump_ns: if @jumped: stamp of the previous packet
 * @jumped: the previous packet jumped
 * @packets: so far
 * @back: stamps that went back
 * @back_ns: the largest step back
 * @ahead: jumps that the next packet did not confirm
 */
struct clock {
	__u64 reach_ns;
	__u64 now_ns;
	__u64 latest_ns;
	__u64 jump_ns;
	bool jumped;
	__u64 packets;
	__u64 back;
	__u64 back_ns;
	__u64 ahead;
};

/* Decide about a jump of the previous packet. Call it with the stamp of each packet
 * before clock_jumps(). If this packet follows the jump, the time advances to it;
 * otherwise it stays. Return: the previous packet jumped; insert it now, before
 * this packet.
 */
bool clock_settles(struct clock *c, __u64 ns);

/* Does this packet jump? If not, its stamp becomes the time. */
bool clock_jumps(struct clock *c, __u64 ns);

#endif /* EPFCTL_DEDUP_CLOCK_H */
