// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The publishing thread of a live cluster. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cluster/live_own.h"
#include "common/clock.h"
#include "records/rec_error.h"
#include "tail.h"

/* Messages that are made in one turn, at most: so sending comes first. */
#define ROUNDS_MAX 32u
/* A turn that gave so many digests is followed by the next one at once. */
#define BUSY (CLUSTER_DIGESTS_MAX / 2)
#define BUSY_NS 10000000ULL

/**
 * struct sender - state of the publishing thread
 * @tail: journal
 * @digests: room for those of a message
 * @restarts: of cluster time, when the incarnation began
 */
struct sender {
	struct epf_tail *tail;
	__u64 *digests;
	__u64 restarts;
};

/* Messages end so much before the lower bound of cluster time: a server whose clock is being
 * slewed, by some per cent at most, still stamps them later than they end.
 */
#define SLACK_NS 10000000ULL

/* Return: false: it is not known. */
static bool time_low(struct cluster *c, __u64 *t)
{
	bool known;

	pthread_mutex_lock(&c->lock);
	known = cluster_clock_low(&c->clock, now_ns(), t);
	pthread_mutex_unlock(&c->lock);
	if (known)
		*t -= SLACK_NS;
	return known;
}

static bool time_high(struct cluster *c, __u64 *t)
{
	bool known;

	pthread_mutex_lock(&c->lock);
	known = cluster_clock_high(&c->clock, now_ns(), t);
	pthread_mutex_unlock(&c->lock);
	return known;
}

static __u64 time_restarts(struct cluster *c)
{
	__u64 restarts;

	pthread_mutex_lock(&c->lock);
	restarts = c->clock.restarts;
	pthread_mutex_unlock(&c->lock);
	return restarts;
}

/* Return: false: this run is over. */
static bool send_pause(struct cluster *c, __u64 ns)
{
	beat_step(&c->beat[LIVE_SENDER]);
	live_promise(c);
	return live_wait(c, ns) && !live_over(c);
}

/* Ask for the time until its lower bound is @from or later; 0: until it is known. Return: false:
 * this run is over.
 */
static bool send_hellos(struct cluster *c, __u64 from)
{
	__u64 low;

	while (!time_low(c, &low) || low < from) {
		publish_hello(c->publisher, now_ns());
		if (!send_pause(c, LIVE_INTERVAL_NS))
			return false;
	}
	return true;
}

/* The journal of an agent that was killed goes on; what it has is of before the first interval. */
static int send_discard(struct sender *s)
{
	__u64 lost;
	long n;

	do {
		n = epf_tail_read(s->tail, s->digests, CLUSTER_DIGESTS_MAX, &lost);
	} while (n == CLUSTER_DIGESTS_MAX);
	return n < 0 ? (int)n : 0;
}

static int send_open(struct cluster *c, struct sender *s, struct rec_error *e)
{
	int ret = epf_tail_open(c->filters.local, c->conf->order, &s->tail);

	if (!ret)
		ret = send_discard(s);
	if (!ret)
		return 0;
	return rec_error_set(e, ret, "filter '%s': cannot keep a journal: %s", c->conf->local,
			     ret == -EBUSY ? "it has one for another process" : strerror(-ret));
}

/* Begin the first interval of an incarnation, now that there is a journal. Its first message may
 * not end before it begins. Return: false: this run is over.
 */
static bool send_begin(struct cluster *c, struct sender *s)
{
	__u64 from;

	do {
		s->restarts = time_restarts(c);
		if (!send_hellos(c, 0))
			return false;
	} while (!time_high(c, &from) || !send_hellos(c, from) || s->restarts != time_restarts(c));
	publish_begin(c->publisher, from);
	__atomic_store_n(&c->begun, true, __ATOMIC_RELEASE);
	return !live_over(c);
}

/* The servers' clock is another one, or was set: intervals by the old one mean nothing. */
static int send_renew(struct cluster *c, struct sender *s, struct rec_error *e)
{
	__u64 incarnation;

	if (getrandom(&incarnation, sizeof(incarnation), 0) < 0)
		return rec_error_set(e, -errno, "random number: %s", strerror(errno));
	publish_renew(c->publisher, incarnation);
	return send_begin(c, s) ? 0 : -ECANCELED;
}

/* Read the journal to its end, and queue what it has. Return: digests; a negative errno. */
static long send_read(struct cluster *c, struct sender *s)
{
	unsigned int rounds;
	long n, all = 0;
	__u64 to, lost;
	bool full = true;

	if (!time_low(c, &to)) {
		publish_hello(c->publisher, now_ns());
		to = 0;
	}
	for (rounds = 0; full && rounds < ROUNDS_MAX; rounds++) {
		lost = 0;
		n = epf_tail_read(s->tail, s->digests, CLUSTER_DIGESTS_MAX, &lost);
		if (n < 0)
			return n;
		full = n == CLUSTER_DIGESTS_MAX;
		lost += !full && apply_overfull(&c->filters);
		if (n || lost || (to && publish_idle(c->publisher)))
			publish_add(c->publisher, s->digests, (__u32)n, lost, full ? 0 : to);
		all += n;
	}
	return all;
}

static int send_fault(struct cluster *c, long err, struct rec_error *e)
{
	if (err == -ESTALE)
		return rec_error_set(e, -ESTALE, "filter '%s' has other contents now",
				     c->conf->local);
	return rec_error_set(e, (int)err, "journal of filter '%s': %s", c->conf->local,
			     strerror((int)-err));
}

static int send_on(struct cluster *c, struct sender *s, struct rec_error *e)
{
	int ret;
	long n;

	do {
		if (s->restarts != time_restarts(c)) {
			ret = send_renew(c, s, e);
			if (ret)
				return ret;
		}
		n = send_read(c, s);
		if (n < 0)
			return send_fault(c, n, e);
		if (live_connected(c))
			publish_send(c->publisher, now_ns());
	} while (send_pause(c, n > BUSY ? BUSY_NS : LIVE_INTERVAL_NS));
	return 0;
}

void *live_send(void *arg)
{
	struct cluster *c = arg;
	struct rec_error *e = &c->sender_error;
	struct sender s = { .digests = malloc(CLUSTER_DIGESTS_MAX * sizeof(__u64)) };
	int ret = s.digests ? 0 : rec_error_set(e, -ENOMEM, "out of memory");

	if (!ret)
		ret = send_open(c, &s, e);
	if (!ret && send_begin(c, &s))
		send_on(c, &s, e);
	epf_tail_end(s.tail);
	free(s.digests);
	beat_end(&c->beat[LIVE_SENDER]);
	__atomic_store_n(&c->over, true, __ATOMIC_RELEASE);
	return NULL;
}
