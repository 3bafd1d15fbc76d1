// SPDX-License-Identifier: GPL-2.0
/*
 * Cases that the paper does not test: rates that step up and down, and gaps; by the paper's
 * rules, and by the timed rules with k slices kept.
 */
#include "tlbf.h"

#define K 7
#define L 5
#define KEYS 1000  /* per T before and after, as in docs/theory/tlbf.md */
#define BEFORE 4.0 /* T; the last of them is measured */
#define AFTER 6.0

/**
 * struct script - what follows BEFORE
 * @name: name in tables and plots
 * @words: description for a row
 * @spans: duration, in T
 * @times: rate during it; 0: no keys
 * @back: rate during the AFTER that follows
 */
struct script {
	const char *name, *words;
	double spans, times, back;
};

static const struct script scripts[] = {
	{ "2x", "2x for T/2", .5, 2, 1 },          { "4x", "4x for T/2", .5, 4, 1 },
	{ "10x", "10x for T/2", .5, 10, 1 },       { "to 2x", "2x for good", 0, 1, 2 },
	{ "to 4x", "4x for good", 0, 1, 4 },       { "to 10x", "10x for good", 0, 1, 10 },
	{ "to 0.5x", "half for good", 0, 1, .5 },  { "to 0.05x", "a 20th for good", 0, 1, .05 },
	{ "gap T/2", "a gap of T/2", .5, 0, 1 },   { "gap 2 T", "a gap of 2 T", 2, 0, 1 },
	{ "gap 10 T", "a gap of 10 T", 10, 0, 1 },
};

#define SCRIPTS ((int)(sizeof(scripts) / sizeof(scripts[0])))

/**
 * struct outcome - results of one script under one set of rules
 * @slices, @error: maximum from the change on
 * @words: maximum; @words_end: in the last T
 * @error_before, @words_before: in the last T before the change
 * @error_end: in the last T
 * @calm: T from the change until the error reaches its final value
 * @kept: T for which the last key before the change was found
 * @lost: keys of the window that were not found
 */
struct outcome {
	double slices, error, words, words_end;
	double error_before, words_before, error_end;
	double calm, kept;
	__u32 lost;
};

static const char *rules(bool timed)
{
	return timed ? "timed" : "rules of the paper";
}

/* In hundredths of T; @kept: until when a key inserted before the change is found. */
static void drive_watching(struct flow *f, double spans, double rate, __u64 key, double *kept)
{
	int i;

	for (i = 0; i < spans * 100; i++) {
		if (rate)
			flow_drive(f, .01, rate);
		else
			flow_idle(f, .01);
		if (epf_tlbf_query(&f->o.f, key, f->now))
			*kept = flow_time(f) - BEFORE;
	}
}

static void write_samples(FILE *table, const struct script *s, bool timed, const struct flow *f)
{
	__u32 i;

	for (i = 0; i < f->nr_seen; i++) {
		const struct sample *at = &f->seen[i];

		if (at->time >= BEFORE - 1)
			fprintf(table, "%s,%d,%.4f,%u,%llu,%.4g\n", s->name, timed,
				at->time - BEFORE, at->slices, at->words, at->error);
	}
}

static struct outcome play(const struct script *s, bool timed, FILE *table)
{
	struct epf_tlbf_shape shape = flow_shape(K, L, timed, KEYS);
	double end = BEFORE + s->spans + AFTER;
	struct outcome o = { 0 };
	struct range last;
	struct flow f;
	__u64 key;

	flow_open(&f, &shape, 200);
	flow_drive(&f, BEFORE, KEYS);
	key = epf_word(f.seed, f.keys - 1);
	drive_watching(&f, s->spans, KEYS * s->times, key, &o.kept);
	drive_watching(&f, AFTER, KEYS * s->back, key, &o.kept);
	o.error_before = flow_range(&f, BEFORE - 1, BEFORE, sample_error).high;
	o.words_before = flow_range(&f, BEFORE - 1, BEFORE, sample_words).high;
	o.slices = flow_range(&f, BEFORE, end, sample_slices).high;
	o.error = flow_range(&f, BEFORE, end, sample_error).high;
	o.words = flow_range(&f, BEFORE, end, sample_words).high;
	last = flow_range(&f, end - 1, end, sample_error);
	o.error_end = last.high;
	o.words_end = flow_range(&f, end - 1, end, sample_words).high;
	last.low = 0;
	o.calm = fmax(flow_settled(&f, last, .02, sample_error) - BEFORE, 0);
	o.lost = f.lost;
	write_samples(table, s, timed, &f);
	flow_close(&f);
	return o;
}

__attribute__((format(printf, 5, 6))) static void report(const struct paper *p,
							 const struct script *s, bool timed,
							 const char *what, const char *ours, ...)
{
	char item[100], number[32];
	va_list args;

	va_start(args, ours);
	vsnprintf(number, sizeof(number), ours, args);
	va_end(args);
	snprintf(item, sizeof(item), "%s: %s: %s", s->words, what, rules(timed));
	paper_row(p, "Beyond the paper: measured", item, "", "report", "k=7 l=5; 1000 keys in T",
		  "%s", number);
}

__attribute__((format(printf, 6, 7))) static void law(const struct paper *p, const struct script *s,
						      bool timed, const char *words, bool holds,
						      const char *note, ...)
{
	char item[160], text[160];
	va_list args;

	va_start(args, note);
	vsnprintf(text, sizeof(text), note, args);
	va_end(args);
	snprintf(item, sizeof(item), "%s: %s: %s", s->words, rules(timed), words);
	paper_row(p, "Beyond the paper: laws", item, "", "law", text, "%d", holds);
}

static void reports(const struct paper *p, const struct script *s, const struct outcome o[2])
{
	int timed;

	for (timed = 0; timed < 2; timed++)
		report(p, s, timed, "most slices", "%.0f", o[timed].slices);
	for (timed = 0; timed < 2; timed++)
		report(p, s, timed, "most error", "%.4f", o[timed].error);
	for (timed = 0; timed < 2; timed++)
		report(p, s, timed, "words at the most and in the end over those before",
		       "%.2f and %.2f", o[timed].words / o[timed].words_before,
		       o[timed].words_end / o[timed].words_before);
	for (timed = 0; s->times * s->back < 1 && timed < 2; timed++)
		report(p, s, timed, "the last key of before is found for T times", "%.2f",
		       o[timed].kept);
}

/* Checks that hold for every rate. */
static void laws_always(const struct paper *p, const struct script *s, const struct outcome *o,
			bool timed)
{
	law(p, s, timed, "every key of the last T is found", !o->lost, "%u lost", o->lost);
	if (!timed)
		return;
	law(p, s, true, "no key is found for 2 T/l longer than T", o->kept <= 1 + 2. / L,
	    "the last of before for %.2f T", o->kept);
	law(p, s, true, "memory in the end is that of the rate",
	    o->words_end <= 1.1 * s->back * o->words_before + K + L + 1, "%.0f words; %.0f before",
	    o->words_end, o->words_before);
	law(p, s, true, "error in the end is that of before", o->error_end <= 1.1 * o->error_before,
	    "%.4f; %.4f before", o->error_end, o->error_before);
}

/* For steps up: k + 1 more slices, k of them in a row, for about T. */
static void laws_up(const struct paper *p, const struct script *s, const struct outcome *o,
		    bool timed)
{
	struct epf_rates rates;
	double fpr;

	epf_tlbf_steady(K, L + K, &rates);
	fpr = epf_aged_fpr(&rates);
	law(p, s, timed, "at most 2 k + l + 1 slices", o->slices <= 2 * K + L + 1, "%.0f",
	    o->slices);
	law(p, s, timed, "error at most that of so many half full", o->error <= fpr,
	    "%.4f; that is %.4f", o->error, fpr);
	law(p, s, timed, "over within 2 T after the rate is what it was or stays",
	    o->calm <= s->spans + 2, "%.2f T", o->calm - s->spans);
}

static void one(const struct paper *p, const struct script *s, FILE *series, FILE *table)
{
	struct outcome o[2];
	int timed;

	for (timed = 0; timed < 2; timed++) {
		o[timed] = play(s, timed, series);
		laws_always(p, s, &o[timed], timed);
		if (s->times * s->back > 1)
			laws_up(p, s, &o[timed], timed);
		fprintf(table, "%s,%s,%.0f,%.0f,%.0f,%.0f,%.4f,%.4f,%.4f,%.2f,%.2f\n", s->words,
			rules(timed), o[timed].slices, o[timed].words_before, o[timed].words,
			o[timed].words_end, o[timed].error_before, o[timed].error,
			o[timed].error_end, o[timed].calm, o[timed].kept);
	}
	if (!s->times)
		law(p, s, true, "error after the gap at most 1.25 times that before",
		    o[1].error <= 1.25 * o[1].error_before, "%.4f; %.4f", o[1].error,
		    o[1].error_before);
	reports(p, s, o);
}

void tlbf_beyond(const struct paper *p)
{
	FILE *series = paper_table(p, "changes", "change,timed,time,slices,words,error");
	FILE *table = paper_table(
		p, "beyond",
		"change,rules,most slices,words before,most words,words at the end,error before,most error,error at the end,calm after T,key found for T");
	int i;

	for (i = 0; i < SCRIPTS; i++)
		one(p, &scripts[i], series, table);
	paper_close(series);
	paper_close(table);
}
