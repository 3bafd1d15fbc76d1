/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section aged: Shtul, Baquero and Almeida, "Age-Partitioned Bloom Filters",
 * 2020, again. What its parts share.
 */
#ifndef EPF_PAPER_AGED_H
#define EPF_PAPER_AGED_H

#include "paper.h"

#include <kinds/apbbf.h>
#include <kinds/apbf.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define SLICE_LARGE (1ULL << 33) /* bits; rounding does not show */

/**
 * struct mean - of a number over independent filters
 *
 * Keys of one filter share its slices, so the filters are the sample. The
 * interval is that of Student's t, 99.9 %, two-sided.
 */
struct mean {
	double sum, squares;
	int n;
};

/* aged_sheet.c: what the paper prints, and the side by side. */

#define SHEET_ROWS 32
#define SHEET_COLUMNS 12

/**
 * struct sheet - a table as printed, data/aged_NAME.csv
 * @rows: without the header
 * @columns: of each row
 * @name: of the columns
 * @cell: text, with the digits that are printed
 * @text: owns all of it
 */
struct sheet {
	int rows, columns;
	char *name[SHEET_COLUMNS];
	char *cell[SHEET_ROWS][SHEET_COLUMNS];
	char *text;
};

/* Ends the program if the file is not there or not sound. */
struct sheet sheet_read(const char *name);
void sheet_free(struct sheet *s);
/* The text at @row under @column, which is there. */
const char *sheet_cell(const struct sheet *s, int row, const char *column);
double sheet_number(const struct sheet *s, int row, const char *column);
unsigned int sheet_count(const struct sheet *s, int row, const char *column);

/* The side by side, by @rule of page.py. Text has no commas; @paper (as printed)
 * and @note may be "".
 */
void out_number(const char *group, const char *item, const char *paper, const char *rule,
		const char *note, double ours);
void out_mean(const char *group, const char *item, const char *paper, const char *rule,
	      const char *note, const struct mean *ours);
/* A law: @item in words. */
void out_law(const char *group, const char *item, bool holds, const char *note);
/* The cell of @row, called @key, under @column: digits, or the misprint listed
 * in data/aged_misprints.csv.
 */
void out_cell(const char *group, const char *key, const struct sheet *s, int row,
	      const char *column, double ours);

/* aged_filter.c: filters in use, and means over them. */

#define FILTERS_MAX 24

/* This run, and the filters of a sample: 24, or 8 in the quick form. */
extern struct paper paper;
extern int nr_filters;

void mean_add(struct mean *m, double v);
double mean_of(const struct mean *m);
double mean_low(const struct mean *m);
double mean_high(const struct mean *m);
bool mean_is(const struct mean *m, double predicted);

/* Are @hits of @probes what a chance of @expected / @probes gives: 99.9 %? */
bool hits_are(double hits, double expected);

/* Key @n of filter @seed, and a key that is never inserted. */
__u64 key_of(__u64 seed, __u64 n);
__u64 probe_of(__u64 seed, __u64 n);

struct epf_apbf apbf_new(const struct epf_apbf_shape *s);
void apbf_free(struct epf_apbf *f);
/* Generations of @keys, the last one complete: the worst phase. Key n is of
 * generation n / @keys.
 */
void apbf_fill(struct epf_apbf *f, __u64 seed, unsigned int generations, unsigned int keys);
/* The chance of a hit for a key never inserted, slice by slice, as the memory
 * has it. Hashes of slices are independent, so that epf_aged_fpr() of it is the
 * error of this very filter, without the noise of probing.
 */
struct epf_rates apbf_rates(const struct epf_apbf *f);
/* Algorithm 1, its accesses added to @accesses. */
bool apbf_counted(const struct epf_apbf *f, __u64 digest, double *accesses);

struct epf_apbbf apbbf_new(const struct epf_apbbf_shape *s);
void apbbf_free(struct epf_apbbf *f);
void apbbf_fill(struct epf_apbbf *f, __u64 seed, unsigned int generations, unsigned int keys);
struct epf_rates apbbf_rates(const struct epf_apbbf *f);
bool apbbf_counted(const struct epf_apbbf *f, __u64 digest, double *accesses);

/* The smallest slices whose l generations are @window keys, and what a
 * generation has then.
 */
struct epf_apbf_shape apbf_for_window(unsigned int k, unsigned int l, unsigned int window,
				      unsigned int *keys);

/* aged_recursion.c: F and A as printed, top down. @r: chances of a hit. */
double recursion_fpr(const struct epf_rates *r);
double recursion_accesses(const struct epf_rates *r);

/* The parts. */
void tables(void);   /* aged_tables.c: 1 to 4, by the formulas */
void measured(void); /* aged_measured.c: 2 to 4, by filters */
void figures(void);  /* aged_figures.c: 2 and 4 */
void settling(void); /* aged_settling.c: 6 */
void repeats(void);  /* aged_repeats.c: 7 and 8 */

#endif /* EPF_PAPER_AGED_H */
