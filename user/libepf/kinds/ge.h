/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind ge: predicted false-positive rate and sizing of classic guarded epoch
 * filters.
 */
#ifndef LIBEPF_KINDS_GE_H
#define LIBEPF_KINDS_GE_H

#include <epf/ge.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * epf_ge_closed() - Proposition 2 of the paper, at any phase
 * @segment_bits: s
 * @epochs: r
 * @bits: k
 * @epoch_keys: distinct keys in each of the r epochs before the current one
 * @now_keys: in the current one; @epoch_keys is the paper's case, all full
 *
 * Return: false-positive rate for independent positions.
 */
double epf_ge_closed(double segment_bits, unsigned int epochs, unsigned int bits, double epoch_keys,
		     double now_keys);

/**
 * epf_ge_best_bits() - find the k that minimises epf_ge_closed()
 * @segment_bits: s
 * @epochs: r
 * @epoch_keys: keys in each of the r + 1 epochs
 */
unsigned int epf_ge_best_bits(double segment_bits, unsigned int epochs, double epoch_keys);

/**
 * epf_ge_fpr() - predicted false-positive rate
 * @s: shape
 * @epoch_keys: distinct keys in each of the r epochs before the current one
 * @now_keys: in the current one
 *
 * Return: epf_ge_closed() plus what double hashing adds, at most 1; 1 for a shape
 * or number that is out of its range.
 */
double epf_ge_fpr(const struct epf_ge_shape *s, double epoch_keys, double now_keys);

/**
 * struct epf_ge_req - requirements
 * @keys_per_window: W, 1 and up
 * @budget: false-positive rate with all r + 1 epochs full, 1e-9 .. 0.5
 * @slack: how long a key may stay after its window, as a share of the window:
 *	1/r is at most this; 0: no limit
 * @max_bytes: memory limit; 0: none
 * @epochs: r; 0: any
 * @layout: enum epf_ge_layout
 */
struct epf_ge_req {
	double keys_per_window;
	double budget;
	double slack;
	__u64 max_bytes;
	unsigned int epochs;
	unsigned int layout;
};

/**
 * struct epf_ge_size - a filter that meets the requirements
 * @shape: the shape with the least memory
 * @bytes: its memory
 * @fpr: predicted rate with all r + 1 epochs full
 */
struct epf_ge_size {
	struct epf_ge_shape shape;
	__u64 bytes;
	double fpr;
};

/**
 * epf_ge_size() - minimise memory over k and r
 * @req: requirements
 * @size: result; with -ENOSPC the one that exceeds @req->max_bytes
 *
 * Return: 0; -EINVAL: a number out of its range, or a slack below 1/31; -ENOSPC:
 * it takes more than @req->max_bytes; -E2BIG: more than a filter may have.
 */
int epf_ge_size(const struct epf_ge_req *req, struct epf_ge_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_GE_H */
