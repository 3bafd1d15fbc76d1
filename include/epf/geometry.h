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
 *   positions of part j   five at a time from w(4j + 1 + g), g = 0, 1, 2:
 *                         position i uses the 12-bit field f = bits
 *                         12(i mod 5) .. +11 of word g = i / 5, and Floyd's
 *                         rule for distinct samples (Bentley and Floyd,
 *                         "A sample of brilliance", CACM 1987): with
 *                         top = 62 - k_j + i and t = floor(f * (top+1) / 4096),
 *                         take t, or top when t is taken already.
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
#define EPF_PART_BITS_MAX 15u /* k_j: three words of five fields */
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
 * @k: positions a key sets, over all its lines: L .. 15 L
 */
struct epf_geom {
	__u64 part_lines;
	__u32 parts;
	__u32 k;
};

EPF_FN __u64 epf_geom_lines(const struct epf_geom *g)
{
	return g->part_lines * g->parts;
}

/* k_j: positions in the line of part @j. */
EPF_FN __u32 epf_geom_bits(const struct epf_geom *g, __u32 j)
{
	return g->k / g->parts + (j < g->k % g->parts);
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
	g->k = k;
	g->part_lines = nr_lines / parts;
	return 0;
}

/* floor(@word * @n / 2^64) for @n <= 2^32, without a 128-bit product. */
EPF_FN __u64 epf_scale(__u64 word, __u64 n)
{
	return ((word >> 32) * n + ((word & 0xffffffff) * n >> 32)) >> 32;
}

/* Index of the line of part @j. */
EPF_FN __u64 epf_geom_line(const struct epf_geom *g, __u64 digest, __u32 j)
{
	return j * g->part_lines + epf_scale(epf_word(digest, 4 * j),
					     g->part_lines);
}

/* The positions in the line of part @j, as a mask of k_j bits. */
EPF_FN __u64 epf_geom_mask(const struct epf_geom *g, __u64 digest, __u32 j)
{
	__u32 bits = epf_geom_bits(g, j);
	__u32 first = EPF_LANE_BITS - bits;
	__u64 fields = 0;
	__u64 mask = 0;
	__u32 i;

	for (i = 0; i < bits; i++) {
		__u32 top = first + i;
		__u64 bit;

		if (i % 5 == 0)
			fields = epf_word(digest, 4 * j + 1 + i / 5);
		bit = 1ULL << ((fields & 0xfff) * (top + 1) >> 12);
		mask |= mask & bit ? 1ULL << top : bit;
		fields >>= 12;
	}
	return mask;
}

#endif /* EPF_GEOMETRY_H */
