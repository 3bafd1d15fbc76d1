/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs of messages that follow one another, and the interval of cluster time that each covers.
 * Pure functions.
 *
 * A message that is missing, or was refused, or says that keys were lost, leaves a hole. The keys
 * that are missing were read from the journal before the next message was sent, so their
 * insertion began before the server stamped that one. (Its "from" would be no bound: it is a lower
 * bound of the time before a reading, and the reading brings later keys, too.)
 */
#ifndef CLUSTER_SPAN_H
#define CLUSTER_SPAN_H

#include "cluster/wire.h"

#define SPAN_NEVER (~0ULL)

/**
 * struct span - messages @first to @last of an incarnation
 * @first: sequence number
 * @last: likewise
 * @from: of the first message
 * @to: up to here every key of the messages is known
 * @since: the messages have all keys whose insertion began after @since and had returned at @to,
 *	whatever came before them
 * @whole: it has no hole: if what precedes it is known up to @from, nothing is missing
 * @at: own time when the first of the messages was taken
 */
struct span {
	__u64 first;
	__u64 last;
	__u64 from;
	__u64 to;
	__u64 since;
	__u64 at;
	bool whole;
};

/* The span of one message. @missing: its digests were refused. @stamp: the server's. */
struct span span_of(const struct cluster_msg *m, bool missing, __u64 stamp, __u64 now_ns);

/* Join @b to @a, whose last message precedes the first of @b. */
void span_join(struct span *a, const struct span *b);

#endif /* CLUSTER_SPAN_H */
