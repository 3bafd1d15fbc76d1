// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Locked kinds in the state of a snapshot, queried with functions of the core. */
#include "kinds.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "epf/batch.h"
#include "epf/kinds.h"
#include "work.h"

#define STEP_WORDS (EPF_STEP_BYTES / sizeof(__u64))

const struct epf_kind_ops *epf_kind_ops(__u32 kind)
{
	return epf_kind_row(kind);
}

__u32 epf_kind_epochs(const struct epf_params *params, const struct epf_shape *shape)
{
	const struct epf_kind_ops *ops = epf_kind_ops(params->kind);
	struct epf_locked f = { 0 };

	if (!ops || epf_locked_init(&f, ops, shape, params->window_ns, 0))
		return 0;
	return f.epochs;
}

int epf_asked_init(struct epf_asked *a, const struct epf_params *params,
		   const struct epf_snap_locked *s)
{
	const struct epf_kind_ops *ops = epf_kind_ops(params->kind);

	if (!ops)
		return -EOPNOTSUPP;
	a->now_ns = s->now;
	if (!epf_image_sound(s) || epf_locked_init(&a->f, ops, &s->shape, params->window_ns, 0))
		return -EINVAL;
	return ops->load(&a->f, s);
}

void epf_asked_at(struct epf_asked *a, __u64 *word)
{
	epf_locked_place(&a->f, word);
}

int epf_asked_check(const struct epf_asked *a, __u64 *at)
{
	const struct epf_kind_ops *ops = a->f.ops;
	__u64 words, n, first = *at;
	__u64 *word;
	__u32 i;

	if (!ops->sound)
		return 0;
	for (i = 0; (words = ops->piece(&a->f, i, &word)); i++) {
		if (first < words)
			break;
		first -= words;
	}
	if (!words)
		return 0;
	n = words - first < STEP_WORDS ? words - first : STEP_WORDS;
	*at += n;
	if (!ops->sound(&a->f, i, first, n))
		return -EINVAL;
	return first + n < words || ops->piece(&a->f, i + 1, &word);
}

bool epf_asked_place(struct epf_asked *a, __u64 *word)
{
	__u64 at = 0;
	int ret;

	epf_asked_at(a, word);
	do
		ret = epf_asked_check(a, &at);
	while (ret > 0);
	return !ret;
}

__u64 epf_asked_rate_q56(const struct epf_asked *a, const struct epf_hash *hash)
{
	struct epf_locked f = a->f;
	__u64 i;

	memset(&f.estimator, 0, sizeof(f.estimator));
	for (i = 0; i < EPF_ESTIMATOR_SAMPLES; i++)
		f.ops->sample(&f, epf_digest(hash, &i, sizeof(i)), a->now_ns);
	return f.ops->rate(&f, a->now_ns);
}

unsigned char epf_asked_age(const struct epf_asked *a, __u64 digest)
{
	return epf_batch_age(EPF_BATCH_UNKNOWN, a->f.ops->test(&a->f, digest, a->now_ns));
}
