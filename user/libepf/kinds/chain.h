/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chain of lanes tables: filters in this process, prediction, sizing.
 */
#ifndef LIBEPF_KINDS_CHAIN_H
#define LIBEPF_KINDS_CHAIN_H

#include <epf/chain.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_chain_owner - a filter with its tables in the memory of this process
 * @f: filter; @f.nr is the number of its tables
 * @words: words of all tables, including the spare one
 * @words_peak: the maximum of @words so far
 * @max_words: limit for @words; 0: no limit
 * @refused: how often a table was due and could not be allocated
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
 * @now_ns: time on the caller's clock, as in all functions
 *
 * Return: 0; -EINVAL: bad shape; -ENOMEM: there is no memory for the first table,
 * or it exceeds the limit.
 */
int epf_chain_open(struct epf_chain_owner *o, const struct epf_chain_shape *s, __u64 max_words,
		   __u64 now_ns);
void epf_chain_close(struct epf_chain_owner *o);

/**
 * epf_chain_care() - do a worker's duties: free, scan and prepare tables
 * @o: filter
 * @now_ns: time
 *
 * The caller calls it about 16 times per epoch, even without insertions.
 */
void epf_chain_care(struct epf_chain_owner *o, __u64 now_ns);

/* Insert one key and call epf_chain_care() as needed. */
void epf_chain_put(struct epf_chain_owner *o, __u64 digest, __u64 now_ns);

/**
 * enum epf_chain_fill - how the fill of lanes is determined
 * @EPF_CHAIN_KEYS: from the number of insertions; too high if keys repeat
 * @EPF_CHAIN_COUNTED: by counting the bits of all lines
 */
enum epf_chain_fill { EPF_CHAIN_KEYS, EPF_CHAIN_COUNTED };

/* Predicted false-positive rate at @now_ns. */
double epf_chain_fpr(const struct epf_chain *f, enum epf_chain_fill fill, __u64 now_ns);

/**
 * struct epf_chain_req - requirements
 * @span_ns: T
 * @rate: expected insertions per second; a different rate costs memory, and for a
 *	while more lines per test and more false positives
 * @budget: false-positive rate of one table, 1e-9 .. 0.5; n tables have at most n
 *	times that
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
 * @words: memory at the expected rate, which needs one table
 * @fpr: predicted at the expected rate, all eight epochs full
 * @fpr_full: predicted for a table that is filled to its capacity
 * @late_ns: staleness: how long beyond T a key may be reported, apart from false
 *	positives
 */
struct epf_chain_size {
	struct epf_chain_shape shape;
	__u64 words;
	double fpr;
	double fpr_full;
	__u64 late_ns;
};

/**
 * epf_chain_size() - find the shape with the least memory
 * @req: requirements
 * @size: result, unchanged on failure
 *
 * Return: 0; -EINVAL: a number out of its range; -E2BIG: more lines than a
 * table may have.
 */
int epf_chain_size(const struct epf_chain_req *req, struct epf_chain_size *size);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_CHAIN_H */
