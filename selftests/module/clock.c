// SPDX-License-Identifier: GPL-2.0
/*
 * Windows in time, against an exact oracle on CLOCK_MONOTONIC.
 *
 * Lower bounds are exact at any speed of the machine: a key must be present if less
 * than T lies between the moment before its insertion and the moment after its test,
 * and no epoch is shorter than ceil(T/7). Timers may be late without bound, so for
 * forgetting the test can only wait, and check the order: a key eight epochs old is
 * gone.
 */
#include "epftest.h"

#include <stdlib.h>

#define T (280 * MS)
#define EPOCH_NS (T / 7)
#define BATCH 32u
#define RUN_NS (2 * SEC)
#define CHECKS_MIN 50u
#define BATCHES_MAX 100000u

static struct epf_params params(__u8 mode, __u64 window, __u64 ns)
{
	struct epf_params p = test_params("mod-clock", 1 << 14, 2, 16, window);

	p.mode = mode;
	p.window_ns = ns;
	return p;
}

/* Earliest time of the insertion of batch i. */
static __u64 before[BATCHES_MAX];

/* Must batch @i be present, after @n batches, at @now? */
typedef bool (*due_fn)(__u64 i, __u64 n, __u64 now);

static bool due_time(__u64 i, __u64 n, __u64 now)
{
	return now - before[i] <= T;
}

#define W (8 * BATCH)
static bool due_count(__u64 i, __u64 n, __u64 now)
{
	return (n - i) * BATCH <= W;
}

/* Some of the seven epochs may end by count, and the others by time. */
static bool due_either(__u64 i, __u64 n, __u64 now)
{
	return (now - before[i]) * W + (n - i) * BATCH * T <= W * T;
}

static bool due_both(__u64 i, __u64 n, __u64 now)
{
	return due_time(i, n, now) || due_count(i, n, now);
}

/**
 * struct tally - results of a run
 * @batches: batches inserted
 * @checked: batches tested that must be present
 * @lost: of these, batches not found completely
 * @reach: distance of the oldest such batch, in batches
 */
struct tally {
	__u64 batches;
	__u64 checked;
	__u64 lost;
	__u64 reach;
};

static void check(int fd, __u64 i, __u64 n, due_fn due, struct tally *t)
{
	bool found = test_count(fd, 1, i * BATCH, BATCH) == BATCH;

	if (!due(i, n, test_now()))
		return;
	t->checked++;
	t->lost += !found;
	if (found && n - i > t->reach)
		t->reach = n - i;
}

/* Insert, and look up the youngest batch, a random one, and the oldest one that must be
 * present.
 */
static struct tally run(int fd, due_fn due)
{
	__u64 start = test_now();
	struct tally t = {};
	__u64 n, oldest = 0;

	for (n = 0; n < BATCHES_MAX && (test_now() - start < RUN_NS || t.checked <= CHECKS_MIN);) {
		before[n] = test_now();
		test_insert(fd, 1, n * BATCH, BATCH);
		n++;
		while (oldest < n - 1 && !due(oldest, n, test_now()))
			oldest++;
		check(fd, n - 1, n, due, &t);
		check(fd, oldest, n, due, &t);
		check(fd, oldest + epf_word(n, 1) % (n - oldest), n, due, &t);
		if (n % 16 == 0)
			test_sleep(7 * MS);
	}
	t.batches = n;
	return t;
}

#define MODE_POINTS 4
static void try_mode(const char *name, __u8 mode, __u64 window, due_fn due)
{
	struct epf_params p = params(mode, window, T);
	int fd = test_make(&p);
	__u64 before = test_now();
	struct epf_info info = test_info(fd);
	__u64 born = before - info.age_ns; /* or earlier */
	struct tally t = run(fd, due);
	__u64 e;

	tap_ok(!t.lost && t.checked > CHECKS_MIN,
	       "%s: none lost of %llu batches due, back to %llu before", name, t.checked, t.reach);
	test_wait_epoch(fd, info.epoch + 1); /* its timer may be late */
	e = test_info(fd).epoch;
	tap_ok(e > info.epoch, "%s: epochs end: %llu", name, e - info.epoch);
	if (mode == EPF_MODE_TIME || mode == EPF_MODE_BOTH)
		tap_ok(e - info.epoch <= (test_now() - born) / EPOCH_NS,
		       "%s: none is shorter than its time", name);
	else
		tap_ok(e - info.epoch <= t.batches * BATCH, "%s: no more than insertions", name);
	info = test_info(fd);
	tap_ok(info.covered_ns <= test_now() - born && info.covered_inserts <= info.stats.inserts &&
		       (info.covered_inserts > 0 || mode == EPF_MODE_TIME),
	       "%s: the last %llu insertions and %llu ms are covered", name, info.covered_inserts,
	       info.covered_ns / MS);
	close(fd);
}

/* After eight more epochs all keys are gone; before that much time has passed some
 * remain.
 */
#define FORGET_POINTS 4
static void try_forget(void)
{
	struct epf_params p = params(EPF_MODE_TIME, 0, T);
	int fd = test_make(&p);
	struct epf_info info;
	__u64 e, start;
	bool ended;

	test_insert(fd, 2, 0, 1000);
	start = test_now();
	e = test_info(fd).epoch;
	ended = test_wait_epoch(fd, e + 8);
	tap_ok(ended, "time: eight epochs end without any insertion");
	tap_ok(test_now() - start >= 7 * EPOCH_NS, "time: not before seven times their length");
	test_is(test_count(fd, 2, 0, 1000), 0, "time: all keys are forgotten then");
	info = test_info(fd);
	tap_ok(info.epochs[1].age_ns - info.epochs[0].age_ns >= EPOCH_NS &&
		       info.epochs[7].age_ns - info.epochs[0].age_ns >= 7 * EPOCH_NS,
	       "time: epochs say when they began");
	close(fd);
}

/* Which boundary ends the epoch. With T = 7 h none ends by time here. */
#define BOUNDARY_POINTS 6
static void try_boundaries(void)
{
	struct epf_params p = params(EPF_MODE_BOTH, 70, 7 * 3600 * SEC);
	int fd = test_make(&p);
	__u64 e = test_info(fd).epoch;

	test_insert(fd, 3, 0, 2000);
	test_is(test_info(fd).epoch, e, "both: not by count alone");
	test_is(test_count(fd, 3, 0, 2000), 2000, "both: all are still there");
	close(fd);
	p = params(EPF_MODE_BOTH, 70, T);
	fd = test_make(&p);
	test_sleep(4 * EPOCH_NS);
	test_is(test_info(fd).epoch, e, "both: not by time alone");
	test_insert(fd, 3, 0, 10);
	tap_ok(test_wait_epoch(fd, e + 1), "both: by time and count");
	close(fd);
	p = params(EPF_MODE_EITHER, 70, 7 * 3600 * SEC);
	fd = test_make(&p);
	/* fewer epochs than lanes, so there is no grace period to wait for */
	test_insert(fd, 3, 0, 50);
	test_is(test_info(fd).epoch, e + 5, "either: by count");
	close(fd);
	p = params(EPF_MODE_EITHER, 1000000, T);
	fd = test_make(&p);
	tap_ok(test_wait_epoch(fd, e + 3), "either: by time");
	close(fd);
}

/* An epoch of a nanosecond is as short as the module can make it. */
#define SHORT_POINTS 2
static void try_short(void)
{
	struct epf_params p = params(EPF_MODE_TIME, 0, 1);
	int fd = test_make(&p);
	__u64 e;

	test_insert(fd, 4, 0, 5000);
	e = test_info(fd).epoch;
	tap_ok(test_wait_epoch(fd, e + 30), "T = 1 ns: epochs end");
	test_is(test_count(fd, 4, 0, 5000), 0, "T = 1 ns: keys are forgotten");
	close(fd);
}

/* Reported times lie between two readings of CLOCK_MONOTONIC, the clock that stops in
 * suspend.
 */
#define CLOCK_POINTS 2
static void try_clock(void)
{
	struct epf_params p = params(EPF_MODE_TIME, 0, 7 * 3600 * SEC);
	__u64 early = test_now(), late, told, now;
	int fd = test_make(&p);
	struct epf_info info;

	late = test_now();
	told = test_now();
	info = test_info(fd);
	now = test_now();
	tap_ok(info.age_ns >= told - late && info.age_ns <= now - early,
	       "a filter's age is of CLOCK_MONOTONIC");
	tap_ok(info.epochs[0].age_ns >= told - late && info.epochs[0].age_ns <= now - early,
	       "and that of its epoch");
	close(fd);
}

int main(void)
{
	test_begin(4 * MODE_POINTS + FORGET_POINTS + BOUNDARY_POINTS + SHORT_POINTS + CLOCK_POINTS);
	try_clock();
	try_mode("time", EPF_MODE_TIME, 0, due_time);
	try_mode("either", EPF_MODE_EITHER, W, due_either);
	try_mode("both", EPF_MODE_BOTH, W, due_both);
	try_mode("both, a long count", EPF_MODE_BOTH, 20 * W, due_both);
	try_forget();
	try_boundaries();
	try_short();
	return test_end();
}
