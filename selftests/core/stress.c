// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol of epf/lanes.h under real threads, against an exact oracle.
 *
 * Every thread inserts its own distinct keys and looks them up. Insertions are counted
 * when they begin and when they end. That gives, for each key, an upper bound on the
 * insertions that may have come after it: those begun by now, less those ended right
 * before its insert last loaded the epoch. While that bound is within W, "absent"
 * violates the window property.
 *
 * Threads yield or sleep at random at the points where another one may interleave. The
 * unchanged protocol must never fail; with a protection disabled it must fail soon. O2
 * alone is not tested: the guard epoch nearly always hides its loss here, but
 * selftests/explore shows it.
 */
#include "race.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 4
#define RECENT 512u /* own keys that a thread remembers */
#define IDLE ~0ULL
#define CHECKS 1000        /* with fewer lookups a run shows nothing */
#define PATIENCE_MS 150000 /* on an idle machine a second suffices */

/* A filter that threads share. */
static struct epf_line *lines;
static struct epf_state state;
static struct epf_lanes lanes;
static struct epf_window window;
static pthread_mutex_t rotation = PTHREAD_MUTEX_INITIALIZER;
static __u64 begun, over; /* insertions */
static bool grace;        /* O3 is kept */
static bool stop;

struct recent {
	__u64 digest;
	__u64 over_before; /* insertions ended right before its last load of the epoch */
};

struct thread {
	pthread_t id;
	struct race_self self;
	__u64 active; /* epoch when the section began, IDLE outside */
	__u64 keys, checks, lost;
	__u64 over_before;
	struct recent recent[RECENT];
} __attribute__((aligned(128)));

static struct thread threads[THREADS];
static __thread struct thread *me;

static __u64 count_read(__u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

/* Where no grace period is kept, stall at times until the lane has come round again,
 * however slow the machine is.
 */
static void stall_a_round(void)
{
	struct timespec nap = { 0, 100 * 1000 };
	int i;

	race_stall();
	if (!race_self->inserting || race_dice(256))
		return;
	for (i = 0; i < 1000 && count_read(&state.epoch) < race_self->begun + EPF_LANES; i++)
		nanosleep(&nap, NULL);
}

static void note_over(void)
{
	me->over_before = count_read(&over);
}

/* Sections stand for rcu_read_lock() in the kernel. */
static void section_begin(void)
{
	__atomic_store_n(&me->active, count_read(&state.epoch), __ATOMIC_SEQ_CST);
}

static void section_end(void)
{
	__atomic_store_n(&me->active, IDLE, __ATOMIC_SEQ_CST);
}

/* Epoch e+1 takes over the lanes of e-7: may a thread still use them? */
static bool grace_is_over(void)
{
	__u64 e = state.epoch;
	int i;

	for (i = 0; i < THREADS && grace; i++)
		if (count_read(&threads[i].active) <= e - EPF_LIVE_EPOCHS)
			return false;
	return true;
}

static void rotate_if_due(__u64 inserts)
{
	__u64 first, end;

	if (!epf_window_due(&window, inserts, 0) || pthread_mutex_trylock(&rotation))
		return;
	/* another thread may have ended that epoch meanwhile */
	if (epf_window_due(&window, epf_count_of(count_read(&state.count), state.epoch), 0) &&
	    grace_is_over()) {
		epf_state_rotate(&state, 0);
		epf_scan_chunk(&state, EPF_LINES_MIN, &first, &end);
		epf_lanes_scan(&lanes, first, end - first);
		state.scanned++;
	}
	pthread_mutex_unlock(&rotation);
}

static void insert_one(void)
{
	struct recent *r = &me->recent[me->keys % RECENT];
	struct epf_probe p;
	__u64 e, inserts;

	r->digest = epf_word((__u64)(me - threads) << 60 | ++me->keys, 2);
	epf_probe(&lanes, r->digest, &p);
	__atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
	section_begin();
	if (me->keys & 1)
		race_sight(&lanes, &p, false, &e);
	else
		e = race_insert(&lanes, &p);
	section_end();
	r->over_before = me->over_before;
	inserts = epf_count_add(&state, e, 1);
	__atomic_fetch_add(&over, 1, __ATOMIC_SEQ_CST);
	rotate_if_due(inserts);
}

static void check_one(__u64 w)
{
	__u64 nr = me->keys < RECENT ? me->keys : RECENT;
	const struct recent *r;
	struct epf_probe p;
	bool present;

	/* mostly the older keys of the window, which are lost first */
	r = &me->recent[(me->keys - 1 - race_dice(w / THREADS + 1) % nr) % RECENT];
	epf_probe(&lanes, r->digest, &p);
	section_begin();
	present = epf_lanes_test(&lanes, &p) != EPF_ABSENT;
	section_end();
	if (count_read(&begun) - r->over_before > w)
		return;
	__atomic_fetch_add(&me->checks, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&me->lost, !present, __ATOMIC_RELAXED);
}

static void *worker(void *arg)
{
	__u64 w = window.epoch_inserts * EPF_LIVE_EPOCHS;

	me = (struct thread *)arg;
	race_self = &me->self;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		insert_one();
		check_one(w);
		check_one(w);
	}
	return NULL;
}

static void set_up(__u32 parts, __u64 w, bool with_grace, unsigned int out)
{
	int i;

	memset(lines, 0, EPF_LINES_MIN * sizeof(*lines));
	memset(threads, 0, sizeof(threads));
	epf_state_init(&state, 0);
	epf_geom_init(&lanes.geom, EPF_LINES_MIN, parts, 6 * parts);
	epf_window_init(&window, EPF_MODE_COUNT, 0, w, 0);
	lanes.line = lines;
	lanes.epoch = &state.epoch;
	begun = over = 0;
	stop = false;
	grace = with_grace;
	race_point = grace ? race_stall : stall_a_round;
	race_out = out;
	for (i = 0; i < THREADS; i++) {
		threads[i].self.epoch_word = &state.epoch;
		threads[i].active = IDLE;
		threads[i].self.rng = (__u64)i << 32;
	}
}

static __u64 total(__u64 (*of)(const struct thread *t))
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < THREADS; i++)
		sum += of(&threads[i]);
	return sum;
}

static __u64 checks_of(const struct thread *t)
{
	return __atomic_load_n(&t->checks, __ATOMIC_RELAXED);
}

static __u64 lost_of(const struct thread *t)
{
	return __atomic_load_n(&t->lost, __ATOMIC_RELAXED);
}

/* Run for @ms, then on until there were more than @checks lookups, within the patience
 * limit, or until a key is lost. Return: keys lost.
 */
static __u64 run(int ms, __u64 checks)
{
	struct timespec nap = { 0, 10 * 1000 * 1000 };
	int i, past;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i].id, NULL, worker, &threads[i]))
			abort();
	for (past = 0;
	     past < PATIENCE_MS && !total(lost_of) && (past < ms || total(checks_of) <= checks);
	     past += 10)
		nanosleep(&nap, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	return total(lost_of);
}

static void keeps(__u32 parts, __u64 w, int ms)
{
	__u64 lost;

	set_up(parts, w, true, 0);
	lost = run(ms, CHECKS);
	tap_ok(!lost && total(checks_of) > CHECKS,
	       "L=%u, W=%llu: %llu lost in %llu checks, %llu rotations", parts, w, lost,
	       total(checks_of), state.epoch - EPF_EPOCH_FIRST);
}

static void catches(const char *what, unsigned int out, bool with_grace, __u64 w)
{
	__u64 lost;

	set_up(1, w, with_grace, out);
	lost = run(PATIENCE_MS, 0);
	tap_ok(lost, "caught: %s: %llu lost in %llu checks, %llu rotations", what, lost,
	       total(checks_of), state.epoch - EPF_EPOCH_FIRST);
}

int main(void)
{
	lines = (struct epf_line *)aligned_alloc(EPF_LINE_BYTES, EPF_LINES_MIN * sizeof(*lines));
	if (!lines)
		return 1;
	race_reread = note_over;
	tap_plan(9);
	keeps(1, 70, 2500);
	keeps(1, 700, 2500);
	keeps(2, 70, 2000);
	keeps(4, 140, 2000);
	keeps(1, 1400, 2000);
	catches("a store instead of compare-and-swap", RACE_NO_CAS, true, 700);
	catches("an OR that is not atomic", RACE_NO_ATOMIC_OR, true, 700);
	catches("no grace period", 0, false, 140);
	catches("no protection", RACE_NO_CAS | RACE_NO_ATOMIC_OR | RACE_NO_REREAD, false, 140);
	free(lines);
	return tap_end();
}
