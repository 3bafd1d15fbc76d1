// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Baseline: counting in 4 bits, with deletion of keys that leave the window. A
 * counter that reaches 15 stays there, so adding is a loop of compare and swap;
 * an atomic addition could carry into the neighbour.
 */
#include "bench.h"

#define WARP 32u
#define WHOLE_WARP 0xffffffffu
#define CELLS_OF_WORD 8u
#define CELL_MAX 15u

/* Positions as in kind ge: the core's step and fraction. */
EPF_FN __u32 *cell(const struct counting *f, __u64 fraction, __u32 *shift)
{
	__u64 pos = epf_mulhi(fraction, f->cells);

	*shift = (__u32)(pos % CELLS_OF_WORD) * 4;
	return f->word + pos / CELLS_OF_WORD;
}

static __global__ void query(struct counting f, const __u64 *digest, __u64 n, __u32 *bitmap)
{
	__u64 grid = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;
	__u32 word, b, shift;
	__u64 h, step;
	bool hit;

	for (; i / WARP * WARP < n; i += grid) { /* whole warps */
		hit = i < n;
		h = hit ? digest[i] : 0;
		step = epf_ge_step(h);
		for (b = 0; b < f.bits && hit; b++, h += step) {
			const __u32 *c = cell(&f, h, &shift);

			hit = *c >> shift & CELL_MAX;
		}
		word = __ballot_sync(WHOLE_WARP, hit);
		if (i % WARP == 0)
			bitmap[i / WARP] = word;
	}
}

cudaError_t counting_query(const struct counting *f, const __u64 *digest, __u64 n, __u32 *bitmap)
{
	struct counting g = *f;

	return BENCH_LAUNCH(query, n, g, digest, n, bitmap);
}

static __device__ void add_to(__u32 *word, __u32 shift, int by)
{
	__u32 old = *(volatile __u32 *)word, seen;

	while ((old >> shift & CELL_MAX) != CELL_MAX) {
		seen = atomicCAS(word, old, old + ((__u32)by << shift));
		if (seen == old)
			return;
		old = seen;
	}
}

static __global__ void add(struct counting f, const __u64 *digest, __u64 n, int by)
{
	__u64 grid = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;
	__u32 b, shift, *word;
	__u64 h, step;

	for (; i < n; i += grid) {
		h = digest[i];
		step = epf_ge_step(h);
		for (b = 0; b < f.bits; b++, h += step) {
			word = cell(&f, h, &shift);
			add_to(word, shift, by);
		}
	}
}

cudaError_t counting_add(const struct counting *f, const __u64 *digest, __u64 n, int by)
{
	struct counting g = *f;

	return BENCH_LAUNCH(add, n, g, digest, n, by);
}
