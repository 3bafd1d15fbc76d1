/* SPDX-License-Identifier: GPL-2.0 */
/* Shapes of the locked kinds, computed before the guest boots, because sizing a filter
 * takes seconds on an emulated machine.
 */
#ifndef EPF_TEST_SIZED_H
#define EPF_TEST_SIZED_H

#include "epftest.h"

#include "kinds/compare.h"

/**
 * struct sized - one record of the file
 * @keys: of a window
 * @budget: error
 * @c: result of epf_compare_kind() for them
 */
struct sized {
	double keys, budget;
	struct epf_compared c;
};

/**
 * test_sized() - the shape of a kind that keeps this guarantee
 * @kind: enum epf_kind
 * @keys: of a window
 * @budget: error
 *
 * Return: the record in the file "sized" beside the program, or else computed.
 */
struct epf_compared test_sized(__u32 kind, double keys, double budget);

#endif /* EPF_TEST_SIZED_H */
