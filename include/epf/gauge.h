/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The error rate that a filter of an owned kind has right now, from sampled
 * memory. Integers only. A sample is taken under the filter's lock and reads few
 * words; what samples say is computed from the gauge and the filter's struct
 * alone, while nobody rotates. Asking random keys would take millions of them at
 * a rate of 1e-6; the share of set bits is known to a hundredth from two thousand
 * words.
 *
 * What counts is what the kind's test() looks at: not a retired epoch or slice.
 * How chances come from what is set: gauge_epochs.h, gauge_aged.h, gauge_dict.h.
 *
 * Keys of different epochs are taken as different: where the same ones come in
 * every epoch, and the filter errs often, the rate is less than told.
 *
 * A rotation between two samples blurs what is told by one epoch or slice.
 */
#ifndef EPF_GAUGE_H
#define EPF_GAUGE_H

#include "gebl.h"
#include "q56.h"

#define EPF_GAUGE_LAYERS 256u
#define EPF_GAUGE_SAMPLES 2048u		 /* a good number */
#define EPF_GAUGE_SAMPLES_MAX (1u << 20) /* what the sums have room for */
#define EPF_GAUGE_SHIFT 12

/**
 * struct epf_gauge - what was sampled; zeroed before the first sample
 * @chance: by layer, an epoch or slice, the youngest first: sum of q56 chances
 *	times 2^-12; dict: of pass marks. Of tlbf layers are places of the ring
 * @set: set bits; dict: live cells of the first table
 * @seen: bits looked at; dict: live cells of the backyard
 * @samples: taken
 * @any: gebl: sum of the chances of groups, likewise
 * @inverse: gebl: 2^63 / (B - i)
 * @turn: aged kinds: the slice to be looked at next
 * @passed_cells: dict: live cells of buckets with a pass mark
 * @spilt: dict: buckets with a spill mark and none of pass
 * @spilt_cells: dict: live cells of those
 */
struct epf_gauge {
	__u64 chance[EPF_GAUGE_LAYERS];
	__u32 set[EPF_GAUGE_LAYERS];
	__u32 seen[EPF_GAUGE_LAYERS];
	__u64 samples;
	__u64 any;
	__u64 inverse[EPF_GEBL_BITS_MAX];
	__u32 turn;
	__u32 passed_cells;
	__u32 spilt;
	__u32 spilt_cells;
};

#define EPF_GAUGE_ONE (EPF_Q56_ONE >> EPF_GAUGE_SHIFT)

/* The mean of @n chances of which @sum is the sum; 0: there are none. */
EPF_FN __u64 epf_gauge_mean(__u64 sum, __u64 n)
{
	return n ? sum / n << EPF_GAUGE_SHIFT : 0;
}

/* Share of bits set in a layer. */
EPF_FN __u64 epf_gauge_fill(const struct epf_gauge *g, __u32 layer)
{
	return epf_ratio_q56(g->set[layer], g->seen[layer]);
}

/* Take one of @words words into layer @layer; they have @bits bits in all. What
 * is behind those may be anything: it may have come from a file.
 */
EPF_FN void epf_gauge_word(struct epf_gauge *g, __u32 layer, const __u64 *word,
			   __u64 words, __u64 bits, __u64 random)
{
	__u64 at = epf_mulhi(random, words);
	__u32 n = bits - 64 * at < 64 ? (__u32)(bits - 64 * at) : 64;

	g->set[layer] += epf_popcount(word[at] << (64 - n));
	g->seen[layer] += n;
}

#endif /* EPF_GAUGE_H */
