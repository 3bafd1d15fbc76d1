/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A card or its emulation: the only file that distinguishes them.
 *
 *   EPF_LAUNCH(kernel, blocks, threads, stream, args...)   cudaError_t: error of the
 *	launch, not of the kernel
 *   EPF_RESIDENT(kernel, threads)   unsigned int: blocks that fit on the device at
 *	a time; 0: unknown
 *   EPF_DRIVER(function)   void *: a function of the driver's own interface, which
 *	the runtime has loaded; NULL: there is no driver
 *
 *   EPF_LAUNCH_KEYS   the most keys of one launch, a multiple of 32: kernels that look
 *	up keys count them with 32 bits
 *   epf_cu_register(p)   @p, in kernels. The compiler derives addresses from that
 *	register instead of computing them again from the sources of @p
 *
 * All of them are for C++ only. In C this file provides only the names of the
 * runtime.
 */
#ifndef EPF_CUDA_LAUNCH_H
#define EPF_CUDA_LAUNCH_H

#ifdef EPF_CUDA_EMU

#include "emu/emu.h"

#ifdef __cplusplus
#include <tuple>

/* Copy the arguments now, as a launch does. */
template <typename... param, typename... arg>
static inline cudaError_t epf_emu_launch(void (*kernel)(param...), unsigned int blocks,
					 unsigned int threads, cudaStream_t stream,
					 const arg &...args)
{
	std::tuple<param...> copy(args...);

	std::apply([](const param &...p) { (emu_argument(&p, sizeof(p)), ...); }, copy);
	return emu_launch(stream, blocks, threads, [=] { std::apply(kernel, copy); });
}

#define EPF_LAUNCH(kernel, blocks, threads, stream, ...) \
	epf_emu_launch(kernel, blocks, threads, stream, __VA_ARGS__)
/* Few, so that grid-stride loops take several rounds. */
#define EPF_RESIDENT(kernel, threads) ((void)(kernel), (void)(threads), 3u)
/* Few, so that a query needs several launches. */
#define EPF_LAUNCH_KEYS 2048u
#define EPF_DRIVER(function) ((void *)(function))

template <typename type> static inline type *epf_cu_register(type *p)
{
	return p;
}
#endif

#else /* a card */

#include <cuda.h>
#include <cuda_runtime.h>

#ifdef __cplusplus
#include <dlfcn.h>

/* Clear an earlier error first. It was reported then, and the runtime would
 * report it again.
 */
/* clang-format off */
#define EPF_LAUNCH(kernel, blocks, threads, stream, ...)             \
	(cudaGetLastError(),                                          \
	 (kernel)<<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__), \
	 cudaGetLastError())
/* clang-format on */
#define EPF_RESIDENT(kernel, threads) epf_cu_resident((kernel), (threads))
#define EPF_LAUNCH_KEYS (1u << 30)
#define EPF_DRIVER(function) epf_cu_driver(#function)

template <typename type> static __device__ __forceinline__ type *epf_cu_register(type *p)
{
	asm("" : "+l"(p));
	return p;
}

static inline void *epf_cu_driver(const char *function)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	return lib ? dlsym(lib, function) : NULL;
}

template <typename kernel_fn>
static inline unsigned int epf_cu_resident(kernel_fn kernel, unsigned int threads)
{
	int device, sms, blocks;

	if (cudaGetDevice(&device) ||
	    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) ||
	    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)threads, 0))
		return 0;
	return (unsigned int)(sms * blocks);
}
#endif

#endif /* card */

#endif /* EPF_CUDA_LAUNCH_H */
