/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind ge: the classic guarded epoch filter.
 *
 * Alpay and Sarioglu, "Guarded Epoch Bloom Filters for Sliding-Window Membership", 2026,
 * Algorithm 1: r + 1 Bloom segments of s bits, one for each epoch kept. An insert sets k
 * positions in the segment of the current epoch; a key is present if some segment has all k
 * of them.
 *
 * Positions. With h1 = epf_word(digest, 0) and h2 = epf_word(digest, 1) | 1, position i = 0
 * .. k-1 is floor((h1 + i h2 mod 2^64) s / 2^64), the same in every segment. The paper says
 * double hashing and means (h1 + i h2) mod s. Here the sum is a fraction of 2^64, so no
 * division is needed and s can have any value. An odd h2 makes the k fractions distinct.
 * Positions still coincide when h2 / 2^64 is within 1 / (k s) of a fraction with
 * denominator below k, as they do in the paper's form when h2 and s have a common factor.
 * That adds a term of order 1 / (k s) to the error, see docs/theory/ge.md.
 *
 * Two layouts of the same filter, with the same answers:
 *
 *   EPF_GE_TRANSPOSED  One cell per position, of 8, 16 or 32 bits, the smallest that holds
 *                      r + 1; segment n is bit r - n of every cell. A test ANDs k cells and
 *                      so gets the hits of all epochs.
 *   EPF_GE_SEGMENTS    The paper's: segment after segment, each of whole words.
 *
 * Only one caller at a time may be inside these functions.
 *
 * Window property: retire only when the current epoch is complete. Then the keys of r
 * complete epochs are found at every moment: from the retirement on those of the current
 * epoch and of r - 1 before it, otherwise of r before it.
 */
#ifndef EPF_GE_H
#define EPF_GE_H

#include "lanes.h"
#include "room.h"

#define EPF_GE_EPOCHS_MIN 2u
#define EPF_GE_EPOCHS_MAX 31u
#define EPF_GE_BITS_MAX 64u      /* k */
#define EPF_GE_SEGMENT_MIN 64ULL /* s */
#define EPF_GE_SEGMENT_MAX (1ULL << 40)
#define EPF_GE_WORDS_MAX (1ULL << 34) /* 128 GiB */

enum epf_ge_layout { EPF_GE_TRANSPOSED, EPF_GE_SEGMENTS };

/**
 * struct epf_ge_shape - parameters chosen at creation
 * @segment_bits: s, EPF_GE_SEGMENT_MIN .. EPF_GE_SEGMENT_MAX
 * @epochs: r, number of complete epochs in the window: 2 .. 31
 * @bits: k, positions of a key: 1 .. EPF_GE_BITS_MAX
 * @layout: enum epf_ge_layout
 */
struct epf_ge_shape {
	__u64 segment_bits;
	__u32 epochs;
	__u32 bits;
	__u32 layout;
};

/**
 * struct epf_ge - a filter, by reference; trivially copyable
 * @word: epf_ge_words() words, zeroed, 64-byte aligned, owned by the caller
 * @shape: checked
 * @now: segment of the current epoch, 0 .. r
 * @retired: the oldest epoch no longer counts
 * @room: by segment; NULL: nothing is counted
 */
struct epf_ge {
	__u64 *word;
	struct epf_ge_shape shape;
	__u32 now;
	__u32 retired;
	struct epf_room *room;
};

/* Base-2 logarithm of the bits of a cell. */
EPF_FN __u32 epf_ge_cell(const struct epf_ge_shape *s)
{
	return s->epochs < 8 ? 3 : s->epochs < 16 ? 4 : 5;
}

/* Words of one segment with layout EPF_GE_SEGMENTS. */
EPF_FN __u64 epf_ge_stride(const struct epf_ge_shape *s)
{
	return (s->segment_bits + 63) >> 6;
}

/**
 * epf_ge_words() - memory of a filter
 * @s: any numbers
 *
 * Return: words, a multiple of 8; 0 when a number is out of its range or the filter is
 * larger than EPF_GE_WORDS_MAX.
 */
EPF_FN __u64 epf_ge_words(const struct epf_ge_shape *s)
{
	__u64 words;

	if (s->segment_bits < EPF_GE_SEGMENT_MIN || s->segment_bits > EPF_GE_SEGMENT_MAX ||
	    s->epochs < EPF_GE_EPOCHS_MIN || s->epochs > EPF_GE_EPOCHS_MAX || !s->bits ||
	    s->bits > EPF_GE_BITS_MAX || s->layout > EPF_GE_SEGMENTS)
		return 0;
	if (s->layout == EPF_GE_TRANSPOSED)
		words = ((s->segment_bits << epf_ge_cell(s)) + 63) >> 6;
	else
		words = epf_ge_stride(s) * (s->epochs + 1);
	words = (words + 7) & ~7ULL;
	return words <= EPF_GE_WORDS_MAX ? words : 0;
}

/**
 * epf_ge_init() - check a shape and begin with an empty filter
 * @f: everything but @f->word is set
 * @s: shape
 *
 * Return: 0, or -EINVAL if epf_ge_words() is 0.
 */
EPF_FN int epf_ge_init(struct epf_ge *f, const struct epf_ge_shape *s)
{
	if (!epf_ge_words(s))
		return -EINVAL;
	f->shape = *s;
	f->now = 0;
	f->retired = 0;
	f->room = NULL;
	return 0;
}

/* The step h2 from one fraction to the next. */
EPF_FN __u64 epf_ge_step(__u64 digest)
{
	return epf_word(digest, 1) | 1;
}

/* Segment of the epoch whose age is @age, 0 .. r. */
EPF_FN __u32 epf_ge_segment(const struct epf_ge *f, __u32 age)
{
	return f->now >= age ? f->now - age : f->now + f->shape.epochs + 1 - age;
}

/* Number of epochs that count; the youngest has age 0. */
EPF_FN __u32 epf_ge_counted(const struct epf_ge *f)
{
	return f->shape.epochs + !f->retired;
}

/* The cell of a position: bits @at and up of the returned word. */
EPF_FN __u64 *epf_ge_locate(const struct epf_ge *f, __u64 pos, __u32 *at)
{
	__u32 cell = epf_ge_cell(&f->shape);

	*at = (__u32)(pos << cell) & 63;
	return f->word + (pos >> (6 - cell));
}

/* Set the bit of one position in segment @segment. Return: it was not set. */
EPF_FN bool epf_ge_set(struct epf_ge *f, __u64 pos, __u32 segment)
{
	__u64 *word;
	__u32 at;

	if (f->shape.layout == EPF_GE_TRANSPOSED) {
		word = epf_ge_locate(f, pos, &at);
		at += f->shape.epochs - segment;
	} else {
		word = f->word + segment * epf_ge_stride(&f->shape) + (pos >> 6);
		at = pos & 63;
	}
	if (*word >> at & 1)
		return false;
	*word |= 1ULL << at;
	return true;
}

/**
 * epf_ge_insert() - insert a digest into the current epoch
 * @f: filter
 * @digest: of the key
 */
EPF_FN void epf_ge_insert(struct epf_ge *f, __u64 digest)
{
	__u64 step = epf_ge_step(digest);
	__u32 i, n = 0;

	for (i = 0; i < f->shape.bits; i++, digest += step)
		n += epf_ge_set(f, epf_mulhi(digest, f->shape.segment_bits), f->now);
	if (f->room)
		epf_room_grow(f->room, f->now, n);
}

/* Youngest age among @hits, bits of segments as in a cell. */
EPF_FN int epf_ge_youngest(const struct epf_ge *f, __u64 hits)
{
	__u32 first = f->shape.epochs - f->now; /* bit of age 0; ages ascend */

	hits = hits >> first | hits << (f->now + 1);
	hits &= (1ULL << epf_ge_counted(f)) - 1;
	return hits ? EPF_PRESENT + (int)epf_popcount((hits & -hits) - 1) : EPF_ABSENT;
}

EPF_FN int epf_ge_test_cells(const struct epf_ge *f, __u64 digest)
{
	__u64 hits = (1ULL << (f->shape.epochs + 1)) - 1;
	__u64 step = epf_ge_step(digest);
	__u32 i, at;

	for (i = 0; i < f->shape.bits && hits; i++, digest += step) {
		__u64 pos = epf_mulhi(digest, f->shape.segment_bits);
		const __u64 *word = epf_ge_locate(f, pos, &at);

		hits &= *word >> at;
	}
	return epf_ge_youngest(f, hits);
}

/* Does @segment have all positions? */
EPF_FN bool epf_ge_segment_holds(const struct epf_ge *f, __u64 digest, __u32 segment)
{
	const __u64 *word = f->word + segment * epf_ge_stride(&f->shape);
	__u64 step = epf_ge_step(digest);
	__u32 i;

	for (i = 0; i < f->shape.bits; i++, digest += step) {
		__u64 pos = epf_mulhi(digest, f->shape.segment_bits);

		if (!(word[pos >> 6] >> (pos & 63) & 1))
			return false;
	}
	return true;
}

EPF_FN int epf_ge_test_segments(const struct epf_ge *f, __u64 digest)
{
	__u32 counted = epf_ge_counted(f);
	__u32 age;

	for (age = 0; age < counted; age++)
		if (epf_ge_segment_holds(f, digest, epf_ge_segment(f, age)))
			return EPF_PRESENT + (int)age;
	return EPF_ABSENT;
}

/**
 * epf_ge_test() - was the digest inserted inside the window?
 * @f: filter
 * @digest: of the key
 *
 * Return: EPF_ABSENT, or EPF_PRESENT + age in epochs, 0 .. r.
 */
EPF_FN int epf_ge_test(const struct epf_ge *f, __u64 digest)
{
	return f->shape.layout == EPF_GE_TRANSPOSED ? epf_ge_test_cells(f, digest) :
						      epf_ge_test_segments(f, digest);
}

/**
 * epf_ge_retire() - stop counting the oldest epoch
 * @f: filter, whose current epoch is complete
 */
EPF_FN void epf_ge_retire(struct epf_ge *f)
{
	f->retired = 1;
}

/* Bit 0 of every cell of a word. */
EPF_FN __u64 epf_ge_column(const struct epf_ge_shape *s)
{
	switch (epf_ge_cell(s)) {
	case 3:
		return 0x0101010101010101ULL;
	case 4:
		return 0x0001000100010001ULL;
	default:
		return 0x0000000100000001ULL;
	}
}

/**
 * epf_ge_sweep() - empty a part of the retired epoch
 * @f: filter, retired
 * @at: first word of the part; 0 to begin with
 * @n: words to visit at most, 1 and up
 *
 * Return: @at of the next call; 0: done.
 */
EPF_FN __u64 epf_ge_sweep(struct epf_ge *f, __u64 at, __u64 n)
{
	bool cells = f->shape.layout == EPF_GE_TRANSPOSED;
	__u64 end = cells ? epf_ge_words(&f->shape) : epf_ge_stride(&f->shape);
	__u32 old = epf_ge_segment(f, f->shape.epochs);
	__u64 keep = ~(epf_ge_column(&f->shape) << (f->shape.epochs - old));
	__u64 *word = cells ? f->word : f->word + old * end;
	__u64 to = n < end - at ? at + n : end;

	for (; at < to; at++)
		word[at] &= cells ? keep : 0;
	return to < end ? to : 0;
}

/**
 * epf_ge_advance() - make the emptied epoch the current one
 * @f: filter, retired and swept
 */
EPF_FN void epf_ge_advance(struct epf_ge *f)
{
	f->now = f->now < f->shape.epochs ? f->now + 1 : 0;
	f->retired = 0;
	if (f->room)
		epf_room_next(f->room, f->now);
}

/**
 * epf_ge_rotate() - end the current epoch at once
 * @f: filter
 */
EPF_FN void epf_ge_rotate(struct epf_ge *f)
{
	epf_ge_retire(f);
	epf_ge_sweep(f, 0, ~0ULL);
	epf_ge_advance(f);
}

#endif /* EPF_GE_H */
