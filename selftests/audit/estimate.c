// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of the error of a view. The counts equal those of a plain loop, and those
 * that estimate.h gives when every line is a sample. Random keys have the error that is
 * predicted from them.
 *
 * usage: estimate [--few]    (one k of each L instead of all)
 *
 * A measured rate deviates by chance, so a check is about the whole 99.9 % interval;
 * seeds are fixed. A key has the same positions, few or many, in all lanes of a line.
 * So it is a false positive in several lanes at once more often than with independent
 * lanes, and in any lane a little less often. From four fields per line on that effect
 * is below OVERSTATED; with fewer the test only checks that errors are not more
 * frequent than predicted.
 */
#include "sim.h"

#include <math.h>

#include "epf/estimate.h"
#include "query/engine.h"

#define KEYS 300000u
#define LINES 12000u /* pieces of a pass do not end where parts do */
#define FULL 25.0    /* positions that an epoch sets in a line at load 1 */

#define OVERSTATED .02
#define FIELDS_MANY 4u

/* Count positions by age: lane by lane, bit by bit. */
static void count(const struct sim *s, __u64 bits_of[EPF_LANES])
{
	__u64 lines = s->params.nr_lines, i;
	__u32 age, bit;

	for (age = 0; age < EPF_LANES; age++) {
		__u64 e = s->epoch - age;

		for (bits_of[age] = 0, i = 0; i < lines; i++) {
			__u64 v = s->f.line[i].lane[e % 8];

			for (bit = 0; v >> 62 == e / 8 % 4 && bit < 62; bit++)
				bits_of[age] += v >> bit & 1;
		}
	}
}

/* Estimate as the module does, with every line as a sample. */
static void sample_all(const struct sim *s, struct epf_fill *fill)
{
	struct epf_cover cover;
	__u64 i;

	memset(fill, 0, sizeof(*fill));
	epf_cover_init(&cover, &s->f.geom);
	for (i = 0; i < s->f.geom.part_lines; i++)
		epf_fill_add(fill, &cover, &s->f, i);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b) + 1e-14;
}

/* Return: NULL, or what is wrong. */
static const char *counted(const struct sim *s, const struct epf_estimate *e)
{
	double positions = (double)s->params.nr_lines * EPF_LANE_BITS;
	__u32 parts = s->params.lines_per_key, age;
	__u64 bits_of[EPF_LANES];
	struct epf_fill fill;

	count(s, bits_of);
	sample_all(s, &fill);
	for (age = 0; age < EPF_LANES; age++) {
		__u32 l = (s->epoch - age) & 7;

		if (e->bits_of[age] != bits_of[age] ||
		    !near(e->fill_of[age], (double)bits_of[age] / positions))
			return "positions of an age";
		if (!near(e->fpr_of[age], ldexp((double)epf_fill_lane_q56(&fill, parts, l), -56)))
			return "error of an age";
	}
	return near(e->fpr, ldexp((double)epf_fill_q56(&fill, parts), -56)) ? NULL : "error";
}

static const char *met(const struct epf_view *v, const struct epf_estimate *e, unsigned int i)
{
	__u64 seed = 0x5eed0000 + i * 0x9e3779b97f4a7c15ULL;
	const struct epf_probe_opts o = { .size = sizeof(o), .keys = KEYS, .seed = &seed };
	/* Keys and lanes without positions, which the prediction leaves out. */
	double none = EPF_LANES * pow(1. / 32, v->geom.bits * v->geom.parts);
	struct epf_choice c;
	struct epf_met m;

	epf_audit_choose(&c, v, KEYS, false, 0, NULL);
	if (epf_view_probe(v, c.engine, &o, &m))
		return "no answer";
	if (m.low <= e->fpr + none &&
	    (v->geom.bits < FIELDS_MANY || e->fpr * (1 - OVERSTATED) <= m.high))
		return NULL;
	printf("# expected %g, met %g, %g .. %g\n", e->fpr, m.rate, m.low, m.high);
	return "another rate is met";
}

/* Filters that are empty, young, sparse, full, overfull, and noise. */
static const struct {
	__u64 epoch;
	double load;
} fills[] = {
	{ EPF_EPOCH_FIRST, 0 },      { EPF_EPOCH_FIRST + 2, .5 }, { EPF_EPOCH_FIRST + 37, .2 },
	{ EPF_EPOCH_FIRST + 70, 1 }, { EPF_EPOCH_FIRST + 43, 3 }, { EPF_EPOCH_FIRST + 101, -1 },
};
#define FILLS (sizeof(fills) / sizeof(fills[0]))

static void make(struct sim *s, __u32 parts, __u32 k, unsigned int i)
{
	sim_init(s, LINES, parts, k, i % 2 ? 32 : 0);
	if (fills[i].load >= 1) /* sparse filters keep stale lanes */
		s->epoch = fills[i].epoch - 9;
	if (fills[i].load < 0) {
		sim_noise(s, fills[i].epoch);
	} else {
		s->per_epoch = (__u32)(fills[i].load * FULL * LINES / k);
		sim_stream(s, fills[i].epoch);
	}
}

static const char *one(__u32 parts, __u32 k, unsigned int i)
{
	struct epf_estimate e, again;
	const char *broken = NULL;
	struct epf_view v;
	struct sim s;

	make(&s, parts, k, i);
	v = sim_view(&s);
	if (epf_view_estimate(&v, i % 3, &e) || epf_view_estimate(&v, 3, &again))
		broken = "error";
	else if (memcmp(&e, &again, sizeof(e)))
		broken = "threads do not agree";
	if (!broken)
		broken = counted(&s, &e);
	/* lanes of arbitrary words do not come from random keys */
	if (!broken && fills[i].load >= 0)
		broken = met(&v, &e, parts * 1000 + k * 10 + i);
	sim_free(&s);
	return broken;
}

static void shapes(__u32 parts, __u32 k)
{
	const char *broken = NULL;
	unsigned int i;

	for (i = 0; i < FILLS && !broken; i++)
		broken = one(parts, k, i);
	tap_sound(broken, "L=%u k=%u: counts, expected and met errors", parts, k);
}

/* Return: the probability of @from .. @to hits in 50 trials. */
static double tail(double p, int from, int to)
{
	double sum = 0;

	for (; from <= to; from++)
		sum += exp(lgamma(51) - lgamma(from + 1) - lgamma(51 - from) + from * log(p) +
			   (50 - from) * log1p(-p));
	return sum;
}

static void intervals(void)
{
	double low, high, worst = 0;
	int found;

	for (found = 0; found <= 50; found++) {
		epf_interval(found, 50, &low, &high);
		if (found)
			worst = fmax(worst, fabs(tail(low, found, 50) - .0005));
		if (found < 50)
			worst = fmax(worst, fabs(tail(high, 0, found) - .0005));
	}
	tap_ok(worst < 1e-9, "0 to 50 of 50: less likely than 0.0005 beyond");
	epf_interval(500000, 1e9, &low, &high);
	tap_ok(fabs(low - (5e-4 - 3.29 * sqrt(5e-4 / 1e9))) < 1e-8 &&
		       fabs(high - (5e-4 + 3.29 * sqrt(5e-4 / 1e9))) < 1e-8,
	       "half a million of a billion: as the normal distribution has it");
}

static int probe(const struct epf_view *v, __u32 threads, __u64 keys, const __u64 *seed,
		 struct epf_met *m)
{
	const struct epf_probe_opts o = {
		.size = sizeof(o), .threads = threads, .keys = keys, .seed = seed
	};

	return epf_view_probe(v, epf_engine_at(0), &o, m);
}

/* Options of an older, a newer and a much newer program. */
static void sizes(const struct epf_view *v)
{
	const struct epf_engine *e = epf_engine_at(0);
	struct {
		struct epf_probe_opts o;
		__u64 more;
	} new = {
		{ .size = sizeof(new), .keys = 1000 },
		0,
	};
	struct epf_probe_opts old = { .size = sizeof(old) - 1, .keys = 1000 };
	struct epf_met m;

	tap_ok(epf_view_probe(v, e, &old, &m) == -EINVAL, "options that are too short: EINVAL");
	tap_ok(!epf_view_probe(v, e, &new.o, &m) && m.keys == 1000,
	       "options with zeros behind what is known");
	new.more = 1ULL << 63;
	tap_ok(epf_view_probe(v, e, &new.o, &m) == -E2BIG, "options that are not known: E2BIG");
}

static void edges(void)
{
	struct epf_estimate estimate;
	struct epf_met a, b;
	struct epf_view v;
	__u64 seed = 7;
	struct sim s;

	make(&s, 1, 1, 4);
	v = sim_view(&s);
	tap_ok(probe(&v, 0, 0, NULL, &a) == -EINVAL &&
		       epf_view_estimate(&v, EPF_AUDIT_THREADS_MAX + 1, &estimate) == -EINVAL,
	       "no keys, too many threads: EINVAL");
	tap_ok(!probe(&v, 1, 30000, &seed, &a) && !probe(&v, 2, 30000, &seed, &b) &&
		       !memcmp(&a, &b, sizeof(a)) && a.seed == 7 && a.keys == 30000,
	       "keys of a seed are always the same");
	tap_ok(!probe(&v, 1, 30000, NULL, &a) && !probe(&v, 1, 30000, NULL, &b) && a.seed != b.seed,
	       "without one they are not");
	memset(s.f.line, 0, LINES * EPF_LINE_BYTES);
	tap_ok(!probe(&v, 1, 1000, NULL, &a) && !a.found && a.low == 0 &&
		       near(a.high, 1 - pow(.0005, 1 / 1000.)),
	       "none found: the interval begins at 0 and does not end there");
	sizes(&v);
	intervals();
	sim_free(&s);
}

int main(int argc, char **argv)
{
	static const __u32 parts[] = { 1, 2, 4 };
	bool few = argc > 1 && !strcmp(argv[1], "--few");
	unsigned int i;
	__u32 k;

	tap_plan((few ? 3 : 3 * 15) + 9);
	edges();
	for (i = 0; i < 3; i++)
		for (k = parts[i]; k <= 15 * parts[i]; k += parts[i])
			if (!few || k == (5 + i) * parts[i])
				shapes(parts[i], k);
	return tap_end();
}
