/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind elastic: predicted false-positive rate and sizing.
 */
#ifndef LIBEPF_KINDS_ELASTIC_H
#define LIBEPF_KINDS_ELASTIC_H

#include <epf/elastic.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * epf_elastic_fpr() - predicted false-positive rate
 * @s: shape
 * @epoch_keys: distinct keys in each of the many epochs before the current one
 * @now_keys: in the current one; @epoch_keys is the worst phase
 *
 * The function simulates how lines fill, with fixed seeds: every call gives the
 * same result. Its standard error is below one per cent. It takes about 0.1 s.
 *
 * Return: rate; 1 for a shape or number that is out of its range.
 */
double epf_elastic_fpr(const struct epf_elastic_shape *s, double epoch_keys, double now_keys);

/**
 * struct epf_elastic_req - requirements
 * @keys_per_window: W, 1 and up
 * @budget: false-positive rate with all epochs full, 1e-5 .. 0.5
 * @slack: how long a key may stay after its window, as a share of the window:
 *	1/7 and up; 0: no limit
 * @max_bytes: memory limit; 0: none
 * @line_words: 16 or 8; 0: 16
 */
struct epf_elastic_req {
	double keys_per_window;
	double budget;
	double slack;
	__u64 max_bytes;
	unsigned int line_words;
};

/**
 * struct epf_elastic_size - a filter that meets the requirements
 * @shape: the shape with the least memory, to within some per cent; r is 7
 * @bytes: its memory
 * @fpr: predicted rate at the worst phase
 */
struct epf_elastic_size {
	struct epf_elastic_shape shape;
	__u64 bytes;
	double fpr;
};

/**
 * epf_elastic_size() - find the shape for given requirements
 * @req: requirements
 * @size: result; with -ENOSPC the one that exceeds @req->max_bytes
 *
 * Return: 0; -EINVAL: a number out of its range; -ENOSPC: it takes more than
 * @req->max_bytes; -E2BIG: more than a filter may have.
 */
int epf_elastic_size(const struct epf_elastic_req *req, struct epf_elastic_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_ELASTIC_H */
