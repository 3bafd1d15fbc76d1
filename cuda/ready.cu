// SPDX-License-Identifier: GPL-2.0
/* A kernel that does nothing: whether the card takes one is the question. */
#include "device.cuh"

static __global__ void __launch_bounds__(BLOCK) nothing(__u32 unused)
{
	(void)unused;
}

extern "C" cudaError_t epf_cu_nothing(cudaStream_t stream)
{
	return EPF_LAUNCH(nothing, 1, WARP, stream, 0u);
}
