/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lookup in lines: which of the eight lanes have a key in each of its lines?
 *
 * A warp looks up 32 keys, one per thread. Four neighbouring threads load the
 * four quarters of a line for each other's keys in turn: round r serves the key
 * of neighbour r, and a request reads the 64 bytes of one line. All lines are
 * loaded before any mask is made and before any line is compared: a
 * __syncwarp() is between, which loads do not cross. Neighbours exchange their
 * results once, for all lines of a key.
 */
#ifndef EPF_CUDA_LOOK_CUH
#define EPF_CUDA_LOOK_CUH

#include "device.cuh"

#define QUARTERS 4u /* of a line, two lanes each; and threads that share a line */

/* Return: @v of the thread whose key is served in round @r. */
template <typename value_t> __device__ __forceinline__ value_t served(value_t v, __u32 r)
{
	return __shfl_sync(ALL_LANES, v, (int)r, QUARTERS);
}

/**
 * struct view - a thread's view of the lines
 * @quarter: the quarter of line 0 that this thread loads of each line
 * @geom: shape
 * @epoch: for each of the two lanes of a quarter, the latest epoch that uses it
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

/* Load this thread's quarter of line @at and of its neighbours' lines. __ldcg()
 * bypasses L1, because no line is loaded twice, and is one load, while nvcc
 * 13.0 splits a plain load.
 *
 * Return: the line of the last round.
 */
__device__ __forceinline__ __u32 fetch(const struct view *v, __u32 at, ulonglong2 quarter[QUARTERS])
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

/* Add to @lacks, for both lanes in each round, the bits of @mask that the lane
 * lacks.
 */
__device__ __forceinline__ void compare(const struct view *v, __u64 mask,
					const ulonglong2 quarter[QUARTERS],
					__u32 lacks[QUARTERS][2])
{
	__u32 r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		__u64 m = served(mask, r);

		lacks[r][0] |= either_half(epf_lane_differs(quarter[r].x, m, v->epoch[0]));
		lacks[r][1] |= either_half(epf_lane_differs(quarter[r].y, m, v->epoch[1]));
	}
}

/* Return: bit i is set if lane i lacks no bit of this thread's key. */
__device__ __forceinline__ __u32 exchange(const __u32 lacks[QUARTERS][2])
{
	__u32 at = threadIdx.x % QUARTERS, hits = 0, r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		hits |= lacks[r][0] ? 0 : 1u << 8 * r;
		hits |= lacks[r][1] ? 0 : 2u << 8 * r;
	}
	hits <<= 2 * at;
	/* byte r belongs to the key of neighbour r; each thread has two bits of it */
	hits |= __shfl_xor_sync(ALL_LANES, hits, 1);
	hits |= __shfl_xor_sync(ALL_LANES, hits, 2);
	return hits >> 8 * at & 0xff;
}

/**
 * look() - find the lanes that have a key in all its lines
 * @v: from view_of()
 * @digest: digest of this thread's key
 *
 * A filter has L lines per key and N fields in each. With N = 0 the number of fields is
 * read from @v, else the compiler knows it.
 *
 * Return: bit i is set if lane i has the key.
 */
template <int L, int N> __device__ __forceinline__ __u32 look(const struct view *v, __u64 digest)
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
	/* Bit 31 of a line number is 0 (EPF_LINES_MAX), so @still is 0 and
	 * changes no word. nvcc 13.0 does not know that, so it makes no mask
	 * before the last load.
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
