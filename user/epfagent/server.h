/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients: who may come, what they ask, what they are told. All in the thread
 * of the event loop, but that messages are taken, and connections closed, aside
 * (aside.h). A client costs the agent one connection, one request's descriptors,
 * one thread and two answers at most, whatever it sends and whether or not it
 * reads; it counts until its connection is closed.
 *
 * A server is there until the process ends: that closes what is left, and does
 * not wait for it.
 */
#ifndef EPFAGENT_SERVER_H
#define EPFAGENT_SERVER_H

#include "epfagent/conf.h"
#include "epfagent/loop.h"

struct server;

/**
 * struct server_conf - what a server works with, all of it the caller's
 * @conf: settings, which may change between events
 * @sched: who does audits
 * @stats: to be counted in
 * @loop: of events
 * @listener: listening socket; the server's from now on
 */
struct server_conf {
	const struct conf *conf;
	struct sched *sched;
	struct agent_stats *stats;
	struct loop *loop;
	int listener;
};

/* Return: 0; -ENOMEM: @listener is closed then too. */
int server_new(struct server **s, const struct server_conf *c);

/* Tell clients how far their audits are. */
void server_progress(struct server *s);

/* A task of a client has ended, or of one that is gone: it is freed. */
void server_ended(struct server *s, struct task *t);

/* Ms until the server wants server_tick(); negative: never. */
int server_timeout_ms(const struct server *s);
void server_tick(struct server *s);

/* No new clients, no new requests. */
void server_quiet(struct server *s);

#endif /* EPFAGENT_SERVER_H */
