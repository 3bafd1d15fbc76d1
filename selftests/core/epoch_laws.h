/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of kinds whose epochs end one by one, against an exact oracle. The includer
 * defines what kind_fixed.h needs, and
 *
 *	EPOCHS(shape)	r
 *
 * Each epoch gets l insertions before it is retired; every fifth is of an earlier key. After
 * every insertion and after every part of a sweep, with insertions between the parts, all
 * keys ever inserted are looked up:
 *
 *   window     keys of the last W = r l insertions are found
 *   epochs     keys of the epochs that count are found, and none is reported too old
 *   exact      ages are right, and all other keys are absent. This holds for shapes and
 *              seeds without a false positive
 */
#ifndef EPOCH_LAWS_H
#define EPOCH_LAWS_H

#include "kind_fixed.h"

#define LAW_KEYS_MAX 4096
#define LAW_LENGTH 5 /* l */

/* Does a shape have false positives? With EXACT it has none, with CROWDED some. */
enum chance { EXACT, CROWDED, EITHER };

/**
 * struct law_shape - a filter whose properties are checked
 * @s: shape
 * @sweep: words in one part of a sweep
 * @chance: of false positives
 */
struct law_shape {
	SHAPE s;
	__u64 sweep;
	enum chance chance;
};

/* The oracle, and what it has found. */
struct laws {
	FILTER f;
	__u32 epochs; /* r */
	__u64 sweep;
	__u64 seed;
	__u32 keys; /* distinct keys inserted so far */
	__u64 inserts;
	__u64 last[LAW_KEYS_MAX]; /* number of the last insertion, from 1 */
	__u64 epoch_of[LAW_KEYS_MAX];
	__u64 epoch;
	bool retired;
	__u64 checks, lost, older, inexact;
};

static void laws_ask(struct laws *l, __u32 key)
{
	int verdict = EPF(test)(&l->f, epf_word(l->seed, key + 1));
	__u64 age = l->epoch - l->epoch_of[key];
	__u64 window = (__u64)l->epochs * LAW_LENGTH;
	bool counts = age < l->epochs + !l->retired;

	l->checks++;
	l->lost += !verdict && (counts || l->inserts - l->last[key] < window);
	l->older += counts && verdict > 1 + (int)age;
	l->inexact += verdict != (counts ? 1 + (int)age : 0);
}

static void laws_check(struct laws *l)
{
	__u32 key;

	for (key = 0; key < l->keys; key++)
		laws_ask(l, key);
}

static void laws_insert(struct laws *l)
{
	__u32 key = l->keys;

	if (l->inserts % 5 == 4)
		key = (__u32)(epf_word(~l->seed, (__u32)l->inserts) % l->keys);
	else
		l->keys++;
	l->last[key] = ++l->inserts;
	l->epoch_of[key] = l->epoch;
	EPF(insert)(&l->f, epf_word(l->seed, key + 1));
	laws_check(l);
}

static void laws_rotate(struct laws *l)
{
	__u64 at = 0;
	int parts = 0;

	EPF(retire)(&l->f);
	l->retired = true;
	laws_check(l);
	do {
		at = EPF(sweep)(&l->f, at, l->sweep);
		laws_check(l);
		if (parts++ < 2)
			laws_insert(l);
	} while (at);
	EPF(advance)(&l->f);
	l->retired = false;
	l->epoch++;
	laws_check(l);
}

/* Run so many epochs that every segment is current twice. */
static void epoch_law(const struct law_shape *shape, __u64 seed)
{
	static struct laws l;
	__u32 e, i;

	memset(&l, 0, sizeof(l));
	l.f = filter_new(&shape->s);
	l.epochs = EPOCHS(&shape->s);
	l.sweep = shape->sweep;
	l.seed = seed;
	for (e = 0; e < 2 * (l.epochs + 1) + 1; e++) {
		for (i = 0; i < LAW_LENGTH; i++)
			laws_insert(&l);
		laws_rotate(&l);
	}
	tap_ok(!l.lost && !l.older &&
		       (shape->chance == EITHER || !l.inexact == (shape->chance == EXACT)),
	       "%s: %llu answers, %llu lost, %llu too old, %llu inexact", tell(&shape->s), l.checks,
	       l.lost, l.older, l.inexact);
	filter_free(&l.f);
}

static void epoch_laws(const struct law_shape *shape, int nr, __u64 seed)
{
	int i;

	for (i = 0; i < nr; i++)
		epoch_law(&shape[i], seed + i);
}

#endif /* EPOCH_LAWS_H */
