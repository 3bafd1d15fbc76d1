// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The connection of a live cluster. Secrets belong to a connection, not to a run: each one reads
 * their files again. A new one takes the place of an old one while publisher, coverage and promise
 * stay.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/live_own.h"
#include "cluster/secret.h"
#include "common/clock.h"
#include "common/error.h"
#include "records/rec_error.h"

#define AGAIN_NS 250000000ULL /* after all servers failed */
#define JITTER_NS 100000000ULL

static void from_nats(void *ctx, const char *id, int err)
{
	struct cluster *c = ctx;

	publish_acknowledged(c->publisher, id, err);
}

static int open_nats(struct cluster *c, struct cluster_nats **n, struct rec_error *e)
{
	struct cluster_nats_conf conf = {
		.login = &c->conf->login,
		.server = c->conf->login.servers[c->link.server],
		.stream = c->link.stream,
		.prefix = c->conf->prefix,
		.host = c->conf->host,
		.max_age_ns = c->filters.of.params.window_ns + live_replay_ns(c),
		.max_bytes = c->conf->stream_bytes,
		.max_consumers = CLUSTER_CONSUMERS * c->conf->nr_roster,
		.acknowledged = from_nats,
		.ctx = c,
	};

	return cluster_nats_open(n, &conf, e);
}

/* What the old one had under way and nobody tells the end of is sent again. */
static void link_take(struct cluster *c, struct cluster_nats *n)
{
	struct cluster_nats *old = c->link.nats;

	pthread_mutex_lock(&c->link.lock);
	c->link.nats = n;
	pthread_mutex_unlock(&c->link.lock);
	if (!old)
		return;
	cluster_nats_close(old);
	publish_again(c->publisher);
}

void live_disconnect(struct cluster *c)
{
	link_take(c, NULL);
}

bool live_connected(struct cluster *c)
{
	bool connected;

	pthread_mutex_lock(&c->link.lock);
	connected = c->link.nats && cluster_nats_connected(c->link.nats);
	pthread_mutex_unlock(&c->link.lock);
	return connected;
}

int live_publish(void *ctx, const char *id, const void *data, size_t bytes)
{
	struct cluster *c = ctx;
	int ret = -ENOTCONN;

	pthread_mutex_lock(&c->link.lock);
	if (c->link.nats)
		ret = cluster_nats_publish(c->link.nats, id, data, bytes);
	pthread_mutex_unlock(&c->link.lock);
	return ret;
}

/* Remember which files the next connection is made by, and when the certificate ends. */
static void take_secrets(struct cluster *c)
{
	const struct cluster_login *l = &c->conf->login;
	__u64 end = l->tls_cert ? secret_cert_end(l->tls_cert) : 0;

	c->link.secrets = c->link.seen = secret_stamp(l);
	pthread_mutex_lock(&c->lock);
	c->cert_end = end;
	pthread_mutex_unlock(&c->lock);
}

void live_look_secrets(struct cluster *c)
{
	__u64 stamp = secret_stamp(&c->conf->login);

	if (stamp != c->link.secrets && stamp == c->link.seen)
		c->link.wanted = true;
	c->link.seen = stamp;
}

/* Why the last attempt with each server failed, in the order of the settings: the text changes when
 * a reason does.
 */
static int link_fault(const struct cluster *c, struct rec_error *e)
{
	const struct cluster_login *l = &c->conf->login;
	size_t at = (size_t)snprintf(e->text, sizeof(e->text), "not connected: ");
	unsigned int i;

	for (i = 0; i < l->nr_servers && at < sizeof(e->text); i++)
		at += (size_t)snprintf(e->text + at, sizeof(e->text) - at, "%s%s: %s",
				       i ? "; " : "", l->servers[i], c->link.fault[i]);
	return -EAGAIN;
}

/* Try the next server. Return: 0; -EAGAIN: it failed, and if @e has a text, so did all others. */
static int link_try(struct cluster *c, struct rec_error *e)
{
	const unsigned int nr = c->conf->login.nr_servers;
	struct live_link *l = &c->link;
	struct rec_error why = { "" };
	struct cluster_nats *n;

	if (!l->failed)
		take_secrets(c);
	if (!open_nats(c, &n, &why)) {
		link_take(c, n);
		l->failed = 0;
		l->wanted = false;
		l->connections++;
		return 0;
	}
	snprintf(l->fault[l->server], sizeof(l->fault[0]), "%s", why.text);
	l->server = (l->server + 1) % nr;
	if (++l->failed < nr)
		return -EAGAIN;
	l->failed = 0;
	l->again_ns = now_ns() + AGAIN_NS + now_ns() % JITTER_NS;
	return link_fault(c, e);
}

/* A connection that works stays until a new one does. */
int live_connect(struct cluster *c, struct rec_error *e)
{
	struct live_link *l = &c->link;
	bool there = live_connected(c);

	if (__atomic_exchange_n(&c->reopen, false, __ATOMIC_RELAXED))
		l->wanted = true;
	if (there && !l->wanted)
		return 0;
	if (!there && l->nats)
		live_disconnect(c);
	if (!there && now_ns() < l->again_ns)
		return -EAGAIN;
	if (!link_try(c, e))
		return 0;
	if (!there)
		return -EAGAIN;
	if (e->text[0]) {
		warn("cluster '%s': the old connection is kept: %s", c->conf->name, e->text);
		l->wanted = false;
	}
	e->text[0] = '\0';
	return 0;
}
