/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An audit of the agent. Its target and its keys are brought into the cache first, then
 * it is a job (jobs/job.h); all of that in steps.
 *
 * The event loop owns a task until it hands it to the scheduler; then the worker owns it
 * until it has ended, and then the event loop again. While the worker owns it, the loop
 * uses only @owner and @stop; the scheduler's lock protects @shown and @news.
 */
#ifndef EPFAGENT_TASK_H
#define EPFAGENT_TASK_H

#include <sys/queue.h>
#include <sys/types.h>

#include "jobs/agent.h"
#include "epfagent/cache.h"

/* User of tasks that no user requested. */
#define TASK_NOBODY ((uid_t)-1)

struct task;

enum task_phase {
	TASK_TARGET,
	TASK_TARGET_FILL,
	TASK_KEYS,
	TASK_KEYS_FILL,
	TASK_BEGIN,
	TASK_ASK,
};

/* Why a task must end. */
enum task_stop { TASK_GOES_ON, TASK_CLIENT_GONE, TASK_CANCELLED };

/**
 * struct task - an audit, from the request to the reply
 * @link: private to the scheduler
 * @in_all: likewise
 * @id: number of the job, from 1; set by the scheduler
 * @added_ns: CLOCK_MONOTONIC time at which the scheduler got it
 * @uid: user who requested it, or TASK_NOBODY
 * @pid: process of the client, for the log
 * @request: request; the indexes into @fd in its @spec become descriptors at the start
 *	of the job
 * @fd: descriptors owned by the task, or -1
 * @owner: client or watch; used by the event loop only; NULL: nobody waits
 * @end: called by the worker when the audit has ended (0, negative errno), before
 *	anything is closed; returns the result to report. May be NULL
 * @end_ctx: for @end
 * @stop: atomic, enum task_stop: end at the next step
 * @shown: published state
 * @news: @shown is new
 * @ret: result of the audit: 0 or a negative errno
 * @error: text of the error
 * @about: what was audited; zeros: not known yet
 */
struct task {
	TAILQ_ENTRY(task) link;
	TAILQ_ENTRY(task) in_all;
	__u64 id;
	__u64 added_ns;
	uid_t uid;
	pid_t pid;
	struct agent_request request;
	int fd[AGENT_FDS];
	void *owner;
	int (*end)(struct task *t, int ret);
	void *end_ctx;
	int stop;
	struct job_state shown;
	bool news;
	int ret;
	struct rec_error error;
	struct agent_about about;

	/* used by the worker only */
	enum task_phase phase;
	__u64 since_ns; /* CLOCK_MONOTONIC time of its first step; 0: none yet */
	struct cache_entry *target;
	struct cache_entry *keys;
	struct job *job;
	struct job_state state;
	char why[EPF_WHY_LEN];
	char fallen[EPF_WHY_LEN]; /* written once, before it is shown */
};

/* Return: a task without descriptors; NULL: out of memory. */
struct task *task_new(void);

/* Also closes open descriptors. The task must have ended, or never begun. */
void task_free(struct task *t);

/**
 * task_step() - do one step
 * @t: task
 * @cache: cache
 * @keys: approximate number of keys to look up
 * @threads: limit of threads; 0: all CPUs
 * @pace: when to end the step
 *
 * Return: 1: there is more to do; WARM_WAIT: likewise, but another audit must continue
 * first; 0: the task has ended; a negative errno, with @t->error set.
 */
int task_step(struct task *t, struct cache *cache, __u64 keys, unsigned int threads,
	      const struct job_pace *pace);

/* Release everything that the task holds, including files. */
void task_finish(struct task *t, struct cache *cache);

/* The current state, as far as it is known. */
const struct job_state *task_state(struct task *t);

#endif /* EPFAGENT_TASK_H */
