/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a capture is like, from reading it once before: how many packets, how
 * many in the busiest epoch of a filter, how far their time stamps go back.
 */
#ifndef EPFCTL_DEDUP_SURVEY_H
#define EPFCTL_DEDUP_SURVEY_H

#include "dedup_clock.h"

#define SURVEY_STRETCHES 4096

/**
 * struct survey - a capture
 * @packets: of it
 * @busiest: insertions of the fullest epoch
 * @each: packets of a stretch; the last one may have fewer
 * @stretches: how many
 * @least: the lowest stamp of each stretch; once all is read, of it and those
 *	that follow
 * @most: the highest stamp of each
 */
struct survey {
	__u64 packets;
	__u64 busiest;
	__u64 each;
	__u32 stretches;
	__u64 least[SURVEY_STRETCHES];
	__u64 most[SURVEY_STRETCHES];
	/* while it is made */
	struct clock clock;
	__u64 epoch_ns;
	__u64 epoch;
	__u64 here;
};

/* Begin. @epoch_ns: of the filter; 0: of none. */
void survey_begin(struct survey *s, __u64 epoch_ns);
/* @ns: stamp; a packet without has that of the one before. */
void survey_packet(struct survey *s, __u64 ns);
void survey_end(struct survey *s);

/* The lowest stamp of packet @i, from 0, and all behind it, or less. */
__u64 survey_oldest(const struct survey *s, __u64 i);

/* At most so many packets have been read of which one may be at most @reach_ns
 * from one that is still to come; the greatest number of the whole capture.
 */
__u64 survey_held(const struct survey *s, __u64 reach_ns);

#endif /* EPFCTL_DEDUP_SURVEY_H */
