// SPDX-License-Identifier: GPL-2.0
/* A pool of threads: each does errands (work items) until the queue is empty, and ends. */
#include "epfagent/aside.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "epfagent/timer.h"

STAILQ_HEAD(errands, errand);

/**
 * struct aside - the pool; @lock protects @todo and @done
 * @ready: eventfd: errands are done
 * @nr_missing: threads that could not be started; used by the event loop only
 * @retry: running while threads are missing
 * @todo: errands not begun
 * @done: errands whose done() was not called yet
 */
struct aside {
	int ready;
	unsigned int nr_missing;
	sd_event_source *retry;
	pthread_mutex_t lock;
	struct errands todo;
	struct errands done;
};

static struct errand *take(struct aside *a, struct errands *list)
{
	struct errand *e;

	pthread_mutex_lock(&a->lock);
	e = STAILQ_FIRST(list);
	if (e)
		STAILQ_REMOVE_HEAD(list, link);
	pthread_mutex_unlock(&a->lock);
	return e;
}

static void add(struct aside *a, struct errands *list, struct errand *e)
{
	pthread_mutex_lock(&a->lock);
	STAILQ_INSERT_TAIL(list, e, link);
	pthread_mutex_unlock(&a->lock);
}

static void *run(void *arg)
{
	struct aside *a = arg;
	struct errand *e;

	while ((e = take(a, &a->todo))) {
		e->work(e);
		add(a, &a->done, e);
		eventfd_write(a->ready, 1);
	}
	return NULL;
}

static int finish(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct aside *a = arg;
	struct errand *e;
	eventfd_t unused;

	(void)source;
	(void)events;
	eventfd_read(fd, &unused);
	while ((e = take(a, &a->done)))
		e->done(e);
	return 0;
}

static int start(struct aside *a)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, run, a);
	pthread_attr_destroy(&attr);
	return err;
}

/* If no thread can be started, the errand waits. It is never done in the event loop,
 * which a user could then block: threads run out just when such errands occupy all of
 * them.
 */
void aside_run(struct aside *a, struct errand *e)
{
	add(a, &a->todo, e);
	if (!start(a))
		return;
	a->nr_missing++;
	timer_start(a->retry, TIMER_RETRY_USEC);
}

/* Start one thread per missing thread, because the running ones may block forever. A
 * thread whose errand was done meanwhile finds the queue empty and ends.
 */
static int start_missing(sd_event_source *timer, uint64_t usec, void *arg)
{
	struct aside *a = arg;

	(void)usec;
	while (a->nr_missing && !start(a))
		a->nr_missing--;
	if (a->nr_missing)
		timer_start(timer, TIMER_RETRY_USEC);
	return 0;
}

struct aside *aside_new(sd_event *loop)
{
	struct aside *a = calloc(1, sizeof(*a));

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
