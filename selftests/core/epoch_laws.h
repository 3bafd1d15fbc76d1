/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of a kind made of guarded epochs, checked with an exact oracle; and code that
 * the tests of such kinds share.
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

#include <epf/hash.h>

#include <math.h>
#include <stdlib.h>

#define LAW_KEYS_MAX 4096
#define LAW_LENGTH 5 /* l */
#define LAW_FILTERS 16
#define LAW_T_999 4.073 /* Student's t, 15 degrees of freedom, 0.9995 */

#define NR(table) (sizeof(table) / sizeof((table)[0]))

/* Return: empty memory for a filter; NULL if @words is 0 or there is no memory. */
static inline __u64 *law_memory(__u64 words)
{
	__u64 bytes = words * sizeof(__u64);
	__u64 *word = bytes ? (__u64 *)aligned_alloc(64, bytes) : NULL;

	return word ? (__u64 *)memset(word, 0, bytes) : NULL;
}

/* A filter under test. */
struct law_kind {
	void *f;
	__u32 epochs;	/* r */
	__u64 sweep;	/* words of one part of a sweep */
	void (*insert)(void *f, __u64 digest);
	int (*test)(const void *f, __u64 digest);
	void (*retire)(void *f);
	__u64 (*sweep_some)(void *f, __u64 at, __u64 n);
	void (*advance)(void *f);
};

/* LAW_OPS(ge) makes the functions of a struct law_kind. */
#define LAW_OPS(kind)							\
	static void law_insert(void *f, __u64 digest)			\
	{								\
		epf_##kind##_insert((struct epf_##kind *)f, digest);	\
	}								\
	static int law_test(const void *f, __u64 digest)		\
	{								\
		return epf_##kind##_test((const struct epf_##kind *)f,	\
					 digest);			\
	}								\
	static void law_retire(void *f)					\
	{								\
		epf_##kind##_retire((struct epf_##kind *)f);		\
	}								\
	static __u64 law_sweep(void *f, __u64 at, __u64 n)		\
	{								\
		return epf_##kind##_sweep((struct epf_##kind *)f, at, n); \
	}								\
	static void law_advance(void *f)				\
	{								\
		epf_##kind##_advance((struct epf_##kind *)f);		\
	}

#define LAW_KIND(filter, r, part)					\
	{ (filter), (r), (part), law_insert, law_test, law_retire,	\
	  law_sweep, law_advance }

/* The oracle, and the results of its checks. */
struct laws {
	const struct law_kind *kind;
	__u64 seed;
	__u32 keys;		     /* distinct keys inserted so far */
	__u64 inserts;
	__u64 last[LAW_KEYS_MAX];    /* number of the last insertion, from 1 */
	__u64 epoch_of[LAW_KEYS_MAX];
	__u64 epoch;
	bool retired;
	__u64 checks, lost, older, inexact;
};

static inline void laws_ask(struct laws *l, __u32 key)
{
	int verdict = l->kind->test(l->kind->f, epf_word(l->seed, key + 1));
	__u64 age = l->epoch - l->epoch_of[key];
	__u64 window = (__u64)l->kind->epochs * LAW_LENGTH;
	bool counts = age < l->kind->epochs + !l->retired;

	l->checks++;
	l->lost += !verdict && (counts || l->inserts - l->last[key] < window);
	l->older += counts && verdict > 1 + (int)age;
	l->inexact += verdict != (counts ? 1 + (int)age : 0);
}

static inline void laws_check(struct laws *l)
{
	__u32 key;

	for (key = 0; key < l->keys; key++)
		laws_ask(l, key);
}

static inline void laws_insert(struct laws *l)
{
	__u32 key = l->keys;

	if (l->inserts % 5 == 4)
		key = (__u32)(epf_word(~l->seed, (__u32)l->inserts) % l->keys);
	else
		l->keys++;
	l->last[key] = ++l->inserts;
	l->epoch_of[key] = l->epoch;
	l->kind->insert(l->kind->f, epf_word(l->seed, key + 1));
	laws_check(l);
}

static inline void laws_rotate(struct laws *l)
{
	__u64 at = 0;
	int parts = 0;

	l->kind->retire(l->kind->f);
	l->retired = true;
	laws_check(l);
	do {
		at = l->kind->sweep_some(l->kind->f, at, l->kind->sweep);
		laws_check(l);
		if (parts++ < 2)
			laws_insert(l);
	} while (at);
	l->kind->advance(l->kind->f);
	l->retired = false;
	l->epoch++;
	laws_check(l);
}

/* Run so many epochs that every segment is current twice. */
static inline void laws_run(struct laws *l, const struct law_kind *kind,
			    __u64 seed)
{
	__u32 e, i;

	memset(l, 0, sizeof(*l));
	l->kind = kind;
	l->seed = seed;
	for (e = 0; e < 2 * (kind->epochs + 1) + 1; e++) {
		for (i = 0; i < LAW_LENGTH; i++)
			laws_insert(l);
		laws_rotate(l);
	}
}

/* Rates of LAW_FILTERS filters. The sample is of filters, because keys of one
 * filter share its memory.
 */
struct law_sample {
	double sum, squares;
};

static inline void law_sample_add(struct law_sample *s, double v)
{
	s->sum += v;
	s->squares += v * v;
}

static inline double law_mean(const struct law_sample *s)
{
	return s->sum / LAW_FILTERS;
}

/* Return: half the width of the interval, 99.9 %, two-sided. */
static inline double law_margin(const struct law_sample *s)
{
	double mean = law_mean(s);
	double var = s->squares / LAW_FILTERS - mean * mean;

	return LAW_T_999 * sqrt(var / (LAW_FILTERS - 1));
}

/* Run the script of known answers that selftests/model/epochs.py describes.
 * Return: are the verdicts those of @answers?
 */
static inline bool law_script(const struct law_kind *kind, __u64 seed,
			      __u32 steps, const char *answers)
{
	static const char ages[] = ".0123456789abcdefghijklmnopqrstuvwxyz";
	bool good = true;
	__u32 i;

	for (i = 0; i < steps; i++) {
		__u64 x = epf_word(seed, 8 + i);
		__u64 key = epf_word(seed, 4096 + (__u32)(x / 64 % 97));

		if (x % 64 < 2)
			kind->retire(kind->f);
		if (x % 64 == 1) {
			kind->sweep_some(kind->f, 0, ~0ULL);
			kind->advance(kind->f);
		} else if (x % 64 > 1 && x % 64 < 26) {
			good &= *answers &&
				ages[kind->test(kind->f, key)] == *answers;
			answers += !!*answers;
		} else if (x % 64 >= 26) {
			kind->insert(kind->f, key);
		}
	}
	return good && !*answers;
}

#endif /* EPOCH_LAWS_H */
