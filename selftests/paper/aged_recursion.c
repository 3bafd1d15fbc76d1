// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: the recursions F (section 5.3) and A (section 5.4) as printed, evaluated
 * from the top down with each value computed once. libepf evaluates them bottom up.
 */
#include "aged.h"

struct memo {
	const struct epf_rates *r;
	int k, l, side; /* side: k + l + 1, above every index */
	double *value;  /* NAN: not yet known */
};

static struct memo memo_new(const struct epf_rates *r, size_t n)
{
	struct memo m = { .r = r, .k = (int)r->k, .l = (int)r->l };
	size_t i;

	m.side = m.k + m.l + 1;
	n *= (size_t)m.side * m.side;
	m.value = malloc(n * sizeof(double));
	if (!m.value)
		abort();
	for (i = 0; i < n; i++)
		m.value[i] = NAN;
	return m;
}

static double run(struct memo *m, int a, int i)
{
	double *value;

	if (a == m->k)
		return 1;
	if (i > m->l + a)
		return 0;
	value = &m->value[a * m->side + i];
	if (isnan(*value))
		*value = m->r->r[i] * run(m, a + 1, i + 1) + (1 - m->r->r[i]) * run(m, 0, i + 1);
	return *value;
}

double recursion_fpr(const struct epf_rates *r)
{
	struct memo m = memo_new(r, 1);
	double fpr = run(&m, 0, 0);

	free(m.value);
	return fpr;
}

static double accesses(struct memo *m, int p, int c, int a, int i)
{
	double *value, r;

	if (i < 0)
		return a;
	if (p + c == m->k)
		return 0;
	value = &m->value[((p * m->k + c) * m->side + a) * m->side + i];
	if (isnan(*value)) {
		r = m->r->r[i];
		*value = r * accesses(m, p, c + 1, a + 1, i + 1) +
			 (1 - r) * accesses(m, c, 0, a + 1, i - m->k);
	}
	return *value;
}

double recursion_accesses(const struct epf_rates *r)
{
	struct memo m = memo_new(r, (size_t)r->k * r->k);
	double a = accesses(&m, 0, 0, 0, m.l);

	free(m.value);
	return a / (1 - recursion_fpr(r));
}
