/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of resizable kinds, checked at every moment of a script of steps of the rate,
 * gaps and a late owner. Before including it, define:
 *
 *	KIND		as for kind.h
 *	SPAN		T, ns
 *	STRETCH		unit of lengths and rates in a script, ns
 *	KEY_SEED	seed of the keys
 *
 * and define the functions declared here afterwards.
 */
#ifndef EPF_TEST_FLUID_LAWS_H
#define EPF_TEST_FLUID_LAWS_H

#include "kind.h"

#define TICK 1000 /* unit of the script's times, ns */
#define KEYS_MAX 60000

/**
 * struct care - behaviour of an owner
 * @late: time between two visits, ns
 * @early: it prepares memory before it is due
 * @lines: lines that it scans each time, for a kind that scans; 0: all that are due
 * @max_words: memory limit, for a kind that scans; 0: none
 */
struct care {
	__u64 late;
	bool early;
	__u64 lines;
	__u64 max_words;
};

/* @length STRETCHes at @rate times the basic rate; 0: a gap. */
struct stretch {
	unsigned int length, rate;
};

/**
 * struct run - a filter under a script
 * @f: filter
 * @care: behaviour of its owner
 * @now: time
 * @came: when the owner last came
 * @stale: a key of this age must be absent, ns; 0: not checked
 * @strict: no table or slice may have more keys than it is made for
 * @looked: number of lookups of keys that must be absent
 * @found: how many of these were present
 * @most: greatest number of tables or slices so far
 * @nr: number of keys inserted; @first is the first one still in the window
 * @at: times of their insertions
 * @seen: state of the filter when all keys were last looked up
 * @broken: the violated property, or NULL
 */
struct run {
	FILTER f;
	struct care care;
	__u64 now, came, stale;
	bool strict;
	int nr, first, looked, found;
	__u32 most;
	__u64 at[KEYS_MAX];
	__u64 seen[2];
	const char *broken;
};

/* Make a filter that is ready for keys; stop() frees it. */
static void start(FILTER *f, const SHAPE *s);
static void stop(FILTER *f);

/* Let the owner do its work. Return: @value, with the moved words folded in. */
static __u64 come(FILTER *f, __u64 now, const struct care *care, __u64 value);

/* Look up key @n, which is in the window, and set @r->broken if it is not found. */
static void look_for(struct run *r, int n);

/* Return: is it time to look up all keys of the window? */
static bool look_for_all(struct run *r);

/* Return: a violated property of the filter, or NULL. */
static const char *flaw(const struct run *r);

/* Free what the filter gives back. */
static __u64 take_back(FILTER *f, __u64 now, __u64 value)
{
	__u64 *word, words;

	while ((word = EPF(expired)(f, now, &words))) {
		free(word);
		value = fold(value, words);
	}
	return value;
}

/* Return: words of memory that the owner must provide, @early or when it is
 * due; 0: none.
 */
static __u64 wanted(FILTER *f, __u64 now, bool early)
{
	bool is = early ? EPF(soon)(f, now) : EPF(due)(f, now);

	return is ? EPF(plan)(f, now) : 0;
}

static __u64 hand_over(FILTER *f, __u64 now, __u64 words, __u64 value)
{
	if (!words)
		return value;
	if (!EPF(add)(f, now, memory_new(words), words))
		abort();
	return fold(value, words);
}

static __u64 key(int n)
{
	return epf_word(KEY_SEED, 16 + n);
}

static __u64 draw(struct run *r, int n)
{
	return epf_word(99, (__u32)(r->nr * 8 + n));
}

/* Return: does the state differ from the last one? Records it. */
static bool anew(struct run *r, __u64 a, __u64 b)
{
	if (r->seen[0] == a && r->seen[1] == b)
		return false;
	r->seen[0] = a;
	r->seen[1] = b;
	return true;
}

/* Look up the oldest key of the window, the youngest, and three others; at times all of
 * them.
 */
static void look_for_live(struct run *r)
{
	int n;

	while (r->first < r->nr && r->at[r->first] + SPAN < r->now)
		r->first++;
	if (r->first == r->nr)
		return;
	look_for(r, r->first);
	look_for(r, r->nr - 1);
	for (n = 0; n < 3; n++)
		look_for(r, r->first + (int)(draw(r, n) % (r->nr - r->first)));
	if (!look_for_all(r))
		return;
	for (n = r->first; n < r->nr; n++)
		look_for(r, n);
}

/* Look up the key just older than the limit, and three older ones. */
static void look_for_stale(struct run *r)
{
	int n = r->first, i;

	while (n > 0 && r->at[n - 1] + r->stale > r->now)
		n--;
	for (i = 0; i < 4 && n; i++) {
		int which = i ? (int)(draw(r, i + 3) % n) : n - 1;

		r->looked++;
		r->found += EPF(query)(&r->f, key(which), r->now);
	}
}

static void check(struct run *r)
{
	const char *broken;

	look_for_live(r);
	if (r->stale)
		look_for_stale(r);
	r->most = r->f.nr > r->most ? r->f.nr : r->most;
	broken = flaw(r);
	if (broken)
		r->broken = broken;
}

static void owner(struct run *r)
{
	check(r);
	if (r->now - r->came < r->care.late)
		return;
	r->came = r->now;
	come(&r->f, r->now, &r->care, 0);
	check(r);
}

static void put(struct run *r)
{
	owner(r);
	EPF(insert)(&r->f, key(r->nr), r->now);
	r->at[r->nr++] = r->now;
	owner(r);
}

/* Insert at random intervals, @rate keys per STRETCH at rate 1. Times are multiples of
 * TICK, so that often a key is exactly T old, or several keys have the same time.
 */
static void go(struct run *r, const struct stretch *s, unsigned int rate)
{
	__u64 exact = r->now, end = r->now + s->length * STRETCH;
	__u64 step = s->rate ? STRETCH / rate / s->rate : STRETCH / 4;

	while (r->now < end && !r->broken && r->nr < KEYS_MAX) {
		exact += s->rate ? draw(r, 7) % (2 * step + 1) : step;
		r->now = exact / TICK * TICK;
		if (s->rate)
			put(r);
		else
			owner(r);
	}
}

/* Run @part and the parts after it, up to one of length 0. */
static void play(struct run *r, const struct stretch *part, unsigned int rate)
{
	for (; part->length; part++)
		go(r, part, rate);
}

static struct run *begin(const SHAPE *s)
{
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	start(&r->f, s);
	return r;
}

static void end(struct run *r)
{
	stop(&r->f);
	free(r);
}

#endif /* EPF_TEST_FLUID_LAWS_H */
