// SPDX-License-Identifier: GPL-2.0
/*
 * The table of functions (struct epf_cuda_ops). Lines and columns stay on the
 * card until they are released, streams and buffers as long as the process
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
static struct card card;
static struct borrowed theirs; /* of the thread that holds the lock */

static void give_back(void)
{
	card_return(&theirs, CARD);
	pthread_mutex_unlock(&lock);
}

/* Every operation that may fail runs between this and leave(). */
static int enter(struct epf_cuda_error *e)
{
	cudaError_t err;
	int ret;

	pthread_mutex_lock(&lock);
	ret = card_claim(e);
	if (ret)
		return ret;
	err = card_borrow(&theirs, CARD);
	if (err && !card.broken)
		return card_fails(e, err, "the GPU cannot be used");
	return 0;
}

static int enter_card(struct epf_cuda_error *e)
{
	int ret = enter(e);

	return ret ? ret : card_begin(&card, e);
}

/* Leave, and stop using a card that has failed, because its results cannot be
 * trusted.
 */
static int leave(int ret, const struct epf_cuda_error *e)
{
	if ((ret == -EIO || ret == -ENODEV) && card.begun && !card.broken) {
		card.broken = true;
		card.why = *e;
	}
	if (card_is_forked())
		pthread_mutex_unlock(&lock);
	else
		give_back();
	return ret;
}

static int probe(struct epf_cuda_device *device, struct epf_cuda_error *e)
{
	int ret = enter(e);

	return leave(ret ? ret : card_probe(device, e), e);
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

static size_t bytes_of(const struct epf_cuda_held *h)
{
	return epf_geom_lines(&h->lines.geom) * EPF_LINE_BYTES;
}

static void drop(struct epf_cuda_held *h)
{
	if (h->lines.line && !card_is_forked())
		cudaFree(h->lines.line);
	free(h);
}

static int settle(struct epf_cuda_held *h, struct epf_cuda_error *e)
{
	cudaError_t err = epf_cu_settle(&h->lines, card.run);

	if (!err)
		err = cudaStreamSynchronize(card.run);
	return err ? card_fails(e, err, "settling lines on the GPU") : 0;
}

static int fill(struct epf_cuda_held *h, const struct epf_cuda_lines *lines, __u32 threads,
		struct epf_cuda_error *e)
{
	void *to;
	int ret = card_alloc(&to, bytes_of(h), "lines", e);

	if (ret)
		return ret;
	h->lines.line = (struct epf_line *)to;
	ret = flow_up(&card, to, lines->line, bytes_of(h), true, threads, e);
	return ret ? ret : settle(h, e);
}

static int hold(const struct epf_cuda_lines *lines, __u32 threads, struct epf_cuda_held **held,
		struct epf_cuda_error *e)
{
	struct epf_cuda_held *h = (struct epf_cuda_held *)calloc(1, sizeof(*h));
	int ret = enter_card(e);

	*held = NULL;
	if (!ret && !h)
		ret = card_wrong(e, -ENOMEM, "out of memory");
	if (!ret && !lines_sound(lines))
		ret = card_wrong(e, -EINVAL, "invalid lines: address, geometry or epoch");
	if (!ret) {
		h->lines.geom = lines->geom;
		h->lines.epoch = lines->epoch;
		h->hash = lines->hash;
		ret = fill(h, lines, threads, e);
	}
	if (!ret) {
		*held = h;
	} else if (h) {
		if (card.begun)
			card_quiet(&card);
		drop(h);
	}
	return leave(ret, e);
}

static void release(struct epf_cuda_held *h)
{
	struct epf_cuda_error e;
	int ret;

	if (!h)
		return;
	ret = enter(&e);
	if (!ret && card.kept == h->lines.line)
		card_keep(&card, NULL);
	drop(h);
	leave(0, &e);
}

static int fetch(struct epf_cuda_held *h, struct epf_line *line, struct epf_cuda_error *e)
{
	int ret = enter_card(e);
	cudaError_t err;

	if (ret)
		return leave(ret, e);
	err = cudaMemcpyAsync(line, h->lines.line, bytes_of(h), cudaMemcpyDeviceToHost, card.down);
	if (!err)
		err = cudaStreamSynchronize(card.down);
	if (err)
		ret = card_fails(e, err, "copying lines from the GPU");
	return leave(ret, e);
}

/* ---- epochs and journals ---- */

/* Advance to @epoch. After eight or more epochs nothing is retained; with
 * fewer, no tag comes round.
 */
static int go_to(struct epf_cuda_held *h, __u64 epoch, struct epf_cuda_error *e)
{
	__u64 epochs = epoch - h->lines.epoch;
	cudaError_t err = cudaSuccess;

	if (!epochs)
		return 0;
	h->lines.epoch = epoch;
	if (epochs >= EPF_LANES)
		err = cudaMemsetAsync(h->lines.line, 0, bytes_of(h), card.run);
	else if (epochs == 1)
		err = epf_cu_clear(&h->lines, epoch, card.run);
	else
		err = epf_cu_settle(&h->lines, card.run);
	return err ? card_fails(e, err, "beginning an epoch on the GPU") : 0;
}

static int apply_some(struct epf_cuda_held *h, void *there, const struct epf_journal_record *record,
		      __u64 n, struct epf_cuda_error *e)
{
	int ret = flow_up(&card, there, record, n * sizeof(*record), false, 1, e);
	cudaError_t err;

	if (ret)
		return ret;
	err = epf_cu_apply(&h->lines, (const struct epf_journal_record *)there, n, card.run);
	if (!err)
		err = cudaStreamSynchronize(card.run);
	return err ? card_fails(e, err, "applying a journal on the GPU") : 0;
}

static int apply_all(struct epf_cuda_held *h, const struct epf_journal_record *record, __u64 n,
		     struct epf_cuda_error *e)
{
	__u64 most = n < APPLY_RECORDS ? n : APPLY_RECORDS, at, some;
	int ret = card_grow(&card.scratch, &card.scratch_bytes, most * sizeof(*record), "a journal",
			    e);

	if (ret)
		return ret;
	for (at = 0; at < n && !ret; at += some) {
		some = n - at < most ? n - at : most;
		ret = apply_some(h, card.scratch, record + at, some, e);
	}
	if (ret)
		card_quiet(&card);
	return ret;
}

static int wait_applied(struct epf_cuda_error *e)
{
	cudaError_t err = cudaStreamSynchronize(card.run);

	return err ? card_fails(e, err, "waiting for the GPU") : 0;
}

/* Apply a journal. After an error the lines are in no defined state, and the
 * caller releases them.
 */
static int apply(struct epf_cuda_held *h, const struct epf_journal_record *record, __u64 n,
		 __u64 epoch, struct epf_cuda_error *e)
{
	int ret = enter_card(e);

	if (!ret && epoch < h->lines.epoch)
		ret = card_wrong(e, -EINVAL, "the lines already have a later epoch");
	if (!ret)
		ret = go_to(h, epoch, e);
	if (!ret && n)
		ret = apply_all(h, record, n, e);
	if (!ret)
		ret = wait_applied(e);
	return leave(ret, e);
}

/* ---- keys ---- */

static bool keys_sound(const struct epf_cuda_keys *k)
{
	size_t bytes = k->len ? k->len : sizeof(__u64);

	return k->len <= EPF_KEY_MAX && k->n <= PTRDIFF_MAX / bytes && (!k->n || k->data);
}

static int load_keys(struct epf_cuda_column *c, const struct epf_cuda_keys *k, __u32 threads,
		     struct epf_cuda_error *e)
{
	size_t bytes = k->n * (k->len ? k->len : sizeof(__u64));
	void *to = NULL;
	int ret = 0;

	if (k->n)
		ret = card_alloc(&to, bytes, "keys", e);
	c->keys.data = to;
	c->keys.n = k->n;
	c->keys.len = k->len;
	if (ret || !k->n)
		return ret;
	return flow_up(&card, to, k->data, bytes, false, threads, e);
}

static void drop_column(struct epf_cuda_column *c)
{
	if (c->keys.data && !card_is_forked())
		cudaFree((void *)(uintptr_t)c->keys.data);
	free(c);
}

static int load(const struct epf_cuda_keys *keys, __u32 threads, struct epf_cuda_column **column,
		struct epf_cuda_error *e)
{
	struct epf_cuda_column *c = (struct epf_cuda_column *)calloc(1, sizeof(*c));
	int ret = enter_card(e);

	*column = NULL;
	if (!ret && !c)
		ret = card_wrong(e, -ENOMEM, "out of memory");
	if (!ret && !keys_sound(keys))
		ret = card_wrong(e, -EINVAL, "invalid keys: length, number or address");
	if (!ret)
		ret = load_keys(c, keys, threads, e);
	if (!ret) {
		*column = c;
	} else if (c) {
		if (card.begun)
			card_quiet(&card);
		drop_column(c);
	}
	return leave(ret, e);
}

static void unload(struct epf_cuda_column *c)
{
	struct epf_cuda_error e;

	if (!c)
		return;
	enter(&e);
	drop_column(c);
	leave(0, &e);
}

/* ---- lookups ---- */

static int query(struct epf_cuda_held *h, const struct epf_cuda_keys *keys,
		 struct epf_cuda_answer *a, struct epf_cuda_error *e)
{
	int ret = enter_card(e);

	if (!ret && (!keys_sound(keys) || (keys->n && !a->bitmap)))
		ret = card_wrong(e, -EINVAL, "invalid keys, or no bitmap for the results");
	if (!ret)
		ret = flow_query(&card, h, keys, NULL, a, e);
	return leave(ret, e);
}

static int query_column(struct epf_cuda_held *h, const struct epf_cuda_column *column, __u64 first,
			__u64 n, struct epf_cuda_answer *a, struct epf_cuda_error *e)
{
	struct epf_cu_keys keys = column->keys;
	size_t bytes = keys.len ? keys.len : sizeof(__u64);
	int ret = enter_card(e);

	if (!ret && (first > keys.n || n > keys.n - first))
		ret = card_wrong(e, -EINVAL, "the keys are beyond the end of the column");
	if (!ret && n && !a->bitmap)
		ret = card_wrong(e, -EINVAL, "no bitmap for the results");
	if (ret)
		return leave(ret, e);
	keys.data = (const char *)keys.data + first * bytes;
	keys.n = n;
	return leave(flow_query(&card, h, NULL, &keys, a, e), e);
}

/* Launch a kernel that adds to counters on the card, which begin at zero. */
typedef cudaError_t (*counting_fn)(const struct epf_cuda_held *h, unsigned long long *there,
				   const __u64 *arg);

static cudaError_t count_there(const struct epf_cuda_held *h, unsigned long long *there, __u64 *nr,
			       size_t n, counting_fn counting, const __u64 *arg)
{
	cudaError_t err = cudaMemsetAsync(there, 0, n * sizeof(*nr), card.run);

	if (!err)
		err = counting(h, there, arg);
	if (!err)
		err = cudaMemcpyAsync(nr, there, n * sizeof(*nr), cudaMemcpyDeviceToHost, card.run);
	return err ? err : cudaStreamSynchronize(card.run);
}

static int count(const struct epf_cuda_held *h, __u64 *nr, size_t n, counting_fn counting,
		 const __u64 *arg, struct epf_cuda_error *e)
{
	cudaError_t err;
	int ret = enter_card(e);

	if (!ret)
		ret = card_grow(&card.scratch, &card.scratch_bytes, n * sizeof(*nr), "counters", e);
	if (ret)
		return leave(ret, e);
	err = count_there(h, (unsigned long long *)card.scratch, nr, n, counting, arg);
	if (err) {
		ret = card_fails(e, err, "counting on the GPU");
		card_quiet(&card);
	}
	return leave(ret, e);
}

static cudaError_t count_lanes(const struct epf_cuda_held *h, unsigned long long *there,
			       const __u64 *arg)
{
	(void)arg;
	return epf_cu_tally(&h->lines, there, card.run);
}

static cudaError_t count_found(const struct epf_cuda_held *h, unsigned long long *there,
			       const __u64 *arg)
{
	return epf_cu_probe(&h->lines, arg[0], arg[1], there, card.run);
}

static int tally(struct epf_cuda_held *h, __u64 *nr, struct epf_cuda_error *e)
{
	return count(h, nr, EPF_CU_TALLY, count_lanes, NULL, e);
}

static int chance(struct epf_cuda_held *h, __u64 seed, __u64 n, __u64 *found,
		  struct epf_cuda_error *e)
{
	const __u64 arg[2] = { seed, n };

	return count(h, found, 1, count_found, arg, e);
}

extern "C" __attribute__((visibility("default"))) const struct epf_cuda_ops *epf_cuda_ops(void)
{
	static const struct epf_cuda_ops ops = {
		EPF_CUDA_VERSION, sizeof(ops), probe,        hold,  release, apply, fetch, load,
		unload,           query,       query_column, tally, chance,
	};

	return &ops;
}
