// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of kind elastic: known answers to the bit, properties, floods, stamps, the line
 * lock, test-and-insert, prediction against measurement, sizing.
 */
#define KIND elastic
#define EPOCHS(shape) ((shape)->epochs)
#define WARM(shape) 31

#include <epf/elastic.h>
#include <kinds/elastic.h>

#include "elastic_vectors.h"
#include "epoch_kind.h"

#include <pthread.h>

static const char *tell(const SHAPE *s)
{
	static char text[80];

	snprintf(text, sizeof(text), "%llu lines of %u words, r=%u", s->nr_lines, s->line_words,
		 s->epochs);
	return text;
}

static void answers(void)
{
	int i;

	for (i = 0; i < NR(elastic_scripts); i++) {
		SHAPE s = { elastic_scripts[i].nr_lines, elastic_scripts[i].line_words,
			    elastic_scripts[i].epochs };

		tap_ok(known_answers(&s, elastic_scripts[i].seed, elastic_scripts[i].steps,
				     elastic_scripts[i].answers, &elastic_scripts[i].fold),
		       "%s: answers and every bit are the model's", tell(&s));
	}
}

static const struct law_shape law_shapes[] = {
	{ { 4096, 16, 7 }, 16, EXACT }, { { 4096, 8, 7 }, 1, EXACT },
	{ { 9999, 16, 2 }, 99, EXACT }, { { 1000, 16, 4 }, 5, EXACT },
	{ { 5000, 8, 3 }, 8, EXACT },   { { 1, 16, 7 }, 16, EITHER },
	{ { 1, 8, 7 }, 1, EITHER },     { { 2, 8, 5 }, 3, EITHER },
};

/* The keys of an epoch are words of a stream of its own. */
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

/* Return: keys of all live epochs that are not found, or are reported older. */
static __u64 missed(const struct epf_elastic *f, __u64 epoch, const __u32 *keys_of)
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

#define FLOOD_LINES 16
#define FLOOD_EPOCHS 60
#define CALM 10 /* keys of an epoch per line */

/* Epochs 20 .. 29 have up to fifty times the load, more than a line can tell apart: no
 * key is lost, and three windows later the error is back to normal.
 */
static void flood(__u32 words)
{
	__u32 keys[FLOOD_EPOCHS], calm = CALM * FLOOD_LINES * words / 16;
	const SHAPE s = { FLOOD_LINES, words, 7 };
	double before = 0, peak = 0, after = 0;
	FILTER f = filter_new(&s);
	__u64 e, bad = 0;

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
	filter_free(&f);
}

#define STAMP_LINES 600

/* Lines that are left alone for longer than stamps can tell apart. */
static void stamps(void)
{
	static const SHAPE s = { STAMP_LINES, 8, 7 };
	FILTER f = filter_new(&s);
	__u32 e, i, wrong = 0;

	insert_epoch(&f, 0, 200);
	for (e = 1; e < 2 * EPF_ELASTIC_STAMPS + 9; e++) {
		epf_elastic_rotate(&f);
		for (i = 0; i < 200; i++)
			wrong += epf_elastic_test(&f, key_of(0, i)) != (e <= 7 ? 1 + (int)e : 0);
	}
	for (i = 0; i < STAMP_LINES * 8; i++)
		wrong += f.word[i] != 0;
	tap_ok(!wrong, "%u epochs without an insertion: %u wrong answers or words left", e, wrong);
	filter_free(&f);
}

#define BOTH_LINES 3
#define BOTH_KEYS 20000u

/* Test-and-insert is a test, and an insertion unless it is to keep what is present: the same
 * verdicts, and the same words.
 */
static void both(void)
{
	static const SHAPE s = { BOTH_LINES, 16, 7 };
	FILTER a = filter_new(&s), b = filter_new(&s);
	__u32 i, wrong = 0, hits = 0;

	for (i = 0; i < BOTH_KEYS; i++) {
		__u64 key = epf_word(77, epf_word(i, 1) % 400);
		bool keep = epf_word(i, 2) & 1;
		int v = epf_elastic_test(&a, key);

		if (!v || !keep)
			epf_elastic_insert(&a, key);
		wrong += epf_elastic_test_and_insert(&b, key, keep) != v;
		hits += v && keep;
		if (i % 37 == 0) {
			epf_elastic_rotate(&a);
			epf_elastic_rotate(&b);
		}
	}
	wrong += !!memcmp(a.word, b.word, epf_elastic_words(&s) * sizeof(*a.word));
	tap_ok(!wrong && hits > 1000, "test-and-insert is both: %u differ, %u kept", wrong, hits);
	filter_free(&a);
	filter_free(&b);
}

static void laws(void)
{
	epoch_laws(law_shapes, NR(law_shapes), 70);
	flood(16);
	flood(8);
	stamps();
	both();
}

static void shapes(void)
{
	static const SHAPE bad[] = {
		{ 0, 16, 7 },    { (1ULL << 31) + 1, 16, 7 },
		{ ~0ULL, 8, 7 }, { 64, 0, 7 },
		{ 64, 12, 7 },   { 64, 32, 7 },
		{ 64, ~0u, 7 },  { 64, 16, 1 },
		{ 64, 16, 8 },   { 64, 8, ~0u },
	};
	static const struct shape_words good[] = {
		{ { 1, 8, 2 }, 8 },
		{ { 3, 16, 7 }, 48 },
		{ { 1ULL << 31, 16, 7 }, 1ULL << 35 },
	};

	check_shapes(bad, NR(bad), true, good, NR(good));
}

/* A locked line answers "present" to all keys, and is unchanged after the unlock. */
static void locked(void)
{
	static const SHAPE s = { 1, 16, 7 };
	FILTER f = filter_new(&s);
	bool fine;
	__u64 old;

	fine = epf_elastic_test(&f, 1) == EPF_ABSENT;
	epf_elastic_insert(&f, 2);
	old = epf_elastic_lock(f.word + 2);
	fine &= epf_elastic_test(&f, 1) == EPF_PRESENT && epf_elastic_test(&f, 2) == EPF_PRESENT;
	epf_elastic_unlock(f.word + 2, old, old);
	fine &= epf_elastic_test(&f, 1) == EPF_ABSENT && epf_elastic_test(&f, 2) == EPF_PRESENT;
	tap_ok(fine, "a test does not wait for a locked line");
	filter_free(&f);
}

#define MODEL .01   /* standard error of a prediction */
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

/* Keys that a racing thread inserted in each live epoch: the last one, and one from
 * some insertions ago.
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
	static const SHAPE s = { RACE_LINES, 16, 7 };
	FILTER f = filter_new(&s);

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
	tap_ok(!lost && !left, "%u threads, %llu rotations: %llu keys lost, %llu locks left",
	       RACERS, turns, lost, left);
	filter_free(&f);
}

#define SIGHTINGS 40000u
#define SIGHT_LINES 8192

struct sighter {
	pthread_t thread;
	struct epf_elastic *f;
	__u8 *absent; /* by key; each thread its own */
};

static void *sight(void *arg)
{
	struct sighter *s = (struct sighter *)arg;
	__u32 i;

	for (i = 0; i < SIGHTINGS; i++)
		s->absent[i] = !epf_elastic_test_and_insert(s->f, epf_word(900, i + 1), i & 1);
	return NULL;
}

/* When several threads test and insert a new key at once, exactly one gets "absent". */
static void sightings(void)
{
	static const SHAPE s = { SIGHT_LINES, 16, 7 };
	static __u8 absent[RACERS][SIGHTINGS];
	struct sighter sighters[RACERS] = { 0 };
	__u32 i, k, wrong = 0, told;
	FILTER f = filter_new(&s);

	for (i = 0; i < RACERS; i++) {
		sighters[i].f = &f;
		sighters[i].absent = absent[i];
		if (pthread_create(&sighters[i].thread, NULL, sight, &sighters[i]))
			abort();
	}
	for (i = 0; i < RACERS; i++)
		pthread_join(sighters[i].thread, NULL);
	for (k = 0; k < SIGHTINGS; k++) {
		for (told = 0, i = 0; i < RACERS; i++)
			told += absent[i][k];
		wrong += told != 1;
	}
	tap_ok(!wrong, "%u keys, %u threads: %u were new to none or to two", SIGHTINGS, RACERS,
	       wrong);
	filter_free(&f);
}

/* 256 lines, and keys of an epoch per line. */
#define LINES(words, r, keys, now)                                  \
	{                                                           \
		{ 256, words, r }, 256 * (keys), 256 * (now), 40000 \
	}

static const struct load predicted[] = {
	LINES(16, 7, 10.45, 10.45), /* 14 bits per key of the window */
	LINES(16, 7, 10.45, 5),     LINES(16, 7, 12.19, 12.19), LINES(16, 7, 7.31, 7.31),
	LINES(8, 7, 5.22, 5.22),    LINES(16, 4, 18, 0),
};

static double less(const struct load *l)
{
	return epf_elastic_fpr(&l->s, l->keys * .93, l->now * .93);
}

static void prediction(void)
{
	struct mean rate = measure_all(&predicted[0], 0, NULL);

	tap_ok(mean_of(&rate) + mean_margin(&rate) < PAPER,
	       "14 bits a key, worst phase: below the %.4f of classic guarded epochs", PAPER);
	predictions(predicted, NR(predicted), MODEL, less, "7% less");
}

static const struct ask sizes[] = {
	{ { 1e6, .0222, 0, 0, 0 }, 0, 0 },
	{ { 1e6, .0222, 0, 0, 8 }, 0, 0 },
	{ { 1e6, 1e-4, 1 / 7., 0, 16 }, 0, 0 },
	{ { 1e6, .001, 0, 0, 16 }, 0, 0 },
	{ { 1e6, .001, 0, 0, 8 }, 0, 0 },
	{ { 1, .01, 0, 0, 0 }, 0, 0 },
	{ { 1e6, .0222, 0, 1 << 20, 0 }, -ENOSPC, 0 },
	{ { 1e13, .0222, 0, 0, 0 }, -E2BIG, 0 },
	{ { 0, .0222, 0, 0, 0 }, -EINVAL, 0 },
	{ { NAN, .0222, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, 1e-6, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .6, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, .1, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, NAN, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, 0, 0, 12 }, -EINVAL, 0 },
};

/* Is the error within a twentieth of the budget, except for the smallest size? */
static bool is_least(const struct epf_elastic_req *req, const struct epf_elastic_size *size)
{
	return size->shape.nr_lines < 100 || size->fpr >= .95 * req->budget;
}

static void sizing(void)
{
	check_sizes(sizes, NR(sizes), .001);
}

static const struct part parts[] = {
	{ answers, NR(elastic_scripts), false },
	{ laws, NR(law_shapes) + 4, true },
	{ shapes, SHAPES, false },
	{ locked, 1, false },
	{ races, 1, false },
	{ sightings, 1, false },
	{ prediction, 1 + NR(predicted) + 1, false },
	{ sizing, 1, false },
};

KIND_MAIN(parts)
