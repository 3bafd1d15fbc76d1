/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packets' time for a filter, which cannot go back. A stamp behind the
 * latest counts as the latest. One that is further ahead than the filter
 * remembers is a *jump*, and not believed before the next packet follows it, to
 * a stamp nearer to the jump than to the time before: nothing that far off is a
 * repeat, so nothing is lost by waiting, and one wrong stamp does not stop time
 * for the rest of the file.
 */
#ifndef EPFCTL_DEDUP_CLOCK_H
#define EPFCTL_DEDUP_CLOCK_H

#include <stdbool.h>

#include <linux/types.h>

/**
 * struct clock - the time, from 0 at the first packet
 * @reach_ns: a step forward of more than this is a jump
 * @now_ns: time
 * @latest_ns: stamp of that time
 * @jump_ns: stamp of the packet before, which jumped
 * @jumped: it did
 * @packets: so far
 * @back: stamps that went back
 * @back_ns: the largest step back
 * @ahead: stamps ahead that the next packet did not follow
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

/* Before the stamp of a packet, with it: settle when the packet before jumped.
 * Where this one follows, time goes there; else it stays. Return: it did jump,
 * and is to be entered now, before this one is.
 */
bool clock_settles(struct clock *c, __u64 ns);

/* Then: does the packet jump? If not, time is its own. */
bool clock_jumps(struct clock *c, __u64 ns);

#endif /* EPFCTL_DEDUP_CLOCK_H */
