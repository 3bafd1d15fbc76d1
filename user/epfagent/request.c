// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Receiving and checking messages of clients. */
#include "epfagent/request.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "records/rec_error.h"
#include "epfagent/fs.h"
#include "common/output.h"

/* Room for more descriptors than a client should send, so that an excess is noticed. */
#define FDS_ROOM (AGENT_FDS + 3)

/* Messages */

void message_free(struct message *m)
{
	while (m->nr_fds)
		if (m->fds[--m->nr_fds] >= 0)
			close(m->fds[m->nr_fds]);
	json_decref(m->json);
	m->json = NULL;
}

static enum message_why request_look_at(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return MESSAGE_NO_FILE;
	return fs_taken(fd) ? MESSAGE_SOUND : MESSAGE_OTHER_FS;
}

/* Close descriptors that are not acceptable. No call for those that remain can block,
 * not even close().
 */
static void screen(struct message *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_fds; i++) {
		m->why[i] = request_look_at(m->fds[i]);
		if (m->why[i] == MESSAGE_SOUND)
			continue;
		close(m->fds[i]);
		m->fds[i] = -1;
	}
}

/* Return: false: there were too many; the excess is closed. */
static bool take_fds(struct message *m, const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;
	bool fits = true;
	int fd;

	for (i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (m->nr_fds < AGENT_FDS) {
			m->fds[m->nr_fds++] = fd;
		} else {
			close(fd);
			fits = false;
		}
	}
	return fits;
}

static bool take_control(struct message *m, struct msghdr *h)
{
	bool fits = !(h->msg_flags & MSG_CTRUNC);
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			fits = take_fds(m, c) && fits;
	return fits;
}

static int request_parse(struct message *m, const char *text, size_t len, struct rec_error *e)
{
	m->json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(m->json))
		return 0;
	return rec_error_set(e, -EINVAL, "a request must be one JSON object");
}

int message_receive(int socket, struct message *m, struct rec_error *e)
{
	char control[CMSG_SPACE(sizeof(int) * FDS_ROOM)];
	char text[AGENT_MESSAGE_MAX];
	struct iovec io = { text, sizeof(text) };
	struct msghdr h = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;
	bool fits;

	memset(m, 0, sizeof(*m));
	n = recvmsg(socket, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -ENOTCONN;
	fits = take_control(m, &h);
	screen(m);
	if (!n)
		return -ENOTCONN;
	if (h.msg_flags & MSG_TRUNC)
		return rec_error_set(e, -EINVAL, "a request may have at most %u bytes",
				     AGENT_MESSAGE_MAX);
	if (h.msg_flags & MSG_CTRUNC && m->nr_fds < AGENT_FDS)
		return rec_error_set(e, -EMFILE,
				     "the agent has no file descriptors "
				     "left");
	if (!fits)
		return rec_error_set(e, -EINVAL,
				     "a request may have at most %u "
				     "descriptors",
				     AGENT_FDS);
	return request_parse(m, text, (size_t)n, e);
}

/* Descriptors */

static int check_fd(int fd, enum message_why why, const char *name, bool output,
		    struct rec_error *e)
{
	int flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE;

	if (why == MESSAGE_OTHER_FS)
		return rec_error_set(e, -EOPNOTSUPP,
				     "%s: the agent does not support this file system, or "
				     "overlayfs that it does not see itself",
				     name);
	if (why == MESSAGE_NO_FILE || flags < 0)
		return rec_error_set(e, -EOPNOTSUPP, "%s: not a regular file", name);
	if (flags & O_PATH || (output ? mode == O_RDONLY : mode == O_WRONLY))
		return rec_error_set(e, -EBADF, "%s: not open for %s", name,
				     output ? "writing" : "reading");
	if (output && flags & O_APPEND)
		return rec_error_set(e, -EBADF, "%s: open for appending", name);
	return 0;
}

/* Move the descriptor at index *@place of the message to the task, and set *@place to
 * its index there.
 */
static int request_take(struct task *t, enum agent_fd what, int *place, struct message *m,
			struct rec_error *e)
{
	bool output = what == AGENT_BITMAP || what == AGENT_AGES || what == AGENT_RECORDS;
	int ret;

	if (*place < 0)
		return 0;
	ret = check_fd(m->fds[*place], m->why[*place], agent_fd_names[what], output, e);
	if (ret)
		return ret;
	t->fd[what] = m->fds[*place];
	m->fds[*place] = -1;
	*place = what;
	return 0;
}

static int take_all(struct task *t, struct message *m, struct rec_error *e)
{
	struct job_spec *s = &t->request.spec;
	int ret = request_take(t, AGENT_KEYS, &s->keys_fd, m, e);

	if (!ret)
		ret = request_take(t, AGENT_BITMAP, &s->bitmap_fd, m, e);
	if (!ret)
		ret = request_take(t, AGENT_AGES, &s->ages_fd, m, e);
	if (!ret)
		ret = request_take(t, AGENT_RECORDS, &s->records_fd, m, e);
	if (!ret)
		ret = request_take(t, AGENT_SNAPSHOT, &t->request.snapshot, m, e);
	return ret;
}

int request_task(struct task **task, struct message *m, struct rec_error *e)
{
	struct task *t = task_new();
	int ret;

	*task = t;
	if (!t)
		return rec_error_set(e, -ENOMEM, "out of memory");
	ret = agent_request_parse(&t->request, m->json, m->nr_fds, e);
	if (!ret)
		ret = take_all(t, m, e);
	if (ret) {
		task_free(t);
		*task = NULL;
	}
	return ret;
}

/* Status */

static json_t *request_counter(const __u64 *word)
{
	return json_integer((json_int_t)stats_read(word));
}

static json_t *engines(void)
{
	json_t *list = json_array();
	const struct epf_engine *engine;
	unsigned int i;

	for (i = 0; (engine = epf_engine_at(i)); i++)
		if (engine->usable())
			json_array_append_new(list, json_string(engine->name));
	return list;
}

static json_t *watches(const struct conf *conf)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < conf->nr_watches; i++)
		json_array_append_new(list,
				      json_pack("{so so}", "dir", json_path(conf->watches[i].dir),
						"filter", json_path(conf->watches[i].target)));
	return list;
}

json_t *request_status(const struct agent_stats *s, const struct conf *conf)
{
	struct epf_gpu_use gpu;

	epf_gpu_use(&gpu);
	return json_pack(
		"{ss sI so so so so so so so so so so so so so so so so so so so "
		"sI sI sI sI sI sI sI}",
		"version", EPF_VERSION, "uptime_ns", (json_int_t)(epf_wall_ns() - s->start_ns),
		"engines", engines(), "audits_done", request_counter(&s->audits_done),
		"audits_failed", request_counter(&s->audits_failed), "audits_cancelled",
		request_counter(&s->audits_cancelled), "audits_fallen_back",
		request_counter(&s->audits_fallen), "requests_refused",
		request_counter(&s->requests_refused), "keys_asked",
		request_counter(&s->keys_asked), "keys_present", request_counter(&s->keys_present),
		"busy_ns", request_counter(&s->busy_ns), "files_done",
		request_counter(&s->files_done), "cache_hits", request_counter(&s->cache_hits),
		"cache_misses", request_counter(&s->cache_misses), "cache_bytes",
		request_counter(&s->cache_bytes), "queue", request_counter(&s->queue), "clients",
		request_counter(&s->clients), "holds", request_counter(&s->holds), "mirrors",
		request_counter(&s->mirrors), "mirror_copies", request_counter(&s->mirror_copies),
		"watches", watches(conf), "gpu_uploads", (json_int_t)gpu.uploads, "gpu_reuses",
		(json_int_t)gpu.reuses, "gpu_columns", (json_int_t)gpu.columns, "gpu_column_asks",
		(json_int_t)gpu.column_asks, "gpu_records", (json_int_t)gpu.records, "gpu_devices",
		(json_int_t)gpu.devices, "gpu_devices_lost", (json_int_t)gpu.lost);
}
