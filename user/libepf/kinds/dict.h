/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kind dict: predicted error, sizing, and what theory says of the space.
 */
#ifndef LIBEPF_KINDS_DICT_H
#define LIBEPF_KINDS_DICT_H

#include <epf/dict.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_dict_state - a filter in the long run, in the mean
 * @first: share of keys not inserted that a fingerprint of their bucket lets pass
 * @yard: likewise, one of the backyard
 * @pass: likewise, a bucket whose keys are all present
 * @spilt: share of the live keys that found their bucket full
 * @asks: share of the buckets that keys found full: theirs are looked for in the
 *	backyard too
 */
struct epf_dict_state {
	double first;
	double yard;
	double pass;
	double spilt;
	double asks;
};

/**
 * epf_dict_predict() - where false positives come from
 * @s: shape
 * @generation_keys: distinct keys in each of the c generations before the
 *	current one
 * @now_keys: in the current one
 * @state: result
 *
 * Return: false-positive rate; 1 for a shape or number that is out of its range.
 */
double epf_dict_predict(const struct epf_dict_shape *s, double generation_keys,
			double now_keys, struct epf_dict_state *state);

/**
 * epf_dict_fpr() - predicted false-positive rate
 * @s: shape
 * @generation_keys: distinct keys in each of the c generations before the
 *	current one
 * @now_keys: in the current one
 *
 * Return: as epf_dict_predict().
 */
double epf_dict_fpr(const struct epf_dict_shape *s, double generation_keys,
		    double now_keys);

/**
 * epf_dict_bound() - the leading terms of Theorems 1.1 and 1.2, the same in both
 * @budget: error, below 1/2
 * @slack: how long a key may stay after its window, as a share of the window:
 *	m/n; 0: for ever
 *
 * Return: bits a key of the window. The construction adds O(1) to it, no filter
 * has less than this minus O(1).
 */
double epf_dict_bound(double budget, double slack);

/**
 * epf_dict_paper() - section 2.3 with a dictionary that wastes nothing
 * @budget: error
 * @generations: c
 *
 * Return: bits a key of the window, (B(n'/budget, n') + n' log2(c + 1)) / n,
 * where B counts the subsets of n' = (1 + 1/c) n fingerprints.
 */
double epf_dict_paper(double budget, unsigned int generations);

/**
 * struct epf_dict_req - what a filter is to promise
 * @keys_per_window: n, 1 and up
 * @budget: false-positive rate with all c + 1 generations full, 1e-9 .. 0.5
 * @slack: how long a key may stay after its window, as a share of the window:
 *	1/c is at most this; 0: no matter
 * @max_bytes: memory limit; 0: none
 * @generations: c; 0: free
 * @lines: of a bucket; 0: free
 * @load: keys of a bucket for each of its cells at most, .5 .. 1; 0: 1. The less,
 *	the fewer buckets ask the backyard, and the more memory it takes
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
 * struct epf_dict_size - a filter that keeps it
 * @shape: of the least memory for which two cells a step are enough, where it
 *	has more than a few buckets
 * @bytes: its memory
 * @fpr: predicted rate with all c + 1 generations full
 */
struct epf_dict_size {
	struct epf_dict_shape shape;
	__u64 bytes;
	double fpr;
};

/**
 * epf_dict_size() - the least memory over c, tags, remainders, slots and lines
 * @req: promise
 * @size: result; with -ENOSPC the one that @req->max_bytes is too small for
 *
 * Return: 0; -EINVAL: a number out of its range, or a slack below 1/254; -ENOSPC:
 * it takes more than @req->max_bytes; -E2BIG: more than a filter may have.
 */
int epf_dict_size(const struct epf_dict_req *req, struct epf_dict_size *size);

/**
 * epf_dict_print_space() - one line: ours beside the theorem, bits a key
 * @to: stream
 * @req: promise
 * @size: what epf_dict_size() made of it
 *
 * Prints ours, epf_dict_bound(), epf_dict_paper() at its best c, and the shape.
 */
void epf_dict_print_space(FILE *to, const struct epf_dict_req *req,
			  const struct epf_dict_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_DICT_H */
