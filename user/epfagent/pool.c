// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A pool of threads: each does work items until the queue is empty, and ends. */
#include "epfagent/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "epfagent/timer.h"

STAILQ_HEAD(work_items, work_item);

/**
 * struct pool - the pool; @lock protects @todo and @done
 * @ready: eventfd: work items are done
 * @nr_missing: threads that could not be started; used by the event loop only
 * @retry: running while threads are missing
 * @todo: work items not begun
 * @done: work items whose done() was not called yet
 */
struct pool {
	int ready;
	unsigned int nr_missing;
	sd_event_source *retry;
	pthread_mutex_t lock;
	struct work_items todo;
	struct work_items done;
};

static struct work_item *pool_take(struct pool *a, struct work_items *list)
{
	struct work_item *e;

	pthread_mutex_lock(&a->lock);
	e = STAILQ_FIRST(list);
	if (e)
		STAILQ_REMOVE_HEAD(list, link);
	pthread_mutex_unlock(&a->lock);
	return e;
}

static void pool_add(struct pool *a, struct work_items *list, struct work_item *e)
{
	pthread_mutex_lock(&a->lock);
	STAILQ_INSERT_TAIL(list, e, link);
	pthread_mutex_unlock(&a->lock);
}

static void *epfagent_pool_run(void *arg)
{
	struct pool *a = arg;
	struct work_item *e;

	while ((e = pool_take(a, &a->todo))) {
		e->work(e);
		pool_add(a, &a->done, e);
		eventfd_write(a->ready, 1);
	}
	return NULL;
}

static int finish(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct pool *a = arg;
	struct work_item *e;
	eventfd_t unused;

	(void)source;
	(void)events;
	eventfd_read(fd, &unused);
	while ((e = pool_take(a, &a->done)))
		e->done(e);
	return 0;
}

static int pool_start(struct pool *a)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, epfagent_pool_run, a);
	pthread_attr_destroy(&attr);
	return err;
}

/* If no thread can be started, the work item waits. It is never done in the event loop,
 * which a user could then block: threads run out just when such items occupy all of
 * them.
 */
void pool_run(struct pool *a, struct work_item *e)
{
	pool_add(a, &a->todo, e);
	if (!pool_start(a))
		return;
	a->nr_missing++;
	timer_start(a->retry, TIMER_RETRY_USEC);
}

/* Start one thread per missing thread, because the running ones may block forever. A
 * thread whose item was done meanwhile finds the queue empty and ends.
 */
static int start_missing(sd_event_source *timer, uint64_t usec, void *arg)
{
	struct pool *a = arg;

	(void)usec;
	while (a->nr_missing && !pool_start(a))
		a->nr_missing--;
	if (a->nr_missing)
		timer_start(timer, TIMER_RETRY_USEC);
	return 0;
}

struct pool *pool_new(sd_event *loop)
{
	struct pool *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&a->lock, NULL);
	STAILQ_INIT(&a->todo);
	STAILQ_INIT(&a->done);
	if (a->ready >= 0 && timer_new(&a->retry, loop, start_missing, a) >= 0 &&
	    sd_event_add_io(loop, NULL, a->ready, EPOLLIN, finish, a) >= 0)
		return a;
	sd_event_source_unref(a->retry);
	if (a->ready >= 0)
		close(a->ready);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}
