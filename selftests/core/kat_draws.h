/* SPDX-License-Identifier: GPL-2.0 */
/* What kat_bpf and its programs share. */
#ifndef KAT_DRAWS_H
#define KAT_DRAWS_H

#define KAT_DRAWS 256

/**
 * struct kat_draws - positions drawn from fractions
 * @x: fractions
 * @mask: result
 * @n: positions, 1 .. 8
 */
struct kat_draws {
	__u64 x[KAT_DRAWS];
	__u64 mask[KAT_DRAWS];
	__u32 n;
};

#endif /* KAT_DRAWS_H */
