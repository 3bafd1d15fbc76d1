// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The receiving side of a live cluster: joining the stream, and its messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/live_own.h"
#include "common/clock.h"
#include "common/error.h"
#include "records/rec_error.h"

#define WAIT_MS 50u
/* Own messages come each LIVE_INTERVAL_NS, so silence means that the consumer is dead, or
 * begins at a time to come because the server's clock was set back.
 */
#define SILENT_WAITS 60u /* 3 s. Counted, since this thread may be stopped, or insert for long */
#define LATE_JOINS 5u    /* without an answer, in a row: another connection is tried */
#define CHECK_NS NS_PER_SEC
#define WARN_NS (10 * NS_PER_SEC)

/**
 * struct receiver - state of the main thread during a run
 * @c: cluster
 * @digests: of the message in hand
 * @connection: number of the one that was joined by; 0: none
 * @late: how often joining had no answer, in a row
 * @waits: for a message in which none came, since the last one or since it was joined
 * @check_ns: when the filters are to be looked at again
 * @warned_ns: when a refusal was logged last
 */
struct receiver {
	struct cluster *c;
	__u64 *digests;
	unsigned int connection;
	unsigned int late;
	unsigned int waits;
	__u64 check_ns;
	__u64 warned_ns;
};

/* Filters */

/* Is the cover map still about them? After a swap or a restore the agent needs another one. */
static int check_map(struct receiver *r, struct rec_error *e)
{
	struct cluster *c = r->c;
	struct epf_cluster_cover is;
	__u64 now = now_ns();
	int ret = cover_map_of(c->conf->local, c->conf->all, &is);

	if (!ret && !cover_map_same(c->map, &is))
		return rec_error_set(e, -ESTALE, "filters '%s' and '%s' have other contents now",
				     c->conf->local, c->conf->all);
	if (ret)
		return rec_error_set(e, ret, "filters '%s' and '%s': %s", c->conf->local,
				     c->conf->all, strerror(-ret));
	pthread_mutex_lock(&c->lock);
	c->checked_ns = now;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

unsigned int live_largest(const struct cluster *c, unsigned int *percent)
{
	unsigned int i, largest = 0;
	__u64 sum = 0;

	for (i = 0; i < c->conf->nr_roster; i++) {
		sum += c->share[i];
		if (c->share[i] > c->share[largest])
			largest = i;
	}
	*percent = sum ? (unsigned int)(c->share[largest] * 100 / sum) : 0;
	return largest;
}

/* Every answer is "do not know" then, and no message was wrong. Call it with the lock. */
static void note_saturated(struct cluster *c, bool saturated, __u64 now)
{
	struct coverage_host h;
	unsigned int percent;

	if (saturated == c->saturated)
		return;
	c->saturated = saturated;
	coverage_host(c->coverage, live_largest(c, &percent), &c->clock, now, &h);
	if (saturated)
		warn("cluster '%s': filter of all '%s' is saturated: %u %% of its keys are of host "
		     "'%s'",
		     c->conf->name, c->conf->all, percent, h.name);
	else
		log_info("cluster '%s': filter of all '%s' is no longer saturated", c->conf->name,
			 c->conf->all);
}

/* What has happened to them since the last look? A filter of all that was cleared, or whose
 * epochs were ended before their time, lacks what it had; all messages are read again.
 */
static int check_filters(struct receiver *r, struct rec_error *e)
{
	struct cluster *c = r->c;
	__u64 now = now_ns(), own, all, all_window = c->filters.all_window_ns;
	bool saturated;
	int ret = apply_kept(&c->filters, &own, &all, &saturated);

	if (ret)
		return rec_error_set(e, ret, "filters '%s' and '%s': %s", c->conf->local,
				     c->conf->all, strerror(-ret));
	pthread_mutex_lock(&c->lock);
	coverage_own(c->coverage, now - (own < all ? own : all));
	note_saturated(c, saturated, now);
	if (c->all_since && all < all_window && now - all > c->all_since + CHECK_NS / 10) {
		warn("cluster '%s': filter '%s' has lost contents", c->conf->name, c->conf->all);
		coverage_reset(c->coverage);
	}
	c->all_since = now - all;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static void take_rates(struct cluster *c, __u64 now)
{
	struct coverage_host h;
	unsigned int i;
	__u64 ns;

	pthread_mutex_lock(&c->lock);
	ns = c->rated_ns ? now - c->rated_ns : 0;
	for (i = 0; i < c->conf->nr_roster; i++) {
		coverage_host(c->coverage, i, &c->clock, now, &h);
		c->share[i] -= c->share[i] / 1024 * (ns / (c->filters.all_window_ns / 1024 + 1));
		c->share[i] += h.digests - c->seen[i];
		c->rate[i] = ns ? (h.digests - c->seen[i]) * NS_PER_SEC / ns : 0;
		c->seen[i] = h.digests;
	}
	c->rated_ns = now;
	pthread_mutex_unlock(&c->lock);
}

/* Joining */

static bool wants_replay(struct cluster *c, __u64 now, __u64 *from)
{
	bool wants;

	pthread_mutex_lock(&c->lock);
	wants = coverage_wants_replay(c->coverage, &c->clock, now, from);
	pthread_mutex_unlock(&c->lock);
	return wants;
}

static void set_joined(struct cluster *c, bool joined)
{
	pthread_mutex_lock(&c->lock);
	c->joined = joined;
	pthread_mutex_unlock(&c->lock);
}

/* Return: 0: joined; -EAGAIN: not connected, @e may have no text; a negative errno. */
static int stay_joined(struct receiver *r, struct rec_error *e)
{
	struct cluster *c = r->c;
	__u64 now = now_ns(), from = c->last_stamp, replay;
	bool silent = r->waits >= SILENT_WAITS;
	int ret = live_connect(c, e);

	if (ret) {
		r->connection = 0;
		r->late = 0;
		return ret;
	}
	if (wants_replay(c, now, &replay))
		from = replay;
	else if (c->link.connections == r->connection && !silent)
		return 0;
	else if (silent)
		from = 0;
	ret = cluster_nats_join(c->link.nats, from, e);
	r->late = ret == -ETIMEDOUT ? r->late + 1 : 0;
	if (ret)
		return ret;
	if (c->link.connections != r->connection && !c->link.warned &&
	    cluster_nats_evadable(c->link.nats)) {
		warn("cluster '%s': nats-server before 2.11.15, or 2.12.6, lets others log in as "
		     "this host (CVE-2026-33248): use a later one, or nkeys",
		     c->conf->name);
		c->link.warned = true;
	}
	r->connection = c->link.connections;
	r->waits = 0;
	return 0;
}

/* Messages */

/* An own message tells cluster time, if this process sent it. */
static void take_own(struct cluster *c, const struct cluster_nats_msg *m, __u64 received)
{
	__u64 sent;

	if (!publish_sent_ns(c->publisher, m->id, &sent))
		return;
	pthread_mutex_lock(&c->lock);
	cluster_clock_echo(&c->clock, sent, received, m->stamp);
	pthread_mutex_unlock(&c->lock);
}

static void live_receive_refused(struct receiver *r, const struct rec_error *e, __u64 now)
{
	if (r->warned_ns && now - r->warned_ns < WARN_NS)
		return;
	r->warned_ns = now;
	warn("cluster '%s': %s", r->c->conf->name, e->text);
}

static int apply_one(struct receiver *r, const struct cluster_msg *msg, __u64 stamp,
		     struct rec_error *e)
{
	struct cluster *c = r->c;
	int ret = apply_insert(&c->filters, msg->digest, msg->count);

	if (ret)
		return rec_error_set(e, ret, "filter '%s': %s", c->conf->all, strerror(-ret));
	pthread_mutex_lock(&c->lock);
	coverage_applied(c->coverage, msg, stamp);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static enum coverage_take judge(struct receiver *r, const struct cluster_nats_msg *m, __u64 now,
				struct cluster_msg *msg, struct rec_error *e)
{
	struct cluster *c = r->c;
	struct rec_error fault = { "" };
	enum coverage_take take = COVERAGE_REFUSE;
	int ret = cluster_msg_get(msg, m->data, m->bytes, r->digests, &fault);

	pthread_mutex_lock(&c->lock);
	if (ret)
		coverage_damaged(c->coverage, m->host);
	else
		take = coverage_offer(c->coverage, msg, m->host, m->stamp, &c->clock, now, e);
	pthread_mutex_unlock(&c->lock);
	if (ret)
		rec_error_set(e, ret, "a message of host '%s' is refused: %.150s", m->host,
			      fault.text);
	return take;
}

static int take_peer(struct receiver *r, const struct cluster_nats_msg *m, __u64 now,
		     struct rec_error *e)
{
	struct rec_error why = { "" };
	struct cluster_msg msg;
	enum coverage_take take = judge(r, m, now, &msg, &why);

	if (take == COVERAGE_REFUSE)
		live_receive_refused(r, &why, now);
	return take == COVERAGE_APPLY ? apply_one(r, &msg, m->stamp, e) : 0;
}

static int live_receive_take_message(struct receiver *r, const struct cluster_nats_msg *m,
				     struct rec_error *e)
{
	struct cluster *c = r->c;
	__u64 now = now_ns();
	int ret = 0;

	r->waits = 0;
	c->last_stamp = m->stamp;
	if (!strcmp(m->host, c->conf->host))
		take_own(c, m, now);
	else
		ret = take_peer(r, m, now, e);
	if (!ret)
		live_promise(c);
	return ret;
}

/* Return: 0; a negative errno: the run failed. */
static int receive_one(struct receiver *r, struct rec_error *e)
{
	struct cluster_nats_msg m;
	int ret = cluster_nats_next(r->c->link.nats, WAIT_MS, &m);

	if (ret == -EIO) {
		r->connection = 0;
		live_wait(r->c, LIVE_INTERVAL_NS);
	}
	r->waits += ret == -EAGAIN;
	if (ret)
		return 0;
	ret = live_receive_take_message(r, &m, e);
	cluster_nats_done(&m);
	return ret;
}

/* What is wrong with the servers is told, and tried again. */
static int receive_step(struct receiver *r, struct rec_error *e)
{
	struct rec_error why = { "" };
	__u64 now = now_ns();
	int ret = 0;

	beat_step(&r->c->beat[LIVE_MAIN]);
	if (now >= r->check_ns) {
		r->check_ns = now + CHECK_NS;
		take_rates(r->c, now);
		live_look_secrets(r->c);
		ret = check_map(r, e);
		if (!ret)
			ret = check_filters(r, e);
	}
	if (ret)
		return ret;
	ret = stay_joined(r, &why);
	set_joined(r->c, !ret);
	if (ret ? why.text[0] : __atomic_load_n(&r->c->begun, __ATOMIC_ACQUIRE))
		live_say(r->c, ret ? &why : NULL);
	if (!ret)
		return receive_one(r, e);
	if (r->late >= LATE_JOINS) {
		live_disconnect(r->c);
		r->late = 0;
	}
	live_wait(r->c, ret == -EAGAIN ? LIVE_INTERVAL_NS : LIVE_AGAIN_NS);
	return 0;
}

int live_receive(struct cluster *c, struct rec_error *e)
{
	struct receiver r = {
		.c = c,
		.digests = malloc(CLUSTER_DIGESTS_MAX * sizeof(__u64)),
	};
	int ret = r.digests ? 0 : rec_error_set(e, -ENOMEM, "out of memory");

	while (!ret && !live_over(c))
		ret = receive_step(&r, e);
	free(r.digests);
	return ret;
}
