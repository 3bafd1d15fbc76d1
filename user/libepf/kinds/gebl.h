/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind gebl: predicted false-positive rate and sizing of blocked guarded epoch
 * filters.
 */
#ifndef LIBEPF_KINDS_GEBL_H
#define LIBEPF_KINDS_GEBL_H

#include <epf/gebl.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * epf_gebl_fpr() - predicted false-positive rate
 * @s: shape
 * @epoch_keys: distinct keys in each of the r epochs before the current one
 * @now_keys: in the current one
 *
 * Return: the rate, at most 1; 1 for a shape or number that is out of its range, or
 * if there is no memory to compute it.
 */
double epf_gebl_fpr(const struct epf_gebl_shape *s, double epoch_keys, double now_keys);

/**
 * struct epf_gebl_req - requirements
 * @keys_per_window: W, 1 and up
 * @budget: false-positive rate with all r + 1 epochs full, 1e-9 .. 0.5
 * @slack: how long a key may stay after its window, as a share of the window:
 *	1/r is at most this; 0: no limit
 * @max_bytes: memory limit; 0: none
 * @epochs: r; 0: any
 * @block_bits: B; 0: any
 * @offsets: enum epf_gebl_offsets
 */
struct epf_gebl_req {
	double keys_per_window;
	double budget;
	double slack;
	__u64 max_bytes;
	unsigned int epochs;
	unsigned int block_bits;
	unsigned int offsets;
};

/**
 * struct epf_gebl_size - a filter that meets the requirements
 * @shape: the shape with the least memory
 * @bytes: its memory
 * @fpr: predicted rate with all r + 1 epochs full
 */
struct epf_gebl_size {
	struct epf_gebl_shape shape;
	__u64 bytes;
	double fpr;
};

/**
 * epf_gebl_size() - minimise memory over k, and over r and B unless they are given
 * @req: requirements
 * @size: result; with -ENOSPC the one that exceeds @req->max_bytes
 *
 * Return: 0; -EINVAL: a number out of its range, or a slack below 1/31; -ENOSPC:
 * it takes more than @req->max_bytes; -E2BIG: more than a filter may have;
 * -ENOMEM.
 */
int epf_gebl_size(const struct epf_gebl_req *req, struct epf_gebl_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_GEBL_H */
