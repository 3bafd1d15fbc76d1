/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chain of lanes tables: an owner in the process, prediction, sizing.
 */
#ifndef LIBEPF_KINDS_CHAIN_H
#define LIBEPF_KINDS_CHAIN_H

#include <epf/chain.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_chain_owner - a filter with its tables in memory of the process
 * @f: filter; @f.nr is its tables
 * @words: of all tables, spare included
 * @words_peak: the most so far
 * @max_words: no table is allocated beyond; 0: no limit
 * @refused: how often a table was due and not to be had
 */
struct epf_chain_owner {
	struct epf_chain f;
	__u64 words;
	__u64 words_peak;
	__u64 max_words;
	__u64 refused;
};

/**
 * epf_chain_open() - make an empty filter
 * @o: filter
 * @s: shape
 * @max_words: memory limit; 0: none
 * @now_ns: on the caller's clock, as everywhere
 *
 * Return: 0; -EINVAL: bad shape; -ENOMEM: the first table is not to be had, or
 * exceeds the limit.
 */
int epf_chain_open(struct epf_chain_owner *o, const struct epf_chain_shape *s,
		   __u64 max_words, __u64 now_ns);
void epf_chain_close(struct epf_chain_owner *o);

/**
 * epf_chain_care() - what a worker does: free, scan, prepare
 * @o: filter
 * @now_ns: time
 *
 * To be called some 16 times an epoch, whether keys come or not.
 */
void epf_chain_care(struct epf_chain_owner *o, __u64 now_ns);

/* Insert one key, with all the care that takes. */
void epf_chain_put(struct epf_chain_owner *o, __u64 digest, __u64 now_ns);

/**
 * enum epf_chain_fill - how the fill of lanes is told
 * @EPF_CHAIN_KEYS: by the keys inserted; too high where keys come again
 * @EPF_CHAIN_COUNTED: by counting all
 */
enum epf_chain_fill { EPF_CHAIN_KEYS, EPF_CHAIN_COUNTED };

/* Predicted false-positive rate at that moment. */
double epf_chain_fpr(const struct epf_chain *f, enum epf_chain_fill fill,
		     __u64 now_ns);

/**
 * struct epf_chain_req - what a filter is to promise
 * @span_ns: T
 * @rate: insertions a second, expected; others cost memory, and for a while
 *	lines a test and error
 * @budget: false-positive rate of one table, 1e-9 .. 0.5; of n of them at most
 *	n times that
 * @lines_per_key: L: 1, 2, 4; 0: free
 */
struct epf_chain_req {
	__u64 span_ns;
	double rate;
	double budget;
	unsigned int lines_per_key;
};

/**
 * struct epf_chain_size - a shape
 * @shape: to create
 * @words: memory at the expected rate: of one table
 * @fpr: predicted at the expected rate, all eight epochs full
 * @fpr_full: predicted for a table that takes all it is made for
 * @late_ns: staleness: how long beyond T a key may be reported, but for chance
 */
struct epf_chain_size {
	struct epf_chain_shape shape;
	__u64 words;
	double fpr;
	double fpr_full;
	__u64 late_ns;
};

/**
 * epf_chain_size() - the shape with the least memory
 * @req: promise
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -E2BIG: more lines than a
 * table may have.
 */
int epf_chain_size(const struct epf_chain_req *req,
		   struct epf_chain_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_CHAIN_H */
