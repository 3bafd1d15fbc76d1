/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Statistics of a capture, from reading it once beforehand: how many packets it
 * has, how many fall into the busiest epoch of a filter, how far their time
 * stamps go back.
 */
#ifndef EPFCTL_DEDUP_SURVEY_H
#define EPFCTL_DEDUP_SURVEY_H

#include "dedup_clock.h"

#define SURVEY_STRETCHES 4096

/**
 * struct survey - statistics of a capture
 * @packets: number of packets
 * @busiest: insertions in the fullest epoch
 * @each: packets per stretch; the last stretch may have fewer
 * @stretches: number of stretches
 * @least: lowest stamp of each stretch; after survey_end(), of the stretch and all
 *	that follow it
 * @most: highest stamp of each stretch
 */
struct survey {
	__u64 packets;
	__u64 busiest;
	__u64 each;
	__u32 stretches;
	__u64 least[SURVEY_STRETCHES];
	__u64 most[SURVEY_STRETCHES];
	/* used while the capture is read */
	struct clock clock;
	__u64 epoch_ns;
	__u64 epoch;
	__u64 here;
};

/* Begin. @epoch_ns: epoch of the filter; 0: there is no filter. */
void survey_begin(struct survey *s, __u64 epoch_ns);
/* @ns: time stamp; a packet without one takes that of the previous packet. */
void survey_packet(struct survey *s, __u64 ns);
void survey_end(struct survey *s);

/* A lower bound of the stamps of packet @i (from 0) and all packets after it. */
__u64 survey_oldest(const struct survey *s, __u64 i);

/* At most so many packets have been read of which one may be at most @reach_ns
 * from one that is still to come; the greatest number of the whole capture.
 */
__u64 survey_held(const struct survey *s, __u64 reach_ns);

#endif /* EPFCTL_DEDUP_SURVEY_H */
