/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Age-partitioned Bloom filter: a key sets one bit in each of the k youngest of k + l
 * slices, and is present if k slices in a row, in the order of their age, have its bits.
 * Shtul, Baquero and Almeida, 2020, section 5; see aged.h for the ring, the window property
 * and the three steps of a shift.
 *
 * The bit of a digest in the slice at place p, of m bits:
 *
 *	floor(epf_word(digest, p) * m / 2^64)
 *
 * A slice takes whole words, the one at place p from word p * ceil(m/64) on.
 *
 * The owner supplies zeroed memory, and allows one caller at a time. A shift is due when
 * the current generation has g keys; any window of l * g insertions is then kept.
 *
 * Ages. The verdict reports the first slice of the youngest run of k hits. A key last
 * inserted a shifts ago, a <= l, gets an age of at most a, never more. The age is d too
 * young if the d slices before slice a have its bits by chance, which for half full slices
 * has probability 2^-d.
 */
#ifndef EPF_APBF_H
#define EPF_APBF_H

#include "aged.h"
#include "room.h"

#define EPF_APBF_BITS_MIN 64ULL        /* of a slice */
#define EPF_APBF_BITS_MAX (1ULL << 38) /* 32 GiB */

/**
 * struct epf_apbf_shape - parameters chosen at creation
 * @slice_bits: m, EPF_APBF_BITS_MIN .. EPF_APBF_BITS_MAX
 * @k: slices a key is in, 1 and up
 * @l: generations of the window, 1 and up; k + l <= EPF_AGED_SLICES_MAX
 */
struct epf_apbf_shape {
	__u64 slice_bits;
	__u32 k;
	__u32 l;
};

/**
 * struct epf_apbf - a filter; the owner sets @word, epf_apbf_init() the rest
 * @word: epf_apbf_words() words, 64-byte aligned, zeroed
 * @shape: as given
 * @slice_words: ceil(m / 64)
 * @ring: order of the slices
 * @room: by place; NULL: nothing is counted
 */
struct epf_apbf {
	__u64 *word;
	struct epf_apbf_shape shape;
	__u64 slice_words;
	struct epf_aged ring;
	struct epf_room *room;
};

EPF_FN __u64 epf_apbf_slice_words(const struct epf_apbf_shape *s)
{
	return (s->slice_bits + 63) / 64;
}

/* Exact memory of a valid shape, in words, whole lines. */
EPF_FN __u64 epf_apbf_words(const struct epf_apbf_shape *s)
{
	return (epf_apbf_slice_words(s) * (s->k + s->l) + 7) & ~7ULL;
}

/**
 * epf_apbf_init() - check a shape, make an empty filter
 * @f: filter; @f->word is not changed
 * @s: shape
 *
 * Return: 0, or -EINVAL when a number is out of its range.
 */
EPF_FN int epf_apbf_init(struct epf_apbf *f, const struct epf_apbf_shape *s)
{
	if (s->slice_bits < EPF_APBF_BITS_MIN || s->slice_bits > EPF_APBF_BITS_MAX)
		return -EINVAL;
	f->shape = *s;
	f->slice_words = epf_apbf_slice_words(s);
	f->room = NULL;
	return epf_aged_init(&f->ring, s->k, s->l);
}

/* The word of slice @i that has the bit of @digest, and that bit. */
EPF_FN __u64 *epf_apbf_locate(const struct epf_apbf *f, __u64 digest, __u32 i, __u64 *mask)
{
	__u32 place = epf_aged_place(&f->ring, i);
	__u64 bit = epf_mulhi(epf_word(digest, place), f->shape.slice_bits);

	*mask = 1ULL << (bit & 63);
	return f->word + place * f->slice_words + bit / 64;
}

EPF_FN bool epf_apbf_hit(const struct epf_apbf *f, __u64 digest, __u32 i)
{
	__u64 mask;

	return *epf_apbf_locate(f, digest, i, &mask) & mask;
}

EPF_FN void epf_apbf_insert(struct epf_apbf *f, __u64 digest)
{
	__u64 mask, *word;
	__u32 i;

	for (i = 0; i < f->ring.k; i++) {
		word = epf_apbf_locate(f, digest, i, &mask);
		if (f->room)
			epf_room_grow(f->room, epf_aged_place(&f->ring, i), !(*word & mask));
		*word |= mask;
	}
}

/**
 * epf_apbf_query() - is the key present: Algorithm 1 as printed
 * @f: filter
 * @digest: key
 */
EPF_FN bool epf_apbf_query(const struct epf_apbf *f, __u64 digest)
{
	struct epf_seek q = epf_seek_begin(&f->ring);

	while (q.at >= 0)
		if (epf_seek_step(&q, epf_apbf_hit(f, digest, (__u32)q.at)))
			return true;
	return false;
}

/**
 * epf_apbf_test() - is the key present, and since when
 * @f: filter
 * @digest: key
 *
 * The search continues after a run; for an absent key it is Algorithm 1.
 *
 * Return: EPF_ABSENT, or EPF_PRESENT + age, 0 .. l.
 */
EPF_FN int epf_apbf_test(const struct epf_apbf *f, __u64 digest)
{
	struct epf_seek q = epf_seek_begin(&f->ring);
	int verdict = EPF_ABSENT;

	while (q.at >= 0)
		if (epf_seek_step(&q, epf_apbf_hit(f, digest, (__u32)q.at)))
			verdict = EPF_PRESENT + epf_seek_younger(&q);
	return verdict;
}

/* End the current generation: the oldest slice no longer counts. */
EPF_FN void epf_apbf_retire(struct epf_apbf *f)
{
	f->ring.retired = 1;
}

/**
 * epf_apbf_sweep() - empty a part of the retired slice
 * @f: filter
 * @at: first word, 0 at first, then what the last call returned
 * @n: largest number of words, 1 and up
 *
 * Return: the next @at; 0: done, or no slice is retired.
 */
EPF_FN __u64 epf_apbf_sweep(struct epf_apbf *f, __u64 at, __u64 n)
{
	return epf_aged_sweep(&f->ring, f->word, f->slice_words, at, n);
}

/* The retired and completely swept slice becomes slice 0; without one nothing changes. */
EPF_FN void epf_apbf_advance(struct epf_apbf *f)
{
	epf_aged_advance(&f->ring);
	if (f->room)
		epf_room_next(f->room, f->ring.base);
}

/* The whole shift at once. */
EPF_FN void epf_apbf_rotate(struct epf_apbf *f)
{
	epf_apbf_retire(f);
	epf_apbf_sweep(f, 0, f->slice_words);
	epf_apbf_advance(f);
}

#endif /* EPF_APBF_H */
