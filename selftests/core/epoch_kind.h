/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of kinds whose epochs end one by one: properties, prediction against
 * measurement, and sizing. The includer provides what kind_fixed.h needs, and the
 * kind's sizing.
 */
#ifndef EPF_TEST_EPOCH_KIND_H
#define EPF_TEST_EPOCH_KIND_H

#include "epoch_laws.h"

/**
 * struct load - the load of FILTERS filters
 * @s: their shape
 * @keys: keys in each earlier generation
 * @now: keys in the current generation
 * @queries: lookups in each filter
 */
struct load {
	SHAPE s;
	__u64 keys, now, queries;
};

/* Measure the error of FILTERS filters for row @nr of a table; @look is called on each. */
static struct mean measure_all(const struct load *l, int nr, void (*look)(const FILTER *f))
{
	struct mean rate = { 0, 0 };
	int i;

	for (i = 0; i < FILTERS; i++) {
		__u64 seed = epf_word(nr * 1000 + i, 99);
		FILTER f = filter_new(&l->s);

		fill(&f, seed, l->keys, l->now);
		mean_add(&rate, measure(&f, ~seed, l->queries));
		if (look)
			look(&f);
		filter_free(&f);
	}
	return rate;
}

/* Are errors as predicted? @naive is a wrong prediction that the intervals must reject,
 * or NAN where it need not be wrong; @what names it.
 */
static inline void predictions(const struct load *l, int nr, double model,
			       double (*naive)(const struct load *l), const char *what)
{
	int i, refused = 0, asked = 0;

	for (i = 0; i < nr; i++) {
		struct mean rate = measure_all(&l[i], i, NULL);
		double p = EPF(fpr)(&l[i].s, (double)l[i].keys, (double)l[i].now);
		double wrong = naive(&l[i]);

		tap_ok(mean_is(&rate, p, model),
		       "%s, %llu and %llu keys: predicted %.5f, measured %.5f +- %.5f",
		       tell(&l[i].s), l[i].keys, l[i].now, p, mean_of(&rate), mean_margin(&rate));
		asked += !isnan(wrong);
		refused += !isnan(wrong) && !mean_is(&rate, wrong, model);
	}
	tap_ok(asked && refused == asked, "%s: refused %d times of %d", what, refused, asked);
}

/* --- sizing -------------------------------------------------------------- */

/**
 * struct ask - a request for a size
 * @req: the guarantee asked for
 * @err: expected result, 0 or a negative errno
 * @epochs: expected epochs of the size; 0: any
 */
struct ask {
	struct EPF(req) req;
	int err;
	__u32 epochs;
};

/* Is @size the smallest that keeps the guarantee? */
static bool is_least(const struct EPF(req) * req, const struct EPF(size) * size);

/* Do sizes keep their guarantee in the memory they report, or give the reason why not?
 * @above: relative amount by which the error may exceed the budget.
 */
static void check_sizes(const struct ask *ask, int nr, double above)
{
	bool fine = true;
	int i;

	for (i = 0; i < nr; i++) {
		const struct EPF(req) *req = &ask[i].req;
		struct EPF(size) size;
		int err = EPF(size)(req, &size);

		fine &= err == ask[i].err;
		if (err)
			continue;
		printf("# W=%g budget %g: %s, %.2f bits/key, %.3g\n", req->keys_per_window,
		       req->budget, tell(&size.shape),
		       (double)size.bytes * 8 / req->keys_per_window, size.fpr);
		fine &= size.fpr <= req->budget * (1 + above) &&
			size.bytes == 8 * EPF(words)(&size.shape) && is_least(req, &size) &&
			(!ask[i].epochs || EPOCHS(&size.shape) == ask[i].epochs) &&
			(!(req->slack > 0) || 1.0 / EPOCHS(&size.shape) <= req->slack);
	}
	tap_ok(fine, "sizing keeps %d promises or says why not", nr);
}

#endif /* EPF_TEST_EPOCH_KIND_H */
