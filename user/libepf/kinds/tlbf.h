/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time-limited Bloom filter: an owner in the process, prediction, sizing.
 */
#ifndef LIBEPF_KINDS_TLBF_H
#define LIBEPF_KINDS_TLBF_H

#include <epf/tlbf.h>

#include "aged.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_tlbf_owner - a filter with its slices in memory of the process
 * @f: filter; @f.nr is its slices
 * @words: of all slices, spare included
 * @words_peak: the most so far
 * @max_words: no slice is allocated beyond; 0: no limit
 * @refused: how often a slice was due and not to be had
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
 * @now_ns: on the caller's clock, as everywhere
 *
 * Return: 0; -EINVAL: bad shape; -ENOMEM: the first slices are not to be had,
 * or exceed the limit.
 */
int epf_tlbf_open(struct epf_tlbf_owner *o, const struct epf_tlbf_shape *s,
		  __u64 max_words, __u64 now_ns);
void epf_tlbf_close(struct epf_tlbf_owner *o);

/**
 * epf_tlbf_care() - free what expired, shift if that is due
 * @o: filter
 * @now_ns: time
 *
 * Without memory there is no shift: the error grows until the next call that
 * finds some. Not needed beside insertions, but frees memory while there are
 * none.
 */
void epf_tlbf_care(struct epf_tlbf_owner *o, __u64 now_ns);

/* Insert one key, with all the care that takes. */
void epf_tlbf_put(struct epf_tlbf_owner *o, __u64 digest, __u64 now_ns);

/**
 * enum epf_tlbf_fill - how the share of set bits is told
 * @EPF_TLBF_KEYS: 1 - (1 - 1/m)^n; too high where keys come again
 * @EPF_TLBF_COUNTED: by counting
 */
enum epf_tlbf_fill { EPF_TLBF_KEYS, EPF_TLBF_COUNTED };

/* Predicted false-positive rate at that moment. */
double epf_tlbf_fpr(const struct epf_tlbf *f, enum epf_tlbf_fill fill,
		    __u64 now_ns);

/**
 * epf_tlbf_steady() - the slices at a steady rate, at the worst moment
 * @k: slices a key is in
 * @l: generations in T; k + l < EPF_AGED_SLICES_MAX
 * @rates: set, for k + l + 1 slices half full, as the oldest expires a little
 *	after the shift: one generation more than l
 */
void epf_tlbf_steady(unsigned int k, unsigned int l, struct epf_rates *rates);

/**
 * struct epf_tlbf_req - what a filter is to promise
 * @span_ns: T
 * @rate: insertions a second, expected; others cost memory or error for a while
 * @budget: false-positive rate at a steady rate, 1e-9 .. 0.5
 * @slack: at the most so long beyond T a key may be reported, as a share of it:
 *	k/l, the last 1/l of it for sure; 0: any
 * @max_slices: k + l at most; 0: as many as there may be
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
 * @words: memory at the steady rate: of k + l + 1 slices
 * @fpr: predicted at the worst phase, of k + l + 1 slices that count
 * @late_ns: staleness: how long beyond T a key may be reported, but for chance
 */
struct epf_tlbf_size {
	struct epf_tlbf_shape shape;
	__u64 words;
	double fpr;
	__u64 late_ns;
};

/**
 * epf_tlbf_size() - the shape with the least memory at the expected rate
 * @req: promise
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -ENOSPC: no shape keeps it.
 */
int epf_tlbf_size(const struct epf_tlbf_req *req, struct epf_tlbf_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_TLBF_H */
