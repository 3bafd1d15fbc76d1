/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state behind coverage.h, for its two files. */
#ifndef CLUSTER_COVERAGE_OWN_H
#define CLUSTER_COVERAGE_OWN_H

#include "cluster/coverage.h"
#include "cluster/span.h"

#include "epf/bucket.h"

/**
 * struct peer - a host of the roster
 * @name: of the host
 * @spans: runs of messages that are applied, in order; the first is what coverage is about.
 *	There is room for one more while it is added
 * @nr_spans: their number
 * @incarnation: of these messages
 * @bucket: word of its token bucket, whose time is that of @newest
 * @newest: the highest stamp of its messages
 * @n: what coverage_host() counts; other fields are not set
 */
struct peer {
	char name[CLUSTER_HOST_BYTES];
	struct span spans[COVERAGE_SPANS_MAX + 1];
	unsigned int nr_spans;
	__u64 incarnation;
	__u64 bucket;
	__u64 newest;
	struct coverage_host n;
};

/**
 * struct coverage - see coverage.h
 * @conf: without names
 * @bucket: parameters of the peers' buckets
 * @self: index of the own host
 * @own_since_ns: own time from which the own filter is complete; ~0: never
 * @now_ns: of the last coverage_offer()
 * @restarts: of the clock, when the spans were of its time
 * @strangers: messages of unknown hosts
 * @began: a replay from the beginning has been asked for
 * @replayed_ns: own time of the last replay
 * @peer: by name
 */
struct coverage {
	struct coverage_conf conf;
	struct epf_bucket bucket;
	unsigned int self;
	__u64 own_since_ns;
	__u64 now_ns;
	__u64 restarts;
	__u64 strangers;
	bool began;
	__u64 replayed_ns;
	struct peer peer[];
};

/* Give up what is missing before the second span. */
void coverage_give_up(struct peer *p);

/* Forget all messages, and the time of the bucket: their times are of another clock. */
void coverage_forget(struct peer *p);

#endif /* CLUSTER_COVERAGE_OWN_H */
