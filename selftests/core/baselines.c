// SPDX-License-Identifier: GPL-2.0
/*
 * The baselines that the kinds are compared with: cbf deletes exactly, sbf forgets as
 * fast as its formula says, and both have the predicted error. Fixed seeds.
 */
#include "tap.h"

#include <epf/hash.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kinds/cbf.h"
#include "kinds/sbf.h"

#define WINDOW 20000u
#define FRESH 200000u
#define SIGMAS 3.3 /* 99.9 % of a normal distribution */

static __u64 key(__u64 n)
{
	return epf_word(n, 3);
}

static bool near(double got, double want, double n, double slack)
{
	double off = SIGMAS * sqrt(want * (1 - want) / n) + slack * want;

	if (fabs(got - want) <= off)
		return true;
	printf("# %g, expected %g +- %g\n", got, want, off);
	return false;
}

/* 14 bits per key of the window, as in Table 1 of the guarded epoch paper. */
static void counting(unsigned int k)
{
	struct epf_cbf_shape shape = { WINDOW * 14 / 4, WINDOW, k };
	__u64 n, lost = 0, found = 0, old = 0;
	struct epf_cbf f;

	if (epf_cbf_init(&f, &shape))
		abort();
	for (n = 0; n < 3 * WINDOW; n++) {
		epf_cbf_insert(&f, key(n));
		lost += !epf_cbf_test(&f, key(n < WINDOW ? 0 : n + 1 - WINDOW));
	}
	for (n = 2 * WINDOW; n < 3 * WINDOW; n++)
		lost += !epf_cbf_test(&f, key(n));
	for (n = 0; n < 2 * WINDOW; n++)
		old += epf_cbf_test(&f, key(n));
	for (n = 0; n < FRESH; n++)
		found += epf_cbf_test(&f, key(n | 1ULL << 40));
	tap_ok(!lost, "cbf, k=%u: no key of the window is lost, at any phase", k);
	tap_ok(near((double)old / (2 * WINDOW), epf_cbf_fpr(&shape, WINDOW), 2 * WINDOW, 0.03),
	       "cbf, k=%u: older keys are as absent as new ones", k);
	tap_ok(near((double)found / FRESH, epf_cbf_fpr(&shape, WINDOW), FRESH, 0.03),
	       "cbf, k=%u: predicted %.4f, measured %.4f", k, epf_cbf_fpr(&shape, WINDOW),
	       (double)found / FRESH);
	epf_cbf_free(&f);
}

/* A counter that overflows stays at its maximum, so the keys that share it are not
 * lost.
 */
static void overflow(void)
{
	struct epf_cbf_shape shape = { 64, 1000, 4 };
	struct epf_cbf f;
	__u64 n, lost = 0;

	if (epf_cbf_init(&f, &shape))
		abort();
	for (n = 0; n < 5000; n++) {
		epf_cbf_insert(&f, key(n));
		lost += !epf_cbf_test(&f, key(n < 1000 ? 0 : n - 999));
	}
	tap_ok(!lost, "cbf: overflowing counters lose nothing");
	epf_cbf_free(&f);
}

static void stable(unsigned int k, unsigned int p, unsigned int max)
{
	struct epf_sbf_shape shape = { WINDOW * 14 / 4, k, p, max };
	__u64 n, lost = 0, found = 0, all = 6 * WINDOW;
	double fnr = 0;
	struct epf_sbf f;

	if (epf_sbf_init(&f, &shape))
		abort();
	for (n = 0; n < all; n++)
		epf_sbf_insert(&f, key(n));
	for (n = all - WINDOW; n < all; n++)
		lost += !epf_sbf_test(&f, key(n));
	for (n = 0; n < FRESH; n++)
		found += epf_sbf_test(&f, key(n | 1ULL << 40));
	for (n = 0; n < WINDOW; n += WINDOW / 20)
		fnr += epf_sbf_fnr(&shape, n + WINDOW / 40.0) / 20;
	tap_ok(near((double)found / FRESH, epf_sbf_fpr(&shape), FRESH, 0.03),
	       "sbf, K=%u P=%u Max=%u: predicted %.4f, measured %.4f", k, p, max,
	       epf_sbf_fpr(&shape), (double)found / FRESH);
	tap_ok(near((double)lost / WINDOW, fnr, WINDOW, 0.03),
	       "sbf: predicted to lose %.4f of the window, measured %.4f", fnr,
	       (double)lost / WINDOW);
	epf_sbf_free(&f);
}

static bool cbf_takes(const struct epf_cbf_shape *shape)
{
	struct epf_cbf f;
	int ret = epf_cbf_init(&f, shape);

	if (!ret)
		epf_cbf_free(&f);
	return ret != -EINVAL; /* memory may lack */
}

static bool sbf_takes(const struct epf_sbf_shape *shape)
{
	struct epf_sbf f;
	int ret = epf_sbf_init(&f, shape);

	if (!ret)
		epf_sbf_free(&f);
	return ret != -EINVAL;
}

#define NR(table) (sizeof(table) / sizeof((table)[0]))

static void limits(void)
{
	static const struct epf_cbf_shape cbf[] = {
		{ 64, 1, 1 },
		{ 1ULL << 40, 1, 1 },
		{ 64, 1ULL << 32, 1 },
		{ 64, 1, 64 },
	};
	static const struct epf_sbf_shape sbf[] = {
		{ 64, 1, 1, 1 },     { 1ULL << 40, 1, 1, 1 }, { 64, 64, 1, 1 },
		{ 64, 1, 65535, 1 }, { 64, 1, 1, 15 },
	};
	static const struct epf_cbf_shape bad_cbf[] = {
		{ 63, 1, 1 }, { (1ULL << 40) + 1, 1, 1 },
		{ 64, 0, 1 }, { 64, (1ULL << 32) + 1, 1 },
		{ 64, 1, 0 }, { 64, 1, 65 },
	};
	static const struct epf_sbf_shape bad_sbf[] = {
		{ 63, 1, 1, 1 }, { (1ULL << 40) + 1, 1, 1, 1 }, { 64, 0, 1, 1 }, { 64, 65, 1, 1 },
		{ 64, 1, 0, 1 }, { 64, 1, 65536, 1 },           { 64, 1, 1, 0 }, { 64, 1, 1, 16 },
	};
	bool right = true;
	unsigned int i;

	for (i = 0; i < NR(cbf); i++)
		right &= cbf_takes(&cbf[i]);
	for (i = 0; i < NR(sbf); i++)
		right &= sbf_takes(&sbf[i]);
	for (i = 0; i < NR(bad_cbf); i++)
		right &= !cbf_takes(&bad_cbf[i]);
	for (i = 0; i < NR(bad_sbf); i++)
		right &= !sbf_takes(&bad_sbf[i]);
	tap_ok(right, "numbers at their limits are taken, and refused beyond them");
}

int main(void)
{
	tap_plan(14);
	counting(2);
	counting(3);
	overflow();
	stable(2, 60, 15);
	stable(3, 54, 14);
	stable(3, 10, 3);
	limits();
	return tap_end();
}
