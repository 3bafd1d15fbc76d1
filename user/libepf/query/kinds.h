/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queries of locked kinds: a filter of the core over the memory of a snapshot.
 */
#ifndef LIBEPF_QUERY_KINDS_H
#define LIBEPF_QUERY_KINDS_H

#include "audit.h"
#include "epf/kind.h"

/**
 * struct epf_asked - a filter that nothing is inserted into
 * @now_ns: time of the queries, on the filter's clock, for kinds that have one
 * @f: the filter
 */
struct epf_asked {
	__u64 now_ns;
	struct epf_locked f;
};

/* The operations of a locked kind; NULL for lanes and for unknown kinds. */
const struct epf_kind_ops *epf_kind_ops(__u32 kind);

/* Complete epochs in the window of a filter of a locked kind; 0: no filter is so. */
__u32 epf_kind_epochs(const struct epf_params *params, const struct epf_shape *shape);

/**
 * epf_asked_init() - a filter in the state of a snapshot
 * @a: result, zeroed; it has no memory yet
 * @params: of the snapshot
 * @s: state
 *
 * Return: 0; -EOPNOTSUPP: not of a locked kind; -EINVAL: no filter can be so.
 */
int epf_asked_init(struct epf_asked *a, const struct epf_params *params,
		   const struct epf_snap_locked *s);

/* Set its memory to @word. Return: is the memory valid? If not, do not query it. */
bool epf_asked_place(struct epf_asked *a, __u64 *word);

/* The same in steps. First set the memory: */
void epf_asked_at(struct epf_asked *a, __u64 *word);

/**
 * epf_asked_check() - check some of its memory
 * @a: filter with memory
 * @at: position of the check, in words; 0 at first
 *
 * Return: 1: there is more to check; 0: the memory is valid; -EINVAL: it is not.
 */
int epf_asked_check(const struct epf_asked *a, __u64 *at);

/* The estimated error, from samples that @hash draws, as the module estimates it. */
__u64 epf_asked_rate_q56(const struct epf_asked *a, const struct epf_hash *hash);

/* The age of a digest, 254 if older, or EPF_AGE_ABSENT. */
unsigned char epf_asked_age(const struct epf_asked *a, __u64 digest);

#endif /* LIBEPF_QUERY_KINDS_H */
