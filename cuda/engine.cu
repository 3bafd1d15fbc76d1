// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of functions (struct epf_cuda_ops). Lines and columns stay on the
 * cards until they are released, streams and buffers as long as the process
 * lives.
 */
#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define APPLY_RECORDS (1ULL << 22) /* records copied at a time: 128 MiB */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Every operation runs between this and leave(). */
static int enter(struct epf_cuda_error *e)
{
	pthread_mutex_lock(&lock);
	return card_claim(e);
}

static int leave(int ret)
{
	pthread_mutex_unlock(&lock);
	return ret;
}

static int run(__u64 most, card_fn work, void *ctx, struct epf_cuda_error *e)
{
	int ret = enter(e);

	return leave(ret ? ret : cards_run(most, work, ctx, e));
}

static int probe_one(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	return card_probe(c, (struct epf_cuda_device *)ctx, e);
}

static int probe_all(__u32 devices, struct epf_cuda_devices *found, struct epf_cuda_error *e)
{
	int ret = cards_use(devices, e);
	__u32 i;

	for (i = 0; i < cards_nr() && !ret; i++)
		ret = cards_on(cards_at(i), probe_one, &found->device[i], e);
	found->nr = i;
	return ret;
}

static int probe(__u32 devices, struct epf_cuda_devices *found, struct epf_cuda_error *e)
{
	int ret = enter(e);

	memset(found, 0, sizeof(*found));
	return leave(ret ? ret : probe_all(devices, found, e));
}

static __u32 lost(struct epf_cuda_error *e)
{
	__u32 nr;

	pthread_mutex_lock(&lock);
	nr = cards_lost(e);
	pthread_mutex_unlock(&lock);
	return nr;
}

/* ---- lines ---- */

static bool lines_sound(const struct epf_cuda_lines *l)
{
	const struct epf_geom *g = &l->geom;
	struct epf_geom again;

	return l->line && !((uintptr_t)l->line % sizeof(__u64)) && l->epoch >= EPF_EPOCH_FIRST &&
	       g->parts <= EPF_PARTS_MAX && g->part_lines <= EPF_PART_LINES_MAX &&
	       g->bits <= EPF_PART_BITS_MAX &&
	       !epf_geom_init(&again, epf_geom_lines(g), g->parts, (__u32)g->bits * g->parts) &&
	       g->skip == again.skip;
}

static size_t bytes_of(const struct epf_cu_lines *f)
{
	return epf_geom_lines(&f->geom) * EPF_LINE_BYTES;
}

static int drop_one(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	struct epf_cu_lines *f = &((struct epf_cuda_held *)ctx)->on[cards_index(c)];

	(void)e;
	if (c->kept == f->line)
		card_keep(c, NULL);
	cudaFree(f->line);
	return 0;
}

/* Do @work on each device, also on those that have failed, and ignore errors. */
static void on_all(card_fn work, void *ctx)
{
	struct epf_cuda_error e;
	__u32 i;

	for (i = 0; i < cards_nr() && !card_is_forked(); i++)
		cards_on(cards_at(i), work, ctx, &e);
}

static int settle(struct card *c, struct epf_cu_lines *f, struct epf_cuda_error *e)
{
	cudaError_t err = epf_cu_settle(f, c->run);

	if (!err)
		err = cudaStreamSynchronize(c->run);
	return err ? card_fails(e, err, "settling lines on the GPU") : 0;
}

/**
 * struct filling - lines that are copied to all devices
 */
struct filling {
	struct epf_cuda_held *held;
	const struct epf_line *line;
	__u32 threads;
};

static int fill(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	const struct filling *l = (const struct filling *)ctx;
	struct epf_cu_lines *f = &l->held->on[cards_index(c)];
	void *to;
	int ret = card_begin(c, e);

	if (!ret)
		ret = card_alloc(&to, bytes_of(f), "lines", e);
	if (ret)
		return ret;
	f->line = (struct epf_line *)to;
	ret = flow_up(c, to, l->line, bytes_of(f), true, l->threads, e);
	if (!ret)
		ret = settle(c, f, e);
	if (ret)
		card_quiet(c);
	return ret;
}

static int fill_all(struct epf_cuda_held *h, const struct epf_cuda_lines *lines, __u32 threads,
		    struct epf_cuda_error *e)
{
	struct filling l = { h, lines->line, threads };
	__u32 i;

	if (!lines_sound(lines))
		return card_wrong(e, -EINVAL, "invalid lines: address, geometry or epoch");
	for (i = 0; i < cards_nr(); i++) {
		h->on[i].geom = lines->geom;
		h->on[i].epoch = lines->epoch;
	}
	h->hash = lines->hash;
	return cards_run(cards_nr(), fill, &l, e);
}

static int hold(const struct epf_cuda_lines *lines, __u32 threads, struct epf_cuda_held **held,
		struct epf_cuda_error *e)
{
	struct epf_cuda_held *h = (struct epf_cuda_held *)calloc(1, sizeof(*h));
	int ret = enter(e);

	*held = NULL;
	if (!ret && !h)
		ret = card_wrong(e, -ENOMEM, "out of memory");
	if (!ret)
		ret = fill_all(h, lines, threads, e);
	if (!ret) {
		*held = h;
	} else if (h) {
		on_all(drop_one, h);
		free(h);
	}
	return leave(ret);
}

static void release(struct epf_cuda_held *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&lock);
	on_all(drop_one, h);
	free(h);
	leave(0);
}

/**
 * struct fetching - lines that are copied back
 */
struct fetching {
	const struct epf_cuda_held *held;
	struct epf_line *line;
};

static int fetch_from(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	const struct fetching *g = (const struct fetching *)ctx;
	const struct epf_cu_lines *f = &g->held->on[cards_index(c)];
	cudaError_t err = cudaMemcpyAsync(g->line, f->line, bytes_of(f), cudaMemcpyDeviceToHost,
					  c->down);

	if (!err)
		err = cudaStreamSynchronize(c->down);
	return err ? card_fails(e, err, "copying lines from the GPU") : 0;
}

static int fetch(struct epf_cuda_held *h, struct epf_line *line, struct epf_cuda_error *e)
{
	struct fetching g = { h, line };

	return run(1, fetch_from, &g, e);
}

/* ---- epochs and journals ---- */

/* Advance to @epoch. After eight or more epochs nothing is retained; with
 * fewer, no tag comes round.
 */
static int go_to(struct card *c, struct epf_cu_lines *f, __u64 epoch, struct epf_cuda_error *e)
{
	__u64 epochs = epoch - f->epoch;
	cudaError_t err = cudaSuccess;

	if (!epochs)
		return 0;
	f->epoch = epoch;
	if (epochs >= EPF_LANES)
		err = cudaMemsetAsync(f->line, 0, bytes_of(f), c->run);
	else if (epochs == 1)
		err = epf_cu_clear(f, epoch, c->run);
	else
		err = epf_cu_settle(f, c->run);
	return err ? card_fails(e, err, "beginning an epoch on the GPU") : 0;
}

/**
 * struct applying - a journal that is applied on all devices
 */
struct applying {
	struct epf_cuda_held *held;
	const struct epf_journal_record *record;
	__u64 n;
	__u64 epoch;
};

static int apply_some(struct card *c, struct epf_cu_lines *f,
		      const struct epf_journal_record *record, __u64 n, struct epf_cuda_error *e)
{
	int ret = flow_up(c, c->scratch, record, n * sizeof(*record), false, 1, e);
	cudaError_t err;

	if (ret)
		return ret;
	err = epf_cu_apply(f, (const struct epf_journal_record *)(const void *)c->scratch, n,
			   c->run);
	if (!err)
		err = cudaStreamSynchronize(c->run);
	return err ? card_fails(e, err, "applying a journal on the GPU") : 0;
}

static int apply_all(struct card *c, struct epf_cu_lines *f, const struct applying *j,
		     struct epf_cuda_error *e)
{
	__u64 most = j->n < APPLY_RECORDS ? j->n : APPLY_RECORDS, at, some;
	int ret = card_grow(&c->scratch, &c->scratch_bytes, most * sizeof(*j->record), "a journal",
			    e);

	if (ret)
		return ret;
	for (at = 0; at < j->n && !ret; at += some) {
		some = j->n - at < most ? j->n - at : most;
		ret = apply_some(c, f, j->record + at, some, e);
	}
	if (ret)
		card_quiet(c);
	return ret;
}

static int wait_applied(struct card *c, struct epf_cuda_error *e)
{
	cudaError_t err = cudaStreamSynchronize(c->run);

	return err ? card_fails(e, err, "waiting for the GPU") : 0;
}

static int apply_on(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	const struct applying *j = (const struct applying *)ctx;
	struct epf_cu_lines *f = &j->held->on[cards_index(c)];
	int ret = 0;

	if (j->epoch < f->epoch)
		ret = card_wrong(e, -EINVAL, "the lines already have a later epoch");
	if (!ret)
		ret = go_to(c, f, j->epoch, e);
	if (!ret && j->n)
		ret = apply_all(c, f, j, e);
	return ret ? ret : wait_applied(c, e);
}

/* Apply a journal. After an error the lines are in no defined state, and the
 * caller releases them.
 */
static int apply(struct epf_cuda_held *h, const struct epf_journal_record *record, __u64 n,
		 __u64 epoch, struct epf_cuda_error *e)
{
	struct applying j = { h, record, n, epoch };

	return run(EPF_CUDA_DEVICES, apply_on, &j, e);
}

/* ---- keys ---- */

static bool keys_sound(const struct epf_cuda_keys *k)
{
	size_t bytes = k->len ? k->len : sizeof(__u64);

	return k->len <= EPF_KEY_MAX && k->n <= PTRDIFF_MAX / bytes && (!k->n || k->data);
}

/**
 * struct loading - keys that are copied to all devices
 */
struct loading {
	struct epf_cuda_column *column;
	const struct epf_cuda_keys *keys;
	__u32 threads;
};

static int load_on(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	const struct loading *l = (const struct loading *)ctx;
	const struct epf_cuda_keys *k = l->keys;
	size_t bytes = k->n * (k->len ? k->len : sizeof(__u64));
	void *to = NULL;
	int ret = card_begin(c, e);

	if (!ret && k->n)
		ret = card_alloc(&to, bytes, "keys", e);
	l->column->on[cards_index(c)] = to;
	if (!ret && k->n)
		ret = flow_up(c, to, k->data, bytes, false, l->threads, e);
	if (ret && c->begun)
		card_quiet(c);
	return ret;
}

static int load_all(struct epf_cuda_column *c, const struct epf_cuda_keys *k, __u32 threads,
		    struct epf_cuda_error *e)
{
	struct loading l = { c, k, threads };

	if (!keys_sound(k))
		return card_wrong(e, -EINVAL, "invalid keys: length, number or address");
	c->n = k->n;
	c->len = k->len;
	return cards_run(cards_nr(), load_on, &l, e);
}

static int drop_keys(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	const struct epf_cuda_column *column = (const struct epf_cuda_column *)ctx;

	(void)e;
	cudaFree((void *)(uintptr_t)column->on[cards_index(c)]);
	return 0;
}

static int load(const struct epf_cuda_keys *keys, __u32 threads, struct epf_cuda_column **column,
		struct epf_cuda_error *e)
{
	struct epf_cuda_column *c = (struct epf_cuda_column *)calloc(1, sizeof(*c));
	int ret = enter(e);

	*column = NULL;
	if (!ret && !c)
		ret = card_wrong(e, -ENOMEM, "out of memory");
	if (!ret)
		ret = load_all(c, keys, threads, e);
	if (!ret) {
		*column = c;
	} else if (c) {
		on_all(drop_keys, c);
		free(c);
	}
	return leave(ret);
}

static void unload(struct epf_cuda_column *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&lock);
	on_all(drop_keys, c);
	free(c);
	leave(0);
}

/* ---- lookups ---- */

static int query(struct epf_cuda_held *h, const struct epf_cuda_keys *keys,
		 struct epf_cuda_answer *a, struct epf_cuda_error *e)
{
	struct question q;
	int ret = enter(e);

	memset(&q, 0, sizeof(q));
	q.held = h;
	q.host = keys;
	q.n = keys->n;
	q.len = keys->len;
	q.a = a;
	if (!ret && (!keys_sound(keys) || (keys->n && !a->bitmap)))
		ret = card_wrong(e, -EINVAL, "invalid keys, or no bitmap for the results");
	return leave(ret ? ret : flow_query(&q, e));
}

static int query_column(struct epf_cuda_held *h, const struct epf_cuda_column *column, __u64 first,
			__u64 n, struct epf_cuda_answer *a, struct epf_cuda_error *e)
{
	struct question q;
	int ret = enter(e);

	memset(&q, 0, sizeof(q));
	q.held = h;
	q.column = column;
	q.first = first;
	q.n = n;
	q.len = column->len;
	q.a = a;
	if (!ret && (first > column->n || n > column->n - first))
		ret = card_wrong(e, -EINVAL, "the keys are beyond the end of the column");
	if (!ret && n && !a->bitmap)
		ret = card_wrong(e, -EINVAL, "no bitmap for the results");
	return leave(ret ? ret : flow_query(&q, e));
}

/**
 * struct counting - a count, by one device
 * @launch: launch a kernel that adds to counters on the card, which begin at zero
 * @nr: where they go, @n of them
 * @seed: for @launch
 * @keys: likewise
 */
struct counting {
	const struct epf_cuda_held *held;
	cudaError_t (*launch)(const struct counting *count, const struct epf_cu_lines *f,
			      unsigned long long *there, cudaStream_t run);
	__u64 *nr;
	size_t n;
	__u64 seed;
	__u64 keys;
};

static cudaError_t count_there(struct card *c, const struct counting *count)
{
	unsigned long long *there = (unsigned long long *)(void *)c->scratch;
	size_t bytes = count->n * sizeof(*count->nr);
	cudaError_t err = cudaMemsetAsync(there, 0, bytes, c->run);

	if (!err)
		err = count->launch(count, &count->held->on[cards_index(c)], there, c->run);
	if (!err)
		err = cudaMemcpyAsync(count->nr, there, bytes, cudaMemcpyDeviceToHost, c->run);
	return err ? err : cudaStreamSynchronize(c->run);
}

static int count_on(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	const struct counting *count = (const struct counting *)ctx;
	cudaError_t err;
	int ret = card_grow(&c->scratch, &c->scratch_bytes, count->n * sizeof(*count->nr),
			    "counters", e);

	if (ret)
		return ret;
	err = count_there(c, count);
	if (!err)
		return 0;
	ret = card_fails(e, err, "counting on the GPU");
	card_quiet(c);
	return ret;
}

static cudaError_t count_lanes(const struct counting *count, const struct epf_cu_lines *f,
			       unsigned long long *there, cudaStream_t run)
{
	(void)count;
	return epf_cu_tally(f, there, run);
}

static cudaError_t count_found(const struct counting *count, const struct epf_cu_lines *f,
			       unsigned long long *there, cudaStream_t run)
{
	return epf_cu_probe(f, count->seed, count->keys, there, run);
}

static int tally(struct epf_cuda_held *h, __u64 *nr, struct epf_cuda_error *e)
{
	struct counting count = { h, count_lanes, nr, EPF_CU_TALLY, 0, 0 };

	return run(1, count_on, &count, e);
}

static int chance(struct epf_cuda_held *h, __u64 seed, __u64 n, __u64 *found,
		  struct epf_cuda_error *e)
{
	struct counting count = { h, count_found, found, 1, seed, n };

	return run(1, count_on, &count, e);
}

extern "C" __attribute__((visibility("default"))) const struct epf_cuda_ops *epf_cuda_ops(void)
{
	static const struct epf_cuda_ops ops = {
		EPF_CUDA_VERSION, sizeof(ops), probe,        hold,  release, apply, fetch, load,
		unload,           query,       query_column, tally, chance,  lost,
	};

	return &ops;
}
