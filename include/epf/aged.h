/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of k + l slices that age, and the search for k hits in a row: the common part of
 * apbf.h and apbbf.h. Integers only; one caller at a time.
 *
 * Shtul, Baquero and Almeida, "Age-Partitioned Bloom Filters", 2020, sections 5.1 and 5.4.
 * Slice i = 0 .. k+l-1 is the i-th youngest. A key is inserted into the slices 0 .. k-1.
 * Each shift makes every slice one older, and the oldest, emptied, becomes slice 0. A key
 * inserted j shifts ago has its k bits in the slices j .. j+k-1; from j = l+1 on, some of
 * them have been emptied.
 *
 * Slices do not move: slice i is in place (base + i) mod (k+l), and the hash function
 * belongs to the place, so a slice keeps it for its whole life.
 *
 * A shift takes three steps. Retire ends the current generation: from then on lookups
 * ignore the oldest slice. Sweep empties it. Advance makes it slice 0. Insertions in
 * between still join the generation that was ended, which is safe: they are kept at least
 * as long as the others of it.
 *
 * Invariants: the slices 0 .. k-1 hold no bit of a generation that had k more shifts; while
 * @retired is set, nobody reads or sets bits of slice k+l-1.
 *
 * Window property: every key inserted in the last l generations that a retire has ended, or
 * in the one in progress, if any, is found.
 */
#ifndef EPF_AGED_H
#define EPF_AGED_H

#include "lanes.h" /* enum epf_verdict */

#define EPF_AGED_SLICES_MAX 128u /* k + l */

/**
 * struct epf_aged - the ring
 * @k: slices a key is in, 1 and up
 * @l: generations of the window, 1 and up
 * @base: place of slice 0
 * @retired: 1 between retire and advance
 */
struct epf_aged {
	__u32 k;
	__u32 l;
	__u32 base;
	__u32 retired;
};

/**
 * struct epf_seek - state of Algorithm 1
 * @at: the next slice to look up; below 0: the search is over
 * @k: hits in a row that are wanted
 * @count: hits in a row just before @at
 * @before: hits in a row from @at - @count + k - @before on, seen earlier
 *
 * No slice is looked up twice.
 */
struct epf_seek {
	int at;
	int k;
	int count;
	int before;
};

EPF_FN int epf_aged_init(struct epf_aged *a, __u32 k, __u32 l)
{
	if (!k || !l || k >= EPF_AGED_SLICES_MAX || l > EPF_AGED_SLICES_MAX - k)
		return -EINVAL;
	a->k = k;
	a->l = l;
	a->base = 0;
	a->retired = 0;
	return 0;
}

/* Place of slice @i, below k + l. */
EPF_FN __u32 epf_aged_place(const struct epf_aged *a, __u32 i)
{
	__u32 n = a->k + a->l;

	return a->base + i < n ? a->base + i : a->base + i - n;
}

/* Empty words @at to @at + @n of the retired slice of @words words in the array of slices
 * at @word. Return: the next @at; 0: done, or none is retired.
 */
EPF_FN __u64 epf_aged_sweep(const struct epf_aged *a, __u64 *word, __u64 words, __u64 at, __u64 n)
{
	__u32 place = epf_aged_place(a, a->k + a->l - 1);

	if (!a->retired || at >= words)
		return 0;
	if (n > words - at)
		n = words - at;
	memset(word + place * words + at, 0, n * sizeof(__u64));
	return at + n < words ? at + n : 0;
}

EPF_FN void epf_aged_advance(struct epf_aged *a)
{
	if (!a->retired)
		return;
	a->base = epf_aged_place(a, a->k + a->l - 1);
	a->retired = 0;
}

EPF_FN struct epf_seek epf_seek_begin(const struct epf_aged *a)
{
	struct epf_seek q;

	q.at = (int)(a->l - a->retired);
	q.k = (int)a->k;
	q.count = 0;
	q.before = 0;
	return q;
}

/**
 * epf_seek_step() - one round of Algorithm 1
 * @q: search; @q->at >= 0
 * @hit: whether the key's bit is set in slice @q->at
 *
 * Return: whether a run of k hits is complete; its first slice is
 * @q->at - @q->count.
 */
EPF_FN bool epf_seek_step(struct epf_seek *q, bool hit)
{
	if (!hit) {
		q->at -= q->k;
		q->before = q->count;
		q->count = 0;
		return false;
	}
	q->at++;
	q->count++;
	return q->before + q->count == q->k;
}

/**
 * epf_seek_younger() - continue after a run, for a younger one
 * @q: search whose last step completed a run
 *
 * The algorithm finds older runs first. A younger run begins at a slice before this one's
 * first; of the k slices from there, the last k-1 are hits already.
 *
 * Return: the first slice of the run found.
 */
EPF_FN int epf_seek_younger(struct epf_seek *q)
{
	int first = q->at - q->count;

	q->at = first - 1;
	q->before = q->k - 1;
	q->count = 0;
	return first;
}

#endif /* EPF_AGED_H */
