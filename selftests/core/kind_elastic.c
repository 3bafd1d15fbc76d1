// SPDX-License-Identifier: GPL-2.0
/*
 * Kind elastic: known answers to the bit, laws, floods, stamps, the line lock,
 * prediction against measurement, sizing.
 *
 * With the argument "laws" only the laws: elastic_broken.sh runs them with edits
 * of the core that must break them.
 */
#include "elastic_vectors.h"
#include "epoch_laws.h"
#include "tap.h"

#include <epf/elastic.h>
#include <kinds/elastic.h>

#include <pthread.h>

LAW_OPS(elastic)

static bool make(struct epf_elastic *f, __u64 nr_lines, __u32 line_words,
		 __u32 epochs)
{
	struct epf_elastic_shape s = { nr_lines, line_words, epochs };

	f->word = law_memory(epf_elastic_words(&s));
	return f->word && !epf_elastic_init(f, &s);
}

static __u64 fold(const struct epf_elastic *f)
{
	__u64 i, value = 0;

	for (i = 0; i < epf_elastic_words(&f->shape); i++)
		value = epf_word(value + f->word[i], 1);
	return value;
}

static void known_answers(void)
{
	__u32 i;

	for (i = 0; i < NR(elastic_scripts); i++) {
		struct epf_elastic f;
		struct law_kind kind = LAW_KIND(&f, 0, 0);
		bool made = make(&f, elastic_scripts[i].nr_lines,
				 elastic_scripts[i].line_words,
				 elastic_scripts[i].epochs);

		tap_ok(made &&
		       law_script(&kind, elastic_scripts[i].seed,
				  elastic_scripts[i].steps,
				  elastic_scripts[i].answers) &&
		       fold(&f) == elastic_scripts[i].fold,
		       "%llu lines of %u words, r=%u: answers and every bit are the model's",
		       elastic_scripts[i].nr_lines, elastic_scripts[i].line_words,
		       elastic_scripts[i].epochs);
		free(f.word);
	}
}

/* lines, words of a line, r; words of a part of a sweep; without an error? */
static const struct {
	__u64 lines;
	__u32 words, r;
	__u64 part;
	bool exact;
} law_shapes[] = {
	{ 4096, 16, 7, 16, true }, { 4096, 8, 7, 1, true },
	{ 9999, 16, 2, 99, true }, { 1000, 16, 4, 5, true },
	{ 5000, 8, 3, 8, true },   { 1, 16, 7, 16, false },
	{ 1, 8, 7, 1, false },	   { 2, 8, 5, 3, false },
};

static void laws(void)
{
	static struct laws l;
	__u32 i;

	for (i = 0; i < NR(law_shapes); i++) {
		struct epf_elastic f;
		struct law_kind kind = LAW_KIND(&f, law_shapes[i].r,
						law_shapes[i].part);

		if (!make(&f, law_shapes[i].lines, law_shapes[i].words,
			  law_shapes[i].r))
			abort();
		laws_run(&l, &kind, 70 + i);
		tap_ok(!l.lost && !l.older &&
		       !(l.inexact && law_shapes[i].exact),
		       "%llu lines of %u words, r=%u: %llu answers, %llu lost, %llu too old, %llu inexact",
		       law_shapes[i].lines, law_shapes[i].words,
		       law_shapes[i].r, l.checks, l.lost, l.older, l.inexact);
		free(f.word);
	}
}

/* Keys of an epoch are words of a stream of its own. */
static __u64 key_of(__u64 epoch, __u32 i)
{
	return epf_word(epf_word(epoch, 31), i + 1);
}

static void insert_epoch(struct epf_elastic *f, __u64 epoch, __u32 keys)
{
	__u32 i;

	for (i = 0; i < keys; i++)
		epf_elastic_insert(f, key_of(epoch, i));
}

/* Keys of all epochs that count, not found or told older. */
static __u64 missed(const struct epf_elastic *f, __u64 epoch,
		    const __u32 *keys_of)
{
	__u32 counted = epf_elastic_counted(f, f->phase), age, i;
	__u64 bad = 0;

	for (age = 0; age < counted && age <= epoch; age++)
		for (i = 0; i < keys_of[epoch - age]; i++) {
			int v = epf_elastic_test(f, key_of(epoch - age, i));

			bad += !v || v > 1 + (int)age;
		}
	return bad;
}

static double measure(const struct epf_elastic *f, __u64 seed, __u64 queries)
{
	__u64 i, hits = 0;

	for (i = 0; i < queries; i++)
		hits += epf_elastic_test(f, epf_word(seed ^ i << 24, 7)) !=
			EPF_ABSENT;
	return (double)hits / (double)queries;
}

#define FLOOD_LINES 16
#define FLOOD_EPOCHS 60
#define CALM 10 /* keys of an epoch for each line */

/* Up to fifty times the load in epochs 20 .. 29, more than a line can tell
 * apart: nothing is lost, and three windows later the error is what it was.
 */
static void flood(__u32 words)
{
	__u32 keys[FLOOD_EPOCHS], calm = CALM * FLOOD_LINES * words / 16;
	double before = 0, peak = 0, after = 0;
	struct epf_elastic f;
	__u64 e, bad = 0;

	if (!make(&f, FLOOD_LINES, words, 7))
		abort();
	for (e = 0; e < FLOOD_EPOCHS; e++) {
		keys[e] = e / 10 == 2 ? calm * (2 + e % 10 * 5) : calm;
		insert_epoch(&f, e, keys[e]);
		bad += missed(&f, e, keys);
		before += e >= 15 && e < 20 ? measure(&f, e, 50000) / 5 : 0;
		peak = e == 29 ? measure(&f, e, 50000) : peak;
		after += e >= 55 ? measure(&f, e, 50000) / 5 : 0;
		epf_elastic_retire(&f);
		bad += missed(&f, e, keys);
		epf_elastic_sweep(&f, 0, ~0ULL);
		epf_elastic_advance(&f);
	}
	tap_ok(!bad && peak > .99 && after < 1.5 * before,
	       "%u words, flood: %llu lost or too old; error %.4f before, %.4f in it, %.4f after",
	       words, bad, before, peak, after);
	free(f.word);
}

#define STAMP_LINES 600

/* Lines left alone for longer than stamps are told apart. */
static void stamps(void)
{
	__u32 e, i, wrong = 0;
	struct epf_elastic f;

	if (!make(&f, STAMP_LINES, 8, 7))
		abort();
	insert_epoch(&f, 0, 200);
	for (e = 1; e < 2 * EPF_ELASTIC_STAMPS + 9; e++) {
		epf_elastic_rotate(&f);
		for (i = 0; i < 200; i++)
			wrong += epf_elastic_test(&f, key_of(0, i)) !=
				 (e <= 7 ? 1 + (int)e : 0);
	}
	for (i = 0; i < STAMP_LINES * 8; i++)
		wrong += f.word[i] != 0;
	tap_ok(!wrong, "%u epochs without an insertion: %u wrong answers or words left",
	       e, wrong);
	free(f.word);
}

#define LAW_TESTS ((int)NR(law_shapes) + 3)
static void all_laws(void)
{
	laws();
	flood(16);
	flood(8);
	stamps();
}

static void shapes(void)
{
	static const struct epf_elastic_shape bad[] = {
		{ 0, 16, 7 },	{ (1ULL << 31) + 1, 16, 7 }, { ~0ULL, 8, 7 },
		{ 64, 0, 7 },	{ 64, 12, 7 },		     { 64, 32, 7 },
		{ 64, ~0u, 7 }, { 64, 16, 1 },		     { 64, 16, 8 },
		{ 64, 8, ~0u },
	};
	static const struct {
		struct epf_elastic_shape s;
		__u64 words;
	} good[] = {
		{ { 1, 8, 2 }, 8 }, { { 3, 16, 7 }, 48 },
		{ { 1ULL << 31, 16, 7 }, 1ULL << 35 },
	};
	struct epf_elastic f;
	bool fine = true;
	__u32 i;

	for (i = 0; i < NR(bad); i++)
		fine &= !epf_elastic_words(&bad[i]) &&
			epf_elastic_init(&f, &bad[i]) == -EINVAL;
	for (i = 0; i < NR(good); i++)
		fine &= epf_elastic_words(&good[i].s) == good[i].words &&
			!epf_elastic_init(&f, &good[i].s);
	tap_ok(fine, "%zu bad shapes are refused, %zu take the words they should",
	       NR(bad), NR(good));
}

/* A locked line answers "present" to all, and is as before when unlocked. */
static void locked(void)
{
	struct epf_elastic f;
	bool fine = make(&f, 1, 16, 7);
	__u64 old;

	fine &= epf_elastic_test(&f, 1) == EPF_ABSENT;
	epf_elastic_insert(&f, 2);
	old = epf_elastic_lock(f.word + 2);
	fine &= epf_elastic_test(&f, 1) == EPF_PRESENT &&
		epf_elastic_test(&f, 2) == EPF_PRESENT;
	epf_elastic_unlock(f.word + 2, old, old);
	fine &= epf_elastic_test(&f, 1) == EPF_ABSENT &&
		epf_elastic_test(&f, 2) == EPF_PRESENT;
	tap_ok(fine, "a test does not wait for a locked line");
	free(f.word);
}

#define MODEL .01 /* standard error of a prediction */
#define PAPER .0222 /* guarded epoch paper, Table 1, 14 bits, r = 8 */
#define RACERS 2
#define RACE_KEYS 40000
#define RACE_LINES 3

struct racer {
	pthread_t thread;
	struct epf_elastic *f;
	__u64 seed, lost;
	__u64 done;
};

/* What a racer inserted, in as many epochs as count: the last key, and one some
 * insertions ago.
 */
static void *race(void *arg)
{
	struct racer *r = (struct racer *)arg;
	__u64 phase[8] = { 0 };
	__u32 i;

	for (i = 0; i < RACE_KEYS; i++) {
		__u32 old = i > 7 ? i - 7 : 0;
		__u64 at;

		phase[i & 7] = epf_load_acquire(&r->f->phase);
		epf_elastic_insert(r->f, epf_word(r->seed, i + 1));
		at = phase[old & 7];
		if (!epf_elastic_test(r->f, epf_word(r->seed, old + 1)) &&
		    (epf_load_ordered(&r->f->phase) >> 1) - (at >> 1) < 7)
			r->lost++;
		epf_store_release(&r->done, i + 1);
	}
	return NULL;
}

static void races(void)
{
	struct racer r[RACERS] = { 0 };
	__u64 done = 0, turns = 0, i, lost = 0, left = 0;
	struct epf_elastic f;

	if (!make(&f, RACE_LINES, 16, 7))
		abort();
	for (i = 0; i < RACERS; i++) {
		r[i].f = &f;
		r[i].seed = i + 500;
		if (pthread_create(&r[i].thread, NULL, race, &r[i]))
			abort();
	}
	while (done < RACERS * RACE_KEYS) {
		for (done = 0, i = 0; i < RACERS; i++)
			done += epf_load_acquire(&r[i].done);
		if (done / 40 <= turns) {
			sched_yield();
			continue;
		}
		epf_elastic_rotate(&f);
		turns++;
	}
	for (i = 0; i < RACERS; i++) {
		pthread_join(r[i].thread, NULL);
		lost += r[i].lost;
	}
	for (i = 0; i < RACE_LINES; i++)
		left += f.word[16 * i + 2] & 1;
	tap_ok(!lost && !left,
	       "%u threads, %llu rotations: %llu keys lost, %llu locks left",
	       RACERS, turns, lost, left);
	free(f.word);
}

static const struct {
	__u64 lines;
	__u32 words, r;
	double keys, now; /* of an epoch in a line */
} predicted[] = {
	{ 256, 16, 7, 10.45, 10.45 }, /* 14 bits a key of the window */
	{ 256, 16, 7, 10.45, 5 },     { 256, 16, 7, 12.19, 12.19 },
	{ 256, 16, 7, 7.31, 7.31 },   { 256, 8, 7, 5.22, 5.22 },
	{ 256, 16, 4, 18, 0 },
};

static void fill(struct epf_elastic *f, __u64 seed, __u32 keys, __u32 now)
{
	__u32 e, epochs = 31;

	for (e = 0; e < epochs; e++) {
		insert_epoch(f, seed + e, keys);
		epf_elastic_rotate(f);
	}
	insert_epoch(f, seed + e, now);
}

static void prediction(void)
{
	__u32 i, j;

	for (i = 0; i < NR(predicted); i++) {
		__u32 keys = (__u32)(predicted[i].keys * predicted[i].lines);
		__u32 now = (__u32)(predicted[i].now * predicted[i].lines);
		struct law_sample rate = { 0, 0 };
		struct epf_elastic f;
		double p, less;

		for (j = 0; j < LAW_FILTERS; j++) {
			if (!make(&f, predicted[i].lines, predicted[i].words,
				  predicted[i].r))
				abort();
			fill(&f, (i * 100 + j) * 1000, keys, now);
			law_sample_add(&rate, measure(&f, i * 100 + j, 40000));
			free(f.word);
		}
		p = epf_elastic_fpr(&f.shape, keys, now);
		less = epf_elastic_fpr(&f.shape, keys * .93, now * .93);
		tap_ok(fabs(p - law_mean(&rate)) <= law_margin(&rate) + MODEL * p &&
		       fabs(less - law_mean(&rate)) > law_margin(&rate) + MODEL * p,
		       "%u words, r=%u, %g and %g keys: predicted %.5f (%.5f for 7%% less), measured %.5f +- %.5f",
		       predicted[i].words, predicted[i].r, predicted[i].keys,
		       predicted[i].now, p, less, law_mean(&rate),
		       law_margin(&rate));
		if (!i)
			tap_ok(law_mean(&rate) + law_margin(&rate) < PAPER,
			       "14 bits a key, worst phase: below the %.4f of classic guarded epochs",
			       PAPER);
	}
}

static const struct {
	struct epf_elastic_req req;
	int err;
} sizes[] = {
	{ { 1e6, .0222, 0, 0, 0 }, 0 },	     { { 1e6, .0222, 0, 0, 8 }, 0 },
	{ { 1e6, 1e-4, 1 / 7., 0, 16 }, 0 }, { { 1, .01, 0, 0, 0 }, 0 },
	{ { 1e6, .0222, 0, 1 << 20, 0 }, -ENOSPC },
	{ { 1e13, .0222, 0, 0, 0 }, -E2BIG }, { { 0, .0222, 0, 0, 0 }, -EINVAL },
	{ { NAN, .0222, 0, 0, 0 }, -EINVAL }, { { 1e6, 1e-6, 0, 0, 0 }, -EINVAL },
	{ { 1e6, .6, 0, 0, 0 }, -EINVAL },    { { 1e6, .1, .1, 0, 0 }, -EINVAL },
	{ { 1e6, .1, NAN, 0, 0 }, -EINVAL },  { { 1e6, .1, 0, 0, 12 }, -EINVAL },
};

static void sizing(void)
{
	bool fine = true;
	__u32 i;

	for (i = 0; i < NR(sizes); i++) {
		const struct epf_elastic_req *req = &sizes[i].req;
		struct epf_elastic_size size;
		int err = epf_elastic_size(req, &size);

		fine &= err == sizes[i].err;
		if (err)
			continue;
		printf("# W=%g budget %g: %llu lines of %u words, %.2f bits/key, %.3g\n",
		       req->keys_per_window, req->budget, size.shape.nr_lines,
		       size.shape.line_words,
		       (double)size.bytes * 8 / req->keys_per_window, size.fpr);
		fine &= size.fpr <= req->budget * 1.001 &&
			size.bytes == 8 * epf_elastic_words(&size.shape) &&
			(size.shape.nr_lines < 100 ||
			 size.fpr >= .95 * req->budget);
	}
	tap_ok(fine, "sizing keeps %zu promises or says why not", NR(sizes));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "laws")) {
		tap_plan(LAW_TESTS);
		all_laws();
		return tap_end();
	}
	tap_plan((int)NR(elastic_scripts) + LAW_TESTS + 3 + (int)NR(predicted) + 2);
	known_answers();
	all_laws();
	shapes();
	locked();
	races();
	prediction();
	sizing();
	return tap_end();
}
