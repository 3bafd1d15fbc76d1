/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The results of a watched directory that stay: no older than a time, no more than so many
 * bytes, the oldest first to go. A directory may have any contents: nothing is removed but
 * results (result.h), by their names in this directory, and memory is bounded.
 */
#ifndef EPFAGENT_KEEP_H
#define EPFAGENT_KEEP_H

#include <dirent.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>

/**
 * struct keep_limits - what stays
 * @ns: age of results by their verdicts; 0: any
 * @bytes: of all results; 0: any
 */
struct keep_limits {
	__u64 ns;
	__u64 bytes;
};

/**
 * struct keep_old - results that may go
 * @time_ns: when they were written
 * @bytes: their size
 * @name: file that they belong to
 */
struct keep_old {
	__u64 time_ns;
	__u64 bytes;
	char name[NAME_MAX + 1];
};

/**
 * struct keep - a pass through a directory; zeros: none
 * @scan: where it is; NULL: no pass
 * @all: the oldest results found so far, the oldest first
 * @nr: how many
 * @bytes: of all results found so far
 */
struct keep {
	DIR *scan;
	struct keep_old *all;
	unsigned int nr;
	__u64 bytes;
};

/**
 * keep_step() - begin a pass, or go on with one
 * @k: pass
 * @dir: directory
 * @limits: what stays
 * @busy: file whose results may be replaced now, or NULL
 * @removed: number of files whose results were removed in this call
 *
 * Return: true: call again; false: the pass has ended.
 */
bool keep_step(struct keep *k, int dir, const struct keep_limits *limits, const char *busy,
	       unsigned int *removed);
void keep_end(struct keep *k);

#endif /* EPFAGENT_KEEP_H */
