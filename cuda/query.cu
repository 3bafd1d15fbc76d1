// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lookups: a warp processes one group of 32 keys after another. Thread i of the
 * warp has key i of the group, and bit i of the group's word of the bitmap. The
 * warp adds to the histogram once, at its end.
 */
#include "look.cuh"

/**
 * struct answer - where the results go, as in epf_cu_query()
 */
struct answer {
	__u32 *bitmap;
	__u8 *ages;
	unsigned long long *count;
};

/* Return: how many threads in @present have an @age equal to this thread's
 * number modulo 8?
 */
__device__ __forceinline__ __u32 nr_of_age(__u32 present, __u32 age)
{
	__u32 bit;

	EPF_UNROLL
	for (bit = 0; bit < 3; bit++) {
		__u32 vote = __ballot_sync(ALL_LANES, (age & 1u << bit) != 0);

		present &= threadIdx.x >> bit & 1 ? vote : ~vote;
	}
	return (__u32)__popc(present);
}

/**
 * tell() - write the result for key @i of this thread
 * @to: where it goes
 * @i: @i minus the thread's number in the warp is a multiple of 32 and below @n
 * @n: number of keys; threads without a key call this as well
 * @hits: lanes that have the key
 * @epoch: current epoch
 *
 * Return: number of keys of this warp whose age is this thread's number; valid for
 * threads 0 to 7 of the warp.
 */
__device__ __forceinline__ __u32 tell(const struct answer *to, __u32 i, __u32 n, __u32 hits,
				      __u64 epoch)
{
	bool present = i < n && hits;
	__u32 age = hits ? epf_look::age_of(hits, epoch) : EPF_AGE_ABSENT;
	__u32 word = __ballot_sync(ALL_LANES, present);

	if (threadIdx.x % WARP == 0)
		__stcs(&to->bitmap[i / WARP], word);
	if (i < n && to->ages)
		__stcs(&to->ages[i], (__u8)age);
	return nr_of_age(word, age);
}

/* A thread without a key looks up the last key again, and its result is
 * dropped. See look() for L and N, key_digest() for DIGESTS.
 */
template <int L, int N, bool DIGESTS>
static __global__ void __launch_bounds__(BLOCK)
	query(struct epf_cu_lines f, struct epf_cu_keys k, struct answer to)
{
	__u32 lane = threadIdx.x % WARP, nr = 0;
	struct epf_look::view v = view_of(&f);
	__u32 n = (__u32)k.n; /* EPF_LAUNCH_KEYS */
	__u32 i = (__u32)thread_number();

	for (; i / WARP * WARP < n; i += (__u32)nr_threads()) {
		__u64 digest = key_digest<DIGESTS>(&k, i < n ? i : n - 1);

		nr += tell(&to, i, n, look<L, N>(&v, digest), f.epoch);
	}
	if (lane < EPF_LANES && nr)
		atomicAdd(&to.count[lane], (unsigned long long)nr);
}

typedef void (*query_fn)(struct epf_cu_lines f, struct epf_cu_keys k, struct answer to);

/* Kernels for digests, one for each number of fields in a line, because a known
 * number makes a round shorter. Shapes with other numbers are rare, and for
 * keys the hash takes most of the time.
 */
#define FIELDS_KNOWN 9

template <int L> static query_fn query_in(const struct epf_geom *g, bool digests)
{
	static const query_fn known[FIELDS_KNOWN] = {
		query<L, 0, true>, query<L, 0, true>, query<L, 2, true>,
		query<L, 3, true>, query<L, 4, true>, query<L, 5, true>,
		query<L, 6, true>, query<L, 7, true>, query<L, 8, true>,
	};

	if (!digests)
		return query<L, 0, false>;
	return known[g->bits < FIELDS_KNOWN ? g->bits : 0];
}

static query_fn query_of(const struct epf_geom *g, bool digests)
{
	if (g->parts == 1)
		return query_in<1>(g, digests);
	if (g->parts == 2)
		return query_in<2>(g, digests);
	return query_in<4>(g, digests);
}

/* Look up the keys from @from on, as many as one launch takes. */
static cudaError_t ask(const struct epf_cu_lines *f, const struct epf_cu_keys *k,
		       const struct answer *to, __u64 from, cudaStream_t stream)
{
	query_fn kernel = query_of(&f->geom, digests_aligned(k));
	struct epf_cu_keys part = *k;
	struct answer there = *to;

	part.data = (const __u8 *)k->data + from * (k->len ? k->len : sizeof(__u64));
	part.n = k->n - from < EPF_LAUNCH_KEYS ? k->n - from : EPF_LAUNCH_KEYS;
	there.bitmap += from / WARP;
	if (to->ages)
		there.ages += from;
	return EPF_LAUNCH(kernel, blocks_for(part.n, BLOCK, EPF_RESIDENT(kernel, BLOCK)), BLOCK,
			  stream, *f, part, there);
}

extern "C" cudaError_t epf_cu_query(const struct epf_cu_lines *f, const struct epf_cu_keys *k,
				    __u32 *bitmap, __u8 *ages, unsigned long long *count,
				    cudaStream_t stream)
{
	struct answer to = { bitmap, ages, count };
	cudaError_t err = cudaSuccess;
	__u64 from;

	if (!k->n)
		return cudaSuccess;
	if (!sound_lines(f) || !sound_keys(k) || !bitmap || !count)
		return cudaErrorInvalidValue;
	for (from = 0; from < k->n && !err; from += EPF_LAUNCH_KEYS)
		err = ask(f, k, &to, from, stream);
	return err;
}
