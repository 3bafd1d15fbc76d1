// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The confidence interval of a proportion (Clopper and Pearson, "The use of
 * confidence or fiducial limits illustrated in the case of the binomial",
 * Biometrika 1934). It is never too narrow, even if almost nothing was found.
 */
#include "engine.h"

#include <math.h>

#define TAIL 0.0005 /* on each side: 99.9 % */

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by
 * Lentz' method.
 */
static double interval_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d, m;

	for (m = 1; m < 1e6; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		f *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return f;
}

/* I_x(a, b): the probability of @a or more hits in @a + @b - 1 trials of
 * probability @x.
 */
static double beta(double x, double a, double b)
{
	double log_front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x);

	if (x > (a + 1) / (a + b + 2))
		return 1 - beta(1 - x, b, a);
	return exp(log_front) * interval_fraction(x, a, b) / a;
}

/* The x at which I_x(a, b) is @want. */
static double beta_inverse(double want, double a, double b)
{
	double low = 0, high = 1, mid = .5;
	int i;

	for (i = 0; i < 100 && low < mid && mid < high; i++) {
		*(beta(mid, a, b) < want ? &low : &high) = mid;
		/* bisect the exponent where it is not known yet */
		mid = low > 0 && high > 2 * low ? sqrt(low * high) : (low + high) / 2;
	}
	return mid;
}

void epf_interval(double found, double keys, double *low, double *high)
{
	*low = found > 0 ? beta_inverse(TAIL, found, keys - found + 1) : 0;
	*high = found < keys ? beta_inverse(1 - TAIL, found + 1, keys - found) : 1;
}
