/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two filters of a host in a cluster (epf/cluster.h). */
#ifndef CLUSTER_APPLY_H
#define CLUSTER_APPLY_H

#include <stdbool.h>

#include <linux/epochfilter.h>

#include "cluster/apply_pool.h"
#include "records/records.h"

/**
 * struct apply_filters - the two filters, open
 * @local: descriptor of the local filter
 * @all: descriptor of the filter of all
 * @of_thread: the same for each thread that inserts: a descriptor of pure BPF serves one call at
 *	a time. The first one is @all
 * @threads: how many there are
 * @pool: the threads
 * @key: hash key of both
 * @of: the local filter, when it was opened
 * @all_window_ns: window of the filter of all
 * @all_epochs: epochs in it
 * @all_rate: keys a second with which it reaches its limit; 0: its memory follows the rate
 */
struct apply_filters {
	int local;
	int all;
	int of_thread[APPLY_THREADS_MAX];
	unsigned int threads;
	struct apply_pool *pool;
	__u64 key[2];
	struct epf_info of;
	__u64 all_window_ns;
	__u32 all_epochs;
	__u64 all_rate;
};

/**
 * apply_open() - open both filters, and check that they go together
 * @f: result
 * @local: name of the local filter
 * @all: name of the filter of all
 * @threads: how many insert, 1 to APPLY_THREADS_MAX
 * @e: set to the error text on failure
 *
 * Return: 0; -EINVAL: they have other keys, other kinds of hash, no window of time, or the
 * window of the filter of all is shorter; an error of opening or reading them, or of starting
 * threads.
 */
int apply_open(struct apply_filters *f, const char *local, const char *all, unsigned int threads,
	       struct rec_error *e);
void apply_close(struct apply_filters *f);

/**
 * apply_insert() - insert digests into the filter of all
 * @f: filters
 * @digest: digests
 * @count: how many
 *
 * Context: one thread at a time, which waits for all others of the pool.
 *
 * Return: 0: all are in it; an error of EPF_IOC_INSERT: some may be missing.
 */
int apply_insert(const struct apply_filters *f, const __u64 *digest, __u32 count);

/**
 * apply_kept() - how far back the filters keep what was inserted
 * @f: filters
 * @local_ns: set to that of the local filter
 * @all_ns: set to that of the filter of all
 * @saturated: set to whether the filter of all is saturated
 *
 * Return: 0; an error of EPF_IOC_INFO.
 */
int apply_kept(const struct apply_filters *f, __u64 *local_ns, __u64 *all_ns, bool *saturated);

/**
 * apply_overfull() - has the local filter more keys than it is sized for?
 * @f: filters
 *
 * A key whose bits others have set is not new to it, so it is in no journal. That is the
 * filter's error while it is within its limit, and unbounded beyond.
 *
 * Return: true also if it cannot be asked.
 */
bool apply_overfull(const struct apply_filters *f);

#endif /* CLUSTER_APPLY_H */
