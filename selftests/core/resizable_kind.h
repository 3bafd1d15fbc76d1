/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of resizable kinds besides their properties: the script of known answers that
 * selftests/model/resizable.py describes, and prediction compared with simulation. Before
 * including it, define what resizable_laws.h requires, and:
 *
 *	FILL(name)	the kind's constant of that name, for EPF(fpr)
 *	SCRIPT_RATES	initializer: rates of the eighths of a script
 *	SCRIPT_GAPS	number of parts of T in which gaps are given
 *
 * and define the functions declared here afterwards.
 */
#ifndef EPF_TEST_FLUID_KIND_H
#define EPF_TEST_FLUID_KIND_H

#define QUERIES 20000
#define OWNER struct EPF(owner)
#define SCRIPTS_GLUE(kind) kind##_scripts
#define SCRIPTS_OF(kind) SCRIPTS_GLUE(kind)
#define SCRIPTS SCRIPTS_OF(KIND)

#include "resizable_laws.h"

/* Called before each operation, whether the owner comes or not. */
static void pass(FILTER *f, __u64 now);

/* Return: a hash of the whole filter. */
static __u64 fold_all(const FILTER *f, __u64 now, __u64 value);

static bool known_answers(int row)
{
	static const unsigned int rates[] = SCRIPT_RATES;
	unsigned int steps = SCRIPTS[row].steps;
	unsigned int seed = SCRIPTS[row].seed, i;
	__u64 span = SCRIPTS[row].shape.span_ns, now = 0, value = 0;
	const char *c = SCRIPTS[row].answers;
	struct care care = { .early = seed % 2 };
	FILTER f;

	start(&f, &SCRIPTS[row].shape);
	for (i = 0; i < steps; i++) {
		__u64 x = epf_word(seed, 8 + i);
		__u64 key = epf_word(seed, 4096 + (__u32)(x / 256 % 97));

		now += (x >> 32) % (2 * (span / 64) / rates[8 * i / steps] + 1);
		if (x % 256 == 255)
			now += (x >> 60) * (span / SCRIPT_GAPS);
		pass(&f, now);
		if (x / 64 % 4 || seed % 3 == 0)
			value = come(&f, now, &care, value);
		if (x % 64 >= 8)
			EPF(insert)(&f, key, now);
		else if (!*c || verdict_char(EPF(test)(&f, key, now)) != *c++)
			break;
	}
	value = fold_all(&f, now, value);
	stop(&f);
	return i == steps && !*c && value == SCRIPTS[row].fold;
}

/**
 * struct moment - a moment in a script of two parts
 * @rate: keys per STRETCH, at even intervals
 * @length: lengths of the parts, in STRETCHes
 * @max_words: memory limit, beyond which existing memory is overfilled; 0: none
 */
struct moment {
	const char *name;
	__u64 rate[2];
	double length[2];
	__u64 max_words;
};

/**
 * struct outcome - state of FILTERS filters at a moment
 * @error: measured error
 * @counted: error predicted from counted bits
 * @predicted: error predicted from the keys inserted
 * @nr: number of tables or slices
 * @limited: with a limit: memory was refused, and the limit was kept
 */
struct outcome {
	struct mean error, counted;
	double predicted;
	__u32 nr;
	bool limited;
};

static double met(const FILTER *f, __u64 now, int filter)
{
	int i, found = 0;

	for (i = 0; i < QUERIES; i++)
		found += EPF(query)(f, epf_word(~0ULL - filter, i + 1), now);
	return (double)found / QUERIES;
}

static void simulate_one(struct outcome *out, const struct moment *m, const SHAPE *s, int filter)
{
	__u64 now = 0, end = 0;
	__u32 n = 0;
	OWNER o;
	int part;

	if (EPF(open)(&o, s, m->max_words, 0))
		abort();
	for (part = 0; part < 2; part++) {
		end += (__u64)(m->length[part] * STRETCH);
		for (; now < end; now += STRETCH / m->rate[part])
			EPF(put)(&o, epf_word(filter + 1000, ++n), now);
	}
	out->nr = o.f.nr;
	out->predicted = EPF(fpr)(&o.f, FILL(KEYS), now);
	mean_add(&out->counted, EPF(fpr)(&o.f, FILL(COUNTED), now));
	mean_add(&out->error, met(&o.f, now, filter));
	out->limited &= !o.refused == !m->max_words &&
			(!m->max_words || o.words_peak <= m->max_words);
	EPF(close)(&o);
}

static struct outcome simulate(const struct moment *m, const SHAPE *s)
{
	struct outcome out = { .limited = true };
	int i;

	for (i = 0; i < FILTERS; i++)
		simulate_one(&out, m, s, i);
	return out;
}

static bool as_predicted(const struct outcome *o)
{
	return o->limited && mean_is(&o->error, o->predicted, 0) &&
	       mean_is(&o->counted, o->predicted, 0);
}

#endif /* EPF_TEST_FLUID_KIND_H */
