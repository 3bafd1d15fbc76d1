/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Age-partitioned blocked Bloom filter: prediction and sizing.
 */
#ifndef LIBEPF_KINDS_APBBF_H
#define LIBEPF_KINDS_APBBF_H

#include <epf/apbbf.h>

#include "aged.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of keys that set half the bits of a block: ln 2 / -ln(1 - b/B). */
double epf_apbbf_block_keys(unsigned int block_bits, unsigned int bits);

/* Size of a generation for which full slices have half of their bits set. */
double epf_apbbf_generation(const struct epf_apbbf_shape *s);

/**
 * epf_apbbf_rates() - compute the probability of a hit in each slice
 * @s: valid shape
 * @load: contents
 * @rates: result
 *
 * The number of keys in a block is taken as Poisson, as in the paper's table. It
 * is binomial, which matters with few blocks.
 */
void epf_apbbf_rates(const struct epf_apbbf_shape *s, const struct epf_aged_load *load,
		     struct epf_rates *rates);

/* Predicted false-positive rate. */
double epf_apbbf_fpr(const struct epf_apbbf_shape *s, const struct epf_aged_load *load);

/**
 * struct epf_apbbf_size - a shape
 * @shape: to create
 * @generation: insertions after which a shift is due
 * @fpr: predicted false-positive rate at the worst phase
 * @npws: predicted mean of the keys reported after they left the window, as a
 *	share of the window, at the worst phase
 */
struct epf_apbbf_size {
	struct epf_apbbf_shape shape;
	double generation;
	double fpr;
	double npws;
};

/**
 * epf_apbbf_size() - find the shape with the least memory
 * @req: requirements
 * @block_bits: B; 0: any
 * @bits: b; 0: any
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -ENOSPC: no shape within the
 * memory limit, or within the limits of the kind, keeps the promise.
 */
int epf_apbbf_size(const struct epf_aged_req *req, unsigned int block_bits, unsigned int bits,
		   struct epf_apbbf_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_APBBF_H */
