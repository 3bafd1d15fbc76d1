// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Age-partitioned blocked Bloom filter: prediction and sizing.
 *
 * In a block of j keys a given bit of a part is set with probability 1 - (1 -
 * b/B)^j, independently in the b parts. j is Poisson. So a slice hits with
 * probability
 *
 *	sum over j of e^-load load^j / j! (1 - (1 - b/B)^j)^b
 *
 * All terms are positive: nothing cancels, however small the probability is.
 */
#include "apbbf.h"

#include <math.h>

#define K_MAX 16        /* the largest k to try */
#define BITS_MAX 16     /* the largest b to try */
#define REACH 9.0       /* the sum covers so many standard deviations of j */
#define REACH_MORE 30.0 /* and so much more, for small loads */

double epf_apbbf_block_keys(unsigned int block_bits, unsigned int bits)
{
	return log(2) / -log1p(-(double)bits / block_bits);
}

double epf_apbbf_generation(const struct epf_apbbf_shape *s)
{
	return epf_apbbf_block_keys(s->block_bits, s->bits) * (double)s->nr_blocks / s->k;
}

/* x^b for a power of two b. */
static double power(double x, unsigned int b)
{
	for (; b > 1; b /= 2)
		x *= x;
	return x;
}

/* Probability of a hit in a slice with @load keys per block. */
static double hit(double load, unsigned int block_bits, unsigned int bits)
{
	double miss = 1 - (double)bits / block_bits;
	double reach = REACH * sqrt(load) + REACH_MORE;
	double j = floor(fmax(load - reach, 0));
	double p, unset, sum = 0;

	if (!(load > 0))
		return 0;
	p = exp(j * log(load) - load - lgamma(j + 1));
	unset = pow(miss, j);
	for (; j <= load + reach; j++) {
		sum += p * power(1 - unset, bits);
		p *= load / (j + 1);
		unset *= miss;
	}
	return sum;
}

void epf_apbbf_rates(const struct epf_apbbf_shape *s, const struct epf_aged_load *load,
		     struct epf_rates *rates)
{
	double block = load->keys / (double)s->nr_blocks;
	unsigned int i;

	rates->k = s->k;
	rates->l = s->l;
	rates->phase = load->phase;
	for (i = 0; i <= s->k; i++)
		rates->r[i] = hit(epf_aged_had(rates, i) * block, s->block_bits, s->bits);
	for (; i < s->k + s->l; i++)
		rates->r[i] = rates->r[s->k];
}

double epf_apbbf_fpr(const struct epf_apbbf_shape *s, const struct epf_aged_load *load)
{
	struct epf_rates rates;

	epf_apbbf_rates(s, load, &rates);
	return epf_aged_fpr(&rates);
}

/* A unit is a block. @arg: the shape; only its B and b are used. */
static void block_rates(const void *arg, __u64 units, const struct epf_aged_load *load,
			struct epf_rates *rates)
{
	struct epf_apbbf_shape s = *(const struct epf_apbbf_shape *)arg;

	s.nr_blocks = units;
	s.k = rates->k;
	s.l = rates->l;
	epf_apbbf_rates(&s, load, rates);
}

/* Search with one B and b. */
static void try_block(const struct epf_aged_req *req, unsigned int block_bits, unsigned int bits,
		      struct epf_aged_best *best, struct epf_apbbf_shape *shape)
{
	struct epf_apbbf_shape s = { .block_bits = block_bits, .bits = bits };
	struct epf_aged_layout layout = {
		.rates = block_rates,
		.arg = &s,
		.unit_words = block_bits / 64,
		.max_units = EPF_APBBF_BITS_MAX / block_bits,
		.max_k = K_MAX,
	};

	if (!epf_aged_search(req, &layout, best))
		return;
	*shape = s;
	shape->nr_blocks = best->units;
	shape->k = best->k;
	shape->l = best->l;
}

int epf_apbbf_size(const struct epf_aged_req *req, unsigned int block_bits, unsigned int bits,
		   struct epf_apbbf_size *size)
{
	struct epf_aged_best best = { 0 };
	unsigned int block, b, tried = 0;

	if (!epf_aged_req_sound(req))
		return -EINVAL;
	for (block = EPF_APBBF_BLOCK_MAX; block >= EPF_APBBF_BLOCK_MIN; block /= 2) {
		for (b = 1; b <= BITS_MAX; b *= 2) {
			if ((block_bits && block != block_bits) || (bits && b != bits) ||
			    !epf_apbbf_part_shift(block, b))
				continue;
			try_block(req, block, b, &best, &size->shape);
			tried++;
		}
	}
	if (!best.words)
		return tried ? -ENOSPC : -EINVAL;
	size->generation = best.generation;
	size->fpr = best.fpr;
	size->npws = best.npws;
	return 0;
}
