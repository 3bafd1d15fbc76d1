/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulation of kinds made of slices that age, compared with their predictions:
 * error, accesses of Algorithm 1, ages, keys reported beyond the window.
 *
 * The simulation has independent filters in their steady state, each with its
 * own keys. Keys of one filter share its slices, so the sample is of filters,
 * not of keys: the interval is that of Student's t over the means of FILTERS
 * filters, 99.9 %, two-sided. It needs everything that aged_laws.h needs.
 */
#ifndef EPF_TEST_AGED_SIM_H
#define EPF_TEST_AGED_SIM_H

#include "aged_laws.h"

#include <kinds/aged.h>

#define FILTERS 24
#define T_999 3.768 /* Student's t, 23 degrees of freedom, 0.9995 */
#define QUERIES 40000

#include "mean.h"

static bool mean_is(const struct mean *m, double predicted)
{
	return fabs(mean_of(m) - predicted) <=
	       mean_margin(m) + 1e-9 * predicted; /* if nothing varies */
}

/**
 * struct seen - what a sample of filters showed
 * @fpr: rate of false positives
 * @absent: accesses for a key reported absent
 * @false_hit: accesses for a false positive
 * @window: accesses for a key of the window, ages 0 .. l-1
 * @age: share of keys of age l/2 that are reported with that age
 * @expired: share of keys of age l + 1 .. 3 that are found
 */
struct seen {
	struct mean fpr, absent, false_hit, window, age, expired[3];
};

/* Return: key @n of the generation @age shifts ago; -1: keys of no generation. */
static __u64 sim_digest(int filter, int age, int n)
{
	return epf_word(epf_word(filter + 100, 1 + n), 2 + age);
}

static FILTER sim_fill(const SHAPE *shape, int filter, int keys, int part)
{
	FILTER f = filter_new(shape);
	int age, i;

	for (age = 2 * (int)(shape->k + shape->l); age >= 0; age--) {
		for (i = 0; i < (age ? keys : part); i++)
			EPF(insert)(&f, sim_digest(filter, age, i));
		if (age)
			EPF(rotate)(&f);
	}
	return f;
}

/* Algorithm 1, with a count of its accesses. */
static bool counted(const FILTER *f, __u64 digest, double *accesses)
{
	struct epf_seek q = epf_seek_begin(&f->ring);

	while (q.at >= 0) {
		++*accesses;
		if (epf_seek_step(&q, EPF(hit)(f, digest, (__u32)q.at)))
			return true;
	}
	return false;
}

static void sim_absent(const FILTER *f, int filter, struct seen *seen)
{
	double cost[2] = { 0 }, count[2] = { 0 };
	int i;

	for (i = 0; i < QUERIES; i++) {
		double accesses = 0;
		bool hit = counted(f, sim_digest(filter, -1, i), &accesses);

		cost[hit] += accesses;
		count[hit]++;
	}
	mean_add(&seen->fpr, count[1] / QUERIES);
	mean_add(&seen->absent, cost[0] / count[0]);
	if (count[1] > 0)
		mean_add(&seen->false_hit, cost[1] / count[1]);
}

static void sim_present(const FILTER *f, int filter, int keys,
			struct seen *seen)
{
	int l = (int)f->ring.l, age, i;
	double cost = 0, exact = 0;

	for (i = 0; i < keys; i++) {
		for (age = 0; age < l; age++)
			counted(f, sim_digest(filter, age, i), &cost);
		exact += EPF(test)(f, sim_digest(filter, l / 2, i)) ==
			 EPF_PRESENT + l / 2;
	}
	mean_add(&seen->window, cost / keys / l);
	mean_add(&seen->age, exact / keys);
	for (age = 1; age <= 3; age++) {
		double found = 0;

		for (i = 0; i < keys; i++)
			found += EPF(query)(f, sim_digest(filter, l + age, i));
		mean_add(&seen->expired[age - 1], found / keys);
	}
}

/* @keys: keys of each generation; @part: keys of the current one. @part = @keys
 * is the worst phase, and the only one at which inserted keys are looked up.
 */
static struct seen simulate(const SHAPE *shape, int keys, int part)
{
	struct seen seen;
	int i;

	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < FILTERS; i++) {
		FILTER f = sim_fill(shape, i, keys, part);

		sim_absent(&f, i, &seen);
		if (part == keys)
			sim_present(&f, i, keys, &seen);
		filter_free(&f);
	}
	return seen;
}

static bool seen_present(const struct seen *seen, const struct epf_rates *r)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (!mean_is(&seen->expired[i], epf_aged_expired(r, i + 1)))
			return false;
	return mean_is(&seen->window, epf_aged_accesses(r, EPF_AGED_WINDOW)) &&
	       mean_is(&seen->age, epf_aged_age_exact(r, r->l / 2));
}

static bool seen_absent(const struct seen *seen, const struct epf_rates *r)
{
	return mean_is(&seen->fpr, epf_aged_fpr(r)) &&
	       mean_is(&seen->absent, epf_aged_accesses(r, EPF_AGED_ABSENT)) &&
	       mean_is(&seen->false_hit, epf_aged_accesses(r, EPF_AGED_FALSE));
}

/* Return: does @ours round to @value, which has @digits decimals? */
static bool printed(double ours, double value, int digits)
{
	double unit = pow(10, -digits);

	return fabs(ours - value) <= unit / 2 * (1 + 1e-3);
}

#endif /* EPF_TEST_AGED_SIM_H */
