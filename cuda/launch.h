/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A card, or its emulation: the only file that tells one from the other.
 *
 *   EPF_LAUNCH(kernel, blocks, threads, stream, args...)   cudaError_t: of the
 *	launch, not of what the kernel does
 *   EPF_RESIDENT(kernel, threads)   unsigned int: blocks that fit on the device
 *	at a time; 0: the runtime does not say
 *   EPF_DRIVER(function)   void *: a function of the driver's own interface,
 *	which the runtime has loaded; NULL: there is no driver
 *
 *   EPF_LAUNCH_KEYS   keys of one launch at the most, a multiple of 32: kernels that
 *	answer keys count them with 32 bits
 *   epf_cu_register(p)   @p, in kernels; the compiler computes what depends on @p from
 *	that register, and not anew from what @p was made of
 *
 * All for C++ only; in C this file has the names of the runtime.
 */
#ifndef EPF_CUDA_LAUNCH_H
#define EPF_CUDA_LAUNCH_H

#ifdef EPF_CUDA_EMU

#include "emu/emu.h"

#ifdef __cplusplus
#include <tuple>

/* Arguments are copied now, as by a launch. */
template <typename... param, typename... arg>
static inline cudaError_t epf_emu_launch(void (*kernel)(param...),
					 unsigned int blocks,
					 unsigned int threads,
					 cudaStream_t stream, const arg &...args)
{
	std::tuple<param...> copy(args...);

	std::apply([](const param &...p) { (emu_argument(&p, sizeof(p)), ...); },
		   copy);
	return emu_launch(stream, blocks, threads,
			  [=] { std::apply(kernel, copy); });
}

#define EPF_LAUNCH(kernel, blocks, threads, stream, ...) \
	epf_emu_launch(kernel, blocks, threads, stream, __VA_ARGS__)
/* Few, so that grids go round. */
#define EPF_RESIDENT(kernel, threads) ((void)(kernel), (void)(threads), 3u)
/* Few, so that one launch follows another. */
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

/* What failed before was told then: the runtime would tell it again. */
#define EPF_LAUNCH(kernel, blocks, threads, stream, ...)             \
	(cudaGetLastError(),                                          \
	 (kernel)<<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__), \
	 cudaGetLastError())
#define EPF_RESIDENT(kernel, threads) epf_cu_resident((kernel), (threads))
#define EPF_LAUNCH_KEYS (1u << 30)
#define EPF_DRIVER(function) epf_cu_driver(#function)

template <typename type>
static __device__ __forceinline__ type *epf_cu_register(type *p)
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
	    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount,
				   device) ||
	    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel,
							  (int)threads, 0))
		return 0;
	return (unsigned int)(sms * blocks);
}
#endif

#endif /* card */

#endif /* EPF_CUDA_LAUNCH_H */
