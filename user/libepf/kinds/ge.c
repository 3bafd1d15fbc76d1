// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kind ge: predicted false-positive rate and sizing.
 *
 * Proposition 2 of the guarded epoch paper: n keys in a segment of s bits set a
 * share f = 1 - exp(-k n / s) of them. k independent positions are all set with
 * probability f^k, and a lookup tests r + 1 segments:
 *
 *	F(k) = 1 - (1 - f_now^k) (1 - f^k)^r
 *
 * Double hashing adds to that. Positions are the points h1 + i h2 of a circle
 * of s cells. If h2 / 2^64 is within e / s of a fraction with denominator q <
 * k, the points fall into q groups, and in a group of m points a step of q e <
 * 1 cells yields 1 + (m - 1) q e cells. So the key names d = q + (k - q) q e
 * cells instead of k, the same in every segment. There are phi(q) such
 * fractions, each approached from two sides:
 *
 *	more = sum over q of 2 phi(q)/s integral over e in 0 .. 1/q of F(d) - F(k)
 *	     = sum over q of 2 phi(q)/(s q (k - q)) integral over d in q .. k of
 *	       F(d) - F(k)
 *
 * It matters only for segments of a few thousand bits and budgets below 1e-4.
 */
#include "ge.h"

#include <math.h>

#define FPR_MIN 1e-9
#define FPR_MAX 0.5

/* Euler's phi. Terms of larger denominators are negligible. */
static const unsigned char coprime[] = {
	0, 1, 1, 2, 2, 4, 2, 6, 4, 6, 4, 10, 4, 12, 6, 8,
};

/* A filter at some phase. */
struct phase {
	double segment_bits;
	double epoch_keys; /* in each of @epochs */
	double now_keys;   /* in the current one */
	unsigned int epochs;
};

/* Share of a segment's positions that are set. */
static double ge_filled(double segment_bits, unsigned int bits, double keys)
{
	return -expm1(-(bits * keys) / segment_bits);
}

/* The probability of a hit in any epoch: @now in one epoch, @old in @epochs others. */
static double ge_any_epoch(double now, double old, unsigned int epochs)
{
	if (now >= 1 || old >= 1)
		return 1;
	return -expm1(log1p(-now) + epochs * log1p(-old));
}

double epf_ge_closed(double segment_bits, unsigned int epochs, unsigned int bits, double epoch_keys,
		     double now_keys)
{
	return ge_any_epoch(pow(ge_filled(segment_bits, bits, now_keys), bits),
			    pow(ge_filled(segment_bits, bits, epoch_keys), bits), epochs);
}

/* F(d) for d = 0, 1/2, 1, .. k at index 2 d. */
static void named(const struct phase *p, unsigned int bits, double rate[2 * EPF_GE_BITS_MAX + 1])
{
	double old_step = sqrt(ge_filled(p->segment_bits, bits, p->epoch_keys));
	double now_step = sqrt(ge_filled(p->segment_bits, bits, p->now_keys));
	double old = 1, now = 1;
	unsigned int i;

	for (i = 0; i <= 2 * bits; i++) {
		rate[i] = ge_any_epoch(now, old, p->epochs);
		old *= old_step;
		now *= now_step;
	}
}

/* F(k) plus what double hashing adds to it; integrals by Simpson's rule. */
static double ge_fpr_of(const struct phase *p, unsigned int bits)
{
	double rate[2 * EPF_GE_BITS_MAX + 1];
	double area = 0, sum = 0, all;
	unsigned int q;

	named(p, bits, rate);
	all = rate[2 * bits];
	for (q = bits - 1; q > 0; q--) {
		area += (rate[2 * q] + 4 * rate[2 * q + 1] + rate[2 * q + 2]) / 6 - all;
		if (q < sizeof(coprime))
			sum += 2.0 * coprime[q] / q * area / (bits - q);
	}
	all += sum / p->segment_bits;
	return all < 1 ? all : 1;
}

double epf_ge_fpr(const struct epf_ge_shape *s, double epoch_keys, double now_keys)
{
	struct phase p = { .epoch_keys = epoch_keys, .now_keys = now_keys };

	if (!epf_ge_words(s) || !(epoch_keys >= 0) || !(now_keys >= 0))
		return 1;
	p.segment_bits = (double)s->segment_bits;
	p.epochs = s->epochs;
	return ge_fpr_of(&p, s->bits);
}

unsigned int epf_ge_best_bits(double segment_bits, unsigned int epochs, double epoch_keys)
{
	unsigned int k, best = 1;
	double least = 2;

	for (k = 1; k <= EPF_GE_BITS_MAX; k++) {
		double p = epf_ge_closed(segment_bits, epochs, k, epoch_keys, epoch_keys);

		if (p < least) {
			least = p;
			best = k;
		}
	}
	return best;
}

/* Set the best k for @s->segment_bits and return its rate. The search begins
 * where half of the bits are set; the rate has a single minimum.
 */
static double ge_choose_bits(struct epf_ge_shape *s, double keys)
{
	struct phase p = { (double)s->segment_bits, keys, keys, s->epochs };
	double half = M_LN2 * p.segment_bits / keys;
	unsigned int k = half < 1 ? 1 : (unsigned int)fmin(half, EPF_GE_BITS_MAX);
	double least = ge_fpr_of(&p, k), next;

	while (k > 1 && (next = ge_fpr_of(&p, k - 1)) < least) {
		least = next;
		k--;
	}
	while (k < EPF_GE_BITS_MAX && (next = ge_fpr_of(&p, k + 1)) < least) {
		least = next;
		k++;
	}
	s->bits = k;
	return least;
}

/* Set the smallest segment for @s->epochs. Return: its rate, above @budget if
 * even the largest segment is too small. More bits never make the best k worse.
 */
static double choose_segment(struct epf_ge_shape *s, double keys, double budget)
{
	__u64 low = EPF_GE_SEGMENT_MIN, high = EPF_GE_SEGMENT_MAX;

	while (low < high) {
		s->segment_bits = (low + high) / 2;
		if (ge_choose_bits(s, keys) <= budget)
			high = s->segment_bits;
		else
			low = s->segment_bits + 1;
	}
	s->segment_bits = low;
	return ge_choose_bits(s, keys);
}

static bool ge_valid(const struct epf_ge_req *req)
{
	if (!(req->keys_per_window >= 1) || !isfinite(req->keys_per_window))
		return false;
	if (!(req->budget >= FPR_MIN && req->budget <= FPR_MAX))
		return false;
	if (!(req->slack >= 0) || req->layout > EPF_GE_SEGMENTS)
		return false;
	if (req->slack > 0 && req->slack * EPF_GE_EPOCHS_MAX < 1)
		return false;
	return !req->epochs ||
	       (req->epochs >= EPF_GE_EPOCHS_MIN && req->epochs <= EPF_GE_EPOCHS_MAX);
}

static bool ge_allowed(const struct epf_ge_req *req, unsigned int epochs)
{
	if (req->epochs && req->epochs != epochs)
		return false;
	return !(req->slack > 0) || req->slack * epochs >= 1;
}

int epf_ge_size(const struct epf_ge_req *req, struct epf_ge_size *size)
{
	struct epf_ge_shape s = { .layout = req->layout };
	unsigned int r;

	if (!ge_valid(req))
		return -EINVAL;
	size->bytes = 0;
	for (r = EPF_GE_EPOCHS_MIN; r <= EPF_GE_EPOCHS_MAX; r++) {
		double keys = ceil(req->keys_per_window / r);
		double fpr;
		__u64 bytes;

		if (!ge_allowed(req, r))
			continue;
		s.epochs = r;
		fpr = choose_segment(&s, keys, req->budget);
		bytes = epf_ge_words(&s) * sizeof(__u64);
		if (fpr > req->budget || !bytes || (size->bytes && size->bytes <= bytes))
			continue;
		*size = (struct epf_ge_size){ s, bytes, fpr };
	}
	if (!size->bytes)
		return -E2BIG;
	return req->max_bytes && size->bytes > req->max_bytes ? -ENOSPC : 0;
}
