/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of epfagent. Each word is independent: the event loop and the worker add to
 * it and any thread reads it, with relaxed atomics and without a lock, so readers delay
 * neither. Words read together may be inconsistent: an audit may be counted as done
 * before its keys are counted.
 */
#ifndef EPFAGENT_STATS_H
#define EPFAGENT_STATS_H

#include <linux/types.h>

#define STATS_NAME 64 /* room for the name of a cluster or a host */

/**
 * struct stats_cluster - a cluster; counters since its publisher began
 * @cluster: name
 * @covered: "absent" is an answer now
 * @joined: messages are received
 * @saturated: the filter of all is saturated
 * @digests: published
 * @messages: published
 * @lost: own insertions that were not published
 * @waiting_bytes: of messages that are not acknowledged
 * @cert_end_ns: end of the certificate, since 1970; 0: not known, or there is none
 */
struct stats_cluster {
	char cluster[STATS_NAME];
	__u64 covered;
	__u64 joined;
	__u64 saturated;
	__u64 digests;
	__u64 messages;
	__u64 lost;
	__u64 waiting_bytes;
	__u64 cert_end_ns;
};

/**
 * struct stats_peer - another host of a cluster
 * @cluster: name of the cluster
 * @host: name
 * @covered: all that it inserted is here
 * @behind_ns: age of what is here; 0: nothing is
 * @digests: applied
 * @messages: applied
 * @gaps: times that messages were missing
 * @lost: insertions that it did not publish
 * @refused: messages
 */
struct stats_peer {
	char cluster[STATS_NAME];
	char host[STATS_NAME];
	__u64 covered;
	__u64 behind_ns;
	__u64 digests;
	__u64 messages;
	__u64 gaps;
	__u64 lost;
	__u64 refused;
};

/**
 * struct agent_stats - counters, and levels
 * @audits_done: audits that succeeded
 * @audits_failed: audits that failed
 * @audits_cancelled: audits whose client left or that ended with the agent
 * @requests_refused: requests that were invalid, not allowed or too many
 * @keys_asked: keys looked up in all audits
 * @keys_present: those of them that were present
 * @busy_ns: time that the worker was busy
 * @files_done: files of watched directories that got a verdict, failed ones included
 * @cache_hits: columns, snapshots and filters found in the cache
 * @cache_misses: those that had to be read
 * @queue: level: audits waiting or running
 * @clients: level: connections
 * @cache_bytes: level: memory of columns, snapshots and filters
 * @start_ns: CLOCK_REALTIME of the start
 * @mirrors: level: filters currently mirrored
 * @mirror_copies: times that a mirror's lines were copied from its filter
 * @audits_fallen: audits that continued with another engine than they began with
 * @holds: level: filters whose epochs the agent ends
 * @clusters: set before any reader: set *@all and *@peers, which the caller frees, to samples of
 *	all clusters. Return: number of clusters; *@nr_peers: of peers; or a negative errno
 * @clusters_of: for @clusters
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
	int (*clusters)(void *of, struct stats_cluster **all, struct stats_peer **peers,
			unsigned int *nr_peers);
	void *clusters_of;
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
