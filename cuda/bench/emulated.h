/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUDA names that the benchmark needs and the emulation lacks. If there is no
 * card, the Makefile includes this file before everything else.
 */
#ifndef EPF_BENCH_EMULATED_H
#define EPF_BENCH_EMULATED_H

#include "../launch.h"

template <typename word_t> static inline word_t atomicCAS(word_t *p, word_t old, word_t v)
{
	emu_pause();
	__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old;
}

/* Emulated time is constant, so that nobody takes it for a card's. */
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	(void)from;
	(void)to;
	*ms = 1;
	return cudaSuccess;
}

#define cudaLimitMaxL2FetchGranularity ((enum cudaLimit)5)

#endif /* EPF_BENCH_EMULATED_H */
