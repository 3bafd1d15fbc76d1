/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time-limited Bloom filter: filters in this process, prediction, sizing.
 */
#ifndef LIBEPF_KINDS_TLBF_H
#define LIBEPF_KINDS_TLBF_H

#include <epf/tlbf.h>

#include "aged.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_tlbf_owner - a filter with its slices in the memory of this process
 * @f: filter; @f.nr is the number of its slices
 * @words: words of all slices, including the spare one
 * @words_peak: the maximum of @words so far
 * @max_words: limit for @words; 0: no limit
 * @refused: how often a slice was due and could not be allocated
 */
struct epf_tlbf_owner {
	struct epf_tlbf f;
	__u64 words;
	__u64 words_peak;
	__u64 max_words;
	__u64 refused;
};

/**
 * epf_tlbf_open() - make an empty filter
 * @o: filter
 * @s: shape
 * @max_words: memory limit; 0: none
 * @now_ns: time on the caller's clock, as in all functions
 *
 * Return: 0; -EINVAL: bad shape; -ENOMEM: there is no memory for the first slices,
 * or they exceed the limit.
 */
int epf_tlbf_open(struct epf_tlbf_owner *o, const struct epf_tlbf_shape *s, __u64 max_words,
		  __u64 now_ns);
void epf_tlbf_close(struct epf_tlbf_owner *o);

/**
 * epf_tlbf_care() - free expired slices, and shift if that is due
 * @o: filter
 * @now_ns: time
 *
 * Without memory there is no shift, and the false-positive rate grows until a call
 * can allocate. epf_tlbf_put() calls this function; call it yourself to free memory
 * while there are no insertions.
 */
void epf_tlbf_care(struct epf_tlbf_owner *o, __u64 now_ns);

/* Insert one key and call epf_tlbf_care() as needed. */
void epf_tlbf_put(struct epf_tlbf_owner *o, __u64 digest, __u64 now_ns);

/**
 * enum epf_tlbf_fill - how the share of set bits is determined
 * @EPF_TLBF_KEYS: 1 - (1 - 1/m)^n; too high if keys repeat
 * @EPF_TLBF_COUNTED: by counting
 */
enum epf_tlbf_fill { EPF_TLBF_KEYS, EPF_TLBF_COUNTED };

/* Predicted false-positive rate at @now_ns. */
double epf_tlbf_fpr(const struct epf_tlbf *f, enum epf_tlbf_fill fill, __u64 now_ns);

/**
 * epf_tlbf_steady() - rates of the slices at a steady rate, at the worst moment
 * @k: slices that hold a key
 * @l: generations in T; k + l < EPF_AGED_SLICES_MAX
 * @rates: set for k + l + 1 half-full slices: the oldest slice expires a little
 *	after the shift, so there is one generation more than l
 */
void epf_tlbf_steady(unsigned int k, unsigned int l, struct epf_rates *rates);

/**
 * struct epf_tlbf_req - requirements
 * @span_ns: T
 * @rate: expected insertions per second; at a different rate the filter needs more
 *	memory or has more false positives for a while
 * @budget: false-positive rate at a steady rate, 1e-9 .. 0.5
 * @slack: upper limit for the time beyond T that a key may be reported, as a share
 *	of T: k/l, of which 1/l is certain; 0: no limit
 * @max_slices: upper limit for k + l; 0: EPF_AGED_SLICES_MAX
 */
struct epf_tlbf_req {
	__u64 span_ns;
	double rate;
	double budget;
	double slack;
	unsigned int max_slices;
};

/**
 * struct epf_tlbf_size - a shape
 * @shape: to create; timed
 * @words: memory of k + l + 1 slices at the steady rate
 * @fpr: predicted at the worst phase, for k + l + 1 slices
 * @late_ns: staleness: how long beyond T a key may be reported, apart from false
 *	positives
 */
struct epf_tlbf_size {
	struct epf_tlbf_shape shape;
	__u64 words;
	double fpr;
	__u64 late_ns;
};

/**
 * epf_tlbf_size() - find the shape with the least memory at the expected rate
 * @req: requirements
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -ENOSPC: no shape meets them.
 */
int epf_tlbf_size(const struct epf_tlbf_req *req, struct epf_tlbf_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_TLBF_H */
