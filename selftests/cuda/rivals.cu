// SPDX-License-Identifier: GPL-2.0
/*
 * Property: the peers in the benchmark work as described: the card's classic filters
 * equal the core's bit by bit, its counters equal those of baseline cbf, and every form
 * gives the same answers.
 *
 * usage: rivals [KEYS]    (10 million; 20,000 under emulation)
 */
#include "device.h"

#include <bench/bench.h>
#include <kinds/cbf.h>
#include <string.h>

#ifndef KEYS
#define KEYS 10000000ULL
#endif
#define MOVED 5000u /* keys that leave a window */
#define ROUNDS 12u  /* epochs: each segment is emptied at least once */

struct rival {
	struct epf_ge f; /* the filter of the core */
	struct epf_ge card;
	__u64 *digest; /* KEYS / ROUNDS in each round */
	__u64 *there;
	__u64 per_epoch;
};

static void digests(struct rival *r, __u64 n)
{
	__u64 i;

	r->per_epoch = n / ROUNDS;
	r->digest = (__u64 *)host_memory(n * sizeof(*r->digest));
	for (i = 0; i < n; i++)
		r->digest[i] = bench_key(SEED_LIVE, i);
	r->there = (__u64 *)copied(r->digest, n * sizeof(*r->digest));
}

static void wait(void)
{
	must(cudaStreamSynchronize(bench.stream), "the card");
}

/* Fill @epochs epochs of @layout; half of the positions are set when an epoch is full. */
static void fill(struct rival *r, __u32 epochs, __u32 layout)
{
	struct epf_ge_shape s = { r->per_epoch * 12, epochs, GE_BITS, layout };
	size_t bytes = epf_ge_words(&s) * sizeof(__u64);
	__u32 round;
	__u64 i;

	if (epf_ge_init(&r->f, &s))
		abort();
	r->f.word = (__u64 *)host_memory(bytes);
	memset(r->f.word, 0, bytes);
	r->card = r->f;
	r->card.word = (__u64 *)copied(r->f.word, bytes);
	for (round = 0; round < ROUNDS; round++) {
		if (round) {
			epf_ge_rotate(&r->f);
			must(ge_rotate(&r->card), "an epoch");
		}
		for (i = 0; i < r->per_epoch; i++)
			epf_ge_insert(&r->f, r->digest[round * r->per_epoch + i]);
		must(ge_insert(&r->card, r->there + round * r->per_epoch, r->per_epoch),
		     "insertions");
	}
	wait();
}

static bool same_words(const struct rival *r)
{
	size_t bytes = epf_ge_words(&r->f.shape) * sizeof(__u64);
	__u64 *got = (__u64 *)host_memory(bytes);
	bool same;

	to_host(got, r->card.word, bytes);
	same = !memcmp(got, r->f.word, bytes) && r->card.now == r->f.now;
	free(got);
	return same;
}

/* Return: inserted keys, some of them too old, then as many fresh ones. */
static __u64 *question(const struct rival *r, __u64 *n)
{
	__u64 live = r->per_epoch * ROUNDS, i;
	__u64 *digest = (__u64 *)host_memory(2 * live * sizeof(*digest));

	for (i = 0; i < live; i++) {
		digest[i] = r->digest[i];
		digest[live + i] = bench_key(SEED_ABSENT, i);
	}
	*n = 2 * live - 5; /* not a multiple of a warp */
	return digest;
}

static bool same_bits(const __u32 *bitmap, __u64 n, bool (*present)(const void *f, __u64 digest),
		      const void *f, const __u64 *digest)
{
	__u64 i;

	for (i = 0; i < n; i++)
		if ((bitmap[i / 32] >> i % 32 & 1) != present(f, digest[i]))
			return false;
	return !(n % 32) || !(bitmap[n / 32] >> n % 32);
}

/**
 * The keys looked up in a filter of either sort.
 */
struct asked {
	const struct epf_ge *ge;
	enum ge_form form;
	const struct counting *counting;
};

static bool same_answers(const struct rival *r, const struct asked *a,
			 bool (*present)(const void *f, __u64 digest), const void *f)
{
	__u64 n, *digest = question(r, &n), *keys;
	size_t bytes = (n + 31) / 32 * sizeof(__u32);
	__u32 *bitmap = (__u32 *)host_memory(bytes), *answer;
	bool same;

	keys = (__u64 *)copied(digest, n * sizeof(*digest));
	answer = (__u32 *)there(bytes);
	must(cudaMemset(answer, 0x5a, bytes));
	must(a->ge ? ge_query(a->ge, a->form, keys, n, answer) :
		     counting_query(a->counting, keys, n, answer),
	     "a question");
	wait();
	to_host(bitmap, answer, bytes);
	same = same_bits(bitmap, n, present, f, digest);
	cudaFree(keys);
	cudaFree(answer);
	free(bitmap);
	free(digest);
	return same;
}

static bool ge_present(const void *f, __u64 digest)
{
	return epf_ge_test((const struct epf_ge *)f, digest) != EPF_ABSENT;
}

static void claim_form(const struct rival *r, enum ge_form form, const char *name)
{
	struct asked a = { &r->card, form, NULL };

	tap_ok(same_answers(r, &a, ge_present, &r->f), "answers, %s", name);
}

static void drop(struct rival *r)
{
	cudaFree(r->card.word);
	free(r->f.word);
}

/* ---- counters ---- */

static bool cbf_present(const void *f, __u64 digest)
{
	return epf_cbf_test((const struct epf_cbf *)f, digest);
}

/* The last keys push the first ones out, one by one as in the queue. There are few
 * cells, so that some counters reach their maximum and stay there.
 */
static void claim_counting(const struct rival *r)
{
	__u64 n = r->per_epoch * ROUNDS, last = MOVED, i;
	struct epf_cbf_shape shape = { n / 2, n - last, 4 };
	struct counting card = { NULL, shape.cells, shape.bits };
	struct asked a = { NULL, GE_ALL, &card };
	size_t bytes = (shape.cells + 7) / 8 * sizeof(__u32);
	unsigned char *got = (unsigned char *)host_memory(bytes);
	struct epf_cbf f;

	if (epf_cbf_init(&f, &shape))
		abort();
	card.word = (__u32 *)there(bytes);
	must(cudaMemset(card.word, 0, bytes));
	for (i = 0; i < n; i++)
		epf_cbf_insert(&f, r->digest[i]);
	must(counting_add(&card, r->there, n - last, 1), "insertions");
	for (i = n - last; i < n; i++) {
		must(counting_add(&card, r->there + i - (n - last), 1, -1), "a deletion");
		must(counting_add(&card, r->there + i, 1, 1), "an insertion");
	}
	wait();
	to_host(got, card.word, bytes);
	tap_ok(!memcmp(got, f.cell, epf_cbf_bytes(&shape)), "counters are those of cbf");
	tap_ok(same_answers(r, &a, cbf_present, &f), "answers, counting");
	epf_cbf_free(&f);
	cudaFree(card.word);
	free(got);
}

int main(int argc, char **argv)
{
	__u64 n = argc > 1 ? strtoull(argv[1], NULL, 10) : KEYS;
	struct rival r = {};

	if (no_card())
		return TAP_SKIPPED;
	/* A blocking stream: it waits for what cudaMemset() and copies from unpinned
	 * memory have only started on the default stream.
	 */
	must(cudaStreamCreateWithFlags(&bench.stream, 0), "a stream");
	bench.sms = 3; /* so few that grids loop */
	tap_plan(8);
	digests(&r, n);
	fill(&r, GE_EPOCHS, EPF_GE_SEGMENTS);
	tap_ok(same_words(&r), "classic: %u epochs make the core's words", ROUNDS);
	claim_form(&r, GE_ALL, "every probe");
	claim_form(&r, GE_EARLY, "segment by segment");
	claim_form(&r, GE_WAVE, "in waves");
	drop(&r);
	fill(&r, CELLS_EPOCHS, EPF_GE_TRANSPOSED);
	tap_ok(same_words(&r), "cells: %u epochs make the core's words", ROUNDS);
	claim_form(&r, GE_CELLS, "cells");
	drop(&r);
	claim_counting(&r);
	cudaFree(r.there);
	free(r.digest);
	return tap_end();
}
