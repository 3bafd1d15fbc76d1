/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a filter of a locked kind counts so that it fails open in time: how much it has
 * grown, and how much it may grow before its error reaches a limit. kind_KIND.h computes the
 * numbers when an epoch or a slice begins; an insertion only adds and compares.
 *
 * What grows:
 *
 *   ge, apbf   set bits of the slices that take keys
 *   gebl       the sum, over the blocks of the current epoch, of the probability that a key
 *              is found in the block
 *   apbbf      the same sums, over the slices that take keys
 *   tlbf       set bits of these slices, each as a share of its slice
 *   dict       live cells, and pass marks, each as the number of cells that a bucket stands
 *              for
 *   chain      keys that set a bit in the current lanes of table 0
 *   elastic    the sum, over the lines, of the weights of their items (epf_elastic_weight()),
 *              counted by any number of CPUs at once
 *
 * A repeat changes nothing and adds nothing. All computations are of integers, by one source
 * for the module and for user space, so both fail open at the same key.
 *
 * When @stale is set, epf_KIND_set_room() must run before the next key is inserted: it takes
 * some microseconds.
 *
 * A filter counts if its owner has given it a struct epf_room. It belongs to the filter and
 * is read and written in the same places.
 */
#ifndef EPF_ROOM_H
#define EPF_ROOM_H

#include "capacity.h"

#define EPF_ROOM_PLACES 256u
#define EPF_ROOM_TAKING 128u /* slices that take keys, at most */
#define EPF_ROOM_DRAWS 20u

/* For the aged kinds; q56. */
struct epf_room_row {
	__u64 hit[EPF_ROOM_PLACES];   /* probability of a hit by age; for slices that take keys
					 * its root, one per bit of a key */
	__u64 ratio[EPF_ROOM_TAKING]; /* smallest size of these slices, divided by its own */
	__u64 tail[EPF_ROOM_TAKING];  /* k in a row, those from slice k on */
	__u64 fixed;                  /* runs among slices that take no keys */
};

/* For elastic, by tag; see epf_elastic_grow(). */
struct epf_room_tags {
	__u64 sum[8];  /* weight added since creation */
	__u64 gone[8]; /* that of epochs which no longer count */
};

/**
 * struct epf_room - see above; zeroed except @limit_q56
 * @limit_q56: error that the filter may have
 * @grown: growth since @most was computed; elastic: since creation, without what is gone
 * @most: growth at which the error is at the limit
 * @stale: @most is for an epoch or slice that is over; elastic: always, as @grown may be
 * @shift: the probability of a block is counted in units of 2^-(56 - @shift); elastic:
 *	weights reach @tags in units of 2^@shift
 * @share: what each segment, slice, tag, or lane of a table holds; elastic: 32 parts of it
 * @inverse: gebl: 2^63 / (B - i)
 * @row: aged kinds: working memory
 * @tags: elastic: what was added
 * @capacity: chain: error of an epoch of a table of the most lines
 */
struct epf_room {
	__u64 limit_q56;
	__u64 grown;
	__u64 most;
	__u32 stale;
	__u32 shift;
	__u64 share[EPF_ROOM_PLACES];
	union {
		__u64 inverse[EPF_ROOM_DRAWS];
		struct epf_room_row row;
		struct epf_room_tags tags;
		struct epf_capacity capacity;
	};
};

/* May the error be at the limit? */
EPF_FN bool epf_room_full(const struct epf_room *r)
{
	return epf_load(&r->grown) >= epf_load(&r->most);
}

EPF_FN void epf_room_grow(struct epf_room *r, __u32 place, __u64 n)
{
	r->share[place] += n;
	r->grown += n;
}

/* Place @place is empty, and becomes one that takes keys. */
EPF_FN void epf_room_next(struct epf_room *r, __u32 place)
{
	r->share[place] = 0;
	r->stale = 1;
}

/* What the limit leaves if an error of @other is there. */
EPF_FN_BIG __u64 epf_room_rest(const struct epf_room *r, __u64 other)
{
	/* 1 - (1 - other) (1 - x) = limit */
	return other >= r->limit_q56 ? 0 : epf_frac_q56(r->limit_q56 - other, EPF_Q56_ONE - other);
}

/* Growth may go on until place @place holds @to. */
EPF_FN void epf_room_set(struct epf_room *r, __u32 place, __u64 to)
{
	r->grown = 0;
	r->most = to > r->share[place] ? to - r->share[place] : 0;
	r->stale = 0;
}

/* @q56 of @n, rounded down. */
EPF_FN __u64 epf_room_part(__u64 q56, __u64 n)
{
	__u64 low, high = epf_mul(q56, n, &low);

	return high << 8 | low >> 56;
}

/* A shift that keeps the sum of the probabilities of @blocks blocks below 2^56. */
EPF_FN __u32 epf_room_shift(__u64 blocks)
{
	__u32 shift = 0;

	while (blocks >> shift)
		shift++;
	return shift;
}

/* The sum for @blocks blocks that all let every key pass. */
EPF_FN __u64 epf_room_blocks(const struct epf_room *r, __u64 blocks)
{
	return blocks << (56 - r->shift);
}

#endif /* EPF_ROOM_H */
