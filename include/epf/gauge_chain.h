/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The false-positive-rate estimator of kind chain, see gauge.h: that of lanes (estimate.h)
 * for each of its tables, in which a key is looked up independently.
 */
#ifndef EPF_GAUGE_CHAIN_H
#define EPF_GAUGE_CHAIN_H

#include "chain.h"
#include "estimate.h"

/**
 * struct epf_chain_gauge - sums over samples; zeroed before the first sample
 * @cover: for all tables; they have the same L and k
 * @fill: of each table; a switch between two samples blurs them
 * @samples: number of samples
 */
struct epf_chain_gauge {
	struct epf_cover cover;
	struct epf_fill fill[EPF_CHAIN_TABLES];
	__u64 samples;
};

/**
 * epf_chain_gauge() - take one more sample: a line of each part of each table
 * @g: estimator
 * @f: filter whose time has been set
 * @random: 64 bits
 */
EPF_FN_BIG void epf_chain_gauge(struct epf_chain_gauge *g,
				const struct epf_chain *f, __u64 random)
{
	__u32 i;

	for (i = 0; i < f->nr; i++) {
		struct epf_lanes lanes = epf_chain_lanes(f, i);

		if (!g->samples++)
			epf_cover_init(&g->cover, &lanes.geom);
		epf_fill_add(&g->fill[i], &g->cover, &lanes,
			     epf_mulhi(random, lanes.geom.part_lines));
	}
}

/**
 * epf_chain_gauge_q56() - the probability of a false positive, as sampled
 * @g: estimator
 * @f: filter
 */
EPF_FN_BIG __u64 epf_chain_gauge_q56(const struct epf_chain_gauge *g,
				     const struct epf_chain *f)
{
	__u64 any = 0;
	__u32 i;

	for (i = 0; i < f->nr; i++)
		any = epf_either_q56(any, epf_fill_q56(&g->fill[i],
						       f->shape.parts));
	return any;
}

/**
 * epf_chain_gauge_layer_q56() - the same for one epoch alone
 * @g: estimator
 * @f: filter
 * @age: of the epoch, 0 .. 7
 * @fill: set to the share of set positions in its lanes
 */
EPF_FN_BIG __u64 epf_chain_gauge_layer_q56(const struct epf_chain_gauge *g,
					   const struct epf_chain *f, __u32 age,
					   __u64 *fill)
{
	__u64 any = 0, set = 0, seen = 0;
	__u32 l = (f->epoch - age) & 7, i;

	for (i = 0; i < f->nr; i++) {
		const struct epf_fill *s = &g->fill[i];

		any = epf_either_q56(any, epf_fill_lane_q56(s, f->shape.parts,
							    l));
		set += s->bits[l];
		seen += s->lines * f->shape.parts * EPF_LANE_BITS;
	}
	*fill = epf_ratio_q56(set, seen);
	return any;
}

#endif /* EPF_GAUGE_CHAIN_H */
