/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernels share: grids, keys, adding to lines. The loops are over
 * groups of 32 keys or over single things; a warp does a group, and all its lanes
 * go round together, so that they meet.
 */
#ifndef EPF_CUDA_DEVICE_CUH
#define EPF_CUDA_DEVICE_CUH

#include "kernels.h"

#define WARP 32u
#define ALL_LANES 0xffffffffu
#define BLOCK 256u /* threads of a block, of all kernels */
#define FLIGHT 4u  /* loads of a thread in passes over all lines, before one is used */

/* Blocks for @n things, of which a block does @each at a time. */
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
	       (parts == 1 || parts == 2 || parts == 4) &&
	       f->geom.part_lines && f->geom.part_lines <= EPF_PART_LINES_MAX &&
	       f->epoch >= EPF_EPOCH_FIRST;
}

static inline bool sound_keys(const struct epf_cu_keys *k)
{
	return k->data && k->len <= EPF_KEY_MAX;
}

static inline bool digests_aligned(const struct epf_cu_keys *k)
{
	return !k->len && !((__u64)k->data % sizeof(__u64));
}

/* One of the eight epochs up to the current one. */
static inline bool sound_epoch(const struct epf_cu_lines *f, __u64 epoch)
{
	return epoch <= f->epoch && f->epoch - epoch < EPF_LANES &&
	       epoch >= EPF_EPOCH_FIRST;
}

__device__ __forceinline__ __u64 thread_number(void)
{
	return (__u64)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ __u64 nr_threads(void)
{
	return (__u64)gridDim.x * blockDim.x;
}

/* The word at @p, which is not needed again; @p is aligned. */
__device__ __forceinline__ __u64 word_once(const void *p)
{
	return __ldcs((const unsigned long long *)p);
}

/* The digest of key @i; @i < @k->n. All lanes take the same way: with words
 * where all words of all keys are aligned, else with bytes. With DIGESTS the keys are
 * digests_aligned(), and nothing else is compiled.
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
	if (aligned) /* said twice: what is behind the last word is nothing */
		return epf_digest(&k->hash,
				  __builtin_assume_aligned(key, sizeof(__u64)),
				  k->len & ~7u);
	return epf_digest(&k->hash, key, k->len);
}

/* The latest epoch, up to @epoch, that has lane @i. */
__device__ __forceinline__ __u64 lane_epoch(__u64 epoch, __u32 i)
{
	return epoch - ((epoch - i) & (EPF_LANES - 1));
}

/* Add a digest to the lane of @epoch in each of its lines: an atomic each,
 * nobody waits for its result. The lane is zero or of that epoch.
 */
__device__ __forceinline__ void add(const struct epf_cu_lines *f, __u64 digest,
				    __u64 epoch)
{
	__u32 j;

	for (j = 0; j < f->geom.parts; j++) {
		struct epf_line *line = f->line + epf_geom_line(&f->geom, digest, j);

		atomicOr((unsigned long long *)&line->lane[epoch & 7],
			 epf_tag(epoch) | epf_geom_mask(&f->geom, digest, j));
	}
}

#endif /* EPF_CUDA_DEVICE_CUH */
