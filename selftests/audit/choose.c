// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of the choice of engine and place, for given rates. The choice is the one
 * that finishes first. A copy is chosen from its break-even point on and not before.
 * Nothing unusable or forbidden is chosen.
 */
#include "sim.h"

#include <math.h>

#define MIB ((double)(1 << 20))
#define LINES (16u << 14)

static struct sim sim;
static struct epf_view view;

static void choose(struct epf_choice *c, __u64 n, bool copy, const struct epf_rates *rates)
{
	epf_audit_choose(c, &view, n, copy, 1, rates);
}

/* Rates for the scalar engine only, because every machine has it. */
static struct epf_rates *rates_of(double here, double carry, double there)
{
	static struct epf_rates rates[EPF_ENGINES_MAX];

	memset(rates, 0, sizeof(rates));
	rates[0] = (struct epf_rates){ here, carry, there };
	return rates;
}

static bool placed(__u64 n, const struct epf_rates *rates, bool settle)
{
	struct epf_choice c;

	choose(&c, n, true, rates);
	return c.settle == settle && c.engine == epf_engine_at(0);
}

/* 16 MiB at 1 GiB/s; 10 M keys/s in place, 20 M of a copy: 312,500 keys. */
static void formula(void)
{
	const struct epf_rates *r = rates_of(10e6, 1024 * MIB, 20e6);
	struct epf_choice c;

	choose(&c, 1000, true, r);
	tap_ok(c.even == 312500, "bytes / carry / (1 / here - 1 / there): %llu keys", c.even);
	tap_ok(!strcmp(c.why, "scalar in place: 10 M keys/s; a copy of 16 MiB "
			      "pays from 312 k keys on"),
	       "why: %s", c.why);
	tap_ok(placed(312499, r, false) && placed(312501, r, true),
	       "one key less: in place; one more: of a copy");
	choose(&c, 1000000, true, r);
	tap_ok(c.settle && !strcmp(c.why, "scalar on a copy of 16 MiB, which pays "
					  "from 312 k keys on"),
	       "why: %s", c.why);
	choose(&c, ~0ULL, false, r);
	tap_ok(!c.settle && c.even == ~0ULL &&
		       !strcmp(c.why, "scalar in place, the fastest: 10 M keys/s"),
	       "where no copy may be made: %s", c.why);
}

static void degenerate(void)
{
	struct epf_choice c;

	choose(&c, ~0ULL, true, rates_of(10e6, 1024 * MIB, 10e6));
	tap_ok(!c.settle && c.even == ~0ULL &&
		       !strcmp(c.why, "scalar in place: 10 M keys/s; a copy is "
				      "no faster"),
	       "no faster: never; %s", c.why);
	tap_ok(placed(~0ULL, rates_of(10e6, 1024 * MIB, 5e6), false), "slower: never");
	tap_ok(placed(~0ULL, rates_of(10e6, 0, 20e6), false) &&
		       placed(~0ULL, rates_of(10e6, 1024 * MIB, 0), false),
	       "an engine without a rate is not chosen");
	tap_ok(placed(20, rates_of(0, 1024 * MIB, 20e6), true),
	       "an engine that cannot work in place gets a copy at once");
	choose(&c, 1u << 30, true, rates_of(0, 0, 0));
	tap_ok(c.engine && c.engine->usable() && !c.settle && c.even == ~0ULL,
	       "no rates at all: %s", c.why);
	choose(&c, 0, true, rates_of(10e6, 1024 * MIB, 20e6));
	tap_ok(c.engine == epf_engine_at(0) && !c.settle, "no keys: %s", c.why);
	choose(&c, 100000, true, NULL);
	tap_ok(c.engine->usable() && !c.settle, "too few to measure: %s", c.why);
	view.lines = (const struct epf_line *)((const char *)view.lines + 16);
	choose(&c, LINES, true, NULL);
	tap_ok(c.settle, "lines that straddle cache lines are copied for many keys: %s", c.why);
	choose(&c, LINES - 1, true, NULL);
	tap_ok(!c.settle, "but not for fewer keys than lines");
	choose(&c, LINES, false, NULL);
	tap_ok(!c.settle, "nor if no copy is allowed");
	view = sim_view(&sim);
}

static double some(__u64 *seed, double from, double factor)
{
	return from * pow(factor, (double)(epf_word(++*seed, 1) >> 11) * 0x1p-53);
}

static void random_rates(struct epf_rates *rates, __u64 *seed)
{
	unsigned int i;

	for (i = 0; i < EPF_ENGINES_MAX; i++) {
		rates[i].here = some(seed, 1e6, 1000);
		rates[i].carry = some(seed, 1e8, 1000);
		rates[i].there = some(seed, 1e6, 1000);
		if (!(epf_word(++*seed, 1) % 5))
			rates[i].here = 0;
		if (!(epf_word(++*seed, 1) % 5))
			rates[i].there = 0;
	}
}

static double seconds(const struct epf_rates *r, double n, bool settle)
{
	if (!settle)
		return r->here ? n / r->here : INFINITY;
	return r->there ? (double)epf_geom_lines(&view.geom) * EPF_LINE_BYTES / r->carry +
				  n / r->there :
			  INFINITY;
}

/* Return: the shortest time of all possible ways. */
static double soonest(const struct epf_rates *rates, double n)
{
	const struct epf_engine *e;
	double best = INFINITY;
	unsigned int i;

	for (i = 0; (e = epf_engine_at(i)); i++)
		if (e->usable())
			best = fmin(best, fmin(seconds(&rates[i], n, false),
					       seconds(&rates[i], n, true)));
	return best;
}

static unsigned int number(const struct epf_engine *e)
{
	unsigned int i = 0;

	while (epf_engine_at(i) != e)
		i++;
	return i;
}

static void always(void)
{
	struct epf_rates rates[EPF_ENGINES_MAX];
	unsigned int late = 0, back = 0, even = 0, useless = 0, copies = 0, i;
	__u64 seed = 1 + (tap_seed() << 32), n;
	struct epf_choice c;

	for (i = 0; i < 2000; i++) {
		bool settled = false;

		random_rates(rates, &seed);
		for (n = 16; n < 1ULL << 40; n += n / 3) {
			choose(&c, n, true, rates);
			useless += !c.engine->usable();
			late += seconds(&rates[number(c.engine)], (double)n, c.settle) >
				soonest(rates, (double)n) * (1 + 1e-12);
			back += settled && !c.settle;
			even += c.settle != (n >= c.even);
			settled = c.settle;
			copies += settled;
		}
	}
	tap_ok(!late && copies > 1000, "with random rates the fastest way is chosen");
	tap_ok(!back, "more keys never change a copy back to in place");
	tap_ok(!even, "a copy is chosen from the reported break-even point on");
	tap_ok(!useless, "an engine that this machine lacks is never chosen");
}

static bool sane(double rate)
{
	return rate > 1e3 && rate < 1e13;
}

static void measured(void)
{
	struct epf_rates rates[EPF_ENGINES_MAX], again[EPF_ENGINES_MAX];
	const struct epf_engine *e;
	bool good = true, none = true;
	unsigned int i, n = 0;
	struct epf_choice c;

	epf_audit_measure(&view, 1, rates);
	for (i = 0; epf_engine_at(i); i++)
		;
	while (i--) {
		e = epf_engine_at(i);
		if (e->usable() && n++ < 2)
			good &= sane(rates[i].here) && sane(rates[i].carry) && sane(rates[i].there);
		else
			none &= !rates[i].here && !rates[i].there;
	}
	tap_ok(good && none, "measured: the two fastest usable ones, no others");
	epf_audit_measure(&view, 1, again);
	tap_ok(!memcmp(rates, again, sizeof(rates)), "once for each shape");
	choose(&c, 1ULL << 40, true, NULL);
	tap_ok(c.engine->usable(), "so it is for many keys: %s", c.why);
}

int main(void)
{
	setenv("EPF_CUDA_LIBRARY", "/nonexistent", 1); /* the CPU's engines only */
	tap_plan(5 + 10 + 4 + 3);
	sim_init(&sim, LINES, 1, 5, 0);
	view = sim_view(&sim);
	formula();
	degenerate();
	always();
	measured();
	sim_free(&sim);
	return tap_end();
}
