/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of kind tlbf, checked at every moment of a script of bursts, gaps
 * and late slices.
 */
#ifndef EPF_TEST_TLBF_LAWS_H
#define EPF_TEST_TLBF_LAWS_H

#include <epf/tlbf.h>

#define KIND tlbf
#define SPAN 1000000ULL /* T, ns, in the tests below */
#define STRETCH (SPAN / 4)
#define KEY_SEED 0x746c6266

#include "resizable_laws.h"

static __u64 come(struct epf_tlbf *f, __u64 now, const struct care *care, __u64 value)
{
	value = take_back(f, now, value);
	return hand_over(f, now, wanted(f, now, care->early), value);
}

static void start(struct epf_tlbf *f, const struct epf_tlbf_shape *s)
{
	__u64 words;

	if (epf_tlbf_init(f, s, 0))
		abort();
	while (f->nr < s->keep) {
		words = epf_tlbf_plan(f, 0);
		epf_tlbf_add(f, 0, memory_new(words), words);
	}
}

static void stop(struct epf_tlbf *f)
{
	if (f->spare.words)
		free(f->spare.word);
	while (f->nr)
		free(epf_tlbf_at(f, --f->nr)->word);
}

static const struct stretch script[] = {
	{ 8, 1 }, { 2, 2 }, { 6, 1 }, { 2, 4 }, { 6, 1 },  { 2, 10 }, { 6, 1 }, { 1, 100 },
	{ 9, 1 }, { 2, 0 }, { 3, 1 }, { 9, 0 }, { 2, 10 }, { 1, 0 },  { 5, 1 }, { 0, 0 },
};

static void look_for(struct run *r, int n)
{
	int age = epf_tlbf_test(&r->f, key(n), r->now);

	if (age == EPF_ABSENT || !epf_tlbf_query(&r->f, key(n), r->now))
		r->broken = "a key of the window is lost";
}

/* Check whenever slices come or go; if that is often, at every eighth change. */
static bool look_for_all(struct run *r)
{
	return anew(r, r->f.nr, r->f.head) && (r->f.nr <= 64 || r->f.head % 8 == 0);
}

static const char *flaw(const struct run *r)
{
	__u32 i;

	for (i = 0; r->strict && i < r->f.nr; i++)
		if (epf_tlbf_keys(&r->f, i) > epf_tlbf_capacity(epf_tlbf_at(&r->f, i)->words))
			return "a slice is overfull";
	return NULL;
}

static void window_law(const struct epf_tlbf_shape *s, __u64 late, bool early)
{
	struct run *r = begin(s);

	r->care.late = late;
	r->care.early = early;
	r->strict = !late;
	play(r, script, 15);
	tap_ok(!r->broken && r->nr < KEYS_MAX,
	       "window at every moment, k=%u l=%u keep=%u timed=%u, owner %s by %llu%s%s", s->k,
	       s->l, s->keep, s->timed, early ? "early or late" : "late", late,
	       r->broken ? ": " : "", r->broken ? r->broken : "");
	end(r);
}

/* The key that became stale last is found only if one slice hits by chance, and these
 * slices are nearly empty here.
 */
static void staleness_law(const struct epf_tlbf_shape *s, __u64 late, bool early)
{
	struct run *r = begin(s);

	r->care.late = late;
	r->care.early = early;
	r->stale = SPAN + r->f.generation_ns + late + 1;
	play(r, script, 15);
	tap_ok(r->looked > 4000 && r->found <= r->looked / 2000,
	       "staleness at every moment, k=%u l=%u, owner %s by %llu: %d of %d found", s->k, s->l,
	       early ? "early or late" : "late", late, r->found, r->looked);
	end(r);
}

/* With slices so small that the ring is full, no key is lost, and the ring empties. */
static void bound_law(void)
{
	static const struct epf_tlbf_shape s = { SPAN, 1, 1, 1, 2, 3, 2, 1 };
	static const struct stretch parts[] = { { 4, 1 }, { 5, 100 }, { 8, 1 }, { 0, 0 } };
	struct run *r = begin(&s);

	play(r, parts, 16);
	tap_ok(!r->broken && r->most == EPF_TLBF_SLICES && r->f.nr < 16,
	       "the ring full: %u slices, then %u%s%s", r->most, r->f.nr, r->broken ? ": " : "",
	       r->broken ? r->broken : "");
	end(r);
}

/* A time that goes backwards counts as the latest time. */
static void clock_law(void)
{
	static const struct epf_tlbf_shape s = { SPAN, 9, 1, 99, 3, 4, 3, 1 };
	struct run *r = begin(&s);
	bool good;

	epf_tlbf_insert(&r->f, 1, 3 * SPAN);
	epf_tlbf_insert(&r->f, 2, SPAN);
	good = epf_tlbf_test(&r->f, 2, 4 * SPAN) && epf_tlbf_test(&r->f, 1, 0) &&
	       !epf_tlbf_test(&r->f, 2, 4 * SPAN + 1);
	epf_tlbf_tick(&r->f, 5 * SPAN);
	good &= !epf_tlbf_test(&r->f, 1, 3 * SPAN);
	tap_ok(good, "time that goes back");
	end(r);
}

static void laws(void)
{
	static const struct epf_tlbf_shape window[] = {
		{ SPAN, 2, 1, 4096, 3, 4, 3, 1 }, { SPAN, 1, 1, 4096, 4, 3, 7, 0 },
		{ SPAN, 9, 1, 4096, 6, 9, 8, 1 }, { SPAN, 1, 1, 4096, 1, 2, 1, 1 },
		{ SPAN, 3, 1, 5, 5, 4, 9, 0 },
	};
	static const struct epf_tlbf_shape stale[] = {
		{ SPAN, 1 << 14, 1 << 14, 1 << 15, 3, 4, 3, 1 },
		{ SPAN, 1 << 14, 1 << 14, 1 << 15, 4, 2, 6, 1 },
	};
	int i;

	for (i = 0; i < NR(window); i++) {
		window_law(&window[i], 0, false);
		window_law(&window[i], SPAN / 7, i % 2);
	}
	window_law(&window[0], 2 * SPAN, true);
	for (i = 0; i < NR(stale); i++) {
		staleness_law(&stale[i], 0, false);
		staleness_law(&stale[i], 0, true);
		staleness_law(&stale[i], SPAN / 5, i);
	}
	bound_law();
	clock_law();
}

#define LAWS (5 * 2 + 1 + 2 * 3 + 2)

#endif /* EPF_TEST_TLBF_LAWS_H */
