/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Baseline cbf: a counting Bloom filter of 4-bit counters with exact deletion
 * at the end of the window (Fan, Cao, Almeida, Broder 2000), the one that the
 * guarded epoch paper compares with. For comparison only: it needs a queue of
 * the window's digests, which that paper does not count.
 *
 * A counter that reaches 15 stays there: this causes false positives but loses
 * no key.
 */
#ifndef LIBEPF_KINDS_CBF_H
#define LIBEPF_KINDS_CBF_H

#include <linux/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_cbf_shape - what the creator chooses
 * @cells: counters, 64 .. 2^40
 * @window: W, insertions until a key is deleted, 1 .. 2^32
 * @bits: k, counters per key, 1 .. 64
 */
struct epf_cbf_shape {
	__u64 cells;
	__u64 window;
	unsigned int bits;
};

/**
 * struct epf_cbf - a filter
 * @cell: counters, two per byte
 * @queue: digests of the last @window insertions
 * @inserts: insertions so far
 */
struct epf_cbf {
	struct epf_cbf_shape shape;
	__u8 *cell;
	__u64 *queue;
	__u64 inserts;
};

/* Return: 0, -EINVAL: a number out of its range, -ENOMEM. */
int epf_cbf_init(struct epf_cbf *f, const struct epf_cbf_shape *shape);
void epf_cbf_free(struct epf_cbf *f);
void epf_cbf_insert(struct epf_cbf *f, __u64 digest);
bool epf_cbf_test(const struct epf_cbf *f, __u64 digest);

/* Memory of the counters and of the queue. */
__u64 epf_cbf_bytes(const struct epf_cbf_shape *shape);
__u64 epf_cbf_queue_bytes(const struct epf_cbf_shape *shape);

/* Predicted false-positive rate with @keys distinct keys in the filter. */
double epf_cbf_fpr(const struct epf_cbf_shape *shape, double keys);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_CBF_H */
