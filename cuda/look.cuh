/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looking at lines: which of the eight lanes have a key in each of its lines?
 *
 * A warp looks for 32 keys, one of each lane. T threads serve a key in T rounds:
 *
 *   T = 1  a thread loads its line alone, by four loads of 16 bytes
 *   T = 4  four neighbours load the four quarters of a line, of each other's
 *	    keys in turn: round r is for the key of neighbour r, and a request
 *	    is for 64 bytes of one line
 *
 * So a thread loads four quarters of each part either way, quarter r of its own
 * line or its own quarter of the line of neighbour r. All is loaded before
 * anything is looked at: a __syncwarp() is between, over which loads do not
 * move.
 */
#ifndef EPF_CUDA_LOOK_CUH
#define EPF_CUDA_LOOK_CUH

#include "device.cuh"

#define QUARTERS 4u /* of a line, two lanes each */
#define ANY_LANE 0xffu
#define NO_LINE 0xffffffffu /* more than EPF_LINES_MAX */

/**
 * struct spots - where a key lives, in L parts; NO_LINE: not to be looked at
 */
template <int L> struct spots {
	__u32 line[L];
	__u64 mask[L];
};

/* Line numbers fit: EPF_LINES_MAX. */
template <int L>
__device__ __forceinline__ void find(const struct epf_cu_lines *f, __u64 digest,
				     struct spots<L> *s)
{
	struct epf_geom g = f->geom;
	int j;

	g.parts = L;
	EPF_UNROLL
	for (j = 0; j < L; j++) {
		s->line[j] = (__u32)epf_geom_line(&g, digest, j);
		s->mask[j] = epf_geom_mask(&g, digest, j);
	}
}

/* The quarter that this thread has to do with in round @r. */
template <int T> __device__ __forceinline__ __u32 quarter_of(__u32 r)
{
	return T == 1 ? r : threadIdx.x % T;
}

/* @v of the thread whose key is served in round @r. */
template <int T, typename value_t>
__device__ __forceinline__ value_t served(value_t v, __u32 r)
{
	return T == 1 ? v : __shfl_sync(ALL_LANES, v, (int)r, T);
}

/* By T = 4 nothing is asked for twice, so L1 need not keep it; by T = 1 a sector
 * is. (By name: a plain load is cut up by nvcc 13.0.)
 */
template <int T>
__device__ __forceinline__ ulonglong2 load(const struct epf_line *line, __u32 q)
{
	const ulonglong2 *at = (const ulonglong2 *)line + q;

	return T == 1 ? __ldca(at) : __ldcg(at);
}

/* Quarters of the line @at, and of those of neighbours. SOME: it may be NO_LINE,
 * of which there are zeros.
 */
template <int T, bool SOME>
__device__ __forceinline__ void fetch(const struct epf_cu_lines *f, __u32 at,
				      ulonglong2 quarter[QUARTERS])
{
	__u32 r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		__u32 line = served<T>(at, r);

		if (SOME)
			quarter[r] = ulonglong2{ 0, 0 };
		if (!SOME || line != NO_LINE)
			quarter[r] = load<T>(f->line + line, quarter_of<T>(r));
	}
}

/* Bit i: lane i of the line has all of @mask. */
template <int T>
__device__ __forceinline__ __u32 test(const ulonglong2 quarter[QUARTERS],
				      __u64 mask, __u64 epoch)
{
	__u32 hits = 0, r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		__u64 m = served<T>(mask, r);
		__u32 lane = 2 * quarter_of<T>(r);
		__u32 two = epf_holds(quarter[r].x, m, lane_epoch(epoch, lane)) |
			    epf_holds(quarter[r].y, m,
				      lane_epoch(epoch, lane + 1)) << 1;

		hits |= two << (T == 1 ? 0 : 8 * r) << lane;
	}
	if (T == 1)
		return hits;
	/* byte r is of the key of neighbour r, and each has two bits of it */
	hits |= __shfl_xor_sync(ALL_LANES, hits, 1);
	hits |= __shfl_xor_sync(ALL_LANES, hits, 2);
	return hits >> 8 * (threadIdx.x % T) & ANY_LANE;
}

/* Load all that the keys of this thread are to be found in. */
template <int L, int T, bool SOME>
__device__ __forceinline__ void fetch_parts(const struct epf_cu_lines *f,
					    const struct spots<L> *s,
					    ulonglong2 quarter[L][QUARTERS])
{
	int j;

	EPF_UNROLL
	for (j = 0; j < L; j++)
		fetch<T, SOME>(f, s->line[j], quarter[j]);
}

/* Bit i: lane i has the key in all parts. */
template <int L, int T, bool SOME>
__device__ __forceinline__ __u32 test_parts(const struct spots<L> *s,
					    const ulonglong2 quarter[L][QUARTERS],
					    __u64 epoch)
{
	__u32 hits = ANY_LANE;
	int j;

	EPF_UNROLL
	for (j = 0; j < L; j++) {
		__u32 part = test<T>(quarter[j], s->mask[j], epoch);

		if (!SOME || s->line[j] != NO_LINE)
			hits &= part;
	}
	return hits;
}

/**
 * look() - which lanes have the keys, each in all its lines?
 * @f: lines
 * @digest: U keys of this thread
 * @hits: of each, bit i: lane i has it
 */
template <int L, int T, int U>
__device__ __forceinline__ void look(const struct epf_cu_lines *f,
				     const __u64 digest[U], __u32 hits[U])
{
	ulonglong2 quarter[U][L][QUARTERS];
	struct spots<L> s[U];
	int u;

	EPF_UNROLL
	for (u = 0; u < U; u++) {
		find<L>(f, digest[u], &s[u]);
		fetch_parts<L, T, false>(f, &s[u], quarter[u]);
	}
	__syncwarp();
	EPF_UNROLL
	for (u = 0; u < U; u++)
		hits[u] = test_parts<L, T, false>(&s[u], quarter[u], f->epoch);
}

#endif /* EPF_CUDA_LOOK_CUH */
