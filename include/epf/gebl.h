/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind gebl: the blocked guarded epoch filter.
 *
 * Alpay and Sarioglu, "Guarded Epoch Bloom Filters for Sliding-Window Membership", 2026,
 * section 2: as ge, but a segment is an array of blocks of B bits. The first hash chooses a
 * block, the same in every segment, and the k positions are inside it.
 *
 * With w(i) = epf_word(digest, i):
 *
 *   block    floor(w(0) blocks / 2^64)
 *   offsets  EPF_GEBL_DISTINCT: k distinct ones of B by Floyd's rule: for top = B - k, ...
 *            B - 1 take t, or top if t is already taken, t uniform in 0 .. top. The t come
 *            from 64-bit fractions x, five from each of w(1), w(2), ...: t = floor(x (top +
 *            1) / 2^64), then x = x (top + 1) mod 2^64. Four draws use 36 bits, so the
 *            fifth has 28 left for its 9.
 *            EPF_GEBL_DOUBLE: the paper's double hashing, (w(1) + i w(2)) mod B for i = 0
 *            .. k-1. They are not distinct if w(2) has many factors of two, and a block has
 *            only B^2 such sequences. Both cost accuracy: this is for comparison, not for
 *            use.
 *
 * The blocks of one number are adjacent, segment 0 first: (r + 1) B bits make a group. With
 * B = 64 and r = 7 it is one line.
 *
 * Only one caller at a time may be inside these functions. The window property is that of
 * ge.h.
 */
#ifndef EPF_GEBL_H
#define EPF_GEBL_H

#include "lanes.h"
#include "room.h"

#define EPF_GEBL_EPOCHS_MIN 2u
#define EPF_GEBL_EPOCHS_MAX 31u
#define EPF_GEBL_BLOCK_MIN 64u /* B */
#define EPF_GEBL_BLOCK_MAX 512u
#define EPF_GEBL_BLOCK_WORDS (EPF_GEBL_BLOCK_MAX / 64)
#define EPF_GEBL_BITS_MAX 20u /* k */
#define EPF_GEBL_BLOCKS_MAX (1ULL << 34)
#define EPF_GEBL_WORDS_MAX (1ULL << 34) /* 128 GiB */
#define EPF_GEBL_DRAWS 5u               /* offsets from one word */

enum epf_gebl_offsets { EPF_GEBL_DISTINCT, EPF_GEBL_DOUBLE };

/**
 * struct epf_gebl_shape - parameters chosen at creation
 * @blocks: of each segment, 1 .. EPF_GEBL_BLOCKS_MAX
 * @block_bits: B: 64, 128, 256 or 512
 * @epochs: r, number of complete epochs in the window: 2 .. 31
 * @bits: k, positions of a key: 1 .. EPF_GEBL_BITS_MAX
 * @offsets: enum epf_gebl_offsets
 */
struct epf_gebl_shape {
	__u64 blocks;
	__u32 block_bits;
	__u32 epochs;
	__u32 bits;
	__u32 offsets;
};

/**
 * struct epf_gebl - a filter, by reference; trivially copyable
 * @word: epf_gebl_words() words, zeroed, 64-byte aligned, owned by the caller
 * @shape: checked
 * @now: segment of the current epoch, 0 .. r
 * @retired: the oldest epoch no longer counts
 * @room: by segment; NULL: nothing is counted
 */
struct epf_gebl {
	__u64 *word;
	struct epf_gebl_shape shape;
	__u32 now;
	__u32 retired;
	struct epf_room *room;
};

/**
 * struct epf_gebl_probe - where one digest lives
 * @group: first word of its blocks
 * @mask: its positions in a block
 */
struct epf_gebl_probe {
	__u64 *group;
	__u64 mask[EPF_GEBL_BLOCK_WORDS];
};

/* Words of a block. */
EPF_FN __u32 epf_gebl_block(const struct epf_gebl_shape *s)
{
	return s->block_bits >> 6;
}

/* Words of a group. */
EPF_FN __u64 epf_gebl_group(const struct epf_gebl_shape *s)
{
	return (__u64)epf_gebl_block(s) * (s->epochs + 1);
}

/**
 * epf_gebl_words() - memory of a filter
 * @s: any numbers
 *
 * Return: words, a multiple of 8; 0 when a number is out of its range or the filter is
 * larger than EPF_GEBL_WORDS_MAX.
 */
EPF_FN __u64 epf_gebl_words(const struct epf_gebl_shape *s)
{
	__u64 words;

	if (!s->blocks || s->blocks > EPF_GEBL_BLOCKS_MAX || s->block_bits < EPF_GEBL_BLOCK_MIN ||
	    s->block_bits > EPF_GEBL_BLOCK_MAX || (s->block_bits & (s->block_bits - 1)) ||
	    s->epochs < EPF_GEBL_EPOCHS_MIN || s->epochs > EPF_GEBL_EPOCHS_MAX || !s->bits ||
	    s->bits > EPF_GEBL_BITS_MAX || s->offsets > EPF_GEBL_DOUBLE)
		return 0;
	words = (s->blocks * epf_gebl_group(s) + 7) & ~7ULL;
	return words <= EPF_GEBL_WORDS_MAX ? words : 0;
}

/**
 * epf_gebl_init() - check a shape and begin with an empty filter
 * @f: everything but @f->word is set
 * @s: shape
 *
 * Return: 0, or -EINVAL if epf_gebl_words() is 0.
 */
EPF_FN int epf_gebl_init(struct epf_gebl *f, const struct epf_gebl_shape *s)
{
	if (!epf_gebl_words(s))
		return -EINVAL;
	f->shape = *s;
	f->now = 0;
	f->retired = 0;
	f->room = NULL;
	return 0;
}

/* Floyd's rule. */
EPF_FN void epf_gebl_distinct(const struct epf_gebl_shape *s, __u64 digest, __u64 *mask)
{
	__u64 x = 0, t;
	__u32 i, top;

	for (i = 0; i < s->bits; i++) {
		if (i % EPF_GEBL_DRAWS == 0)
			x = epf_word(digest, 1 + i / EPF_GEBL_DRAWS);
		top = s->block_bits - s->bits + i;
		t = epf_mul(x, top + 1, &x);
		if (mask[t >> 6] >> (t & 63) & 1)
			t = top;
		mask[t >> 6] |= 1ULL << (t & 63);
	}
}

EPF_FN void epf_gebl_double(const struct epf_gebl_shape *s, __u64 digest, __u64 *mask)
{
	__u64 at = epf_word(digest, 1);
	__u64 step = epf_word(digest, 2);
	__u32 i;

	for (i = 0; i < s->bits; i++, at += step) {
		__u64 t = at & (s->block_bits - 1);

		mask[t >> 6] |= 1ULL << (t & 63);
	}
}

/**
 * epf_gebl_probe() - find the blocks and the positions of a digest
 * @f: filter
 * @digest: of the key
 * @p: result; the first line of its blocks is prefetched
 */
EPF_FN void epf_gebl_probe(const struct epf_gebl *f, __u64 digest, struct epf_gebl_probe *p)
{
	__u64 block = epf_mulhi(digest, f->shape.blocks);

	p->group = f->word + block * epf_gebl_group(&f->shape);
	epf_prefetch(p->group);
	memset(p->mask, 0, sizeof(p->mask));
	if (f->shape.offsets == EPF_GEBL_DOUBLE)
		epf_gebl_double(&f->shape, digest, p->mask);
	else
		epf_gebl_distinct(&f->shape, digest, p->mask);
}

/* Segment of the epoch whose age is @age, 0 .. r. */
EPF_FN __u32 epf_gebl_segment(const struct epf_gebl *f, __u32 age)
{
	return f->now >= age ? f->now - age : f->now + f->shape.epochs + 1 - age;
}

/* Number of epochs that count; the youngest has age 0. */
EPF_FN __u32 epf_gebl_counted(const struct epf_gebl *f)
{
	return f->shape.epochs + !f->retired;
}

/* C(n, k) / C(B, k), where @inverse[i] is 2^63 / (B - i). */
EPF_FN __u64 epf_gebl_cover(const __u64 *inverse, __u32 n, __u32 k)
{
	__u64 q = EPF_Q56_ONE;
	__u32 i;

	if (n < k)
		return 0;
	for (i = 0; i < k; i++)
		q = epf_mulhi(q << 1, (n - i) * inverse[i]);
	return q;
}

/* The starts for which all k positions, @step apart, are set. @n: words of a block, 1, 2, 4
 * or 8.
 */
EPF_FN void epf_gebl_starts(const __u64 *block, __u32 n, __u32 k, __u32 step, __u64 *starts)
{
	__u32 i, w;

	for (w = 0; w < n; w++)
		starts[w] = ~0ULL;
	for (i = 0; i < k; i++) {
		__u32 at = i * step & (64 * n - 1), shift = at & 63;

		for (w = 0; w < n; w++) {
			__u64 low = block[(w + at / 64) & (n - 1)];
			__u64 high = block[(w + at / 64 + 1) & (n - 1)];

			starts[w] &= shift ? low >> shift | high << (64 - shift) : low;
		}
	}
}

/* The probability that a key is found in a block, in units of the room. With double
 * hashing, the probability for keys of one step, which @digest chooses at random: what an
 * insertion adds is then right on average.
 */
EPF_FN_BIG __u64 epf_gebl_chance(const struct epf_gebl *f, const __u64 *block, __u64 digest)
{
	const struct epf_gebl_shape *s = &f->shape;
	__u32 words = epf_gebl_block(s), n = 0, i;
	__u64 starts[EPF_GEBL_BLOCK_WORDS];

	if (s->offsets == EPF_GEBL_DOUBLE) {
		epf_gebl_starts(block, words, s->bits, (__u32)epf_word(digest, 3), starts);
		for (i = 0; i < words; i++)
			n += epf_popcount(starts[i]);
		return (EPF_Q56_ONE / s->block_bits * n) >> f->room->shift;
	}
	for (i = 0; i < words; i++)
		n += epf_popcount(block[i]);
	return epf_gebl_cover(f->room->inverse, n, s->bits) >> f->room->shift;
}

/**
 * epf_gebl_insert() - insert a digest into the current epoch
 * @f: filter
 * @digest: of the key
 */
EPF_FN void epf_gebl_insert(struct epf_gebl *f, __u64 digest)
{
	__u32 n = epf_gebl_block(&f->shape);
	struct epf_gebl_probe p;
	__u64 *block, before;
	__u32 i;

	epf_gebl_probe(f, digest, &p);
	block = p.group + f->now * n;
	before = f->room ? epf_gebl_chance(f, block, digest) : 0;
	for (i = 0; i < n; i++)
		block[i] |= p.mask[i];
	if (f->room)
		epf_room_grow(f->room, f->now, epf_gebl_chance(f, block, digest) - before);
}

/* Does the block of @segment have all positions? */
EPF_FN bool epf_gebl_holds(const struct epf_gebl *f, const struct epf_gebl_probe *p, __u32 segment)
{
	__u32 n = epf_gebl_block(&f->shape);
	const __u64 *block = p->group + segment * n;
	__u32 i;

	for (i = 0; i < n; i++)
		if ((block[i] & p->mask[i]) != p->mask[i])
			return false;
	return true;
}

/**
 * epf_gebl_test() - was the digest inserted inside the window?
 * @f: filter
 * @digest: of the key
 *
 * Return: EPF_ABSENT, or EPF_PRESENT + age in epochs, 0 .. r.
 */
EPF_FN int epf_gebl_test(const struct epf_gebl *f, __u64 digest)
{
	__u32 counted = epf_gebl_counted(f);
	struct epf_gebl_probe p;
	__u32 age;

	epf_gebl_probe(f, digest, &p);
	for (age = 0; age < counted; age++)
		if (epf_gebl_holds(f, &p, epf_gebl_segment(f, age)))
			return EPF_PRESENT + (int)age;
	return EPF_ABSENT;
}

/**
 * epf_gebl_retire() - stop counting the oldest epoch
 * @f: filter, whose current epoch is complete
 */
EPF_FN void epf_gebl_retire(struct epf_gebl *f)
{
	f->retired = 1;
}

/**
 * epf_gebl_sweep() - empty a part of the retired epoch
 * @f: filter, retired
 * @at: first word of the part, counted inside the segment; 0 to begin with
 * @n: words to empty at most, 1 and up
 *
 * Return: @at of the next call; 0: done.
 */
EPF_FN __u64 epf_gebl_sweep(struct epf_gebl *f, __u64 at, __u64 n)
{
	__u32 words = epf_gebl_block(&f->shape); /* a power of two */
	__u32 log2_words = epf_popcount(words - 1);
	__u64 end = f->shape.blocks << log2_words;
	__u64 group = epf_gebl_group(&f->shape);
	__u32 old = epf_gebl_segment(f, f->shape.epochs);
	__u64 to = n < end - at ? at + n : end;

	for (; at < to; at++)
		f->word[(at >> log2_words) * group + old * words + (at & (words - 1))] = 0;
	return to < end ? to : 0;
}

/**
 * epf_gebl_advance() - make the emptied epoch the current one
 * @f: filter, retired and swept
 */
EPF_FN void epf_gebl_advance(struct epf_gebl *f)
{
	f->now = f->now < f->shape.epochs ? f->now + 1 : 0;
	f->retired = 0;
	if (f->room)
		epf_room_next(f->room, f->now);
}

/**
 * epf_gebl_rotate() - end the current epoch at once
 * @f: filter
 */
EPF_FN void epf_gebl_rotate(struct epf_gebl *f)
{
	epf_gebl_retire(f);
	epf_gebl_sweep(f, 0, ~0ULL);
	epf_gebl_advance(f);
}

#endif /* EPF_GEBL_H */
