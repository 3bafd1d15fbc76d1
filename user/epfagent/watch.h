/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watched directories: each finished file is audited once. Finished is what
 * was closed after writing, or moved there; at the start also what is there and
 * not open for writing. Symbolic links, hidden files, and whatever is no regular
 * file or is a result are none. One agent has a directory at a time (flock).
 *
 * All in the thread of the event loop, but for the end of an audit (result.h).
 */
#ifndef EPFAGENT_WATCH_H
#define EPFAGENT_WATCH_H

#include "epfagent/conf.h"
#include "epfagent/loop.h"

struct watches;

/**
 * struct watches_conf - what watches work with, all of it the caller's
 * @sched: who does audits
 * @stats: to be counted in
 * @loop: of events
 */
struct watches_conf {
	struct sched *sched;
	struct agent_stats *stats;
	struct loop *loop;
};

/* Return: NULL: no memory. */
struct watches *watches_new(const struct watches_conf *c);

/**
 * watches_set() - watch these directories from now on
 * @w: watches
 * @conf: settings; the caller's until the next call
 *
 * Directories that were watched already are looked through again; an audit that
 * is under way goes on, also of a directory that is left. What cannot be
 * watched is an error line, and the others are.
 */
void watches_set(struct watches *w, const struct conf *conf);

/* A task of a watch (of TASK_NOBODY) has ended: it is freed. */
void watches_ended(struct watches *w, struct task *t);

/* Begin no audits any more. */
void watches_quiet(struct watches *w);
/* Its tasks have been taken back. */
void watches_free(struct watches *w);

#endif /* EPFAGENT_WATCH_H */
