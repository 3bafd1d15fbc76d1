/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: from what a user asks of a filter to its parameters.
 */
#ifndef LIBEPF_PLAN_H
#define LIBEPF_PLAN_H

#include <stdbool.h>

#include <linux/epochfilter.h>

#include "epf.h"

#define EPF_PLAN_BUDGET 1e-4 /* the budget where none is given */
#define EPF_PLAN_BUDGET_LEAST 1e-9
#define EPF_PLAN_BUDGET_MOST 0.5
#define EPF_PLAN_LIMIT_FACTOR 2 /* budget to limit, where none is given */

/**
 * struct epf_plan_request - what the user asks of a filter; zero: not given
 * @window: insertions
 * @time_ns: ns
 * @pps: expected insertions per second
 * @budget: false-positive rate
 * @limit: estimated rate above which it fails open; 1: never
 * @max_bytes: memory
 * @nr_lines: explicit geometry, together with the next two
 * @lines_per_key: L, may be given without @nr_lines
 * @bits_per_key: k
 * @mode: enum epf_mode, valid if @has_mode
 * @kind: enum epf_kind
 * @slack: how long keys may stay after the window, as a fraction of it
 * @shape: of a locked kind, valid if @has_shape: nothing is to be sized
 */
struct epf_plan_request {
	__u64 window;
	__u64 time_ns;
	double pps;
	double budget;
	double limit;
	__u64 max_bytes;
	__u64 nr_lines;
	__u64 lines_per_key;
	__u64 bits_per_key;
	__u32 mode;
	bool has_mode;
	__u8 kind;
	bool has_shape;
	double slack;
	struct epf_shape shape;
};

/**
 * struct epf_planned - a filter that satisfies a struct epf_plan_request
 * @params: all but name, hash and refresh
 * @shape: of a locked kind
 * @bytes: memory of the lines, or total memory of a locked kind; with a given shape of a
 *	resizable kind, as long as the rate is that of its first slice
 * @epochs: complete epochs in the window
 * @slack: how long keys stay after the window at most, as a fraction of it
 * @keys: distinct keys per window that it was sized for; 0: unknown
 * @fpr: predicted false-positive rate at the worst phase; 0: unknown. With
 *	EPF_PLAN_FULL: the best that fits into the memory
 * @budget: false-positive rate for which it was sized
 * @limit: see struct epf_plan_request
 */
struct epf_planned {
	struct epf_params params;
	struct epf_shape shape;
	__u64 bytes;
	__u32 epochs;
	double slack;
	double keys;
	double fpr;
	double budget;
	double limit;
};

/**
 * enum epf_plan_fault - why there is no such filter
 */
enum epf_plan_fault {
	EPF_PLAN_OK,
	EPF_PLAN_NO_WINDOW,    /* neither insertions nor a time */
	EPF_PLAN_TWO_WINDOWS,  /* both, and no mode for both */
	EPF_PLAN_MODE,         /* a mode that does not fit the window */
	EPF_PLAN_PARTIAL,      /* not all of an explicit geometry */
	EPF_PLAN_LINES_MEMORY, /* its lines take more than @max_bytes */
	EPF_PLAN_GEOMETRY,     /* no filter has this geometry */
	EPF_PLAN_NO_RATE,      /* a window of time without a rate */
	EPF_PLAN_BUDGET_RANGE,
	EPF_PLAN_LINES_PER_KEY, /* not 1, 2 or 4 */
	EPF_PLAN_MEMORY_LEAST,  /* no filter is so small */
	EPF_PLAN_FULL,          /* @max_bytes does not allow the budget */
	EPF_PLAN_TOO_MANY,      /* more lines than a filter may have */
	EPF_PLAN_SIZING,        /* an error: as returned */
	EPF_PLAN_SLACK,         /* lanes keep keys longer than @slack */
	EPF_PLAN_LIMIT,         /* the limit is below the budget */
	EPF_PLAN_KIND_GEOMETRY, /* an explicit geometry, of another kind than lanes */
	EPF_PLAN_KIND_TIME,     /* this kind has a window of time alone */
	EPF_PLAN_KIND_RANGE,    /* budget or slack are out of its range */
	EPF_PLAN_KIND_FULL,     /* it cannot keep so many keys at this budget and slack */
	EPF_PLAN_KIND_MEMORY,   /* it takes more than @max_bytes, see @bytes */
	EPF_PLAN_KIND_SHAPE,    /* no filter of this kind has the given shape */
	EPF_PLAN_KIND_SLACK,    /* a given shape, and a slack to size for */
};

/**
 * epf_plan() - size a filter
 * @r: request; its kind is one of the kernel's
 * @plan: result; with a fault, as far as it was made
 * @fault: set on every return
 *
 * Return: 0; -EINVAL: see @fault; -ENOSPC, -E2BIG: likewise; another error of
 * epf_size() or epf_compare_kind().
 */
int epf_plan(const struct epf_plan_request *r, struct epf_planned *plan,
	     enum epf_plan_fault *fault);

/* A probability in parts per 10^12: 1 .. EPF_RATE_ONE. */
__u64 epf_rate_ppt(double rate);

#endif /* LIBEPF_PLAN_H */
