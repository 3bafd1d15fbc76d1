/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of fixed-size kinds share. Before including it, define KIND and:
 *
 *	WARM(shape)	rotations after which a filter is in its steady state
 *	HALF(f)		in scripts of the kind's model, the step that retires
 *			ends the rotation: it is under way; else not defined
 *
 * and after:
 *
 *	tell()		names a shape
 */
#ifndef EPF_TEST_KIND_FIXED_H
#define EPF_TEST_KIND_FIXED_H

#include "kind.h"

static const char *tell(const SHAPE *s);

#ifndef HALF
#define HALF(f) false
#endif

static inline FILTER filter_new(const SHAPE *shape)
{
	FILTER f;

	memset(&f, 0, sizeof(f));
	f.word = memory_new(EPF(words)(shape));
	if (EPF(init)(&f, shape))
		abort();
	return f;
}

static inline void filter_free(FILTER *f)
{
	free(f->word);
}

/* --- known answers ------------------------------------------------------- */

/* A script of selftests/model/epochs.py or aged.py: are the answers, and where
 * @memory is not NULL every bit, those of the model?
 */
static inline bool known_answers(const SHAPE *shape, unsigned int seed, unsigned int steps,
				 const char *answers, const __u64 *memory)
{
	FILTER f = filter_new(shape);
	__u64 i, value = 0;
	bool good = true;

	for (i = 0; i < steps; i++) {
		__u64 x = epf_word(seed, 8 + (__u32)i);
		__u64 key = epf_word(seed, 4096 + (__u32)(x / 64 % 97));

		if (x % 64 == 0 && !HALF(&f)) {
			EPF(retire)(&f);
		} else if (x % 64 < 2) {
			EPF(rotate)(&f);
		} else if (x % 64 < 26) {
			good &= *answers && verdict_char(EPF(test)(&f, key)) == *answers;
			answers += !!*answers;
		} else {
			EPF(insert)(&f, key);
		}
	}
	for (i = 0; i < EPF(words)(shape); i++)
		value = fold(value, f.word[i]);
	filter_free(&f);
	return good && !*answers && (!memory || value == *memory);
}

/* --- shapes -------------------------------------------------------------- */

struct shape_words {
	SHAPE s;
	__u64 words;
};

/* Invalid shapes are refused and change no memory. @zero: EPF(words) is 0 for them. */
static inline void check_shapes(const SHAPE *bad, int nr_bad, bool zero,
				const struct shape_words *good, int nr_good)
{
	FILTER f = { .word = (__u64 *)&f };
	bool fine = true;
	int i;

	for (i = 0; i < nr_bad; i++)
		fine &= EPF(init)(&f, &bad[i]) == -EINVAL && (!zero || !EPF(words)(&bad[i]));
	tap_ok(fine && f.word == (__u64 *)&f, "%d bad shapes are refused", nr_bad);
	for (fine = true, i = 0; i < nr_good; i++)
		fine &= EPF(words)(&good[i].s) == good[i].words && !EPF(init)(&f, &good[i].s);
	tap_ok(fine && f.word == (__u64 *)&f, "%d shapes take the words they should", nr_good);
}
#define SHAPES 2 /* points */

/* --- keys ---------------------------------------------------------------- */

/* Insert keys of stream @seed: @now in the current generation, @keys in each earlier
 * one.
 */
static inline void fill(FILTER *f, __u64 seed, __u64 keys, __u64 now)
{
	__u64 g, i, last = WARM(&f->shape);
	__u32 n = 0;

	for (g = 0; g <= last; g++) {
		for (i = 0; i < (g < last ? keys : now); i++)
			EPF(insert)(f, epf_word(seed, ++n));
		if (g < last)
			EPF(rotate)(f);
	}
}

/* Return: share of @queries keys of no generation that are reported present. */
static inline double measure(const FILTER *f, __u64 seed, __u64 queries)
{
	__u64 i, hits = 0;

	for (i = 0; i < queries; i++)
		hits += EPF(test)(f, epf_word(seed ^ i << 24, 7)) != EPF_ABSENT;
	return (double)hits / (double)queries;
}

#endif /* EPF_TEST_KIND_FIXED_H */
