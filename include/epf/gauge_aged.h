/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gauge of kinds apbf, apbbf and tlbf, see gauge.h.
 *
 *   apbf, apbbf, tlbf
 *          The chance of a hit in each slice: of apbf and tlbf the share of its
 *          set bits, of apbbf the mean over blocks of the product over parts.
 *          Then that of k hits in a row among the slices that count.
 */
#ifndef EPF_GAUGE_AGED_H
#define EPF_GAUGE_AGED_H

#include "apbbf.h"
#include "apbf.h"
#include "gauge.h"
#include "tlbf.h"

#define EPF_GAUGE_SLICES 16u /* that one sample looks at */

/* Runs of k hits as slices are added. */
struct epf_runs {
	__u64 run[EPF_AGED_SLICES_MAX]; /* i hits just before, none of k so far */
	__u64 found;			/* one of k so far */
	__u32 k;
};

EPF_FN void epf_runs_begin(struct epf_runs *r, __u32 k)
{
	memset(r, 0, sizeof(*r));
	r->k = k;
	r->run[0] = EPF_Q56_ONE;
}

/* The recursion of section 5.3 of the paper, forwards: one more slice, which
 * hits with chance @hit.
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

/* How many of @slices slices one sample looks at. */
EPF_FN __u32 epf_gauge_slices(__u32 slices)
{
	return slices < EPF_GAUGE_SLICES ? slices : EPF_GAUGE_SLICES;
}

/* The next of @slices slices. */
EPF_FN __u32 epf_gauge_turn(struct epf_gauge *g, __u32 slices)
{
	__u32 i = g->turn < slices ? g->turn : 0;

	g->turn = i + 1;
	return i;
}

/**
 * epf_apbf_gauge() - one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads a word of each of 16 slices, of the next 16 in the next sample.
 */
EPF_FN void epf_apbf_gauge(struct epf_gauge *g, const struct epf_apbf *f,
			   __u64 random)
{
	__u32 slices = epf_aged_counted(&f->ring), n;

	for (n = epf_gauge_slices(slices); n; n--) {
		__u32 i = epf_gauge_turn(g, slices);
		__u64 place = epf_aged_place(&f->ring, i);

		epf_gauge_word(g, i, f->word + place * f->slice_words,
			       f->slice_words, f->shape.slice_bits, random);
	}
	g->samples++;
}

/* As epf_ge_gauge_q56(). */
EPF_FN_BIG __u64 epf_apbf_gauge_q56(const struct epf_gauge *g,
				    const struct epf_apbf *f)
{
	struct epf_runs r;
	__u32 i;

	epf_runs_begin(&r, f->ring.k);
	for (i = 0; i < epf_aged_counted(&f->ring); i++)
		epf_runs_add(&r, epf_gauge_fill(g, i));
	return r.found;
}

/**
 * epf_apbf_gauge_layer_q56() - the part of runs that begin at one slice
 * @g: samples
 * @f: filter
 * @age: of the slice
 * @fill_q56: set to the share of its bits that are set
 *
 * Return: the chance that a key never inserted hits in the k slices from there
 * on, whatever the others say; 0 where they do not all count.
 */
EPF_FN __u64 epf_apbf_gauge_layer_q56(const struct epf_gauge *g,
				      const struct epf_apbf *f, __u32 age,
				      __u64 *fill_q56)
{
	__u32 counted = epf_aged_counted(&f->ring), k = f->ring.k, i;
	__u64 q = EPF_Q56_ONE;

	*fill_q56 = age < counted ? epf_gauge_fill(g, age) : 0;
	if (age > counted - k)
		return 0;
	for (i = age; i < age + k; i++)
		q = epf_mul_q56(q, epf_gauge_fill(g, i));
	return q;
}

/* Set bits of @n bits from @at; @n is a power of two that divides @at. */
EPF_FN __u32 epf_apbbf_gauge_part(const __u64 *block, __u32 at, __u32 n)
{
	__u32 set = 0;

	if (n < 64)
		return epf_popcount(block[at / 64] >> (at & 63) &
				    ((1ULL << n) - 1));
	for (; n; n -= 64, at += 64)
		set += epf_popcount(block[at / 64]);
	return set;
}

/* Take a block of slice @i into the sample: a key hits there if of each part the
 * one bit it asks for is set.
 */
EPF_FN_BIG void epf_apbbf_gauge_block(struct epf_gauge *g,
				      const struct epf_apbbf *f, __u32 i,
				      const __u64 *block)
{
	__u32 part = 1u << f->part_shift, j, set;
	__u64 q = EPF_Q56_ONE;

	for (j = 0; j < f->shape.bits; j++) {
		set = epf_apbbf_gauge_part(block, j * part, part);
		q = (q >> f->part_shift) * set;
		g->set[i] += set;
	}
	g->chance[i] += q >> EPF_GAUGE_SHIFT;
	g->seen[i] += f->shape.block_bits;
}

/**
 * epf_apbbf_gauge() - one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads a block of each of 16 slices, of the next 16 in the next sample.
 */
EPF_FN void epf_apbbf_gauge(struct epf_gauge *g, const struct epf_apbbf *f,
			    __u64 random)
{
	__u64 at = epf_mulhi(random, f->shape.nr_blocks) *
		   (f->shape.block_bits / 64);
	__u32 slices = epf_aged_counted(&f->ring), n;

	for (n = epf_gauge_slices(slices); n; n--) {
		__u32 i = epf_gauge_turn(g, slices);
		__u64 place = epf_aged_place(&f->ring, i);

		epf_apbbf_gauge_block(g, f, i,
				      f->word + place * f->slice_words + at);
	}
	g->samples++;
}

/* The chance of a hit in slice @i. */
EPF_FN __u64 epf_apbbf_gauge_hit(const struct epf_gauge *g,
				 const struct epf_apbbf *f, __u32 i)
{
	return epf_gauge_mean(g->chance[i], g->seen[i] / f->shape.block_bits);
}

/* As epf_ge_gauge_q56(). */
EPF_FN_BIG __u64 epf_apbbf_gauge_q56(const struct epf_gauge *g,
				     const struct epf_apbbf *f)
{
	struct epf_runs r;
	__u32 i;

	epf_runs_begin(&r, f->ring.k);
	for (i = 0; i < epf_aged_counted(&f->ring); i++)
		epf_runs_add(&r, epf_apbbf_gauge_hit(g, f, i));
	return r.found;
}

/* As epf_apbf_gauge_layer_q56(). */
EPF_FN __u64 epf_apbbf_gauge_layer_q56(const struct epf_gauge *g,
				       const struct epf_apbbf *f, __u32 age,
				       __u64 *fill_q56)
{
	__u32 counted = epf_aged_counted(&f->ring), k = f->ring.k, i;
	__u64 q = EPF_Q56_ONE;

	*fill_q56 = age < counted ? epf_gauge_fill(g, age) : 0;
	if (age > counted - k)
		return 0;
	for (i = age; i < age + k; i++)
		q = epf_mul_q56(q, epf_apbbf_gauge_hit(g, f, i));
	return q;
}

/* The layer of slice @i: its place, which it keeps when others come. */
EPF_FN __u32 epf_tlbf_gauge_layer(const struct epf_tlbf *f, __u32 i)
{
	return (f->head + i) % EPF_TLBF_SLICES;
}

EPF_ASSERT(EPF_TLBF_SLICES <= EPF_GAUGE_LAYERS, "places are layers");

/**
 * epf_tlbf_gauge() - one more sample
 * @g: samples so far
 * @f: filter
 * @now_ns: on the owner's clock
 * @random: chooses the place
 *
 * Reads a word of each of 16 slices, of the next 16 in the next sample.
 */
EPF_FN void epf_tlbf_gauge(struct epf_gauge *g, const struct epf_tlbf *f,
			   __u64 now_ns, __u64 random)
{
	__u32 slices = epf_tlbf_live(f, now_ns), n;

	for (n = epf_gauge_slices(slices); n; n--) {
		__u32 i = epf_gauge_turn(g, slices);
		const struct epf_tlbf_slice *s = epf_tlbf_at(f, i);

		epf_gauge_word(g, epf_tlbf_gauge_layer(f, i), s->word,
			       s->words, 64 * s->words, random);
	}
	g->samples++;
}

/**
 * epf_tlbf_gauge_q56() - the chance that a key never inserted is present
 * @g: samples
 * @f: filter
 * @now_ns: on the owner's clock
 *
 * Return: q56; without a sample 0.
 */
EPF_FN_BIG __u64 epf_tlbf_gauge_q56(const struct epf_gauge *g,
				    const struct epf_tlbf *f, __u64 now_ns)
{
	__u32 live = epf_tlbf_live(f, now_ns), i;
	struct epf_runs r;

	epf_runs_begin(&r, f->shape.k);
	for (i = 0; i < live; i++)
		epf_runs_add(&r, epf_gauge_fill(g, epf_tlbf_gauge_layer(f, i)));
	return r.found;
}

/**
 * epf_tlbf_gauge_layer_q56() - the part of runs that begin at one slice
 * @g: samples
 * @f: filter
 * @now_ns: on the owner's clock
 * @age: of the slice
 * @fill_q56: set to the share of its bits that are set
 *
 * Return: as epf_apbf_gauge_layer_q56().
 */
EPF_FN __u64 epf_tlbf_gauge_layer_q56(const struct epf_gauge *g,
				      const struct epf_tlbf *f, __u64 now_ns,
				      __u32 age, __u64 *fill_q56)
{
	__u32 live = epf_tlbf_live(f, now_ns), k = f->shape.k, i;
	__u64 q = EPF_Q56_ONE;

	*fill_q56 = 0;
	if (age >= live)
		return 0;
	*fill_q56 = epf_gauge_fill(g, epf_tlbf_gauge_layer(f, age));
	if (age > live - k)
		return 0;
	for (i = age; i < age + k; i++)
		q = epf_mul_q56(q, epf_gauge_fill(g,
						  epf_tlbf_gauge_layer(f, i)));
	return q;
}

#endif /* EPF_GAUGE_AGED_H */
