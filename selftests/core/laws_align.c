// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of windows aligned to a wall clock. The owner's timer is late, its
 * rotations are delayed, and its wall clock is set, forwards and backwards, at every
 * phase. The oracle knows keys by the time of their insertion only.
 *
 * usage: laws_align [laws]
 */
#include "tap.h"

#include <epf/window.h>

#include <stdlib.h>

#define R EPF_LIVE_EPOCHS
#define T 70000ULL
#define EPOCH (T / R)
#define KEYS 4096u /* keys of the last T and some more */
#define STEP_NS (EPOCH / 16)

/**
 * struct clockwork - the owner of a filter without keys
 * @now_ns: monotonic clock
 * @wall_ns: lead of the wall clock over the monotonic clock
 * @fires_ns: time at which the timer fires
 * @late: upper bound of the timer's lateness
 * @lasted: duration of the last epoch
 * @key: times of insertion, and epochs
 */
struct clockwork {
	struct epf_window w;
	struct epf_state s;
	__u64 now_ns, wall_ns, fires_ns, late, seed, lasted;
	struct {
		__u64 at, epoch;
	} key[KEYS];
	__u32 keys;
};

static __u64 draw(struct clockwork *c, __u64 below)
{
	return below ? epf_word(++c->seed, 1) % below : 0;
}

static __u64 start_of(const struct clockwork *c)
{
	return c->s.ring[c->s.epoch & 7].start_ns;
}

static __u64 lasts(const struct clockwork *c)
{
	return epf_window_lasts(&c->w, start_of(c) + c->wall_ns, c->s.epoch == EPF_EPOCH_FIRST);
}

/* Return: how far past a multiple the current epoch began, less than one pitch. */
static __u64 past(const struct clockwork *c)
{
	return (start_of(c) + c->wall_ns) % c->w.align_ns;
}

static void arm(struct clockwork *c)
{
	__u64 end = start_of(c) + lasts(c);

	c->fires_ns = (end > c->now_ns ? end : c->now_ns + 1) + draw(c, c->late);
}

static void start(struct clockwork *c, __u64 seed, __u64 late)
{
	memset(c, 0, sizeof(*c));
	c->seed = (seed << 32) + (tap_seed() << 24);
	c->late = late;
	c->now_ns = 1 + draw(c, 10 * T);
	c->wall_ns = 1700000000000ULL + draw(c, 10 * T);
	if (epf_window_init(&c->w, EPF_MODE_TIME, 0, 0, T) || epf_window_align(&c->w))
		abort();
	epf_state_init(&c->s, c->now_ns);
	arm(c);
}

/* Let the timer fire. Return: did an epoch end? */
static bool fire(struct clockwork *c)
{
	bool due;

	c->now_ns = c->fires_ns;
	c->lasted = c->now_ns - start_of(c);
	due = c->lasted >= lasts(c);
	if (due)
		epf_state_rotate(&c->s, c->now_ns);
	arm(c);
	return due;
}

static void insert(struct clockwork *c)
{
	c->key[c->keys % KEYS].at = c->now_ns;
	c->key[c->keys++ % KEYS].epoch = c->s.epoch;
}

static bool keys_kept(const struct clockwork *c)
{
	__u32 i;

	for (i = 0; i < KEYS && i < c->keys; i++)
		if (c->now_ns - c->key[i].at <= T && c->s.epoch - c->key[i].epoch > R)
			return false;
	return true;
}

/* Advance to the end of the epoch, inserting. Return: NULL, or the violated property. */
static const char *epoch(struct clockwork *c)
{
	bool first = c->s.epoch == EPF_EPOCH_FIRST;

	insert(c);
	for (;;) {
		while (c->now_ns + STEP_NS < c->fires_ns) {
			c->now_ns += STEP_NS;
			insert(c);
		}
		c->now_ns = c->fires_ns - 1;
		insert(c);
		if (!keys_kept(c))
			return "a key of the last T is gone";
		if (fire(c))
			break;
	}
	if (!keys_kept(c))
		return "a key of the last T is gone";
	return first || c->lasted >= EPOCH ? NULL : "an epoch is shorter than T/7";
}

/* If timers are late by less than the spare time, every boundary is at a multiple. */
static const char *steady(__u64 seed, __u64 late)
{
	const char *broken = NULL;
	struct clockwork c;
	int i;

	start(&c, seed, late);
	for (i = 0; i < 200 && !broken; i++) {
		broken = epoch(&c);
		if (!broken && past(&c) >= late + !late)
			broken = "a boundary is beside the multiple";
		if (!broken && c.lasted > c.w.align_ns + late)
			broken = "an epoch is longer than the pitch";
	}
	return broken;
}

/* Epochs for as long as spare time is needed to catch up, plus the long one. */
#define REGAIN 20

static const char *regain(struct clockwork *c)
{
	const char *broken = NULL;
	int i, longer = 0;

	for (i = 0; i < REGAIN && !broken; i++) {
		broken = epoch(c);
		longer += c->lasted > c->w.align_ns + c->w.align_ns / 4;
		if (c->lasted >= 2 * c->w.align_ns + c->late)
			return "an epoch is longer by a whole one";
	}
	if (!broken && longer > 1)
		broken = "two long epochs for one step";
	if (!broken && past(c) >= c->late + !c->late)
		broken = "alignment is not regained";
	return broken;
}

static const char *settled(struct clockwork *c, __u64 seed)
{
	const char *broken = NULL;
	int i;

	start(c, seed, 5);
	for (i = 0; i < 9 && !broken; i++)
		broken = epoch(c);
	return broken;
}

/* Set the wall clock by @step, at @phase sixteenths of an epoch. */
static const char *set(__u64 seed, __s64 step, __u64 phase)
{
	struct clockwork c;
	const char *broken = settled(&c, seed);

	if (c.now_ns + phase * STEP_NS < c.fires_ns)
		c.now_ns += phase * STEP_NS;
	c.wall_ns += (__u64)step;
	return broken ? broken : regain(&c);
}

/* Delay a rotation by @ns. */
static const char *held(__u64 seed, __u64 ns)
{
	struct clockwork c;
	const char *broken = settled(&c, seed);

	c.fires_ns += ns;
	if (!broken)
		broken = epoch(&c);
	return broken ? broken : regain(&c);
}

static void claim(const char *broken, const char *text)
{
	tap_sound(broken, "%s", text);
}

static void sets(void)
{
	const char *forth = NULL, *back = NULL, *far = NULL;
	__s64 step;
	__u64 phase;

	for (phase = 0; phase < 16; phase++)
		for (step = 1; step < 2 * (__s64)EPOCH; step += 37) {
			__u64 seed = phase << 20 | (__u64)step;

			if (!forth)
				forth = set(seed, step, phase);
			if (!back)
				back = set(seed, -step, phase);
			if (!far)
				far = set(seed, -1000 * step, phase);
		}
	claim(forth, "the clock is set forwards, by 1 ns to two epochs");
	claim(back, "the clock is set backwards");
	claim(far, "the clock is set back by many windows");
}

static void lates(void)
{
	const char *broken = NULL, *longer = NULL;
	__u64 spare = EPOCH >> 6, i;

	for (i = 0; i < spare && !broken; i++)
		broken = steady(i, i);
	claim(broken, "timers late by less than the spare: boundaries at the multiples");
	for (i = 0; i < 3 * EPOCH && !longer; i += 11)
		longer = held(i, i);
	claim(longer, "a rotation held for up to three epochs");
}

static void plain(void)
{
	struct epf_window w;
	bool good;

	good = !epf_window_init(&w, EPF_MODE_TIME, 0, 0, T) && !w.align_ns &&
	       epf_window_lasts(&w, 12345, true) == EPOCH;
	good &= !epf_window_init(&w, EPF_MODE_COUNT, 0, 7, 0) && epf_window_align(&w) == -EINVAL &&
		!w.align_ns;
	good &= !epf_window_init(&w, EPF_MODE_BOTH, 0, 7, T) && epf_window_align(&w) == -EINVAL;
	tap_ok(good, "windows are not aligned unless asked for, and only in time");
}

/* Windows of all lengths, and wall clocks before their first multiple. */
static void extremes(void)
{
	struct epf_window w;
	bool good = true;
	__u64 ns, i;

	for (ns = 1; ns < EPF_NS_MAX; ns += ns / 5 + 1)
		for (i = 0; i < 64; i++) {
			__u64 wall = epf_word(ns, i) >> (i % 48);
			__u64 one, rest;

			good &= !epf_window_init(&w, EPF_MODE_TIME, 0, 0, ns) &&
				!epf_window_align(&w);
			one = epf_window_lasts(&w, wall, true);
			rest = epf_window_lasts(&w, wall, false);
			good &= one && one <= w.align_ns && rest >= w.epoch_ns &&
				rest < 2 * w.align_ns;
		}
	tap_ok(good, "any T, any time: no epoch shorter than T/7, nor longer by a whole one");
}

int main(void)
{
	tap_plan(7);
	plain();
	extremes();
	lates();
	sets();
	return tap_end();
}
