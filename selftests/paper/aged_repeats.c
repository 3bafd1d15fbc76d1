// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: Figures 7 and 8, the error if keys repeat.
 *
 * The paper measures repeats by 1 - |unique(W)| / |W|, where W is the last 1000 insertions,
 * and calls them uniform. We infer that keys are drawn uniformly from a fixed set, whose
 * size determines the rate. What the paper says about Zipf's distribution without a figure
 * is measured in the same way, with exponent 1.
 */
#include "aged.h"

#define WINDOW 1000u
#define RATES 10 /* 0, .1, .2, .. .9 */
#define NO_SET 0 /* all keys differ */
#define SET_MAX (1 << 16)

/**
 * struct keys - the set that keys are drawn from
 * @size: number of keys, or NO_SET
 * @below: probability of this key or one with a lower number; NULL: uniform
 */
struct keys {
	unsigned int size;
	double *below;
};

/* Expected number of distinct keys among @n draws. */
static double distinct(const struct keys *from, double n)
{
	double sum = 0;
	unsigned int i;

	if (from->size == NO_SET)
		return n;
	if (!from->below)
		return -expm1(n * log1p(-1. / from->size)) * from->size;
	for (i = 0; i < from->size; i++)
		sum -= expm1(n * log1p(-(from->below[i] - (i ? from->below[i - 1] : 0))));
	return sum;
}

static void weigh(struct keys *from)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i < from->size; i++) {
		sum += 1. / (i + 1);
		from->below[i] = sum;
	}
	for (i = 0; i < from->size; i++)
		from->below[i] /= sum;
}

/* The set for which a share @rate of a window are repeats. */
static struct keys keys_for(double rate, bool zipf)
{
	struct keys from = { NO_SET, zipf ? calloc(SET_MAX, sizeof(double)) : NULL };
	unsigned int low = 2, high = SET_MAX;

	if (!(rate > 0))
		return from;
	while (low < high) {
		from.size = low + (high - low) / 2;
		if (zipf)
			weigh(&from);
		if (1 - distinct(&from, WINDOW) / WINDOW > rate)
			low = from.size + 1;
		else
			high = from.size;
	}
	from.size = low;
	if (zipf)
		weigh(&from);
	return from;
}

static __u64 draw(const struct keys *from, __u64 seed, __u64 n)
{
	__u64 random = epf_word(seed, n);
	unsigned int low = 0, high = from->size - 1;
	double at = (double)(random >> 11) * 0x1p-53;

	if (from->size == NO_SET)
		return n;
	if (!from->below)
		return epf_mulhi(random, from->size);
	while (low < high) {
		unsigned int mid = low + (high - low) / 2;

		if (from->below[mid] > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Probability of a hit in a slice that received @keys distinct keys. */
static double fill_of(const struct epf_apbf_shape *z, double keys)
{
	struct epf_apbf_shape one = { z->slice_bits, 1, 1 };
	struct epf_aged_load load = { keys, 1 };
	struct epf_rates r;

	epf_apbf_rates(&one, &load, EPF_APBF_EXACT, &r);
	return r.r[0];
}

/* F for the expected numbers of distinct keys. */
static double predict(const struct epf_apbf_shape *z, const struct keys *from, unsigned int keys)
{
	struct epf_rates r = { .k = z->k, .l = z->l, .phase = 1 };
	unsigned int i;

	for (i = 0; i < z->k + z->l; i++)
		r.r[i] = fill_of(z, distinct(from, epf_aged_had(&r, i) * keys));
	return epf_aged_fpr(&r);
}

/* A stream of keys that is long enough to fill every slice. */
struct stream {
	__u64 seed;
	unsigned int generations, keys; /* keys: of a generation */
	__u32 *key;
};

static struct stream stream_new(const struct epf_apbf_shape *z, const struct keys *from, __u64 seed,
				unsigned int keys)
{
	struct stream s = { seed, z->k + z->l + 1, keys, NULL };
	__u64 n, end = (__u64)s.generations * keys;

	s.key = malloc(end * sizeof(*s.key));
	if (!s.key)
		abort();
	for (n = 0; n < end; n++)
		s.key[n] = (__u32)draw(from, seed, n);
	return s;
}

/* Distinct keys of the generations @first to @last. */
static double stream_distinct(const struct stream *s, unsigned int first, unsigned int last)
{
	static unsigned char seen[SET_MAX];
	__u64 n, end = (__u64)(last + 1) * s->keys;
	double found = 0;

	memset(seen, 0, sizeof(seen));
	for (n = (__u64)first * s->keys; n < end; n++) {
		found += !seen[s->key[n]];
		seen[s->key[n]] = 1;
	}
	return found;
}

/* F for the distinct keys that this stream gave each slice. This is exactly the mean error
 * over hashes, because each slice has a hash of its own.
 */
static double due(const struct stream *s, const struct epf_apbf_shape *z)
{
	unsigned int newest = s->generations - 1, i;
	struct epf_rates r = { .k = z->k, .l = z->l, .phase = 1 };

	for (i = 0; i < z->k + z->l; i++)
		r.r[i] = fill_of(z, stream_distinct(s, newest - i,
						    i < z->k ? newest : newest - i + z->k - 1));
	return epf_aged_fpr(&r);
}

/* A filter in its steady state, just before a shift. */
static double error_of(const struct stream *s, const struct epf_apbf_shape *z)
{
	__u64 n, end = (__u64)s->generations * s->keys;
	struct epf_apbf f = apbf_new(z);
	struct epf_rates r;

	for (n = 0; n < end; n++) {
		if (n && n % s->keys == 0)
			epf_apbf_rotate(&f);
		epf_apbf_insert(&f, key_of(s->seed, s->key[n]));
	}
	r = apbf_rates(&f);
	apbf_free(&f);
	return epf_aged_fpr(&r);
}

/**
 * struct point - errors at one rate of repeats
 * @error: measured
 * @off: difference from the error that the streams imply
 * @predicted: by F and the rate
 */
struct point {
	struct mean error, off;
	double predicted;
};

/* by the rate of repeats, in tenths */
struct curve {
	struct point at[RATES];
};

static struct point point_of(unsigned int k, unsigned int l, double rate, bool zipf)
{
	struct keys from = keys_for(rate, zipf);
	struct point p = { 0 };
	unsigned int keys;
	struct epf_apbf_shape z = apbf_for_window(k, l, WINDOW, &keys);
	int n;

	p.predicted = predict(&z, &from, keys);
	for (n = 0; n < nr_filters; n++) {
		struct stream s = stream_new(&z, &from,
					     epf_word(7000 + 100 * k + (int)(10 * rate), n), keys);
		double error = error_of(&s, &z);

		mean_add(&p.error, error);
		mean_add(&p.off, error - due(&s, &z));
		free(s.key);
	}
	free(from.below);
	return p;
}

static struct curve curve_of(unsigned int k, unsigned int l)
{
	struct curve c;
	int i;

	for (i = 0; i < RATES; i++)
		c.at[i] = point_of(k, l, i / 10., false);
	return c;
}

static bool as_due(const struct curve *c)
{
	bool holds = true;
	int i;

	for (i = 0; i < RATES; i++)
		holds &= mean_is(&c->at[i].off, 0);
	return holds;
}

static double share_left(const struct curve *c, int i)
{
	return mean_of(&c->at[i].error) / mean_of(&c->at[0].error);
}

/* "An exponential decrease": by F, each tenth of repeats removes at least as large a share
 * of the remaining error as the first one. Sampling noise would hide this in measurements,
 * so of those only the decrease itself is checked.
 */
static bool exponential(const struct curve *c)
{
	bool holds = true;
	int i;

	for (i = 1; i < RATES; i++)
		holds &= c->at[i].predicted / c->at[i - 1].predicted <=
				 c->at[1].predicted / c->at[0].predicted * 1.001 &&
			 mean_of(&c->at[i].error) < mean_of(&c->at[i - 1].error);
	return holds;
}

/* Is the error of @b above that of @a at every rate of repeats? */
static bool above(const struct curve *b, const struct curve *a)
{
	bool holds = true;
	int i;

	for (i = 1; i < RATES; i++)
		holds &= share_left(b, i) > share_left(a, i);
	return holds;
}

#define CURVES 5

static void out_curves(const char *name, const char *header, const struct curve *c)
{
	FILE *t = paper_table(&paper, name, header);
	int i, j;

	for (i = 0; i < RATES; i++) {
		fprintf(t, "%.1f", i / 10.);
		for (j = 0; j < CURVES; j++)
			fprintf(t, ",%.6g,%.6g", mean_of(&c[j].at[i].error), c[j].at[i].predicted);
		fprintf(t, "\n");
	}
	paper_close(t);
}

static void out_half(const char *group, const struct sheet *s, int row, const struct curve *c)
{
	char item[64];

	snprintf(item, sizeof(item), "k=%u l=%u error at half repeats", sheet_count(s, row, "k"),
		 sheet_count(s, row, "l"));
	out_mean(group, item, "", "report", "the paper prints no number", &c->at[5].error);
}

/* Rows @first, @first + @step, .. of Table 2. */
static void out_figure(const char *group, const char *name, const char *header,
		       const struct sheet *s, int step, struct curve *c)
{
	bool right = true, falls = true;
	int i;

	for (i = 0; i < CURVES; i++) {
		c[i] = curve_of(sheet_count(s, step * i, "k"), sheet_count(s, step * i, "l"));
		out_half(group, s, step * i, &c[i]);
		right &= as_due(&c[i]);
		falls &= exponential(&c[i]);
	}
	out_law(group, "the error falls exponentially or faster with repeats", falls, "");
	out_law(group, "the error is F of the distinct keys that slices got", right,
		"each in its interval");
	out_curves(name, header, c);
}

/* Section 5.6.2: "expected to be even more abrupt". This holds if a slice receives few
 * insertions (k/l windows). If it receives more than one window, uniform draws have almost
 * exhausted the set that gives the rate, and draws by Zipf's distribution have not.
 */
static void out_zipf(const struct sheet *s, int row, const struct curve *uniform, bool abrupt)
{
	unsigned int k = sheet_count(s, row, "k"), l = sheet_count(s, row, "l");
	struct point zipf = point_of(k, l, .5, true);
	char item[80], note[80];

	snprintf(item, sizeof(item), "k=%u l=%u error at half repeats", k, l);
	snprintf(note, sizeof(note), "with uniform repeats %.4g", mean_of(&uniform->at[5].error));
	out_mean("Repeats by Zipf", item, "", "report", note, &zipf.error);
	snprintf(item, sizeof(item),
		 "k=%u l=%u the error is F of the distinct keys that slices got", k, l);
	out_law("Repeats by Zipf", item, mean_is(&zipf.off, 0), "");
	snprintf(item, sizeof(item), "k=%u l=%u the decrease is %s abrupt by F", k, l,
		 abrupt ? "more" : "less");
	out_law("Repeats by Zipf", item, (zipf.predicted < uniform->at[5].predicted) == abrupt,
		"section 5.6.2 expects more");
}

void repeats(void)
{
	struct sheet s = sheet_read("table2");
	struct curve lowest[CURVES], alike[CURVES];
	bool less = true;
	int i;

	out_figure("Figure 7", "figure7", "repeats,4 3,F,7 5,F,10 7,F,14 11,F,17 13,F", &s, 5,
		   lowest);
	out_figure("Figure 8", "figure8", "repeats,4 3,F,5 7,F,6 14,F,7 28,F,8 56,F", &s, 1, alike);
	for (i = 1; i < CURVES; i++)
		less &= above(&alike[i], &alike[i - 1]);
	out_law("Figure 8", "the more slices the less the error falls", less,
		"at each rate of repeats");
	out_zipf(&s, 0, &alike[0], false);
	out_zipf(&s, 4, &alike[4], true);
	sheet_free(&s);
}
