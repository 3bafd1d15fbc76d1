/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the device suite shares: memory of a card, and the core's answers from all
 * CPUs. The same text runs on a card and, with fewer keys, under emulation.
 */
#ifndef EPF_DEVICE_H
#define EPF_DEVICE_H

#include <kernels.h>

#include <stdlib.h>

#include "../core/tap.h"

#define CHECKED __attribute__((unused)) static
#define SEED_LIVE 0ULL
#define SEED_ABSENT (1ULL << 62)

/* Ends the program where @err is an error: no claim is left to make. */
CHECKED void must(cudaError_t err)
{
	if (err == cudaSuccess)
		return;
	printf("Bail out! %s\n", cudaGetErrorString(err));
	exit(1);
}

CHECKED void *host_memory(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);

	must(p ? cudaSuccess : cudaErrorMemoryAllocation);
	return p;
}

CHECKED void *there(size_t bytes)
{
	void *p = NULL;

	must(cudaMalloc(&p, bytes ? bytes : 1));
	return p;
}

CHECKED void to_card(void *to, const void *from, size_t bytes)
{
	must(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}

CHECKED void to_host(void *to, const void *from, size_t bytes)
{
	must(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

/* A copy, to be freed by cudaFree(). */
CHECKED void *copied(const void *from, size_t bytes)
{
	void *p = there(bytes);

	to_card(p, from, bytes);
	return p;
}

/* host.cc: */

/* Do @n in pieces, in as many threads as there are CPUs. */
void in_parallel(void (*work)(void *self, __u64 first, __u64 n), void *self,
		 __u64 n);

#endif /* EPF_DEVICE_H */
