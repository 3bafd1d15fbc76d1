/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arrays of 4-bit cells for the baselines cbf and sbf: two per byte, the low
 * half first.
 */
#ifndef LIBEPF_KINDS_CELLS_H
#define LIBEPF_KINDS_CELLS_H

#include <epf/hash.h>

#define EPF_CELLS_MIN 64ULL
#define EPF_CELLS_MAX (1ULL << 40)
#define EPF_CELL_MAX 15u /* largest value */

static inline bool epf_cells_in_range(__u64 cells)
{
	return cells >= EPF_CELLS_MIN && cells <= EPF_CELLS_MAX;
}

static inline __u64 epf_cells_bytes(__u64 cells)
{
	return (cells + 1) / 2;
}

/* Position i is floor((h1 + i h2 mod 2^64) cells / 2^64): double hashing as in
 * kind ge.
 */
static inline __u64 epf_cells_position(__u64 cells, __u64 digest, unsigned int i)
{
	__u64 h = epf_word(digest, 0) + i * (epf_word(digest, 1) | 1);

	return epf_mulhi(h, cells);
}

static inline unsigned int epf_cells_get(const __u8 *cell, __u64 pos)
{
	return cell[pos / 2] >> pos % 2 * 4 & EPF_CELL_MAX;
}

static inline void epf_cells_set(__u8 *cell, __u64 pos, unsigned int v)
{
	unsigned int shift = pos % 2 * 4;

	cell[pos / 2] = (__u8)((cell[pos / 2] & ~(EPF_CELL_MAX << shift)) | v << shift);
}

#endif /* LIBEPF_KINDS_CELLS_H */
