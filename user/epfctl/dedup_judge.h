/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides whether a packet is a repeat: with a table of all keys of the window
 * (dedup_exact.h) or with a filter, as requested or, by default, as memory allows.
 */
#ifndef EPFCTL_DEDUP_JUDGE_H
#define EPFCTL_DEDUP_JUDGE_H

#include "dedup.h"
#include "dedup_digest.h"
#include "dedup_exact.h"
#include "dedup_survey.h"
#include "dedup_view.h"

/**
 * struct judge - the method, made ready
 * @ask: what is asked
 * @frames: frames are compared as they were captured
 * @exact: the table; NULL: the filter is used
 * @digest: keys of the table's digests
 * @survey: of the input, if it was read beforehand
 * @packets: so far
 * @number: of the current packet in the capture
 * @ns: stamp of the last packet, or of the one before it that had one
 * @least_ns: without a survey, lowest stamps of this and the last stretch
 * @mem: the filter
 * @clock: clock of the filter
 * @waiting: if @waits: digest of the packet that jumped
 * @waits: a packet that jumped is not yet inserted
 * @room: for the packet that is compared, if --mask changes it
 */
struct judge {
	const struct dedup_ask *ask;
	bool frames;
	struct exact *exact;
	struct digest_keys digest;
	struct survey *survey;
	__u64 packets;
	__u64 number;
	__u64 ns;
	__u64 least_ns[2];
	struct epf_mem *mem;
	struct clock clock;
	__u64 waiting;
	bool waits;
	struct view_room room;
};

/* Is the packet between --after and --before? One without a time stamp is not. */
bool judge_takes(const struct dedup_ask *ask, const struct item *item);

/**
 * judge_begin() - choose the method and make it
 * @j: result, all zero before
 * @ask: what is asked
 * @in: the input, of which the size counts; it is opened again if it has to be
 *	read beforehand
 * @meter: shows how far that is
 * @r: where the filter is described
 *
 * Return: 0, or EXIT_FAIL with an error printed.
 */
int judge_begin(struct judge *j, const struct dedup_ask *ask, const struct source *in,
		struct meter *meter, struct dedup_result *r);

/**
 * judge_packet() - is it a repeat?
 * @j: judge
 * @item: packet
 * @r: where packets without a key, and steps of time, are counted
 *
 * Return: 1, 0, or -1 with an error printed.
 */
int judge_packet(struct judge *j, const struct item *item, struct dedup_result *r);

/* Fill in @r at the end. */
void judge_tell(const struct judge *j, struct dedup_result *r);
void judge_end(struct judge *j);

#endif /* EPFCTL_DEDUP_JUDGE_H */
