// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs of k hits among k + l slices, where each slice hits independently with a
 * given probability.
 */
#include "aged.h"

#include <math.h>

#define WORDS_MAX (EPF_LINES_MAX * EPF_LANES)
#define BUDGET_MIN 1e-9
#define BUDGET_MAX 0.5

/* The recursion of section 5.3, forwards. run[a]: probability that there was no
 * run so far and that the last a slices hit.
 */
double epf_aged_run(const double *r, unsigned int n, unsigned int k)
{
	double run[EPF_AGED_SLICES_MAX] = { 1 };
	double found = 0;
	unsigned int i, a;

	for (i = 0; i < n; i++) {
		double none = 0;

		for (a = 0; a < k; a++)
			none += run[a] * (1 - r[i]);
		found += run[k - 1] * r[i];
		for (a = k - 1; a > 0; a--)
			run[a] = run[a - 1] * r[i];
		run[0] = none;
	}
	return found;
}

double epf_aged_fpr(const struct epf_rates *rates)
{
	return epf_aged_run(rates->r, rates->k + rates->l, rates->k);
}

/* Return: @rates for a key whose bits are in the slices @first to @last. */
static struct epf_rates with_key(const struct epf_rates *rates, unsigned int first,
				 unsigned int last)
{
	struct epf_rates with = *rates;
	unsigned int i;

	for (i = first; i <= last; i++)
		with.r[i] = 1;
	return with;
}

double epf_aged_age_exact(const struct epf_rates *rates, unsigned int age)
{
	struct epf_rates with = with_key(rates, age, age + rates->k - 1);

	return 1 - epf_aged_run(with.r, age + rates->k - 1, rates->k);
}

double epf_aged_expired(const struct epf_rates *rates, unsigned int more)
{
	unsigned int end = rates->k + rates->l;
	struct epf_rates with = *rates;

	if (more < rates->k)
		with = with_key(rates, rates->l + more, end - 1);
	return epf_aged_fpr(&with);
}

/* The rest of a search that begins at some slice: the probability that it
 * fails, and the expected accesses still to come, those of failing and those of
 * successful searches, each weighted by its probability.
 */
struct rest {
	double fails;
	double accesses_failing;
	double accesses_finding;
};

#define RESTS_MAX (EPF_AGED_SLICES_MAX / 2 * (EPF_AGED_SLICES_MAX / 2 + 1))

/* Add the case of a miss after @c hits from slice @s on, which has probability @p. */
static void add_miss(const struct epf_rates *f, struct rest *rest, struct rest *all, unsigned int s,
		     unsigned int c, double p)
{
	struct rest then = { .fails = 1 };

	if (s + c >= f->k)
		then = all[(s + c - f->k) * f->k + c];
	rest->fails += p * then.fails;
	rest->accesses_failing += p * (then.accesses_failing + (c + 1) * then.fails);
	rest->accesses_finding += p * (then.accesses_finding + (c + 1) * (1 - then.fails));
}

/* The recursion A of section 5.4, over the slice @s where a count begins and
 * the number @before of hits known behind it. A jump goes to a smaller @s.
 */
static struct rest search(const struct epf_rates *f)
{
	struct rest all[RESTS_MAX];
	unsigned int s, before, c;

	for (s = 0; s <= f->l; s++) {
		for (before = 0; before < f->k; before++) {
			struct rest rest = { 0 };
			double p = 1;

			for (c = 0; c < f->k - before; c++) {
				add_miss(f, &rest, all, s, c, p * (1 - f->r[s + c]));
				p *= f->r[s + c];
			}
			rest.accesses_finding += p * c;
			all[s * f->k + before] = rest;
		}
	}
	return all[f->l * f->k];
}

static double window_accesses(const struct epf_rates *rates)
{
	double sum = 0;
	unsigned int age;

	for (age = 0; age < rates->l; age++) {
		struct epf_rates with = with_key(rates, age, age + rates->k - 1);

		sum += search(&with).accesses_finding;
	}
	return sum / rates->l;
}

double epf_aged_accesses(const struct epf_rates *rates, enum epf_aged_case whom)
{
	struct rest rest;

	if (whom == EPF_AGED_WINDOW)
		return window_accesses(rates);
	rest = search(rates);
	if (whom == EPF_AGED_FALSE)
		return rest.accesses_finding / epf_aged_fpr(rates);
	return rest.accesses_failing / rest.fails;
}

double epf_aged_npws(const struct epf_rates *rates)
{
	double sum = rates->phase, p = 1;
	unsigned int more;

	for (more = 1; more < rates->k; more++) {
		p *= rates->r[rates->l + more - 1];
		sum += p;
	}
	return sum / rates->l;
}

/* A search for k and l: the requirements, and the shape being tried. */
struct trial {
	const struct epf_aged_req *req;
	const struct epf_aged_layout *layout;
	struct epf_aged_load load;
	struct epf_rates rates;
};

static __u64 words_of(const struct trial *t, __u64 units)
{
	__u64 n = units * t->layout->unit_words * (t->rates.k + t->rates.l);

	return (n + 7) & ~7ULL;
}

static bool aged_keeps(struct trial *t, __u64 units)
{
	t->layout->rates(t->layout->arg, units, &t->load, &t->rates);
	if (t->req->npws > 0 && epf_aged_npws(&t->rates) > t->req->npws)
		return false;
	return epf_aged_fpr(&t->rates) <= t->req->budget;
}

/* Return: the fewest units, up to @most, that keep the promise; 0: none do. */
static __u64 least(struct trial *t, __u64 most)
{
	__u64 low = 1;

	if (!most || !aged_keeps(t, most))
		return 0;
	while (low < most) {
		__u64 mid = low + (most - low) / 2;

		if (aged_keeps(t, mid))
			most = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Return: the most units of a slice for which the shape needs less memory than
 * @best and stays within the limit.
 */
static __u64 most_units(const struct trial *t, const struct epf_aged_best *best)
{
	__u64 words = best->words ? best->words - 8 : WORDS_MAX;
	__u64 limit = t->req->max_bytes / 64 * 8;
	__u64 units;

	if (t->req->max_bytes && limit < words)
		words = limit;
	units = words / (t->rates.k + t->rates.l) / t->layout->unit_words;
	return units < t->layout->max_units ? units : t->layout->max_units;
}

static bool try_shape(struct trial *t, struct epf_aged_best *best)
{
	__u64 units;

	if (t->req->slack > 0 && epf_aged_slack(t->rates.k, t->rates.l) > t->req->slack)
		return false;
	t->load.keys = ceil(t->req->keys_per_window / t->rates.l);
	units = least(t, most_units(t, best));
	if (!units || !aged_keeps(t, units))
		return false;
	best->words = words_of(t, units);
	best->units = units;
	best->k = t->rates.k;
	best->l = t->rates.l;
	best->generation = t->load.keys;
	best->fpr = epf_aged_fpr(&t->rates);
	best->npws = epf_aged_npws(&t->rates);
	return true;
}

bool epf_aged_req_sound(const struct epf_aged_req *req)
{
	return req->keys_per_window >= 1 && isfinite(req->keys_per_window) &&
	       req->budget >= BUDGET_MIN && req->budget <= BUDGET_MAX && req->slack >= 0 &&
	       req->npws >= 0 && req->max_slices <= EPF_AGED_SLICES_MAX;
}

bool epf_aged_search(const struct epf_aged_req *req, const struct epf_aged_layout *layout,
		     struct epf_aged_best *best)
{
	struct trial t = { .req = req, .layout = layout };
	unsigned int slices = req->max_slices;
	bool found = false;
	unsigned int k, l;

	if (!slices)
		slices = EPF_AGED_SLICES_MAX;
	t.load.phase = t.rates.phase = 1;
	for (k = 1; k <= layout->max_k; k++) {
		for (l = 1; k + l <= slices; l++) {
			t.rates.k = k;
			t.rates.l = l;
			found |= try_shape(&t, best);
		}
	}
	return found;
}
