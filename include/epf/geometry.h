/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Geometry of a lanes filter: which lines and which positions a digest selects. Integers
 * only; any context. docs/theory/lanes.md has the reasons and the error.
 *
 * The array of nr_lines lines is cut into L equal parts. A key has one line in each part,
 * so its lines are distinct, and n = k/L fields of six bits in the line of part j. A field
 * of 0 .. 61 selects a position of its lane; 62 and 63 select none. Several fields may
 * select the same position, so a key has up to n positions in a line.
 *
 * With w(i) = epf_lane_word(digest, i), of 64 bits, and fold(w) = w xor floor(w / 2^32):
 *
 *   line of part j     j * nr_lines/L + floor(h * (nr_lines/L) / 2^32), h being the upper
 *                      32 bits of w(j)
 *   fields of part j   the first 5 at most are bits 0-5, 6-11, ... 24-29 of fold(w(j)); the
 *                      next 10 at most are bits 0-5, 6-11, ... 54-59 of fold(w(4 + j))
 */
#ifndef EPF_GEOMETRY_H
#define EPF_GEOMETRY_H

#include "hash.h"

#define EPF_LANES 8u       /* epochs of a line: the window's and a guard */
#define EPF_LIVE_EPOCHS 7u /* r: epochs a window is cut into */
#define EPF_LANE_BITS 62u  /* position bits of a lane */
#define EPF_TAG_SHIFT EPF_LANE_BITS
#define EPF_TAG_MASK (3ULL << EPF_TAG_SHIFT)
#define EPF_PARTS_MAX 4u      /* L */
#define EPF_PART_BITS_MAX 15u /* k/L */
#define EPF_FIELD_SHIFT 6
#define EPF_FIELDS 64u     /* values of a field */
#define EPF_WORD_FIELDS 5u /* fields from the word that selects the line */
#define EPF_LINE_BYTES 64u
#define EPF_LINES_MIN 64ULL             /* 4 KiB */
#define EPF_LINES_MAX (1ULL << 31)      /* 128 GiB */
#define EPF_PART_LINES_MAX (1ULL << 29) /* at least 8 of 2^32 values select each line */

struct epf_line {
	__u64 lane[EPF_LANES];
};
EPF_ASSERT(sizeof(struct epf_line) == EPF_LINE_BYTES, "a line is 64 bytes");

/**
 * struct epf_geom - shape of a filter
 * @part_lines: lines of one part, nr_lines / L
 * @parts: L, lines a key uses: 1, 2 or 4
 * @bits: k / L, fields of a key in each line; k is their total number; see
 *	epf_geom_set_bits()
 * @skip: ones in the unused fields of the first word, so that these select no position and
 *	no loop has to count fields
 */
struct epf_geom {
	__u64 part_lines;
	__u16 parts;
	__u16 bits;
	__u32 skip;
};

EPF_FN __u64 epf_geom_lines(const struct epf_geom *g)
{
	return g->part_lines * g->parts;
}

/* @bits: 1 .. EPF_PART_BITS_MAX */
EPF_FN void epf_geom_set_bits(struct epf_geom *g, __u32 bits)
{
	g->bits = (__u16)bits;
	g->skip = bits < EPF_WORD_FIELDS ? ~0u << EPF_FIELD_SHIFT * bits : 0;
}

/**
 * epf_geom_init() - check and set a shape
 * @g: result
 * @nr_lines: EPF_LINES_MIN .. EPF_LINES_MAX, a multiple of @parts, and at most
 *	EPF_PART_LINES_MAX of them
 * @parts: 1, 2 or 4
 * @k: @parts .. EPF_PART_BITS_MAX * @parts, a multiple of @parts
 *
 * Return: 0, or -EINVAL when a number is out of its range.
 */
EPF_FN int epf_geom_init(struct epf_geom *g, __u64 nr_lines, __u32 parts, __u32 k)
{
	if (parts != 1 && parts != 2 && parts != EPF_PARTS_MAX)
		return -EINVAL;
	if (k < parts || k > parts * EPF_PART_BITS_MAX || (k & (parts - 1)))
		return -EINVAL;
	if (nr_lines < EPF_LINES_MIN || nr_lines > EPF_LINES_MAX ||
	    nr_lines > parts * EPF_PART_LINES_MAX || (nr_lines & (parts - 1)))
		return -EINVAL;
	g->parts = (__u16)parts;
	g->part_lines = nr_lines / parts;
	epf_geom_set_bits(g, k / parts);
	return 0;
}

/* A multiplier whose spectral figures are 0.96 to 0.76 in dimensions 2 to 8 (1 is best):
 * Steele and Vigna, "Computationally easy, spectrally good multipliers for congruential
 * pseudorandom number generators", Software: Practice and Experience 52 (2022).
 */
#define EPF_WORD_STEP 0xd1342543de82ef95ULL
#define EPF_WORD_STEP_2 (EPF_WORD_STEP * EPF_WORD_STEP)
#define EPF_WORD_STEP_4 (EPF_WORD_STEP_2 * EPF_WORD_STEP_2)

/* w(@i) = @digest * EPF_WORD_STEP^i, @i < 8. */
EPF_FN __u64 epf_lane_word(__u64 digest, __u32 i)
{
	if (i & 1)
		digest *= EPF_WORD_STEP;
	if (i & 2)
		digest *= EPF_WORD_STEP_2;
	return i & 4 ? digest * EPF_WORD_STEP_4 : digest;
}

/* The functions that follow take @w = w(j), for callers that already have it. */

/* Index of the line of part @j. */
EPF_FN __u64 epf_word_line(const struct epf_geom *g, __u64 w, __u32 j)
{
	return j * g->part_lines + ((w >> 32) * g->part_lines >> 32);
}

/* The low half of a product depends only on the low half of the digest, so the high half is
 * folded into it.
 */
EPF_FN __u64 epf_fold(__u64 w)
{
	return w ^ w >> 32;
}

/* Adds to @mask the positions that the fields of w(j) select. A field that selects none
 * sets bit 62 or 63, which belongs to the tag; the caller sets or clears both bits.
 */
EPF_FN __u64 epf_word_fields(const struct epf_geom *g, __u64 w, __u64 mask)
{
	__u64 x = epf_fold(w) | g->skip;
	__u32 i;

	EPF_UNROLL
	for (i = 0; i < EPF_WORD_FIELDS; i++) {
		mask = epf_with_bit(mask, x);
		x = epf_serial(x >> EPF_FIELD_SHIFT);
	}
	return mask;
}

/* Adds to @mask the positions that the lowest @n fields of *@x select, and removes these
 * fields from *@x.
 */
EPF_FN __u64 epf_take_fields(__u64 *x, __u32 n, __u64 mask)
{
	__u32 i;

	EPF_UNROLL_VERIFIED_ALL
	for (i = 0; i < n; i++) {
		mask = epf_with_bit(mask, *x);
		*x = epf_serial(*x >> EPF_FIELD_SHIFT);
	}
	return mask;
}

/* The same for the fields of w(4 + j); @w = w(j), @bits = k/L. Under a verifier the fields are
 * processed in groups of five. Unused ones select no position, so the verifier does not
 * follow their number; elsewhere the loop leaves them out.
 */
EPF_FN_SPLIT __u64 epf_more_fields(__u64 w, __u32 bits)
{
	__u64 x = epf_fold(w * EPF_WORD_STEP_4), mask;

	if (bits <= EPF_WORD_FIELDS)
		return 0;
	if (!EPF_VERIFIED)
		return epf_take_fields(&x, bits - EPF_WORD_FIELDS, 0);
	x |= ~0ULL << EPF_FIELD_SHIFT * (bits - EPF_WORD_FIELDS);
	mask = epf_take_fields(&x, EPF_WORD_FIELDS, 0);
	if (bits > 2 * EPF_WORD_FIELDS)
		mask = epf_take_fields(&x, EPF_WORD_FIELDS, mask);
	return mask;
}

/* Does @g use fields of w(4 + j)? Where epf_more_fields() is a function of its own, it
 * decides that itself.
 */
EPF_FN bool epf_geom_has_more(const struct epf_geom *g)
{
	return EPF_SPLITS || g->bits > EPF_WORD_FIELDS;
}

/* The bits that a probe compares in the line of w = w(j): positions, and the tag. */
EPF_FN __u64 epf_word_mask(const struct epf_geom *g, __u64 w)
{
	__u64 mask = epf_word_fields(g, w, EPF_TAG_MASK);

	return epf_geom_has_more(g) ? mask | epf_more_fields(w, g->bits) : mask;
}

/* The index of the line of part @j, and the positions in it, from the digest. */
EPF_FN __u64 epf_geom_line(const struct epf_geom *g, __u64 digest, __u32 j)
{
	return epf_word_line(g, epf_lane_word(digest, j), j);
}

EPF_FN __u64 epf_geom_mask(const struct epf_geom *g, __u64 digest, __u32 j)
{
	return epf_word_mask(g, epf_lane_word(digest, j)) & ~EPF_TAG_MASK;
}

#endif /* EPF_GEOMETRY_H */
