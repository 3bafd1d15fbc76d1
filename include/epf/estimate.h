/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The error rate a filter has right now, estimated from the fill of sampled lines. Integers
 * only; for the rotation worker, never for a packet path.
 *
 * Each of a key's k/L fields selects one of the n set positions, or none, with probability
 * (n + 2) / 64, so all fields do with that probability to the power k/L. The mean over the
 * lines of part j is the probability that a key never inserted hits there. A false positive
 * hits in all L parts in the same epoch (product), in any retained epoch (complement of the
 * product of complements). The estimate assumes that no key hits a lane without positions:
 * most such lanes are stale, and in the others only keys whose fields select no position
 * are found, one in 32^k.
 *
 * Apart from that it is an upper bound. A key that selects few positions hits more easily,
 * and in all epochs alike, so its hits come together. With four or more fields per line, an
 * error of .089 is overstated by 1.3 % of it, and an error below .01 not measurably.
 */
#ifndef EPF_ESTIMATE_H
#define EPF_ESTIMATE_H

#include "q56.h"
#include "window.h"

#define EPF_FILL_SAMPLES 2048u /* of each part, at most */

/**
 * struct epf_fill - sums over sampled lines, by part and lane
 * @chance: sum of q56 probabilities, scaled by 2^-12 to leave room for the sum
 * @bits: sum of set positions
 * @lines: lines sampled in each part
 */
struct epf_fill {
	__u64 chance[EPF_PARTS_MAX][EPF_LANES];
	__u64 bits[EPF_LANES];
	__u64 lines;
};
#define EPF_FILL_SHIFT 12

/**
 * struct epf_estimates - the error rate as last sampled, ppt
 * @fpr: of the whole filter
 * @lane_fill: fraction of positions that are set, by epoch modulo 8
 * @lane_fpr: share of the error, by epoch modulo 8
 */
struct epf_estimates {
	__u64 fpr;
	__u64 lane_fill[EPF_LANES];
	__u64 lane_fpr[EPF_LANES];
};

/* ((n + 2) / 64)^@k in q56 for @n set positions; 0 if none is set. */
EPF_FN __u64 epf_cover_q56(__u32 n, __u32 k)
{
	__u64 q = n ? EPF_Q56_ONE : 0;

	while (k--)
		q = q * (n + EPF_FIELDS - EPF_LANE_BITS) >> EPF_FIELD_SHIFT;
	return q;
}

/* Probability of a hit, by number of set positions. */
struct epf_cover {
	__u64 q56[EPF_LANE_BITS + 1];
};

EPF_FN void epf_cover_init(struct epf_cover *c, const struct epf_geom *g)
{
	__u32 n;

	for (n = 0; n <= EPF_LANE_BITS; n++)
		c->q56[n] = epf_cover_q56(n, g->bits);
}

/**
 * epf_fill_add() - add one line of each part to a sample
 * @s: sample
 * @c: of the same geometry
 * @f: filter
 * @i: index of the line within its part, below part_lines
 *
 * Context: any; reads lanes without ordering: bits that appear meanwhile may or may not be
 * counted.
 */
EPF_FN void epf_fill_add(struct epf_fill *s, const struct epf_cover *c, const struct epf_lanes *f,
			 __u64 i)
{
	__u64 e = epf_load(f->epoch);
	__u32 j, l;

	for (j = 0; j < f->geom.parts; j++) {
		const struct epf_line *line = f->line + j * f->geom.part_lines + i;

		for (l = 0; l < EPF_LANES; l++) {
			__u64 v = epf_load(&line->lane[l]);
			__u32 n = epf_popcount(v & ~EPF_TAG_MASK);

			if ((v & EPF_TAG_MASK) != epf_lane_tag(e, l))
				continue;
			s->chance[j][l] += c->q56[n] >> EPF_FILL_SHIFT;
			s->bits[l] += n;
		}
	}
	s->lines++;
}

/**
 * epf_fill_sample() - add the next lines of each part to a sample
 * @s: sample, zeroed before the first call
 * @c: of the same geometry
 * @f: filter
 * @random: any number, the same for the whole sample
 * @nr: lines of each part to add in this call, 1 and up
 *
 * The whole sample is EPF_FILL_SAMPLES lines of each part, or all if there are fewer,
 * evenly spaced from a random offset.
 *
 * Context: as epf_fill_add().
 * Return: whether lines are left for another call.
 */
EPF_FN bool epf_fill_sample(struct epf_fill *s, const struct epf_cover *c,
			    const struct epf_lanes *f, __u64 random, __u64 nr)
{
	__u64 lines = f->geom.part_lines, offset = random % lines;
	__u64 all = lines < EPF_FILL_SAMPLES ? lines : EPF_FILL_SAMPLES;

	for (; nr && s->lines < all; nr--)
		epf_fill_add(s, c, f, (s->lines * lines + offset) / all);
	return s->lines < all;
}

/* False-positive probability of lane @l alone, q56. */
EPF_FN __u64 epf_fill_lane_q56(const struct epf_fill *s, __u32 parts, __u32 l)
{
	__u64 q = EPF_Q56_ONE;
	__u32 j;

	if (!s->lines)
		return 0;
	for (j = 0; j < parts; j++)
		q = epf_mul_q56(q, s->chance[j][l] / s->lines << EPF_FILL_SHIFT);
	return q;
}

/**
 * epf_fill_q56() - false-positive probability of the filter as sampled
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

/**
 * epf_fill_estimates() - convert a sample to the units of the ABI
 * @s: sample of at least one line
 * @parts: L
 * @est: result
 */
EPF_FN void epf_fill_estimates(const struct epf_fill *s, __u32 parts, struct epf_estimates *est)
{
	__u64 positions = s->lines * parts * EPF_LANE_BITS;
	__u32 l;

	est->fpr = epf_q56_to_ppt(epf_fill_q56(s, parts));
	for (l = 0; l < EPF_LANES; l++) {
		est->lane_fill[l] = s->bits[l] * EPF_RATE_ONE / positions;
		est->lane_fpr[l] = epf_q56_to_ppt(epf_fill_lane_q56(s, parts, l));
	}
}

#endif /* EPF_ESTIMATE_H */
