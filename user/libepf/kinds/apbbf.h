/* SPDX-License-Identifier: GPL-2.0 */
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

/* Keys a block can have until half its bits are set: ln 2 / -ln(1 - b/B). */
double epf_apbbf_block_keys(unsigned int block_bits, unsigned int bits);

/* Keys of a generation that leave full slices half full. */
double epf_apbbf_generation(const struct epf_apbbf_shape *s);

/**
 * epf_apbbf_rates() - the chance of a hit, slice by slice
 * @s: sound
 * @load: contents
 * @rates: result
 *
 * The keys that meet in a block are taken as Poisson, as in the paper's table;
 * they are binomial, which matters with few blocks.
 */
void epf_apbbf_rates(const struct epf_apbbf_shape *s,
		     const struct epf_aged_load *load, struct epf_rates *rates);

/* Predicted false-positive rate. */
double epf_apbbf_fpr(const struct epf_apbbf_shape *s,
		     const struct epf_aged_load *load);

/**
 * struct epf_apbbf_size - a shape
 * @shape: to create
 * @generation: insertions after which a shift is due
 * @fpr: predicted false-positive rate at the worst phase
 * @npws: predicted share of the window that is reported beyond it, likewise
 */
struct epf_apbbf_size {
	struct epf_apbbf_shape shape;
	double generation;
	double fpr;
	double npws;
};

/**
 * epf_apbbf_size() - the shape with the least memory
 * @req: promise
 * @block_bits: B; 0: any
 * @bits: b; 0: any
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -ENOSPC: no shape within the
 * memory limit, or within what a filter may have, keeps the promise.
 */
int epf_apbbf_size(const struct epf_aged_req *req, unsigned int block_bits,
		   unsigned int bits, struct epf_apbbf_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_APBBF_H */
