// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Baseline sbf: a stable Bloom filter; see sbf.h. The cells to decrement are
 * drawn one by one, with replacement.
 */
#define EPF_PRIVATE

#include "sbf.h"
#include "cells.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS_MAX 64u
#define DECREMENTS_MAX 65535u
#define STREAM 7u /* stream of epf_word() for random draws */

static bool sbf_in_range(const struct epf_sbf_shape *s)
{
	return epf_cells_in_range(s->cells) && s->bits && s->bits <= BITS_MAX && s->decrements &&
	       s->decrements <= DECREMENTS_MAX && s->max && s->max <= EPF_CELL_MAX;
}

int epf_sbf_init(struct epf_sbf *f, const struct epf_sbf_shape *shape)
{
	if (!sbf_in_range(shape))
		return -EINVAL;
	f->shape = *shape;
	f->draws = 0;
	f->cell = calloc(1, epf_sbf_bytes(shape));
	return f->cell ? 0 : -ENOMEM;
}

void epf_sbf_free(struct epf_sbf *f)
{
	free(f->cell);
}

static __u64 sbf_position(const struct epf_sbf *f, __u64 digest, unsigned int i)
{
	return epf_cells_position(f->shape.cells, digest, i);
}

void epf_sbf_insert(struct epf_sbf *f, __u64 digest)
{
	unsigned int i;

	for (i = 0; i < f->shape.decrements; i++) {
		__u64 pos = epf_mulhi(epf_word(f->draws++, STREAM), f->shape.cells);

		if (epf_cells_get(f->cell, pos))
			epf_cells_set(f->cell, pos, epf_cells_get(f->cell, pos) - 1);
	}
	for (i = 0; i < f->shape.bits; i++)
		epf_cells_set(f->cell, sbf_position(f, digest, i), f->shape.max);
}

bool epf_sbf_test(const struct epf_sbf *f, __u64 digest)
{
	unsigned int i;

	for (i = 0; i < f->shape.bits; i++)
		if (!epf_cells_get(f->cell, sbf_position(f, digest, i)))
			return false;
	return true;
}

__u64 epf_sbf_bytes(const struct epf_sbf_shape *shape)
{
	return epf_cells_bytes(shape->cells);
}

double epf_sbf_fpr(const struct epf_sbf_shape *shape)
{
	double set = 1.0 / shape->bits - 1.0 / (double)shape->cells;
	double zero = pow(1 / (1 + 1 / (shape->decrements * set)), shape->max);

	return pow(1 - zero, shape->bits);
}

/* Apply the insertion of another key to @chance, the probabilities of the
 * values of one cell.
 */
static void sbf_step(double *chance, unsigned int max, double down, double up)
{
	unsigned int v;

	for (v = 0; v < max; v++)
		chance[v] += down * (chance[v + 1] - (v ? chance[v] : 0));
	chance[max] -= down * chance[max];
	for (v = 0; v < max; v++)
		chance[v] *= 1 - up;
	chance[max] += up * (1 - chance[max]);
}

double epf_sbf_fnr(const struct epf_sbf_shape *shape, double age)
{
	double cells = (double)shape->cells;
	double chance[EPF_CELL_MAX + 1] = { 0 };

	chance[shape->max] = 1;
	for (; age >= 1; age--)
		sbf_step(chance, shape->max, shape->decrements / cells, shape->bits / cells);
	return 1 - pow(1 - chance[0], shape->bits);
}
