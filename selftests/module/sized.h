/* SPDX-License-Identifier: GPL-2.0 */
/* Shapes of the owned kinds, computed before the guest boots: to size a filter takes
 * seconds where floating point is emulated.
 */
#ifndef EPF_TEST_SIZED_H
#define EPF_TEST_SIZED_H

#include "epftest.h"

#include "kinds/compare.h"

/**
 * struct sized - one record of the file
 * @keys: of a window
 * @budget: error
 * @c: what epf_compare_kind() gives for them
 */
struct sized {
	double keys, budget;
	struct epf_compared c;
};

/**
 * test_sized() - a kind that keeps this promise
 * @kind: enum epf_kind
 * @keys: of a window
 * @budget: error
 *
 * Return: what the file "sized" beside the program has; what it does not have is
 * computed.
 */
struct epf_compared test_sized(__u32 kind, double keys, double budget);

#endif /* EPF_TEST_SIZED_H */
