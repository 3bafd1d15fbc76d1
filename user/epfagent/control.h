/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What clients can learn about the agent's work, and cancel. Root and the agent's own user
 * see all audits; other users see and cancel only theirs.
 *
 * A reply takes at most CONTROL_JOBS audits, so its size and the time to make it are
 * bounded. Everything but control_note() runs in the thread of the event loop.
 */
#ifndef EPFAGENT_CONTROL_H
#define EPFAGENT_CONTROL_H

#include <stdbool.h>

#include "epfagent/sched.h"

#define CONTROL_JOBS 8u

/**
 * control_jobs() - the reply to "jobs"
 * @s: scheduler
 * @peer: user of the client
 * @request: the message
 * @e: set to the error text on failure
 *
 * Return: a new reference; NULL: invalid, or out of memory.
 */
json_t *control_jobs(struct sched *s, uid_t peer, json_t *request, struct rec_error *e);

/* The reply to "cancel". Return: NULL, with *@err (-EINVAL, -ENOENT, -ENOMEM). */
json_t *control_cancel(struct sched *s, uid_t peer, json_t *request, int *err, struct rec_error *e);

/* Keep the last error or warning for the status. Context: any thread. */
void control_note(const char *kind, const char *line);

/* Add to @status what only some users may see. */
void control_status(json_t *status, uid_t peer);

#endif /* EPFAGENT_CONTROL_H */
