/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a host knows of its peers: up to which cluster time it has the keys of each, and from which
 * on. A state machine without I/O and without a clock; one thread at a time. Memory is allocated
 * by coverage_new() only.
 *
 * For each message of a peer: coverage_offer(), then, if that says so, insert its digests into
 * the filter of all, then coverage_applied(). coverage_until() says how long the packet path may
 * answer "absent in the whole cluster":
 *
 *   The answer at cluster time T is right for all keys that a host of the roster inserted in
 *   (T - W, T - D]: the insertion began after T - W, and had returned at T - D. W is the window
 *   less CLUSTER_CLOCK_PPM (filters measure it on the clocks of their hosts), and D is the lag.
 *
 * So each peer must be known from T - W (judged by the lower bound of cluster time) to T - D
 * (judged by the upper bound), and the own filter must be complete for W.
 */
#ifndef CLUSTER_COVERAGE_H
#define CLUSTER_COVERAGE_H

#include <stdbool.h>

#include "cluster/stamp.h"
#include "cluster/wire.h"

#define COVERAGE_HOSTS_MAX 1024u
#define COVERAGE_SPANS_MAX 65u /* of a host: what is known, and 64 behind holes */
#define COVERAGE_GAP_LAGS 4u   /* a missing message is waited for so many lags */

struct coverage;

/**
 * struct coverage_conf - of a cluster
 * @roster: names of all hosts, also the own one; copied
 * @hosts: their number, 1 .. COVERAGE_HOSTS_MAX
 * @self: the own one
 * @check: see cluster_check(); equal in all messages, as the next two
 * @hash_kind: enum epf_hash_id
 * @window_ns: window of the filters
 * @lag_ns: D; above 0, below the window
 * @replay_ns: messages are replayed for the window and this, two epochs of the filter of all
 * @peer_rate: digests per second that a peer may send, by the stamps of the server
 * @peer_burst: digests that it may send at once; 0: those of 10 seconds and of a
 *	message
 */
struct coverage_conf {
	const char *const *roster;
	unsigned int hosts;
	const char *self;
	__u64 check[2];
	__u32 hash_kind;
	__u64 window_ns;
	__u64 lag_ns;
	__u64 replay_ns;
	__u64 peer_rate;
	__u64 peer_burst;
};

enum coverage_take {
	COVERAGE_APPLY,  /* insert the digests */
	COVERAGE_KNOWN,  /* repeated, own, or without contents: nothing to do */
	COVERAGE_REFUSE, /* for the reason in the error */
};

enum coverage_refusal {
	COVERAGE_REFUSED_SUBJECT, /* the subject is that of another host */
	COVERAGE_REFUSED_KIND,    /* another hash */
	COVERAGE_REFUSED_WINDOW,  /* another window */
	COVERAGE_REFUSED_CHECK,   /* another hash key, or keys of another kind */
	COVERAGE_REFUSED_FUTURE,  /* ends after its own stamp */
	COVERAGE_REFUSED_STAMP,   /* stamped after now */
	COVERAGE_REFUSED_RATE,    /* more digests than allowed */
	COVERAGE_REFUSED_DAMAGED, /* cluster_msg_get() refused it */
	COVERAGE_REFUSALS
};

/* Why a host is not covered; the first that applies. */
enum coverage_why {
	COVERAGE_COVERED,
	COVERAGE_NO_CLOCK, /* cluster time is not known */
	COVERAGE_OWN,      /* a filter of the own host retains less than the window */
	COVERAGE_NEVER,    /* nothing was heard, or nothing since the clock began anew */
	COVERAGE_SILENT,   /* nothing was heard for longer than the lag */
	COVERAGE_GAP,      /* a message is missing, those after it are there */
	COVERAGE_FILLING,  /* known for less than a window */
	COVERAGE_WHYS
};

/**
 * struct coverage_host - of one host, for status and metrics
 * @name: valid as long as the coverage
 * @self: the own host; only @why and @wait_ns are of interest
 * @why: enum coverage_why
 * @refusal: the last one, enum coverage_refusal; COVERAGE_REFUSALS: none
 * @since: all its keys are known from this cluster time; SPAN_NEVER: none
 * @through: up to this cluster time; 0: none
 * @behind_ns: age of @through, by the upper bound of cluster time
 * @wait_ns: COVERAGE_FILLING, COVERAGE_OWN: how long until it is covered, if nothing happens
 * @heard_ns: own time when the last valid message came; 0: never
 * @incarnation: of the last message
 * @pending: runs of messages that wait for a missing one
 * @messages: applied
 * @digests: in them
 * @repeats: messages that were known
 * @incarnations: journals that the host had
 * @gaps: holes that were given up
 * @lost: keys that the host said it lost
 * @refused: messages, by enum coverage_refusal
 */
struct coverage_host {
	const char *name;
	bool self;
	enum coverage_why why;
	enum coverage_refusal refusal;
	__u64 since;
	__u64 through;
	__u64 behind_ns;
	__u64 wait_ns;
	__u64 heard_ns;
	__u64 incarnation;
	__u64 pending;
	__u64 messages;
	__u64 digests;
	__u64 repeats;
	__u64 incarnations;
	__u64 gaps;
	__u64 lost;
	__u64 refused[COVERAGE_REFUSALS];
};

/* Return: NULL: out of memory, or a configuration that cannot be; @e says why. */
struct coverage *coverage_new(const struct coverage_conf *conf, struct rec_error *e);
void coverage_free(struct coverage *c);

/**
 * coverage_own() - say since when both filters retain everything
 * @c: coverage
 * @since_ns: own time, as epf_state_since() of the filter that retains less
 *
 * Nothing is covered before the first call. It must then be a window ago.
 */
void coverage_own(struct coverage *c, __u64 since_ns);

/**
 * coverage_reset() - forget all messages: the filter of all has new contents
 * @c: coverage; it wants a replay then
 */
void coverage_reset(struct coverage *c);

/**
 * coverage_offer() - judge a message, before its digests are inserted
 * @c: coverage
 * @m: message, as cluster_msg_get() gave it
 * @subject_host: the last token of its subject, for which the server vouches
 * @stamp: the server's time stamp of the message; cluster time
 * @k: clock
 * @now_ns: own time
 * @e: with COVERAGE_REFUSE: why
 *
 * Return: enum coverage_take. A message that is refused for its rate is a hole; one that is refused
 * for another reason has not been there.
 */
enum coverage_take coverage_offer(struct coverage *c, const struct cluster_msg *m,
				  const char *subject_host, __u64 stamp,
				  const struct cluster_clock *k, __u64 now_ns, struct rec_error *e);

/* Count a message of @subject_host that could not be decoded. */
void coverage_damaged(struct coverage *c, const char *subject_host);

/* The digests of @m, for which coverage_offer() returned COVERAGE_APPLY, are in the filter of all.
 * If they could not be inserted, do not call this: the message is then missing.
 */
void coverage_applied(struct coverage *c, const struct cluster_msg *m, __u64 stamp);

/**
 * coverage_until() - how long may the packet path say "absent in the whole cluster"?
 * @c: coverage
 * @k: clock
 * @now_ns: own time
 * @until_ns: own time, at least @now_ns and at most the lag after it
 *
 * To be called some times a lag: it also gives up holes that are too old.
 *
 * Return: false: not now.
 */
bool coverage_until(struct coverage *c, struct cluster_clock *k, __u64 now_ns, __u64 *until_ns);

/**
 * coverage_wants_replay() - should messages be read from the stream again?
 * @c: coverage
 * @k: clock
 * @now_ns: own time
 * @from_stamp: those stamped since then; 0: all
 *
 * At the beginning and after coverage_reset(): of a window and some more. While there is a hole
 * that is one lag old: from there on. No more than once every two lags.
 * Not after the clock began anew: what the stream has then is of another clock.
 */
bool coverage_wants_replay(struct coverage *c, struct cluster_clock *k, __u64 now_ns,
			   __u64 *from_stamp);

/* Number of hosts in the roster, and one of them. */
unsigned int coverage_hosts(const struct coverage *c);
void coverage_host(const struct coverage *c, unsigned int i, struct cluster_clock *k, __u64 now_ns,
		   struct coverage_host *out);

/* Messages of hosts that are not in the roster. */
__u64 coverage_strangers(const struct coverage *c);

/* Words for status: "silent", "its hash key is another one". */
const char *coverage_why_name(enum coverage_why why);
const char *coverage_refusal_name(enum coverage_refusal refusal);

#endif /* CLUSTER_COVERAGE_H */
