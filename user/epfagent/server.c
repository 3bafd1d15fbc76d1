// SPDX-License-Identifier: GPL-2.0
/* Connections, and the talk on them. */
#include "epfagent/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "audit/wrong.h"
#include "epfagent/loop.h"
#include "epfagent/request.h"
#include "epfctl/cmd.h"

/* An answer to a request, and the end of an audit meanwhile. */
#define OUT_MAX 2
#define GROUPS_MAX 1024
/* How long to wait where there are no descriptors for a new connection. */
#define RETRY_MS 1000

/**
 * struct client - a connection
 * @source: of it
 * @server: its
 * @link: of all
 * @peer: who it is, as the kernel says
 * @task: what it waits for, or NULL
 * @out: answers that its socket has no room for
 * @nr_out: how many
 */
struct client {
	struct source source;
	struct server *server;
	TAILQ_ENTRY(client) link;
	struct ucred peer;
	struct task *task;
	char *out[OUT_MAX];
	unsigned int nr_out;
};

/**
 * struct server - all connections
 * @source: the listening socket
 * @c: what it works with
 * @clients: all
 * @nr: of them
 * @deaf: not listening, for want of descriptors
 * @quiet: for good
 */
struct server {
	struct source source;
	struct server_conf c;
	TAILQ_HEAD(, client) clients;
	unsigned int nr;
	bool deaf;
	bool quiet;
};

/* Answers */

/* What a client waits for: also a hang-up, which is always told. */
static short wanted(const struct client *c)
{
	if (c->nr_out)
		return POLLOUT;
	return c->server->quiet ? 0 : POLLIN;
}

static void hang_up(struct client *c)
{
	struct server *s = c->server;

	if (c->task) {
		c->task->owner = NULL;
		sched_cancel(c->task);
	}
	loop_remove(s->c.loop, &c->source);
	close(c->source.fd);
	while (c->nr_out)
		free(c->out[--c->nr_out]);
	TAILQ_REMOVE(&s->clients, c, link);
	s->nr--;
	stats_sub(&s->c.stats->clients, 1);
	free(c);
}

/* Return: 0; -EAGAIN: no room; another negative errno: nobody there. */
static int put(int fd, const char *text)
{
	ssize_t n = send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? -errno : 0;
}

/* Drops the reference. @may_drop: nobody misses it. A client that cannot be
 * told what it waits for is gone afterwards.
 */
static void say(struct client *c, json_t *json, bool may_drop)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	bool full = c->nr_out;

	json_decref(json);
	if (text && !full)
		full = put(c->source.fd, text) == -EAGAIN;
	if (text && (!full || may_drop)) {
		free(text);
	} else if (text && c->nr_out < OUT_MAX) {
		c->out[c->nr_out++] = text;
		loop_change(&c->source, wanted(c));
	} else if (!may_drop) {
		free(text);
		hang_up(c);
	}
}

static void flush(struct client *c)
{
	while (c->nr_out && put(c->source.fd, c->out[0]) != -EAGAIN) {
		free(c->out[0]);
		c->out[0] = c->out[1];
		c->nr_out--;
	}
	loop_change(&c->source, wanted(c));
}

static json_t *error_json(int err, const struct rec_error *e)
{
	return json_pack("{so si}", "error", json_path(e->text), "errno", -err);
}

static void refuse(struct client *c, int err, const struct rec_error *e)
{
	stats_add(&c->server->c.stats->requests_refused, 1);
	say(c, error_json(err, e), false);
}

static json_t *ended_json(struct task *t)
{
	json_t *state = agent_state_json(task_state(t));

	if (t->ret)
		return json_pack("{so si so}", "error",
				 json_path(t->error.text), "errno", -t->ret,
				 "state", state);
	return json_pack("{so so}", "done", state, "about",
			 agent_about_json(&t->about));
}

/* Requests */

static void begin(struct client *c, json_t *json, int *fds, unsigned int nr)
{
	struct rec_error e = { "" };
	struct task *t;
	int ret;

	if (c->task) {
		refuse(c, audit_wrong(&e, -EBUSY, "an audit of this connection "
				      "is not done yet"), &e);
		return;
	}
	ret = request_task(&t, json, fds, nr, &e);
	if (ret) {
		refuse(c, ret, &e);
		return;
	}
	t->uid = c->peer.uid;
	t->pid = c->peer.pid;
	t->owner = c;
	ret = sched_add(c->server->c.sched, t);
	if (ret) {
		refuse(c, ret, &t->error);
		task_free(t);
		return;
	}
	c->task = t;
}

static json_t *status_json(const struct server *s)
{
	return json_pack("{so}", "status",
			 request_status(s->c.stats, s->c.conf));
}

static void answer(struct client *c, const struct message *m)
{
	const char *op = json_string_value(json_object_get(m->json, "op"));
	bool alone = json_object_size(m->json) == 1 && !m->nr_fds;
	struct rec_error e = { "" };

	if (op && !strcmp(op, "audit"))
		begin(c, m->json, (int *)m->fds, m->nr_fds);
	else if (op && alone && !strcmp(op, "ping"))
		say(c, json_pack("{ss si}", "version", EPF_VERSION, "protocol",
				 AGENT_PROTOCOL), false);
	else if (op && alone && !strcmp(op, "status"))
		say(c, status_json(c->server), false);
	else
		refuse(c, audit_wrong(&e, -EINVAL, "op: 'audit', or 'ping' or "
				      "'status' alone"), &e);
}

static void read_one(struct client *c)
{
	struct rec_error e = { "" };
	struct message m;
	int ret = message_receive(c->source.fd, &m, &e);

	if (ret == -EAGAIN)
		return;
	if (ret == -ENOTCONN) {
		hang_up(c);
		return;
	}
	if (ret)
		refuse(c, ret, &e);
	else
		answer(c, &m);
	message_free(&m);
}

static void client_ready(struct source *source, short events)
{
	struct client *c = (struct client *)source;

	if (events & POLLERR || (events & POLLHUP && !(events & POLLIN)))
		hang_up(c);
	else if (events & POLLIN)
		read_one(c);
	else if (events & POLLOUT)
		flush(c);
}

/* Connections */

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

	if (!conf->nr_gids ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &len))
		return false;
	for (i = 0; i < len / sizeof(gid_t); i++)
		if (has_gid(conf, gids[i]))
			return true;
	return false;
}

static bool allowed(const struct conf *conf, int fd, const struct ucred *peer)
{
	unsigned int i;

	if (!peer->uid || peer->uid == geteuid() ||
	    (!conf->nr_uids && !conf->nr_gids))
		return true;
	for (i = 0; i < conf->nr_uids; i++)
		if (conf->uids[i] == peer->uid)
			return true;
	return has_gid(conf, peer->gid) || groups_allowed(conf, fd);
}

static unsigned int clients_of(const struct server *s, uid_t uid)
{
	const struct client *c;
	unsigned int n = 0;

	TAILQ_FOREACH(c, &s->clients, link)
		n += c->peer.uid == uid;
	return n;
}

static int admit(const struct server *s, int fd, const struct ucred *peer,
		 struct rec_error *e)
{
	if (!allowed(s->c.conf, fd, peer))
		return audit_wrong(e, -EACCES, "user %u may not ask this agent",
				   peer->uid);
	if (s->nr >= s->c.conf->clients)
		return audit_wrong(e, -EBUSY, "the agent has too many clients "
				   "(%u)", s->nr);
	if (clients_of(s, peer->uid) >= s->c.conf->clients_per_user)
		return audit_wrong(e, -EBUSY, "too many connections of user %u",
				   peer->uid);
	return 0;
}

static int add_client(struct server *s, int fd, const struct ucred *peer)
{
	struct client *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	c->source.fd = fd;
	c->source.ready = client_ready;
	c->server = s;
	c->peer = *peer;
	ret = loop_add(s->c.loop, &c->source, wanted(c));
	if (ret) {
		free(c);
		return ret;
	}
	TAILQ_INSERT_TAIL(&s->clients, c, link);
	s->nr++;
	stats_add(&s->c.stats->clients, 1);
	return 0;
}

/* Whoever is not let in gets a line that says why, if it can be had at once. */
static void greet(struct server *s, int fd)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	struct rec_error e = { "" };
	int ret = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ?
			  -errno : admit(s, fd, &peer, &e);
	json_t *json;
	char *text;

	if (!ret)
		ret = add_client(s, fd, &peer);
	if (!ret)
		return;
	stats_add(&s->c.stats->requests_refused, 1);
	json = error_json(ret, &e);
	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	if (text)
		put(fd, text);
	json_decref(json);
	free(text);
	close(fd);
}

/* Without descriptors the listening socket would stay ready: turn away. */
static void listener_ready(struct source *source, short events)
{
	struct server *s = (struct server *)source;
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0) {
		greet(s, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		   errno == ENOBUFS) {
		s->deaf = true;
		loop_change(source, 0);
	}
}

int server_timeout_ms(const struct server *s)
{
	return s->deaf ? RETRY_MS : -1;
}

void server_tick(struct server *s)
{
	if (s->deaf && !s->quiet)
		loop_change(&s->source, POLLIN);
	s->deaf = false;
}

/* The rest of the agent's side */

void server_progress(struct server *s)
{
	struct job_state state;
	struct client *c;

	TAILQ_FOREACH(c, &s->clients, link)
		if (c->task && sched_look(s->c.sched, c->task, &state))
			say(c, json_pack("{so}", "state",
					 agent_state_json(&state)), true);
}

void server_ended(struct server *s, struct task *t)
{
	struct client *c = t->owner;

	(void)s;
	if (c) {
		c->task = NULL;
		say(c, ended_json(t), false);
	}
	task_free(t);
}

void server_reload(struct server *s, const struct conf *conf)
{
	s->c.conf = conf;
}

void server_quiet(struct server *s)
{
	struct client *c;

	s->quiet = true;
	loop_change(&s->source, 0);
	TAILQ_FOREACH(c, &s->clients, link)
		loop_change(&c->source, wanted(c));
}

void server_free(struct server *s)
{
	while (!TAILQ_EMPTY(&s->clients))
		hang_up(TAILQ_FIRST(&s->clients));
	loop_remove(s->c.loop, &s->source);
	close(s->source.fd);
	free(s);
}

int server_new(struct server **server, const struct server_conf *c)
{
	struct server *s = calloc(1, sizeof(*s));
	int ret = s ? 0 : -ENOMEM;

	if (s) {
		s->c = *c;
		s->source.fd = c->listener;
		s->source.ready = listener_ready;
		TAILQ_INIT(&s->clients);
		ret = loop_add(c->loop, &s->source, POLLIN);
	}
	if (ret) {
		close(c->listener);
		free(s);
		return ret;
	}
	*server = s;
	return 0;
}
