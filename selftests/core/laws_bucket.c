// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of token buckets and of meters, against a model that counts tokens. Random
 * clocks stand still, jump, go backwards, and wrap. All arithmetic is exact.
 *
 * usage: laws_bucket [laws]
 */
#include "tap.h"

#include <epf/bucket.h>
#include <epf/hash.h>

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#define SECOND EPF_BUCKET_SECOND
#define STEPS 600
#define RUNS 300
#define CPUS 8
#define THREADS 4

static __u64 seed;

static __u64 draw(__u64 below)
{
	return epf_word(++seed, 1) % below;
}

/* Return: a number from 1 to @most, small ones as often as large ones. */
static __u64 draw_size(__u64 most)
{
	__u64 below = 1ULL << (1 + draw(63));

	return 1 + draw(below < most ? below : most);
}

static struct epf_bucket draw_bucket(void)
{
	struct epf_bucket b;

	if (!epf_bucket_init(&b, draw_size(EPF_BUCKET_RATE_MAX), draw_size(EPF_BUCKET_BURST_MAX)))
		abort();
	return b;
}

/* Return: how far a clock advances: often about a token, seldom far, and at times
 * backwards.
 */
static __s64 draw_step(const struct epf_bucket *b)
{
	switch (draw(8)) {
	case 0:
		return 0;
	case 1:
		return (__s64)draw(2 * b->limit);
	case 2:
		return -(__s64)draw(4 * b->cost);
	default:
		return (__s64)draw(2 * b->cost);
	}
}

/* Return: the start of a clock, which may be near the point where it wraps. */
static __u64 draw_clock(void)
{
	return draw(2) ? -draw(1ULL << 40) : draw(1ULL << 55);
}

/* The model: tokens as ticks. Time adds them, and removes them when it goes backwards. */
struct model {
	__s64 has;
	__u64 now;
};

static void model_clock(struct model *m, __u64 now, const struct epf_bucket *b)
{
	m->has += (__s64)(now - m->now);
	if (m->has > (__s64)b->limit)
		m->has = (__s64)b->limit;
	m->now = now;
}

/* Each verdict is the model's. */
static bool like_model(void)
{
	struct epf_bucket b = draw_bucket();
	struct model m = { (__s64)b.limit, draw_clock() };
	__u64 word = m.now, now = m.now;
	int i;

	for (i = 0; i < STEPS; i++) {
		bool has, took;

		now += (__u64)draw_step(&b);
		model_clock(&m, now, &b);
		has = m.has >= (__s64)b.cost;
		took = epf_bucket_take(&b, &word, now);
		if (took != has)
			return false;
		m.has -= took ? (__s64)b.cost : 0;
	}
	return true;
}

/* An interval passes at most burst + rate * t, where t lies between the lowest and the
 * highest time.
 */
static bool never_more(void)
{
	struct epf_bucket b = draw_bucket();
	__u64 word = 0, now = draw_clock(), at[STEPS];
	int i, j, taken = 0;

	word = now;
	for (i = 0; i < STEPS; i++) {
		now += (__u64)draw_step(&b);
		if (epf_bucket_take(&b, &word, now))
			at[taken++] = now;
	}
	for (i = 0; i < taken; i++) {
		__s64 low = 0, high = 0;

		for (j = i; j < taken; j++) {
			__s64 past = (__s64)(at[j] - at[i]);

			low = past < low ? past : low;
			high = past > high ? past : high;
			if ((__u64)(j - i + 1) * b.cost > b.limit + (__u64)(high - low))
				return false;
		}
	}
	return true;
}

static bool all(bool (*law)(void))
{
	int i;

	for (i = 0; i < RUNS; i++)
		if (!law())
			return false;
	return true;
}

/* Costs are rounded up, by less than one part in a thousand for up to 10M per second. */
static bool rates(void)
{
	struct epf_bucket b;
	__u64 rate;

	for (rate = 1; rate < EPF_BUCKET_RATE_MAX; rate += 1 + rate / 7) {
		if (!epf_bucket_init(&b, rate, 1) || b.cost * rate < SECOND)
			return false;
		if (rate < 10000000 && b.cost * rate > SECOND + SECOND / 1000)
			return false;
	}
	return epf_bucket_init(&b, EPF_BUCKET_RATE_MAX, EPF_BUCKET_BURST_MAX) &&
	       epf_bucket_init(&b, 1, EPF_BUCKET_BURST_MAX) && b.top > b.limit &&
	       b.top < 1ULL << 63;
}

static bool refused(void)
{
	struct epf_bucket b;

	return !epf_bucket_init(&b, 5, 0) && !epf_bucket_init(&b, EPF_BUCKET_RATE_MAX + 1, 1) &&
	       !epf_bucket_init(&b, 1, EPF_BUCKET_BURST_MAX + 1);
}

/* Without a rate there are exactly as many tokens as the burst, at any time. */
static bool no_refill(__u64 burst)
{
	struct epf_bucket b;
	__u64 word = 0, ns = 0, taken = 0;
	int i;

	if (!epf_bucket_init(&b, 0, burst))
		return false;
	for (i = 0; i < 3000; i++) {
		ns += draw(SECOND);
		taken += epf_bucket_take(&b, &word, epf_bucket_now(&b, ns));
	}
	return taken == burst;
}

/* A new word is 0, which is a full bucket whose clock began when the machine started. */
static bool full_at_first(void)
{
	struct epf_bucket b;
	__u64 word = 0, now;
	int i, taken = 0;

	if (!epf_bucket_init(&b, 10, 7))
		return false;
	now = epf_bucket_now(&b, 3600 * 1000000000ULL);
	for (i = 0; i < 100; i++)
		taken += epf_bucket_take(&b, &word, now);
	return taken == 7;
}

static struct epf_bucket shared;
static __u64 shared_word;
static pthread_barrier_t start;
static __u64 taken_between;

/* On a busy machine threads seldom meet, so a signal comes between their loads and stores. */
static void take_between(int signal)
{
	(void)signal;
	if (epf_bucket_take(&shared, &shared_word, 0))
		__atomic_fetch_add(&taken_between, 1, __ATOMIC_RELAXED);
}

static void interrupt_every(int us)
{
	struct sigaction act = { .sa_handler = take_between, .sa_flags = SA_RESTART };
	struct itimerval every = { { .tv_usec = us }, { .tv_usec = us } };

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void *taker(void *got)
{
	__u64 *taken = (__u64 *)got;
	int i;

	pthread_barrier_wait(&start);
	for (i = 0; i < 4000000; i++)
		*taken += epf_bucket_take(&shared, &shared_word, 0);
	return NULL;
}

/* Threads together take exactly as many tokens as there are. */
static bool race(void)
{
	__u64 taken[THREADS] = { 0 }, sum = 0;
	pthread_t thread[THREADS];
	int i;

	shared_word = taken_between = 0;
	if (!epf_bucket_init(&shared, 0, 10000000) || pthread_barrier_init(&start, NULL, THREADS))
		return false;
	interrupt_every(50);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, taker, &taken[i]))
			return false;
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum += taken[i];
	}
	interrupt_every(0);
	pthread_barrier_destroy(&start);
	sum += taken_between;
	return sum == 10000000 && shared_word == sum;
}

/* One race may miss what it looks for. */
static bool races(void)
{
	int i;

	for (i = 0; i < 10; i++)
		if (!race())
			return false;
	return true;
}

/* Return: the level of a meter. */
static __u64 level(__u64 word, __u64 now)
{
	return epf_bucket_ahead(word, now);
}

/* A clock that goes backwards neither lifts the level above its top, nor holds it there
 * for longer than it takes to fall from there.
 */
static bool meter_is_bounded(void)
{
	struct epf_bucket b = draw_bucket();
	__u64 now = draw_clock(), word = now;
	int i;

	for (i = 0; i < STEPS; i++) {
		now += i % 50 == 49 ? -draw(1ULL << 50) : draw(2 * b.cost);
		if (!epf_meter_add(&b, &word, now, 1 + draw(65536)) || level(word, now) > b.top)
			return false;
	}
	return !epf_meter_above(&b, &word, now + b.top - b.limit);
}

/* CPUs that add slices, against a meter that counts each packet at once. */
static bool slices(void)
{
	__u64 rate = draw_size(EPF_BUCKET_RATE_MAX), pending[CPUS] = { 0 };
	__u64 now = draw_clock(), exact = now, sliced = now, slice, cpu;
	struct epf_bucket b;
	int i;

	if (!epf_bucket_init(&b, rate, 1 + draw(4000)))
		return false;
	slice = epf_meter_slice(&b, CPUS);
	if (CPUS * (slice - 1) > b.burst / 4)
		return false;
	for (i = 0; i < 40 * STEPS; i++) {
		__s64 off;

		/* alternate between attack and rest */
		now += draw(1 + (i / 3000 % 2 ? 4 : 1) * b.cost);
		cpu = draw(CPUS);
		epf_meter_add(&b, &exact, now, 1);
		if (++pending[cpu] >= slice) {
			epf_meter_add(&b, &sliced, now, slice);
			pending[cpu] = 0;
		}
		off = (__s64)(level(exact, now) - level(sliced, now));
		if ((__u64)(off < 0 ? -off : off) > b.limit / 4)
			return false;
	}
	return true;
}

/* Twice the rate is above from the burst on; half the rate is not, once the level has
 * fallen.
 */
static bool above_and_below(__u64 rate, __u64 burst)
{
	struct epf_bucket b;
	__u64 word, now, i, began = 0;

	if (!epf_bucket_init(&b, rate, burst))
		return false;
	word = now = 5 * SECOND;
	for (i = 1; i <= 10 * burst; i++, now += b.cost / 2) {
		epf_meter_add(&b, &word, now, 1);
		if (epf_meter_above(&b, &word, now))
			began = began ? began : i;
		else if (began)
			return false;
	}
	if (began < 2 * burst - 1 || began > 2 * burst + 1)
		return false;
	for (i = 1; i <= 10 * burst; i++, now += 2 * b.cost)
		epf_meter_add(&b, &word, now, 1);
	return !epf_meter_above(&b, &word, now);
}

/* Without a rate the meter is below for as many packets as the burst has, then above
 * forever.
 */
static bool counted_only(__u64 burst)
{
	struct epf_bucket b;
	__u64 word = 0, i;

	if (!epf_bucket_init(&b, 0, burst))
		return false;
	for (i = 1; i < 5 * burst + 5; i++) {
		epf_meter_add(&b, &word, epf_bucket_now(&b, i << 30), 1);
		if (epf_meter_above(&b, &word, epf_bucket_now(&b, i << 30)) != (i > burst))
			return false;
	}
	return true;
}

int main(void)
{
	seed = 1000000 * tap_seed();
	tap_plan(11);
	tap_ok(rates(), "a token costs its share of a second, rounded up");
	tap_ok(refused(), "rates and bursts out of range are refused");
	tap_ok(all(like_model), "each verdict is that of a model with tokens");
	tap_ok(all(never_more), "never more than burst + rate * t, in any interval");
	tap_ok(no_refill(0) && no_refill(1) && no_refill(1000),
	       "without a rate: as many as the burst, ever");
	tap_ok(full_at_first(), "a bucket is full at first");
	tap_ok(races(), "threads take exactly what there is");
	tap_ok(all(meter_is_bounded), "a level stays below its top, whatever the clock does");
	tap_ok(all(slices), "CPUs that add slices: the level is wrong by a quarter of the "
			    "burst at most");
	tap_ok(above_and_below(1000, 100) && above_and_below(1000000, 5000),
	       "twice the rate is above, half of it is below");
	tap_ok(counted_only(0) && counted_only(1) && counted_only(77),
	       "without a rate: below for as many packets as the burst has");
	return tap_end();
}
