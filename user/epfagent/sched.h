/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The scheduler. One worker thread does all audits, one turn at a time, because an engine
 * uses all CPUs anyway. Users take turns, and so do the audits of one user. An audit
 * therefore waits for at most one turn of each other user, however much they have queued.
 * A turn ends when about @step_keys keys were looked up or as much work was done to find
 * keys, and in any case after some ten milliseconds (SLICE_NS).
 *
 * One lock protects the queues and the published state of tasks. It is held only for a few
 * list operations.
 */
#ifndef EPFAGENT_SCHED_H
#define EPFAGENT_SCHED_H

#include "epfagent/task.h"

/**
 * struct sched_conf - limits
 * @jobs: audits waiting or running
 * @jobs_per_user: likewise, of one user
 * @step_keys: approximate keys of a turn
 * @threads: threads of an engine; 0: all CPUs
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
 * @cache: cache; used by the worker only from now on
 * @stats: counters
 * @wake: eventfd, written when a task has a new state or has ended
 *
 * Return: 0; -ENOMEM; -EAGAIN: no thread could be started.
 */
int sched_start(struct sched **s, const struct sched_conf *conf, struct cache *cache,
		struct agent_stats *stats, int wake);

/* Set limits for future turns. Those of @cache must be set before. */
void sched_limit(struct sched *s, const struct sched_conf *conf);

/* Hand over a task. Tasks of TASK_NOBODY are not limited. Return: 0; -EBUSY or -ENOMEM,
 * with @t->error set: the caller still owns the task.
 */
int sched_add(struct sched *s, struct task *t);

/* Make a task end at its next step. */
void sched_cancel(struct task *t);

/**
 * struct sched_job - a task that has not ended
 * @task: of it, only what does not change while it is in the scheduler; valid until the
 *	caller returns to the event loop
 * @state: its published state
 */
struct sched_job {
	const struct task *task;
	struct job_state state;
};

/**
 * sched_jobs() - list tasks that have not ended
 * @s: scheduler
 * @uid: of this user; TASK_NOBODY: of all
 * @after: with greater numbers than this
 * @jobs: result, in the order of their numbers
 * @max: room in @jobs
 *
 * Return: number of tasks in @jobs.
 */
unsigned int sched_jobs(struct sched *s, uid_t uid, __u64 after, struct sched_job *jobs,
			unsigned int max);

/* Make the task with number @id end at its next step, if @uid may see it as in
 * sched_jobs(). Return: 0; -ESRCH: no such job.
 */
int sched_cancel_job(struct sched *s, uid_t uid, __u64 id);

/* The published state of a task; @t owns its texts. Return: whether it is new. */
bool sched_look(struct sched *s, struct task *t, struct job_state *state);

/* Take back a task that has ended; NULL: none. */
struct task *sched_take(struct sched *s);

/* End all tasks with -ECANCELED, and wait for the running step. Then call sched_take(). */
void sched_stop(struct sched *s);
void sched_free(struct sched *s);

#endif /* EPFAGENT_SCHED_H */
