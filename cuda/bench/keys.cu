// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Generates keys and contents on the card. */
#include "bench.h"

#include <stdlib.h>

static __global__ void make(__u64 *to, __u64 seed, __u64 n)
{
	__u64 step = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;

	for (; i < n; i += step)
		to[i] = bench_key(seed, i);
}

cudaError_t keys_make(__u64 *to, __u64 seed, __u64 first, __u64 n)
{
	return BENCH_LAUNCH(make, n, to, seed + first, n);
}

static __global__ void draw(__u64 *to, __u64 first, __u64 of, __u64 n)
{
	__u64 step = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;

	for (; i < n; i += step)
		to[i] = bench_key(SEED_LIVE, first + epf_mulhi(epf_word(i, 2), of));
}

cudaError_t keys_draw(__u64 *to, __u64 first, __u64 of, __u64 n)
{
	return BENCH_LAUNCH(draw, n, to, first, of, n);
}

static __global__ void noise(struct epf_line *to, __u64 words, __u64 epoch)
{
	__u64 step = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;

	for (; i < words; i += step)
		to[i / EPF_LANES].lane[i % EPF_LANES] = noise_word(i) |
							epf_lane_tag(epoch, i % EPF_LANES);
}

cudaError_t lines_noise(struct epf_line *to, __u64 lines, __u64 epoch)
{
	__u64 words = lines * EPF_LANES;

	return BENCH_LAUNCH(noise, words, to, words, epoch);
}

__u64 present_in(const __u32 *bitmap, __u64 n)
{
	size_t bytes = (n + 31) / 32 * sizeof(__u32);
	__u32 *host = (__u32 *)malloc(bytes);
	__u64 sum = 0, i;

	must(host ? cudaMemcpyAsync(host, bitmap, bytes, cudaMemcpyDeviceToHost, bench.stream) :
		    cudaErrorMemoryAllocation,
	     "an answer");
	must(cudaStreamSynchronize(bench.stream), "an answer");
	for (i = 0; i < bytes / sizeof(*host); i++)
		sum += epf_popcount(host[i]); /* bits behind the last key are zero */
	free(host);
	return sum;
}
