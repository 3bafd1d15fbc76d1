// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transfers to the card and back, in three streams: copies to the card,
 * kernels, copies from the card. Slots take turns: one is filled while the keys
 * of another are copied and those of a third are looked up.
 *
 * Each slot has these dependencies:
 *
 *   fill   before its keys are copied to the card
 *   up     before the kernel reads the copied keys
 *   run    before the results are copied
 *   down   before the host reads the results; then the card no longer uses the slot,
 *          and it may be filled again
 *   drain  before the next results arrive
 *
 * Keys in memory that the caller has pinned are copied to the card directly.
 *
 * Several cards share the pieces of a query: each takes the next one when it has room
 * for it. A piece is whole words of the bitmap, so no two cards write to the same byte,
 * and each answer goes to its place, whichever card gives it.
 */
#include "engine.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define WORD_KEYS 32u /* keys of a word of the bitmap: pieces are whole words */
#define COUNT_BYTES (EPF_LANES * sizeof(unsigned long long))
/* A query has at least PIECES pieces, each of at least PIECE_LEAST keys. With
 * fewer pieces, the beginning and the end, where nothing overlaps, take most of
 * the time. With fewer keys, launches do.
 */
#define PIECES 16u
#define PIECE_LEAST 65536u
#define UP_LEAST (1u << 20) /* the least piece of lines and columns, in bytes */

/**
 * struct flow - a card's part of a query
 * @there: keys on the card, or NULL
 * @bitmap_bytes: bytes of a piece's bitmap
 * @out_bytes: bytes of a piece's results
 * @pinned: the keys are in pinned memory
 * @begun: pieces that the card has taken; the ith of them has slot i % SLOTS
 * @ended: pieces that it has answered
 * @at: number of the piece in each slot
 */
struct flow {
	struct card *card;
	struct question *q;
	const char *there;
	struct epf_cuda_error *e;
	size_t bitmap_bytes;
	size_t out_bytes;
	bool pinned;
	__u64 begun;
	__u64 ended;
	__u64 at[SLOTS];
};

/* ---- memory of slots ---- */

/* Make sure that *@p has at least @want bytes of pinned memory; otherwise free
 * it and allocate anew.
 */
static int grow_pinned(char **p, size_t *have, size_t want, struct epf_cuda_error *e)
{
	cudaError_t err;
	void *to;

	if (*have >= want)
		return 0;
	if (*p)
		cudaFreeHost(*p);
	*p = NULL;
	*have = 0;
	err = cudaMallocHost(&to, want);
	if (err)
		return card_fails(e, err, "%zu KiB of pinned memory", want >> 10);
	*p = (char *)to;
	*have = want;
	return 0;
}

/* ---- lines and columns ---- */

/* Wait for the copies of all slots. */
static void end_stages(struct card *c)
{
	__u32 i;

	for (i = 0; i < SLOTS; i++) {
		stage_end(&c->slot[i].fill);
		stage_end(&c->slot[i].drain);
	}
}

static cudaError_t send(struct card *c, struct slot *s, char *to)
{
	cudaError_t err;

	stage_end(&s->fill);
	err = cudaMemcpyAsync(to, s->keys, s->fill.bytes, cudaMemcpyHostToDevice, c->up);
	return err ? err : cudaEventRecord(s->up, c->up);
}

/* Each piece is filled while the piece before it is sent. */
static cudaError_t send_all(struct card *c, char *to, const char *from, size_t bytes, size_t piece,
			    bool words, __u32 threads)
{
	size_t nr = (bytes + piece - 1) / piece, at, i;
	cudaError_t err = cudaSuccess;

	for (i = 0; i <= nr && !err; i++) {
		struct slot *s = &c->slot[i % SLOTS];

		if (i < nr && i >= SLOTS)
			err = cudaEventSynchronize(s->up);
		at = i * piece;
		if (i < nr && !err)
			stage_begin(&s->fill, s->keys, from + at,
				    bytes - at < piece ? bytes - at : piece,
				    words ? STAGE_LINES : STAGE_KEYS, threads);
		if (i && !err)
			err = send(c, &c->slot[(i - 1) % SLOTS], to + (i - 1) * piece);
	}
	end_stages(c);
	return err ? err : cudaStreamSynchronize(c->up);
}

int flow_up(struct card *c, void *to, const void *from, size_t bytes, bool words, __u32 threads,
	    struct epf_cuda_error *e)
{
	size_t piece = bytes / PIECES;
	cudaError_t err;
	int ret = 0;
	__u32 i;

	if (piece < UP_LEAST)
		piece = UP_LEAST;
	if (piece > card_buffer())
		piece = card_buffer();
	piece = (piece + EPF_LINE_BYTES - 1) & ~(size_t)(EPF_LINE_BYTES - 1);
	if (piece > bytes)
		piece = bytes;
	for (i = 0; i < SLOTS && !ret; i++)
		ret = grow_pinned(&c->slot[i].keys, &c->slot[i].in_bytes, piece, e);
	if (ret)
		return ret;
	err = send_all(c, (char *)to, (const char *)from, bytes, piece, words, threads);
	return err ? card_fails(e, err, "copying to the GPU") : 0;
}

/* ---- pieces ---- */

/* Return: keys of piece @piece. */
static __u64 keys_of(const struct question *q, __u64 piece)
{
	__u64 left = q->n - piece * q->piece;

	return left < q->piece ? left : q->piece;
}

static __u64 nr_pieces(const struct question *q)
{
	return (q->n + q->piece - 1) / q->piece;
}

/* Take the next piece, if there is one. */
static bool next_piece(struct question *q, __u64 *piece)
{
	bool more = true;

	pthread_mutex_lock(&q->lock);
	if (q->stopped)
		more = false;
	else if (q->nr_again)
		*piece = q->again[--q->nr_again];
	else if (q->next < nr_pieces(q))
		*piece = q->next++;
	else
		more = false;
	pthread_mutex_unlock(&q->lock);
	return more;
}

/* The card has failed: others answer what it has not. */
static void give_up(struct flow *f)
{
	struct question *q = f->q;

	pthread_mutex_lock(&q->lock);
	for (; f->ended < f->begun; f->ended++)
		q->again[q->nr_again++] = f->at[f->ended % SLOTS];
	pthread_mutex_unlock(&q->lock);
}

static void stop(struct question *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	pthread_mutex_unlock(&q->lock);
}

/* Tell the caller, in its own thread, that @done keys are answered. */
static int tell(struct question *q, __u64 done, struct epf_cuda_error *e)
{
	struct epf_cuda_answer *a = q->a;

	if (!a->progress || q->told == done || !pthread_equal(pthread_self(), q->caller))
		return 0;
	q->told = done;
	return a->progress(a->ctx, done, q->n) ? card_wrong(e, -ECANCELED, "stopped") : 0;
}

/* Count a piece of @n keys. Return: how many are answered now. */
static __u64 add_up(struct question *q, __u64 n, const char *count)
{
	unsigned long long nr[EPF_LANES];
	__u64 done;
	__u32 i;

	memcpy(nr, count, sizeof(nr));
	pthread_mutex_lock(&q->lock);
	for (i = 0; i < EPF_LANES; i++)
		q->a->ages_of[i] += nr[i];
	q->done += n;
	done = q->done;
	pthread_mutex_unlock(&q->lock);
	return done;
}

/* ---- queries ---- */

static cudaError_t launch(struct flow *f, struct slot *s, const struct epf_cu_keys *keys)
{
	const struct epf_cu_lines *lines = &f->q->held->on[cards_index(f->card)];
	unsigned long long *count = (unsigned long long *)s->answer_there;
	__u32 *bitmap = (__u32 *)(s->answer_there + COUNT_BYTES);
	__u8 *ages = f->q->a->ages ? (__u8 *)bitmap + f->bitmap_bytes : NULL;
	cudaStream_t run = f->card->run;
	cudaError_t err = cudaMemsetAsync(count, 0, COUNT_BYTES, run);

	return err ? err : epf_cu_query(lines, keys, bitmap, ages, count, run);
}

/* Return: bytes of the results for @n keys: counters, bitmap, ages. */
static size_t answer_bytes(const struct flow *f, __u64 n)
{
	if (f->q->a->ages)
		return COUNT_BYTES + f->bitmap_bytes + n;
	return COUNT_BYTES + (n + 7) / 8;
}

static const char *host_keys(const struct flow *f, __u64 piece)
{
	return (const char *)f->q->host->data + piece * f->q->piece * f->q->bytes;
}

/* Take a piece, if there is one, and begin to copy its keys into a slot. */
static void fill(struct flow *f)
{
	struct slot *s = &f->card->slot[f->begun % SLOTS];
	struct question *q = f->q;
	__u64 piece;

	if (!next_piece(q, &piece))
		return;
	f->at[f->begun++ % SLOTS] = piece;
	if (q->host && !f->pinned)
		stage_begin(&s->fill, s->keys, host_keys(f, piece), keys_of(q, piece) * q->bytes,
			    STAGE_KEYS, q->a->threads);
}

/* Send the keys of a piece: they are on the card when @s->up completes. */
static cudaError_t send_keys(struct flow *f, struct slot *s, __u64 piece, struct epf_cu_keys *keys)
{
	cudaError_t err;

	if (f->there) {
		keys->data = f->there + piece * f->q->piece * f->q->bytes;
		return cudaSuccess;
	}
	keys->data = s->keys_there;
	stage_end(&s->fill);
	err = cudaMemcpyAsync(s->keys_there, f->pinned ? host_keys(f, piece) : s->keys,
			      keys->n * f->q->bytes, cudaMemcpyHostToDevice, f->card->up);
	if (!err)
		err = cudaEventRecord(s->up, f->card->up);
	if (!err)
		err = cudaStreamWaitEvent(f->card->run, s->up, 0);
	return err;
}

/* The @i-th piece of this card. */
static int put(struct flow *f, __u64 i)
{
	struct slot *s = &f->card->slot[i % SLOTS];
	__u64 piece = f->at[i % SLOTS];
	struct epf_cu_keys keys;
	cudaError_t err;

	memset(&keys, 0, sizeof(keys)); /* the padding as well */
	keys.n = keys_of(f->q, piece);
	keys.len = f->q->len;
	keys.hash = f->q->held->hash;
	err = send_keys(f, s, piece, &keys);
	if (err)
		return card_fails(f->e, err, "copying keys to the GPU");
	err = launch(f, s, &keys);
	if (!err)
		err = cudaEventRecord(s->run, f->card->run);
	if (err)
		return card_fails(f->e, err, "querying on the GPU");
	stage_end(&s->drain);
	err = cudaStreamWaitEvent(f->card->down, s->run, 0);
	if (!err)
		err = cudaMemcpyAsync(s->answer, s->answer_there, answer_bytes(f, keys.n),
				      cudaMemcpyDeviceToHost, f->card->down);
	if (!err)
		err = cudaEventRecord(s->down, f->card->down);
	return err ? card_fails(f->e, err, "copying answers from the GPU") : 0;
}

static int take(struct flow *f)
{
	struct slot *s = &f->card->slot[f->ended % SLOTS];
	__u64 piece = f->at[f->ended % SLOTS];
	__u64 first = piece * f->q->piece, n = keys_of(f->q, piece);
	struct epf_cuda_answer *a = f->q->a;
	cudaError_t err = cudaEventSynchronize(s->down);

	if (err)
		return card_fails(f->e, err, "waiting for the GPU");
	memcpy(a->bitmap + first / 8, s->answer + COUNT_BYTES, (n + 7) / 8);
	if (a->ages)
		stage_begin(&s->drain, a->ages + first, s->answer + COUNT_BYTES + f->bitmap_bytes,
			    n, STAGE_ANSWERS, a->threads);
	f->ended++;
	return tell(f->q, add_up(f->q, n, s->answer), f->e);
}

static int go(struct flow *f)
{
	int ret = 0;
	__u64 i;

	fill(f);
	for (i = 0; f->ended < f->begun && !ret; i++) {
		if (i >= SLOTS - 1)
			ret = take(f);
		if (i + 1 == f->begun && !ret)
			fill(f);
		if (i < f->begun && !ret)
			ret = put(f, i);
	}
	end_stages(f->card);
	return ret;
}

/* Allocate the slots' buffers. No sum overflows: the results of a piece have at
 * most as many bytes as its keys, and these fit the buffer size, or are
 * WORD_KEYS of the longest.
 */
static int make_room(struct flow *f)
{
	size_t in_there = f->q->host ? f->q->piece * f->q->bytes : 0;
	size_t in = f->pinned ? 0 : in_there;
	int ret = 0;
	__u32 i;

	f->bitmap_bytes = f->q->piece / 8;
	f->out_bytes = answer_bytes(f, f->q->piece);
	for (i = 0; i < SLOTS && !ret; i++) {
		struct slot *s = &f->card->slot[i];

		ret = grow_pinned(&s->keys, &s->in_bytes, in, f->e);
		if (!ret)
			ret = grow_pinned(&s->answer, &s->out_bytes, f->out_bytes, f->e);
		if (!ret)
			ret = card_grow(&s->keys_there, &s->in_there_bytes, in_there, "keys", f->e);
		if (!ret)
			ret = card_grow(&s->answer_there, &s->out_there_bytes, f->out_bytes,
					"answers", f->e);
	}
	return ret;
}

/* Return: keys of a piece: whole words of the bitmap, no more than a buffer
 * holds, and so few that each of @cards has PIECES pieces, because otherwise nothing
 * overlaps.
 */
static __u64 piece_of(const struct question *q, __u32 cards)
{
	__u64 most = card_buffer() / q->bytes & ~(__u64)(WORD_KEYS - 1);
	__u64 share = q->n / (PIECES * cards) + 1;

	if (most < WORD_KEYS)
		most = WORD_KEYS;
	if (share < PIECE_LEAST)
		share = q->n < PIECE_LEAST ? q->n : PIECE_LEAST;
	share = (share + WORD_KEYS - 1) & ~(__u64)(WORD_KEYS - 1);
	return share < most ? share : most;
}

static bool is_pinned(const void *p)
{
	struct cudaPointerAttributes a;

	if (!cudaPointerGetAttributes(&a, p))
		return a.type == cudaMemoryTypeHost;
	cudaGetLastError();
	return false;
}

static void flow_init(struct flow *f, struct card *c, struct question *q, struct epf_cuda_error *e)
{
	memset(f, 0, sizeof(*f));
	f->card = c;
	f->q = q;
	f->e = e;
	if (q->host)
		f->pinned = is_pinned(q->host->data) &&
			    is_pinned((const char *)q->host->data + q->n * q->bytes - 1);
	else
		f->there = (const char *)q->column->on[cards_index(c)] + q->first * q->bytes;
}

/* A card's part of the query @ctx. */
static int flow_run(struct card *c, void *ctx, struct epf_cuda_error *e)
{
	struct question *q = (struct question *)ctx;
	struct flow f;
	int ret = card_begin(c, e);

	if (!ret) {
		flow_init(&f, c, q, e);
		ret = make_room(&f);
		if (!ret) {
			card_keep(c, &q->held->on[cards_index(c)]);
			ret = go(&f);
			give_up(&f);
		}
	}
	if (ret && ret != -EIO && ret != -ENODEV)
		stop(q);
	if (ret && c->begun)
		card_quiet(c);
	return ret;
}

int flow_query(struct question *q, struct epf_cuda_error *e)
{
	int ret = 0;

	memset(q->a->ages_of, 0, sizeof(q->a->ages_of));
	q->bytes = q->len ? q->len : sizeof(__u64);
	if (!q->n)
		return 0;
	q->piece = piece_of(q, cards_nr());
	q->caller = pthread_self();
	pthread_mutex_init(&q->lock, NULL);
	while (q->done < q->n && !ret) /* again, if a card has failed after others were done */
		ret = cards_run(nr_pieces(q), flow_run, q, e);
	if (!ret)
		ret = tell(q, q->done, e);
	pthread_mutex_destroy(&q->lock);
	return ret;
}
