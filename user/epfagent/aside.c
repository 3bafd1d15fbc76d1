// SPDX-License-Identifier: GPL-2.0
/* A pool of threads: each does errands (work items) until the queue is empty, and ends. */
#include "epfagent/aside.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

STAILQ_HEAD(errands, errand);

/**
 * struct aside - the pool; @lock protects @todo and @done
 * @source: eventfd: errands are done
 * @nr_missing: threads that could not be started; used by the event loop only
 * @todo: errands not begun
 * @done: errands whose done() was not called yet
 */
struct aside {
	struct source source;
	unsigned int nr_missing;
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
		eventfd_write(a->source.fd, 1);
	}
	return NULL;
}

static void ready(struct source *source, short events)
{
	struct aside *a = (struct aside *)source;
	struct errand *e;
	eventfd_t unused;

	(void)events;
	eventfd_read(source->fd, &unused);
	while ((e = take(a, &a->done)))
		e->done(e);
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
	if (start(a))
		a->nr_missing++;
}

/* Start one thread per missing thread, because the running ones may block forever. A
 * thread whose errand was done meanwhile finds the queue empty and ends.
 */
void aside_retry(struct aside *a)
{
	while (a->nr_missing && !start(a))
		a->nr_missing--;
}

bool aside_is_short(const struct aside *a)
{
	return a->nr_missing;
}

struct aside *aside_new(struct loop *loop)
{
	struct aside *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->source.ready = ready;
	a->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&a->lock, NULL);
	STAILQ_INIT(&a->todo);
	STAILQ_INIT(&a->done);
	if (a->source.fd >= 0 && !loop_add(loop, &a->source, POLLIN))
		return a;
	if (a->source.fd >= 0)
		close(a->source.fd);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}
