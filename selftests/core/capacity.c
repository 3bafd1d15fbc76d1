// SPDX-License-Identifier: GPL-2.0
/*
 * Checks epf/capacity.h: the number of keys at which a filter has to fail open.
 *
 * The number is computed again in floating point from libepf's cover.h, which shares no
 * code with it. Then it is tried: a filter is filled up to it, in the last epoch or in
 * all, and queried for random keys that were never inserted.
 */
#include "owner.h"
#include "tap.h"

#include <cover.h>
#include <epf/capacity.h>

#include <math.h>

#define ONE ((double)EPF_Q56_ONE)

struct shape {
	__u64 nr_lines;
	__u32 parts, bits;
};

static const struct shape shapes[] = {
	{ 1024, 1, 12 }, { 65536, 4, 16 }, { 58984, 4, 12 },      { 4096, 2, 10 },
	{ 2048, 2, 6 },  { 4096, 4, 60 },  { 64, 4, 4 },          { 1 << 20, 1, 15 },
	{ 64, 1, 1 },    { 1024, 1, 1 },   { 1ULL << 31, 4, 16 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static const double limits[] = { 2e-9, 2e-6, 2e-4, 1e-2, .2, .5, .9 };
#define LIMITS (sizeof(limits) / sizeof(limits[0]))

static void init(struct epf_capacity *c, const struct shape *s, double limit)
{
	static struct epf_capacity_work work;
	struct epf_geom g;

	if (epf_geom_init(&g, s->nr_lines, s->parts, s->bits))
		abort();
	epf_capacity_init(c, &g, (__u64)(limit * ONE), &work);
}

/* Return: the error of one epoch with @keys random keys. */
static double error_of(const struct shape *s, double keys)
{
	struct epf_cover_fields c;
	struct epf_cover_row hit;
	double mean = 0;
	__u32 u;

	epf_cover_fields_init(&c, EPF_FIELDS, EPF_LANE_BITS, s->bits / s->parts);
	hit = epf_cover_fields(&c, keys * s->parts / (double)s->nr_lines);
	for (u = 0; u <= c.bits; u++)
		mean += c.own.at[u] * hit.at[u];
	return pow(mean, s->parts);
}

/* Return: how many of @keys random keys set a bit, by Simpson's rule. */
static double counted(const struct shape *s, double keys)
{
	double lost = 0;
	int i, n = 32;

	for (i = 0; i <= n; i++)
		lost += error_of(s, keys * i / n) * (i && i < n ? i % 2 ? 4 : 2 : 1);
	return keys - lost * keys / n / 3;
}

/* Return: the number of random keys at which a single epoch has error @error. */
static double keys_at(const struct shape *s, double error)
{
	double low = 0, high = (double)s->nr_lines / s->parts * EPF_CAPACITY_LOAD;
	int i;

	for (i = 0; i < 60; i++)
		if (error_of(s, (low + high) / 2) < error)
			low = (low + high) / 2;
		else
			high = (low + high) / 2;
	return low;
}

/* Compare the core's table with libepf at @keys random keys, in units of @limit, which
 * is what counts. A key or two may be lost by rounding.
 */
static double understated(const struct epf_capacity *c, const struct shape *s, double limit,
			  double keys)
{
	double n = ceil(counted(s, keys));

	return (error_of(s, keys) - (double)epf_capacity_q56(c, (__u64)n) / ONE) / limit;
}

static double overstated(const struct epf_capacity *c, const struct shape *s, double limit,
			 double keys)
{
	double n = floor(counted(s, keys)) - 1;

	return ((double)epf_capacity_q56(c, (__u64)n) / ONE - error_of(s, keys)) / limit;
}

static void errors_agree(void)
{
	double early = 0, late = 0, keys, n;
	struct epf_capacity c;
	unsigned int i, l, at;

	for (i = 0; i < SHAPES; i++)
		for (l = 0; l < LIMITS; l++) {
			init(&c, &shapes[i], limits[l]);
			keys = keys_at(&shapes[i], limits[l]);
			for (at = 8; at <= 31 && keys > 128; at++) {
				n = keys * at / 32;
				early = fmax(early, overstated(&c, &shapes[i], limits[l], n));
				late = fmax(late, understated(&c, &shapes[i], limits[l], n));
			}
		}
	tap_ok(late < 1e-5, "an error is understated by %.2g of the limit at the most", late);
	tap_ok(early < 3e-2, "and overstated by %.2g", early);
}

/* Return: the remaining room by libepf after seven epochs of @share of the limit each. */
static double room_of(const struct shape *s, double limit, double share)
{
	double others = -expm1(EPF_LIVE_EPOCHS * log1p(-limit * share));

	return others < limit ? counted(s, keys_at(s, (limit - others) / (1 - others))) : 0;
}

static double room(const struct epf_capacity *c, double limit, double share)
{
	__u64 others[EPF_LIVE_EPOCHS];
	unsigned int i;

	for (i = 0; i < EPF_LIVE_EPOCHS; i++)
		others[i] = (__u64)(limit * share * ONE);
	return (double)epf_capacity_room(c, others);
}

static void rooms_agree(void)
{
	static const double shares[] = { 0, 1e-3, .01, .0625, .125, .142, .143, .3 };
	double early = 0, late = 0, want, got;
	struct epf_capacity c;
	unsigned int i, l, n;

	for (i = 0; i < SHAPES; i++)
		for (l = 0; l < LIMITS - 2; l++) {
			init(&c, &shapes[i], limits[l]);
			for (n = 0; n < 8; n++) {
				want = room_of(&shapes[i], limits[l], shares[n]);
				got = room(&c, limits[l], shares[n]);
				late = fmax(late, (got - want) / (want + 1));
				early = fmax(early, (want - got - 2) / (want + 1));
			}
		}
	tap_ok(late < 1e-5, "a filter opens late by %.2g of the keys at the most", late);
	tap_ok(early < 2e-3, "and early by %.2g and two keys", early);
}

static void never_falls(void)
{
	static const struct shape *s = &shapes[3];
	struct epf_capacity c;
	__u64 keys, before = 0, q, back = 0;
	bool grows = true;

	init(&c, s, 1e-2);
	for (keys = 0; keys < 30000; keys++) {
		q = epf_capacity_q56(&c, keys);
		grows &= q >= before;
		before = q;
		if (q < EPF_Q56_ONE)
			back |= epf_capacity_keys(&c, q) > keys;
	}
	tap_ok(grows && before == EPF_Q56_ONE,
	       "an error never falls with a key, and is 1 beyond the limit");
	tap_ok(!back, "there and back gives no key more");
}

/* Fill the epochs one after another: each to its limit (@greedy), or each to a
 * sixteenth of the limit and the last with the rest.
 */
static __u64 fill(struct owner *o, const struct epf_capacity *c, bool greedy, __u64 seed)
{
	__u64 others[EPF_LIVE_EPOCHS] = { 0 };
	__u64 n, most, all = 0;
	struct epf_probe p;
	bool grew;
	__u64 into;
	__u32 e;

	for (e = 0; e < EPF_LANES; e++) {
		if (e)
			owner_rotate(o);
		most = epf_capacity_room(c, others);
		if (!greedy && e + 1 < EPF_LANES)
			most = epf_capacity_keys(c, c->limit_q56 / 16);
		for (n = 0; n < most; all++) {
			epf_probe(&o->lanes, epf_word(seed, all), &p);
			grew = false;
			into = 0;
			epf_lanes_insert_into(&o->lanes, &p, &into, &grew);
			n += grew;
		}
		if (e < EPF_LIVE_EPOCHS)
			others[e] = epf_capacity_q56(c, n);
	}
	return all;
}

static double measure(const struct owner *o, __u64 seed, __u64 queries)
{
	__u64 i, hits = 0;

	for (i = 0; i < queries; i++)
		hits += owner_test(o, epf_word(seed, i)) != EPF_ABSENT;
	return (double)hits / (double)queries;
}

/* Measure the error at the limit over many filters, each with its own keys. The
 * interval is six standard errors, exceeded by chance less than once in 10^8; seeds are
 * fixed.
 */
#define FILTERS 24
#define QUERIES 100000u
static void at_the_brink(const struct shape *s, double limit, bool greedy)
{
	double rate, sum = 0, squares = 0, mean, margin;
	struct epf_capacity c;
	struct owner o;
	__u64 i;

	init(&c, s, limit);
	for (i = 0; i < FILTERS; i++) {
		owner_init(&o, s->nr_lines, s->parts, s->bits);
		fill(&o, &c, greedy, 1000 + i);
		rate = measure(&o, 2000 + i, QUERIES);
		owner_free(&o);
		sum += rate;
		squares += rate * rate;
	}
	mean = sum / FILTERS;
	margin = 6 * sqrt(fmax(squares / FILTERS - mean * mean, 0) / FILTERS);
	tap_ok(mean - margin <= limit && mean + margin >= .98 * limit,
	       "L=%u, k=%u, limit %g, %s: full, the error is %.5g +- %.2g", s->parts, s->bits,
	       limit, greedy ? "the first epoch takes it all" : "the last takes the rest", mean,
	       margin);
}

int main(void)
{
	unsigned int i;

	tap_plan(14);
	errors_agree();
	rooms_agree();
	never_falls();
	for (i = 0; i < 2; i++) {
		at_the_brink(&shapes[0], 1e-2, i);
		at_the_brink(&shapes[3], 1e-2, i);
		at_the_brink(&shapes[4], .2, i);
		at_the_brink(&(struct shape){ 1024, 4, 12 }, 1e-2, i);
	}
	return tap_end();
}
