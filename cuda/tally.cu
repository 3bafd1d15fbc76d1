// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Histogram of set positions, in one pass over the lines. A block counts in its
 * shared memory, for one part only: block b counts part b modulo parts.
 */
#include "device.cuh"

#define SETS (EPF_LANE_BITS + 1) /* 0 .. 62 positions */
#define COUNTERS (EPF_LANES * SETS)

/* Return: the number of set positions; a stale lane counts as empty. */
__device__ __forceinline__ __u32 positions(__u64 v, __u64 tag)
{
	return (v & EPF_TAG_MASK) == tag ? epf_popcount(v & ~EPF_TAG_MASK) : 0;
}

/* No counter of a block overflows, because each line adds at most one to it. */
static __global__ void __launch_bounds__(BLOCK) tally(struct epf_cu_lines f, unsigned long long *nr)
{
	__shared__ __u32 mine[COUNTERS];
	__u32 part = blockIdx.x % f.geom.parts;
	__u32 lane = threadIdx.x % EPF_LANES;
	__u64 tag = epf_lane_tag(f.epoch, lane);
	const __u64 *word = f.line[part * f.geom.part_lines].lane;
	__u64 step = nr_threads() / f.geom.parts;
	__u64 i = (__u64)(blockIdx.x / f.geom.parts) * blockDim.x + threadIdx.x;
	__u64 n = f.geom.part_lines * EPF_LANES, v[FLIGHT];
	__u32 c, u;

	for (c = threadIdx.x; c < COUNTERS; c += blockDim.x)
		mine[c] = 0;
	__syncthreads();
	for (; i < n; i += FLIGHT * step) {
		EPF_UNROLL
		for (u = 0; u < FLIGHT; u++)
			v[u] = i + u * step < n ? word_once(&word[i + u * step]) : 0;
		EPF_UNROLL
		for (u = 0; u < FLIGHT; u++)
			if (i + u * step < n)
				atomicAdd(&mine[lane * SETS + positions(v[u], tag)], 1u);
	}
	__syncthreads();
	for (c = threadIdx.x; c < COUNTERS; c += blockDim.x)
		if (mine[c])
			atomicAdd(&nr[part * COUNTERS + c], (unsigned long long)mine[c]);
}

extern "C" cudaError_t epf_cu_tally(const struct epf_cu_lines *f, unsigned long long *nr,
				    cudaStream_t stream)
{
	__u32 parts = f->geom.parts;
	unsigned int each;

	if (!sound_lines(f) || !nr)
		return cudaErrorInvalidValue;
	each = blocks_for(f->geom.part_lines * EPF_LANES, BLOCK,
			  EPF_RESIDENT(tally, BLOCK) / parts + 1);
	return EPF_LAUNCH(tally, each * parts, BLOCK, stream, *f, nr);
}
