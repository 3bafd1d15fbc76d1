/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a simulated cluster, for the files of the simulator. */
#ifndef CLUSTER_SIM_OWN_H
#define CLUSTER_SIM_OWN_H

#include "sim.h"

enum event_kind { INSERT, PUBLISH, READ, TICK_DUE, ARRIVE, DELIVER, ACKNOWLEDGE };

/**
 * struct event - something that happens
 * @at: true time
 * @kind: enum event_kind
 * @host: with whom
 * @message: index, of those that have one
 * @stamp: of a delivery
 * @life: of the agent's process; an event of an earlier one is void
 */
struct event {
	__u64 at;
	__u64 stamp;
	__u32 message;
	__u32 life;
	__u8 kind;
	__u8 host;
};

/**
 * struct message - a message as bytes
 * @bytes: encoded
 * @len: number of bytes
 * @host: publisher
 * @life: process of the publisher
 * @sent: own time when it was sent first
 * @again: own time when it was sent last
 * @stamp: by the broker, of its last storing; 0: not there
 */
struct message {
	__u8 bytes[MESSAGE_BYTES];
	size_t len;
	unsigned int host;
	__u32 life;
	__u64 sent, again, stamp;
};

/**
 * struct host - filters, journal and agent
 * @name: of the host
 * @ppm: error of its clock
 * @born: true time of its last start
 * @seen: own time at which each key came into a filter; 0: never
 * @journal: keys of own insertions
 * @written: number of keys in it
 * @up: the host runs
 * @alive: the agent runs
 * @stopped: but does nothing
 * @life: number of processes so far
 * @clock: cluster time
 * @coverage: what it knows
 * @without: what it would know without the messages of the forger
 * @until: what the packet path compares; it stays when the agent dies
 * @replay_from: replay that the broker has not begun yet; ~0: none
 * @covered_since: true time from which all ticks said "covered"; ~0: the last one did not
 * @incarnation: publisher
 * @seq: of the last message
 * @from: cluster time of the end of the last message; 0: not begun
 * @low: lower bound before the reading that is due
 * @tail: keys of the journal that were read
 * @lost: keys that are to be told as lost
 * @restarts: of the clock, when this incarnation began
 * @queue: messages that are not acknowledged
 * @queued: their number
 */
struct host {
	char name[CLUSTER_HOST_BYTES];
	int ppm;
	__u64 born;
	__u64 seen[KEYS_MAX];
	__u32 journal[KEYS_MAX];
	__u32 written;
	bool up, alive, stopped;
	__u32 life;
	struct cluster_clock clock;
	struct coverage *coverage, *without;
	__u64 until, replay_from, covered_since;
	__u64 incarnation, seq, from, low, lost, restarts;
	__u32 tail;
	__u32 queue[QUEUE_MAX];
	__u32 queued;
};

/* A place in the stream: a message, and the stamp that it has there. */
struct stored {
	__u32 message;
	__u64 stamp;
};

struct sim {
	const struct plan *plan;
	struct outcome *out;
	__u64 now, random, jump;
	struct host host[HOSTS_MAX];
	const char *roster[HOSTS_MAX];
	__u64 returned
		[KEYS_MAX]; /* the oracle: when the insertion of each key returned; true time, */
	__u64 stamped[KEYS_MAX]; /* and by the broker's clock */
	__u32 keys;
	struct message message[MESSAGES_MAX];
	__u32 messages;
	struct stored stream[STORED_MAX];
	__u32 stored;
	struct event *heap;
	__u32 events, room;
};

/* sim.c */
void sim_event(struct sim *s, __u64 at, enum event_kind kind, unsigned int host, __u32 message,
	       __u64 stamp);
bool sim_fault(const struct sim *s, enum fault_kind kind, unsigned int host);
__u64 sim_draw(struct sim *s, __u64 below);
__u64 sim_own(const struct sim *s, const struct host *h, __u64 at);

/* sim_net.c: the broker and the way to it */
void net_send(struct sim *s, __u32 message);
void net_arrive(struct sim *s, const struct event *e);
void net_replay(struct sim *s, unsigned int host);
void net_stranger(struct sim *s, unsigned int host);
void net_forge(struct sim *s, unsigned int host);

/* sim_host.c: the agent */
void host_begin(struct sim *s, unsigned int host);
void host_agent(struct sim *s, unsigned int host, bool anew);
void host_agent_dies(struct host *h);
void host_dies(struct host *h);
void host_insert(struct sim *s, unsigned int host);
void host_publish(struct sim *s, unsigned int host);
void host_read(struct sim *s, unsigned int host);
void host_tick(struct sim *s, unsigned int host);
void host_deliver(struct sim *s, const struct event *e);
void host_acknowledge(struct host *h, __u32 message);

#endif /* CLUSTER_SIM_OWN_H */
