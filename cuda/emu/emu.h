/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The emulation: kernels on the host, for tests. In C this file provides only
 * the names of the runtime.
 *
 * A thread of a block is a fiber. Fibers take turns where threads meet (ballot,
 * shuffle, __syncwarp(), __syncthreads()) and at atomics, in an order that a
 * seed decides. So a kernel that is right in one order only fails. Blocks run
 * one after another, in such an order as well. Shared memory is not cleared
 * between blocks.
 *
 * The emulation is stricter than a card: all threads that a mask names must
 * arrive, with that mask and for the same operation, and all threads of the
 * block must reach a __syncthreads(). A violation ends the program with one
 * line that says where it happened and which threads are concerned.
 *
 * Two host threads may run kernels at the same time.
 */
#ifndef EPF_EMU_H
#define EPF_EMU_H

#include "runtime.h"

#ifdef __cplusplus

#include <functional>
#include <string.h>

/* runtime.cc: */

/* Run @kernel on @s after everything queued before it. Return: error of the launch. */
cudaError_t emu_launch(cudaStream_t s, unsigned int blocks, unsigned int threads,
		       std::function<void()> kernel);

/* device.cc: */

/**
 * emu_run() - run a kernel now
 * @blocks: 1 and up
 * @threads: of a block, a multiple of 32, up to EMU_THREADS_MAX
 * @kernel: what each thread does
 */
void emu_run(unsigned int blocks, unsigned int threads, const std::function<void()> &kernel);

/* Set the seed for the order of later kernels in all host threads; the default is 0. */
void emu_seed(unsigned long long seed);

#define EMU_WARP 32u
#define EMU_THREADS_MAX 1024u

struct emu_dim {
	unsigned int x, y, z;
};

/**
 * struct emu_place - place of a thread, under CUDA's names
 */
struct emu_place {
	struct emu_dim thread, block, block_dim, grid_dim;
};

enum emu_meeting {
	EMU_BALLOT,
	EMU_SHUFFLE,
	EMU_SYNCWARP,
};

const struct emu_place *emu_here(void);
/* Meet the threads of the warp that are in @mask. Return: for a ballot, the
 * threads whose @value is not 0; for a shuffle, the @value of thread @from of
 * the warp.
 */
unsigned long long emu_meet(enum emu_meeting what, unsigned int mask, unsigned long long value,
			    unsigned int from);
void emu_meet_block(void);
/* Let other fibers run, perhaps. */
void emu_pause(void);

#define threadIdx (emu_here()->thread)
#define blockIdx (emu_here()->block)
#define blockDim (emu_here()->block_dim)
#define gridDim (emu_here()->grid_dim)

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static thread_local

struct alignas(16) ulonglong2 {
	unsigned long long x, y;
};

static inline unsigned int __ballot_sync(unsigned int mask, int vote)
{
	return (unsigned int)emu_meet(EMU_BALLOT, mask, vote != 0, 0);
}

static inline void __syncwarp(unsigned int mask = 0xffffffff)
{
	emu_meet(EMU_SYNCWARP, mask, 0, 0);
}

static inline void __syncthreads(void)
{
	emu_meet_block();
}

/* Shuffle as if @width threads were a warp. */
template <typename value_t>
static inline value_t __shfl_sync(unsigned int mask, value_t value, int from, int width = EMU_WARP)
{
	unsigned int lane = threadIdx.x % EMU_WARP;
	unsigned int first = lane & ~((unsigned int)width - 1);

	return (value_t)emu_meet(EMU_SHUFFLE, mask, value,
				 first + ((unsigned int)from & (width - 1)));
}

template <typename value_t>
static inline value_t __shfl_xor_sync(unsigned int mask, value_t value, int with)
{
	return (value_t)emu_meet(EMU_SHUFFLE, mask, value,
				 (threadIdx.x ^ (unsigned int)with) % EMU_WARP);
}

template <typename word_t> static inline word_t atomicAdd(word_t *p, word_t v)
{
	emu_pause();
	return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

template <typename word_t> static inline word_t atomicOr(word_t *p, word_t v)
{
	emu_pause();
	return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}

static inline int __popc(unsigned int v)
{
	return __builtin_popcount(v);
}

static inline int __popcll(unsigned long long v)
{
	return __builtin_popcountll(v);
}

static inline int __ffs(int v)
{
	return __builtin_ffs(v);
}

static inline int __clz(int v)
{
	return v ? __builtin_clz((unsigned int)v) : 32;
}

/* Loads and stores with cache hints, which do nothing here. */
template <typename word_t> static inline word_t __ldca(const word_t *p)
{
	return *p;
}

template <typename word_t> static inline word_t __ldcg(const word_t *p)
{
	return *p;
}

template <typename word_t> static inline word_t __ldcs(const word_t *p)
{
	return *p;
}

template <typename word_t> static inline void __stcs(word_t *p, word_t v)
{
	*p = v;
}

#endif /* C++ */

#endif /* EPF_EMU_H */
