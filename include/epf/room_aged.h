/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the rooms (room.h) of apbf, apbbf and tlbf have in common. A run of k hits begins at
 * slice a if slice a - 1 does not hit and slices a .. a + k - 1 do. The sum of that
 * probability over a is the expected number of runs, and so at least the probability of one.
 * New keys set bits in the slices 0 .. k-1: if a share u of the unset bits in one of the
 * smallest is set, the share is also u in the others of its size, and less in proportion in
 * larger ones.
 */
#ifndef EPF_ROOM_AGED_H
#define EPF_ROOM_AGED_H

#include "q56.h"
#include "room.h"

#define EPF_ROOM_STEPS 24 /* bits to which a share is searched */

/**
 * struct epf_front - slices of which the first k take keys
 * @row: their probabilities
 * @k: number of slices that take keys
 * @nr: slices
 * @bits: of a key in a slice
 */
struct epf_front {
	struct epf_room_row *row;
	__u32 k;
	__u32 nr;
	__u32 bits;
};

/* The probability of a hit in slice @i < k, if a share @u of the unset bits were set. */
EPF_FN __u64 epf_front_hit(const struct epf_front *s, __u32 i, __u64 u)
{
	__u64 p = s->row->hit[i];

	p += epf_mul_q56(EPF_Q56_ONE - p, epf_mul_q56(u, s->row->ratio[i]));
	return epf_pow_q56(p, s->bits);
}

/* Prepare everything that does not depend on u. */
EPF_FN_BIG void epf_front_begin(struct epf_front *s)
{
	struct epf_room_row *row = s->row;
	__u64 q = EPF_Q56_ONE, before;
	__u32 a, i;

	for (a = 0; a < s->k && a + s->k <= s->nr; a++) {
		row->tail[a] = q;
		if (a + s->k < s->nr)
			q = epf_mul_q56(q, row->hit[a + s->k]);
	}
	row->fixed = 0;
	for (a = s->k; a + s->k <= s->nr; a++) {
		before = a == s->k ? epf_front_hit(s, a - 1, 0) : row->hit[a - 1];
		for (q = EPF_Q56_ONE - before, i = a; i < a + s->k; i++)
			q = epf_mul_q56(q, row->hit[i]);
		row->fixed += q;
	}
}

/* The expected number of runs, at most one. */
EPF_FN_BIG __u64 epf_front_error(const struct epf_front *s, __u64 u)
{
	__u64 run = EPF_Q56_ONE, sum = s->row->fixed, q, hit, before;
	__u32 a = s->k;

	for (hit = epf_front_hit(s, a - 1, u); a--; hit = before) {
		before = a ? epf_front_hit(s, a - 1, u) : 0;
		run = epf_mul_q56(run, hit);
		if (a + s->k > s->nr)
			continue;
		q = epf_mul_q56(run, s->row->tail[a]);
		sum += epf_mul_q56(q, EPF_Q56_ONE - before);
	}
	return sum < EPF_Q56_ONE ? sum : EPF_Q56_ONE;
}

/* The sum of what the probabilities of slices 0 .. k-1 may grow by, q56. */
EPF_FN_BIG __u64 epf_front_room(const struct epf_front *s, __u64 limit)
{
	__u64 u = 0, bit, sum = 0;
	__u32 i;

	if (epf_front_error(s, 0) > limit)
		return 0;
	for (i = 1; i <= EPF_ROOM_STEPS; i++) {
		bit = EPF_Q56_ONE >> i;
		if (epf_front_error(s, u | bit) <= limit)
			u |= bit;
	}
	for (i = 0; i < s->k; i++)
		sum += epf_front_hit(s, i, u) - epf_front_hit(s, i, 0);
	return sum;
}

#endif /* EPF_ROOM_AGED_H */
