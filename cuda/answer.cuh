/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Telling what was found: bitmap, ages, histogram. A warp tells of 32 keys at a
 * time, and adds to the histogram once, at its end.
 */
#ifndef EPF_CUDA_ANSWER_CUH
#define EPF_CUDA_ANSWER_CUH

#include "look.cuh"

/**
 * struct answer - where it goes, as epf_cu_query() has it
 * @n: keys
 */
struct answer {
	__u32 *bitmap;
	__u8 *ages;
	unsigned long long *count;
	__u64 n;
};

/* Bits by lane, read from the lane of @epoch down and round: the first that is
 * set is the youngest. @hits is not 0.
 */
__device__ __forceinline__ __u32 age_of(__u32 hits, __u64 epoch)
{
	return (__u32)__clz((int)(hits * 0x01010101u << (7 - (epoch & 7))));
}

/* How many of the lanes in @present have this lane's number for their @age? */
__device__ __forceinline__ __u32 nr_of_age(__u32 present, __u32 age)
{
	__u32 bit;

	EPF_UNROLL
	for (bit = 0; bit < 3; bit++) {
		__u32 vote = __ballot_sync(ALL_LANES, (int)(age >> bit & 1));

		present &= threadIdx.x >> bit & 1 ? vote : ~vote;
	}
	return (__u32)__popc(present);
}

/**
 * tell() - the answer for key @i of this lane
 * @to: where
 * @i: @i - lane is a multiple of 32; lanes that have no key left come, too
 * @hits: lanes that have the key
 * @epoch: current one
 *
 * Return: keys of this warp whose age is the number of this lane; of lanes
 * below 8.
 */
__device__ __forceinline__ __u32 tell(const struct answer *to, __u64 i, __u32 hits,
				      __u64 epoch)
{
	bool present = i < to->n && hits;
	__u32 age = hits ? age_of(hits, epoch) : EPF_AGE_ABSENT;
	__u32 word = __ballot_sync(ALL_LANES, present);

	if (i < to->n && !(i % WARP))
		__stcs(&to->bitmap[i / WARP], word);
	if (i < to->n && to->ages)
		__stcs(&to->ages[i], (__u8)age);
	return nr_of_age(word, age);
}

/* Each lane below 8 has counted the keys of its age. */
__device__ __forceinline__ void tell_count(const struct answer *to,
					   unsigned long long nr)
{
	__u32 lane = threadIdx.x % WARP;

	if (lane < EPF_LANES && nr)
		atomicAdd(&to->count[lane], nr);
}

#endif /* EPF_CUDA_ANSWER_CUH */
