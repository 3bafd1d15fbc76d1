// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Insertions, any number at a time. A lane is zero when its epoch begins. So
 * one OR adds tag and positions together, and the order of insertions does not
 * matter.
 */
#include "device.cuh"

#include <epf/journal.h>

template <bool DIGESTS>
static __global__ void __launch_bounds__(BLOCK)
	insert(struct epf_cu_lines f, struct epf_cu_keys k, __u64 epoch)
{
	__u64 i = thread_number();

	for (; i < k.n; i += nr_threads())
		add(&f, key_digest<DIGESTS>(&k, i), epoch);
}

/* Apply a record as user/libepf/mirror.c does: to the lanes that it names and
 * that are still retained.
 */
__device__ __forceinline__ void apply_one(const struct epf_cu_lines *f,
					  const struct epf_journal_record *r)
{
	__u32 age;

	for (age = 0; age < EPF_LANES; age++) {
		__u64 epoch = r->epoch - age;

		if (r->more >> (epoch & 7) & 1 && epoch + EPF_LANES > f->epoch)
			add(f, r->value, epoch);
	}
}

static __global__ void __launch_bounds__(BLOCK)
	apply(struct epf_cu_lines f, const struct epf_journal_record *record, __u64 n)
{
	__u64 i = thread_number();

	for (; i < n; i += nr_threads())
		if ((record[i].seq & EPF_JOURNAL_KIND_MASK) == EPF_JOURNAL_INSERT)
			apply_one(&f, &record[i]);
}

extern "C" cudaError_t epf_cu_insert(const struct epf_cu_lines *f, const struct epf_cu_keys *k,
				     __u64 epoch, cudaStream_t stream)
{
	void (*kernel)(struct epf_cu_lines, struct epf_cu_keys,
		       __u64) = digests_aligned(k) ? insert<true> : insert<false>;

	if (!k->n)
		return cudaSuccess;
	if (!sound_lines(f) || !sound_keys(k) || !sound_epoch(f, epoch))
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(kernel, blocks_for(k->n, BLOCK, EPF_RESIDENT(kernel, BLOCK)), BLOCK,
			  stream, *f, *k, epoch);
}

extern "C" cudaError_t epf_cu_apply(const struct epf_cu_lines *f,
				    const struct epf_journal_record *record, __u64 n,
				    cudaStream_t stream)
{
	if (!n)
		return cudaSuccess;
	if (!sound_lines(f) || !record || (__u64)record % sizeof(__u64))
		return cudaErrorInvalidValue;
	return EPF_LAUNCH(apply, blocks_for(n, BLOCK, EPF_RESIDENT(apply, BLOCK)), BLOCK, stream,
			  *f, record, n);
}
