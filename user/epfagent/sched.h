/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose turn it is. One worker thread does all audits, a turn at a time, since
 * an engine takes all CPUs anyway: users take turns, and within a user its
 * audits do. So an audit waits for one turn of each other user, whatever they
 * have queued. A turn ends when about @step_keys are asked, or so much work was
 * done to find them, and in any case after some ten milliseconds (SLICE_NS).
 *
 * One lock, for the queues and what tasks show; held for a few moves of a list.
 */
#ifndef EPFAGENT_SCHED_H
#define EPFAGENT_SCHED_H

#include "epfagent/task.h"

/**
 * struct sched_conf - limits
 * @jobs: audits that wait or run, in all
 * @jobs_per_user: of one user
 * @step_keys: about so many keys a turn
 * @threads: of an engine at most; 0: all CPUs
 */
struct sched_conf {
	unsigned int jobs;
	unsigned int jobs_per_user;
	__u64 step_keys;
	unsigned int threads;
};

struct sched;

/**
 * sched_start() - start the worker
 * @s: result
 * @conf: limits
 * @warm: copies; the worker's from now on
 * @stats: to be counted in
 * @wake: eventfd, written when a task shows something new or has ended
 *
 * Return: 0; -ENOMEM; -EAGAIN: no thread.
 */
int sched_start(struct sched **s, const struct sched_conf *conf,
		struct warm *warm, struct agent_stats *stats, int wake);

/* New limits, for what comes; those of @warm are set before. */
void sched_limit(struct sched *s, const struct sched_conf *conf);

/* Hand over a task. Return: 0; -EBUSY or -ENOMEM, with @t->error: it stays the
 * caller's. Those of TASK_NOBODY are not limited.
 */
int sched_add(struct sched *s, struct task *t);

/* Have it end at its next step. */
void sched_cancel(struct task *t);

/* Where it is; *@why of it is @t's. Return: whether that is new. */
bool sched_look(struct sched *s, struct task *t, struct job_state *state);

/* One that has ended, the caller's again; NULL: none. */
struct task *sched_take(struct sched *s);

/* All end with -ECANCELED; waits for the step that runs. Then sched_take(). */
void sched_stop(struct sched *s);
void sched_free(struct sched *s);

#endif /* EPFAGENT_SCHED_H */
