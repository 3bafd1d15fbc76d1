/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the device suite shares: memory of a card, and the core's answers from all CPUs.
 * The same source runs on a card and, with fewer keys, under emulation.
 */
#ifndef EPF_DEVICE_H
#define EPF_DEVICE_H

#include <kernels.h>

#include <stdlib.h>

#include "../core/tap.h"

#define CHECKED __attribute__((unused)) static
#define SEED_LIVE 0ULL
#define SEED_ABSENT (1ULL << 62)

/* End the program if @err is an error, because no test point can follow. */
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

/* Return: is there no card? Then that has been printed. */
CHECKED bool no_card(void)
{
	int cards = 0;
	cudaError_t err = cudaGetDeviceCount(&cards);

	if (err == cudaSuccess && cards)
		return false;
	tap_skip_all(err ? cudaGetErrorString(err) : "no card");
	return true;
}

CHECKED const struct {
	__u32 parts, k;
} shapes[] = {
	{ 1, 5 },
	{ 2, 8 },
	{ 4, 12 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/**
 * struct core - lines in the host's memory, keys, and the core's answers
 * @f: the lines
 * @epoch: epoch of the lines
 * @n: number of keys to look up
 * @digest: digests of the keys
 * @age: the core's answers
 */
struct core {
	struct epf_lanes f;
	__u64 epoch;
	__u64 n;
	__u64 *digest;
	__u8 *age;
};

CHECKED size_t bytes_of(const struct core *c)
{
	return epf_geom_lines(&c->f.geom) * EPF_LINE_BYTES;
}

/* Report a test point. @wrong: NULL, or what is wrong. */
CHECKED void claim(const char *wrong, const char *name, const char *what)
{
	tap_sound(wrong, "%s: %s", name, what);
}

/* host.cc: */

/* Work on @n items in pieces, in as many threads as there are CPUs. */
void in_parallel(void (*work)(void *self, __u64 first, __u64 n), void *self, __u64 n);

/* Fill @c->age for the first @n keys. */
void core_answer(struct core *c, __u64 n);

#endif /* EPF_DEVICE_H */
