/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What epfagent counts. Each word is on its own: the event loop and the worker
 * add to it, whoever wishes reads it, relaxed and without a lock, so that a
 * reader can hold up neither. Words read together need not fit together (an
 * audit may be counted as done before its keys are).
 */
#ifndef EPFAGENT_STATS_H
#define EPFAGENT_STATS_H

#include <linux/types.h>

/**
 * struct agent_stats - counters, and levels
 * @audits_done: ended well
 * @audits_failed: ended by an error
 * @audits_cancelled: the client went away, or the agent was stopped
 * @requests_refused: that made no sense, were not allowed or too many
 * @keys_asked: of all audits
 * @keys_present: of those
 * @busy_ns: during which the worker worked
 * @files_done: of watched directories, with a result beside them; failed ones
 *	too
 * @cache_hits: columns, snapshots and filters found warm
 * @cache_misses: that had to be read
 * @queue: level: audits that wait or run
 * @clients: level: connections
 * @cache_bytes: level: memory of columns, snapshots and filters
 * @start_ns: CLOCK_REALTIME
 * @mirrors: level: filters that are mirrored now
 * @mirror_copies: times that the lines of one were copied
 * @audits_fallen: that went on with another engine than they were begun with
 * @holds: level: filters whose epochs are ended here
 */
struct agent_stats {
	__u64 audits_done;
	__u64 audits_failed;
	__u64 audits_cancelled;
	__u64 requests_refused;
	__u64 keys_asked;
	__u64 keys_present;
	__u64 busy_ns;
	__u64 files_done;
	__u64 cache_hits;
	__u64 cache_misses;
	__u64 queue;
	__u64 clients;
	__u64 cache_bytes;
	__u64 start_ns;
	__u64 mirrors;
	__u64 mirror_copies;
	__u64 audits_fallen;
	__u64 holds;
};

static inline void stats_add(__u64 *word, __u64 n)
{
	__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

static inline void stats_sub(__u64 *word, __u64 n)
{
	__atomic_fetch_sub(word, n, __ATOMIC_RELAXED);
}

static inline __u64 stats_read(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

#endif /* EPFAGENT_STATS_H */
