/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulation of the aging-slice kinds against their predictions: error, accesses of
 * Algorithm 1, ages, and keys still reported after the window; also the papers' tables.
 *
 * The filters are independent and in their steady state; each has its own keys.
 */
#ifndef EPF_TEST_AGED_SIM_H
#define EPF_TEST_AGED_SIM_H

#include "aged_laws.h"

#include <kinds/aged.h>

#define QUERIES 40000

/**
 * struct seen - measurements of a sample of filters
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

/* Return: key @n, as inserted by fill(), of the generation that was current @age shifts
 * ago.
 */
static __u64 sim_key(const FILTER *f, __u64 seed, int keys, int age, int n)
{
	int generation = (int)WARM(&f->shape) - age;

	return epf_word(seed, (__u32)(generation * keys + n + 1));
}

/* Run Algorithm 1 and count its accesses. */
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

static void sim_absent(const FILTER *f, __u64 seed, struct seen *seen)
{
	double cost[2] = { 0 }, count[2] = { 0 };
	int i;

	for (i = 0; i < QUERIES; i++) {
		double accesses = 0;
		bool hit = counted(f, epf_word(~seed ^ (__u64)i << 24, 7), &accesses);

		cost[hit] += accesses;
		count[hit]++;
	}
	mean_add(&seen->fpr, count[1] / QUERIES);
	mean_add(&seen->absent, cost[0] / count[0]);
	if (count[1] > 0)
		mean_add(&seen->false_hit, cost[1] / count[1]);
}

static void sim_present(const FILTER *f, __u64 seed, int keys, struct seen *seen)
{
	int l = (int)f->ring.l, age, i;
	double cost = 0, exact = 0;

	for (i = 0; i < keys; i++) {
		for (age = 0; age < l; age++)
			counted(f, sim_key(f, seed, keys, age, i), &cost);
		exact += EPF(test)(f, sim_key(f, seed, keys, l / 2, i)) == EPF_PRESENT + l / 2;
	}
	mean_add(&seen->window, cost / keys / l);
	mean_add(&seen->age, exact / keys);
	for (age = 1; age <= 3; age++) {
		double found = 0;

		for (i = 0; i < keys; i++)
			found += EPF(query)(f, sim_key(f, seed, keys, l + age, i));
		mean_add(&seen->expired[age - 1], found / keys);
	}
}

/* Simulate with @keys keys in each generation, and @part in the current one. @part =
 * @keys is the worst phase, and the only one at which inserted keys are looked up.
 */
static struct seen simulate(const SHAPE *shape, int keys, int part)
{
	struct seen seen;
	int i;

	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < FILTERS; i++) {
		__u64 seed = epf_word(i, 99);
		FILTER f = filter_new(shape);

		fill(&f, seed, keys, part);
		sim_absent(&f, seed, &seen);
		if (part == keys)
			sim_present(&f, seed, keys, &seen);
		filter_free(&f);
	}
	return seen;
}

#define EVEN 1e-9 /* for quantities without variance */

static bool seen_present(const struct seen *seen, const struct epf_rates *r)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (!mean_is(&seen->expired[i], epf_aged_expired(r, i + 1), EVEN))
			return false;
	return mean_is(&seen->window, epf_aged_accesses(r, EPF_AGED_WINDOW), EVEN) &&
	       mean_is(&seen->age, epf_aged_age_exact(r, r->l / 2), EVEN);
}

static bool seen_absent(const struct seen *seen, const struct epf_rates *r)
{
	return mean_is(&seen->fpr, epf_aged_fpr(r), EVEN) &&
	       mean_is(&seen->absent, epf_aged_accesses(r, EPF_AGED_ABSENT), EVEN) &&
	       mean_is(&seen->false_hit, epf_aged_accesses(r, EPF_AGED_FALSE), EVEN);
}

/* Computes the predictions, and a wrong prediction that the intervals have to reject. */
typedef void rates_fn(const SHAPE *s, const struct epf_aged_load *load, struct epf_rates *r);

/* Simulate at a quarter of the last generation, and at its end. */
static void simulation(const SHAPE *s, int keys, rates_fn *rates, rates_fn *naive, const char *what)
{
	struct epf_rates r;
	int quarter;

	for (quarter = 1; quarter <= 4; quarter += 3) {
		int part = keys * quarter / 4;
		struct seen seen = simulate(s, keys, part);
		struct epf_aged_load load = { keys, (double)part / keys };

		rates(s, &load, &r);
		tap_ok(seen_absent(&seen, &r),
		       "%s phase %.2f: error predicted %.5f, met %.5f +- %.5f, accesses", tell(s),
		       load.phase, epf_aged_fpr(&r), mean_of(&seen.fpr), mean_margin(&seen.fpr));
		if (quarter < 4)
			continue;
		tap_ok(seen_present(&seen, &r),
		       "%s: accesses, ages, what is found beyond the window", tell(s));
		naive(s, &load, &r);
		tap_ok(!mean_is(&seen.fpr, epf_aged_fpr(&r), EVEN), "%s: %s: error %.5f, refused",
		       tell(s), what, epf_aged_fpr(&r));
	}
}
#define SIMULATION 4 /* points */

/* Does @ours round to @value when printed with @digits after the decimal point? */
static bool printed(double ours, double value, int digits)
{
	double unit = pow(10, -digits);

	return fabs(ours - value) <= unit / 2 * (1 + 1e-3);
}

/* Check one cell of a paper's table: it must be as printed, or as corrected and then
 * not as printed.
 * @right: the correction, or NULL.
 */
static bool cell_differs(const SHAPE *s, int column, double ours, double theirs,
			 const double *right, int digits)
{
	if (right ? printed(ours, *right, digits) && !printed(ours, theirs, digits) :
		    printed(ours, theirs, digits))
		return false;
	printf("# %s column %d: printed %g, ours %.7g\n", tell(s), column, theirs, ours);
	return true;
}

#endif /* EPF_TEST_AGED_SIM_H */
