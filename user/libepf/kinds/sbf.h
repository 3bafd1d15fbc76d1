/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Baseline sbf: the stable Bloom filter (Deng and Rafiei, "Approximately
 * Detecting Duplicates for Streaming Data using Stable Bloom Filters", SIGMOD
 * 2006) that the guarded epoch paper compares with. For comparison only: it
 * forgets at random, so it loses keys inside any window.
 */
#ifndef LIBEPF_KINDS_SBF_H
#define LIBEPF_KINDS_SBF_H

#include <linux/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_sbf_shape - what the creator chooses
 * @cells: 4-bit cells, 64 .. 2^40
 * @bits: K, cells that an insertion sets, 1 .. 64
 * @decrements: P, random cells that it decrements before that, 1 .. 65535
 * @max: what a cell is set to, 1 .. 15
 */
struct epf_sbf_shape {
	__u64 cells;
	unsigned int bits;
	unsigned int decrements;
	unsigned int max;
};

/**
 * struct epf_sbf - a filter
 * @cell: two cells per byte
 * @draws: random numbers drawn; the stream depends on nothing else
 */
struct epf_sbf {
	struct epf_sbf_shape shape;
	__u8 *cell;
	__u64 draws;
};

/* Return: 0, -EINVAL: a number out of its range, -ENOMEM. */
int epf_sbf_init(struct epf_sbf *f, const struct epf_sbf_shape *shape);
void epf_sbf_free(struct epf_sbf *f);
void epf_sbf_insert(struct epf_sbf *f, __u64 digest);
bool epf_sbf_test(const struct epf_sbf *f, __u64 digest);

__u64 epf_sbf_bytes(const struct epf_sbf_shape *shape);

/**
 * epf_sbf_fpr() - false-positive rate at the stable point
 * @shape: valid shape
 *
 * There a cell is zero with probability (1 / (1 + 1 / (P (1/K - 1/m))))^Max, for m
 * cells.
 */
double epf_sbf_fpr(const struct epf_sbf_shape *shape);

/**
 * epf_sbf_fnr() - probability that a key is lost @age insertions after its own
 * @shape: valid shape
 * @age: distinct keys inserted since; the function's time is proportional to it
 *
 * The formula takes the cells of the key as independent.
 */
double epf_sbf_fnr(const struct epf_sbf_shape *shape, double age);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_SBF_H */
