/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * epf_look.cuh for kernels whose warps stay together: the eight tiles of a warp
 * move as one, so masks of threads are constants.
 */
#ifndef EPF_CUDA_LOOK_CUH
#define EPF_CUDA_LOOK_CUH

#include "device.cuh"
#include "epf_look.cuh"

struct warp_tile {
	__device__ __forceinline__ __u32 thread_rank() const
	{
		return threadIdx.x % epf_look::QUARTERS;
	}

	template <typename value_t>
	__device__ __forceinline__ value_t shfl(value_t v, int from) const
	{
		return __shfl_sync(ALL_LANES, v, from, epf_look::QUARTERS);
	}

	template <typename value_t>
	__device__ __forceinline__ value_t shfl_xor(value_t v, int with) const
	{
		return __shfl_xor_sync(ALL_LANES, v, with);
	}

	__device__ __forceinline__ void sync() const
	{
		__syncwarp();
	}
};

__device__ __forceinline__ struct epf_look::view view_of(const struct epf_cu_lines *f)
{
	struct epf_look::view v = epf_look::view_of(warp_tile(), f->line, &f->geom, f->epoch);

	v.quarter = epf_cu_register(v.quarter);
	return v;
}

template <int L, int N>
__device__ __forceinline__ __u32 look(const struct epf_look::view *v, __u64 digest)
{
	return epf_look::look<L, N>(warp_tile(), v, digest);
}

#endif /* EPF_CUDA_LOOK_CUH */
