/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The false-positive-rate estimators of kinds ge and gebl, see gauge.h.
 *
 *   ge     If a share p of the positions of an epoch is set, all k positions of a key are
 *          set with probability p^k, and those in one of the epochs with the complement of
 *          the product of complements. What double hashing adds, see docs/theory/ge.md, is
 *          also computed from the p.
 *   gebl   In a block with n of B bits set, k distinct bits are all set with probability
 *          C(n, k) / C(B, k); over the epochs of one group as above; then the mean over
 *          groups. Double hashing has few sequences, about which set bits say nothing: for
 *          one step all B starts are tried.
 */
#ifndef EPF_GAUGE_EPOCHS_H
#define EPF_GAUGE_EPOCHS_H

#include "gauge.h"
#include "ge.h"
#include "gebl.h"

/* Count one line of cells. */
EPF_FN void epf_ge_gauge_cells(struct epf_gauge *g, const struct epf_ge *f,
			       __u64 random)
{
	__u32 cell = epf_ge_cell(&f->shape), age, i;
	__u64 line = epf_mulhi(random, epf_ge_words(&f->shape) / 8);
	__u64 cells = f->shape.segment_bits - (line << (9 - cell));
	const __u64 *word = f->word + 8 * line;

	if (cells > 512u >> cell)
		cells = 512u >> cell;
	for (age = 0; age < epf_ge_counted(f); age++) {
		__u64 column = epf_ge_column(&f->shape)
			       << (f->shape.epochs - epf_ge_segment(f, age));

		for (i = 0; i < 8; i++)
			g->set[age] += epf_popcount(word[i] & column);
		g->seen[age] += (__u32)cells;
	}
}

/**
 * epf_ge_gauge() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads 8 words, or r + 1 with layout EPF_GE_SEGMENTS.
 */
EPF_FN void epf_ge_gauge(struct epf_gauge *g, const struct epf_ge *f,
			 __u64 random)
{
	__u64 words = epf_ge_stride(&f->shape);
	__u32 age;

	g->samples++;
	if (f->shape.layout == EPF_GE_TRANSPOSED) {
		epf_ge_gauge_cells(g, f, random);
		return;
	}
	for (age = 0; age < epf_ge_counted(f); age++)
		epf_gauge_word(g, age,
			       f->word + words * epf_ge_segment(f, age), words,
			       f->shape.segment_bits, random);
}

/* Epochs @from .. @to - 1: powers of their fills, and the roots of these. */
struct epf_ge_union {
	__u64 power[EPF_GE_EPOCHS_MAX + 1];
	__u64 root[EPF_GE_EPOCHS_MAX + 1];
	__u32 from;
	__u32 to;
};

/* The probability of a hit in at least one of the epochs. */
EPF_FN __u64 epf_ge_union_q56(const struct epf_ge_union *u)
{
	__u64 any = 0;
	__u32 e;

	for (e = u->from; e < u->to; e++)
		any = epf_either_q56(any, u->power[e]);
	return any;
}

/* Add half a position. Return: the probability then. */
EPF_FN __u64 epf_ge_union_half(struct epf_ge_union *u)
{
	__u32 e;

	for (e = u->from; e < u->to; e++)
		u->power[e] = epf_mul_q56(u->power[e], u->root[e]);
	return epf_ge_union_q56(u);
}

/* Euler's phi of 0 .. 15, four bits each; larger terms are negligible. */
#define EPF_GE_COPRIME 0x86c4a46462422110ULL

/* What double hashing adds: (1/s) sum over q of 2 phi(q) / (q (k - q)) times the integral
 * from q to k of F(d) - F(k), where F(d) is the probability for d positions, F(k) = @all;
 * by Simpson's rule. @u: at power 1.
 */
EPF_FN __u64 epf_ge_gauge_more(struct epf_ge_union *u,
			       const struct epf_ge_shape *s, __u64 all)
{
	__u64 low = epf_ge_union_q56(u), weight = 0, more = 0;
	__u32 d;

	for (d = 1; d < s->bits; d++) {
		__u64 mid = epf_ge_union_half(u);
		__u64 high = epf_ge_union_half(u);
		__u64 mean = (low + 4 * mid + high) / 6;

		if (d < 16)
			weight += 2 * (EPF_GE_COPRIME >> 4 * d & 15) *
				  EPF_Q56_ONE / (d * (s->bits - d));
		if (mean > all) /* weight: below 8 */
			more += epf_mulhi((mean - all) << 7, weight << 1) /
				s->segment_bits;
		low = high;
	}
	return more;
}

/* The probability for epochs @from .. @to - 1. */
EPF_FN_BIG __u64 epf_ge_gauge_span(const struct epf_gauge *g,
				   const struct epf_ge_shape *s, __u32 from,
				   __u32 to)
{
	struct epf_ge_union u;
	__u64 all;
	__u32 e;

	u.from = from;
	u.to = to;
	for (e = from; e < to; e++)
		u.power[e] = epf_pow_q56(epf_gauge_fill(g, e), s->bits);
	all = epf_ge_union_q56(&u);
	for (e = from; e < to; e++) {
		u.power[e] = epf_gauge_fill(g, e);
		u.root[e] = epf_sqrt_q56(u.power[e]);
	}
	all += epf_ge_gauge_more(&u, s, all);
	return all < EPF_Q56_ONE ? all : EPF_Q56_ONE;
}

/**
 * epf_ge_gauge_q56() - the probability that a key never inserted is present
 * @g: samples
 * @f: filter
 *
 * Return: q56; without a sample 0.
 */
EPF_FN __u64 epf_ge_gauge_q56(const struct epf_gauge *g,
			      const struct epf_ge *f)
{
	return epf_ge_gauge_span(g, &f->shape, 0, epf_ge_counted(f));
}

/**
 * epf_ge_gauge_layer_q56() - the part of one epoch in it
 * @g: samples
 * @f: filter
 * @age: of the epoch
 * @fill_q56: set to the share of its positions that are set
 *
 * Return: the probability that such a key is in that epoch, whatever the others hold; 0
 * with @fill_q56 0 for an epoch that does not count.
 */
EPF_FN __u64 epf_ge_gauge_layer_q56(const struct epf_gauge *g,
				    const struct epf_ge *f, __u32 age,
				    __u64 *fill_q56)
{
	*fill_q56 = 0;
	if (age >= epf_ge_counted(f))
		return 0;
	*fill_q56 = epf_gauge_fill(g, age);
	return epf_ge_gauge_span(g, &f->shape, age, age + 1);
}

/* Double hashing in one group with step @step. Return: the probability of a hit in one of
 * the epochs.
 */
EPF_FN_BIG __u64 epf_gebl_gauge_double(struct epf_gauge *g,
				       const struct epf_gebl *f,
				       const __u64 *group, __u32 step)
{
	__u64 starts[EPF_GEBL_BLOCK_WORDS], any[EPF_GEBL_BLOCK_WORDS] = { 0 };
	__u32 n = epf_gebl_block(&f->shape), age, w, sum = 0;
	__u64 unit = EPF_GAUGE_ONE / f->shape.block_bits;

	for (age = 0; age < epf_gebl_counted(f); age++) {
		epf_gebl_starts(group + epf_gebl_segment(f, age) * n, n,
				f->shape.bits, step, starts);
		for (w = 0; w < n; w++) {
			g->chance[age] += unit * epf_popcount(starts[w]);
			any[w] |= starts[w];
		}
	}
	for (w = 0; w < n; w++)
		sum += epf_popcount(any[w]);
	return unit * sum << EPF_GAUGE_SHIFT;
}

/* The same for distinct positions. */
EPF_FN __u64 epf_gebl_gauge_distinct(struct epf_gauge *g,
				     const struct epf_gebl *f,
				     const __u32 *set)
{
	__u64 any = 0, q;
	__u32 age;

	for (age = 0; age < epf_gebl_counted(f); age++) {
		q = epf_gebl_cover(g->inverse, set[age], f->shape.bits);
		g->chance[age] += q >> EPF_GAUGE_SHIFT;
		any = epf_either_q56(any, q);
	}
	return any;
}

/**
 * epf_gebl_gauge() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads r + 1 adjacent blocks.
 */
EPF_FN_BIG void epf_gebl_gauge(struct epf_gauge *g, const struct epf_gebl *f,
			       __u64 random)
{
	__u32 n = epf_gebl_block(&f->shape), age, i;
	__u64 at = epf_mulhi(random, f->shape.blocks), any;
	const __u64 *group = f->word + at * epf_gebl_group(&f->shape);
	__u32 set[EPF_GEBL_EPOCHS_MAX + 1] = { 0 };

	for (i = 0; !g->samples && i < f->shape.bits; i++)
		g->inverse[i] = (1ULL << 63) / (f->shape.block_bits - i);
	for (age = 0; age < epf_gebl_counted(f); age++) {
		const __u64 *block = group + epf_gebl_segment(f, age) * n;

		for (i = 0; i < n; i++)
			set[age] += epf_popcount(block[i]);
		g->set[age] += set[age];
		g->seen[age] += 64 * n;
	}
	any = f->shape.offsets == EPF_GEBL_DOUBLE ?
		      epf_gebl_gauge_double(g, f, group,
					    (__u32)epf_word(random, 1)) :
		      epf_gebl_gauge_distinct(g, f, set);
	g->any += any >> EPF_GAUGE_SHIFT;
	g->samples++;
}

/* The same as epf_ge_gauge_q56(). */
EPF_FN __u64 epf_gebl_gauge_q56(const struct epf_gauge *g,
				const struct epf_gebl *f)
{
	(void)f;
	return epf_gauge_mean(g->any, g->samples);
}

/* The same as epf_ge_gauge_layer_q56(). */
EPF_FN __u64 epf_gebl_gauge_layer_q56(const struct epf_gauge *g,
				      const struct epf_gebl *f, __u32 age,
				      __u64 *fill_q56)
{
	*fill_q56 = 0;
	if (age >= epf_gebl_counted(f))
		return 0;
	*fill_q56 = epf_gauge_fill(g, age);
	return epf_gauge_mean(g->chance[age], g->samples);
}

#endif /* EPF_GAUGE_EPOCHS_H */
