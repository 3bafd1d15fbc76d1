// SPDX-License-Identifier: GPL-2.0
/*
 * The false-positive-rate estimator of the locked kinds, against the measured share of
 * keys never inserted that are reported present, and, where that share is too low to
 * measure, against the predictions.
 *
 * Each filter is estimated ESTIMATES times. The scatter of the estimates is their sampling
 * error (Student's t); that of the queries is binomial. The interval combines both:
 * 99.9 %, two-sided.
 *
 * With an argument it tests that kind only: estimator_broken.sh runs it with mutants of the
 * estimator.
 */
#include "../locked.h"
#include "tap.h"

#include <kinds/apbbf.h>
#include <kinds/apbf.h>
#include <kinds/dict.h>
#include <kinds/elastic.h>
#include <kinds/ge.h>
#include <kinds/gebl.h>
#include <kinds/tlbf.h>

#include <math.h>
#include <stdlib.h>

#define NR(table) (sizeof(table) / sizeof((table)[0]))

#define ESTIMATES 16
#define T_999 4.073 /* Student's t, 15 degrees of freedom, 0.9995 */
#define T_MANY 6.5  /* the same for a hundred layers at once */
#define QUERIES 200000
#define FACTOR 1.25 /* of a single estimate from the prediction, at low rates */

static __u64 stream;

static __u64 next(void)
{
	return epf_word(0x5eed, (__u32)++stream);
}

/**
 * struct kind - what the test knows of a kind besides its row
 * @kind: enum epf_kind
 * @runs: a layer is a run of slices
 * @fill: the share of set bits of an epoch, counted
 * @alike: are epochs correlated: do they match together more often than by chance? NULL: no
 * @predict: error at so many keys an epoch
 */
struct kind {
	__u32 kind;
	bool runs;
	double (*fill)(const struct epf_locked *f, __u32 age);
	bool (*alike)(const struct epf_locked *f);
	double (*predict)(const struct epf_locked *f, double keys);
};

static double share(const __u64 *word, __u64 words, __u64 bits)
{
	__u64 set = 0, i;

	for (i = 0; i < words; i++)
		set += epf_popcount(word[i]);
	return (double)set / (double)bits;
}

static double ge_fill(const struct epf_locked *locked, __u32 age)
{
	const struct epf_ge *f = &locked->ge;
	__u32 segment = epf_ge_segment(f, age), at;
	__u64 pos, set = 0;

	if (f->shape.layout == EPF_GE_SEGMENTS)
		return share(f->word + segment * epf_ge_stride(&f->shape), epf_ge_stride(&f->shape),
			     f->shape.segment_bits);
	for (pos = 0; pos < f->shape.segment_bits; pos++) {
		const __u64 *word = epf_ge_locate(f, pos, &at);

		set += *word >> at >> (f->shape.epochs - segment) & 1;
	}
	return (double)set / (double)f->shape.segment_bits;
}

static double gebl_fill(const struct epf_locked *locked, __u32 age)
{
	const struct epf_gebl *f = &locked->gebl;
	__u32 n = epf_gebl_block(&f->shape);
	double sum = 0;
	__u64 i;

	for (i = 0; i < f->shape.blocks; i++)
		sum += share(f->word + i * epf_gebl_group(&f->shape) + epf_gebl_segment(f, age) * n,
			     n, 64 * n);
	return sum / (double)f->shape.blocks;
}

static double apbf_fill(const struct epf_locked *locked, __u32 age)
{
	const struct epf_apbf *f = &locked->apbf;

	return share(f->word + epf_aged_place(&f->ring, age) * f->slice_words, f->slice_words,
		     f->shape.slice_bits);
}

static double apbbf_fill(const struct epf_locked *locked, __u32 age)
{
	const struct epf_apbbf *f = &locked->apbbf;

	return share(f->word + epf_aged_place(&f->ring, age) * f->slice_words, f->slice_words,
		     64 * f->slice_words);
}

static double dict_fill(const struct epf_locked *locked, __u32 age)
{
	const struct epf_dict *f = &locked->dict;
	__u64 cells = 0, found = 0, nr;
	__u32 i;

	for (nr = 0; nr < f->shape.buckets + f->shape.yard; nr++) {
		const struct epf_dict_table *t = &f->table[nr >= f->shape.buckets];
		const __u64 *bucket = epf_dict_bucket(f, nr);

		for (i = 0; i < epf_dict_used(t, bucket); i++)
			found += epf_dict_age(f, epf_dict_get(bucket, t->first + i * t->width,
							      f->shape.tag_bits)) == age;
		cells += t->cells;
	}
	return (double)found / (double)cells;
}

/* Bits of items, by their tags. */
static double elastic_fill(const struct epf_locked *locked, __u32 age)
{
	const struct epf_elastic *f = &locked->elastic;
	struct epf_elastic_load held;
	struct epf_elastic_work w;
	__u64 bits = 0, nr;
	__u32 t;

	for (nr = 0; nr < f->shape.nr_lines; nr++) {
		epf_elastic_holds(f, nr, &w, &held);
		for (t = 0; t < EPF_ELASTIC_TAGS; t++)
			if (epf_elastic_age(&w.l, epf_elastic_lag(f->phase, w.l.stamp), t) == age &&
			    age < epf_elastic_counted(f, f->phase))
				bits += epf_elastic_byte(held.n, t) *
					(4 + epf_elastic_byte(held.wide, t));
	}
	return (double)bits / (double)(64 * epf_elastic_words(&f->shape));
}

/* Double hashing makes epochs correlated, the more so the fewer distinct positions a
 * key has.
 */
static bool gebl_alike(const struct epf_locked *f)
{
	return f->gebl.shape.offsets == EPF_GEBL_DOUBLE;
}

/* Crowded lines err in all epochs. */
static bool elastic_alike(const struct epf_locked *f)
{
	return true;
}

/* --- a filter at a moment ------------------------------------------------- */

/* Mean and variance of ESTIMATES estimates. */
struct told {
	double sum, squares, least, most;
};

static void told_add(struct told *t, __u64 q56)
{
	double v = ldexp((double)q56, -56);

	t->least = t->sum > 0 && t->least < v ? t->least : v;
	t->most = t->most > v ? t->most : v;
	t->sum += v;
	t->squares += v * v;
}

static double told_mean(const struct told *t)
{
	return t->sum / ESTIMATES;
}

/* Return: the variance of one estimate. */
static double told_var(const struct told *t)
{
	double var = (t->squares - t->sum * t->sum / ESTIMATES) / (ESTIMATES - 1);

	return var > 0 ? var : 0;
}

/* Half the width of the interval around @p for QUERIES queries; the last term is for
 * few hits.
 */
static double margin(const struct told *t, double p, double times)
{
	double v = fmax(p, told_mean(t));

	return times * sqrt(told_var(t) / ESTIMATES + v * fmax(1 - v, 0) / QUERIES) +
	       times * times / 2 / QUERIES;
}

/**
 * struct moment - the estimates for a filter
 * @rate: for the whole filter
 * @layer: of each layer
 * @fill: likewise
 */
struct moment {
	struct told rate;
	struct told layer[EPF_ESTIMATOR_LAYERS + 1];
	struct told fill[EPF_ESTIMATOR_LAYERS + 1];
};

static __u64 now_ns; /* the clock of tlbf */

static void estimator(struct epf_locked *f, struct moment *m)
{
	__u32 i, age;
	__u64 fill;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < ESTIMATES; i++) {
		memset(&f->estimator, 0, sizeof(f->estimator));
		while (f->estimator.all.samples < EPF_ESTIMATOR_SAMPLES)
			f->ops->sample(f, next(), now_ns);
		told_add(&m->rate, f->ops->rate(f, now_ns));
		for (age = 0; age <= EPF_ESTIMATOR_LAYERS; age++) {
			told_add(&m->layer[age], f->ops->layer(f, age, now_ns, &fill));
			told_add(&m->fill[age], fill);
		}
	}
}

/* Return: number of layers whose rate disagrees with the verdicts. A verdict names the
 * youngest layer only, so hits that younger layers hide are missing; in runs of slices
 * also those of the run that begins one slice earlier.
 */
static __u32 layers_off(const struct kind *k, const struct epf_locked *f, const struct moment *m,
			const __u32 *met)
{
	__u32 age, off = 0;

	for (age = 0; age <= EPF_ESTIMATOR_LAYERS; age++) {
		double p = (double)met[age] / QUERIES;
		double high = told_mean(&m->layer[age]), low = high;
		double more = margin(&m->layer[age], p, T_MANY);

		low *= 1 - told_mean(&m->rate);
		if (k->runs && age)
			low *= 1 - told_mean(&m->fill[age - 1]);
		if (k->alike && k->alike(f))
			low = 0;
		if (age == 0)
			low = high;
		off += p < low - more || p > high + more;
	}
	return off;
}

static __u32 fills_off(const struct kind *k, const struct epf_locked *f, const struct moment *m)
{
	__u32 age, off = 0;

	for (age = 0; age < EPF_ESTIMATOR_LAYERS; age++) {
		const struct told *t = &m->fill[age];

		if (t->sum > 0)
			off += fabs(told_mean(t) - k->fill(f, age)) >
			       T_MANY * sqrt(told_var(t) / ESTIMATES) + 1e-6;
	}
	return off;
}

/* Check the estimate against the verdicts on keys never inserted. */
static void check(const struct kind *k, struct epf_locked *f, const char *what)
{
	static struct moment m;
	__u32 met[EPF_ESTIMATOR_LAYERS + 1] = { 0 };
	__u32 i, hits = 0, layers, fills;
	double p, more;

	estimator(f, &m);
	for (i = 0; i < QUERIES; i++) {
		int verdict = f->ops->test(f, next(), now_ns);

		if (verdict == EPF_ABSENT)
			continue;
		met[verdict - EPF_PRESENT]++;
		hits++;
	}
	p = (double)hits / QUERIES;
	more = margin(&m.rate, p, T_999);
	layers = layers_off(k, f, &m, met);
	fills = fills_off(k, f, &m);
	tap_ok(fabs(told_mean(&m.rate) - p) <= more && !layers && !fills,
	       "%s: told %.6f, met %.6f +- %.6f, one estimate +- %.1f %%; off: %u layers, %u fills",
	       what, told_mean(&m.rate), p, more,
	       100 * sqrt(told_var(&m.rate)) / fmax(told_mean(&m.rate), 1e-30), layers, fills);
}

static void check_empty(struct epf_locked *f, const char *what)
{
	static struct moment m;
	__u32 age;
	double sum = 0;

	estimator(f, &m);
	for (age = 0; age <= EPF_ESTIMATOR_LAYERS; age++)
		sum += m.layer[age].sum + m.fill[age].sum;
	tap_ok(m.rate.sum + sum == 0, "%s: told 0", what);
}

/* Check every single estimate against a prediction. */
static void check_low(struct epf_locked *f, double p)
{
	static struct moment m;

	estimator(f, &m);
	tap_ok(m.rate.least >= p / FACTOR && m.rate.most <= p * FACTOR,
	       "%s, low: predicted %.3g, told %.3g to %.3g", f->ops->name, p, m.rate.least,
	       m.rate.most);
}

/* --- the kinds that rotate ------------------------------------------------ */

enum phase { EMPTY, HALF, MANY, FULL, RETIRED, OVERFULL, PHASES };

static const char *const phases[] = {
	"empty", "half an epoch",       "half an epoch after many",
	"full",  "retired, half swept", "tenfold",
};

static void insert(struct epf_locked *f, __u64 keys)
{
	while (keys--)
		f->ops->insert(f, next(), 0);
}

/* Retire and sweep; where @until_word is set, sweep up to that word only. */
static void rotate(struct epf_locked *f, __u64 until_word)
{
	__u64 at = 0;

	f->ops->retire(f);
	if (until_word) {
		f->ops->sweep(f, 0, until_word);
		return;
	}
	do
		at = f->ops->sweep(f, at, 1000);
	while (at);
	f->ops->advance(f);
}

static void bring(struct epf_locked *f, enum phase phase, __u64 keys)
{
	__u32 i;

	if (phase == EMPTY)
		return;
	if (phase == OVERFULL)
		keys *= 10;
	for (i = 0; i < 2 * f->slices && phase != HALF; i++) {
		insert(f, keys);
		rotate(f, 0);
	}
	insert(f, phase == HALF || phase == MANY ? keys / 2 : keys);
	if (phase == RETIRED) {
		rotate(f, 100);
		insert(f, keys / 4);
	}
}

/**
 * struct row - a filter to make
 * @kind: enum epf_kind
 * @name: its name in test names; NULL: its error is low, and compared with the prediction
 * @keys: keys of an epoch or generation
 * @shape: its shape
 */
static const struct row {
	__u32 kind;
	const char *name;
	__u64 keys;
	struct epf_shape shape;
} rows[] = {
	{ EPF_KIND_GE, "r=7 k=8 cells", 2857, { .ge = { 31000, 7, 8, EPF_GE_TRANSPOSED } } },
	{ EPF_KIND_GE, "r=8 k=9 segments", 2500, { .ge = { 28001, 8, 9, EPF_GE_SEGMENTS } } },
	{ EPF_KIND_GE, "r=31 k=7 cells", 900, { .ge = { 9999, 31, 7, EPF_GE_TRANSPOSED } } },
	{ EPF_KIND_GE,
	  "r=7 k=12, double hashing tells",
	  40,
	  { .ge = { 701, 7, 12, EPF_GE_SEGMENTS } } },
	{ EPF_KIND_GE, NULL, 11000, { .ge = { 350000, 7, 17, EPF_GE_TRANSPOSED } } },
	{ EPF_KIND_GEBL, "B=64 r=7 k=5", 2857, { .gebl = { 700, 64, 7, 5, EPF_GEBL_DISTINCT } } },
	{ EPF_KIND_GEBL, "B=512 r=8 k=9", 2500, { .gebl = { 66, 512, 8, 9, EPF_GEBL_DISTINCT } } },
	{ EPF_KIND_GEBL,
	  "B=128 r=31 k=6",
	  1000,
	  { .gebl = { 110, 128, 31, 6, EPF_GEBL_DISTINCT } } },
	{ EPF_KIND_GEBL,
	  "B=256 r=8 k=9 double",
	  2500,
	  { .gebl = { 130, 256, 8, 9, EPF_GEBL_DOUBLE } } },
	{ EPF_KIND_GEBL,
	  "B=64 r=4 k=4 double",
	  1000,
	  { .gebl = { 300, 64, 4, 4, EPF_GEBL_DOUBLE } } },
	{ EPF_KIND_GEBL, NULL, 20000, { .gebl = { 1500, 512, 7, 13, EPF_GEBL_DISTINCT } } },
	{ EPF_KIND_APBF, "k=9 l=11", 300, { .apbf = { 4001, 9, 11 } } },
	{ EPF_KIND_APBF, "k=5 l=3", 900, { .apbf = { 7000, 5, 3 } } },
	{ EPF_KIND_APBF, "k=14 l=100", 60, { .apbf = { 1290, 14, 100 } } },
	{ EPF_KIND_APBF, NULL, 3000, { .apbf = { 81000, 19, 20 } } },
	{ EPF_KIND_APBBF, "B=512 b=1 k=9 l=11", 400, { .apbbf = { 11, 9, 11, 512, 1 } } },
	{ EPF_KIND_APBBF, "B=64 b=4 k=3 l=9", 1600, { .apbbf = { 300, 3, 9, 64, 4 } } },
	{ EPF_KIND_APBBF, "B=128 b=16 k=2 l=20", 1900, { .apbbf = { 400, 2, 20, 128, 16 } } },
	{ EPF_KIND_APBBF, "B=256 b=2 k=6 l=8", 1200, { .apbbf = { 60, 6, 8, 256, 2 } } },
	{ EPF_KIND_APBBF, NULL, 4700, { .apbbf = { 1000, 8, 12, 128, 2 } } },
	{ EPF_KIND_DICT, "c=4 d=3 rem=7", 2400, { .dict = { 154, 20, 4, 3, 7, 112, 2 } } },
	{ EPF_KIND_DICT, "c=4 one line", 2800, { .dict = { 390, 80, 4, 3, 7, 70, 1 } } },
	{ EPF_KIND_DICT, "c=9, pass marks", 1950, { .dict = { 160, 2, 9, 4, 2, 150, 2 } } },
	{ EPF_KIND_DICT,
	  "c=19, the backyard tells",
	  515,
	  { .dict = { 80, 60, 19, 5, 2, 150, 2 } } },
	{ EPF_KIND_DICT, NULL, 3500, { .dict = { 400, 50, 4, 3, 13, 56, 2 } } },
	{ EPF_KIND_ELASTIC, "r=7", 2857, { .elastic = { 300, 16, 7 } } },
	{ EPF_KIND_ELASTIC, "r=5, 64 bytes", 2000, { .elastic = { 500, 8, 5 } } },
	{ EPF_KIND_ELASTIC, "r=2", 3000, { .elastic = { 110, 16, 2 } } },
	{ EPF_KIND_ELASTIC, NULL, 3500, { .elastic = { 700, 16, 7 } } },
};

static double ge_low(const struct epf_locked *f, double keys)
{
	return epf_ge_fpr(&f->ge.shape, keys, keys);
}

static double gebl_low(const struct epf_locked *f, double keys)
{
	return epf_gebl_fpr(&f->gebl.shape, keys, keys);
}

static double apbf_low(const struct epf_locked *f, double keys)
{
	return epf_apbf_fpr(&f->apbf.shape, &(struct epf_aged_load){ keys, 1 });
}

static double apbbf_low(const struct epf_locked *f, double keys)
{
	return epf_apbbf_fpr(&f->apbbf.shape, &(struct epf_aged_load){ keys, 1 });
}

static double dict_low(const struct epf_locked *f, double keys)
{
	return epf_dict_fpr(&f->dict.shape, keys, keys);
}

static double elastic_low(const struct epf_locked *f, double keys)
{
	return epf_elastic_fpr(&f->elastic.shape, keys, keys);
}

static void try_phase(const struct kind *k, const struct row *row, enum phase phase)
{
	struct locked o;
	char what[100];

	if (!locked_init(&o, k->kind, &row->shape))
		abort();
	bring(&o.f, phase, row->keys);
	if (row->name)
		snprintf(what, sizeof(what), "%s %s, %s", o.f.ops->name, row->name, phases[phase]);
	if (!row->name)
		check_low(&o.f, k->predict(&o.f, (double)row->keys));
	else if (phase == EMPTY)
		check_empty(&o.f, what);
	else
		check(k, &o.f, what);
	locked_free(&o);
}

static void try_rows(const struct kind *k)
{
	__u32 i, phase;

	for (i = 0; i < NR(rows); i++) {
		if (rows[i].kind != k->kind)
			continue;
		if (!rows[i].name)
			try_phase(k, &rows[i], FULL);
		for (phase = 0; rows[i].name && phase < PHASES; phase++)
			try_phase(k, &rows[i], (enum phase)phase);
	}
}

/* --- tlbf ----------------------------------------------------------------- */

#define SPAN 4000000ULL /* T, ns */

static double tlbf_fill(const struct epf_locked *f, __u32 age)
{
	const struct epf_tlbf_slice *s = epf_tlbf_at(&f->tlbf, age);

	return share(s->word, s->words, 64 * s->words);
}

static const struct epf_tlbf_shape tlbf_shapes[] = {
	{ SPAN, 40, 1, 1 << 20, 5, 4, 5, 1 },
	{ SPAN, 60, 1, 1 << 20, 8, 20, 28, 1 },
	{ SPAN, 30, 1, 1 << 20, 6, 40, 6, 0 },
};

/* Insert @keys per T for @spans of T. */
static void come(struct epf_tlbf_owner *o, __u64 keys, __u64 spans)
{
	__u64 n;

	for (n = 0; n < keys * spans; n++) {
		now_ns += SPAN / keys;
		epf_tlbf_put(o, next(), now_ns);
	}
}

static void idle(__u64 ns)
{
	now_ns += ns;
}

/* Return: the filter of @o at this moment, for its row. */
static struct epf_locked *as_locked(const struct epf_tlbf_owner *o)
{
	static struct epf_locked f;

	f.ops = epf_kind_row(EPF_KIND_TLBF);
	f.tlbf = o->f;
	return &f;
}

static void tlbf_moments(const struct kind *k, const struct epf_tlbf_shape *s)
{
	struct epf_tlbf_owner o;
	char what[100];
	__u64 most;

#define NAMED(moment)                                                                             \
	(snprintf(what, sizeof(what), "tlbf k=%u l=%u keep=%u, %s", s->k, s->l, s->keep, moment), \
	 what)
	now_ns = 1;
	if (epf_tlbf_open(&o, s, 0, now_ns))
		abort();
	check_empty(as_locked(&o), NAMED("empty"));
	come(&o, 3000, 1);
	check(k, as_locked(&o), NAMED("after T"));
	come(&o, 3000, 4);
	check(k, as_locked(&o), NAMED("steady"));
	most = o.words;
	idle(SPAN * 3 / 5);
	check(k, as_locked(&o), NAMED("after a gap of .6 T"));
	come(&o, 3000, 2);
	idle(2 * SPAN);
	check_empty(as_locked(&o), NAMED("after a gap of 2 T"));
	o.max_words = most;
	come(&o, 30000, 2);
	check(k, as_locked(&o), NAMED("tenfold, no memory"));
	epf_tlbf_close(&o);
#undef NAMED
}

static void try_tlbf(const struct kind *k)
{
	static const struct epf_tlbf_shape low = { SPAN, 900, 1, 1 << 20, 20, 20, 20, 1 };
	struct epf_tlbf_owner o;
	__u32 i;

	for (i = 0; i < NR(tlbf_shapes); i++)
		tlbf_moments(k, &tlbf_shapes[i]);
	now_ns = 1;
	if (epf_tlbf_open(&o, &low, 0, now_ns))
		abort();
	come(&o, 40000, 3);
	check_low(as_locked(&o), epf_tlbf_fpr(&o.f, EPF_TLBF_COUNTED, now_ns));
	epf_tlbf_close(&o);
}

static const struct kind kinds[] = {
	{ EPF_KIND_GE, false, ge_fill, NULL, ge_low },
	{ EPF_KIND_GEBL, false, gebl_fill, gebl_alike, gebl_low },
	{ EPF_KIND_APBF, true, apbf_fill, NULL, apbf_low },
	{ EPF_KIND_APBBF, true, apbbf_fill, NULL, apbbf_low },
	{ EPF_KIND_TLBF, true, tlbf_fill, NULL, NULL },
	{ EPF_KIND_DICT, false, dict_fill, NULL, dict_low },
	{ EPF_KIND_ELASTIC, false, elastic_fill, elastic_alike, elastic_low },
};

static int claims_of(const struct kind *k)
{
	int claims = k->kind == EPF_KIND_TLBF ? NR(tlbf_shapes) * 6 + 1 : 0;
	__u32 i;

	for (i = 0; i < NR(rows); i++)
		if (rows[i].kind == k->kind)
			claims += rows[i].name ? PHASES : 1;
	return claims;
}

static bool wanted(int argc, char **argv, const struct kind *k)
{
	return argc < 2 || !strcmp(argv[1], locked_name(k->kind));
}

int main(int argc, char **argv)
{
	int claims = 0;
	__u32 i;

	for (i = 0; i < NR(kinds); i++)
		claims += wanted(argc, argv, &kinds[i]) ? claims_of(&kinds[i]) : 0;
	tap_plan(claims);
	for (i = 0; i < NR(kinds); i++)
		if (wanted(argc, argv, &kinds[i]))
			(kinds[i].kind == EPF_KIND_TLBF ? try_tlbf : try_rows)(&kinds[i]);
	return tap_end();
}
