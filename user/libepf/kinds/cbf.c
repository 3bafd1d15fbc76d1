// SPDX-License-Identifier: GPL-2.0
/*
 * Baseline cbf. Positions by double hashing, as kind ge has them: position i is
 * floor((h1 + i h2 mod 2^64) cells / 2^64).
 */
#define EPF_PRIVATE

#include "cbf.h"

#include <epf/hash.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CELLS_MIN 64ULL
#define CELLS_MAX (1ULL << 40)
#define WINDOW_MAX (1ULL << 32)
#define BITS_MAX 64u
#define STUCK 15u

static bool in_range(const struct epf_cbf_shape *s)
{
	return s->cells >= CELLS_MIN && s->cells <= CELLS_MAX && s->window &&
	       s->window <= WINDOW_MAX && s->bits && s->bits <= BITS_MAX;
}

int epf_cbf_init(struct epf_cbf *f, const struct epf_cbf_shape *shape)
{
	if (!in_range(shape))
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

static __u64 position(const struct epf_cbf *f, __u64 digest, unsigned int i)
{
	__u64 h = epf_word(digest, 0) + i * (epf_word(digest, 1) | 1);

	return epf_mulhi(h, f->shape.cells);
}

static unsigned int counter(const struct epf_cbf *f, __u64 pos)
{
	return f->cell[pos / 2] >> pos % 2 * 4 & 15;
}

/* @by: 1 or -1. */
static void count(struct epf_cbf *f, __u64 digest, int by)
{
	unsigned int i;

	for (i = 0; i < f->shape.bits; i++) {
		__u64 pos = position(f, digest, i);

		if (counter(f, pos) != STUCK)
			f->cell[pos / 2] += (__u8)(by * (1 << pos % 2 * 4));
	}
}

void epf_cbf_insert(struct epf_cbf *f, __u64 digest)
{
	__u64 *oldest = &f->queue[f->inserts % f->shape.window];

	if (f->inserts >= f->shape.window)
		count(f, *oldest, -1);
	*oldest = digest;
	count(f, digest, 1);
	f->inserts++;
}

bool epf_cbf_test(const struct epf_cbf *f, __u64 digest)
{
	unsigned int i;

	for (i = 0; i < f->shape.bits; i++)
		if (!counter(f, position(f, digest, i)))
			return false;
	return true;
}

__u64 epf_cbf_bytes(const struct epf_cbf_shape *shape)
{
	return (shape->cells + 1) / 2;
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
