/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_MEDIAN_H
#define SELFTESTS_MEDIAN_H

#include <stdlib.h>

static inline int median_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sort @n numbers. Return: the greater of the two in the middle. */
static inline double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), median_order);
	return v[n / 2];
}

#endif /* SELFTESTS_MEDIAN_H */
