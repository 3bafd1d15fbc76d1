// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See publish.h. */
#include "cluster/publish.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Messages under way, at most: the rest waits its turn. */
#define FLIGHT_MAX 64u
/* Sendings that are remembered: some minutes of them. */
#define SENT_MAX 4096u
#define HELLO (1ULL << 63)

/**
 * struct pack - a message that waits for its acknowledgement
 * @link: in the queue, in the order of @seq
 * @seq: number
 * @bytes: of @data
 * @flying: sent, and neither acknowledged nor refused
 * @tries: sendings
 */
struct pack {
	TAILQ_ENTRY(pack) link;
	__u64 seq;
	size_t bytes;
	bool flying;
	unsigned int tries;
	unsigned char data[];
};

/**
 * struct sent - when a message was sent first
 * @number: its @seq, or HELLO and the number of a message that is not kept; 0: none
 * @ns: CLOCK_MONOTONIC
 */
struct sent {
	__u64 number;
	__u64 ns;
};

/**
 * struct publisher - see publish.h
 * @conf: parameters
 * @lock: protects all below
 * @queue: messages
 * @flying: how many of them are under way
 * @seq: number of the last message
 * @hellos: messages that were not kept; of the sending thread
 * @end: end of the last interval; 0: none has begun
 * @dropped: insertions that the next message must count as lost
 * @state: counters
 * @sent: ring, by number
 */
struct publisher {
	struct publish_conf conf;
	pthread_mutex_t lock;
	TAILQ_HEAD(, pack) queue;
	unsigned int flying;
	__u64 seq;
	__u64 hellos;
	__u64 end;
	__u64 dropped;
	struct publish_state state;
	struct sent sent[SENT_MAX];
};

struct publisher *publish_new(const struct publish_conf *conf)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->conf = *conf;
	pthread_mutex_init(&p->lock, NULL);
	TAILQ_INIT(&p->queue);
	return p;
}

static void publish_drop(struct publisher *p, struct pack *k)
{
	TAILQ_REMOVE(&p->queue, k, link);
	p->flying -= k->flying;
	p->state.waiting--;
	p->state.bytes -= k->bytes;
	free(k);
}

void publish_free(struct publisher *p)
{
	if (!p)
		return;
	while (!TAILQ_EMPTY(&p->queue))
		publish_drop(p, TAILQ_FIRST(&p->queue));
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void publish_renew(struct publisher *p, __u64 incarnation)
{
	pthread_mutex_lock(&p->lock);
	while (!TAILQ_EMPTY(&p->queue))
		publish_drop(p, TAILQ_FIRST(&p->queue));
	p->conf.head.incarnation = incarnation;
	p->seq = p->end = p->dropped = 0;
	memset(p->sent, 0, sizeof(p->sent));
	pthread_mutex_unlock(&p->lock);
}

void publish_begin(struct publisher *p, __u64 from)
{
	pthread_mutex_lock(&p->lock);
	p->end = from;
	pthread_mutex_unlock(&p->lock);
}

/* Making messages; @lock is held */

static struct pack *pack_new(struct publisher *p, const struct cluster_msg *m)
{
	size_t bytes = cluster_msg_bytes(m->count);
	struct pack *k = p->state.bytes + bytes <= p->conf.buffer ? malloc(sizeof(*k) + bytes) :
								    NULL;

	if (!k)
		return NULL;
	memset(k, 0, sizeof(*k));
	k->seq = m->seq;
	k->bytes = cluster_msg_put(m, k->data, bytes);
	return k;
}

/* A message that has no place leaves its number and its interval to the next one. */
static void publish_queue(struct publisher *p, struct cluster_msg *m)
{
	struct pack *k = pack_new(p, m);

	if (!k) {
		p->dropped += m->count;
		p->state.lost += m->count;
		return;
	}
	TAILQ_INSERT_TAIL(&p->queue, k, link);
	p->seq = m->seq;
	p->end = m->to;
	p->dropped -= m->lost;
	p->state.messages++;
	p->state.digests += m->count;
	p->state.waiting++;
	p->state.bytes += k->bytes;
}

void publish_add(struct publisher *p, const __u64 *digest, __u32 count, __u64 lost, __u64 to)
{
	struct cluster_msg m = p->conf.head;

	pthread_mutex_lock(&p->lock);
	p->dropped += lost;
	p->state.lost += lost;
	m.seq = p->seq + 1;
	m.from = p->end;
	m.to = to > p->end ? to : p->end;
	m.lost = to ? p->dropped : 0; /* they may be as late as the end of the interval */
	m.count = count;
	m.digest = digest;
	publish_queue(p, &m);
	pthread_mutex_unlock(&p->lock);
}

/* Sending */

/* Of the first sending alone: a copy that comes back may be of that one. */
static void remember(struct publisher *p, __u64 number, __u64 now_ns)
{
	struct sent *s = &p->sent[number % SENT_MAX];

	if (s->number != number)
		*s = (struct sent){ number, now_ns };
}

/* HOST.INCARNATION.NUMBER, where the number of a message that is not kept begins with 'h'. */
static void publish_id(const struct publisher *p, __u64 number, char id[CLUSTER_ID_BYTES])
{
	snprintf(id, CLUSTER_ID_BYTES, "%s.%016" PRIx64 ".%s%" PRIu64, p->conf.head.host,
		 (uint64_t)p->conf.head.incarnation, number & HELLO ? "h" : "",
		 (uint64_t)(number & ~HELLO));
}

/* The inverse. Return: 0: it is not of this publisher. */
static __u64 publish_number(const struct publisher *p, const char *id)
{
	const char *text = strrchr(id, '.');
	char same[CLUSTER_ID_BYTES];
	__u64 number;

	if (!text)
		return 0;
	number = text[1] == 'h' ? strtoull(text + 2, NULL, 10) | HELLO :
				  strtoull(text + 1, NULL, 10);
	publish_id(p, number, same);
	return strcmp(id, same) ? 0 : number;
}

void publish_hello(struct publisher *p, __u64 now_ns)
{
	unsigned char data[CLUSTER_HEAD_BYTES];
	char id[CLUSTER_ID_BYTES];
	size_t bytes;

	pthread_mutex_lock(&p->lock);
	remember(p, ++p->hellos | HELLO, now_ns);
	pthread_mutex_unlock(&p->lock);
	bytes = cluster_msg_put(&p->conf.head, data, sizeof(data));
	publish_id(p, p->hellos | HELLO, id);
	p->conf.send(p->conf.ctx, id, data, bytes);
}

static struct pack *publish_next(struct publisher *p)
{
	struct pack *k;

	if (p->flying >= FLIGHT_MAX)
		return NULL;
	TAILQ_FOREACH(k, &p->queue, link)
	if (!k->flying)
		return k;
	return NULL;
}

/* It counts as under way before it is sent, since its acknowledgement may be faster. The
 * thread that sends is the only one that frees messages under way but by their
 * acknowledgement, so a copy goes out.
 */
static int send_one(struct publisher *p, struct pack *k, __u64 now_ns, unsigned char *copy)
{
	size_t bytes = k->bytes;
	__u64 seq = k->seq;
	char id[CLUSTER_ID_BYTES];
	int ret;

	k->flying = true;
	p->flying++;
	p->state.resent += k->tries++ > 0;
	remember(p, seq, now_ns);
	memcpy(copy, k->data, bytes);
	pthread_mutex_unlock(&p->lock);
	publish_id(p, seq, id);
	ret = p->conf.send(p->conf.ctx, id, copy, bytes);
	if (ret)
		publish_acknowledged(p, id, ret);
	pthread_mutex_lock(&p->lock);
	return ret;
}

int publish_send(struct publisher *p, __u64 now_ns)
{
	unsigned char *copy = malloc(cluster_msg_bytes(CLUSTER_DIGESTS_MAX));
	struct pack *k;
	int ret = copy ? 0 : -ENOMEM;

	pthread_mutex_lock(&p->lock);
	while (!ret && (k = publish_next(p)))
		ret = send_one(p, k, now_ns, copy);
	pthread_mutex_unlock(&p->lock);
	free(copy);
	return ret;
}

bool publish_idle(struct publisher *p)
{
	bool idle;

	pthread_mutex_lock(&p->lock);
	idle = p->state.waiting < FLIGHT_MAX;
	pthread_mutex_unlock(&p->lock);
	return idle;
}

/* Acknowledgements */

static struct pack *publish_find(struct publisher *p, __u64 seq)
{
	struct pack *k;

	TAILQ_FOREACH(k, &p->queue, link)
	if (k->seq == seq)
		return k;
	return NULL;
}

void publish_acknowledged(struct publisher *p, const char *id, int err)
{
	struct pack *k;

	pthread_mutex_lock(&p->lock);
	k = publish_find(p, publish_number(p, id));
	if (k && err) {
		p->flying -= k->flying;
		k->flying = false;
	} else if (k) {
		publish_drop(p, k);
	}
	pthread_mutex_unlock(&p->lock);
}

void publish_again(struct publisher *p)
{
	struct pack *k;

	pthread_mutex_lock(&p->lock);
	TAILQ_FOREACH(k, &p->queue, link)
	k->flying = false;
	p->flying = 0;
	pthread_mutex_unlock(&p->lock);
}

bool publish_sent_ns(struct publisher *p, const char *id, __u64 *sent_ns)
{
	__u64 number = publish_number(p, id);
	const struct sent *s = &p->sent[number % SENT_MAX];
	bool found;

	pthread_mutex_lock(&p->lock);
	found = number && s->number == number;
	*sent_ns = s->ns;
	pthread_mutex_unlock(&p->lock);
	return found;
}

void publish_state(struct publisher *p, struct publish_state *s)
{
	pthread_mutex_lock(&p->lock);
	*s = p->state;
	pthread_mutex_unlock(&p->lock);
}
