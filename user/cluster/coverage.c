// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages of peers: which are taken, and what is known after them. */
#include "cluster/coverage_own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "records/rec_error.h"

static int by_name(const void *a, const void *b)
{
	const struct peer *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static struct peer *peer_of(struct coverage *c, const char *name)
{
	unsigned int low = 0, high = c->conf.hosts;

	while (low < high) {
		unsigned int middle = (low + high) / 2;
		int order = strcmp(name, c->peer[middle].name);

		if (!order)
			return &c->peer[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool conf_check(const struct coverage_conf *conf, struct rec_error *e)
{
	unsigned int i;

	if (!conf->hosts || conf->hosts > COVERAGE_HOSTS_MAX) {
		rec_error_set(e, -EINVAL, "a roster of %u hosts; 1 to %u are possible", conf->hosts,
			      COVERAGE_HOSTS_MAX);
		return false;
	}
	for (i = 0; i < conf->hosts; i++)
		if (!cluster_host_valid(conf->roster[i])) {
			rec_error_set(
				e, -EINVAL,
				"host '%.80s': a name has 1 to 63 letters, digits, '-' or '_'",
				conf->roster[i]);
			return false;
		}
	if (!conf->lag_ns || conf->lag_ns >= conf->window_ns || conf->window_ns >> 62) {
		rec_error_set(e, -EINVAL, "the lag must be shorter than the window, and not 0");
		return false;
	}
	return true;
}

/* Sort the roster, and find the own host in it. */
static bool take_roster(struct coverage *c, const struct coverage_conf *conf, struct rec_error *e)
{
	const struct peer *self;
	unsigned int i;

	for (i = 0; i < conf->hosts; i++)
		memcpy(c->peer[i].name, conf->roster[i], strlen(conf->roster[i]));
	qsort(c->peer, conf->hosts, sizeof(c->peer[0]), by_name);
	for (i = 1; i < conf->hosts; i++)
		if (!by_name(&c->peer[i - 1], &c->peer[i])) {
			rec_error_set(e, -EINVAL, "host '%s' is twice in the roster",
				      c->peer[i].name);
			return false;
		}
	self = peer_of(c, conf->self);
	if (!self) {
		rec_error_set(e, -EINVAL, "this host, '%.80s', is not in the roster", conf->self);
		return false;
	}
	c->self = (unsigned int)(self - c->peer);
	for (i = 0; i < conf->hosts; i++)
		c->peer[i].n.refusal = COVERAGE_REFUSALS;
	return true;
}

static bool take_rate(struct coverage *c, struct rec_error *e)
{
	__u64 burst = c->conf.peer_burst;

	if (!burst && c->conf.peer_rate)
		burst = 10 * c->conf.peer_rate + CLUSTER_DIGESTS_MAX; /* a whole message at least */
	if (burst > EPF_BUCKET_BURST_MAX)
		burst = EPF_BUCKET_BURST_MAX;
	if (c->conf.peer_rate && c->conf.peer_rate <= EPF_BUCKET_RATE_MAX &&
	    epf_bucket_init(&c->bucket, c->conf.peer_rate, burst))
		return true;
	rec_error_set(e, -EINVAL, "a peer's rate must be 1 to %llu keys a second",
		      EPF_BUCKET_RATE_MAX);
	return false;
}

struct coverage *coverage_new(const struct coverage_conf *conf, struct rec_error *e)
{
	struct coverage *c;

	if (!conf_check(conf, e))
		return NULL;
	c = calloc(1, sizeof(*c) + conf->hosts * sizeof(c->peer[0]));
	if (!c) {
		rec_error_set(e, -ENOMEM, "out of memory for %u hosts", conf->hosts);
		return NULL;
	}
	c->conf = *conf;
	c->own_since_ns = ~0ULL;
	if (!take_rate(c, e) || !take_roster(c, conf, e)) {
		free(c);
		return NULL;
	}
	c->conf.roster = NULL;
	c->conf.self = NULL;
	return c;
}

void coverage_free(struct coverage *c)
{
	free(c);
}

void coverage_own(struct coverage *c, __u64 since_ns)
{
	c->own_since_ns = since_ns;
}

void coverage_forget(struct peer *p)
{
	p->nr_spans = 0;
	p->newest = 0;
}

void coverage_reset(struct coverage *c)
{
	unsigned int i;

	for (i = 0; i < c->conf.hosts; i++)
		c->peer[i].nr_spans = 0;
	c->began = false;
}

/* Times from before a restart of the clock mean nothing after it. */
static void follow_clock(struct coverage *c, const struct cluster_clock *k)
{
	unsigned int i;

	if (c->restarts == k->restarts)
		return;
	c->restarts = k->restarts;
	for (i = 0; i < c->conf.hosts; i++)
		coverage_forget(&c->peer[i]);
}

/* The index of the first span that does not end before @seq. */
static unsigned int place(const struct peer *p, __u64 seq)
{
	unsigned int i = 0;

	while (i < p->nr_spans && p->spans[i].last < seq)
		i++;
	return i;
}

static bool coverage_known(const struct peer *p, const struct cluster_msg *m)
{
	unsigned int i = place(p, m->seq);

	return p->nr_spans && m->incarnation == p->incarnation && i < p->nr_spans &&
	       p->spans[i].first <= m->seq;
}

static void span_drop(struct peer *p, unsigned int i)
{
	p->nr_spans--;
	memmove(&p->spans[i], &p->spans[i + 1], (p->nr_spans - i) * sizeof(p->spans[0]));
}

void coverage_give_up(struct peer *p)
{
	span_drop(p, 0);
	p->n.gaps++;
}

/* Join span @i and the one before it, if nothing is missing between them. */
static void try_join(struct peer *p, unsigned int i)
{
	if (!i || i >= p->nr_spans || p->spans[i - 1].last + 1 != p->spans[i].first)
		return;
	span_join(&p->spans[i - 1], &p->spans[i]);
	span_drop(p, i);
}

static void span_add(struct peer *p, const struct span *s)
{
	unsigned int i = place(p, s->first);

	if (!i && p->nr_spans)
		return; /* before all that counts */
	memmove(&p->spans[i + 1], &p->spans[i], (p->nr_spans - i) * sizeof(*s));
	p->spans[i] = *s;
	p->nr_spans++;
	try_join(p, i + 1);
	try_join(p, i);
	if (p->nr_spans > COVERAGE_SPANS_MAX)
		coverage_give_up(p);
}

/* A message has been taken, or refused for its rate (@missing). One of an earlier incarnation,
 * which comes late, changes nothing.
 */
static void coverage_take_message(struct coverage *c, struct peer *p, const struct cluster_msg *m,
				  bool missing, __u64 stamp)
{
	struct span s = span_of(m, missing, stamp, c->now_ns);

	if (coverage_known(p, m))
		return;
	if (!p->nr_spans || m->incarnation != p->incarnation) {
		if (p->nr_spans && m->to <= p->spans[p->nr_spans - 1].to)
			return;
		p->n.incarnations += !p->n.incarnations || m->incarnation != p->incarnation;
		p->incarnation = m->incarnation;
		p->nr_spans = 0;
	}
	span_add(p, &s);
}

static enum coverage_take refuse(struct peer *p, enum coverage_refusal why, struct rec_error *e)
{
	p->n.refused[why]++;
	p->n.refusal = why;
	rec_error_set(e, -EPERM, "a message of host '%s' is refused: %s", p->name,
		      coverage_refusal_name(why));
	return COVERAGE_REFUSE;
}

/* What is wrong with a message, whoever sent it; COVERAGE_REFUSALS: nothing. */
static enum coverage_refusal coverage_fault_of(const struct coverage *c,
					       const struct cluster_msg *m,
					       const char *subject_host, __u64 stamp,
					       const struct cluster_clock *k)
{
	__u64 high;

	if (strcmp(m->host, subject_host))
		return COVERAGE_REFUSED_SUBJECT;
	if (m->hash_kind != c->conf.hash_kind)
		return COVERAGE_REFUSED_KIND;
	if (m->window_ns != c->conf.window_ns)
		return COVERAGE_REFUSED_WINDOW;
	if (m->check[0] != c->conf.check[0] || m->check[1] != c->conf.check[1])
		return COVERAGE_REFUSED_CHECK;
	if (m->to > stamp)
		return COVERAGE_REFUSED_FUTURE;
	if (cluster_clock_high(k, c->now_ns, &high) && stamp > high)
		return COVERAGE_REFUSED_STAMP;
	return COVERAGE_REFUSALS;
}

/* Take the tokens of @count digests. Time is the server's, so a replay, which brings the messages
 * of a window at once, passes. It never goes back, so a late message counts as one of now.
 */
static bool in_rate(const struct coverage *c, struct peer *p, __u32 count, __u64 stamp)
{
	__u64 now, used;

	if (!p->newest)
		p->bucket = epf_bucket_now(&c->bucket, stamp); /* full */
	if (stamp > p->newest)
		p->newest = stamp;
	now = epf_bucket_now(&c->bucket, p->newest);
	used = epf_bucket_ahead(p->bucket, now) + count * c->bucket.cost;
	if (used > c->bucket.limit)
		return false;
	p->bucket = now + used;
	return true;
}

enum coverage_take coverage_offer(struct coverage *c, const struct cluster_msg *m,
				  const char *subject_host, __u64 stamp,
				  const struct cluster_clock *k, __u64 now_ns, struct rec_error *e)
{
	struct peer *p = peer_of(c, subject_host);
	enum coverage_refusal fault;

	c->now_ns = now_ns;
	follow_clock(c, k);
	if (!p) {
		c->strangers++;
		rec_error_set(e, -EPERM, "a message of host '%.80s', which is not in the roster",
			      subject_host);
		return COVERAGE_REFUSE;
	}
	fault = coverage_fault_of(c, m, subject_host, stamp, k);
	if (fault != COVERAGE_REFUSALS)
		return refuse(p, fault, e);
	p->n.heard_ns = now_ns;
	if (!m->seq || p == &c->peer[c->self])
		return COVERAGE_KNOWN;
	if (coverage_known(p, m)) {
		p->n.repeats++;
		return COVERAGE_KNOWN;
	}
	if (in_rate(c, p, m->count, stamp))
		return COVERAGE_APPLY;
	coverage_take_message(c, p, m, true, stamp);
	return refuse(p, COVERAGE_REFUSED_RATE, e);
}

void coverage_damaged(struct coverage *c, const char *subject_host)
{
	struct peer *p = peer_of(c, subject_host);
	struct rec_error ignored;

	if (p)
		refuse(p, COVERAGE_REFUSED_DAMAGED, &ignored);
	else
		c->strangers++;
}

void coverage_applied(struct coverage *c, const struct cluster_msg *m, __u64 stamp)
{
	struct peer *p = peer_of(c, m->host);

	if (!p)
		return;
	p->n.messages++;
	p->n.digests += m->count;
	p->n.lost += m->lost;
	coverage_take_message(c, p, m, false, stamp);
}
