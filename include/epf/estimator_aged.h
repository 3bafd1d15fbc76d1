/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the false-positive-rate estimators of apbf, apbbf and tlbf have in common, see
 * estimator.h.
 *
 * The probability of a hit in a slice is, for apbf and tlbf, the share of its set bits, and
 * for apbbf the mean over blocks of the product over parts. From these follows the
 * probability of k hits in a row among the slices that count.
 */
#ifndef EPF_ESTIMATOR_AGED_H
#define EPF_ESTIMATOR_AGED_H

#include "aged.h"
#include "estimator.h"

#define EPF_ESTIMATOR_SLICES 16u /* slices that one sample examines */

/* Probability of runs of k hits as slices are added. */
struct epf_runs {
	__u64 run[EPF_AGED_SLICES_MAX]; /* i hits at the end, none of k so far */
	__u64 found;                    /* a run of k so far */
	__u32 k;
};

EPF_FN void epf_runs_begin(struct epf_runs *r, __u32 k)
{
	memset(r, 0, sizeof(*r));
	r->k = k;
	r->run[0] = EPF_Q56_ONE;
}

/* The recursion of section 5.3 of the paper, forwards: add a slice that hits with
 * probability @hit.
 */
EPF_FN void epf_runs_add(struct epf_runs *r, __u64 hit)
{
	__u64 none = EPF_Q56_ONE - r->found;
	__u32 i;

	r->found += epf_mul_q56(r->run[r->k - 1], hit);
	for (i = r->k - 1; i > 0; i--)
		r->run[i] = epf_mul_q56(r->run[i - 1], hit);
	r->run[0] = epf_mul_q56(none, EPF_Q56_ONE - hit);
}

/* Slices that count. */
EPF_FN __u32 epf_aged_counted(const struct epf_aged *a)
{
	return a->k + a->l - a->retired;
}

/**
 * struct epf_row - the slices that count, in a row
 * @first: layer of the youngest; the older ones follow, and layer 0 follows the last layer
 * @nr: slices; 0, or at least @k
 * @k: slices a key is in
 * @block_bits: of the blocks of a slice; 0: it has none
 */
struct epf_row {
	__u32 first;
	__u32 nr;
	__u32 k;
	__u32 block_bits;
};

EPF_FN struct epf_row epf_aged_row(const struct epf_aged *a, __u32 block_bits)
{
	struct epf_row row = { 0, epf_aged_counted(a), a->k, block_bits };

	return row;
}

/* The layer of slice @i. */
EPF_FN __u32 epf_row_layer(struct epf_row row, __u32 i)
{
	return (row.first + i) % EPF_ESTIMATOR_LAYERS;
}

/* The probability of a hit in slice @i. */
EPF_FN __u64 epf_row_hit(const struct epf_estimator *g, struct epf_row row, __u32 i)
{
	__u32 layer = epf_row_layer(row, i), b = row.block_bits;

	return b ? epf_estimator_mean(g->chance[layer], g->seen[layer] / b) :
		   epf_estimator_fill(g, layer);
}

/* The probability of k hits in a row. */
EPF_FN_BIG __u64 epf_row_q56(const struct epf_estimator *g, struct epf_row row)
{
	struct epf_runs r;
	__u32 i;

	epf_runs_begin(&r, row.k);
	for (i = 0; i < row.nr; i++)
		epf_runs_add(&r, epf_row_hit(g, row, i));
	return r.found;
}

/**
 * epf_row_layer_q56() - the part of runs that begin at one slice
 * @g: samples
 * @row: slices
 * @age: of the slice
 * @fill_q56: set to the share of its bits that are set
 *
 * Return: the probability that a key never inserted hits in the k slices from there on,
 * whatever the others hold; 0 if they do not all count.
 */
EPF_FN __u64 epf_row_layer_q56(const struct epf_estimator *g, struct epf_row row, __u32 age,
			       __u64 *fill_q56)
{
	__u64 q = EPF_Q56_ONE;
	__u32 i;

	*fill_q56 = 0;
	if (age >= row.nr)
		return 0;
	*fill_q56 = epf_estimator_fill(g, epf_row_layer(row, age));
	if (age > row.nr - row.k)
		return 0;
	for (i = age; i < age + row.k; i++)
		q = epf_mul_q56(q, epf_row_hit(g, row, i));
	return q;
}

/* How many of @slices slices one sample examines. */
EPF_FN __u32 epf_estimator_slices(__u32 slices)
{
	return slices < EPF_ESTIMATOR_SLICES ? slices : EPF_ESTIMATOR_SLICES;
}

/* The next of @slices slices. */
EPF_FN __u32 epf_estimator_turn(struct epf_estimator *g, __u32 slices)
{
	__u32 i = g->turn < slices ? g->turn : 0;

	g->turn = i + 1;
	return i;
}

#endif /* EPF_ESTIMATOR_AGED_H */
