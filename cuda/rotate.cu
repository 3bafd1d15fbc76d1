// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rotation: empties the lanes of an epoch that begins, or all stale lanes.
 */
#include "device.cuh"

static __global__ void __launch_bounds__(BLOCK)
	clear(struct epf_line *line, __u64 lines, __u32 lane)
{
	__u64 i = thread_number();

	for (; i < lines; i += nr_threads())
		line[i].lane[lane] = 0;
}

static __global__ void __launch_bounds__(BLOCK)
	settle(struct epf_line *line, __u64 lines, __u64 epoch)
{
	__u64 tag = epf_lane_tag(epoch, threadIdx.x % EPF_LANES);
	__u64 *word = line->lane;
	__u64 i = thread_number(), step = nr_threads(); /* a multiple of 8 */
	__u64 n = lines * EPF_LANES, v[FLIGHT];
	__u32 u;

	for (; i < n; i += FLIGHT * step) {
		EPF_UNROLL
		for (u = 0; u < FLIGHT; u++)
			v[u] = i + u * step < n ? word[i + u * step] : tag;
		EPF_UNROLL
		for (u = 0; u < FLIGHT; u++)
			if ((v[u] & EPF_TAG_MASK) != tag)
				word[i + u * step] = 0;
	}
}

extern "C" cudaError_t epf_cu_clear(const struct epf_cu_lines *f, __u64 epoch, cudaStream_t stream)
{
	__u64 lines = epf_geom_lines(&f->geom);

	if (!sound_lines(f) || epoch < EPF_EPOCH_FIRST)
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(clear, blocks_for(lines, BLOCK, EPF_RESIDENT(clear, BLOCK)), BLOCK,
			  stream, f->line, lines, (__u32)(epoch & 7));
}

extern "C" cudaError_t epf_cu_settle(const struct epf_cu_lines *f, cudaStream_t stream)
{
	__u64 lines = epf_geom_lines(&f->geom);

	if (!sound_lines(f))
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(settle, blocks_for(lines * EPF_LANES, BLOCK, EPF_RESIDENT(settle, BLOCK)),
			  BLOCK, stream, f->line, lines, f->epoch);
}
