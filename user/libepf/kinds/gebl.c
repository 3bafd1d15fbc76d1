// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kind gebl: predicted false-positive rate and sizing.
 *
 * Keys choose blocks at random, so the number of keys in a block of a segment
 * is Poisson with mean keys / blocks. Let p be the probability that they set
 * all positions of an absent key (cover.h). The blocks of different segments
 * are independent, so
 *
 *	fpr = 1 - (1 - p_now) (1 - p)^r
 *
 * With double hashing, fpr is the mean of that over the kinds of positions that
 * the absent key may have, which are the same in every segment.
 */
#include "gebl.h"
#include "../cover.h"

#include <math.h>
#include <stdlib.h>

#define FPR_MIN 1e-9
#define FPR_MAX 0.5
#define BITS_MAX EPF_GEBL_BITS_MAX

/* The probability of a hit in any epoch: @now in one epoch, @old in @epochs others. */
static double gebl_any_epoch(double now, double old, unsigned int epochs)
{
	if (now >= 1 || old >= 1)
		return 1;
	return -expm1(log1p(-now) + epochs * log1p(-old));
}

/* Tables of hit probabilities for one B and one kind of offsets. The table of a
 * k is made when it is first needed.
 */
struct covers {
	struct epf_cover_double *pair[BITS_MAX + 1];
	struct epf_cover_chain *chain[BITS_MAX + 1];
	unsigned int block_bits;
	unsigned int offsets;
	bool failed; /* there was no memory: all further results are invalid */
};

static void covers_free(struct covers *c)
{
	unsigned int k;

	for (k = 0; k <= BITS_MAX; k++) {
		epf_cover_double_free(c->pair[k]);
		free(c->chain[k]);
	}
}

/* The rate with loads @old and @now, for double hashing. */
static double rate_double(struct covers *c, unsigned int k, unsigned int epochs, double old,
			  double now)
{
	struct epf_cover_double *pair = c->pair[k];
	double sum = 0;
	unsigned int v;

	if (!pair)
		pair = c->pair[k] = epf_cover_double_new(c->block_bits, k);
	if (!pair) {
		c->failed = true;
		return 1;
	}
	for (v = 0; c->block_bits >> v; v++)
		sum += epf_cover_share(c->block_bits, v) *
		       gebl_any_epoch(epf_cover_double(pair, v, now),
				      epf_cover_double(pair, v, old), epochs);
	return sum;
}

/* The rate with loads @old and @now, for distinct positions. The loads are
 * often equal.
 */
static double rate_distinct(struct covers *c, unsigned int k, unsigned int epochs, double old,
			    double now)
{
	struct epf_cover_chain *chain = c->chain[k];
	double p, q;

	if (!chain) {
		chain = c->chain[k] = malloc(sizeof(*chain));
		if (!chain) {
			c->failed = true;
			return 1;
		}
		epf_cover_chain_init(chain, c->block_bits, k);
	}
	p = epf_cover_chain(chain, old);
	q = now == old ? p : epf_cover_chain(chain, now);
	return gebl_any_epoch(q, p, epochs);
}

static double rate(struct covers *c, unsigned int k, unsigned int epochs, double old, double now)
{
	if (c->offsets == EPF_GEBL_DOUBLE)
		return rate_double(c, k, epochs, old, now);
	return rate_distinct(c, k, epochs, old, now);
}

double epf_gebl_fpr(const struct epf_gebl_shape *s, double epoch_keys, double now_keys)
{
	struct covers c = { .block_bits = s->block_bits, .offsets = s->offsets };
	double fpr;

	if (!epf_gebl_words(s) || !(epoch_keys >= 0) || !(now_keys >= 0))
		return 1;
	fpr = rate(&c, s->bits, s->epochs, epoch_keys / (double)s->blocks,
		   now_keys / (double)s->blocks);
	covers_free(&c);
	return fpr;
}

/* Set the best k for @s->blocks. Return: its rate. The search begins where half
 * of the bits are set; the rate has a single minimum.
 */
static double gebl_choose_bits(struct covers *c, struct epf_gebl_shape *s, double keys)
{
	double load = keys / (double)s->blocks;
	double half = M_LN2 * c->block_bits / load;
	unsigned int k = half < 1 ? 1 : (unsigned int)fmin(half, BITS_MAX);
	double least = rate(c, k, s->epochs, load, load), next;

	while (k > 1 && (next = rate(c, k - 1, s->epochs, load, load)) <= least) {
		least = next;
		k--;
	}
	while (k < BITS_MAX && (next = rate(c, k + 1, s->epochs, load, load)) < least) {
		least = next;
		k++;
	}
	s->bits = k;
	return least;
}

/* Set the fewest blocks for @s->epochs. Return: the rate, above @budget if even
 * the most blocks are too few. More blocks never make the best k worse.
 */
static double choose_blocks(struct covers *c, struct epf_gebl_shape *s, double keys, double budget)
{
	__u64 low = 1, high;

	/* begin with few blocks: then k stays small, and so does the work for
	 * its tables
	 */
	for (s->blocks = 1; s->blocks < EPF_GEBL_BLOCKS_MAX; s->blocks *= 2) {
		if (gebl_choose_bits(c, s, keys) <= budget)
			break;
		low = s->blocks + 1;
	}
	high = s->blocks;
	while (low < high) {
		s->blocks = (low + high) / 2;
		if (gebl_choose_bits(c, s, keys) <= budget)
			high = s->blocks;
		else
			low = s->blocks + 1;
	}
	s->blocks = low;
	return gebl_choose_bits(c, s, keys);
}

static bool gebl_valid(const struct epf_gebl_req *req)
{
	unsigned int b = req->block_bits;

	if (!(req->keys_per_window >= 1) || !isfinite(req->keys_per_window))
		return false;
	if (!(req->budget >= FPR_MIN && req->budget <= FPR_MAX))
		return false;
	if (!(req->slack >= 0) || req->offsets > EPF_GEBL_DOUBLE)
		return false;
	if (req->slack > 0 && req->slack * EPF_GEBL_EPOCHS_MAX < 1)
		return false;
	if (b && (b < EPF_GEBL_BLOCK_MIN || b > EPF_GEBL_BLOCK_MAX || (b & (b - 1))))
		return false;
	return !req->epochs ||
	       (req->epochs >= EPF_GEBL_EPOCHS_MIN && req->epochs <= EPF_GEBL_EPOCHS_MAX);
}

static bool gebl_allowed(const struct epf_gebl_req *req, unsigned int epochs)
{
	if (req->epochs && req->epochs != epochs)
		return false;
	return !(req->slack > 0) || req->slack * epochs >= 1;
}

/* Try all r for one B; a shape with less memory than @size replaces it. */
static void choose_epochs(const struct epf_gebl_req *req, struct covers *c,
			  struct epf_gebl_size *size)
{
	struct epf_gebl_shape s = { .block_bits = c->block_bits, .offsets = c->offsets };
	unsigned int r;

	for (r = EPF_GEBL_EPOCHS_MIN; r <= EPF_GEBL_EPOCHS_MAX; r++) {
		double fpr;
		__u64 bytes;

		if (!gebl_allowed(req, r))
			continue;
		s.epochs = r;
		fpr = choose_blocks(c, &s, ceil(req->keys_per_window / r), req->budget);
		bytes = epf_gebl_words(&s) * sizeof(__u64);
		if (fpr > req->budget || !bytes || (size->bytes && size->bytes <= bytes))
			continue;
		*size = (struct epf_gebl_size){ s, bytes, fpr };
	}
}

int epf_gebl_size(const struct epf_gebl_req *req, struct epf_gebl_size *size)
{
	unsigned int b;

	if (!gebl_valid(req))
		return -EINVAL;
	size->bytes = 0;
	for (b = EPF_GEBL_BLOCK_MIN; b <= EPF_GEBL_BLOCK_MAX; b *= 2) {
		struct covers c = { .block_bits = b, .offsets = req->offsets };

		if (req->block_bits && req->block_bits != b)
			continue;
		choose_epochs(req, &c, size);
		covers_free(&c);
		if (c.failed)
			return -ENOMEM;
	}
	if (!size->bytes)
		return -E2BIG;
	return req->max_bytes && size->bytes > req->max_bytes ? -ENOSPC : 0;
}
