/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Laws of the kind tlbf, looked at at every moment of a script of bursts, gaps
 * and slices that are late.
 */
#ifndef EPF_TEST_TLBF_LAWS_H
#define EPF_TEST_TLBF_LAWS_H

#include <epf/tlbf.h>

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static __u64 *zeroed(__u64 words)
{
	__u64 *word = calloc(words, sizeof(*word));

	if (!word)
		abort();
	return word;
}

static __u64 fold(__u64 value, __u64 w)
{
	return epf_word(value + w, 1);
}

/* The owner comes. Return: @value, with what was moved. */
static __u64 come(struct epf_tlbf *f, __u64 now, bool early, __u64 value)
{
	__u64 *word, words;

	while ((word = epf_tlbf_expired(f, now, &words))) {
		free(word);
		value = fold(value, words);
	}
	if (!(early ? epf_tlbf_soon(f, now) : epf_tlbf_due(f, now)))
		return value;
	words = epf_tlbf_plan(f, now);
	if (!words)
		return value;
	if (!epf_tlbf_add(f, now, zeroed(words), words))
		abort();
	return fold(value, words);
}

static void start(struct epf_tlbf *f, const struct epf_tlbf_shape *s)
{
	__u64 words;

	if (epf_tlbf_init(f, s, 0))
		abort();
	while (f->nr < s->keep) {
		words = epf_tlbf_plan(f, 0);
		epf_tlbf_add(f, 0, zeroed(words), words);
	}
}

static void stop(struct epf_tlbf *f)
{
	if (f->spare.words)
		free(f->spare.word);
	while (f->nr)
		free(epf_tlbf_at(f, --f->nr)->word);
}

#define SPAN 1000000ULL /* T, ns, in what follows */

/* Quarters of T at a multiple of a rate; 0: a gap. */
struct stretch {
	unsigned int quarters, rate;
};

static const struct stretch bursts[] = {
	{ 8, 1 }, { 2, 2 },  { 6, 1 }, { 2, 4 }, { 6, 1 }, { 2, 10 },
	{ 6, 1 }, { 1, 100 }, { 9, 1 }, { 2, 0 }, { 3, 1 }, { 9, 0 },
	{ 2, 10 }, { 1, 0 }, { 5, 1 }, { 0, 0 },
};

#define KEYS_MAX 60000

/**
 * struct run - a filter under a script
 * @f: filter
 * @now: time
 * @came: when the owner came
 * @late: the owner comes when this has passed since then, ns
 * @early: and prepares slices before they are due
 * @strict: no slice may have more keys than its capacity
 * @stale: bound of the staleness law beyond T, 0: not looked at
 * @looked: how often for a key that is to be absent
 * @found: and how often it was present
 * @most: slices so far
 * @nr: keys inserted, of which @first is the first still in the window
 * @at: their times
 * @shape: slices and the ring when all keys were last looked for
 * @broken: the law that was
 */
struct run {
	struct epf_tlbf f;
	__u64 now, came, late, stale;
	bool early, strict;
	int nr, first, looked, found;
	__u32 most;
	__u64 at[KEYS_MAX];
	__u32 shape[2];
	const char *broken;
};

static __u64 key(int n)
{
	return epf_word(0x746c6266, 16 + n);
}

static __u64 draw(struct run *r, int n)
{
	return epf_word(99, (__u32)(r->nr * 8 + n));
}

static void look_for(struct run *r, int n)
{
	int age = epf_tlbf_test(&r->f, key(n), r->now);

	if (age == EPF_ABSENT || !epf_tlbf_query(&r->f, key(n), r->now))
		r->broken = "a key of the window is lost";
}

/* The oldest of the window, three others; all if slices came or went, or where
 * that is often, at each eighth such.
 */
static void look_for_live(struct run *r)
{
	__u32 shape[2] = { r->f.nr, r->f.head };
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
	if (!memcmp(shape, r->shape, sizeof(shape)))
		return;
	memcpy(r->shape, shape, sizeof(shape));
	if (r->f.nr > 64 && r->f.head % 8)
		return;
	for (n = r->first; n < r->nr; n++)
		look_for(r, n);
}

/* The key just beyond the bound, three older ones. What has gone stale last is
 * found where one slice hits by chance, and those are nearly empty here.
 */
static void look_for_stale(struct run *r)
{
	int n = r->first, i;

	while (n > 0 && r->at[n - 1] + SPAN + r->stale >= r->now)
		n--;
	for (i = 0; i < 4 && n; i++) {
		int which = i ? (int)(draw(r, i + 3) % n) : n - 1;

		r->looked++;
		r->found += epf_tlbf_query(&r->f, key(which), r->now);
	}
}

static void check(struct run *r)
{
	__u32 i;

	look_for_live(r);
	if (r->stale)
		look_for_stale(r);
	r->most = r->f.nr > r->most ? r->f.nr : r->most;
	for (i = 0; r->strict && i < r->f.nr; i++)
		if (epf_tlbf_keys(&r->f, i) >
		    epf_tlbf_capacity(epf_tlbf_at(&r->f, i)->words))
			r->broken = "a slice is overfull";
}

static void owner(struct run *r)
{
	check(r);
	if (r->now - r->came < r->late)
		return;
	r->came = r->now;
	come(&r->f, r->now, r->early, 0);
	check(r);
}

static void put(struct run *r)
{
	owner(r);
	epf_tlbf_insert(&r->f, key(r->nr), r->now);
	r->at[r->nr++] = r->now;
	owner(r);
}

/* @rate keys in T at rate 1, at random intervals. Time is in thousandths of T,
 * so that often a key is just T old, or several come at once.
 */
static void go(struct run *r, const struct stretch *s, unsigned int rate)
{
	__u64 tick = SPAN / 1000, exact = r->now;
	__u64 end = r->now + s->quarters * (SPAN / 4);
	__u64 step = s->rate ? SPAN / rate / s->rate : SPAN / 16;

	while (r->now < end && !r->broken && r->nr < KEYS_MAX) {
		exact += s->rate ? draw(r, 7) % (2 * step + 1) : step;
		r->now = exact / tick * tick;
		if (s->rate)
			put(r);
		else
			owner(r);
	}
}

static struct run *begin(const struct epf_tlbf_shape *s)
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

static void window_law(const struct epf_tlbf_shape *s, __u64 late, bool early)
{
	struct run *r = begin(s);
	const struct stretch *part;

	r->late = late;
	r->early = early;
	r->strict = !late;
	for (part = bursts; part->quarters; part++)
		go(r, part, 60);
	tap_ok(!r->broken && r->nr < KEYS_MAX,
	       "window at every moment, k=%u l=%u keep=%u timed=%u, owner %s by %llu%s%s",
	       s->k, s->l, s->keep, s->timed, early ? "early or late" : "late",
	       late, r->broken ? ": " : "", r->broken ? r->broken : "");
	end(r);
}

static void staleness_law(const struct epf_tlbf_shape *s, __u64 late,
			  bool early)
{
	struct run *r = begin(s);
	const struct stretch *part;

	r->late = late;
	r->early = early;
	r->stale = r->f.generation_ns + late;
	for (part = bursts; part->quarters; part++)
		go(r, part, 60);
	tap_ok(r->looked > 4000 && r->found <= r->looked / 2000,
	       "staleness at every moment, k=%u l=%u, owner %s by %llu: %d of %d found",
	       s->k, s->l, early ? "early or late" : "late", late, r->found, r->looked);
	end(r);
}

/* Slices so small that the ring is full: no key is lost, and it empties. */
static void bound_law(void)
{
	static const struct epf_tlbf_shape s = { SPAN, 1, 1, 1, 2, 3, 2, 1 };
	static const struct stretch parts[] = { { 4, 1 },
						{ 5, 100 },
						{ 8, 1 } };
	struct run *r = begin(&s);
	int i;

	for (i = 0; i < COUNT(parts); i++)
		go(r, &parts[i], 64);
	tap_ok(!r->broken && r->most == EPF_TLBF_SLICES && r->f.nr < 16,
	       "the ring full: %u slices, then %u%s%s", r->most, r->f.nr,
	       r->broken ? ": " : "", r->broken ? r->broken : "");
	end(r);
}

/* Time that goes back counts as the latest. */
static void clock_law(void)
{
	static const struct epf_tlbf_shape s = { SPAN, 9, 1, 99, 3, 4, 3, 1 };
	struct run *r = begin(&s);
	bool good;

	epf_tlbf_insert(&r->f, 1, 3 * SPAN);
	epf_tlbf_insert(&r->f, 2, SPAN);
	good = epf_tlbf_test(&r->f, 2, 4 * SPAN) &&
	       epf_tlbf_test(&r->f, 1, 0) &&
	       !epf_tlbf_test(&r->f, 2, 4 * SPAN + 1);
	epf_tlbf_tick(&r->f, 5 * SPAN);
	good &= !epf_tlbf_test(&r->f, 1, 3 * SPAN);
	tap_ok(good, "time that goes back");
	end(r);
}

static void laws(void)
{
	static const struct epf_tlbf_shape window[] = {
		{ SPAN, 2, 1, 4096, 3, 4, 3, 1 },
		{ SPAN, 1, 1, 4096, 4, 3, 7, 0 },
		{ SPAN, 9, 1, 4096, 6, 9, 8, 1 },
		{ SPAN, 1, 1, 4096, 1, 2, 1, 1 },
		{ SPAN, 3, 1, 5, 5, 4, 9, 0 },
	};
	static const struct epf_tlbf_shape stale[] = {
		{ SPAN, 1 << 14, 1 << 14, 1 << 15, 3, 4, 3, 1 },
		{ SPAN, 1 << 14, 1 << 14, 1 << 15, 4, 2, 6, 1 },
	};
	int i;

	for (i = 0; i < COUNT(window); i++) {
		window_law(&window[i], 0, false);
		window_law(&window[i], SPAN / 7, i % 2);
	}
	window_law(&window[0], 2 * SPAN, true);
	for (i = 0; i < COUNT(stale); i++) {
		staleness_law(&stale[i], 0, false);
		staleness_law(&stale[i], 0, true);
		staleness_law(&stale[i], SPAN / 5, i);
	}
	bound_law();
	clock_law();
}

#define LAWS (5 * 2 + 1 + 2 * 3 + 2)

#endif /* EPF_TEST_TLBF_LAWS_H */
