/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probabilities of runs of hits among slices that age; the predictions of
 * apbf.h and apbbf.h are based on them. Shtul, Baquero and Almeida, 2020,
 * sections 2, 5.2 to 5.4.
 */
#ifndef LIBEPF_KINDS_AGED_H
#define LIBEPF_KINDS_AGED_H

#include <stdbool.h>

#include <epf/aged.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_aged_load - contents of a filter in its steady state, that is, after
 *	k + l shifts; younger filters have fewer false positives
 * @keys: distinct keys of a generation, g
 * @phase: how full the current generation is, 0 .. 1; 1 is the worst
 */
struct epf_aged_load {
	double keys;
	double phase;
};

/**
 * struct epf_rates - the probability of a hit in each slice
 * @k: slices that hold a key
 * @l: generations of the window
 * @phase: as in the load
 * @r: of the slices 0 .. k+l-1, for a key never inserted
 */
struct epf_rates {
	unsigned int k;
	unsigned int l;
	double phase;
	double r[EPF_AGED_SLICES_MAX];
};

/* Generations that slice @i has taken; the current one counts by its phase. */
static inline double epf_aged_had(const struct epf_rates *rates, unsigned int i)
{
	return i < rates->k ? i + rates->phase : rates->k;
}

/* Probability of @k < EPF_AGED_SLICES_MAX hits in a row among @n slices, which
 * hit independently with the probabilities @r.
 */
double epf_aged_run(const double *r, unsigned int n, unsigned int k);

/* Probability that a key never inserted is reported present: F(k, l, 0, 0). */
double epf_aged_fpr(const struct epf_rates *rates);

/**
 * enum epf_aged_case - keys that Algorithm 1 looks up
 * @EPF_AGED_ABSENT: keys reported absent, A(k, l, 0, 0, 0, l) / (1 - F)
 * @EPF_AGED_FALSE: false positives
 * @EPF_AGED_WINDOW: keys of the window, with ages uniform over 0 .. l-1
 */
enum epf_aged_case { EPF_AGED_ABSENT, EPF_AGED_FALSE, EPF_AGED_WINDOW };

/* The mean number of slices that Algorithm 1 reads. */
double epf_aged_accesses(const struct epf_rates *rates, enum epf_aged_case whom);

/* Probability that a key inserted once, of age @age <= l, is reported with that age. */
double epf_aged_age_exact(const struct epf_rates *rates, unsigned int age);

/* Probability that a key inserted l + @more shifts ago is still reported; @more
 * >= 1.
 */
double epf_aged_expired(const struct epf_rates *rates, unsigned int more);

/**
 * epf_aged_npws() - mean number of keys that have left the window and are still
 *	reported, as a share of the window l g
 * @rates: rates; only those of slice l and older slices are used
 *
 * The formula of section 5.2 at the given phase, with the slices' rates in place
 * of 1/2. Phase 1 gives the peak. Runs that other slices complete are left out.
 */
double epf_aged_npws(const struct epf_rates *rates);

/* The most keys beyond the window that may be reported, as a share of the
 * window, at the worst phase.
 */
static inline double epf_aged_slack(unsigned int k, unsigned int l)
{
	return (double)k / l;
}

/**
 * struct epf_aged_req - requirements
 * @keys_per_window: insertions always kept, 1 and up
 * @budget: false-positive rate at the worst phase, 1e-9 .. 0.5
 * @slack: upper limit for the keys beyond the window that may be reported, as a
 *	share of the window: k/l; 0: no limit
 * @npws: the same for their mean number, at the worst phase; 0: no limit
 * @max_bytes: memory limit; 0: none
 * @max_slices: upper limit for k + l, which bounds the cost of a query;
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
 * struct epf_aged_layout - how a kind uses memory
 * @rates: sets rates->r for slices of @units units; more units never give higher
 *	rates
 * @arg: argument of @rates
 * @unit_words: words of a unit
 * @max_units: the most units of a slice
 * @max_k: the largest k to try
 */
struct epf_aged_layout {
	void (*rates)(const void *arg, __u64 units, const struct epf_aged_load *load,
		      struct epf_rates *rates);
	const void *arg;
	__u64 unit_words;
	__u64 max_units;
	unsigned int max_k;
};

/**
 * struct epf_aged_best - a shape
 * @words: memory; 0: none found yet
 * @units: units of a slice
 * @k: slices that hold a key
 * @l: generations of the window
 * @generation: insertions after which a shift is due
 * @fpr: predicted false-positive rate at the worst phase
 * @npws: predicted epf_aged_npws() at the worst phase
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
 * epf_aged_search() - find the shape with the least memory, then the least k
 * @req: valid requirements
 * @layout: the kind's layout
 * @best: replaced if this layout needs less memory
 *
 * Return: whether @best was replaced.
 */
bool epf_aged_search(const struct epf_aged_req *req, const struct epf_aged_layout *layout,
		     struct epf_aged_best *best);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_AGED_H */
