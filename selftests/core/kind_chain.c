// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of kind chain: known answers, properties, the cost of steps of the rate,
 * prediction against simulation, sizing.
 */
#include "chain_laws.h"
#include "chain_vectors.h"

#include <kinds/chain.h>

#define FILL(name) EPF_CHAIN_##name
#define SCRIPT_RATES                     \
	{                                \
		1, 2, 20, 2, 80, 8, 1, 1 \
	}
#define SCRIPT_GAPS 4

#include "resizable_kind.h"

/* --- the model's script ------------------------------------------------- */

/* Fold in a line's positions at an epoch together with its index, if it has any. */
static __u64 fold_lane(const struct epf_chain_table *t, __u64 line, __u64 epoch, __u64 value)
{
	__u64 v = t->line[line].lane[epoch & 7];

	if ((v & EPF_TAG_MASK) != epf_tag(epoch) || !(v & ~EPF_TAG_MASK))
		return value;
	return fold(fold(value, line), v & ~EPF_TAG_MASK);
}

static __u64 fold_table(const struct epf_chain *f, const struct epf_chain_table *t, __u64 value)
{
	__u64 age, line;

	value = fold(value, 8 * t->lines);
	for (age = 0; age < EPF_LANES; age++) {
		bool valid = f->epoch - t->last <= age;

		value = fold(value, valid ? t->keys[(f->epoch - age) & 7] : 0);
		for (line = 0; line < t->lines; line++)
			value = fold_lane(t, line, f->epoch - age, value);
	}
	return value;
}

static __u64 fold_all(const struct epf_chain *f, __u64 now, __u64 value)
{
	__u32 i;

	value = fold(value, now);
	for (i = 0; i < f->nr; i++)
		value = fold_table(f, &f->table[i], value);
	return value;
}

/* Let epochs end. */
static void pass(struct epf_chain *f, __u64 now)
{
	epf_chain_tick(f, now);
}

static void answers(void)
{
	int i;

	for (i = 0; i < NR(chain_scripts); i++)
		tap_ok(known_answers(i), "known answers, load=%u L=%u k=%u",
		       chain_scripts[i].shape.load, chain_scripts[i].shape.parts,
		       chain_scripts[i].shape.bits);
}

/* --- steps of the rate -------------------------------------------------- */

/* Made for an error of .01; this is the number of keys in an epoch of the first table. */
static const struct epf_chain_shape dense = { SPAN, 128, 128, 1 << 20, 4466, 4, 8 };
#define FULL 558.

/**
 * struct sight - peak values of a filter
 * @tables: greatest number of tables
 * @switches: how often table 0 was replaced
 * @fill: keys of the fullest lanes, as a share of their budget
 * @fpr: greatest predicted error
 * @words: greatest number of words
 */
struct sight {
	__u32 tables;
	int switches;
	double fill, fpr;
	__u64 words;
};

/**
 * struct drive - random keys for a filter whose owner comes periodically
 * @o: filter
 * @now: time
 * @late: the owner comes this long after @came
 * @look: interval between looks at the error, ns; 0: never
 * @seen: time of the last look
 * @line: current table 0
 * @n: keys so far, and random numbers
 * @most: peak values so far
 */
struct drive {
	struct epf_chain_owner o;
	double now;
	__u64 late, came, look, seen;
	struct epf_line *line;
	__u32 n;
	struct sight most;
};

static void see(struct drive *d)
{
	const struct epf_chain *f = &d->o.f;
	struct sight *m = &d->most;
	double fill = (double)f->table[0].keys[f->epoch & 7] /
		      (double)epf_chain_budget(f, f->table[0].lines);

	m->fill = fmax(m->fill, fill);
	m->tables = f->nr > m->tables ? f->nr : m->tables;
	m->words = d->o.words > m->words ? d->o.words : m->words;
	m->switches += d->line != f->table[0].line;
	d->line = f->table[0].line;
	if (!d->look || (__u64)d->now - d->seen < d->look)
		return;
	d->seen = (__u64)d->now;
	m->fpr = fmax(m->fpr, epf_chain_fpr(f, EPF_CHAIN_KEYS, d->seen));
}

static void drive_begin(struct drive *d, const struct epf_chain_shape *s, __u64 late, __u32 seed)
{
	memset(d, 0, sizeof(*d));
	if (epf_chain_open(&d->o, s, 0, 0))
		abort();
	d->line = d->o.f.table[0].line;
	d->late = late;
	d->n = seed << 24;
}

/* Drive @epochs epochs with @rate keys each. */
static void drive(struct drive *d, double epochs, double rate)
{
	double end = d->now + epochs * EPOCH;

	for (;;) {
		double x = ldexp((double)(epf_word(11, ++d->n) >> 11), -53);

		d->now -= log1p(-x) * EPOCH / rate;
		if (d->now >= end)
			break;
		if ((__u64)d->now - d->came >= d->late) {
			d->came = (__u64)d->now;
			epf_chain_care(&d->o, d->came);
		}
		if (d->late)
			epf_chain_insert(&d->o.f, epf_word(7, d->n), (__u64)d->now);
		else
			epf_chain_put(&d->o, epf_word(7, d->n), (__u64)d->now);
		see(d);
	}
	d->now = end;
}

static void merge(struct sight *all, const struct sight *one)
{
	all->tables = one->tables > all->tables ? one->tables : all->tables;
	all->fill = fmax(all->fill, one->fill);
	all->fpr = fmax(all->fpr, one->fpr);
	all->words = one->words > all->words ? one->words : all->words;
}

#define PHASES 16

/**
 * struct step - a step from half of the rate that a table is made for to @times that
 * @looks: visits of the owner in an epoch; 0: at each key
 * @tables: upper limit of the tables
 * @fill: upper limit of the fill
 */
struct step {
	int times, looks;
	__u32 tables;
	double fill;
};

/* Take the step at each phase of the epoch; @times 0: doubling in five epochs. */
static void step(const struct step *s)
{
	struct sight all = { 0, 0, 0, 0, 0 };
	__u64 words = 0;
	struct drive d;
	int p, i;

	for (p = 0; p < PHASES; p++) {
		drive_begin(&d, &dense, s->looks ? EPOCH / s->looks : 0, p);
		drive(&d, 3 + (double)p / PHASES, FULL / 2);
		d.look = EPOCH / 2;
		for (i = 1; i <= 5 && !s->times; i++)
			drive(&d, 1, FULL / 2 * (1 << i));
		drive(&d, 9, FULL / 2 * (s->times ? s->times : 32));
		merge(&all, &d.most);
		epf_chain_care(&d.o, (__u64)d.now);
		words = d.o.words > words ? d.o.words : words;
		epf_chain_close(&d.o);
	}
	tap_ok(all.tables <= s->tables && all.fill <= s->fill,
	       "%dx, owner comes %d times an epoch: tables %u, lanes %.2f full, error %.4f, words %llu, then %llu",
	       s->times ? s->times : 32, s->looks, all.tables, all.fill, all.fpr, all.words, words);
}

static void steps(void)
{
	static const struct step some[] = {
		{ 2, 0, 2, 1 },   { 4, 0, 2, 1 },    { 10, 0, 2, 1 },  { 40, 0, 3, 1 },
		{ 0, 0, 4, 1 },   { 2, 16, 2, 1 },   { 4, 16, 2, 1 },  { 10, 16, 2, 1.01 },
		{ 40, 16, 3, 2 }, { 0, 16, 4, 1.1 }, { 4, 4, 3, 1.1 }, { 10, 4, 3, 2 },
	};
	int i;

	for (i = 0; i < NR(some); i++)
		step(&some[i]);
}

/* The rate goes up and down by 2, and down to a tenth for less than T: nothing happens. */
static void vary(void)
{
	struct drive d;
	int i;

	drive_begin(&d, &dense, 0, 1);
	drive(&d, 12, FULL * 2.8);
	d.most.switches = 0;
	for (i = 0; i < 40; i++) {
		drive(&d, .1 + i % 9 * .3, FULL * (i % 2 ? 3.3 : 1.7));
		if (i % 7 == 0)
			drive(&d, i % 8, FULL * .3);
	}
	tap_ok(!d.most.switches && d.o.f.nr == 1, "rate varies: %d other tables", d.most.switches);
	epf_chain_close(&d.o);
}

/* The owner comes 4 times an epoch, and half of the keys come between two of the
 * visits; the rate after that is below what table 0 is made for.
 */
static void uneven(void)
{
	struct sight all = { 0, 0, 0, 0, 0 };
	struct drive d;
	int i;

	for (i = 0; i < PHASES; i++) {
		drive_begin(&d, &dense, EPOCH / 4, i);
		drive(&d, .27, FULL * .7);
		drive(&d, .04, FULL * 12);
		drive(&d, .69, FULL * .7);
		merge(&all, &d.most);
		epf_chain_close(&d.o);
	}
	tap_ok(all.fill <= 1 && all.tables == 2,
	       "half of the keys at once: tables %u, lanes %.2f full", all.tables, all.fill);
}

/* A step from half of what table 0 is made for, after a gap of 2 T, to 40x. */
static void gap_step(void)
{
	__u32 tables = 0;
	struct drive d;
	int p;

	for (p = 0; p < PHASES; p++) {
		drive_begin(&d, &dense, 0, p);
		drive(&d, 3, FULL / 2);
		d.now += (14 + (double)p / PHASES) * EPOCH;
		drive(&d, 1, FULL * 20);
		tables = d.most.tables > tables ? d.most.tables : tables;
		epf_chain_close(&d.o);
	}
	tap_ok(tables == 2, "40x after a gap of 14 epochs: tables %u", tables);
}

/* A gap of 2 T and one of 20 T: no other table is made. */
static void gap(int epochs)
{
	struct drive d;
	int i, n;

	drive_begin(&d, &dense, 0, 2);
	drive(&d, 12, FULL * 3);
	d.most.switches = 0;
	for (i = 0; i < 12; i++) {
		for (n = 0; n < epochs; n++)
			epf_chain_care(&d.o, (__u64)(d.now += EPOCH));
		drive(&d, 1.3, FULL * 3);
	}
	tap_ok(!d.most.switches && d.o.f.nr == 1, "gaps of %d epochs: %d other tables", epochs,
	       d.most.switches);
	epf_chain_close(&d.o);
}

/* A drop to a 20th of the rate: how long the last key from before is found, and how
 * much memory remains.
 */
static void drop(void)
{
	__u64 digest = 12345, last, words;
	double found;
	struct drive d;

	drive_begin(&d, &dense, 0, 3);
	drive(&d, 12, FULL * 20);
	epf_chain_care(&d.o, (__u64)d.now);
	words = d.o.words;
	last = (__u64)d.now;
	epf_chain_put(&d.o, digest, last);
	while (epf_chain_test(&d.o.f, digest, (__u64)d.now))
		drive(&d, .01, FULL);
	found = d.now - (double)last;
	drive(&d, 30, FULL);
	epf_chain_care(&d.o, (__u64)d.now);
	tap_ok(found <= 8 * EPOCH && d.o.f.nr == 1 && d.o.words <= words / 8,
	       "a 20th of the rate: a key was found for %.2f T; words %llu, then %llu",
	       found / SPAN, words, d.o.words);
	epf_chain_close(&d.o);
}

/* The rate jumps up by up to @levels levels of 3x each, and down by any number, at any
 * time. Where a jump may come more than 8 epochs later, a smaller table has come
 * meanwhile. A jump costs a second table where the sample was still half of the old
 * rate.
 */
static void adversary(int levels, double longest, int seconds)
{
	static const double rates[] = { .3, .9, 2.8, 8 };
	int i, level = 0, jumps = 0, second = 0, third = 0;
	struct drive d;

	drive_begin(&d, &dense, 0, 4);
	drive(&d, 3, FULL * rates[level]);
	for (i = 0; i < 80; i++) {
		__u64 x = epf_word(77, i);
		int to = (int)(x % 4);

		to = to < level + levels ? to : level + levels;
		d.most.switches = 0;
		drive(&d, .1 + longest * (double)(x >> 40) * 0x1p-24, FULL * rates[to]);
		jumps += to > level;
		second += to > level && d.most.switches > 1;
		third += d.most.switches > 2;
		level = to;
	}
	tap_ok(!third && second <= seconds && d.most.tables < 5 && d.most.fill <= 1,
	       "%d jumps by up to %gx, each after up to %g epochs: %d gained two tables, %d more; most tables %u, words %llu",
	       jumps, pow(3, levels), longest, second, third, d.most.tables, d.most.words);
	epf_chain_close(&d.o);
}

/* Batches of 0.4 budgets arrive at once, now and then. The sample takes this for a rate
 * 16 times too high, which costs one spare table that is too large, and no more.
 */
static void batches(void)
{
	struct epf_chain_owner o;
	__u64 now = 0;
	int i, n;

	if (epf_chain_open(&o, &dense, 0, 0))
		abort();
	for (i = 0; i < 60; i++, now += EPOCH * 7 / 10)
		for (n = 0; n < FULL * .4; n++)
			epf_chain_put(&o, epf_word(9, i * 1000 + n), now);
	epf_chain_care(&o, now + 2 * EPOCH);
	tap_ok(o.f.nr == 1 && o.f.table[0].lines == 128 && o.words_peak <= 1024 * (1 + 32) &&
		       o.words == 1024,
	       "keys in batches: words %llu, 2 epochs later %llu", o.words_peak, o.words);
	epf_chain_close(&o);
}

static void rates(void)
{
	steps();
	vary();
	gap(2 * 7);
	gap(20 * 7);
	uneven();
	gap_step();
	drop();
	adversary(1, 1.5, 2);
	adversary(1, 20, 2);
	adversary(3, 1.5, 3);
	adversary(3, 20, 3);
	batches();
}

#define RATES (12 + 11)

/* --- prediction --------------------------------------------------------- */

static void predict(const struct moment *m, unsigned int parts, unsigned int bits)
{
	struct epf_chain_shape s = { SPAN, 64, 64, 1 << 20, 5120, parts, bits };
	struct outcome o = simulate(m, &s);

	tap_ok(as_predicted(&o),
	       "%s, L=%u k=%u, %u tables: error predicted %.4f, met %.4f +- %.4f, from counted bits %.4f",
	       m->name, parts, bits, o.nr, o.predicted, mean_of(&o.error), mean_margin(&o.error),
	       mean_of(&o.counted));
}

static void predictions(void)
{
	static const struct moment moments[] = {
		{ "steady", { 300, 300 }, { 9.5, .2 }, 0 },
		{ "10x, an epoch ago", { 150, 1500 }, { 9.5, 1 }, 0 },
		{ "10x, T ago", { 150, 1500 }, { 9.5, 7 }, 0 },
		{ "a 10th, 9 epochs ago", { 1500, 150 }, { 9.5, 9.5 }, 0 },
		{ "memory at its end", { 150, 750 }, { 9.5, 2.7 }, 1000 },
	};
	int i;

	for (i = 0; i < NR(moments); i++)
		predict(&moments[i], 1 << i % 3, (5 - i % 3) << i % 3);
}

/* --- shapes and sizes --------------------------------------------------- */

static void shapes(void)
{
	static const struct epf_chain_shape bad[] = {
		{ 0, 64, 64, 64, 99, 1, 4 },
		{ 9, 64, 64, 64, 99, 3, 4 },
		{ ~0ULL, 64, 64, 64, 99, 1, 4 },
		{ 9, 64, 64, 64, 99, 1, 16 },
		{ 9, 64, 128, 128, 99, 1, 4 },
		{ 9, 64, 64, 64, 99, 4, 3 },
		{ 9, 256, 64, 128, 99, 1, 4 },
		{ 9, 64, 64, 64, 0, 1, 4 },
		{ 9, 96, 64, 128, 99, 1, 4 },
		{ 9, 64, 64, 64, 15, 1, 4 },
		{ 9, 128, 96, 128, 99, 1, 4 },
		{ 9, 64, 32, 64, 99, 1, 4 },
		{ 9, 64, 64, 192, 99, 1, 4 },
		{ 9, 64, 64, 64, 99, 8, 16 },
		{ 9, 64, 64, EPF_LINES_MAX * 2, 99, 1, 4 },
		{ 9, 64, 64, 64, EPF_CHAIN_LOAD_MAX + 1, 1, 4 },
		{ 9, 64, 64, 2 * EPF_PART_LINES_MAX, 99, 1, 4 },
		{ 9, 64, 64, 64, 99, 2, 5 },
	};
	static const struct epf_chain_shape good = { EPF_NS_MAX,         64, 64, EPF_LINES_MAX,
						     EPF_CHAIN_LOAD_MAX, 4,  60 };
	struct epf_chain_rate fast = { 1ULL << 50, 1 };
	static struct epf_line line[129];
	__u64 *word = (__u64 *)line, words;
	static struct epf_chain f;
	bool right = !epf_chain_init(&f, &good, 5);
	int i;

	right &= epf_chain_fitting(&f, fast) == EPF_LINES_MAX;
	for (i = 0; i < NR(bad); i++)
		right &= epf_chain_init(&f, &bad[i], 5) == -EINVAL;
	right &= !epf_chain_soon(&f, 5) && !epf_chain_due(&f, 5);
	right &= !epf_chain_query(&f, 1, 9) && !epf_chain_expired(&f, 6, &words);
	right &= !epf_chain_add(&f, 7, word, 256) && !epf_chain_add(&f, 7, word, 513) &&
		 !epf_chain_add(&f, 7, word, 96 * 8) && !epf_chain_add(&f, 7, word, 0);
	right &= epf_chain_plan(&f, 7) == 512 && epf_chain_add(&f, 7, word, 512);
	right &= epf_chain_add(&f, 7, word + 512, 512) && !epf_chain_plan(&f, 7) &&
		 !epf_chain_add(&f, 7, word, 512);
	tap_ok(right && f.nr == 1, "bad shapes and tables are refused");
}

/* A size keeps its guarantee when measured at its rate. */
static void sizes(void)
{
	static const struct epf_chain_req req[] = {
		{ SPAN, 4e6, .1, 0 },
		{ SPAN, 2e7, .01, 0 },
		{ SPAN, 3e7, .01, 1 },
		{ SPAN, 1.4e7, .0001, 4 },
	};
	int i;

	for (i = 0; i < NR(req); i++) {
		double keys = req[i].rate * SPAN / 1e9;
		struct epf_chain_size z = { .words = 0 };
		struct drive d;

		if (epf_chain_size(&req[i], &z)) {
			tap_ok(false, "sizing %d", i);
			continue;
		}
		drive_begin(&d, &z.shape, 0, 5);
		d.look = EPOCH / 8;
		drive(&d, 16, keys / 7);
		tap_ok(z.fpr <= z.fpr_full && z.fpr_full <= req[i].budget &&
			       z.fpr_full > req[i].budget * .95 && d.most.tables == 1 &&
			       d.o.words_peak == z.words && d.most.fpr <= z.fpr * 1.25,
		       "sizing, %g in T at %g: L=%u k=%u load=%u, %.1f bits a key, error %.2g (%.2g), full %.3g",
		       keys, req[i].budget, z.shape.parts, z.shape.bits, z.shape.load,
		       64. * (double)z.words / keys, z.fpr, d.most.fpr, z.fpr_full);
		epf_chain_close(&d.o);
	}
}

static void bad_sizes(void)
{
	static const struct epf_chain_req bad[] = {
		{ 0, 1, .1, 0 },    { SPAN, 0, .1, 0 },  { SPAN, 1, 0, 0 },    { SPAN, 1, .6, 0 },
		{ SPAN, 1, .1, 3 }, { ~0ULL, 1, .1, 0 }, { SPAN, NAN, .1, 0 },
	};
	static const struct epf_chain_req much = { SPAN, 1e18, .1, 0 };
	struct epf_chain_owner o;
	struct epf_chain_size z;
	bool good = true;
	int i;

	for (i = 0; i < NR(bad); i++)
		good &= epf_chain_size(&bad[i], &z) == -EINVAL;
	good &= epf_chain_size(&much, &z) == -E2BIG;
	z.shape = dense;
	good &= epf_chain_open(&o, &z.shape, 511, 0) == -ENOMEM;
	z.shape.load = 0;
	good &= epf_chain_open(&o, &z.shape, 0, 0) == -EINVAL;
	tap_ok(good, "sizing: bad promises and impossible ones are refused");
}

static const struct part parts[] = {
	{ laws, LAWS, true },    { rates, RATES, true },    { answers, NR(chain_scripts), false },
	{ shapes, 1, false },    { predictions, 5, false }, { sizes, 4, false },
	{ bad_sizes, 1, false },
};

KIND_MAIN(parts)
