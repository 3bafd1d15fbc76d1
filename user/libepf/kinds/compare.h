/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Comparison of all kinds, each sized for the same requirements.
 */
#ifndef LIBEPF_KINDS_COMPARE_H
#define LIBEPF_KINDS_COMPARE_H

#include <linux/epochfilter.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_compare_req - requirements for all kinds
 * @keys_per_window: W, 1 and up
 * @budget: false-positive rate at the worst phase, 1e-9 .. 0.5
 * @slack: how long a key may stay after its window, as a share of the window;
 *	0: no limit
 */
struct epf_compare_req {
	double keys_per_window;
	double budget;
	double slack;
};

/**
 * struct epf_compared - result for one kind
 * @kind: its name
 * @number: enum epf_kind, or EPF_COMPARED_USER: the kernel does not have it
 * @promise: what it guarantees and what that costs
 * @err: 0, or why the fields below are not set: -ENOSPC, -E2BIG: no filter of this
 *	kind meets the requirements; -EINVAL: a number out of the kind's range
 * @bytes: total memory
 * @epochs: complete epochs that make the window
 * @params: geometry of EPF_KIND_LANES, other fields zero
 * @shape: shape of a locked kind
 * @fpr: predicted false-positive rate at the worst phase
 * @slack: how long a key may stay after its window, as a share of it
 * @lines_insert: lines of 64 bytes that an insertion touches
 * @lines_absent: mean number of lines that a test of an absent key touches, at the
 *	worst phase
 * @lines_present: the most lines that a test of a present key touches; for the
 *	aged kinds the mean over ages
 */
struct epf_compared {
	const char *kind;
	__u32 number;
	const char *promise;
	int err;
	__u64 bytes;
	__u32 epochs;
	struct epf_params params;
	struct epf_shape shape;
	double fpr;
	double slack;
	double lines_insert;
	double lines_absent;
	double lines_present;
};

#define EPF_COMPARE_KINDS 10
#define EPF_COMPARED_USER 0x100u

/* Return: the name of a kind of the kernel, or NULL. */
const char *epf_kind_name(__u32 number);

/**
 * epf_compare_kind() - size one kind
 * @number: enum epf_kind
 * @req: requirements
 * @row: result
 *
 * Return: @row->err; -EINVAL also if there is no such kind.
 */
int epf_compare_kind(__u32 number, const struct epf_compare_req *req, struct epf_compared *row);

/**
 * epf_compare() - size every kind
 * @req: requirements
 * @rows: result, in a fixed order
 *
 * Takes some seconds.
 */
void epf_compare(const struct epf_compare_req *req, struct epf_compared rows[EPF_COMPARE_KINDS]);

/**
 * epf_kind_fpr() - predict the false-positive rate of a filter at the worst phase
 * @p: its parameters
 * @s: its shape, of a locked kind
 * @keys: distinct keys of a window
 *
 * That of elastic takes about 0.1 s.
 *
 * Return: rate; 1 for a shape or number that is out of its range; -1: the memory of the kind
 * follows the rate.
 */
double epf_kind_fpr(const struct epf_params *p, const struct epf_shape *s, double keys);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_KINDS_COMPARE_H */
