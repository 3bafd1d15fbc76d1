// SPDX-License-Identifier: GPL-2.0
/*
 * Questions: a warp goes from one group of 32 keys to another; lane i has key i
 * of the group, and bit i of its word of the bitmap. It adds to the histogram
 * once, at its end.
 */
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

/* Lanes behind the last key ask for it once more, and tell nothing. */
template <int L>
static __global__ void __launch_bounds__(BLOCK)
query(struct epf_cu_lines f, struct epf_cu_keys k, struct answer to)
{
	__u32 lane = threadIdx.x % WARP;
	unsigned long long nr = 0;
	__u64 i = thread_number();

	for (; i / WARP * WARP < k.n; i += nr_threads()) {
		__u64 digest = key_digest(&k, i < k.n ? i : k.n - 1);

		nr += tell(&to, i, look<L>(&f, digest), f.epoch);
	}
	if (lane < EPF_LANES && nr)
		atomicAdd(&to.count[lane], nr);
}

typedef void (*query_fn)(struct epf_cu_lines f, struct epf_cu_keys k,
			 struct answer to);

static query_fn query_of(__u32 parts)
{
	if (parts == 1)
		return query<1>;
	if (parts == 2)
		return query<2>;
	return query<4>;
}

extern "C" cudaError_t epf_cu_query(const struct epf_cu_lines *f,
				    const struct epf_cu_keys *k, __u32 *bitmap,
				    __u8 *ages, unsigned long long *count,
				    cudaStream_t stream)
{
	query_fn kernel = query_of(f->geom.parts);
	struct answer to = { bitmap, ages, count, k->n };

	if (!k->n)
		return cudaSuccess;
	if (!sound_lines(f) || !sound_keys(k) || !bitmap || !count)
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(kernel,
			  blocks_for(k->n, BLOCK, EPF_RESIDENT(kernel, BLOCK)),
			  BLOCK, stream, *f, *k, to);
}
