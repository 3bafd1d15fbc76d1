/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Geometry of a lanes filter: which lines and which positions a digest names.
 * Integers only; any context.
 *
 * The array of nr_lines lines is cut into L equal parts; a key has one line in
 * each part, so its lines are distinct, and k_j = k/L (one more in the first
 * k mod L parts) distinct positions in the line of part j.
 *
 * With w(i) = epf_word(digest, i):
 *
 *   line of part j        j * nr_lines/L + floor(w(4j) * (nr_lines/L) / 2^64)
 *   positions of part j   Floyd's rule for distinct samples (Bentley and
 *                         Floyd, "A sample of brilliance", CACM 1987): for
 *                         top = 62 - k_j, ... 61 take t, or top where t is
 *                         taken already, t uniform in 0 .. top. The t come
 *                         from a 64-bit fraction x, eight from x = w(4j + 1),
 *                         the others from x = w(4j + 2):
 *                         t = floor(x (top+1) / 2^64), then
 *                         x = x (top+1) mod 2^64. Eight draws use 48 bits.
 */
#ifndef EPF_GEOMETRY_H
#define EPF_GEOMETRY_H

#include "hash.h"

#define EPF_LANES 8u	    /* epochs a line holds: the window's and a guard */
#define EPF_LIVE_EPOCHS 7u  /* r: epochs a window is cut into */
#define EPF_LANE_BITS 62u   /* position bits of a lane */
#define EPF_TAG_SHIFT EPF_LANE_BITS
#define EPF_TAG_MASK (3ULL << EPF_TAG_SHIFT)
#define EPF_PARTS_MAX 4u    /* L */
#define EPF_PART_BITS_MAX 15u /* k_j */
#define EPF_WORD_DRAWS 8u     /* positions from one word */
#define EPF_DIGIT_SHIFT 58    /* see epf_draw_58_bits() */
#define EPF_LINE_BYTES 64u
#define EPF_LINES_MIN 64ULL		/* 4 KiB */
#define EPF_LINES_MAX (1ULL << 31)	/* 128 GiB */

struct epf_line {
	__u64 lane[EPF_LANES];
};
EPF_ASSERT(sizeof(struct epf_line) == EPF_LINE_BYTES, "a line is 64 bytes");

/**
 * struct epf_geom - shape of a filter
 * @part_lines: lines of one part, nr_lines / L
 * @parts: L, lines a key uses: 1, 2 or 4
 * @bits: floor(k / L), k being the positions a key sets over all its lines
 * @more: k mod L: so many parts have one position more
 */
struct epf_geom {
	__u64 part_lines;
	__u32 parts;
	__u16 bits;
	__u16 more;
};

EPF_FN __u64 epf_geom_lines(const struct epf_geom *g)
{
	return g->part_lines * g->parts;
}

/* k_j: positions in the line of part @j. */
EPF_FN __u32 epf_geom_bits(const struct epf_geom *g, __u32 j)
{
	return g->bits + (j < g->more);
}

/**
 * epf_geom_init() - check and set a shape
 * @g: result
 * @nr_lines: EPF_LINES_MIN .. EPF_LINES_MAX, a multiple of @parts
 * @parts: 1, 2 or 4
 * @k: @parts .. EPF_PART_BITS_MAX * @parts
 *
 * Return: 0, or -EINVAL when a number is out of its range.
 */
EPF_FN int epf_geom_init(struct epf_geom *g, __u64 nr_lines, __u32 parts,
			 __u32 k)
{
	if (parts != 1 && parts != 2 && parts != EPF_PARTS_MAX)
		return -EINVAL;
	if (k < parts || k > parts * EPF_PART_BITS_MAX)
		return -EINVAL;
	if (nr_lines < EPF_LINES_MIN || nr_lines > EPF_LINES_MAX ||
	    (nr_lines & (parts - 1)))
		return -EINVAL;
	g->parts = parts;
	g->bits = (__u16)(k / parts);
	g->more = (__u16)(k % parts);
	g->part_lines = nr_lines / parts;
	return 0;
}

/* Index of the line of part @j. */
EPF_FN __u64 epf_geom_line(const struct epf_geom *g, __u64 digest, __u32 j)
{
	__u64 low;

	return j * g->part_lines + epf_mul32(epf_word(digest, 4 * j),
					     g->part_lines, &low);
}

/* See epf_draw(). */
EPF_FN_APART __u64 epf_draw_all_bits(__u64 mask, __u64 x, __u64 top, __u32 n)
{
	__u32 i = 0;

	EPF_UNROLL
	do {
		__u64 t = epf_mul32(x, top + 1, &x);

		t = mask >> t & 1 ? top : t;
		mask = epf_with_bit(mask, t);
		top++;
	} while (++i != n && i < EPF_WORD_DRAWS);
	return mask;
}

/* Have digits been taken that may be too small by one? @f is what is left of the
 * first 58 bits of a fraction, after up to 8 factors m <= 62. What the other 6
 * bits would add to it, in units of the last place, is less than the product of all m,
 * so less than 62^8 < 2^48. If that would have carried into a digit, the fraction
 * left after that digit lacked no more than this to 1. Each further digit
 * multiplies by m what it lacks, and the bound as well. So then @f is one of the highest
 * 2^48, as one fraction in 2^10 is.
 */
EPF_FN bool epf_digits_unsure(__u64 f)
{
	return f >> 48 == (1ULL << (EPF_DIGIT_SHIFT - 48)) - 1;
}

/* As epf_draw_all_bits(), without a high half of a product. */
EPF_FN_SPLIT __u64 epf_draw_58_bits(__u64 mask, __u64 x, __u64 top, __u32 n)
{
	__u64 f = x >> (64 - EPF_DIGIT_SHIFT), m = mask;
	__u64 t = top;
	__u32 i = 0;

	EPF_UNROLL
	do {
		__u64 product = f * (t + 1);
		__u64 digit = product >> EPF_DIGIT_SHIFT;

		f = product & ((1ULL << EPF_DIGIT_SHIFT) - 1);
		m |= 1ULL << digit | (m >> digit & 1) << t;
		t++;
	} while (++i != n && i < EPF_WORD_DRAWS);
	return epf_digits_unsure(f) ? epf_draw_all_bits(mask, x, top, n) : m;
}

/* Add @n positions, 1 .. 8, to @mask from the fraction @x; the first is at
 * most @top. Compilers make a conditional move of the choice, as they should:
 * whether a position is taken is a coin toss.
 */
EPF_FN __u64 epf_draw(__u64 mask, __u64 x, __u64 top, __u32 n)
{
	return EPF_SLOW_HIGH ? epf_draw_58_bits(mask, x, top, n) :
			       epf_draw_all_bits(mask, x, top, n);
}

/* The positions in the line of part @j, as a mask of k_j bits. */
EPF_FN __u64 epf_geom_mask(const struct epf_geom *g, __u64 digest, __u32 j)
{
	__u32 n = epf_geom_bits(g, j);
	__u32 top = EPF_LANE_BITS - n;
	__u64 mask = epf_draw(0, epf_word(digest, 4 * j + 1), top, n);

	if (n <= EPF_WORD_DRAWS)
		return mask;
	return epf_draw(mask, epf_word(digest, 4 * j + 2),
			top + EPF_WORD_DRAWS, n - EPF_WORD_DRAWS);
}

#endif /* EPF_GEOMETRY_H */
