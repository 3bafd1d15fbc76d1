/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Laws of the kinds whose memory comes and goes, looked at at every moment of a
 * script of steps, gaps and an owner that is late. The includer defines, before:
 *
 *	KIND		as for kind.h
 *	SPAN		T, ns
 *	STRETCH		what lengths and rates of a script are told in, ns
 *	KEY_SEED	of the keys
 *
 * and after what is declared here.
 */
#ifndef EPF_TEST_FLUID_LAWS_H
#define EPF_TEST_FLUID_LAWS_H

#include "kind.h"

#define TICK 1000 /* of the script's times, ns */
#define KEYS_MAX 60000

/**
 * struct care - how an owner comes
 * @late: when this has passed since it came last, ns
 * @early: prepares memory before it is due
 * @lines: scanned each time, of a kind that scans; 0: all that is due
 * @max_words: memory there is, of that kind; 0: any
 */
struct care {
	__u64 late;
	bool early;
	__u64 lines;
	__u64 max_words;
};

/* STRETCHes at a multiple of a rate; 0: a gap. */
struct stretch {
	unsigned int length, rate;
};

/**
 * struct run - a filter under a script
 * @f: filter
 * @care: its owner's
 * @now: time
 * @came: when the owner came
 * @stale: a key as old is to be absent, ns; 0: not looked at
 * @strict: nothing may have more keys than it is made for
 * @looked: how often for a key that is to be absent
 * @found: and how often it was present
 * @most: tables or slices so far
 * @nr: keys inserted, of which @first is the first still in the window
 * @at: their times
 * @seen: of the filter when all keys were last looked for
 * @broken: the law that was
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

/* Make a filter that takes keys; free what it has. */
static void start(FILTER *f, const SHAPE *s);
static void stop(FILTER *f);

/* The owner comes. Return: @value, with what was moved. */
static __u64 come(FILTER *f, __u64 now, const struct care *care, __u64 value);

/* Key @n is of the window: what is broken if a test says otherwise. */
static void look_for(struct run *r, int n);

/* Is it time to look for all keys of the window? */
static bool look_for_all(struct run *r);

/* Return: what is broken in the filter, or NULL. */
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

/* What an owner that prepares @early, or does not, is to hand over; 0: nothing. */
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

/* Is this not what was seen last? */
static bool anew(struct run *r, __u64 a, __u64 b)
{
	if (r->seen[0] == a && r->seen[1] == b)
		return false;
	r->seen[0] = a;
	r->seen[1] = b;
	return true;
}

/* The oldest of the window, the youngest, three others; now and then all. */
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
		look_for(r, r->first +
				    (int)(draw(r, n) % (r->nr - r->first)));
	if (!look_for_all(r))
		return;
	for (n = r->first; n < r->nr; n++)
		look_for(r, n);
}

/* The key just beyond the bound, three older ones. */
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

/* @rate keys a STRETCH at rate 1, at random intervals. Time is in TICKs, so that
 * often a key is just T old, or several come at once.
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

/* All of @part and what follows, to one of length 0. */
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
