// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See apply_pool.h. */
#include "cluster/apply_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define STACK_BYTES (1u << 20)

struct apply_pool;

/**
 * struct worker - a thread
 * @pool: its pool
 * @number: of the thread, from 1
 * @thread: itself
 */
struct worker {
	struct apply_pool *pool;
	unsigned int number;
	pthread_t thread;
};

/**
 * struct apply_pool - see apply_pool.h
 * @insert: inserts a chunk
 * @ctx: for @insert
 * @workers: threads that run
 * @lock: protects all below
 * @more: @left or @end is set
 * @done: @left and @busy are 0
 * @digest: the part of the batch that nobody has taken
 * @left: digests in it
 * @busy: chunks that are being inserted. A thread decrements it after @insert has returned, with
 *	@lock: whoever holds @lock and finds @left and @busy 0 therefore finds what all threads
 *	inserted, and so does whoever reads, by load-acquire, what that thread stores by release
 *	afterwards: the promise of the cover map
 * @error: of the batch: the first one of @insert, kept until the caller has seen it
 * @end: the threads must end
 * @worker: the threads but the caller's
 */
struct apply_pool {
	apply_chunk *insert;
	void *ctx;
	unsigned int workers;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_cond_t done;
	const __u64 *digest;
	__u32 left;
	unsigned int busy;
	int error;
	bool end;
	struct worker worker[APPLY_THREADS_MAX - 1];
};

/* Insert a chunk of what is left. Call it with @lock, which is released meanwhile. */
static void pool_step(struct apply_pool *p, unsigned int thread)
{
	__u32 count = p->left < APPLY_CHUNK ? p->left : APPLY_CHUNK;
	const __u64 *digest = p->digest;
	int ret;

	p->digest += count;
	p->left -= count;
	p->busy++;
	pthread_mutex_unlock(&p->lock);
	ret = p->insert(p->ctx, thread, digest, count);
	pthread_mutex_lock(&p->lock);
	p->busy--;
	if (ret && !p->error)
		p->error = ret;
	if (ret)
		p->left = 0; /* the batch has failed */
	if (!p->left && !p->busy)
		pthread_cond_signal(&p->done);
}

static void *apply_pool_run(void *arg)
{
	struct worker *w = arg;
	struct apply_pool *p = w->pool;

	pthread_mutex_lock(&p->lock);
	while (!p->end) {
		if (p->left)
			pool_step(p, w->number);
		else
			pthread_cond_wait(&p->more, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int apply_pool_insert(struct apply_pool *p, const __u64 *digest, __u32 count)
{
	unsigned int i, chunks = (count + APPLY_CHUNK - 1) / APPLY_CHUNK;
	int ret;

	if (!count || !p->workers)
		return count ? p->insert(p->ctx, 0, digest, count) : 0;
	pthread_mutex_lock(&p->lock);
	p->digest = digest;
	p->left = count;
	p->error = 0;
	for (i = 1; i < chunks && i <= p->workers; i++)
		pthread_cond_signal(&p->more);
	while (p->left)
		pool_step(p, 0);
	while (p->busy)
		pthread_cond_wait(&p->done, &p->lock);
	ret = p->error;
	pthread_mutex_unlock(&p->lock);
	return ret;
}

static int start_worker(struct apply_pool *p)
{
	struct worker *w = &p->worker[p->workers];
	pthread_attr_t attr;
	int err;

	w->pool = p;
	w->number = p->workers + 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&w->thread, &attr, apply_pool_run, w);
	pthread_attr_destroy(&attr);
	p->workers += !err;
	return -err;
}

int apply_pool_new(struct apply_pool **pool, unsigned int threads, apply_chunk *insert, void *ctx)
{
	struct apply_pool *p = calloc(1, sizeof(*p));
	int ret = 0;

	*pool = NULL;
	if (!p)
		return -ENOMEM;
	p->insert = insert;
	p->ctx = ctx;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->done, NULL);
	while (!ret && p->workers + 1 < threads && p->workers + 1 < APPLY_THREADS_MAX)
		ret = start_worker(p);
	if (ret)
		apply_pool_free(p);
	else
		*pool = p;
	return ret;
}

void apply_pool_free(struct apply_pool *p)
{
	unsigned int i;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->end = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->workers; i++)
		pthread_join(p->worker[i].thread, NULL);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
