/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind dict: predicted false-positive rate, sizing, and theoretical space
 * bounds.
 */
#ifndef LIBEPF_KINDS_DICT_H
#define LIBEPF_KINDS_DICT_H

#include <epf/dict.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_dict_state - long-run means of a filter
 * @first: share of keys never inserted that match a fingerprint of their bucket
 * @yard: share of those that match a fingerprint of the backyard
 * @pass: share of those whose bucket reports every key present
 * @spilt: share of the live keys that found their bucket full
 * @asks: share of the buckets that keys found full; a lookup in such a bucket also
 *	reads the backyard
 */
struct epf_dict_state {
	double first;
	double yard;
	double pass;
	double spilt;
	double asks;
};

/**
 * epf_dict_predict() - predict the false-positive rate and its causes
 * @s: shape
 * @generation_keys: distinct keys in each of the c generations before the
 *	current one
 * @now_keys: in the current one
 * @state: result
 *
 * Return: false-positive rate; 1 for a shape or number that is out of its range.
 */
double epf_dict_predict(const struct epf_dict_shape *s, double generation_keys, double now_keys,
			struct epf_dict_state *state);

/**
 * epf_dict_fpr() - predicted false-positive rate
 * @s: shape
 * @generation_keys: distinct keys in each of the c generations before the
 *	current one
 * @now_keys: in the current one
 *
 * Return: as epf_dict_predict().
 */
double epf_dict_fpr(const struct epf_dict_shape *s, double generation_keys, double now_keys);

/**
 * epf_dict_bound() - the leading terms of Theorems 1.1 and 1.2, the same in both
 * @budget: error, below 1/2
 * @slack: how long a key may stay after its window, as a share of the window:
 *	m/n; 0: for ever
 *
 * Return: bits per key of the window. The construction adds O(1) to it, and no
 * filter has less than this minus O(1).
 */
double epf_dict_bound(double budget, double slack);

/**
 * epf_dict_paper() - section 2.3, for a dictionary without overhead
 * @budget: error
 * @generations: c
 *
 * Return: bits per key of the window, (B(n'/budget, n') + n' log2(c + 1)) / n,
 * where B counts the subsets of n' = (1 + 1/c) n fingerprints.
 */
double epf_dict_paper(double budget, unsigned int generations);

/**
 * struct epf_dict_req - requirements
 * @keys_per_window: n, 1 and up
 * @budget: false-positive rate with all c + 1 generations full, 1e-9 .. 0.5
 * @slack: how long a key may stay after its window, as a share of the window:
 *	1/c is at most this; 0: no limit
 * @max_bytes: memory limit; 0: none
 * @generations: c; 0: any
 * @lines: lines of a bucket; 0: any
 * @load: upper limit for keys per cell of a bucket, .5 .. 1; 0: 1. With a lower
 *	limit fewer lookups read the backyard, and the filter takes more memory
 */
struct epf_dict_req {
	double keys_per_window;
	double budget;
	double slack;
	__u64 max_bytes;
	unsigned int generations;
	unsigned int lines;
	double load;
};

/**
 * struct epf_dict_size - a filter that meets the requirements
 * @shape: the shape with the least memory for which a scan of two cells per step
 *	is enough; a filter of a few buckets need not meet this
 * @bytes: its memory
 * @fpr: predicted rate with all c + 1 generations full
 */
struct epf_dict_size {
	struct epf_dict_shape shape;
	__u64 bytes;
	double fpr;
};

/**
 * epf_dict_size() - minimise memory over c, tags, remainders, slots and lines
 * @req: requirements
 * @size: result; with -ENOSPC the one that exceeds @req->max_bytes
 *
 * Return: 0; -EINVAL: a number out of its range, or a slack below 1/254; -ENOSPC:
 * it takes more than @req->max_bytes; -E2BIG: more than a filter may have.
 */
int epf_dict_size(const struct epf_dict_req *req, struct epf_dict_size *size);

/**
 * epf_dict_print_space() - print a line that compares memory with the theorem
 * @to: stream
 * @req: requirements
 * @size: result of epf_dict_size()
 *
 * The line has bits per key of @size, epf_dict_bound(), epf_dict_paper() at its
 * best c, and the shape.
 */
void epf_dict_print_space(FILE *to, const struct epf_dict_req *req,
			  const struct epf_dict_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_DICT_H */
