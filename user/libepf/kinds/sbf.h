/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Baseline sbf: stable Bloom filter (Deng and Rafiei, "Approximately Detecting
 * Duplicates for Streaming Data using Stable Bloom Filters", SIGMOD 2006), as
 * the guarded epoch paper compares with. For comparison only: it forgets at
 * random, so it loses keys inside any window.
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
 * @decrements: P, random cells that it decrements before, 1 .. 65535
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
 * @cell: two cells a byte
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
 * epf_sbf_fpr() - false-positive rate at the stable point, where a cell is zero
 *	with the chance (1 / (1 + 1 / (P (1/K - 1/m))))^Max, m cells
 * @shape: in its ranges
 */
double epf_sbf_fpr(const struct epf_sbf_shape *shape);

/**
 * epf_sbf_fnr() - chance that a key is lost @age insertions after its last,
 *	taking its cells for independent
 * @shape: in its ranges
 * @age: distinct keys inserted since; takes a time that grows with it
 */
double epf_sbf_fnr(const struct epf_sbf_shape *shape, double age);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_SBF_H */
