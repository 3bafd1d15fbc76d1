/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chances of runs of hits among slices that age: what apbf.h and apbbf.h
 * predict with. Shtul, Baquero and Almeida, 2020, sections 2, 5.2 to 5.4.
 */
#ifndef LIBEPF_KINDS_AGED_H
#define LIBEPF_KINDS_AGED_H

#include <stdbool.h>

#include <epf/aged.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_aged_load - what a filter holds, in its steady state: after k + l
 *	shifts; younger filters err less
 * @keys: distinct keys of a generation, g
 * @phase: how full the current generation is, 0 .. 1; 1 is the worst
 */
struct epf_aged_load {
	double keys;
	double phase;
};

/**
 * struct epf_rates - the chance of a hit, slice by slice
 * @k: slices a key is in
 * @l: generations of the window
 * @phase: as in the load
 * @r: for a key never inserted, of the slices 0 .. k+l-1
 */
struct epf_rates {
	unsigned int k;
	unsigned int l;
	double phase;
	double r[EPF_AGED_SLICES_MAX];
};

/* Generations that slice @i has got, the current one by its phase. */
static inline double epf_aged_had(const struct epf_rates *rates, unsigned int i)
{
	return i < rates->k ? i + rates->phase : rates->k;
}

/* Chance of @k < EPF_AGED_SLICES_MAX hits in a row among @n slices, which hit
 * with the chances @r, independently.
 */
double epf_aged_run(const double *r, unsigned int n, unsigned int k);

/* Chance that a key never inserted is present: F(k, l, 0, 0). */
double epf_aged_fpr(const struct epf_rates *rates);

/**
 * enum epf_aged_case - whom Algorithm 1 is asked about
 * @EPF_AGED_ABSENT: keys told absent, A(k, l, 0, 0, 0, l) / (1 - F)
 * @EPF_AGED_FALSE: false positives
 * @EPF_AGED_WINDOW: keys of the window, ages 0 .. l-1 alike
 */
enum epf_aged_case { EPF_AGED_ABSENT, EPF_AGED_FALSE, EPF_AGED_WINDOW };

/* Slices that Algorithm 1 asks for, in the mean. */
double epf_aged_accesses(const struct epf_rates *rates,
			 enum epf_aged_case whom);

/* Chance that a key of age @age <= l, inserted once, is told to have it. */
double epf_aged_age_exact(const struct epf_rates *rates, unsigned int age);

/* Chance that a key inserted l + @more shifts ago is still present; 1 and up. */
double epf_aged_expired(const struct epf_rates *rates, unsigned int more);

/**
 * epf_aged_npws() - keys that have left the window and are still reported, in
 *	the mean, as a share of the window l g
 * @rates: of which slice l and older count
 *
 * The formula of section 5.2 at the given phase, with the slices' rates for its
 * 1/2; at phase 1 the peak. Runs completed by other slices are left out.
 */
double epf_aged_npws(const struct epf_rates *rates);

/* Keys beyond the window that may be reported at all, at the worst phase. */
static inline double epf_aged_slack(unsigned int k, unsigned int l)
{
	return (double)k / l;
}

/**
 * struct epf_aged_req - what a filter is to promise
 * @keys_per_window: insertions always kept, 1 and up
 * @budget: false-positive rate at the worst phase, 1e-9 .. 0.5
 * @slack: at the most so many keys beyond the window may be reported, as a
 *	share of it: k/l; 0: any
 * @npws: and in the mean so many, at the worst phase; 0: any
 * @max_bytes: memory limit; 0: none
 * @max_slices: k + l at most, which bounds what a query may cost;
 *	0: EPF_AGED_SLICES_MAX
 */
struct epf_aged_req {
	double keys_per_window;
	double budget;
	double slack;
	double npws;
	__u64 max_bytes;
	unsigned int max_slices;
};

/**
 * struct epf_aged_layout - how a kind spends memory
 * @rates: sets rates->r for slices of so many units; more never hit more often
 * @arg: for @rates
 * @unit_words: words of a unit
 * @max_units: of a slice
 * @max_k: to be tried
 */
struct epf_aged_layout {
	void (*rates)(const void *arg, __u64 units,
		      const struct epf_aged_load *load,
		      struct epf_rates *rates);
	const void *arg;
	__u64 unit_words;
	__u64 max_units;
	unsigned int max_k;
};

/**
 * struct epf_aged_best - a shape
 * @words: memory; 0: none found yet
 * @units: of a slice
 * @k: slices a key is in
 * @l: generations of the window
 * @generation: insertions after which a shift is due
 * @fpr: predicted, at the worst phase
 * @npws: likewise
 */
struct epf_aged_best {
	__u64 words;
	__u64 units;
	unsigned int k;
	unsigned int l;
	double generation;
	double fpr;
	double npws;
};

bool epf_aged_req_sound(const struct epf_aged_req *req);

/**
 * epf_aged_search() - the shape of the least memory, then the least k
 * @req: sound
 * @layout: of the kind
 * @best: replaced where this layout needs less memory
 *
 * Return: whether @best was replaced.
 */
bool epf_aged_search(const struct epf_aged_req *req,
		     const struct epf_aged_layout *layout,
		     struct epf_aged_best *best);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_AGED_H */
