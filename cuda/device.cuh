/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code shared by the kernels: grids, keys, insertion into lines. A kernel loops
 * over groups of 32 keys or over single items. A warp processes one group at a
 * time, and all its threads stay in the loop together, so that they meet at
 * warp operations.
 *
 * "Thread" means a thread of a warp, "lane" a lane of a filter.
 */
#ifndef EPF_CUDA_DEVICE_CUH
#define EPF_CUDA_DEVICE_CUH

#include "kernels.h"

#define WARP 32u
#define ALL_LANES 0xffffffffu
#define BLOCK 256u /* threads of a block, in all kernels */
#define FLIGHT 4u  /* loads of a thread in flight, in passes over all lines */

/* Number of blocks for @n items, of which a block processes @each at a time. */
static inline unsigned int blocks_for(__u64 n, __u64 each, unsigned int resident)
{
	__u64 all = n / each + !!(n % each);

	if (!resident)
		resident = 1024;
	return (unsigned int)(all < resident ? all : resident);
}

static inline bool sound_lines(const struct epf_cu_lines *f)
{
	__u32 parts = f->geom.parts;

	return f->line && !((__u64)f->line % EPF_LINE_BYTES) &&
	       (parts == 1 || parts == 2 || parts == 4) && f->geom.part_lines &&
	       f->geom.part_lines <= EPF_PART_LINES_MAX && f->epoch >= EPF_EPOCH_FIRST;
}

static inline bool sound_keys(const struct epf_cu_keys *k)
{
	return k->data && k->len <= EPF_KEY_MAX;
}

static inline bool digests_aligned(const struct epf_cu_keys *k)
{
	return !k->len && !((__u64)k->data % sizeof(__u64));
}

/* Return: is @epoch one of the eight epochs up to the current one? */
static inline bool sound_epoch(const struct epf_cu_lines *f, __u64 epoch)
{
	return epoch <= f->epoch && f->epoch - epoch < EPF_LANES && epoch >= EPF_EPOCH_FIRST;
}

__device__ __forceinline__ __u64 thread_number(void)
{
	return (__u64)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ __u64 nr_threads(void)
{
	return (__u64)gridDim.x * blockDim.x;
}

/* Load a word that is not needed again. @p is aligned. */
__device__ __forceinline__ __u64 word_once(const void *p)
{
	return __ldcs((const unsigned long long *)p);
}

/* Return: the digest of key @i < @k->n. All threads take the same path: words
 * if all words of all keys are aligned, else bytes. With DIGESTS the keys are
 * digests_aligned(), and no other path is compiled.
 */
template <bool DIGESTS>
__device__ __forceinline__ __u64 key_digest(const struct epf_cu_keys *k, __u64 i)
{
	const __u8 *key = (const __u8 *)k->data;
	bool aligned = !(((__u64)key | k->len) % sizeof(__u64));

	if (DIGESTS || (!k->len && aligned))
		return word_once(key + i * sizeof(__u64));
	if (!k->len)
		return epf_get_le64(key + i * sizeof(__u64));
	key += i * k->len;
	if (aligned) /* rounded, so that the compiler drops the tail */
		return epf_digest(&k->hash, __builtin_assume_aligned(key, sizeof(__u64)),
				  k->len & ~7u);
	return epf_digest(&k->hash, key, k->len);
}

/* Add a digest to the lane of @epoch in each of its lines, with one atomic per
 * line whose result is not used, so no thread waits for it. The lane is zero or
 * of that epoch.
 */
__device__ __forceinline__ void add(const struct epf_cu_lines *f, __u64 digest, __u64 epoch)
{
	__u32 j;

	for (j = 0; j < f->geom.parts; j++) {
		struct epf_line *line = f->line + epf_geom_line(&f->geom, digest, j);

		atomicOr((unsigned long long *)&line->lane[epoch & 7],
			 epf_tag(epoch) | epf_geom_mask(&f->geom, digest, j));
	}
}

#endif /* EPF_CUDA_DEVICE_CUH */
