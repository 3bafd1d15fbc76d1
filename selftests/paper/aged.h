/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section aged: Shtul, Baquero and Almeida, "Age-Partitioned Bloom Filters", 2020.
 * Declarations that the parts of the section share.
 */
#ifndef EPF_PAPER_AGED_H
#define EPF_PAPER_AGED_H

#include "paper.h"

#include <kinds/apbbf.h>
#include <kinds/apbf.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define SLICE_LARGE (1ULL << 33) /* bits; so large that rounding has no visible effect */

/**
 * struct mean - mean of a number over independent filters
 *
 * Keys of one filter share its slices, so the sample consists of filters, not of keys. The
 * interval is a two-sided 99.9 % interval by Student's t.
 */
struct mean {
	double sum, squares;
	int n;
};

/* aged_sheet.c: the numbers that the paper prints, and the rows of the comparison */

#define SHEET_ROWS 32
#define SHEET_COLUMNS 12

/**
 * struct sheet - a table as printed, data/aged_NAME.csv
 * @rows: number of rows without the header
 * @columns: number of columns
 * @name: name of each column
 * @cell: text of each cell, with the digits that are printed
 * @text: memory that holds all of it
 */
struct sheet {
	int rows, columns;
	char *name[SHEET_COLUMNS];
	char *cell[SHEET_ROWS][SHEET_COLUMNS];
	char *text;
};

/* Exits if the file is missing or malformed. */
struct sheet sheet_read(const char *name);
void sheet_free(struct sheet *s);
/* Text at @row in @column, which exists. */
const char *sheet_cell(const struct sheet *s, int row, const char *column);
double sheet_number(const struct sheet *s, int row, const char *column);
unsigned int sheet_count(const struct sheet *s, int row, const char *column);

/* Write a row of the comparison, judged by @rule of page.py. Texts have no commas; @paper
 * (as printed) and @note may be "".
 */
void out_number(const char *group, const char *item, const char *paper, const char *rule,
		const char *note, double ours);
void out_mean(const char *group, const char *item, const char *paper, const char *rule,
	      const char *note, const struct mean *ours);
/* Write a row for a property; @item names it. */
void out_law(const char *group, const char *item, bool holds, const char *note);
/* The cell of @row (identified by @key) in @column: the printed digits, or the correction
 * that data/aged_misprints.csv lists.
 */
void out_cell(const char *group, const char *key, const struct sheet *s, int row,
	      const char *column, double ours);

/* aged_filter.c: filters in use, and means over them */

#define FILTERS_MAX 24

/* Settings of this run, and the number of filters in a sample: 24, or 8 in the quick form. */
extern struct paper paper;
extern int nr_filters;

void mean_add(struct mean *m, double v);
double mean_of(const struct mean *m);
double mean_low(const struct mean *m);
double mean_high(const struct mean *m);
bool mean_is(const struct mean *m, double predicted);

/* Are @hits of @probes consistent with an expectation of @expected, at 99.9 %? */
bool hits_are(double hits, double expected);

/* Key @n of filter @seed, and a key that is never inserted. */
__u64 key_of(__u64 seed, __u64 n);
__u64 probe_of(__u64 seed, __u64 n);

struct epf_apbf apbf_new(const struct epf_apbf_shape *s);
void apbf_free(struct epf_apbf *f);
/* Fill a filter with generations of @keys keys, the last one complete, which is the worst
 * phase. Key n belongs to generation n / @keys.
 */
void apbf_fill(struct epf_apbf *f, __u64 seed, unsigned int generations, unsigned int keys);
/* The probability that a key never inserted is found, slice by slice from the memory. The
 * hashes of slices are independent, so epf_aged_fpr() of these fill ratios is the error of
 * this very filter, without sampling noise.
 */
struct epf_rates apbf_rates(const struct epf_apbf *f);
/* Algorithm 1; adds its memory accesses to @accesses. */
bool apbf_counted(const struct epf_apbf *f, __u64 digest, double *accesses);

struct epf_apbbf apbbf_new(const struct epf_apbbf_shape *s);
void apbbf_free(struct epf_apbbf *f);
void apbbf_fill(struct epf_apbbf *f, __u64 seed, unsigned int generations, unsigned int keys);
struct epf_rates apbbf_rates(const struct epf_apbbf *f);
bool apbbf_counted(const struct epf_apbbf *f, __u64 digest, double *accesses);

/* The smallest slices whose l generations hold @window keys, and the keys of a generation
 * they then have.
 */
struct epf_apbf_shape apbf_for_window(unsigned int k, unsigned int l, unsigned int window,
				      unsigned int *keys);

/* aged_recursion.c: F and A as printed, top down. @r: probability of a hit, by slice. */
double recursion_fpr(const struct epf_rates *r);
double recursion_accesses(const struct epf_rates *r);

/* the parts of the section */
void tables(void);   /* aged_tables.c: 1 to 4, by the formulas */
void measured(void); /* aged_measured.c: 2 to 4, by filters */
void figures(void);  /* aged_figures.c: 2 and 4 */
void settling(void); /* aged_settling.c: 6 */
void repeats(void);  /* aged_repeats.c: 7 and 8 */

#endif /* EPF_PAPER_AGED_H */
