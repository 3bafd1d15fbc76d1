/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Batches of keys (struct epf_batch), for the module and for pure BPF. Any context. */
#ifndef EPF_BATCH_H
#define EPF_BATCH_H

#include "hash.h"
#include "lanes.h"

/**
 * epf_batch_check() - are the arguments of a batch valid, except for lengths of keys?
 * @a: any bytes
 * @insert: it only inserts, so it has no results
 *
 * Return: 0; -EINVAL; -E2BIG: too many keys.
 */
EPF_FN_BIG int epf_batch_check(const struct epf_batch *a, bool insert)
{
	bool one_len = a->key_len, lens = a->lens;

	if (a->count > EPF_BATCH_MAX)
		return -E2BIG;
	if (a->key_len > EPF_KEY_MAX)
		return -EINVAL;
	if (a->flags & EPF_BATCH_DIGESTS ? one_len || lens : one_len == lens)
		return -EINVAL;
	return insert && (a->bitmap || a->ages) ? -EINVAL : 0;
}

/* What @ages reports for a verdict: 0, 1 + age, or a negative errno. */
EPF_FN __u8 epf_batch_age(__u32 flags, int verdict)
{
	bool telling = flags & EPF_BATCH_UNKNOWN;
	int most = (telling ? EPF_AGE_UNKNOWN : EPF_AGE_ABSENT) - 1;

	if (verdict > 0)
		return (__u8)(verdict - EPF_PRESENT < most ? verdict - EPF_PRESENT : most);
	return telling && verdict ? EPF_AGE_UNKNOWN : EPF_AGE_ABSENT;
}

#endif /* EPF_BATCH_H */
