// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The choice of an engine, and whether the lines are copied first, from rates
 * measured on this machine. A copy costs bytes / carry and saves 1 / here - 1 / there
 * on each key, so it pays from a certain number of keys on.
 */
#include "engine.h"
#include "clock.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEASURE_NS 10000000ULL
#define MEASURE_KEYS (1u << 18)  /* asked at once */
#define WORTH_KEYS (1u << 27)    /* of fewer it is the greater part of the work */
#define CANDIDATES 2u            /* slower ones are not measured */
#define PIECE_LINES (1ULL << 20) /* 64 MiB: no cache, and soon copied */
#define KEPT 16u

/* -------------------------------------------------------- measured ---- */

/**
 * struct sample - keys to measure with
 */
struct sample {
	__u64 digest[MEASURE_KEYS];
	unsigned char bitmap[MEASURE_KEYS / 8];
};

/* Keys a second, after a first round that brings pages in. */
static double ask_rate(const struct epf_engine *e, const struct epf_view *v, unsigned int threads,
		       struct sample *s)
{
	struct epf_keys keys = { .data = s->digest, .n = MEASURE_KEYS };
	struct epf_answer a = { .bitmap = s->bitmap, .threads = threads };
	__u64 start, ns, n = 0;

	if (e->query(v, &keys, &a))
		return 0;
	start = epf_clock_ns();
	do {
		if (e->query(v, &keys, &a))
			return 0;
		n += keys.n;
		ns = epf_clock_ns() - start;
	} while (ns < MEASURE_NS);
	return (double)n / (double)ns * 1e9;
}

/* Measure on a part of the lines the rate of copying and that of lookups in the
 * copy.
 */
static void copy_rates(const struct epf_engine *e, const struct epf_view *v, unsigned int threads,
		       struct sample *s, struct epf_rates *r)
{
	struct epf_view piece = *v;
	__u64 lines = epf_geom_lines(&v->geom);
	__u64 start;
	double here;

	if (lines > PIECE_LINES)
		lines = PIECE_LINES;
	piece.own = NULL;
	piece.serial = 0;
	piece.geom.part_lines = lines / v->geom.parts;
	here = ask_rate(e, &piece, threads, s);
	start = epf_clock_ns();
	if (!here || epf_view_settle(&piece))
		return;
	r->carry = (double)(lines * EPF_LINE_BYTES) / (double)(epf_clock_ns() - start) * 1e9;
	r->there = r->here * ask_rate(e, &piece, threads, s) / here;
	epf_view_close(&piece);
}

void epf_cpu_rates(const struct epf_engine *e, const struct epf_view *v, unsigned int threads,
		   struct epf_rates *r)
{
	struct sample *s = malloc(sizeof(*s));
	__u32 i;

	memset(r, 0, sizeof(*r));
	if (!s)
		return;
	for (i = 0; i < MEASURE_KEYS; i++)
		s->digest[i] = epf_word(i, 1);
	r->here = ask_rate(e, v, threads, s);
	copy_rates(e, v, threads, s, r);
	free(s);
}

/**
 * struct kept - rates, and the shape for which they were measured
 * @aligned: lines begin at cache lines
 */
struct kept {
	struct epf_geom geom;
	bool aligned;
	unsigned int threads;
	struct epf_rates rates[EPF_ENGINES_MAX];
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept kept[KEPT];
static unsigned int kept_nr; /* ever */

static bool auto_aligned(const struct epf_view *v)
{
	return (unsigned long)v->lines % EPF_LINE_BYTES == 0;
}

static const struct kept *find_kept(const struct epf_view *v, unsigned int threads)
{
	unsigned int i;

	for (i = 0; i < KEPT && i < kept_nr; i++)
		if (!memcmp(&kept[i].geom, &v->geom, sizeof(v->geom)) &&
		    kept[i].aligned == auto_aligned(v) && kept[i].threads == threads)
			return &kept[i];
	return NULL;
}

/* Measure the fastest engines of the CPU, and those with memory of their own. */
static const struct kept *auto_measure(const struct epf_view *v, unsigned int threads)
{
	struct kept *k = &kept[kept_nr++ % KEPT];
	unsigned int i, n = 0;

	memset(k, 0, sizeof(*k));
	k->geom = v->geom;
	k->aligned = auto_aligned(v);
	k->threads = threads;
	for (i = 0; epf_engine_at(i); i++)
		;
	while (i-- && n < CANDIDATES) {
		const struct epf_engine *e = epf_engine_at(i);

		if (!e->usable())
			continue;
		e->rates(e, v, threads, &k->rates[i]);
		n += !epf_engine_far(e);
	}
	return k;
}

void epf_audit_measure(const struct epf_view *v, unsigned int threads, struct epf_rates *rates)
{
	const struct kept *k;

	pthread_mutex_lock(&kept_lock);
	k = find_kept(v, threads);
	if (!k)
		k = auto_measure(v, threads);
	memcpy(rates, k->rates, sizeof(k->rates));
	pthread_mutex_unlock(&kept_lock);
}

/* ---------------------------------------------------------- chosen ---- */

/**
 * struct best - the best engines by their rates
 * @here: the fastest engine in place, or NULL
 * @there: the engine that finishes first on a copy, or NULL
 * @rate: keys a second of @here
 * @seconds: time that @there takes for the given keys
 * @even: number of keys from which on a copy pays; INFINITY: never
 */
struct best {
	const struct epf_engine *here, *there;
	double rate;
	double seconds;
	double even;
};

static double even_keys(double copy_seconds, double here, double there)
{
	if (!here)
		return 0;
	return there > here ? copy_seconds / (1 / here - 1 / there) : INFINITY;
}

static void find_best(struct best *b, const struct epf_rates *rates, double bytes, double n,
		      bool copy)
{
	const struct epf_engine *e;
	unsigned int i;

	*b = (struct best){ .even = INFINITY, .seconds = INFINITY };
	for (i = 0; (e = epf_engine_at(i)); i++)
		if (!epf_engine_far(e) && e->usable() && rates[i].here > b->rate) {
			b->here = e;
			b->rate = rates[i].here;
		}
	for (i = 0; (e = epf_engine_at(i)); i++) {
		const struct epf_rates *r = &rates[i];
		double carry, all;

		if (!copy && !epf_engine_far(e))
			continue;
		if (!e->usable() || !(r->there > 0) || !(r->carry > 0))
			continue;
		carry = bytes / r->carry;
		all = carry + n / r->there;
		b->even = fmin(b->even, even_keys(carry, b->rate, r->there));
		if (all < b->seconds) {
			b->there = e;
			b->seconds = all;
		}
	}
}

/**
 * struct text - a number in short form
 */
struct text {
	char s[16];
};

static struct text short_keys(double n)
{
	static const char *const units[] = { "", " k", " M", " G", " T" };
	unsigned int i = 0;
	struct text t;

	for (; n >= 999.5 && i < 4; i++)
		n /= 1000;
	snprintf(t.s, sizeof(t.s), "%.*f%s", n < 9.95 && i ? 1 : 0, fmin(n, 1e6), units[i]);
	return t;
}

static struct text short_bytes(double bytes)
{
	struct text t;

	if (bytes < 1024 * 1024)
		snprintf(t.s, sizeof(t.s), "%.0f KiB", bytes / 1024);
	else if (bytes < 10240. * 1024 * 1024)
		snprintf(t.s, sizeof(t.s), "%.0f MiB", bytes / 1048576);
	else
		snprintf(t.s, sizeof(t.s), "%.0f GiB", bytes / 1073741824);
	return t;
}

static void auto_explain(struct epf_choice *c, const struct best *b, double bytes, bool copy)
{
	struct text size = short_bytes(bytes), even = short_keys(b->even);
	struct text rate = short_keys(b->rate);
	const char *name = c->engine->name;

	if (c->settle)
		snprintf(c->why, sizeof(c->why), "%s on a copy of %s, which pays from %s keys on",
			 name, size.s, even.s);
	else if (!copy)
		snprintf(c->why, sizeof(c->why), "%s in place, the fastest: %s keys/s", name,
			 rate.s);
	else if (isinf(b->even))
		snprintf(c->why, sizeof(c->why), "%s in place: %s keys/s; a copy is no faster",
			 name, rate.s);
	else
		snprintf(c->why, sizeof(c->why),
			 "%s in place: %s keys/s; a copy of %s pays from %s keys on", name, rate.s,
			 size.s, even.s);
}

static void choose_by(struct epf_choice *c, const struct epf_rates *rates, double bytes, double n,
		      bool copy)
{
	struct best b;

	find_best(&b, rates, bytes, n, copy);
	if (!b.here && !b.there)
		return;
	c->settle = b.there && (!b.here || n / b.rate > b.seconds);
	c->engine = c->settle ? b.there : b.here;
	if (b.even < 1e19) /* below 2^64 */
		c->even = (__u64)ceil(b.even);
	auto_explain(c, &b, bytes, copy);
}

/* The rule without measurements. A line across two cache lines costs twice, and
 * copying all lines costs about as much as one lookup for each line.
 */
static void by_rule(struct epf_choice *c, const struct epf_view *v, __u64 n, bool copy)
{
	c->engine = epf_engine_near();
	c->settle = copy && !auto_aligned(v) && n >= epf_geom_lines(&v->geom);
	snprintf(c->why, sizeof(c->why), "%s %s: the fastest engine of this CPU", c->engine->name,
		 c->settle ? "on a copy" : "in place");
}

void epf_audit_choose(struct epf_choice *c, const struct epf_view *v, __u64 n, bool copy,
		      unsigned int threads, const struct epf_rates *rates)
{
	double bytes = (double)epf_geom_lines(&v->geom) * EPF_LINE_BYTES;
	struct epf_rates measured[EPF_ENGINES_MAX];

	memset(c, 0, sizeof(*c));
	c->even = (__u64)-1;
	if (v->asked) {
		c->engine = epf_engine_at(0);
		snprintf(c->why, sizeof(c->why), "%s: the only engine for this kind",
			 c->engine->name);
		return;
	}
	if (n < EPF_BLOCK_KEYS) { /* others do a whole block */
		c->engine = epf_engine_at(0);
		snprintf(c->why, sizeof(c->why), "%s in place: few keys", c->engine->name);
		return;
	}
	by_rule(c, v, n, copy);
	if (!rates && n >= WORTH_KEYS) {
		epf_audit_measure(v, threads, measured);
		rates = measured;
	}
	if (rates)
		choose_by(c, rates, bytes, (double)n, copy);
}
