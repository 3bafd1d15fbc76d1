/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
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
 * enum epf_apbf_ramp - model of the fill of slices that are still being filled
 * @EPF_APBF_EXACT: 1 - (1 - 1/m)^n after n keys
 * @EPF_APBF_LINEAR: the paper's model (section 5.3): proportional to n, up to the
 *	fill of a full slice; this underestimates the younger slices
 */
enum epf_apbf_ramp { EPF_APBF_EXACT, EPF_APBF_LINEAR };

/* Size of a generation for which full slices have half of their bits set: m ln
 * 2 / k.
 */
double epf_apbf_generation(const struct epf_apbf_shape *s);

/* Compute the probability of a hit in each slice. */
void epf_apbf_rates(const struct epf_apbf_shape *s, const struct epf_aged_load *load,
		    enum epf_apbf_ramp ramp, struct epf_rates *rates);

/* Predicted false-positive rate, exact ramp. */
double epf_apbf_fpr(const struct epf_apbf_shape *s, const struct epf_aged_load *load);

/**
 * struct epf_apbf_size - a shape
 * @shape: to create
 * @generation: insertions after which a shift is due
 * @fpr: predicted false-positive rate at the worst phase
 * @npws: predicted mean of the keys reported after they left the window, as a
 *	share of the window, at the worst phase
 */
struct epf_apbf_size {
	struct epf_apbf_shape shape;
	double generation;
	double fpr;
	double npws;
};

/**
 * epf_apbf_size() - find the shape with the least memory
 * @req: requirements
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -ENOSPC: no shape within the
 * memory limit, or within the limits of the kind, keeps the promise.
 */
int epf_apbf_size(const struct epf_aged_req *req, struct epf_apbf_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_APBF_H */
