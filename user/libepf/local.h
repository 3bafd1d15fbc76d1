/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Filters of the locked kinds in this process, for one thread; epf_mem_*() of epf.h are
 * those of kind lanes. Each kind is reached by its row (epf/kind.h).
 *
 * The clock is the caller's. A time before that of an earlier call counts as that one.
 */
#ifndef LIBEPF_LOCAL_H
#define LIBEPF_LOCAL_H

#include "epf.h"

struct epf_local;

/**
 * epf_local_new() - make a filter
 * @params: of a locked kind; the name may be empty
 * @shape: of that kind, otherwise zero
 * @key: hash key, or NULL for a random one
 * @now_ns: 0 .. EPF_LOCAL_NS_MAX, as in all calls
 * @err: set to a negative errno on failure: -EINVAL, -ENOMEM; -EOPNOTSUPP: not of a
 *	locked kind
 *
 * Return: the filter, or NULL.
 */
struct epf_local *epf_local_new(const struct epf_params *params, const struct epf_shape *shape,
				const __u64 key[2], __u64 now_ns, int *err);
void epf_local_free(struct epf_local *l);

#define EPF_LOCAL_NS_MAX (1ULL << 61)

/* The digest of @len bytes under the filter's hash key. */
__u64 epf_local_digest(const struct epf_local *l, const void *key, __u32 len);

/* As epf_mem_test() and the others. The call that finds an epoch over ends it, with all
 * the sweeping that its kind needs.
 */
int epf_local_test(struct epf_local *l, __u64 digest, __u64 now_ns);
int epf_local_test_and_insert(struct epf_local *l, __u64 digest, __u64 now_ns);
void epf_local_insert(struct epf_local *l, __u64 digest, __u64 now_ns);

/* End the current epoch now; a resizable kind moves its clock by the length of one. */
void epf_local_rotate(struct epf_local *l, __u64 now_ns);

/* As EPF_IOC_INFO; id and users are 0. */
void epf_local_info(struct epf_local *l, __u64 now_ns, struct epf_info *info);

/* As epf_mem_save(); -ENOMEM. */
int epf_local_save(struct epf_local *l, const struct epf_save_opts *opts, const char *path,
		   struct epf_snap_header *header);

/**
 * epf_local_load() - make a filter of a snapshot
 * @file: of a locked kind; may be closed afterwards
 * @taken_ns: when it was taken, on the caller's clock; modulo 2^64, if that was before its
 *	zero
 * @now_ns: 0 .. EPF_LOCAL_NS_MAX; not before @taken_ns. The next call ends the epochs that
 *	are over since then
 * @err: set to a negative errno on failure: as epf_local_new(); -EBADMSG: not sound
 *
 * Return: the filter, or NULL.
 */
struct epf_local *epf_local_load(const struct epf_snap_file *file, __u64 taken_ns, __u64 now_ns,
				 int *err);

#endif /* LIBEPF_LOCAL_H */
