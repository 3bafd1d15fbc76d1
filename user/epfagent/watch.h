/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Watched directories: each finished file is audited once. A file is finished when it was
 * closed after writing or moved there; at the start also every existing file that is not
 * open for writing. Symbolic links, hidden files, files that are not regular, and results
 * are ignored. A directory has one agent at a time (flock).
 *
 * Everything runs in the thread of the event loop, except the end of an audit (result.h).
 */
#ifndef EPFAGENT_WATCH_H
#define EPFAGENT_WATCH_H

#include <systemd/sd-event.h>

#include "epfagent/conf.h"

struct watches;

/**
 * struct watches_conf - parameters of watches, all owned by the caller
 * @sched: scheduler
 * @stats: counters
 * @loop: event loop
 */
struct watches_conf {
	struct sched *sched;
	struct agent_stats *stats;
	sd_event *loop;
};

/* Return: NULL: out of memory. */
struct watches *watches_new(const struct watches_conf *c);

/**
 * watches_set() - set the directories to watch
 * @w: watches
 * @conf: settings; must be valid until the next call
 *
 * Directories that are watched already are scanned again. Running audits continue, even
 * of a directory that is left. An error is printed for each directory that cannot be
 * watched; the others are watched nevertheless.
 */
void watches_set(struct watches *w, const struct conf *conf);

/* The path of the file that a task of a watch audits. */
json_t *watch_file_json(const struct task *t);

/* A task of a watch (user TASK_NOBODY) has ended; frees it. */
void watches_ended(struct watches *w, struct task *t);

/* Begin no more audits. */
void watches_quiet(struct watches *w);
/* The scheduler must have no task of them any more. */
void watches_free(struct watches *w);

#endif /* EPFAGENT_WATCH_H */
