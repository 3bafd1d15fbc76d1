// SPDX-License-Identifier: GPL-2.0
/*
 * A runtime for tests of kernels: without streams, a launch has ended when it returns,
 * and memory of the device is ordinary memory.
 */
#include <emu/emu.h>

#include <stddef.h>

/* Any memory may be given to a kernel. */
extern "C" void emu_argument(const void *, size_t)
{
}

cudaError_t emu_launch(cudaStream_t, unsigned int blocks, unsigned int threads,
		       std::function<void()> kernel)
{
	emu_run(blocks, threads, kernel);
	return cudaSuccess;
}
