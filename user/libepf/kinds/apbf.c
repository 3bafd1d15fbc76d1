// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Age-partitioned Bloom filter: prediction and sizing.
 */
#include "apbf.h"

#include <math.h>

#define K_MAX 64 /* the largest k to try; 30 half-full slices have a rate of 1e-9 */

double epf_apbf_generation(const struct epf_apbf_shape *s)
{
	return (double)s->slice_bits * log(2) / s->k;
}

/* Share of set bits after @keys insertions. */
static double apbf_fill(double bits, double keys)
{
	return -expm1(keys * log1p(-1 / bits));
}

void epf_apbf_rates(const struct epf_apbf_shape *s, const struct epf_aged_load *load,
		    enum epf_apbf_ramp ramp, struct epf_rates *rates)
{
	double bits = (double)s->slice_bits;
	double full = apbf_fill(bits, s->k * load->keys);
	unsigned int i;

	rates->k = s->k;
	rates->l = s->l;
	rates->phase = load->phase;
	for (i = 0; i < s->k + s->l; i++) {
		double had = epf_aged_had(rates, i);

		rates->r[i] = ramp == EPF_APBF_EXACT ? apbf_fill(bits, had * load->keys) :
						       full * had / s->k;
	}
}

double epf_apbf_fpr(const struct epf_apbf_shape *s, const struct epf_aged_load *load)
{
	struct epf_rates rates;

	epf_apbf_rates(s, load, EPF_APBF_EXACT, &rates);
	return epf_aged_fpr(&rates);
}

/* A unit is a word. */
static void word_rates(const void *arg, __u64 units, const struct epf_aged_load *load,
		       struct epf_rates *rates)
{
	struct epf_apbf_shape s = { 64 * units, rates->k, rates->l };

	(void)arg;
	epf_apbf_rates(&s, load, EPF_APBF_EXACT, rates);
}

int epf_apbf_size(const struct epf_aged_req *req, struct epf_apbf_size *size)
{
	struct epf_aged_layout layout = {
		.rates = word_rates,
		.unit_words = 1,
		.max_units = EPF_APBF_BITS_MAX / 64,
		.max_k = K_MAX,
	};
	struct epf_aged_best best = { 0 };

	if (!epf_aged_req_sound(req))
		return -EINVAL;
	if (!epf_aged_search(req, &layout, &best))
		return -ENOSPC;
	size->shape.slice_bits = 64 * best.units;
	size->shape.k = best.k;
	size->shape.l = best.l;
	size->generation = best.generation;
	size->fpr = best.fpr;
	size->npws = best.npws;
	return 0;
}
