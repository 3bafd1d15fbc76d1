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
#include "tap.h"

#include <epf/kinds.h>
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

/* A kind, without the type of its filters. */
struct ops {
	const char *kind;
	bool runs; /* a layer is a run of slices */
	void (*insert)(void *f, __u64 digest);
	int (*test)(const void *f, __u64 digest);
	void (*retire)(void *f);
	__u64 (*sweep)(void *f, __u64 at, __u64 n);
	void (*advance)(void *f);
	void (*sample)(struct epf_estimator *g, const void *f, __u64 random);
	__u64 (*rate)(const struct epf_estimator *g, const void *f);
	__u64 (*layer)(const struct epf_estimator *g, const void *f, __u32 age, __u64 *fill);
	double (*fill)(const void *f, __u32 age); /* counted */
	/* are epochs correlated: do they match together more often than by chance? */
	bool (*alike)(const void *f);
};

#define OPS(name, of_runs, alike)                                                          \
	static void name##_insert(void *f, __u64 digest)                                   \
	{                                                                                  \
		epf_##name##_insert((struct epf_##name *)f, digest);                       \
	}                                                                                  \
	static int name##_test(const void *f, __u64 digest)                                \
	{                                                                                  \
		return epf_##name##_test((const struct epf_##name *)f, digest);            \
	}                                                                                  \
	static void name##_retire(void *f)                                                 \
	{                                                                                  \
		epf_##name##_retire((struct epf_##name *)f);                               \
	}                                                                                  \
	static __u64 name##_sweep(void *f, __u64 at, __u64 n)                              \
	{                                                                                  \
		return epf_##name##_sweep((struct epf_##name *)f, at, n);                  \
	}                                                                                  \
	static void name##_advance(void *f)                                                \
	{                                                                                  \
		epf_##name##_advance((struct epf_##name *)f);                              \
	}                                                                                  \
	static void name##_sample(struct epf_estimator *g, const void *f, __u64 random)    \
	{                                                                                  \
		epf_##name##_sample(g, (const struct epf_##name *)f, random);              \
	}                                                                                  \
	static __u64 name##_rate(const struct epf_estimator *g, const void *f)             \
	{                                                                                  \
		return epf_##name##_rate_q56(g, (const struct epf_##name *)f);             \
	}                                                                                  \
	static __u64 name##_layer(const struct epf_estimator *g, const void *f, __u32 age, \
				  __u64 *fill)                                             \
	{                                                                                  \
		return epf_##name##_layer_q56(g, (const struct epf_##name *)f, age, fill); \
	}                                                                                  \
	static const struct ops name##_ops = {                                             \
		#name,         of_runs,      name##_insert,  name##_test,                  \
		name##_retire, name##_sweep, name##_advance, name##_sample,                \
		name##_rate,   name##_layer, name##_fill,    alike,                        \
	}

static double share(const __u64 *word, __u64 words, __u64 bits)
{
	__u64 set = 0, i;

	for (i = 0; i < words; i++)
		set += epf_popcount(word[i]);
	return (double)set / (double)bits;
}

static double ge_fill(const void *filter, __u32 age)
{
	const struct epf_ge *f = (const struct epf_ge *)filter;
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

static double gebl_fill(const void *filter, __u32 age)
{
	const struct epf_gebl *f = (const struct epf_gebl *)filter;
	__u32 n = epf_gebl_block(&f->shape);
	double sum = 0;
	__u64 i;

	for (i = 0; i < f->shape.blocks; i++)
		sum += share(f->word + i * epf_gebl_group(&f->shape) + epf_gebl_segment(f, age) * n,
			     n, 64 * n);
	return sum / (double)f->shape.blocks;
}

static double apbf_fill(const void *filter, __u32 age)
{
	const struct epf_apbf *f = (const struct epf_apbf *)filter;

	return share(f->word + epf_aged_place(&f->ring, age) * f->slice_words, f->slice_words,
		     f->shape.slice_bits);
}

static double apbbf_fill(const void *filter, __u32 age)
{
	const struct epf_apbbf *f = (const struct epf_apbbf *)filter;

	return share(f->word + epf_aged_place(&f->ring, age) * f->slice_words, f->slice_words,
		     64 * f->slice_words);
}

static double dict_fill(const void *filter, __u32 age)
{
	const struct epf_dict *f = (const struct epf_dict *)filter;
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
static double elastic_fill(const void *filter, __u32 age)
{
	const struct epf_elastic *f = (const struct epf_elastic *)filter;
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

static bool independent(const void *f)
{
	return false;
}

/* Double hashing makes epochs correlated, the more so the fewer distinct positions a
 * key has.
 */
static bool gebl_alike(const void *f)
{
	return ((const struct epf_gebl *)f)->shape.offsets == EPF_GEBL_DOUBLE;
}

/* Crowded lines err in all epochs. */
static bool elastic_alike(const void *f)
{
	return true;
}

OPS(ge, false, independent);
OPS(gebl, false, gebl_alike);
OPS(apbf, true, independent);
OPS(apbbf, true, independent);
OPS(dict, false, independent);
OPS(elastic, false, elastic_alike);

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

static void estimator(const struct ops *ops, const void *f, struct moment *m)
{
	static struct epf_estimator g;
	__u32 i, age;
	__u64 fill;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < ESTIMATES; i++) {
		memset(&g, 0, sizeof(g));
		while (g.samples < EPF_ESTIMATOR_SAMPLES)
			ops->sample(&g, f, next());
		told_add(&m->rate, ops->rate(&g, f));
		for (age = 0; age <= EPF_ESTIMATOR_LAYERS; age++) {
			told_add(&m->layer[age], ops->layer(&g, f, age, &fill));
			told_add(&m->fill[age], fill);
		}
	}
}

/* Return: number of layers whose rate disagrees with the verdicts. A verdict names the
 * youngest layer only, so hits that younger layers hide are missing; in runs of slices
 * also those of the run that begins one slice earlier.
 */
static __u32 layers_off(const struct ops *ops, const void *f, const struct moment *m,
			const __u32 *met)
{
	__u32 age, off = 0;

	for (age = 0; age <= EPF_ESTIMATOR_LAYERS; age++) {
		double p = (double)met[age] / QUERIES;
		double high = told_mean(&m->layer[age]), low = high;
		double more = margin(&m->layer[age], p, T_MANY);

		low *= 1 - told_mean(&m->rate);
		if (ops->runs && age)
			low *= 1 - told_mean(&m->fill[age - 1]);
		if (ops->alike(f))
			low = 0;
		if (age == 0)
			low = high;
		off += p < low - more || p > high + more;
	}
	return off;
}

static __u32 fills_off(const struct ops *ops, const void *f, const struct moment *m)
{
	__u32 age, off = 0;

	for (age = 0; age < EPF_ESTIMATOR_LAYERS; age++) {
		const struct told *t = &m->fill[age];

		if (t->sum > 0)
			off += fabs(told_mean(t) - ops->fill(f, age)) >
			       T_MANY * sqrt(told_var(t) / ESTIMATES) + 1e-6;
	}
	return off;
}

/* Check the estimate against the verdicts on keys never inserted. */
static void check(const struct ops *ops, const void *f, const char *what)
{
	static struct moment m;
	__u32 met[EPF_ESTIMATOR_LAYERS + 1] = { 0 };
	__u32 i, hits = 0, layers, fills;
	double p, more;

	estimator(ops, f, &m);
	for (i = 0; i < QUERIES; i++) {
		int verdict = ops->test(f, next());

		if (verdict == EPF_ABSENT)
			continue;
		met[verdict - EPF_PRESENT]++;
		hits++;
	}
	p = (double)hits / QUERIES;
	more = margin(&m.rate, p, T_999);
	layers = layers_off(ops, f, &m, met);
	fills = fills_off(ops, f, &m);
	tap_ok(fabs(told_mean(&m.rate) - p) <= more && !layers && !fills,
	       "%s: told %.6f, met %.6f +- %.6f, one estimate +- %.1f %%; off: %u layers, %u fills",
	       what, told_mean(&m.rate), p, more,
	       100 * sqrt(told_var(&m.rate)) / fmax(told_mean(&m.rate), 1e-30), layers, fills);
}

static void check_empty(const struct ops *ops, const void *f, const char *what)
{
	static struct moment m;
	__u32 age;
	double sum = 0;

	estimator(ops, f, &m);
	for (age = 0; age <= EPF_ESTIMATOR_LAYERS; age++)
		sum += m.layer[age].sum + m.fill[age].sum;
	tap_ok(m.rate.sum + sum == 0, "%s: told 0", what);
}

/* Check every single estimate against a prediction. */
static void check_low(const struct ops *ops, const void *f, double p)
{
	static struct moment m;

	estimator(ops, f, &m);
	tap_ok(m.rate.least >= p / FACTOR && m.rate.most <= p * FACTOR,
	       "%s, low: predicted %.3g, told %.3g to %.3g", ops->kind, p, m.rate.least,
	       m.rate.most);
}

/* --- the kinds that rotate ------------------------------------------------ */

enum phase { EMPTY, HALF, MANY, FULL, RETIRED, OVERFULL, PHASES };

static const char *const phases[] = {
	"empty", "half an epoch",       "half an epoch after many",
	"full",  "retired, half swept", "tenfold",
};

static void insert(const struct ops *ops, void *f, __u64 keys)
{
	while (keys--)
		ops->insert(f, next());
}

/* Retire and sweep; where @until_word is set, sweep up to that word only. */
static void rotate(const struct ops *ops, void *f, __u64 until_word)
{
	__u64 at = 0;

	ops->retire(f);
	if (until_word) {
		ops->sweep(f, 0, until_word);
		return;
	}
	do
		at = ops->sweep(f, at, 1000);
	while (at);
	ops->advance(f);
}

static void bring(const struct ops *ops, void *f, enum phase phase, __u32 layers, __u64 keys)
{
	__u32 i;

	if (phase == EMPTY)
		return;
	if (phase == OVERFULL)
		keys *= 10;
	for (i = 0; i < 2 * layers && phase != HALF; i++) {
		insert(ops, f, keys);
		rotate(ops, f, 0);
	}
	insert(ops, f, phase == HALF || phase == MANY ? keys / 2 : keys);
	if (phase == RETIRED) {
		rotate(ops, f, 100);
		insert(ops, f, keys / 4);
	}
}

/**
 * struct row - a filter to make
 * @name: its name in test names
 * @keys: keys of an epoch or generation
 * @shape: its shape
 */
#define ROW(kind)                            \
	static const struct {                \
		const char *name;            \
		__u64 keys;                  \
		struct epf_##kind##_shape s; \
	} kind##_rows[]

ROW(ge) = {
	{ "r=7 k=8 cells", 2857, { 31000, 7, 8, EPF_GE_TRANSPOSED } },
	{ "r=8 k=9 segments", 2500, { 28001, 8, 9, EPF_GE_SEGMENTS } },
	{ "r=31 k=7 cells", 900, { 9999, 31, 7, EPF_GE_TRANSPOSED } },
	{ "r=7 k=12, double hashing tells", 40, { 701, 7, 12, EPF_GE_SEGMENTS } },
};

ROW(gebl) = {
	{ "B=64 r=7 k=5", 2857, { 700, 64, 7, 5, EPF_GEBL_DISTINCT } },
	{ "B=512 r=8 k=9", 2500, { 66, 512, 8, 9, EPF_GEBL_DISTINCT } },
	{ "B=128 r=31 k=6", 1000, { 110, 128, 31, 6, EPF_GEBL_DISTINCT } },
	{ "B=256 r=8 k=9 double", 2500, { 130, 256, 8, 9, EPF_GEBL_DOUBLE } },
	{ "B=64 r=4 k=4 double", 1000, { 300, 64, 4, 4, EPF_GEBL_DOUBLE } },
};

ROW(apbf) = {
	{ "k=9 l=11", 300, { 4001, 9, 11 } },
	{ "k=5 l=3", 900, { 7000, 5, 3 } },
	{ "k=14 l=100", 60, { 1290, 14, 100 } },
};

ROW(apbbf) = {
	{ "B=512 b=1 k=9 l=11", 400, { 11, 9, 11, 512, 1 } },
	{ "B=64 b=4 k=3 l=9", 1600, { 300, 3, 9, 64, 4 } },
	{ "B=128 b=16 k=2 l=20", 1900, { 400, 2, 20, 128, 16 } },
	{ "B=256 b=2 k=6 l=8", 1200, { 60, 6, 8, 256, 2 } },
};

ROW(dict) = {
	{ "c=4 d=3 rem=7", 2400, { 154, 20, 4, 3, 7, 112, 2 } },
	{ "c=4 one line", 2800, { 390, 80, 4, 3, 7, 70, 1 } },
	{ "c=9, pass marks", 1950, { 160, 2, 9, 4, 2, 150, 2 } },
	{ "c=19, the backyard tells", 515, { 80, 60, 19, 5, 2, 150, 2 } },
};

ROW(elastic) = {
	{ "r=7", 2857, { 300, 16, 7 } },
	{ "r=5, 64 bytes", 2000, { 500, 8, 5 } },
	{ "r=2", 3000, { 110, 16, 2 } },
};

#define GE_LAYERS(s) ((s)->epochs + 1)
#define AGED_LAYERS(s) ((s)->k + (s)->l)
#define DICT_LAYERS(s) ((s)->generations + 1)

/* Defines make_ge() and so on; @f owns the memory. */
#define MAKE(kind)                                                                        \
	static void make_##kind(struct epf_##kind *f, const struct epf_##kind##_shape *s) \
	{                                                                                 \
		__u64 bytes = epf_##kind##_words(s) * sizeof(__u64);                      \
                                                                                          \
		f->word = (__u64 *)aligned_alloc(64, bytes);                              \
		if (!f->word || epf_##kind##_init(f, s))                                  \
			abort();                                                          \
		memset(f->word, 0, bytes);                                                \
	}

#define TRY(kind, layers)                                                                        \
	MAKE(kind)                                                                               \
	static void try_##kind(void)                                                             \
	{                                                                                        \
		struct epf_##kind f;                                                             \
		char what[100];                                                                  \
		__u32 i, phase;                                                                  \
                                                                                                 \
		for (i = 0; i < NR(kind##_rows) * PHASES; i++) {                                 \
			phase = i % PHASES;                                                      \
			make_##kind(&f, &kind##_rows[i / PHASES].s);                             \
			bring(&kind##_ops, &f, (enum phase)phase,                                \
			      layers(&kind##_rows[i / PHASES].s), kind##_rows[i / PHASES].keys); \
			snprintf(what, sizeof(what), #kind " %s, %s",                            \
				 kind##_rows[i / PHASES].name, phases[phase]);                   \
			(phase ? check : check_empty)(&kind##_ops, &f, what);                    \
			free(f.word);                                                            \
		}                                                                                \
		low_##kind();                                                                    \
	}

#define LOW(kind, layers, shape, keys, predicted)                                          \
	static void make_##kind(struct epf_##kind *f, const struct epf_##kind##_shape *s); \
	static void low_##kind(void)                                                       \
	{                                                                                  \
		static const struct epf_##kind##_shape s = shape;                          \
		struct epf_##kind f;                                                       \
                                                                                           \
		make_##kind(&f, &s);                                                       \
		bring(&kind##_ops, &f, FULL, layers(&s), keys);                            \
		check_low(&kind##_ops, &f, predicted);                                     \
		free(f.word);                                                              \
	}

#define SHAPE(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define LOAD(keys) (&(struct epf_aged_load){ keys, 1 })

LOW(ge, GE_LAYERS, SHAPE(350000, 7, 17, EPF_GE_TRANSPOSED), 11000, epf_ge_fpr(&s, 11000, 11000))
LOW(gebl, GE_LAYERS, SHAPE(1500, 512, 7, 13, EPF_GEBL_DISTINCT), 20000,
    epf_gebl_fpr(&s, 20000, 20000))
LOW(apbf, AGED_LAYERS, SHAPE(81000, 19, 20), 3000, epf_apbf_fpr(&s, LOAD(3000)))
LOW(apbbf, AGED_LAYERS, SHAPE(1000, 8, 12, 128, 2), 4700, epf_apbbf_fpr(&s, LOAD(4700)))
LOW(elastic, GE_LAYERS, SHAPE(700, 16, 7), 3500, epf_elastic_fpr(&s, 3500, 3500))
LOW(dict, DICT_LAYERS, SHAPE(400, 50, 4, 3, 13, 56, 2), 3500, epf_dict_fpr(&s, 3500, 3500))

TRY(ge, GE_LAYERS)
TRY(gebl, GE_LAYERS)
TRY(apbf, AGED_LAYERS)
TRY(apbbf, AGED_LAYERS)
TRY(dict, DICT_LAYERS)
TRY(elastic, GE_LAYERS)

/* --- tlbf ----------------------------------------------------------------- */

#define SPAN 4000000ULL /* T, ns */

static __u64 now_ns;

static int tlbf_test(const void *f, __u64 digest)
{
	return epf_tlbf_test((const struct epf_tlbf *)f, digest, now_ns);
}

static void tlbf_sample(struct epf_estimator *g, const void *f, __u64 random)
{
	epf_tlbf_sample(g, (const struct epf_tlbf *)f, now_ns, random);
}

static __u64 tlbf_rate(const struct epf_estimator *g, const void *f)
{
	return epf_tlbf_rate_q56(g, (const struct epf_tlbf *)f, now_ns);
}

static __u64 tlbf_layer(const struct epf_estimator *g, const void *f, __u32 age, __u64 *fill)
{
	return epf_tlbf_layer_q56(g, (const struct epf_tlbf *)f, now_ns, age, fill);
}

static double tlbf_fill(const void *filter, __u32 age)
{
	const struct epf_tlbf *f = (const struct epf_tlbf *)filter;
	const struct epf_tlbf_slice *s = epf_tlbf_at(f, age);

	return share(s->word, s->words, 64 * s->words);
}

static const struct ops tlbf_ops = {
	"tlbf", true,        NULL,      tlbf_test,  NULL,      NULL,
	NULL,   tlbf_sample, tlbf_rate, tlbf_layer, tlbf_fill, independent,
};

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

static void tlbf_moments(const struct epf_tlbf_shape *s)
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
	check_empty(&tlbf_ops, &o.f, NAMED("empty"));
	come(&o, 3000, 1);
	check(&tlbf_ops, &o.f, NAMED("after T"));
	come(&o, 3000, 4);
	check(&tlbf_ops, &o.f, NAMED("steady"));
	most = o.words;
	idle(SPAN * 3 / 5);
	check(&tlbf_ops, &o.f, NAMED("after a gap of .6 T"));
	come(&o, 3000, 2);
	idle(2 * SPAN);
	check_empty(&tlbf_ops, &o.f, NAMED("after a gap of 2 T"));
	o.max_words = most;
	come(&o, 30000, 2);
	check(&tlbf_ops, &o.f, NAMED("tenfold, no memory"));
	epf_tlbf_close(&o);
#undef NAMED
}

static void try_tlbf(void)
{
	static const struct epf_tlbf_shape low = { SPAN, 900, 1, 1 << 20, 20, 20, 20, 1 };
	struct epf_tlbf_owner o;
	__u32 i;

	for (i = 0; i < NR(tlbf_shapes); i++)
		tlbf_moments(&tlbf_shapes[i]);
	now_ns = 1;
	if (epf_tlbf_open(&o, &low, 0, now_ns))
		abort();
	come(&o, 40000, 3);
	check_low(&tlbf_ops, &o.f, epf_tlbf_fpr(&o.f, EPF_TLBF_COUNTED, now_ns));
	epf_tlbf_close(&o);
}

static const struct {
	const char *name;
	void (*try)(void);
	int claims;
} kinds[] = {
	{ "ge", try_ge, NR(ge_rows) * PHASES + 1 },
	{ "gebl", try_gebl, NR(gebl_rows) * PHASES + 1 },
	{ "apbf", try_apbf, NR(apbf_rows) * PHASES + 1 },
	{ "apbbf", try_apbbf, NR(apbbf_rows) * PHASES + 1 },
	{ "tlbf", try_tlbf, NR(tlbf_shapes) * 6 + 1 },
	{ "dict", try_dict, NR(dict_rows) * PHASES + 1 },
	{ "elastic", try_elastic, NR(elastic_rows) * PHASES + 1 },
};

static bool wanted(int argc, char **argv, __u32 kind)
{
	return argc < 2 || !strcmp(argv[1], kinds[kind].name);
}

int main(int argc, char **argv)
{
	int claims = 0;
	__u32 i;

	for (i = 0; i < NR(kinds); i++)
		claims += wanted(argc, argv, i) ? kinds[i].claims : 0;
	tap_plan(claims);
	for (i = 0; i < NR(kinds); i++)
		if (wanted(argc, argv, i))
			kinds[i].try();
	return tap_end();
}
