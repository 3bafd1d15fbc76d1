// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Batches of keys: digests are computed here; a BPF program tests and inserts. */
#include "calls.h"

#include <epf/batch.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Compute the digests of keys from @a->done on, whose bytes begin at offset @bytes. Return:
 * bytes used; a negative errno.
 */
static __s64 batch_digests(const struct ebpf_filter *f, const struct epf_batch *a, __u64 bytes,
			   struct epf_bpf_ops *ops)
{
	const __u8 *key = (const __u8 *)(uintptr_t)a->keys + bytes;
	const __u16 *lens = (const __u16 *)(uintptr_t)a->lens;
	const struct epf_bpf_slot *s = ebpf_slot(f);
	const __u8 *at = key;
	__u32 i, len;

	ops->serial = s->serial;
	if (a->flags & EPF_BATCH_DIGESTS) {
		memcpy(ops->word, key, ops->count * sizeof(ops->word[0]));
		return (__s64)(ops->count * sizeof(ops->word[0]));
	}
	for (i = 0; i < ops->count; i++, at += len) {
		len = lens ? lens[a->done + i] : a->key_len;
		if (!len || len > EPF_KEY_MAX)
			return -EINVAL;
		ops->word[i] = epf_digest(&s->hash, at, len);
	}
	return at - key;
}

static void batch_answer(struct epf_batch *a, __u32 i, int verdict)
{
	__u8 *ages = (__u8 *)(uintptr_t)a->ages;
	__u8 *bitmap = (__u8 *)(uintptr_t)a->bitmap;

	if (verdict < 0)
		a->flags |= EPF_BATCH_SATURATED;
	if (ages)
		ages[i] = epf_batch_age(a->flags, verdict);
	if (bitmap && i % 8 == 0)
		bitmap[i / 8] = 0;
	if (bitmap && verdict > 0)
		bitmap[i / 8] |= (__u8)(1u << i % 8);
	a->present += verdict > 0;
}

/* Run the program once. Return: bytes of the keys processed; a negative errno. */
static __s64 some(struct ebpf_filter *f, struct epf_batch *a, enum epf_bpf_op op, __u64 bytes)
{
	struct epf_bpf_ops ops;
	__u32 left = a->count - a->done, i;
	__s64 took;
	int ret;

	do {
		ops.op = op;
		ops.count = left < EPF_BPF_OPS_MAX ? left : EPF_BPF_OPS_MAX;
		took = batch_digests(f, a, bytes, &ops);
		ret = took < 0 ? (int)took : ebpf_ops_run(f, &ops);
	} while (ret == -EAGAIN); /* the contents were exchanged meanwhile */
	if (ret)
		return ret;
	for (i = 0; i < ops.count; i++)
		batch_answer(a, a->done + i, (int)(__s64)ops.word[i]);
	a->done += ops.count;
	return took;
}

/* A swap sets @half for a moment. If it is still set once the lock is free, the
 * process that swapped was killed.
 */
static int check_half(struct ebpf_filter *f)
{
	int ret;

	if (!f->shared->half)
		return 0;
	ret = ebpf_begin(f);
	if (!ret)
		ebpf_end(f);
	return ret;
}

int ebpf_batch(struct ebpf_filter *f, struct epf_batch *a, enum epf_bpf_op op)
{
	int ret = a->flags & ~EPF_BATCH_MASK ? -EINVAL : epf_batch_check(a, op == EPF_BPF_INSERT);
	__u64 bytes = 0;
	__s64 took;

	ret = ret ?: check_half(f);
	a->done = 0;
	a->present = 0;
	while (!ret && a->done < a->count) {
		took = some(f, a, op, bytes);
		if (took < 0)
			return (int)took;
		bytes += (__u64)took;
		if (op != EPF_BPF_TEST)
			ret = ebpf_settle(f);
	}
	return ret;
}
