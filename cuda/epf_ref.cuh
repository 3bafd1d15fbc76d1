/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * epf_ref: a filter on the device, for kernels of programs (CUDA C++17).
 *
 * The program loads a snapshot with libepf_cuda_load(), gets the reference with
 * libepf_cuda_ref() (libepf_cuda.h), and passes it to its kernels by value:
 *
 *	__global__ void join(struct epf_ref seen, const __u64 *key, int *out, int n)
 *	{
 *		...
 *		if (seen.contains(seen.digest(&key[i], 8)))
 *
 * Answers equal those of an audit, bit by bit. Compile with
 * -I/usr/include/epochfilter (pkg-config --cflags libepf_cuda).
 */
#ifndef EPF_REF_CUH
#define EPF_REF_CUH

#include "epf_look.cuh"

/**
 * struct epf_ref - lines on a device; trivially copyable, owns nothing
 * @line: lines of 64 bytes
 * @geom: shape
 * @epoch: the epoch at which they are read
 * @hash: hash of the keys
 *
 * It is valid until libepf_cuda_free(), in kernels of the device that it was made for.
 * Kernels only read the lines, so any number of them may run at a time. Members are for
 * this header; programs call the functions.
 */
struct epf_ref {
	const struct epf_line *line;
	struct epf_geom geom;
	__u64 epoch;
	struct epf_hash hash;

	/**
	 * digest() - the digest of a key
	 * @key: @len bytes
	 * @len: 1 .. 256. If keys are words of eight aligned bytes, a constant helps
	 */
	__device__ __forceinline__ __u64 digest(const void *key, __u32 len) const
	{
		return epf_digest(&hash, key, len);
	}

	/**
	 * lanes() - which lanes have a key?
	 * @digest: its digest
	 *
	 * Return: a bit for each of the eight lanes; 0: the key is absent.
	 */
	__device__ __forceinline__ __u32 lanes(__u64 digest) const
	{
		return epf_look::look_alone(line, &geom, epoch, digest);
	}

	/**
	 * lanes() - the same for the threads of a tile, each with a key of its own
	 * @tile: cooperative_groups::tiled_partition<4>(); all its threads call. A thread
	 *	without a key passes any digest and ignores the answer
	 * @digest: digest of this thread's key
	 *
	 * The threads load lines for one another, so that one request reads a whole line.
	 */
	template <typename tile_t>
	__device__ __forceinline__ __u32 lanes(const tile_t &tile, __u64 digest) const
	{
		struct epf_look::view v = epf_look::view_of(tile, line, &geom, epoch);

		if (geom.parts == 1)
			return epf_look::look<1, 0>(tile, &v, digest);
		if (geom.parts == 2)
			return epf_look::look<2, 0>(tile, &v, digest);
		return epf_look::look<4, 0>(tile, &v, digest);
	}

	/* Was the key inserted inside the window? Forms as of lanes(). */
	__device__ __forceinline__ bool contains(__u64 digest) const
	{
		return lanes(digest) != 0;
	}

	template <typename tile_t>
	__device__ __forceinline__ bool contains(const tile_t &tile, __u64 digest) const
	{
		return lanes(tile, digest) != 0;
	}

	/* The age in epochs, 0 .. 7, of a key with these lanes(); EPF_AGE_ABSENT: none. */
	__device__ __forceinline__ __u32 age(__u32 lanes) const
	{
		return lanes ? epf_look::age_of(lanes, epoch) : EPF_AGE_ABSENT;
	}
};

#endif /* EPF_REF_CUH */
