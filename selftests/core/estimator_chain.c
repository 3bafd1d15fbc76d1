// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the false-positive-rate estimator of kind_chain.h: it gives the error of a
 * chain, measured with fresh keys and by counting all its lines, at several moments.
 */
#include <math.h>
#include <string.h>

#define EPF_PRIVATE
#include <epf/kind_chain.h>
#include <epf/hash.h>
#include <kinds/chain.h>

#include "tap.h"

#define SPAN 7000000000ULL
#define QUERIES 200000u
#define SAMPLES 2048u

static __u64 drawn;

static __u64 next(void)
{
	return epf_word(42, (__u32)++drawn);
}

/* Insert @keys per T for @tenths of T / 10. */
static void come(struct epf_chain_owner *o, __u64 *now, __u64 keys, __u64 tenths)
{
	__u64 n;

	for (n = 0; n < keys * tenths / 10; n++) {
		*now += SPAN / keys;
		epf_chain_put(o, next(), *now);
	}
}

static double told(const struct epf_chain *f)
{
	struct epf_chain_estimator g;
	__u32 i;

	memset(&g, 0, sizeof(g));
	for (i = 0; i < SAMPLES; i++)
		epf_chain_estimator(&g, f, next());
	return ldexp((double)epf_chain_rate_q56(&g, f), -56);
}

static double met(const struct epf_chain *f, __u64 now)
{
	__u32 i, found = 0;

	for (i = 0; i < QUERIES; i++)
		found += epf_chain_query(f, next(), now);
	return (double)found / QUERIES;
}

/* An estimate from 2048 samples is within a tenth. */
static void check(struct epf_chain_owner *o, __u64 now, const char *what)
{
	double count, tell, meet;

	epf_chain_care(o, now);
	count = epf_chain_fpr(&o->f, EPF_CHAIN_COUNTED, now);
	tell = told(&o->f);
	meet = met(&o->f, now);
	tap_ok(fabs(tell - count) <= .1 * count &&
		       fabs(meet - count) <= 4 * sqrt(count / QUERIES) + .02 * count,
	       "L=%u, %s, %u tables: told %.5f, counted %.5f, met %.5f", o->f.shape.parts, what,
	       o->f.nr, tell, count, meet);
}

/* Each epoch alone: its fill is right, and its rate is at most that of all epochs
 * together.
 */
static void check_layers(const struct epf_chain *f)
{
	struct epf_chain_estimator g;
	double all = 0, fill[EPF_LANES];
	__u64 q;
	__u32 i;

	memset(&g, 0, sizeof(g));
	for (i = 0; i < SAMPLES; i++)
		epf_chain_estimator(&g, f, next());
	for (i = 0; i < EPF_LANES; i++) {
		all += ldexp((double)epf_chain_layer_q56(&g, f, i, &q), -56);
		fill[i] = ldexp((double)q, -56);
	}
	tap_ok(all >= told(f) * .9 && all <= told(f) * 1.3 && fill[1] > .1 && fill[1] < .9 &&
		       fabs(fill[1] - fill[2]) < .1,
	       "L=%u: epochs %.5f together, an epoch %.2f full", f->shape.parts, all, fill[1]);
}

#define POINTS 7
static void try_chain(__u32 parts, __u32 bits, __u32 load)
{
	const struct epf_chain_shape s = { SPAN, 64, 64, 1 << 16, load, parts, bits };
	struct epf_chain_owner o;
	__u64 now = 1;

	if (epf_chain_open(&o, &s, 0, now))
		return;
	tap_ok(!told(&o.f), "L=%u: empty: 0", parts);
	come(&o, &now, 2000, 5);
	check(&o, now, "half of T");
	come(&o, &now, 2000, 30);
	check(&o, now, "steady");
	check_layers(&o.f);
	come(&o, &now, 9000, 3);
	check(&o, now, "after a step");
	now += SPAN / 3;
	check(&o, now, "after a gap");
	now += 3 * SPAN;
	epf_chain_care(&o, now);
	tap_ok(!told(&o.f), "L=%u: long after: 0", parts);
	epf_chain_close(&o);
}

int main(void)
{
	tap_plan(3 * POINTS);
	try_chain(1, 5, 5 * 1024);
	try_chain(2, 6, 5 * 1024);
	try_chain(4, 8, 5 * 1024);
	return tap_end();
}
