/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of a live cluster share. */
#ifndef CLUSTER_LIVE_OWN_H
#define CLUSTER_LIVE_OWN_H

#include <pthread.h>

#include "cluster/apply.h"
#include "cluster/beat.h"
#include "cluster/cover_map.h"
#include "cluster/coverage.h"
#include "cluster/live.h"
#include "cluster/nats.h"
#include "cluster/publish.h"
#include "cluster/stamp.h"

#define LIVE_INTERVAL_NS 100000000ULL /* of messages, and of the promise */
#define LIVE_AGAIN_NS 1000000000ULL   /* until something that failed is tried again */

/**
 * struct live_link - connection of a cluster; all but @nats is of the main thread
 * @lock: protects @nats, while the other thread uses it and while it is exchanged
 * @stream: name of the stream
 * @nats: transport; changes by the main thread only; NULL: none
 * @connections: made
 * @server: that is tried next
 * @failed: servers in a row that failed
 * @again_ns: when they are tried again
 * @wanted: another connection is to take the place of @nats
 * @secrets: secret_stamp() of the files that the last one was made by
 * @seen: the same at the last look: a change counts when two looks agree
 * @warned: that the login can be evaded
 * @fault: why the last attempt with each server failed
 */
struct live_link {
	pthread_mutex_t lock;
	char stream[CLUSTER_NAME_BYTES + 8];
	struct cluster_nats *nats;
	unsigned int connections;
	unsigned int server;
	unsigned int failed;
	__u64 again_ns;
	bool wanted;
	__u64 secrets;
	__u64 seen;
	bool warned;
	char fault[CLUSTER_SERVERS_MAX][160];
};

/**
 * struct cluster - a cluster. Fields of a run are valid while one is, and its threads are
 * started after and joined before they change
 * @conf: settings
 * @thread: main thread
 * @sender: publishing thread
 * @beat: of @thread, and of @sender
 * @end: eventfd: the threads must end
 * @over: atomic: this run must end, because a thread cannot go on
 * @reopen: atomic: cluster_reopen() was called
 * @begun: atomic: own insertions are published
 * @sender_error: of a run: why the publishing thread ended; "": it did not fail
 * @filters: of a run: both filters
 * @map: of a run: cover map
 * @map_fd: likewise
 * @link: connection
 * @publisher: of a run: own messages; changes with @lock only
 * @last_stamp: of a run, main thread: stamp of the last message
 * @all_since: of a run, main thread: own time since when the filter of all keeps what it gets
 * @lock: protects all below
 * @coverage: of a run; NULL: there is no run
 * @clock: cluster time
 * @covered: there is a promise
 * @until_ns: until when, CLOCK_MONOTONIC
 * @checked_ns: when the filters were looked at last, and were those of @map with one hash key
 * @changed_ns: when @covered changed
 * @joined: messages are received
 * @cert_end: end of the certificate, s since 1970; 0: not known, or there is none
 * @trouble: what failed last, and has not worked since; "": nothing
 * @saturated: the filter of all is
 * @share: digests of each host in about the last window
 * @rate: digests a second of each host, lately
 * @seen: digests of each host when @rate was taken
 * @rated_ns: when that was
 */
struct cluster {
	const struct cluster_conf *conf;
	pthread_t thread;
	pthread_t sender;
	struct beat beat[2];
	int end;
	bool over;
	bool reopen;
	bool begun;
	struct rec_error sender_error;
	struct apply_filters filters;
	struct epf_cluster_cover *map;
	int map_fd;
	struct live_link link;
	struct publisher *publisher;
	__u64 last_stamp;
	__u64 all_since;
	pthread_mutex_t lock;
	struct coverage *coverage;
	struct cluster_clock clock;
	bool covered;
	__u64 until_ns;
	__u64 checked_ns;
	__u64 changed_ns;
	bool joined;
	__u64 cert_end;
	struct rec_error trouble;
	bool saturated;
	__u64 share[CLUSTER_ROSTER_MAX];
	__u64 rate[CLUSTER_ROSTER_MAX];
	__u64 seen[CLUSTER_ROSTER_MAX];
	__u64 rated_ns;
};

enum live_thread {
	LIVE_MAIN,
	LIVE_SENDER,
};

/* live.c: */

/* Return: false: the threads must end. */
bool live_wait(const struct cluster *c, __u64 ns);
/* Must this run end? */
bool live_over(struct cluster *c);
/* Log what failed, or @e NULL: that it works again, once until it changes. */
void live_say(struct cluster *c, const struct rec_error *e);
/* Messages are replayed for a window and this: two epochs of the filter of all. */
__u64 live_replay_ns(const struct cluster *c);
/* Move the promise on, or withdraw it. */
void live_promise(struct cluster *c);

/* live_receive.c: the host with the most digests in the filter of all; its share in per cent */
unsigned int live_largest(const struct cluster *c, unsigned int *percent);

/* live_connect.c, all but live_publish() and live_connected() for the main thread only: */

/* Make a connection, or another one that is wanted. Return: 0: there is one; -EAGAIN: not now, and
 * if all servers have just failed, @e says why.
 */
int live_connect(struct cluster *c, struct rec_error *e);
void live_disconnect(struct cluster *c);
/* Have files of the login changed? To be called once a second. */
void live_look_secrets(struct cluster *c);
bool live_connected(struct cluster *c);
int live_publish(void *cluster, const char *id, const void *data, size_t bytes);

/* live_receive.c: until the run is over. Return: 0: the threads must end; a negative errno: the run
 * failed, and @e says why.
 */
int live_receive(struct cluster *c, struct rec_error *e);

/* live_send.c: the publishing thread */
void *live_send(void *cluster);

#endif /* CLUSTER_LIVE_OWN_H */
