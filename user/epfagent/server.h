/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients: access, requests and replies. Everything runs in the thread of the event
 * loop, except receiving messages and closing connections (pool.h). A client costs the
 * agent at most one connection, the descriptors of one request, one thread and two
 * replies, whatever it sends and whether or not it reads. It counts until its connection
 * is closed.
 *
 * A server exists until the process ends. The exit closes remaining connections without
 * waiting for them.
 */
#ifndef EPFAGENT_SERVER_H
#define EPFAGENT_SERVER_H

#include <systemd/sd-event.h>

#include "epfagent/conf.h"

struct server;

/**
 * struct server_conf - parameters of a server; the caller owns all but @listener
 * @conf: settings, which may change between events
 * @sched: scheduler
 * @stats: counters
 * @holds: the filters that are held; *@holds is NULL while there are none
 * @clusters: the clusters of this host
 * @loop: event loop
 * @listener: listening socket; the server takes it over
 */
struct server_conf {
	const struct conf *conf;
	struct sched *sched;
	struct agent_stats *stats;
	struct holds *const *holds;
	struct clusters *clusters;
	sd_event *loop;
	int listener;
};

/* Return: 0; a negative errno (-ENOMEM, -EMFILE): @listener is closed. */
int server_new(struct server **s, const struct server_conf *c);

/* Send clients the progress of their audits. */
void server_progress(struct server *s);

/* Reply to the client of a task that has ended, if it is still there, and free the task. */
void server_ended(struct server *s, struct task *t);

#endif /* EPFAGENT_SERVER_H */
