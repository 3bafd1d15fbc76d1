/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section frontier: count the lines of 64 bytes that the core touches.
 */
#ifndef PAPER_FRONTIER_H
#define PAPER_FRONTIER_H

#include "../kinds.h"

/**
 * struct lines - lines of a filter's memory that operations touch
 * @absent: mean for a test of a key that is not present
 * @present: mean for a test of a key of the window, of any age
 * @insert: mean for an insertion
 * @most: largest number of lines of any test
 * @apart: largest distance, in lines, between two lines of one test
 */
struct lines {
	double absent, present, insert;
	__u64 most, apart;
};

/**
 * lines_count() - count the lines that tests and insertions touch
 * @k: filled filter; more keys are inserted
 * @inserted: keys that it has, kind_key(0) and up
 * @tests: number of tests of each sort; a tenth as many insertions are made
 * @lines: result
 *
 * The baselines are not in the core, so their lines are computed instead; for sbf, with all
 * of its random draws.
 */
void lines_count(struct kind *k, __u64 inserted, __u64 tests, struct lines *lines);

#endif /* PAPER_FRONTIER_H */
