/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Age-partitioned blocked Bloom filter: as apbf.h, but a slice (the paper's segment) is an
 * array of blocks of B bits, and a key sets b bits in one block of it, one in each b-th
 * part. Shtul, Baquero and Almeida, 2020, section 6; see aged.h for the ring, the window
 * property and the three steps of a shift, and apbf.h for the meaning of an age.
 *
 * In the slice at place p, of n blocks, a digest selects
 *
 *	block		floor(epf_word(digest, 2p) * n / 2^64)
 *	bits		of x = epf_word(digest, 2p + 1), the j-th log2(B/b)
 *			bits from below, j = 0 .. b-1: the bit of part j
 *
 * b log2(B/b) is at most 64. Blocks are aligned to their size, so that a key has one cache
 * line in each slice.
 */
#ifndef EPF_APBBF_H
#define EPF_APBBF_H

#include "aged.h"
#include "room.h"

#define EPF_APBBF_BLOCK_MIN 64u /* B, bits */
#define EPF_APBBF_BLOCK_MAX 512u
#define EPF_APBBF_BITS_MAX (1ULL << 38) /* n B: 32 GiB a slice */

/**
 * struct epf_apbbf_shape - parameters chosen at creation
 * @nr_blocks: n, blocks of a slice, 1 and up; n B <= EPF_APBBF_BITS_MAX
 * @k: slices a key is in, 1 and up
 * @l: generations of the window, 1 and up; k + l <= EPF_AGED_SLICES_MAX
 * @block_bits: B: 64, 128, 256, 512
 * @bits: b, a power of two, at most B/2
 */
struct epf_apbbf_shape {
	__u64 nr_blocks;
	__u32 k;
	__u32 l;
	__u32 block_bits;
	__u32 bits;
};

/**
 * struct epf_apbbf - a filter; the owner sets @word, epf_apbbf_init() the rest
 * @word: epf_apbbf_words() words, 64-byte aligned, zeroed
 * @shape: as given
 * @slice_words: n B / 64
 * @part_shift: log2(B/b)
 * @ring: order of the slices
 * @room: by place; NULL: nothing is counted
 */
struct epf_apbbf {
	__u64 *word;
	struct epf_apbbf_shape shape;
	__u64 slice_words;
	__u32 part_shift;
	struct epf_aged ring;
	struct epf_room *room;
};

EPF_FN __u64 epf_apbbf_slice_words(const struct epf_apbbf_shape *s)
{
	return s->nr_blocks * (s->block_bits / 64);
}

/* Exact memory of a valid shape, in words, whole lines. */
EPF_FN __u64 epf_apbbf_words(const struct epf_apbbf_shape *s)
{
	return (epf_apbbf_slice_words(s) * (s->k + s->l) + 7) & ~7ULL;
}

/* log2(B/b), or 0 if these two are not valid. */
EPF_FN __u32 epf_apbbf_part_shift(__u32 block_bits, __u32 bits)
{
	__u32 shift;

	if (block_bits < EPF_APBBF_BLOCK_MIN || block_bits > EPF_APBBF_BLOCK_MAX ||
	    epf_popcount(block_bits) != 1)
		return 0;
	for (shift = 1; shift < 10; shift++)
		if ((__u64)bits << shift == block_bits)
			return bits * shift <= 64 ? shift : 0;
	return 0;
}

/**
 * epf_apbbf_init() - check a shape, make an empty filter
 * @f: filter; @f->word is not changed
 * @s: shape
 *
 * Return: 0, or -EINVAL when a number is out of its range.
 */
EPF_FN int epf_apbbf_init(struct epf_apbbf *f, const struct epf_apbbf_shape *s)
{
	f->part_shift = epf_apbbf_part_shift(s->block_bits, s->bits);
	if (!f->part_shift || !s->nr_blocks || s->nr_blocks > EPF_APBBF_BITS_MAX / s->block_bits)
		return -EINVAL;
	f->shape = *s;
	f->slice_words = epf_apbbf_slice_words(s);
	f->room = NULL;
	return epf_aged_init(&f->ring, s->k, s->l);
}

/* The block of @digest in slice @i, and in @x the word that selects its bits. */
EPF_FN __u64 *epf_apbbf_block(const struct epf_apbbf *f, __u64 digest, __u32 i, __u64 *x)
{
	__u32 place = epf_aged_place(&f->ring, i);
	__u64 block = epf_mulhi(epf_word(digest, 2 * place), f->shape.nr_blocks);

	*x = epf_word(digest, 2 * place + 1);
	return f->word + place * f->slice_words + block * (f->shape.block_bits / 64);
}

/* The bit of part @j in its block; the bits used are shifted out of @x. */
EPF_FN __u32 epf_apbbf_bit(const struct epf_apbbf *f, __u32 j, __u64 *x)
{
	__u32 part = 1u << f->part_shift;
	__u32 bit = j * part + ((__u32)*x & (part - 1));

	*x >>= f->part_shift;
	return bit;
}

EPF_FN bool epf_apbbf_hit(const struct epf_apbbf *f, __u64 digest, __u32 i)
{
	__u32 j, bit;
	__u64 x;
	const __u64 *block = epf_apbbf_block(f, digest, i, &x);

	for (j = 0; j < f->shape.bits; j++) {
		bit = epf_apbbf_bit(f, j, &x);
		if (!(block[bit / 64] >> (bit & 63) & 1))
			return false;
	}
	return true;
}

/* Set bits of @n bits from @at; @n is a power of two that divides @at. */
EPF_FN __u32 epf_apbbf_part(const __u64 *block, __u32 at, __u32 n)
{
	__u32 set = 0;

	if (n < 64)
		return epf_popcount(block[at / 64] >> (at & 63) & ((1ULL << n) - 1));
	for (; n; n -= 64, at += 64)
		set += epf_popcount(block[at / 64]);
	return set;
}

/* The probability of a hit in a block, in units of the room: that in each part the one bit
 * that a key selects is set.
 */
EPF_FN_BIG __u64 epf_apbbf_chance(const struct epf_apbbf *f, const __u64 *block)
{
	__u64 q = EPF_Q56_ONE;
	__u32 j;

	for (j = 0; j < f->shape.bits; j++)
		q = (q >> f->part_shift) *
		    epf_apbbf_part(block, j << f->part_shift, 1u << f->part_shift);
	return q >> f->room->shift;
}

EPF_FN void epf_apbbf_insert(struct epf_apbbf *f, __u64 digest)
{
	__u64 x, *block, before;
	__u32 i, j, bit;

	for (i = 0; i < f->ring.k; i++) {
		block = epf_apbbf_block(f, digest, i, &x);
		before = f->room ? epf_apbbf_chance(f, block) : 0;
		for (j = 0; j < f->shape.bits; j++) {
			bit = epf_apbbf_bit(f, j, &x);
			block[bit / 64] |= 1ULL << (bit & 63);
		}
		if (f->room)
			epf_room_grow(f->room, epf_aged_place(&f->ring, i),
				      epf_apbbf_chance(f, block) - before);
	}
}

/**
 * epf_apbbf_query() - is the key present: Algorithm 1 as printed
 * @f: filter
 * @digest: key
 */
EPF_FN bool epf_apbbf_query(const struct epf_apbbf *f, __u64 digest)
{
	struct epf_seek q = epf_seek_begin(&f->ring);

	while (q.at >= 0)
		if (epf_seek_step(&q, epf_apbbf_hit(f, digest, (__u32)q.at)))
			return true;
	return false;
}

/**
 * epf_apbbf_test() - is the key present, and since when
 * @f: filter
 * @digest: key
 *
 * The search continues after a run; for an absent key it is Algorithm 1.
 *
 * Return: EPF_ABSENT, or EPF_PRESENT + age, 0 .. l.
 */
EPF_FN int epf_apbbf_test(const struct epf_apbbf *f, __u64 digest)
{
	struct epf_seek q = epf_seek_begin(&f->ring);
	int verdict = EPF_ABSENT;

	while (q.at >= 0)
		if (epf_seek_step(&q, epf_apbbf_hit(f, digest, (__u32)q.at)))
			verdict = EPF_PRESENT + epf_seek_younger(&q);
	return verdict;
}

/* End the current generation: the oldest slice no longer counts. */
EPF_FN void epf_apbbf_retire(struct epf_apbbf *f)
{
	f->ring.retired = 1;
}

/**
 * epf_apbbf_sweep() - empty a part of the retired slice
 * @f: filter
 * @at: first word, 0 at first, then what the last call returned
 * @n: largest number of words, 1 and up
 *
 * Return: the next @at; 0: done, or no slice is retired.
 */
EPF_FN __u64 epf_apbbf_sweep(struct epf_apbbf *f, __u64 at, __u64 n)
{
	return epf_aged_sweep(&f->ring, f->word, f->slice_words, at, n);
}

/* The retired and completely swept slice becomes slice 0; without one nothing changes. */
EPF_FN void epf_apbbf_advance(struct epf_apbbf *f)
{
	epf_aged_advance(&f->ring);
	if (f->room)
		epf_room_next(f->room, f->ring.base);
}

/* The whole shift at once. */
EPF_FN void epf_apbbf_rotate(struct epf_apbbf *f)
{
	epf_apbbf_retire(f);
	epf_apbbf_sweep(f, 0, f->slice_words);
	epf_apbbf_advance(f);
}

#endif /* EPF_APBBF_H */
