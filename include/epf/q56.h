/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probabilities in fixed point with 56 fraction bits (q56), 0 .. EPF_Q56_ONE.
 * Integers only. Results are rounded down, by at most 3 units.
 */
#ifndef EPF_Q56_H
#define EPF_Q56_H

#include "shim.h"

#define EPF_Q56_ONE (1ULL << 56)

/* a * b in q56, both at most one. */
EPF_FN __u64 epf_mul_q56(__u64 a, __u64 b)
{
	__u64 lo = (1ULL << 28) - 1;

	return (a >> 28) * (b >> 28) + ((a >> 28) * (b & lo) >> 28) + ((b >> 28) * (a & lo) >> 28);
}

/* Probability of at least one of two independent events. */
EPF_FN __u64 epf_either_q56(__u64 a, __u64 b)
{
	return a + b - epf_mul_q56(a, b);
}

EPF_FN __u64 epf_pow_q56(__u64 a, __u32 n)
{
	__u64 q = EPF_Q56_ONE;

	while (n--)
		q = epf_mul_q56(q, a);
	return q;
}

/* Exact to 31 bits. */
EPF_FN __u64 epf_sqrt_q56(__u64 q)
{
	__u64 root = 0, bit;

	for (bit = 1ULL << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= q << 6)
			root |= bit;
	return root << 25;
}

/* a / b to 32 bits; a below 2^32, below 2^8 b. 0 for b = 0. */
EPF_FN __u64 epf_ratio_q56(__u64 a, __u64 b)
{
	return b ? (a << 32) / b << 24 : 0;
}

/* a / b, rounded down; one if a >= b. b is at most EPF_Q56_ONE. */
EPF_FN_BIG __u64 epf_frac_q56(__u64 a, __u64 b)
{
	__u64 q = 0;
	__u32 i;

	if (a >= b)
		return EPF_Q56_ONE;
	for (i = 0; i < 7; i++) { /* eight bits of the quotient each */
		a <<= 8;
		q = q << 8 | a / b;
		a %= b;
	}
	return q;
}

/* The ABI's parts per 10^12, at most one, to q56. */
EPF_FN_BIG __u64 epf_ppt_to_q56(__u64 ppt)
{
	return epf_frac_q56(ppt, 1000000000000ULL);
}

/* q56, at most one, to the ABI's parts per 10^12 = 5^12 * 2^12. */
EPF_FN __u64 epf_q56_to_ppt(__u64 q)
{
	__u64 five12 = 244140625;

	return ((q >> 28) * five12 + ((q & ((1ULL << 28) - 1)) * five12 >> 28)) >> 16;
}

#endif /* EPF_Q56_H */
