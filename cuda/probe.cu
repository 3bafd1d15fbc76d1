// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Measures the false-positive rate: looks up digests that the kernel generates,
 * of keys that nobody can have inserted.
 */
#include "look.cuh"

template <int L>
static __global__ void __launch_bounds__(BLOCK)
	probe(struct epf_cu_lines f, __u64 seed, __u64 n, unsigned long long *found)
{
	struct epf_look::view v = view_of(&f);
	unsigned long long nr = 0;
	__u64 i = thread_number();

	for (; i / WARP * WARP < n; i += nr_threads()) {
		__u32 hits = look<L, 0>(&v, epf_word(seed + i, 1));

		nr += (__u32)__popc(__ballot_sync(ALL_LANES, i < n && hits));
	}
	if (threadIdx.x % WARP == 0 && nr)
		atomicAdd(found, nr);
}

typedef void (*probe_fn)(struct epf_cu_lines f, __u64 seed, __u64 n, unsigned long long *found);

static probe_fn probe_of(__u32 parts)
{
	if (parts == 1)
		return probe<1>;
	if (parts == 2)
		return probe<2>;
	return probe<4>;
}

extern "C" cudaError_t epf_cu_probe(const struct epf_cu_lines *f, __u64 seed, __u64 n,
				    unsigned long long *found, cudaStream_t stream)
{
	probe_fn kernel = probe_of(f->geom.parts);

	if (!n)
		return cudaSuccess;
	if (!sound_lines(f) || !found)
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(kernel, blocks_for(n, BLOCK, EPF_RESIDENT(kernel, BLOCK)), BLOCK, stream,
			  f[0], seed, n, found);
}
