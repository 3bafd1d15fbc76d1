/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of this host: made of the digests that are new in its filter, and kept until the
 * stream has them. A message that is not acknowledged is sent again, in order with the
 * others. What does not fit into the queue is dropped, and the next message says so.
 *
 * Every message covers the insertions from the end of the one before, in cluster time. An
 * interval with more digests than a message takes has several messages; all but the last end
 * where they begin.
 *
 * One thread adds and sends; acknowledgements may come in any other one.
 */
#ifndef CLUSTER_PUBLISH_H
#define CLUSTER_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

#include "cluster/wire.h"

#define CLUSTER_ID_BYTES 128 /* of an identifier of a message, with its NUL */

/**
 * struct publish_conf - parameters
 * @head: check, kind of hash, window, host and incarnation of all messages
 * @buffer: bytes of messages that may wait
 * @send: send a message; 0 or a negative errno
 * @ctx: for @send
 */
struct publish_conf {
	struct cluster_msg head;
	__u64 buffer;
	int (*send)(void *ctx, const char *id, const void *data, size_t bytes);
	void *ctx;
};

/**
 * struct publish_state - for status and metrics
 * @messages: made
 * @digests: in them
 * @lost: insertions that no message has, because the journal or the queue was full
 * @waiting: messages that are not acknowledged yet
 * @bytes: of those
 * @resent: sendings after the first one of a message
 */
struct publish_state {
	__u64 messages;
	__u64 digests;
	__u64 lost;
	__u64 waiting;
	__u64 bytes;
	__u64 resent;
};

struct publisher;

/* Return: NULL: out of memory. */
struct publisher *publish_new(const struct publish_conf *conf);
/* No acknowledgement may come any more. @p may be NULL. */
void publish_free(struct publisher *p);

/* Begin again as another incarnation: what waits is dropped, and no interval has begun. */
void publish_renew(struct publisher *p, __u64 incarnation);

/* The first interval begins at @from, in cluster time. Until that is over, only
 * publish_hello().
 */
void publish_begin(struct publisher *p, __u64 from);

/**
 * publish_add() - queue a message
 * @p: publisher
 * @digest: digests
 * @count: 0 .. CLUSTER_DIGESTS_MAX
 * @lost: insertions that are missing since the last message
 * @to: end of the interval, in cluster time; 0: it goes on in the next message
 */
void publish_add(struct publisher *p, const __u64 *digest, __u32 count, __u64 lost, __u64 to);

/* Send, but do not keep, a message that only asks for the time. */
void publish_hello(struct publisher *p, __u64 now_ns);

/* Send what waits. @now_ns: CLOCK_MONOTONIC. Return: 0; the error of @send. */
int publish_send(struct publisher *p, __u64 now_ns);

/* Is a message without digests worth its place? Not while others wait to be sent. */
bool publish_idle(struct publisher *p);

/* Count nothing as under way: the connection is another one. */
void publish_again(struct publisher *p);

/* Context: any thread. */
void publish_acknowledged(struct publisher *p, const char *id, int err);

/* When was this message sent first? Return: false: by another incarnation, or too long ago. */
bool publish_sent_ns(struct publisher *p, const char *id, __u64 *sent_ns);

void publish_state(struct publisher *p, struct publish_state *s);

#endif /* CLUSTER_PUBLISH_H */
