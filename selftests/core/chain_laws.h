/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of kind chain, checked at every moment of a script of steps of the
 * rate, gaps and late tables.
 */
#ifndef EPF_TEST_CHAIN_LAWS_H
#define EPF_TEST_CHAIN_LAWS_H

#include <epf/chain.h>

#define KIND chain
#define EPOCH 143000ULL  /* E, ns, in the tests below */
#define SPAN (7 * EPOCH) /* T */
#define STRETCH EPOCH
#define KEY_SEED 0x636861696e

#include "resizable_laws.h"

#define NEVER (~0ULL)

static __u64 words_of(const struct epf_chain *f)
{
	__u64 lines = f->spare.lines;
	__u32 i;

	for (i = 0; i < f->nr; i++)
		lines += f->table[i].lines;
	return 8 * lines;
}

static __u64 come(struct epf_chain *f, __u64 now, const struct care *care, __u64 value)
{
	__u64 words;

	value = take_back(f, now, value);
	while (epf_chain_scan(f, care->lines ? care->lines : 1000) && !care->lines)
		;
	words = wanted(f, now, care->early);
	if (care->max_words && words_of(f) + words > care->max_words)
		words = 0;
	return hand_over(f, now, words, value);
}

static void start(struct epf_chain *f, const struct epf_chain_shape *s)
{
	__u64 words;

	if (epf_chain_init(f, s, 0))
		abort();
	words = epf_chain_plan(f, 0);
	epf_chain_add(f, 0, memory_new(words), words);
}

static void stop(struct epf_chain *f)
{
	if (f->spare.lines)
		free(f->spare.line);
	while (f->nr)
		free(f->table[--f->nr].line);
}

static const struct stretch script[] = {
	{ 10, 1 }, { 4, 2 },  { 10, 1 }, { 4, 4 },  { 10, 1 }, { 4, 10 }, { 20, 1 }, { 3, 40 },
	{ 24, 2 }, { 1, 4 },  { 1, 8 },  { 1, 16 }, { 1, 32 }, { 9, 64 }, { 9, 3 },  { 14, 0 },
	{ 5, 2 },  { 50, 0 }, { 3, 10 }, { 3, 0 },  { 50, 1 }, { 8, 0 },  { 1, 1 },  { 0, 0 },
};

static void look_for(struct run *r, int n)
{
	int age = epf_chain_test(&r->f, key(n), r->now) - EPF_PRESENT;

	if (age < 0 || !epf_chain_query(&r->f, key(n), r->now))
		r->broken = "a key of the window is lost";
	else if (age * EPOCH > r->now - r->at[n] + EPOCH - 1)
		r->broken = "a key is told to be older than it is";
}

/* Check when an epoch or table begins. */
static bool look_for_all(struct run *r)
{
	return anew(r, epf_chain_epoch(&r->f, r->now), (__u64)r->f.table[0].line);
}

static bool overfull(const struct epf_chain *f)
{
	__u32 i, l;

	for (i = 0; i < f->nr; i++)
		for (l = 0; l < EPF_LANES; l++)
			if (f->table[i].keys[l] > epf_chain_budget(f, f->table[i].lines))
				return true;
	return false;
}

/* Return: did a chain of two or more tables grow by less than four times?
 * Because it does not, n tables without a smaller one need 2 * 4^(n-3) times
 * the rate.
 */
static bool small_steps(const struct epf_chain *f)
{
	__u32 i;

	for (i = 0; i + 2 < f->nr; i++) {
		__u64 old = f->table[i + 1].lines, lines = f->table[i].lines;

		if (lines > old && lines < 4 * old && lines < f->shape.lines_max)
			return true;
	}
	return false;
}

static const char *flaw(const struct run *r)
{
	if (small_steps(&r->f))
		return "a table is hardly larger than the last";
	return r->strict && overfull(&r->f) ? "lanes are overfull" : NULL;
}

/* Run the script from some phase of the epoch. */
static void play_from(struct run *r, int phase)
{
	r->now = phase * (EPOCH / 8) / TICK * TICK;
	play(r, script, 6);
}

/* If the owner never comes, it does not scan either, so no epoch ends and all keys
 * stay.
 */
static void window_law(const struct epf_chain_shape *s, const struct care *care, int phase)
{
	bool late = care->late || care->lines || care->max_words;
	struct run *r = begin(s);

	r->care = *care;
	r->strict = !late;
	play_from(r, phase);
	tap_ok(!r->broken && r->nr < KEYS_MAX &&
		       (late || (r->most > 2 && r->most < EPF_CHAIN_TABLES)),
	       "window at every moment, L=%u k=%u, phase %d, owner %s by %lld, %s: %u tables%s%s",
	       s->parts, s->bits, phase, care->early ? "early or late" : "late",
	       (long long)care->late,
	       care->max_words ? "no memory" :
	       care->lines     ? "slow scan" :
				 "memory",
	       r->most, r->broken ? ": " : "", r->broken ? r->broken : "");
	end(r);
}

/* If scans are more than 8 epochs late, keys stay longer. */
static void staleness_law(const struct epf_chain_shape *s, const struct care *care, int phase)
{
	struct run *r = begin(s);

	r->care = *care;
	r->stale = 8 * EPOCH;
	if (care->late > 8 * EPOCH)
		r->stale += (care->late / EPOCH + 2) * EPOCH;
	play_from(r, phase);
	tap_ok(!r->broken && r->looked > 4000 && r->found <= r->looked / 2000,
	       "staleness at every moment, L=%u k=%u, phase %d, owner %s by %llu: %d of %d found",
	       s->parts, s->bits, phase, care->early ? "early or late" : "late", care->late,
	       r->found, r->looked);
	end(r);
}

/* With tables so small that the chain is full, no key is lost, and the chain
 * empties.
 */
static void bound_law(void)
{
	static const struct epf_chain_shape s = { SPAN, 64, 64, 64, 64, 1, 4 };
	static const struct stretch parts[] = { { 7, 1 }, { 9, 20 }, { 18, 1 }, { 0, 0 } };
	struct run *r = begin(&s);

	play(r, parts, 3);
	tap_ok(!r->broken && r->most == EPF_CHAIN_TABLES && r->f.nr < 5,
	       "all places taken: %u tables, then %u%s%s", r->most, r->f.nr, r->broken ? ": " : "",
	       r->broken ? r->broken : "");
	end(r);
}

/* A time that goes backwards counts as the latest time; a test may be given an old
 * time.
 */
static void clock_law(void)
{
	static const struct epf_chain_shape s = { SPAN, 64, 64, 64, 1024, 1, 9 };
	struct run *r = begin(&s);
	bool good;

	epf_chain_insert(&r->f, 1, 3 * SPAN);
	epf_chain_scan(&r->f, NEVER);
	epf_chain_insert(&r->f, 2, SPAN);
	good = epf_chain_test(&r->f, 2, 4 * SPAN) && epf_chain_test(&r->f, 1, 0) &&
	       epf_chain_test(&r->f, 2, 4 * SPAN + EPOCH - 1) == EPF_PRESENT + 7 &&
	       !epf_chain_test(&r->f, 2, 4 * SPAN + EPOCH);
	epf_chain_scan(&r->f, NEVER);
	epf_chain_tick(&r->f, 5 * SPAN);
	epf_chain_scan(&r->f, NEVER);
	good &= !epf_chain_test(&r->f, 1, 3 * SPAN) && r->f.now_ns == 5 * SPAN;
	epf_chain_insert(&r->f, 3, 4 * SPAN);
	good &= epf_chain_test(&r->f, 3, 6 * SPAN) == EPF_PRESENT + 7;
	tap_ok(good, "time that goes back");
	end(r);
}

/* If the owner does not scan for 90 epochs, expired keys do not come back, as
 * they would after 32.
 */
static void scan_law(void)
{
	static const struct epf_chain_shape s = { SPAN, 1024, 1024, 1024, 1024, 1, 12 };
	struct run *r = begin(&s);
	int e, n, found = 0, back = 0;
	__u64 now;

	for (e = 0; e < 90; e++)
		for (n = 0; n < 8; n++) {
			now = e * EPOCH + n * (EPOCH / 8);
			epf_chain_insert(&r->f, key(8 * e + n), now);
			found += e == 7 && epf_chain_query(&r->f, key(n), now);
			back += e >= 8 && epf_chain_query(&r->f, key(n), now);
		}
	tap_ok(found == 8 && !back, "without a scan %d of 8 keys come back", back);
	end(r);
}

/* A smaller table that was planned at a low rate arrives when the rate is no
 * longer low: it is given back and makes room for a larger one.
 */
static void delay_law(void)
{
	static const struct epf_chain_shape s = { SPAN, 256, 64, 1 << 16, 1024, 1, 12 };
	struct run *r = begin(&s);
	__u64 now, words, got = 0, *word, larger;
	struct care care = { .early = true };
	int n;

	for (n = 0; n < 9; n++)
		epf_chain_insert(&r->f, key(n), n * EPOCH);
	now = 9 * EPOCH;
	words = epf_chain_plan(&r->f, now);
	for (n = 9; n < 256 + 8; n++)
		epf_chain_insert(&r->f, key(n), now += 9);
	epf_chain_add(&r->f, now, memory_new(words), words);
	word = epf_chain_expired(&r->f, now, &got);
	larger = epf_chain_plan(&r->f, now);
	come(&r->f, now, &care, 0);
	epf_chain_insert(&r->f, key(n++), now);
	tap_ok(words == 512 && got == 512 && larger > 2048 && r->f.nr == 2 &&
		       r->f.table[0].lines * 8 == larger,
	       "a table that is too small by now: %llu words, then %llu", words, larger);
	free(word);
	end(r);
}

static void laws(void)
{
	static const struct epf_chain_shape window[] = {
		{ SPAN, 64, 64, 1 << 14, 112, 1, 5 },
		{ SPAN, 256, 64, 1 << 12, 112, 4, 8 },
		{ SPAN, 64, 64, 1 << 14, 160, 2, 6 },
	};
	static const struct epf_chain_shape stale[] = {
		{ SPAN, 1024, 1024, 1 << 16, 9, 1, 9 },
		{ SPAN, 2048, 1024, 1 << 16, 7, 2, 10 },
	};
	static const struct care cares[] = {
		{ 0, true, 0, 0 },         { 0, false, 0, 0 },
		{ EPOCH / 4, true, 0, 0 }, { EPOCH * 3 / 2, true, 0, 0 },
		{ 2 * SPAN, false, 0, 0 }, { NEVER, false, 0, 0 },
		{ 0, true, 0, 3 * 512 },   { EPOCH / 16, true, 3, 0 },
	};
	int i, c;

	for (c = 0; c < NR(cares); c++)
		for (i = 0; i < NR(window); i++)
			window_law(&window[i], &cares[c], (c + 3 * i) % 8);
	for (c = 0; c < 5; c++)
		for (i = 0; i < NR(stale); i++)
			staleness_law(&stale[i], &cares[c], (2 * c + i) % 8);
	bound_law();
	clock_law();
	scan_law();
	delay_law();
}

#define LAWS (8 * 3 + 5 * 2 + 4)

#endif /* EPF_TEST_CHAIN_LAWS_H */
