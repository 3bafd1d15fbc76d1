/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark uses of CUDA and the emulation has not got. The Makefile has
 * it included before everything else where there is no card.
 */
#ifndef EPF_BENCH_EMULATED_H
#define EPF_BENCH_EMULATED_H

#include "../launch.h"

template <typename word_t>
static inline word_t atomicCAS(word_t *p, word_t old, word_t v)
{
	emu_pause();
	__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return old;
}

/* Emulated time stands still: nobody is to mistake it for a card's. */
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from,
					       cudaEvent_t to)
{
	(void)from;
	(void)to;
	*ms = 1;
	return cudaSuccess;
}

#define cudaLimitMaxL2FetchGranularity ((enum cudaLimit)5)

#endif /* EPF_BENCH_EMULATED_H */
