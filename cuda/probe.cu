// SPDX-License-Identifier: GPL-2.0
/*
 * How often an answer is wrong, met: digests that are made on the way, of keys
 * that nobody can have inserted.
 */
#include "look.cuh"

template <int L, int T, int U>
static __global__ void __launch_bounds__(BLOCK)
probe(struct epf_cu_lines f, __u64 seed, __u64 n, unsigned long long *found)
{
	unsigned long long nr = 0;
	__u64 step = nr_threads() * U;
	__u64 at = thread_number() / WARP * WARP * U + threadIdx.x % WARP;
	__u64 digest[U];
	__u32 hits[U];
	int u;

	for (; at / WARP * WARP < n; at += step) {
		EPF_UNROLL
		for (u = 0; u < U; u++)
			digest[u] = epf_word(seed + at + u * WARP, 1);
		look<L, T, U>(&f, digest, hits);
		EPF_UNROLL
		for (u = 0; u < U; u++)
			nr += (__u32)__popc(__ballot_sync(
				ALL_LANES, at + u * WARP < n && hits[u]));
	}
	if (threadIdx.x % WARP == 0 && nr)
		atomicAdd(found, nr);
}

typedef void (*probe_fn)(struct epf_cu_lines f, __u64 seed, __u64 n,
			 unsigned long long *found);

static probe_fn probe_of(__u32 parts)
{
	if (parts == 1)
		return probe<1, EPF_CU_THREADS, EPF_CU_FLIGHT>;
	if (parts == 2)
		return probe<2, EPF_CU_THREADS, EPF_CU_FLIGHT>;
	return probe<4, EPF_CU_THREADS, EPF_CU_FLIGHT>;
}

extern "C" cudaError_t epf_cu_probe(const struct epf_cu_lines *f, __u64 seed,
				    __u64 n, unsigned long long *found,
				    cudaStream_t stream)
{
	probe_fn kernel = probe_of(f->geom.parts);

	if (!n)
		return cudaSuccess;
	if (!sound_lines(f) || !found)
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(kernel,
			  blocks_for(n, BLOCK * EPF_CU_FLIGHT,
				     EPF_RESIDENT(kernel, BLOCK)),
			  BLOCK, stream, f[0], seed, n, found);
}
