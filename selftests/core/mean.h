/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Means over independent filters. Before including it, define:
 *
 *	FILTERS	number of filters
 *	T_999	Student's t, FILTERS - 1 degrees of freedom, 0.9995
 */
#ifndef EPF_TEST_MEAN_H
#define EPF_TEST_MEAN_H

#include <math.h>

struct mean {
	double sum, squares;
};

static inline void mean_add(struct mean *m, double v)
{
	m->sum += v;
	m->squares += v * v;
}

static inline double mean_of(const struct mean *m)
{
	return m->sum / FILTERS;
}

/* Return: half the width of Student's t interval, two-sided, 99.9 %. */
static inline double mean_margin(const struct mean *m)
{
	double var = (m->squares - m->sum * m->sum / FILTERS) / (FILTERS - 1);

	return T_999 * sqrt(var > 0 ? var / FILTERS : 0);
}

#endif /* EPF_TEST_MEAN_H */
