/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looking at lines: which of the eight lanes have a key in each of its lines?
 *
 * A warp looks for 32 keys, one of each lane. Four neighbours load the four
 * quarters of a line, of each other's keys in turn: round r is for the key of
 * neighbour r, and a request is for 64 bytes of one line. All is loaded before
 * anything is looked at: a __syncwarp() is between, over which loads do not move.
 */
#ifndef EPF_CUDA_LOOK_CUH
#define EPF_CUDA_LOOK_CUH

#include "device.cuh"

#define QUARTERS 4u /* of a line, two lanes each; and neighbours */

/* @v of the thread whose key is served in round @r. */
template <typename value_t>
__device__ __forceinline__ value_t served(value_t v, __u32 r)
{
	return __shfl_sync(ALL_LANES, v, (int)r, QUARTERS);
}

/* This thread's quarter of the line @at, and of those of neighbours; numbers of lines fit
 * (EPF_LINES_MAX). Nothing is asked for twice, so L1 need not keep it. (By name: a plain
 * load is cut up by nvcc 13.0.)
 */
__device__ __forceinline__ void fetch(const struct epf_cu_lines *f, __u32 at,
				      ulonglong2 quarter[QUARTERS])
{
	__u32 r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		const struct epf_line *line = f->line + served(at, r);

		quarter[r] = __ldcg((const ulonglong2 *)line +
				    threadIdx.x % QUARTERS);
	}
}

/* Bit i: lane i of the line has all of @mask. */
__device__ __forceinline__ __u32 test(const ulonglong2 quarter[QUARTERS],
				      __u64 mask, __u64 epoch)
{
	__u32 lane = 2 * (threadIdx.x % QUARTERS), hits = 0, r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		__u64 m = served(mask, r);
		__u32 two = epf_holds(quarter[r].x, m, lane_epoch(epoch, lane)) |
			    epf_holds(quarter[r].y, m,
				      lane_epoch(epoch, lane + 1)) << 1;

		hits |= two << 8 * r << lane;
	}
	/* byte r is of the key of neighbour r, and each has two bits of it */
	hits |= __shfl_xor_sync(ALL_LANES, hits, 1);
	hits |= __shfl_xor_sync(ALL_LANES, hits, 2);
	return hits >> 8 * (threadIdx.x % QUARTERS) & 0xff;
}

/**
 * look() - which lanes have the key in all its lines?
 * @f: lines
 * @digest: of this thread's key
 *
 * Return: bit i: lane i has it.
 */
template <int L>
__device__ __forceinline__ __u32 look(const struct epf_cu_lines *f, __u64 digest)
{
	ulonglong2 quarter[L][QUARTERS];
	struct epf_geom g = f->geom;
	__u64 w[L], mask[L];
	__u32 hits = ~0u;
	int j;

	EPF_UNROLL
	for (j = 0; j < L; j++) {
		w[j] = epf_lane_word(digest, j);
		fetch(f, (__u32)epf_word_line(&g, w[j], j), quarter[j]);
	}
	EPF_UNROLL
	for (j = 0; j < L; j++) /* while lines are under way */
		mask[j] = epf_word_mask(&g, w[j]);
	__syncwarp();
	EPF_UNROLL
	for (j = 0; j < L; j++)
		hits &= test(quarter[j], mask[j], f->epoch);
	return hits;
}

#endif /* EPF_CUDA_LOOK_CUH */
