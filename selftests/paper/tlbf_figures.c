// SPDX-License-Identifier: GPL-2.0
/*
 * Figures 1 to 5: filters planned for a tenth and for ten times the keys that arrive in T,
 * by the paper's rules, at one rate from the first key on.
 */
#include "tlbf.h"

#define SPANS 8.0     /* T, of each run */
#define LAST 7.0      /* steady from here on */
#define SLACK .02     /* tolerance for words, and for whole keys per generation */
#define ONE_PERCENT 1 /* index in tlbf_pairs of the error of Figures 1 to 3 */
#define POINTS 8      /* number of error measurements per T */

struct paper_figures {
	const struct paper *p;
	double keys; /* per T */
	FILE *sizes, *errors;
};

/**
 * struct result - what one filter did
 * @over: planned for more keys than arrive
 * @slices: settled number of slices, and the time since when it has been settled
 * @slice0: likewise, bits of slice 0
 * @bits: likewise, bits per key
 * @error: predicted, in the last T; @error_most: maximum before that
 * @reached: when the error first was at least what it is in the last T
 * @shrunk: bits of slice 0 after the first shift
 * @first: time of that shift
 * @lost: keys of the window that were not found
 * @hits: found absent keys in the last T, of @queries; and as predicted from the bits
 */
struct result {
	const struct pairs *pairs;
	unsigned int k, l;
	bool over;
	struct range slices, slices_all, slice0, bits, error;
	double slices_since, slice0_since, bits_since, reached;
	double error_most;
	double shrunk, first;
	__u32 lost;
	double hits, queries, predicted;
};

static const char *group(const char *under, const char *over, const struct result *r)
{
	return r->over ? over : under;
}

/* Check a property of one filter or, if @r is NULL, of several. */
__attribute__((format(printf, 6, 7))) static void law(const struct paper_figures *fig,
						      const char *in, const struct result *r,
						      const char *words, bool holds,
						      const char *note, ...)
{
	char item[200], text[200];
	va_list args;

	va_start(args, note);
	vsnprintf(text, sizeof(text), note, args);
	va_end(args);
	if (r)
		snprintf(item, sizeof(item), "k=%u l=%u: %s", r->k, r->l, words);
	else
		snprintf(item, sizeof(item), "%s", words);
	paper_row(fig->p, in, item, "", "law", text, "%d", holds);
}

/* --- a run ---------------------------------------------------------------- */

static __u64 queries_for(const struct paper_figures *fig, double error)
{
	return (__u64)fmin((fig->p->quick ? 8 : 200) / error, fig->p->quick ? 2e5 : 1e6);
}

static void measure(const struct paper_figures *fig, struct result *r, struct flow *f)
{
	__u64 queries = queries_for(fig, strtod(r->pairs->error, NULL));
	double hits = (double)flow_false(f, queries);
	double counted = epf_tlbf_fpr(&f->o.f, EPF_TLBF_COUNTED, f->now);
	struct paper_rate rate = paper_rate(hits, (double)queries);

	fprintf(fig->errors, "%s,%s,%.4f,%.4g,%.4g,%.4g,%.4g\n", r->over ? "over" : "under",
		r->pairs->error, flow_time(f), counted, rate.rate, rate.low, rate.high);
	if (flow_time(f) < LAST)
		return;
	r->hits += hits;
	r->queries += (double)queries;
	r->predicted += counted * (double)queries;
}

static void first_shift(struct result *r, const struct flow *f)
{
	__u32 i = 0;

	while (i + 1 < f->nr_seen && f->seen[i].slice0 == f->seen[0].slice0)
		i++;
	r->shrunk = (double)f->seen[i].slice0;
	r->first = f->seen[i].time;
}

static double reached(const struct flow *f, double error)
{
	__u32 i = 0;

	while (i + 1 < f->nr_seen && f->seen[i].error < error)
		i++;
	return f->seen[i].time;
}

static void conclude(struct result *r, const struct flow *f)
{
	r->slices = flow_range(f, LAST, SPANS, sample_slices);
	r->slices_all = flow_range(f, 0, SPANS, sample_slices);
	r->slices_since = flow_settled(f, r->slices, 0, sample_slices);
	r->slice0 = flow_range(f, LAST, SPANS, sample_slice0);
	r->slice0_since = flow_settled(f, r->slice0, 128 / r->slice0.low, sample_slice0);
	r->bits = flow_range(f, LAST, SPANS, sample_bits);
	r->bits_since = flow_settled(f, r->bits, SLACK, sample_bits);
	r->error = flow_range(f, LAST, SPANS, sample_error);
	r->error_most = flow_range(f, 0, LAST, sample_error).high;
	r->reached = reached(f, r->error.low);
	first_shift(r, f);
	r->lost = f->lost;
}

static void write_samples(const struct paper_figures *fig, const struct result *r,
			  const struct flow *f)
{
	__u32 i;

	for (i = 0; i < f->nr_seen; i++) {
		const struct sample *s = &f->seen[i];

		fprintf(fig->sizes, "%s,%s,%u,%u,%.4f,%u,%llu,%.3f,%.4g\n",
			r->over ? "over" : "under", r->pairs->error, r->k, r->l, s->time, s->slices,
			s->slice0, s->bits_per_key, s->error);
	}
}

static struct result run(const struct paper_figures *fig, const struct pairs *pairs, int pair,
			 bool over)
{
	struct result r = {
		.pairs = pairs, .k = pairs->k[pair], .l = pairs->l[pair], .over = over
	};
	struct epf_tlbf_shape shape = flow_shape(r.k, r.l, false, fig->keys * (over ? 10 : .1));
	struct flow f;
	int i;

	flow_open(&f, &shape, 100);
	for (i = 1; i <= SPANS * POINTS; i++) {
		flow_drive(&f, i / (double)POINTS - flow_time(&f), fig->keys);
		if (!pair)
			measure(fig, &r, &f);
	}
	conclude(&r, &f);
	if (!pair || pairs == &tlbf_pairs[ONE_PERCENT])
		write_samples(fig, &r, &f);
	flow_close(&f);
	return r;
}

/* --- Figures 1 and 2 ------------------------------------------------------ */

static void slices_law(const struct paper_figures *fig, const struct result *r)
{
	double base = r->k + r->l;
	bool end = r->slices.low == base && r->slices.high == base;

	if (r->over)
		law(fig, "Figure 2", r, "slices are k + l throughout",
		    r->slices_all.low == base && r->slices_all.high == base, "%.0f to %.0f",
		    r->slices_all.low, r->slices_all.high);
	else
		law(fig, "Figure 1", r, "slices are added and go back to k + l",
		    end && r->slices_all.high > base && r->slices_since < LAST,
		    "at most %.0f; %.0f since %.2f T", r->slices_all.high, base, r->slices_since);
}

static void slice0_law(const struct paper_figures *fig, const struct result *r)
{
	double right = r->k * fig->keys / r->l / log(2);
	double off = 64 +
		     2 * r->k / log(2); /* one word, and rounding up the number of keys twice */
	bool end = r->slice0.low >= right && r->slice0.high <= right + off;

	if (r->over)
		law(fig, "Figure 2", r, "slice 0 has the size of the rate from the first shift on",
		    end && r->slice0_since <= r->first,
		    "%.0f bits since %.2f T; k W / l ln 2 = %.0f", r->shrunk, r->first, right);
	else
		law(fig, "Figure 1", r, "slice 0 grows to the size of the rate and keeps it",
		    end && r->shrunk < right && r->slice0_since < LAST,
		    "%.0f bits since %.2f T; k W / l ln 2 = %.0f", r->slice0.high, r->slice0_since,
		    right);
}

/* --- Figure 3 ------------------------------------------------------------- */

static void bits_law(const struct paper_figures *fig, const struct result *r)
{
	double bits = r->k * (r->k + r->l) / log(2);

	law(fig, "Figure 3", r,
	    r->over ? "over-dimensioned: bits a key settle" :
		      "under-dimensioned: bits a key settle",
	    r->bits_since < LAST && r->bits.low > bits / (r->l + 1) * (1 - SLACK) &&
		    r->bits.high < bits / r->l * (1 + SLACK),
	    "%.1f to %.1f since %.2f T; by Table 2's count %.1f to %.1f", r->bits.low, r->bits.high,
	    r->bits_since, bits / (r->l + 1), bits / r->l);
}

/* --- Figures 4 and 5 ------------------------------------------------------ */

/* At the middle of the zig-zag; the first pairs deviate by themselves. */
static void error_rows(const struct paper_figures *fig, const struct result *r)
{
	const char *in = group("Figure 4", "Figure 5", r);
	char item[100], note[200];

	snprintf(item, sizeof(item), "k=%u l=%u: error in the end", r->k, r->l);
	snprintf(note, sizeof(note), "predicted from keys; least and most in a generation");
	fprintf(fig->p->side, "%s,%s,%s,%.4g,%.4g,%.4g,within:0.25,%s\n", in, item, r->pairs->error,
		(r->error.low + r->error.high) / 2, r->error.low, r->error.high, note);
	if (r->over)
		law(fig, in, r, "error is never above what it is in the end",
		    r->error_most <= r->error.high * (1 + SLACK),
		    "most before %.4g; reaches that of the end after %.2f T", r->error_most,
		    r->reached);
}

static void measured_rows(const struct paper_figures *fig, const struct result *r)
{
	struct paper_rate rate = paper_rate(r->hits, r->queries);
	double predicted = r->predicted / r->queries;

	law(fig, group("Figure 4", "Figure 5", r), r,
	    "error measured is that predicted from the bits",
	    rate.low <= predicted && predicted <= rate.high,
	    "%.4g (%.4g to %.4g of %.2g queries); predicted %.4g", rate.rate, rate.low, rate.high,
	    r->queries, predicted);
}

static void growth_row(const struct paper_figures *fig, const struct result *r)
{
	char item[100], note[100], paper[40];

	snprintf(item, sizeof(item), "k=%u l=%u: most error while slices come", r->k, r->l);
	snprintf(paper, sizeof(paper), "a bit over %s", r->pairs->error);
	snprintf(note, sizeof(note), "%.2f times the configured; made for a tenth of the keys",
		 r->error_most / strtod(r->pairs->error, NULL));
	paper_row(fig->p, "Figure 4", item, paper, "report", note, "%.4g", r->error_most);
}

/* --- several filters ------------------------------------------------------ */

static double zigzag(const struct result *r)
{
	return r->error.high / r->error.low;
}

/* Does @of decrease from each filter to the next? */
static bool falls(const struct result *r, int nr, double (*of)(const struct result *r))
{
	int i;

	for (i = 1; i < nr; i++)
		if (of(&r[i]) >= of(&r[i - 1]))
			return false;
	return true;
}

static double when_slices(const struct result *r)
{
	return r->slices_since;
}

static double when_first(const struct result *r)
{
	return r->first;
}

static double most_error(const struct result *r)
{
	return r->error_most / strtod(r->pairs->error, NULL);
}

/* The filters of one error, by increasing k. */
static void pairs_laws(const struct paper_figures *fig, const struct result *r)
{
	const struct result *last = &r[PAIRS - 1];
	const char *in = group("Figure 4", "Figure 5", r);
	char words[100];

	snprintf(words, sizeof(words), "error %s: less zig-zag with each larger k and l",
		 r->pairs->error);
	law(fig, in, NULL, words, falls(r, PAIRS, zigzag), "most over least %.2f to %.2f",
	    zigzag(r), zigzag(last));
	if (!r->over)
		law(fig, in, NULL, "slices that come cost less error with each larger k and l",
		    falls(r, PAIRS, most_error), "%.2f to %.2f times the configured %s",
		    most_error(r), most_error(last), r->pairs->error);
	if (r->pairs != &tlbf_pairs[ONE_PERCENT])
		return;
	law(fig, group("Figure 1", "Figure 2", r), NULL, "lower k and l take longer to settle",
	    falls(r, PAIRS, r->over ? when_first : when_slices), "%.2f T to %.2f T",
	    r->over ? r->first : r->slices_since, r->over ? last->first : last->slices_since);
}

/* The pairs of one error, planned for too many and for too few keys. Return: result of the
 * first pair.
 */
static void one_error(const struct paper_figures *fig, int error, struct result first[2])
{
	struct result r[2][PAIRS];
	int over, i;

	for (over = 0; over < 2; over++) {
		for (i = 0; i < PAIRS; i++) {
			r[over][i] = run(fig, &tlbf_pairs[error], i, over);
			if (error == ONE_PERCENT) {
				slices_law(fig, &r[over][i]);
				slice0_law(fig, &r[over][i]);
				bits_law(fig, &r[over][i]);
			}
			error_rows(fig, &r[over][i]);
			if (!i)
				measured_rows(fig, &r[over][i]);
			if (!over)
				growth_row(fig, &r[over][i]);
		}
		pairs_laws(fig, r[over]);
		first[over] = r[over][0];
	}
	for (i = 0; error == ONE_PERCENT && i < PAIRS; i++)
		law(fig, "Figure 3", &r[0][i],
		    "over-dimensioned takes longer than under-dimensioned",
		    r[1][i].bits_since > r[0][i].bits_since, "%.2f T; %.2f T", r[1][i].bits_since,
		    r[0][i].bits_since);
	for (over = 0; over < 2; over++)
		for (i = 0; i < PAIRS; i++)
			first[over].lost += i ? r[over][i].lost : 0;
}

void tlbf_figures(const struct paper *p)
{
	struct paper_figures fig = { .p = p, .keys = p->quick ? 4000 : 50000 };
	struct result first[ERRORS][2];
	int error, over;

	fig.sizes = paper_table(p, "sizes",
				"start,configured,k,l,time,slices,slice0_bits,bits_per_key,error");
	fig.errors = paper_table(p, "errors", "start,configured,time,predicted,measured,low,high");
	for (error = 0; error < ERRORS; error++)
		one_error(&fig, error, first[error]);
	for (over = 0; over < 2; over++) {
		struct result lowest[ERRORS];
		__u32 lost = 0;

		for (error = 0; error < ERRORS; error++) {
			lowest[error] = first[error][over];
			lost += lowest[error].lost;
		}
		law(&fig, over ? "Figure 5" : "Figure 4", NULL,
		    "less zig-zag at the smallest error than at the greatest",
		    zigzag(&lowest[ERRORS - 1]) < zigzag(lowest),
		    "most over least %.2f; %.2f; %.2f; %.2f; %.2f", zigzag(lowest),
		    zigzag(&lowest[1]), zigzag(&lowest[2]), zigzag(&lowest[3]), zigzag(&lowest[4]));
		law(&fig, over ? "Figure 5" : "Figure 4", NULL, "every key of the last T is found",
		    !lost, "%u lost; the oldest and a random one looked for at each key", lost);
	}
	paper_close(fig.sizes);
	paper_close(fig.errors);
}
