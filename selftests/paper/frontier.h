/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section frontier: lines of 64 bytes that the core touches, counted.
 */
#ifndef PAPER_FRONTIER_H
#define PAPER_FRONTIER_H

#include "../kinds.h"

/**
 * struct lines - of the memory of a filter, in the mean
 * @absent: that a test touches of a key that is not there
 * @present: of one of the window, of any age
 * @insert: that an insertion touches
 * @most: of all tests, the most
 * @apart: of all tests, the most lines between two that it touches
 */
struct lines {
	double absent, present, insert;
	__u64 most, apart;
};

/**
 * lines_count() - see what tests and insertions touch
 * @k: filled; gets some keys more
 * @inserted: keys it has got, kind_key(0) and up
 * @tests: so many of each sort, and a tenth of insertions
 * @lines: result
 *
 * Not of the baselines, which are not in the core: computed, insertions into
 * sbf with all their draws.
 */
void lines_count(struct kind *k, __u64 inserted, __u64 tests, struct lines *lines);

#endif /* PAPER_FRONTIER_H */
