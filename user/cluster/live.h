/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One live cluster: publishes what is new in the local filter, inserts what the other hosts
 * publish into the filter of all, and keeps the promise of the cover map (epf/cluster.h).
 * docs/CLUSTER.md has the design.
 *
 * A cluster has two threads, and more that insert (apply_pool.h). The main one opens the filters,
 * joins the stream, receives, and inserts with those; the publishing one reads the journal, sends,
 * and moves the promise on. Whatever fails is logged once, the promise is withdrawn, and all begins
 * again a second later. If a thread or the process stops, the promise passes by itself.
 *
 * Without libnats or libbpf these functions are NULL.
 */
#ifndef CLUSTER_LIVE_H
#define CLUSTER_LIVE_H

#include <jansson.h>
#include <stdbool.h>

#include "cluster/nats.h"
#include "metrics/stats.h"

#define CLUSTER_ROSTER_MAX 256
#define CLUSTER_NAME_BYTES 32

/**
 * struct cluster_conf - settings of a cluster
 * @name: its name, which cover map and stream have as well
 * @host: name of this host
 * @roster: names of all hosts, this one among them
 * @nr_roster: how many
 * @local: local filter
 * @all: filter of all
 * @prefix: of the subjects
 * @lag_ns: how far "absent" may be behind
 * @peer_rate: digests a second that a peer may publish; 0: what the filter of all can take of each
 * @buffer: bytes of messages that may wait for their acknowledgement
 * @stream_bytes: of the stream
 * @threads: how many insert, 1 to APPLY_THREADS_MAX
 * @order: of the journal, see epf_tail_open()
 * @login: of the servers
 */
struct cluster_conf {
	char name[CLUSTER_NAME_BYTES];
	char host[CLUSTER_HOST_BYTES];
	char *roster[CLUSTER_ROSTER_MAX];
	unsigned int nr_roster;
	char local[EPF_NAME_LEN];
	char all[EPF_NAME_LEN];
	char *prefix;
	__u64 lag_ns;
	__u64 peer_rate;
	__u64 buffer;
	__u64 stream_bytes;
	unsigned int threads;
	__u32 order;
	struct cluster_login login;
};

struct cluster;

/**
 * cluster_start() - start a cluster
 * @c: result; NULL on failure
 * @conf: settings, valid until cluster_stop()
 *
 * Return: 0; -ENOMEM; errors of starting threads.
 */
int cluster_start(struct cluster **c, const struct cluster_conf *conf) __attribute__((weak));

/**
 * cluster_stop() - withdraw the promise, and wait for the threads
 * @c: may be NULL
 *
 * Some seconds at most, unless a thread hangs.
 *
 * Return: false: a thread hangs, and @c is still in use. Only the end of the process helps.
 */
bool cluster_stop(struct cluster *c) __attribute__((weak));

/* Read the files of the login again, and make another connection by them. The old one stays until
 * that works, so nothing is missed.
 */
void cluster_reopen(struct cluster *c) __attribute__((weak));

/**
 * cluster_look() - look whether the threads of a cluster make steps
 * @c: cluster
 *
 * To be called once a second, by one thread. If they make none for 10 s, because of a connection on
 * which nothing comes, that is ended.
 *
 * Return: false: a thread hangs; none has come back in CLUSTER_LOOKS_MAX looks for each server.
 */
bool cluster_look(struct cluster *c) __attribute__((weak));
#define CLUSTER_LOOKS_MAX 120u

/**
 * cluster_json() - what a cluster does, for "epfctl cluster status"
 * @c: cluster
 * @first: number of the first host to tell about
 * @most: how many hosts
 *
 * Context: any thread.
 *
 * Return: a new reference; NULL: out of memory.
 */
json_t *cluster_json(struct cluster *c, unsigned int first, unsigned int most)
	__attribute__((weak));

/* The same for metrics: @s has room for the roster. Return: samples, one for each other host. */
unsigned int cluster_stats(struct cluster *c, struct stats_cluster *all, struct stats_peer *peers)
	__attribute__((weak));

#endif /* CLUSTER_LIVE_H */
