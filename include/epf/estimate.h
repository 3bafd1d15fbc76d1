/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The error rate a filter has right now, from the fill of sampled lines.
 * Integers only; for the rotation worker, never for a packet path.
 *
 * k_j distinct random positions all fall on the n set ones of 62 with chance
 * C(n, k_j) / C(62, k_j). The mean over the lines of part j is the chance that
 * a key never inserted hits there; a false positive hits in all L parts in the
 * same epoch (product), in any retained epoch (complement of the product of
 * complements).
 */
#ifndef EPF_ESTIMATE_H
#define EPF_ESTIMATE_H

#include "q56.h"
#include "window.h"

#define EPF_FILL_SAMPLES 2048u	     /* lines of each part, at the most */

/**
 * struct epf_fill - sums over sampled lines, by part and lane
 * @chance: sum of q56 chances, scaled by 2^-12 to leave room for the sum
 * @bits: sum of set positions
 * @lines: lines sampled in each part
 */
struct epf_fill {
	__u64 chance[EPF_PARTS_MAX][EPF_LANES];
	__u64 bits[EPF_LANES];
	__u64 lines;
};
#define EPF_FILL_SHIFT 12

/* C(n, k) / C(62, k) in q56. */
EPF_FN __u64 epf_cover_q56(__u32 n, __u32 k)
{
	__u64 q = EPF_Q56_ONE;
	__u32 i;

	for (i = 0; i < k; i++) {
		if (n <= i)
			return 0;
		q = q * (n - i) / (EPF_LANE_BITS - i);
	}
	return q;
}

/* Chance of a hit by position count: one table for each size of mask. */
struct epf_cover {
	__u64 q56[2][EPF_LANE_BITS + 1];
};

EPF_FN void epf_cover_init(struct epf_cover *c, const struct epf_geom *g)
{
	__u32 n;

	for (n = 0; n <= EPF_LANE_BITS; n++) {
		c->q56[0][n] = epf_cover_q56(n, epf_geom_bits(g, 0));
		c->q56[1][n] = epf_cover_q56(n, epf_geom_bits(g, g->parts - 1));
	}
}

/**
 * epf_fill_add() - take one line of each part into a sample
 * @s: sample
 * @c: of the same geometry
 * @f: filter
 * @i: index of the line within its part, below part_lines
 *
 * Context: any; reads lanes without order: bits that appear meanwhile may or
 * may not be counted.
 */
EPF_FN void epf_fill_add(struct epf_fill *s, const struct epf_cover *c,
			 const struct epf_lanes *f, __u64 i)
{
	__u64 e = epf_load(f->epoch);
	__u32 j, l;

	for (j = 0; j < f->geom.parts; j++) {
		const struct epf_line *line =
			f->line + j * f->geom.part_lines + i;
		bool fewer = epf_geom_bits(&f->geom, j) !=
			     epf_geom_bits(&f->geom, 0);

		for (l = 0; l < EPF_LANES; l++) {
			__u64 v = epf_load(&line->lane[l]);
			__u32 n = epf_popcount(v & ~EPF_TAG_MASK);

			if ((v & EPF_TAG_MASK) != epf_lane_tag(e, l))
				continue;
			s->chance[j][l] += c->q56[fewer][n] >> EPF_FILL_SHIFT;
			s->bits[l] += n;
		}
	}
	s->lines++;
}

/* False-positive chance of lane @l alone, q56. */
EPF_FN __u64 epf_fill_lane_q56(const struct epf_fill *s, __u32 parts, __u32 l)
{
	__u64 q = EPF_Q56_ONE;
	__u32 j;

	if (!s->lines)
		return 0;
	for (j = 0; j < parts; j++)
		q = epf_mul_q56(q, s->chance[j][l] / s->lines
					   << EPF_FILL_SHIFT);
	return q;
}

/**
 * epf_fill_q56() - false-positive chance of the filter as sampled
 * @s: sample
 * @parts: L
 *
 * Return: q56.
 */
EPF_FN __u64 epf_fill_q56(const struct epf_fill *s, __u32 parts)
{
	__u64 any = 0;
	__u32 l;

	for (l = 0; l < EPF_LANES; l++)
		any = epf_either_q56(any, epf_fill_lane_q56(s, parts, l));
	return any;
}

#endif /* EPF_ESTIMATE_H */
