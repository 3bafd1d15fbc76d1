/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Age-partitioned Bloom filter: prediction and sizing.
 */
#ifndef LIBEPF_KINDS_APBF_H
#define LIBEPF_KINDS_APBF_H

#include <epf/apbf.h>

#include "aged.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum epf_apbf_ramp - how full the slices are that are being filled
 * @EPF_APBF_EXACT: 1 - (1 - 1/m)^n after n keys
 * @EPF_APBF_LINEAR: the paper's (section 5.3): in proportion to n, up to what
 *	the full slice has; this underrates the younger slices
 */
enum epf_apbf_ramp { EPF_APBF_EXACT, EPF_APBF_LINEAR };

/* Keys of a generation that leave full slices half full: m ln 2 / k. */
double epf_apbf_generation(const struct epf_apbf_shape *s);

/* The chance of a hit, slice by slice. */
void epf_apbf_rates(const struct epf_apbf_shape *s,
		    const struct epf_aged_load *load, enum epf_apbf_ramp ramp,
		    struct epf_rates *rates);

/* Predicted false-positive rate, exact ramp. */
double epf_apbf_fpr(const struct epf_apbf_shape *s,
		    const struct epf_aged_load *load);

/**
 * struct epf_apbf_size - a shape
 * @shape: to create
 * @generation: insertions after which a shift is due
 * @fpr: predicted false-positive rate at the worst phase
 * @npws: predicted share of the window that is reported beyond it, likewise
 */
struct epf_apbf_size {
	struct epf_apbf_shape shape;
	double generation;
	double fpr;
	double npws;
};

/**
 * epf_apbf_size() - the shape with the least memory
 * @req: promise
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -ENOSPC: no shape within the
 * memory limit, or within what a filter may have, keeps the promise.
 */
int epf_apbf_size(const struct epf_aged_req *req, struct epf_apbf_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_APBF_H */
