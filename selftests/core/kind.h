/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of all kinds share: names, parts, keys, means. Define KIND (ge, gebl,
 * ..) before including it, and end the program with KIND_MAIN().
 */
#ifndef EPF_TEST_KIND_H
#define EPF_TEST_KIND_H

#include "tap.h"

#include <epf/hash.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND_STRUCT(kind) struct epf_##kind
#define KIND_STRUCT_OF(kind) KIND_STRUCT(kind)
#define KIND_NAME(kind, name) epf_##kind##_##name
#define KIND_NAME_OF(kind, name) KIND_NAME(kind, name)

#define FILTER KIND_STRUCT_OF(KIND)
#define EPF(name) KIND_NAME_OF(KIND, name)
#define SHAPE struct EPF(shape)

#define NR(array) ((int)(sizeof(array) / sizeof((array)[0])))

/**
 * struct part - one part of the tests of a kind
 * @run: makes @points test points
 * @law: it checks properties, so runs on mutants of the core too
 */
struct part {
	void (*run)(void);
	int points;
	bool law;
};

static int kind_main(const struct part *part, int nr, bool laws)
{
	int i, points = 0;

	for (i = 0; i < nr; i++)
		points += !laws || part[i].law ? part[i].points : 0;
	tap_plan(points);
	for (i = 0; i < nr; i++)
		if (!laws || (part[i].law && !tap_failed))
			part[i].run();
	return tap_end();
}

/* With an argument, run the property tests alone, up to the first part that fails. */
#define KIND_MAIN(parts)                                      \
	int main(int argc, char **argv)                       \
	{                                                     \
		(void)argv;                                   \
		return kind_main(parts, NR(parts), argc > 1); \
	}

static inline __u64 *memory_new(__u64 words)
{
	void *word;

	if (posix_memalign(&word, 64, words * 8))
		abort();
	return (__u64 *)memset(word, 0, words * 8);
}

static inline __u64 fold(__u64 value, __u64 w)
{
	return epf_word(value + w, 1);
}

/* The letter that the models print for a verdict. */
static inline char verdict_char(int verdict)
{
	static const char ages[] = ".0123456789abcdefghijklmnopqrstuvwxyz";

	return ages[verdict < 36 ? verdict : 36];
}

/* Means over independent filters: keys of one filter share its memory, so the
 * filters are the sample, not the keys.
 */
#ifndef FILTERS
#define FILTERS 16
#define T_999 4.073 /* Student's t, FILTERS - 1 degrees of freedom, 0.9995 */
#endif

#include "mean.h"

/* @model: relative error of the prediction itself, or of its arithmetic where
 * nothing varies.
 */
static inline bool mean_is(const struct mean *m, double predicted, double model)
{
	return fabs(mean_of(m) - predicted) <= mean_margin(m) + model * predicted;
}

#endif /* EPF_TEST_KIND_H */
