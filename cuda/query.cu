// SPDX-License-Identifier: GPL-2.0
/*
 * Questions: a warp goes from one group of 32 keys to another, U groups at a
 * time; lane i has key i of the group, and bit i of its word of the bitmap.
 */
#include "answer.cuh"

/* Lanes behind the last key ask for it once more, and tell nothing. */
__device__ __forceinline__ __u64 digest_at(const struct epf_cu_keys *k, __u64 i)
{
	return key_digest(k, i < k->n ? i : k->n - 1);
}

template <int L, int T, int U>
static __global__ void __launch_bounds__(BLOCK)
query(struct epf_cu_lines f, struct epf_cu_keys k, struct answer to)
{
	unsigned long long nr = 0;
	__u64 step = nr_threads() * U;
	__u64 at = thread_number() / WARP * WARP * U + threadIdx.x % WARP;
	__u64 digest[U];
	__u32 hits[U];
	int u;

	for (; at / WARP * WARP < k.n; at += step) {
		EPF_UNROLL
		for (u = 0; u < U; u++)
			digest[u] = digest_at(&k, at + u * WARP);
		look<L, T, U>(&f, digest, hits);
		EPF_UNROLL
		for (u = 0; u < U; u++)
			nr += tell(&to, at + u * WARP, hits[u], f.epoch);
	}
	tell_count(&to, nr);
}

typedef void (*query_fn)(struct epf_cu_lines f, struct epf_cu_keys k,
			 struct answer to);

template <int L> static query_fn variant(__u32 threads, __u32 flight)
{
	if (threads == 1 && flight == 1)
		return query<L, 1, 1>;
	if (threads == 1 && flight == 2)
		return query<L, 1, 2>;
	if (threads == 4 && flight == 1)
		return query<L, 4, 1>;
	if (threads == 4 && flight == 2)
		return query<L, 4, 2>;
	return NULL;
}

static query_fn variant_of(__u32 parts, __u32 threads, __u32 flight)
{
	if (parts == 1)
		return variant<1>(threads, flight);
	if (parts == 2)
		return variant<2>(threads, flight);
	return variant<4>(threads, flight);
}

extern "C" cudaError_t epf_cu_query_as(const struct epf_cu_lines *f,
				       const struct epf_cu_keys *k,
				       __u32 *bitmap, __u8 *ages,
				       unsigned long long *count, __u32 threads,
				       __u32 flight, cudaStream_t stream)
{
	query_fn kernel = variant_of(f->geom.parts, threads, flight);
	struct answer to = { bitmap, ages, count, k->n };

	if (!k->n)
		return cudaSuccess;
	if (!sound_lines(f) || !sound_keys(k) || !kernel || !bitmap || !count)
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(kernel,
			  blocks_for(k->n, (__u64)BLOCK * flight,
				     EPF_RESIDENT(kernel, BLOCK)),
			  BLOCK, stream, *f, *k, to);
}

extern "C" cudaError_t epf_cu_query(const struct epf_cu_lines *f,
				    const struct epf_cu_keys *k, __u32 *bitmap,
				    __u8 *ages, unsigned long long *count,
				    cudaStream_t stream)
{
	return epf_cu_query_as(f, k, bitmap, ages, count, EPF_CU_THREADS,
			       EPF_CU_FLIGHT, stream);
}
