/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers with a fixed seed. Each program draws the same numbers in every run. */
#ifndef DEDUP_DRAW_H
#define DEDUP_DRAW_H

#include <linux/types.h>

static __u64 rng_state = 88172645463325252ULL;

/* Xorshift (Marsaglia, "Xorshift RNGs", 2003). Return: a number below @below. */
static inline __u64 draw(__u64 below)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state % below;
}

#endif /* DEDUP_DRAW_H */
