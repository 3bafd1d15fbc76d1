/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The false-positive-rate estimator for locked kinds: the error rate that a filter has
 * right now, from sampled memory. Integers only. A sample is taken under the filter's lock
 * and reads few words. The estimate is computed from the samples and the filter's struct
 * alone, while nobody rotates. Looking up random keys would take millions of them at a rate
 * of 1e-6; two thousand words give the share of set bits to a hundredth.
 *
 * The estimate covers exactly what the kind's test() looks at: not a retired epoch or
 * slice. kind_KIND.h derives probabilities from set bits.
 *
 * Keys of different epochs are assumed to differ: if the same keys come in every epoch, and
 * the filter errs often, the rate is lower than reported.
 *
 * A rotation between two samples blurs the numbers of single epochs or slices.
 */
#ifndef EPF_ESTIMATOR_H
#define EPF_ESTIMATOR_H

#include "gebl.h"
#include "q56.h"

#define EPF_ESTIMATOR_LAYERS 256u
#define EPF_ESTIMATOR_SAMPLES 2048u          /* a good number of samples */
#define EPF_ESTIMATOR_SAMPLES_MAX (1u << 20) /* limit of the sums */
#define EPF_ESTIMATOR_SHIFT 12

/**
 * struct epf_estimator - sums over samples; zeroed before the first sample
 * @chance: by layer, an epoch or slice, the youngest first: sum of q56 probabilities times
 *	2^-12; dict: of pass marks. For tlbf, layers are places of the ring
 * @set: set bits; dict: live cells of the first table; elastic: bits of items
 * @seen: bits examined; dict: live cells of the backyard
 * @samples: number of samples
 * @any: gebl: sum of the probabilities of groups, elastic: of a hit in any epoch, times 2^-12
 * @inverse: gebl: 2^63 / (B - i)
 * @turn: aged kinds: the next slice to examine
 * @passed_cells: dict: live cells of buckets with a pass mark
 * @spilt: dict: buckets with a spill mark and no pass mark
 * @spilt_cells: dict: live cells of those
 */
struct epf_estimator {
	__u64 chance[EPF_ESTIMATOR_LAYERS];
	__u32 set[EPF_ESTIMATOR_LAYERS];
	__u32 seen[EPF_ESTIMATOR_LAYERS];
	__u64 samples;
	__u64 any;
	__u64 inverse[EPF_GEBL_BITS_MAX];
	__u32 turn;
	__u32 passed_cells;
	__u32 spilt;
	__u32 spilt_cells;
};

#define EPF_ESTIMATOR_ONE (EPF_Q56_ONE >> EPF_ESTIMATOR_SHIFT)

/* The mean of @n probabilities whose sum is @sum; 0 if there are none. */
EPF_FN __u64 epf_estimator_mean(__u64 sum, __u64 n)
{
	return n ? sum / n << EPF_ESTIMATOR_SHIFT : 0;
}

/* Share of bits set in a layer. */
EPF_FN __u64 epf_estimator_fill(const struct epf_estimator *g, __u32 layer)
{
	return epf_ratio_q56(g->set[layer], g->seen[layer]);
}

/* Add one of @words words to layer @layer; these words have @bits bits in all. Bits beyond
 * those may have any value, because they may come from a file.
 */
EPF_FN void epf_estimator_word(struct epf_estimator *g, __u32 layer, const __u64 *word, __u64 words,
			       __u64 bits, __u64 random)
{
	__u64 at = epf_mulhi(random, words);
	__u32 n = bits - 64 * at < 64 ? (__u32)(bits - 64 * at) : 64;

	g->set[layer] += epf_popcount(word[at] << (64 - n));
	g->seen[layer] += n;
}

#endif /* EPF_ESTIMATOR_H */
