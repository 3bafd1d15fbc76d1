// SPDX-License-Identifier: GPL-2.0
/*
 * Test-and-insert under real threads. In each round two threads test and insert the
 * same new key at once, in odd rounds while the filter rotates. At least one gets
 * "absent", and exactly one if nothing rotated. Afterwards the key is present.
 */
#include "race.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define THREADS 2
#define LINES 65536
#define ROUNDS 20000

static struct epf_state state;
static struct epf_lanes lanes;
static bool first_seen;
static __u64 round_nr;       /* 0: not begun; ROUNDS + 1: the end */
static __u64 ready[THREADS]; /* the last round that the thread has finished */
static int verdict[THREADS];

static __thread __u64 yields;

/* Yield to the other thread at times, so that threads interleave even on a single CPU. */
static void maybe_yield(void)
{
	if (epf_word((__u64)(size_t)race_self, (__u32)++yields) % 64 == 0)
		sched_yield();
}

static void no_point(void)
{
}

static void pass_time(__u64 *rng, __u64 sides)
{
	__u64 n = epf_word(++*rng, 1) % sides;

	while (n--)
		__asm__ volatile("" ::: "memory");
}

static void *sighter(void *arg)
{
	int nr = (int)(size_t)arg;
	__u64 rng = (__u64)nr << 40, seen = 0, e;
	struct race_self self = { .epoch_word = &state.epoch };
	struct epf_probe p;

	race_self = &self;
	for (;;) {
		while (__atomic_load_n(&round_nr, __ATOMIC_ACQUIRE) == seen)
			sched_yield();
		seen++;
		if (seen > ROUNDS)
			return NULL;
		epf_probe(&lanes, epf_word(seen, 3), &p);
		pass_time(&rng, 200);
		verdict[nr] = race_sight(&lanes, &p, first_seen, &e);
		__atomic_store_n(&ready[nr], seen, __ATOMIC_RELEASE);
	}
}

static void await(__u64 seen)
{
	int i;

	for (i = 0; i < THREADS; i++)
		while (__atomic_load_n(&ready[i], __ATOMIC_ACQUIRE) != seen)
			sched_yield();
}

struct outcome {
	__u64 none, both; /* rounds in which neither, or both, got "absent" */
	__u64 gone;       /* keys absent afterwards */
};

static void play(struct outcome *o, __u64 *rng)
{
	__u64 n;

	for (n = 1; n <= ROUNDS; n++) {
		struct epf_probe p;
		int absent;

		__atomic_store_n(&round_nr, n, __ATOMIC_RELEASE);
		if (n & 1) {
			pass_time(rng, 400);
			epf_state_rotate(&state, 0);
		}
		await(n);
		absent = !verdict[0] + !verdict[1];
		o->none += !absent;
		o->both += absent == 2 && !(n & 1);
		epf_probe(&lanes, epf_word(n, 3), &p);
		o->gone += !epf_lanes_test(&lanes, &p);
	}
	__atomic_store_n(&round_nr, n, __ATOMIC_RELEASE);
}

/* Lines are never scanned. Stale positives are rare, at most one key in each epoch and
 * line, which tells them from violations.
 */
static void law(bool first, unsigned int out, struct outcome *o)
{
	pthread_t id[THREADS];
	struct race_self self = { .epoch_word = &state.epoch };
	__u64 rng = 7;
	int i;

	memset(o, 0, sizeof(*o));
	memset(lanes.line, 0, LINES * sizeof(*lanes.line));
	epf_state_init(&state, 0);
	lanes.epoch = &state.epoch;
	epf_geom_init(&lanes.geom, LINES, 4, 44);
	first_seen = first;
	race_out = out;
	round_nr = ready[0] = ready[1] = 0;
	race_self = &self;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&id[i], NULL, sighter, (void *)(size_t)i))
			abort();
	play(o, &rng);
	for (i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
}

static void holds(const char *name, bool first)
{
	struct outcome o;

	law(first, 0, &o);
	tap_ok(!o.none, "%s: %d rounds, at least one was told absent", name, ROUNDS);
	tap_ok(!o.both, "%s: and only one, if nothing rotated", name);
	tap_ok(!o.gone, "%s: the key is present afterwards", name);
}

int main(void)
{
	struct outcome o;
	int i = 0;

	lanes.line = (struct epf_line *)aligned_alloc(EPF_LINE_BYTES, LINES * sizeof(*lanes.line));
	if (!lanes.line)
		return 1;
	race_point = maybe_yield;
	race_reread = no_point;
	tap_plan(8);
	holds("refresh", false);
	holds("first-seen", true);
	law(false, RACE_OR_SEES_SELF, &o);
	tap_ok(o.none, "caught: the OR returns the new word: %llu rounds", o.none);
	do /* until two threads have met in a line */
		law(false, RACE_OR_SEES_NONE, &o);
	while (!o.both && ++i < 20);
	tap_ok(o.both, "caught: the OR returns 0: %llu rounds", o.both);
	free(lanes.line);
	return tap_end();
}
