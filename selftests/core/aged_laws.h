/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of the aging-slice kinds. The includer defines what kind_fixed.h needs.
 *
 * One thread, fixed seeds. The functions return a violated property, or NULL.
 */
#ifndef EPF_TEST_AGED_LAWS_H
#define EPF_TEST_AGED_LAWS_H

#define HALF(f) ((f)->ring.retired)
#define WARM(shape) (2 * ((shape)->k + (shape)->l))
#define FILTERS 24
#define T_999 3.768 /* Student's t, 23 degrees of freedom, 0.9995 */

#include "kind_fixed.h"

#define POOL 64 /* keys of the window property, inserted again and again */
#define NEVER (-1000)
#define STRANGERS 100 /* keys never inserted, looked up at each check */

/* A filter, and when each of its keys was last inserted. */
struct witness {
	FILTER f;
	int last[POOL];
	int now;     /* generation */
	__u64 drawn; /* insertions so far */
};

static __u64 pool_digest(int key)
{
	return epf_word(0x5eed, 1 + key);
}

static void insert_some(struct witness *w)
{
	int key = (int)(epf_word(7, 1 + w->drawn++) % POOL);

	EPF(insert)(&w->f, pool_digest(key));
	w->last[key] = w->now;
}

/* Check that live keys are found and not reported too old, and that test and query
 * agree.
 */
static const char *look(const struct witness *w)
{
	int live = (int)(w->f.ring.l - w->f.ring.retired);
	int key;

	for (key = 0; key < POOL; key++) {
		int verdict = EPF(test)(&w->f, pool_digest(key));
		int age = w->now - w->last[key];

		if (age <= live && verdict == EPF_ABSENT)
			return "a key of the window is absent";
		if (age <= live && verdict > EPF_PRESENT + age)
			return "a key is told older than it is";
		if (verdict > EPF_PRESENT + live)
			return "an age beyond the window";
		if (EPF(query)(&w->f, pool_digest(key)) != (verdict != 0))
			return "query and test disagree";
	}
	return NULL;
}

/* Shift step by step, with checks and insertions between the steps. */
static const char *shift_slowly(struct witness *w)
{
	const char *broken;
	__u64 at = 0;

	EPF(retire)(&w->f);
	broken = look(w);
	do {
		insert_some(w);
		at = EPF(sweep)(&w->f, at, 1 + w->drawn % 3);
		if (!broken)
			broken = look(w);
	} while (at);
	EPF(advance)(&w->f);
	w->now++;
	return broken ? broken : look(w);
}

/* Check the window property. @keys: insertions of a generation. Some shifts are
 * done in steps, others at once.
 */
static const char *window_law(const SHAPE *shape, int keys)
{
	struct witness w = { .f = filter_new(shape) };
	int shifts = 3 * (int)(shape->k + shape->l);
	const char *broken = NULL;
	int i;

	for (i = 0; i < POOL; i++)
		w.last[i] = NEVER;
	while (w.now < shifts && !broken) {
		for (i = 0; i < keys && !broken; i++) {
			insert_some(&w);
			broken = look(&w);
		}
		if (broken)
			break;
		if (w.now % 4) {
			broken = shift_slowly(&w);
		} else {
			EPF(rotate)(&w.f);
			w.now++;
			broken = look(&w);
		}
	}
	filter_free(&w.f);
	return broken;
}

/* Distinct keys in a filter so sparse that two hits by chance do not occur. */
struct stream {
	FILTER f;
	int keys;        /* keys of a generation */
	int now;         /* generation */
	long asked, off; /* live keys looked up; those reported too young */
};

static __u64 stream_digest(int generation, int n)
{
	return epf_word((__u64)generation << 32 | (__u32)n, 1);
}

static const char *judge(struct stream *s, int age, int verdict)
{
	int live = (int)(s->f.ring.l - s->f.ring.retired);

	if (age <= live) {
		s->asked++;
		s->off += verdict != EPF_PRESENT + age;
		return verdict ? NULL : "a key of the window is absent";
	}
	if (age >= live + (int)s->f.ring.k && verdict)
		return "a key older than all slices is present";
	if (age > live + 1 && verdict)
		return "a key is present that lacks two slices";
	return NULL;
}

/* Check all keys ever inserted, of which @n are of the current generation, and
 * some that never were inserted.
 */
static const char *look_back(struct stream *s, int n)
{
	const char *broken = NULL;
	int generation, i;

	for (generation = 0; generation <= s->now && !broken; generation++) {
		int end = generation == s->now ? n : s->keys;

		for (i = 0; i < end && !broken; i++)
			broken = judge(s, s->now - generation,
				       EPF(test)(&s->f, stream_digest(generation, i)));
	}
	for (i = 0; i < STRANGERS && !broken; i++)
		if (EPF(test)(&s->f, stream_digest(1000 + s->now, i)))
			broken = "a key is present that never was inserted";
	return broken;
}

/* Check at every phase, and between the steps of each shift. @shape: k >= 3. */
static const char *staleness_law(const SHAPE *shape, int keys)
{
	struct stream s = { .f = filter_new(shape), .keys = keys };
	int shifts = 3 * (int)(shape->k + shape->l);
	const char *broken = NULL;
	__u64 at = 0;
	int i;

	for (; s.now < shifts && !broken; s.now++) {
		for (i = 0; i < keys && !broken; i++) {
			EPF(insert)(&s.f, stream_digest(s.now, i));
			broken = look_back(&s, i + 1);
		}
		EPF(retire)(&s.f);
		if (!broken)
			broken = look_back(&s, keys);
		while ((at = EPF(sweep)(&s.f, at, 1000)))
			;
		if (!broken)
			broken = look_back(&s, keys);
		EPF(advance)(&s.f);
	}
	if (!broken && s.off * 50 > s.asked)
		broken = "ages are wrong where slices are nearly empty";
	filter_free(&s.f);
	return broken;
}

static __u64 empty_words(const FILTER *f, __u64 words)
{
	__u64 i, n = 0;

	for (i = 0; i < words; i++)
		n += !f->word[i];
	return n;
}

/* Steps in the wrong order do nothing; a sweep empties exactly one slice. */
static const char *order_law(const SHAPE *shape)
{
	FILTER f = filter_new(shape);
	const char *broken = NULL;
	__u64 words = EPF(words)(shape), at = 0;

	memset(f.word, 0xff, words * sizeof(__u64));
	EPF(advance)(&f);
	if (f.ring.base || EPF(sweep)(&f, 0, words) || empty_words(&f, words))
		broken = "no slice was retired";
	EPF(retire)(&f);
	EPF(retire)(&f);
	while ((at = EPF(sweep)(&f, at, 3)))
		;
	if (empty_words(&f, words) != f.slice_words)
		broken = "a sweep empties the wrong number of words";
	EPF(advance)(&f);
	EPF(advance)(&f);
	if (f.ring.base != shape->k + shape->l - 1 || EPF(test)(&f, 1) != EPF_PRESENT + 1)
		broken = "one shift, and the youngest slice is empty";
	filter_free(&f);
	return broken;
}

static void law(const char *broken, const SHAPE *shape, const char *what)
{
	tap_sound(broken, "%s, %s", what, tell(shape));
}

/* Check @small shapes at every phase, @sparse ones without false positives, and the
 * steps of a shift of @order in the wrong order.
 */
static void aged_laws(const SHAPE *small, int nr_small, const SHAPE *sparse, int nr_sparse,
		      const SHAPE *order)
{
	int i;

	for (i = 0; i < nr_small; i++)
		law(window_law(&small[i], 1 + 3 * i), &small[i], "window law at every phase");
	for (i = 0; i < nr_sparse; i++)
		law(staleness_law(&sparse[i], 3), &sparse[i], "staleness and ages at every phase");
	law(order_law(order), order, "steps of a shift out of turn");
}

#endif /* EPF_TEST_AGED_LAWS_H */
