// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A kernel that does nothing, to test whether the card runs kernels at all. */
#include "device.cuh"

static __global__ void __launch_bounds__(BLOCK) nothing(__u32 unused)
{
	(void)unused;
}

extern "C" cudaError_t epf_cu_nothing(cudaStream_t stream)
{
	return EPF_LAUNCH(nothing, 1, WARP, stream, 0u);
}
