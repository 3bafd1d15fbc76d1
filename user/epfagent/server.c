// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections, and the messages on them. */
#include "epfagent/server.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "records/rec_error.h"
#include "epfagent/clusters.h"
#include "epfagent/control.h"
#include "epfagent/pool.h"
#include "epfagent/request.h"
#include "epfagent/timer.h"
#include "common/output.h"

/* Queued replies: one to a request, and the end of an audit meanwhile. */
#define OUT_MAX 2
#define GROUPS_MAX 1024
/* Limit of refused connections that are not closed yet; at the limit none is accepted.
 * Users who may connect can therefore keep others out, with messages whose descriptors
 * take forever to close, but cannot delay clients that are connected.
 */
#define REFUSED_MAX 64

/**
 * struct client - a connection
 * @fd: its socket
 * @source: events of @fd; off if @away; NULL if @gone
 * @server: its server
 * @work_item: receives a message, or closes the connection
 * @away: @work_item is running, and owns @fd, @message, @ret and @error
 * @gone: hung up, or refused: must be closed
 * @refused: never admitted
 * @link: in @server->clients
 * @peer: its credentials, from the kernel
 * @task: audit that it waits for, or NULL
 * @out: replies that its socket had no room for
 * @nr_out: how many
 * @message: received message
 * @ret: result of receiving it
 * @error: likewise
 */
struct client {
	int fd;
	sd_event_source *source;
	struct server *server;
	struct work_item work_item;
	bool away;
	bool gone;
	bool refused;
	TAILQ_ENTRY(client) link;
	struct ucred peer;
	struct task *task;
	char *out[OUT_MAX];
	unsigned int nr_out;
	struct message message;
	int ret;
	struct rec_error error;
};

/**
 * struct server - all connections
 * @source: events of the listening socket
 * @retry: running while the server does not listen for lack of descriptors
 * @c: parameters
 * @pool: thread pool for work items
 * @clients: all clients
 * @nr: number of clients that were not refused
 * @nr_refused: number of the others
 */
struct server {
	sd_event_source *source;
	sd_event_source *retry;
	struct server_conf c;
	struct pool *pool;
	TAILQ_HEAD(, client) clients;
	unsigned int nr;
	unsigned int nr_refused;
};

/* Listen for connections if there is room for them. */
static void listen_if_room(struct server *s)
{
	bool room = !timer_is_running(s->retry) && s->nr_refused < REFUSED_MAX;

	if (sd_event_source_set_enabled(s->source, room ? SD_EVENT_ON : SD_EVENT_OFF) < 0)
		timer_start(s->retry, TIMER_RETRY_USEC);
}

/* Errands */

static struct client *client_of(struct work_item *e)
{
	return (struct client *)((char *)e - offsetof(struct client, work_item));
}

static void send_away(struct client *c, void (*work)(struct work_item *),
		      void (*done)(struct work_item *))
{
	c->away = true;
	c->work_item.work = work;
	c->work_item.done = done;
	pool_run(c->server->pool, &c->work_item);
}

/* Closing also drops unread messages and their descriptors, which may take long. */
static void server_shut(struct work_item *e)
{
	close(client_of(e)->fd);
}

static void was_shut(struct work_item *e)
{
	struct client *c = client_of(e);
	struct server *s = c->server;

	TAILQ_REMOVE(&s->clients, c, link);
	if (c->refused) {
		s->nr_refused--;
		listen_if_room(s);
	} else {
		s->nr--;
		stats_sub(&s->c.stats->clients, 1);
	}
	free(c);
}

/* Disconnect a client. It is freed later, when the socket is closed. */
static void hang_up(struct client *c)
{
	if (c->gone)
		return;
	c->gone = true;
	c->source = sd_event_source_disable_unref(c->source);
	if (c->task) {
		c->task->owner = NULL;
		sched_cancel(c->task);
		c->task = NULL;
	}
	while (c->nr_out)
		free(c->out[--c->nr_out]);
	shutdown(c->fd, SHUT_RDWR);
	if (!c->away)
		send_away(c, server_shut, was_shut);
}

/* Answers */

/* Wait for the events that are of use now; a hang-up is always one. A client whose events
 * cannot be waited for is disconnected.
 */
static void wait_for(struct client *c)
{
	int ret;

	if (c->gone)
		return;
	ret = sd_event_source_set_io_events(c->source, c->nr_out ? EPOLLOUT : EPOLLIN);
	if (ret >= 0)
		ret = sd_event_source_set_enabled(c->source, c->away ? SD_EVENT_OFF : SD_EVENT_ON);
	if (ret < 0)
		hang_up(c);
}

/* Return: 0; -EAGAIN: no room; another negative errno: the client is gone. */
static int server_put(int fd, const char *text)
{
	ssize_t n = send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? -errno : 0;
}

/* Send a reply, and drop the reference to @json. @may_drop: the reply may be lost. If a
 * reply that must not be lost cannot be sent, the client is disconnected.
 */
static void server_say(struct client *c, json_t *json, bool may_drop)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	bool full = c->nr_out;

	json_decref(json);
	if (c->gone) {
		free(text);
		return;
	}
	if (text && !full)
		full = server_put(c->fd, text) == -EAGAIN;
	if (text && (!full || may_drop)) {
		free(text);
	} else if (text && c->nr_out < OUT_MAX) {
		c->out[c->nr_out++] = text;
		wait_for(c);
	} else if (!may_drop) {
		free(text);
		hang_up(c);
	}
}

static void flush(struct client *c)
{
	while (c->nr_out && server_put(c->fd, c->out[0]) != -EAGAIN) {
		free(c->out[0]);
		c->out[0] = c->out[1];
		c->nr_out--;
	}
	wait_for(c);
}

static json_t *error_json(int err, const struct rec_error *e)
{
	return json_pack("{so si}", "error", json_path(e->text), "errno", -err);
}

static void server_refuse(struct client *c, int err, const struct rec_error *e)
{
	stats_add(&c->server->c.stats->requests_refused, 1);
	server_say(c, error_json(err, e), false);
}

static json_t *ended_json(struct task *t)
{
	json_t *state = agent_state_json(task_state(t));

	if (t->ret)
		return json_pack("{so si so}", "error", json_path(t->error.text), "errno", -t->ret,
				 "state", state);
	return json_pack("{so so}", "done", state, "about", agent_about_json(&t->about));
}

/* Access rights */

static bool has_gid(const struct conf *conf, gid_t gid)
{
	unsigned int i;

	for (i = 0; i < conf->nr_gids; i++)
		if (conf->gids[i] == gid)
			return true;
	return false;
}

static bool groups_allowed(const struct conf *conf, int fd)
{
	gid_t gids[GROUPS_MAX];
	socklen_t len = sizeof(gids);
	size_t i;

	if (!conf->nr_gids || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &len))
		return false;
	for (i = 0; i < len / sizeof(gid_t); i++)
		if (has_gid(conf, gids[i]))
			return true;
	return false;
}

/* Checked for each request, because settings may have changed since the connect. */
static bool server_allowed(const struct conf *conf, int fd, const struct ucred *peer)
{
	unsigned int i;

	if (!peer->uid || peer->uid == geteuid() || (!conf->nr_uids && !conf->nr_gids))
		return true;
	for (i = 0; i < conf->nr_uids; i++)
		if (conf->uids[i] == peer->uid)
			return true;
	return has_gid(conf, peer->gid) || groups_allowed(conf, fd);
}

static int not_allowed(const struct ucred *peer, struct rec_error *e)
{
	return rec_error_set(e, -EACCES, "user %u may not use this agent", peer->uid);
}

/* Requests */

static void server_begin(struct client *c, struct message *m)
{
	struct rec_error e = { "" };
	struct task *t;
	int ret;

	if (c->task) {
		server_refuse(c,
			      rec_error_set(&e, -EBUSY,
					    "this connection already has "
					    "an audit: wait for it"),
			      &e);
		return;
	}
	ret = request_task(&t, m, &e);
	if (ret) {
		server_refuse(c, ret, &e);
		return;
	}
	t->uid = c->peer.uid;
	t->pid = c->peer.pid;
	t->owner = c;
	ret = sched_add(c->server->c.sched, t);
	if (ret) {
		server_refuse(c, ret, &t->error);
		task_free(t);
		return;
	}
	c->task = t;
}

static json_t *status_json(const struct client *c)
{
	const struct server_conf *s = &c->server->c;
	json_t *status = request_status(s->stats, s->conf);

	json_object_set_new(status, "filters", *s->holds ? holds_json(*s->holds) : json_array());
	control_status(status, c->peer.uid);
	return json_pack("{so}", "status", status);
}

static void list_jobs(struct client *c, struct message *m)
{
	struct rec_error e = { "" };
	json_t *reply = control_jobs(c->server->c.sched, c->peer.uid, m->json, &e);

	if (reply)
		server_say(c, reply, false);
	else
		server_refuse(c, -EINVAL, &e);
}

static void cancel(struct client *c, struct message *m)
{
	struct rec_error e = { "" };
	int err = -ENOMEM;
	json_t *reply = control_cancel(c->server->c.sched, c->peer.uid, m->json, &err, &e);

	if (reply)
		server_say(c, reply, false);
	else
		server_refuse(c, err, &e);
}

static void tell_cluster(struct client *c, struct message *m)
{
	struct rec_error e = { "" };
	json_t *reply = clusters_json(c->server->c.clusters, m->json, &e);

	if (reply)
		server_say(c, reply, false);
	else
		server_refuse(c, e.text[0] ? -EINVAL : -ENOMEM, &e);
}

static void server_answer(struct client *c, struct message *m)
{
	const char *op = json_string_value(json_object_get(m->json, "op"));
	bool alone = json_object_size(m->json) == 1 && !m->nr_fds;
	struct rec_error e = { "" };

	if (!server_allowed(c->server->c.conf, c->fd, &c->peer))
		server_refuse(c, not_allowed(&c->peer, &e), &e);
	else if (op && !strcmp(op, "audit"))
		server_begin(c, m);
	else if (op && alone && !strcmp(op, "ping"))
		server_say(c,
			   json_pack("{ss si}", "version", EPF_VERSION, "protocol", AGENT_PROTOCOL),
			   false);
	else if (op && alone && !strcmp(op, "status"))
		server_say(c, status_json(c), false);
	else if (op && !m->nr_fds && !strcmp(op, "jobs"))
		list_jobs(c, m);
	else if (op && !m->nr_fds && !strcmp(op, "cancel"))
		cancel(c, m);
	else if (op && !m->nr_fds && !strcmp(op, "cluster"))
		tell_cluster(c, m);
	else
		server_refuse(c,
			      rec_error_set(&e, -EINVAL,
					    "op must be 'audit', 'jobs', 'cancel', 'cluster', "
					    "or 'ping' or 'status' with nothing "
					    "else"),
			      &e);
}

static void server_take(struct work_item *e)
{
	struct client *c = client_of(e);

	c->ret = message_receive(c->fd, &c->message, &c->error);
	if (c->ret)
		message_free(&c->message);
}

static void was_taken(struct work_item *e)
{
	struct client *c = client_of(e);

	c->away = false;
	if (c->ret == -ENOTCONN)
		hang_up(c);
	else if (c->ret && c->ret != -EAGAIN)
		server_refuse(c, c->ret, &c->error);
	else if (!c->ret && !c->gone)
		server_answer(c, &c->message);
	message_free(&c->message);
	if (c->gone && !c->away)
		send_away(c, server_shut, was_shut);
	wait_for(c);
}

static int client_ready(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct client *c = arg;

	(void)source;
	(void)fd;
	if (events & EPOLLERR || (events & EPOLLHUP && !(events & EPOLLIN))) {
		hang_up(c);
	} else if (events & EPOLLIN) {
		send_away(c, server_take, was_taken);
		wait_for(c);
	} else if (events & EPOLLOUT) {
		flush(c);
	}
	return 0;
}

/* Connections */

static unsigned int clients_of(const struct server *s, uid_t uid)
{
	const struct client *c;
	unsigned int n = 0;

	TAILQ_FOREACH(c, &s->clients, link)
	n += !c->refused && c->peer.uid == uid;
	return n;
}

static __u64 clients_per_user(const struct conf *conf)
{
	return conf->clients_per_user ? conf->clients_per_user : (conf->clients + 1) / 2;
}

static int admit(const struct server *s, int fd, const struct ucred *peer, struct rec_error *e)
{
	if (!server_allowed(s->c.conf, fd, peer))
		return not_allowed(peer, e);
	if (s->nr >= s->c.conf->clients)
		return rec_error_set(e, -EBUSY,
				     "the agent has too many clients "
				     "(%u)",
				     s->nr);
	if (clients_of(s, peer->uid) >= clients_per_user(s->c.conf))
		return rec_error_set(e, -EBUSY, "too many connections of user %u", peer->uid);
	return 0;
}

static struct client *add_client(struct server *s, int fd, bool refused)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	c->server = s;
	c->refused = refused;
	if (sd_event_add_io(s->c.loop, &c->source, fd, EPOLLIN, client_ready, c) < 0) {
		free(c);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&s->clients, c, link);
	if (refused) {
		s->nr_refused++;
		listen_if_room(s);
	} else {
		s->nr++;
		stats_add(&s->c.stats->clients, 1);
	}
	return c;
}

/* A refused client gets one line with the reason, if it can be sent without waiting. */
static void greet(struct server *s, int fd)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	struct rec_error e = { "" };
	int ret = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? -errno :
									 admit(s, fd, &peer, &e);
	struct client *c = add_client(s, fd, ret);

	if (!c) {
		close(fd);
		return;
	}
	c->peer = peer;
	if (ret) {
		server_refuse(c, ret, &e);
		hang_up(c);
	}
}

/* Without descriptors the listening socket would stay ready: stop listening for a
 * while.
 */
static int listener_ready(sd_event_source *source, int listener, uint32_t events, void *arg)
{
	struct server *s = arg;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)events;
	if (fd >= 0) {
		greet(s, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		timer_start(s->retry, TIMER_RETRY_USEC);
		listen_if_room(s);
	}
	return 0;
}

static int listen_again(sd_event_source *timer, uint64_t usec, void *arg)
{
	(void)timer;
	(void)usec;
	listen_if_room(arg);
	return 0;
}

/* Interface to the rest of the agent */

void server_progress(struct server *s)
{
	struct job_state state;
	struct client *c;

	TAILQ_FOREACH(c, &s->clients, link)
	if (c->task && sched_look(s->c.sched, c->task, &state))
		server_say(c, json_pack("{so}", "state", agent_state_json(&state)), true);
}

void server_ended(struct server *s, struct task *t)
{
	struct client *c = t->owner;

	(void)s;
	if (c) {
		c->task = NULL;
		server_say(c, ended_json(t), false);
	}
	task_free(t);
}

static int open_sources(struct server *s)
{
	int ret = timer_new(&s->retry, s->c.loop, listen_again, s);

	if (ret >= 0)
		ret = sd_event_add_io(s->c.loop, &s->source, s->c.listener, EPOLLIN, listener_ready,
				      s);
	if (ret < 0)
		return ret;
	s->pool = pool_new(s->c.loop);
	return s->pool ? 0 : -ENOMEM;
}

int server_new(struct server **server, const struct server_conf *c)
{
	struct server *s = calloc(1, sizeof(*s));
	int ret = -ENOMEM;

	if (s) {
		s->c = *c;
		TAILQ_INIT(&s->clients);
		ret = open_sources(s);
	}
	if (!ret) {
		*server = s;
		return 0;
	}
	if (s) {
		sd_event_source_unref(s->source);
		sd_event_source_unref(s->retry);
	}
	close(c->listener);
	free(s);
	return ret;
}
