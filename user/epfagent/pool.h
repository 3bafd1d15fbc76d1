/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A pool of threads for operations that may take as long as a user likes, outside of
 * the event loop. close() of a file may wait for its file system, which may be the
 * user's program; close() of a socket may wait for a peer that never reads. Receiving
 * a message with descriptors, or dropping one unread, may be what closes them last.
 *
 * There is at most one thread per work item; callers limit the number of work items.
 */
#ifndef EPFAGENT_POOL_H
#define EPFAGENT_POOL_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

struct pool;

/**
 * struct work_item - a work item
 * @link: private to pool.c
 * @work: called in a thread of the pool; owns the work item until it returns
 * @done: called afterwards in the event loop
 */
struct work_item {
	STAILQ_ENTRY(work_item)
	link;
	void (*work)(struct work_item *e);
	void (*done)(struct work_item *e);
};

/* Create a pool. It exists until the process ends, because its threads may never end.
 * Return: NULL: out of memory or descriptors.
 */
struct pool *pool_new(sd_event *loop);

/* Queue a work item. If no thread can be started, it waits until a thread has finished
 * another work item, or until one can be started (TIMER_RETRY_USEC).
 */
void pool_run(struct pool *a, struct work_item *e);

#endif /* EPFAGENT_POOL_H */
