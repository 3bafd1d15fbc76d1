/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A message of a client, from the socket to a task. Everything in it is from
 * anybody: it is checked here, and nowhere else has to be.
 */
#ifndef EPFAGENT_REQUEST_H
#define EPFAGENT_REQUEST_H

#include "epfagent/conf.h"
#include "epfagent/task.h"

/* What no audit may have. */
enum message_why { MESSAGE_SOUND, MESSAGE_NO_FILE, MESSAGE_OTHER_FS };

/**
 * struct message - one message
 * @json: object
 * @fds: descriptors that came with it; -1: closed, or given away
 * @why: of those that were closed
 * @nr_fds: how many
 */
struct message {
	json_t *json;
	int fds[AGENT_FDS];
	enum message_why why[AGENT_FDS];
	unsigned int nr_fds;
};

/**
 * message_receive() - take one from a socket
 * @socket: non-blocking
 * @m: result; to be freed also on failure
 * @e: what is wrong, on failure
 *
 * Descriptors whose use may take as long as somebody likes are closed.
 *
 * Context: that may take as long.
 *
 * Return: 0; -EAGAIN: there is none; -ENOTCONN: the client is gone; -EINVAL:
 * too long, too many descriptors, no JSON object; -EMFILE.
 */
int message_receive(int socket, struct message *m, struct rec_error *e);
/* Context: keeps nobody waiting. */
void message_free(struct message *m);

/**
 * request_task() - the task that is asked for
 * @t: result
 * @m: request; descriptors that the task takes become -1
 * @e: what is wrong, on failure
 *
 * Return: 0; -EINVAL; -EOPNOTSUPP: no regular file, or see fs_taken();
 * -EBADF: not open for what it is to be used for; -ENOMEM.
 */
int request_task(struct task **t, struct message *m, struct rec_error *e);

/* What "status" tells. */
json_t *request_status(const struct agent_stats *stats,
		       const struct conf *conf);

#endif /* EPFAGENT_REQUEST_H */
