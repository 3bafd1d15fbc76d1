/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looking at lines: which of the eight lanes have a key in each of its lines?
 *
 * A warp looks for 32 keys, one of each lane. Four neighbours load the four
 * quarters of a line, of each other's keys in turn: round r is for the key of
 * neighbour r, and a request is for 64 bytes of one line. All lines are loaded before
 * a mask is made and before anything is looked at: a __syncwarp() is between, over which
 * loads do not move. Neighbours exchange what they found once, for all lines of a key.
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

/**
 * struct view - lines as a thread looks at them
 * @quarter: of line 0, the quarter that this thread loads of each line
 * @geom: shape
 * @epoch: of each of the two lanes of a quarter, the latest one
 */
struct view {
	const ulonglong2 *quarter;
	struct epf_geom geom;
	__u64 epoch[2];
};

__device__ __forceinline__ struct view view_of(const struct epf_cu_lines *f)
{
	__u32 at = threadIdx.x % QUARTERS;
	struct view v;

	v.quarter = epf_cu_register((const ulonglong2 *)f->line + at);
	v.epoch[0] = lane_epoch(f->epoch, 2 * at);
	v.epoch[1] = lane_epoch(f->epoch, 2 * at + 1);
	v.geom = f->geom;
	v.geom.part_lines = (__u32)v.geom.part_lines; /* EPF_PART_LINES_MAX */
	return v;
}

/* This thread's quarter of the line @at, and of those of its neighbours. No line is loaded
 * twice, so L1 need not keep it. (By name: nvcc 13.0 splits a plain load.)
 *
 * Return: the line of the last round.
 */
__device__ __forceinline__ __u32 fetch(const struct view *v, __u32 at,
				       ulonglong2 quarter[QUARTERS])
{
	__u32 r, line = 0;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		line = served(at, r);
		quarter[r] = __ldcg(v->quarter + (__u64)QUARTERS * line);
	}
	return line;
}

__device__ __forceinline__ __u32 either_half(__u64 v)
{
	return (__u32)v | (__u32)(v >> 32);
}

/* Add to @lacks, of both lanes in each round, what the lane lacks of @mask. */
__device__ __forceinline__ void compare(const struct view *v, __u64 mask,
					const ulonglong2 quarter[QUARTERS],
					__u32 lacks[QUARTERS][2])
{
	__u32 r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		__u64 m = served(mask, r);

		lacks[r][0] |= either_half(epf_differs(quarter[r].x, m, v->epoch[0]));
		lacks[r][1] |= either_half(epf_differs(quarter[r].y, m, v->epoch[1]));
	}
}

/* Bit i: lane i lacks nothing of this thread's key. */
__device__ __forceinline__ __u32 exchange(const __u32 lacks[QUARTERS][2])
{
	__u32 at = threadIdx.x % QUARTERS, hits = 0, r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		hits |= lacks[r][0] ? 0 : 1u << 8 * r;
		hits |= lacks[r][1] ? 0 : 2u << 8 * r;
	}
	hits <<= 2 * at;
	/* byte r is of the key of neighbour r, and each has two bits of it */
	hits |= __shfl_xor_sync(ALL_LANES, hits, 1);
	hits |= __shfl_xor_sync(ALL_LANES, hits, 2);
	return hits >> 8 * at & 0xff;
}

/**
 * look() - which lanes have the key in all its lines?
 * @v: from view_of()
 * @digest: of this thread's key
 *
 * A filter has L lines a key, and N fields in each; with N of 0 the number of fields is
 * read from @v, else the compiler knows it.
 *
 * Return: bit i: lane i has it.
 */
template <int L, int N>
__device__ __forceinline__ __u32 look(const struct view *v, __u64 digest)
{
	ulonglong2 quarter[L][QUARTERS];
	__u32 lacks[QUARTERS][2] = {};
	struct epf_geom g = v->geom;
	__u64 w[L], mask[L];
	__u32 last = 0, still;
	int j;

	if (N)
		epf_geom_set_bits(&g, N);
	EPF_UNROLL
	for (j = 0; j < L; j++) {
		w[j] = epf_lane_word(digest, j);
		last = fetch(v, (__u32)epf_word_line(&g, w[j], j), quarter[j]);
	}
	__syncwarp();
	/* Bit 31 of a line's number is 0 (EPF_LINES_MAX), so this changes no word. But nvcc
	 * 13.0 does not know it, and makes no mask before the last load.
	 */
	still = (__u32)((int)last >> 31);
	EPF_UNROLL
	for (j = 0; j < L; j++)
		mask[j] = epf_word_mask(&g, w[j] ^ still);
	EPF_UNROLL
	for (j = 0; j < L; j++)
		compare(v, mask[j], quarter[j], lacks);
	return exchange(lacks);
}

#endif /* EPF_CUDA_LOOK_CUH */
