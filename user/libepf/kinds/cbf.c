// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Baseline cbf: a counting Bloom filter with a queue of the window; see cbf.h.
 */
#define EPF_PRIVATE

#include "cbf.h"
#include "cells.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define WINDOW_MAX (1ULL << 32)
#define BITS_MAX 64u
#define STUCK EPF_CELL_MAX

static bool cbf_in_range(const struct epf_cbf_shape *s)
{
	return epf_cells_in_range(s->cells) && s->window && s->window <= WINDOW_MAX && s->bits &&
	       s->bits <= BITS_MAX;
}

int epf_cbf_init(struct epf_cbf *f, const struct epf_cbf_shape *shape)
{
	if (!cbf_in_range(shape))
		return -EINVAL;
	f->shape = *shape;
	f->inserts = 0;
	f->cell = calloc(1, epf_cbf_bytes(shape));
	f->queue = calloc(shape->window, sizeof(*f->queue));
	if (f->cell && f->queue)
		return 0;
	epf_cbf_free(f);
	return -ENOMEM;
}

void epf_cbf_free(struct epf_cbf *f)
{
	free(f->cell);
	free(f->queue);
}

static __u64 cbf_position(const struct epf_cbf *f, __u64 digest, unsigned int i)
{
	return epf_cells_position(f->shape.cells, digest, i);
}

/* Add @by, 1 or -1, to the counters of a key. */
static void cbf_count(struct epf_cbf *f, __u64 digest, int by)
{
	unsigned int i, v;
	__u64 pos;

	for (i = 0; i < f->shape.bits; i++) {
		pos = cbf_position(f, digest, i);
		v = epf_cells_get(f->cell, pos);
		if (v != STUCK)
			epf_cells_set(f->cell, pos, v + (unsigned int)by);
	}
}

void epf_cbf_insert(struct epf_cbf *f, __u64 digest)
{
	__u64 *oldest = &f->queue[f->inserts % f->shape.window];

	if (f->inserts >= f->shape.window)
		cbf_count(f, *oldest, -1);
	*oldest = digest;
	cbf_count(f, digest, 1);
	f->inserts++;
}

bool epf_cbf_test(const struct epf_cbf *f, __u64 digest)
{
	unsigned int i;

	for (i = 0; i < f->shape.bits; i++)
		if (!epf_cells_get(f->cell, cbf_position(f, digest, i)))
			return false;
	return true;
}

__u64 epf_cbf_bytes(const struct epf_cbf_shape *shape)
{
	return epf_cells_bytes(shape->cells);
}

__u64 epf_cbf_queue_bytes(const struct epf_cbf_shape *shape)
{
	return shape->window * sizeof(__u64);
}

double epf_cbf_fpr(const struct epf_cbf_shape *shape, double keys)
{
	double set = -expm1(-(shape->bits * keys) / (double)shape->cells);

	return pow(set, shape->bits);
}
