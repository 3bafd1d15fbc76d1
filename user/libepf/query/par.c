// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads that take pieces of work from a shared counter. */
#include "engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/**
 * struct hand - one thread
 * @par: all share it
 * @self: its own
 */
struct hand {
	struct epf_par *par;
	void *self;
	pthread_t thread;
};

/* Do one piece. Return: was there one? */
static bool piece(struct epf_par *p, void *self)
{
	__u64 first = __atomic_fetch_add(&p->next, p->step, __ATOMIC_RELAXED);
	__u64 n;

	if (first >= p->n || __atomic_load_n(&p->stop, __ATOMIC_RELAXED))
		return false;
	n = p->n - first < p->step ? p->n - first : p->step;
	p->work(self, first, n);
	__atomic_fetch_add(&p->done, n, __ATOMIC_RELAXED);
	return true;
}

static void *helper(void *arg)
{
	struct hand *h = arg;

	while (piece(h->par, h->self))
		;
	return NULL;
}

/* The calling thread works too, and reports the progress of all. */
static void lead(struct epf_par *p, void *self)
{
	while (piece(p, self)) {
		__u64 done = __atomic_load_n(&p->done, __ATOMIC_RELAXED);

		if (p->progress && p->progress(p->ctx, done, p->n))
			__atomic_store_n(&p->stop, 1, __ATOMIC_RELAXED);
	}
}

static unsigned int cpus(void)
{
	cpu_set_t set;
	long n;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned int)CPU_COUNT(&set);
	n = sysconf(_SC_NPROCESSORS_ONLN); /* more than the set has room for */
	return n < 1 ? 1 : (unsigned int)n;
}

unsigned int epf_par_threads(unsigned int want, __u64 n, __u64 step)
{
	unsigned int threads = want ? want : cpus();
	__u64 pieces = n / step + 1;

	if (threads > EPF_AUDIT_THREADS_MAX)
		threads = EPF_AUDIT_THREADS_MAX;
	return threads < pieces ? threads : (unsigned int)pieces;
}

void epf_par_run(struct epf_par *p, void *selves, size_t self_bytes, unsigned int threads)
{
	struct hand *hand = threads > 1 ? calloc(threads, sizeof(*hand)) : NULL;
	unsigned int started, i;

	for (started = 1; hand && started < threads; started++) {
		struct hand *h = &hand[started];

		h->par = p;
		h->self = (char *)selves + started * self_bytes;
		if (pthread_create(&h->thread, NULL, helper, h))
			break;
	}
	lead(p, selves);
	for (i = 1; hand && i < started; i++)
		pthread_join(hand[i].thread, NULL);
	free(hand);
}
