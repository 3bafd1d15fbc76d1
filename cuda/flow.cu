// SPDX-License-Identifier: GPL-2.0
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
 * struct flow - a query under way
 * @bytes: bytes of a key
 * @piece: keys of a piece, which a slot holds
 * @bitmap_bytes: bytes of a piece's bitmap
 * @out_bytes: bytes of a piece's results
 * @pinned: the keys are in pinned memory
 */
struct flow {
	struct card *card;
	const struct epf_cuda_held *held;
	const struct epf_cuda_keys *host;
	const struct epf_cu_keys *there;
	struct epf_cuda_answer *a;
	struct epf_cuda_error *e;
	__u64 n;
	__u32 len;
	size_t bytes;
	__u64 piece;
	size_t bitmap_bytes;
	size_t out_bytes;
	bool pinned;
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
	if (piece > c->buffer)
		piece = c->buffer;
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

/* ---- queries ---- */

static __u64 keys_of(const struct flow *f, __u64 i)
{
	__u64 left = f->n - i * f->piece;

	return left < f->piece ? left : f->piece;
}

static cudaError_t launch(struct flow *f, struct slot *s, const struct epf_cu_keys *keys)
{
	unsigned long long *count = (unsigned long long *)s->answer_there;
	__u32 *bitmap = (__u32 *)(s->answer_there + COUNT_BYTES);
	__u8 *ages = f->a->ages ? (__u8 *)bitmap + f->bitmap_bytes : NULL;
	cudaStream_t run = f->card->run;
	cudaError_t err = cudaMemsetAsync(count, 0, COUNT_BYTES, run);

	if (err)
		return err;
	return epf_cu_query(&f->held->lines, keys, bitmap, ages, count, run);
}

/* Return: bytes of the results for @n keys: counters, bitmap, ages. */
static size_t answer_bytes(const struct flow *f, __u64 n)
{
	if (f->a->ages)
		return COUNT_BYTES + f->bitmap_bytes + n;
	return COUNT_BYTES + (n + 7) / 8;
}

static const char *host_keys(const struct flow *f, __u64 i)
{
	return (const char *)f->host->data + i * f->piece * f->bytes;
}

/* Begin to copy the keys of piece @i into their slot. */
static void fill(struct flow *f, __u64 i)
{
	struct slot *s = &f->card->slot[i % SLOTS];

	if (f->host && !f->pinned)
		stage_begin(&s->fill, s->keys, host_keys(f, i), keys_of(f, i) * f->bytes,
			    STAGE_KEYS, f->a->threads);
}

/* Send the keys of piece @i: they are on the card when @s->up completes. */
static cudaError_t send_keys(struct flow *f, struct slot *s, __u64 i, struct epf_cu_keys *keys)
{
	cudaError_t err;

	if (f->there) {
		keys->data = (const char *)f->there->data + i * f->piece * f->bytes;
		return cudaSuccess;
	}
	keys->data = s->keys_there;
	stage_end(&s->fill);
	err = cudaMemcpyAsync(s->keys_there, f->pinned ? host_keys(f, i) : s->keys,
			      keys->n * f->bytes, cudaMemcpyHostToDevice, f->card->up);
	if (!err)
		err = cudaEventRecord(s->up, f->card->up);
	if (!err)
		err = cudaStreamWaitEvent(f->card->run, s->up, 0);
	return err;
}

static int put(struct flow *f, __u64 i)
{
	struct slot *s = &f->card->slot[i % SLOTS];
	struct epf_cu_keys keys;
	cudaError_t err;

	memset(&keys, 0, sizeof(keys)); /* the padding as well */
	keys.n = keys_of(f, i);
	keys.len = f->len;
	keys.hash = f->held->hash;
	err = send_keys(f, s, i, &keys);
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

static void add_up(struct epf_cuda_answer *a, const char *count)
{
	unsigned long long nr[EPF_LANES];
	__u32 i;

	memcpy(nr, count, sizeof(nr));
	for (i = 0; i < EPF_LANES; i++)
		a->ages_of[i] += nr[i];
}

static int take(struct flow *f, __u64 i)
{
	struct slot *s = &f->card->slot[i % SLOTS];
	__u64 first = i * f->piece, n = keys_of(f, i);
	struct epf_cuda_answer *a = f->a;
	cudaError_t err = cudaEventSynchronize(s->down);

	if (err)
		return card_fails(f->e, err, "waiting for the GPU");
	memcpy(a->bitmap + first / 8, s->answer + COUNT_BYTES, (n + 7) / 8);
	if (a->ages)
		stage_begin(&s->drain, a->ages + first, s->answer + COUNT_BYTES + f->bitmap_bytes,
			    n, STAGE_ANSWERS, a->threads);
	add_up(a, s->answer);
	if (a->progress && a->progress(a->ctx, first + n, f->n))
		return card_wrong(f->e, -ECANCELED, "stopped");
	return 0;
}

static int go(struct flow *f)
{
	__u64 pieces = (f->n + f->piece - 1) / f->piece, i;
	int ret = 0;

	fill(f, 0);
	for (i = 0; i < pieces + SLOTS - 1 && !ret; i++) {
		if (i >= SLOTS - 1)
			ret = take(f, i - (SLOTS - 1));
		if (i + 1 < pieces && !ret)
			fill(f, i + 1);
		if (i < pieces && !ret)
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
	size_t in_there = f->host ? f->piece * f->bytes : 0;
	size_t in = f->pinned ? 0 : in_there;
	int ret = 0;
	__u32 i;

	f->bitmap_bytes = f->piece / 8;
	f->out_bytes = answer_bytes(f, f->piece);
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
 * holds, and so few that there are PIECES pieces, because otherwise nothing
 * overlaps.
 */
static __u64 piece_of(const struct flow *f)
{
	__u64 most = f->card->buffer / f->bytes & ~(__u64)(WORD_KEYS - 1);
	__u64 share = f->n / PIECES + 1;

	if (most < WORD_KEYS)
		most = WORD_KEYS;
	if (share < PIECE_LEAST)
		share = f->n < PIECE_LEAST ? f->n : PIECE_LEAST;
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

int flow_query(struct card *c, const struct epf_cuda_held *held, const struct epf_cuda_keys *host,
	       const struct epf_cu_keys *there, struct epf_cuda_answer *a, struct epf_cuda_error *e)
{
	struct flow f;
	int ret;

	memset(&f, 0, sizeof(f));
	memset(a->ages_of, 0, sizeof(a->ages_of));
	f.card = c;
	f.held = held;
	f.host = host;
	f.there = there;
	f.a = a;
	f.e = e;
	f.n = host ? host->n : there->n;
	f.len = host ? host->len : there->len;
	f.bytes = f.len ? f.len : sizeof(__u64);
	if (!f.n)
		return 0;
	f.pinned = host && is_pinned(host->data) &&
		   is_pinned((const char *)host->data + f.n * f.bytes - 1);
	f.piece = piece_of(&f);
	ret = make_room(&f);
	if (ret)
		return ret;
	card_keep(c, &held->lines);
	ret = go(&f);
	if (ret)
		card_quiet(c);
	return ret;
}
