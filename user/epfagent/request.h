/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message of a client, from the socket to a task. Its contents are untrusted. They are
 * checked here, so no other code has to.
 */
#ifndef EPFAGENT_REQUEST_H
#define EPFAGENT_REQUEST_H

#include "epfagent/conf.h"
#include "epfagent/task.h"

/* Whether a descriptor is acceptable, and why not. */
enum message_why { MESSAGE_SOUND, MESSAGE_NO_FILE, MESSAGE_OTHER_FS };

/**
 * struct message - one message
 * @json: object
 * @fds: descriptors that came with it; -1: closed, or moved to a task
 * @why: why a descriptor was closed
 * @nr_fds: how many
 */
struct message {
	json_t *json;
	int fds[AGENT_FDS];
	enum message_why why[AGENT_FDS];
	unsigned int nr_fds;
};

/**
 * message_receive() - receive a message from a socket
 * @socket: non-blocking
 * @m: result; must be freed also on failure
 * @e: set to the error text on failure
 *
 * Closes descriptors whose use may take as long as a user likes.
 *
 * Context: may itself take that long.
 *
 * Return: 0; -EAGAIN: there is no message; -ENOTCONN: the client is gone; -EINVAL: too
 * long, too many descriptors, or not a JSON object; -EMFILE.
 */
int message_receive(int socket, struct message *m, struct rec_error *e);
/* Context: does not block. */
void message_free(struct message *m);

/**
 * request_task() - make a task from a request
 * @t: result
 * @m: request; descriptors that move to the task become -1
 * @e: set to the error text on failure
 *
 * Return: 0; -EINVAL; -EOPNOTSUPP: not a regular file, or see fs_taken(); -EBADF: not
 * open for the required access; -ENOMEM.
 */
int request_task(struct task **t, struct message *m, struct rec_error *e);

/* The reply to "status". */
json_t *request_status(const struct agent_stats *stats, const struct conf *conf);

#endif /* EPFAGENT_REQUEST_H */
