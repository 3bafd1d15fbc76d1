/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An audit as the agent does it: what it asks and its keys are made warm first,
 * then it is a job (audit/job.h), all in steps.
 *
 * A task belongs to the event loop until it is given to the scheduler, then to
 * the worker, and when the worker has ended it to the event loop again. Meanwhile
 * the loop touches @owner and @stop only; @shown and @news are under the
 * scheduler's lock.
 */
#ifndef EPFAGENT_TASK_H
#define EPFAGENT_TASK_H

#include <sys/queue.h>
#include <sys/types.h>

#include "audit/agent.h"
#include "epfagent/warm.h"

/* Of tasks that no user asked for. */
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

/**
 * struct task - an audit, from the request to the answer
 * @link: the scheduler's
 * @uid: who asks, or TASK_NOBODY
 * @pid: who asks, for the log
 * @request: what; places in @fd in its @spec become descriptors when it begins
 * @fd: the task's own, or -1
 * @owner: the loop's, never the worker's; NULL: nobody waits
 * @end: called by the worker when the audit has ended (0, negative errno), before
 *	anything is closed; returns what is to be told; or NULL
 * @end_ctx: for @end
 * @stop: atomic: to be ended at the next step
 * @shown: where it is
 * @news: @shown is new
 * @ret: when it has ended: 0 or a negative errno
 * @error: of it
 * @about: what was asked; zeros: not known
 */
struct task {
	TAILQ_ENTRY(task) link;
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

	/* the worker's */
	enum task_phase phase;
	__u64 since_ns; /* CLOCK_MONOTONIC: of its first step; 0: none yet */
	struct warm_entry *target;
	struct warm_entry *keys;
	struct job *job;
	struct job_state state;
	char why[EPF_WHY_LEN];
	char fallen[EPF_WHY_LEN]; /* written once, before it is shown */
};

/* Return: a task without descriptors; NULL: no memory. */
struct task *task_new(void);

/* Closes descriptors that are still open. It has ended, or never began. */
void task_free(struct task *t);

/**
 * task_step() - go on
 * @t: task
 * @warm: copies
 * @keys: about so many
 * @threads: at most; 0: all CPUs
 * @pace: when it is to end
 *
 * Return: 1: there is more; WARM_WAIT: likewise, but another audit is to go on
 * first; 0: that was the end; a negative errno, with @t->error.
 */
int task_step(struct task *t, struct warm *warm, __u64 keys,
	      unsigned int threads, const struct job_pace *pace);

/* Give back all that it took, files too. */
void task_finish(struct task *t, struct warm *warm);

/* The state as far as it is known. */
const struct job_state *task_state(struct task *t);

#endif /* EPFAGENT_TASK_H */
