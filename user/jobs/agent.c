// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A client of epfagent. It opens the files itself, with the rights of its user. */
#include "jobs/agent.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "records/rec_error.h"

/**
 * struct talk - one request, and where its replies go
 * @fd: socket
 * @state: set to the state of the audit
 * @about: set to what was audited; may be NULL
 * @progress: called after each state; may be NULL
 * @ctx: for @progress
 */
struct talk {
	int fd;
	struct job_state *state;
	struct agent_about *about;
	int (*progress)(void *ctx, const struct job_state *state);
	void *ctx;
};

static int dial(const char *path, struct rec_error *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd, ret;

	if (strlen(path) >= sizeof(to.sun_path))
		return rec_error_set(e, -ENAMETOOLONG,
				     "%.100s: path too long for "
				     "a socket",
				     path);
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return rec_error_set(e, -errno, "socket: %s", strerror(errno));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	ret = rec_error_set(e, -errno, "%s: %s", path, strerror(errno));
	close(fd);
	return ret;
}

/* An agent that refuses the connection may have closed it already. EPIPE and
 * ECONNRESET are therefore no errors here: its reply can still be read.
 */
static int send_request(int fd, json_t *request, const int *fds, size_t nr, struct rec_error *e)
{
	char control[CMSG_SPACE(sizeof(int) * AGENT_FDS)] = { 0 };
	char *text = json_dumps(request, JSON_COMPACT);
	struct iovec io = { text, text ? strlen(text) : 0 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (!text)
		return rec_error_set(e, -ENOMEM, "out of memory");
	if (nr) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * nr);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nr);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nr);
	}
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	free(text);
	if (n < 0 && errno != EPIPE && errno != ECONNRESET)
		return rec_error_set(e, -errno,
				     "cannot send the request to the "
				     "agent: %s",
				     strerror(errno));
	return 0;
}

/* A signal between @progress and recv() does not interrupt recv(), so the timeout
 * of the socket bounds the delay until @progress notices it.
 */
#define NOTICE_US 200000

/* If the agent closes the socket before it has read our request, the first recv()
 * returns ECONNRESET although an earlier reply is still queued: retry once.
 */
static ssize_t receive(struct talk *t, char *buf, size_t room)
{
	int resets = 1;
	ssize_t n;

	for (;;) {
		n = recv(t->fd, buf, room, MSG_TRUNC);
		if (n >= 0)
			return n;
		if (t->progress && (errno == EINTR || errno == EAGAIN)) {
			if (t->progress(t->ctx, t->state))
				return -ECANCELED;
		} else if (errno != ECONNRESET || !resets--) {
			return -errno;
		}
	}
}

/* Return: the next reply; NULL: none, with @ret set. */
static json_t *agent_answer(struct talk *t, int *ret, struct rec_error *e)
{
	char buf[AGENT_REPLY_MAX];
	ssize_t n = receive(t, buf, sizeof(buf));
	json_t *json;

	if (n < 0) {
		*ret = rec_error_set(e, (int)n,
				     n == -ECANCELED ? "stopped" : "the agent does not answer: %s",
				     strerror((int)-n));
		return NULL;
	}
	if (!n) {
		*ret = rec_error_set(e, -EPROTO, "the agent closed the connection");
		return NULL;
	}
	json = (size_t)n > sizeof(buf) ? NULL : json_loadb(buf, (size_t)n, 0, NULL);
	if (!json_is_object(json)) {
		json_decref(json);
		json = NULL;
		*ret = rec_error_set(e, -EPROTO,
				     "invalid reply from the agent: "
				     "is epfagent of this version?");
	}
	return json;
}

/* Return: the negative errno that the reply reports; 0: it reports no error. */
static int told_error(json_t *json, struct rec_error *e)
{
	const char *text;
	int err;

	if (!json_object_get(json, "error"))
		return 0;
	if (json_unpack(json, "{ss si}", "error", &text, "errno", &err) || err <= 0 || err > 4095)
		return rec_error_set(e, -EPROTO,
				     "invalid reply from the agent: "
				     "is epfagent of this version?");
	return rec_error_set(e, -err, "%s", text);
}

/* Return: 1: more replies follow; else as agent_audit(). */
static int agent_heed(struct talk *t, json_t *json, struct rec_error *e)
{
	json_t *done = json_object_get(json, "done");
	json_t *state = done ? done : json_object_get(json, "state");
	json_t *about = json_object_get(json, "about");
	int ret = 0;

	if (state)
		ret = agent_state_parse(t->state, state);
	if (!ret && about && t->about)
		ret = agent_about_parse(t->about, about);
	if (!ret)
		ret = told_error(json, e);
	else
		rec_error_set(e, ret,
			      "invalid reply from the agent: is "
			      "epfagent of this version?");
	if (ret || done)
		return ret;
	if (t->progress && t->progress(t->ctx, t->state))
		return rec_error_set(e, -ECANCELED, "stopped");
	return 1;
}

static int converse(struct talk *t, struct rec_error *e)
{
	int ret = 1;

	while (ret == 1) {
		json_t *json = agent_answer(t, &ret, e);

		if (json)
			ret = agent_heed(t, json, e);
		json_decref(json);
	}
	return ret;
}

/* Collect the descriptors that are set, and replace each by its index in @fds.
 * Return: how many.
 */
static size_t gather(struct agent_request *r, int snapshot, int *fds)
{
	int *const to[AGENT_FDS] = { &r->spec.keys_fd, &r->spec.bitmap_fd, &r->spec.ages_fd,
				     &r->spec.records_fd, &r->snapshot };
	size_t i, nr = 0;

	r->snapshot = snapshot;
	for (i = 0; i < AGENT_FDS; i++) {
		if (*to[i] < 0)
			continue;
		fds[nr] = *to[i];
		*to[i] = (int)nr++;
	}
	return nr;
}

static int all_regular(const int *fds, size_t nr, struct rec_error *e)
{
	struct stat st;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (fstat(fds[i], &st))
			return rec_error_set(e, -errno, "%s", strerror(errno));
		if (!S_ISREG(st.st_mode))
			return rec_error_set(e, -EOPNOTSUPP,
					     "the agent accepts "
					     "regular files only");
	}
	return 0;
}

/* Can @text be sent? JSON requires UTF-8, the agent one line. */
static bool can_be_said(const char *text)
{
	json_t *string = json_string(text);
	bool said = string != NULL;

	json_decref(string);
	for (; said && *text; text++)
		said = (unsigned char)*text >= ' ' && *text != 0x7f;
	return said;
}

static bool is_ascii(char c)
{
	return (unsigned char)c < 0x80;
}

static int fill_request(struct agent_request *r, const char *target, const struct job_spec *spec,
			struct rec_error *e)
{
	const char *fields = spec->records.fields ? spec->records.fields : "";

	target = target ? target : "";
	memset(r, 0, sizeof(*r));
	r->spec = *spec;
	if (strlen(target) >= sizeof(r->filter) || strlen(fields) >= sizeof(r->fields))
		return rec_error_set(e, -EOPNOTSUPP,
				     "the name of the filter or "
				     "--fields is too long for the agent");
	if (!can_be_said(target) || !can_be_said(fields) || !is_ascii(spec->records.separator) ||
	    !is_ascii(spec->records.joint))
		return rec_error_set(e, -EOPNOTSUPP,
				     "the agent needs names in UTF-8 "
				     "and separators in ASCII");
	strcpy(r->filter, target);
	strcpy(r->fields, fields);
	if (spec->engine)
		snprintf(r->engine, sizeof(r->engine), "%s", spec->engine->name);
	return 0;
}

static int jobs_agent_ask(struct talk *t, const char *path, const struct agent_request *r,
			  const int *fds, size_t nr, struct rec_error *e)
{
	const struct timeval wait = { 0, NOTICE_US };
	json_t *json = agent_request_json(r);
	int ret;

	t->fd = json ? dial(path, e) : rec_error_set(e, -ENOMEM, "out of memory");
	if (t->fd < 0) {
		json_decref(json);
		return t->fd;
	}
	if (t->progress)
		setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	ret = send_request(t->fd, json, fds, nr, e);
	json_decref(json);
	if (!ret)
		ret = converse(t, e);
	close(t->fd);
	return ret;
}

int agent_audit(const char *socket, const char *target, int snapshot_fd,
		const struct job_spec *spec, struct job_state *state, struct agent_about *about,
		int (*progress)(void *ctx, const struct job_state *state), void *ctx,
		struct rec_error *e)
{
	struct talk t = { .state = state, .about = about, .progress = progress, .ctx = ctx };
	struct agent_request r;
	int fds[AGENT_FDS];
	size_t nr;
	int ret;

	memset(state, 0, sizeof(*state));
	ret = fill_request(&r, target, spec, e);
	if (ret)
		return ret;
	nr = gather(&r, snapshot_fd, fds);
	ret = all_regular(fds, nr, e);
	if (ret)
		return ret;
	return jobs_agent_ask(&t, socket ? socket : AGENT_SOCKET, &r, fds, nr, e);
}

int agent_ask(const char *socket, json_t *request, json_t **reply, struct rec_error *e)
{
	const struct timeval wait = { AGENT_ANSWER_S, 0 };
	struct talk t = { .fd = -1 };
	int ret;

	*reply = NULL;
	t.fd = request ? dial(socket ? socket : AGENT_SOCKET, e) :
			 rec_error_set(e, -ENOMEM, "out of memory");
	if (t.fd < 0) {
		json_decref(request);
		return t.fd;
	}
	setsockopt(t.fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(t.fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	ret = send_request(t.fd, request, NULL, 0, e);
	json_decref(request);
	if (!ret)
		*reply = agent_answer(&t, &ret, e);
	if (*reply)
		ret = told_error(*reply, e);
	close(t.fd);
	if (ret) {
		json_decref(*reply);
		*reply = NULL;
	}
	return ret;
}
