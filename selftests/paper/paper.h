/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the programs of the sections share: arguments, CSV files, intervals.
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct paper p = paper_begin("ge", argc, argv);
 *
 *		paper_row(&p, "Table 1", "GE r=8 FPR", ".0222", "within:0.05",
 *			  "k=9", "%.5f", rate);
 *		return paper_end(&p);
 *	}
 */
#ifndef PAPER_H
#define PAPER_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct paper - one run of a section
 * @section: its name
 * @dir: directory for its files
 * @log: access log, plain text; NULL: none was given
 * @quick: the quick form
 * @side: the file of comparison rows
 */
struct paper {
	const char *section;
	const char *dir;
	const char *log;
	bool quick;
	FILE *side;
};

/* DIR/SECTION.csv, or DIR/SECTION_TABLE.csv. */
static inline FILE *paper_open(const char *dir, const char *section, const char *table)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s%s%s.csv", dir, section, *table ? "_" : "", table);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

/* Open a table of the section and write its header line. */
static inline FILE *paper_table(const struct paper *p, const char *table, const char *header)
{
	FILE *f = paper_open(p->dir, p->section, table);

	fprintf(f, "%s\n", header);
	return f;
}

static inline void paper_close(FILE *f)
{
	if (ferror(f) || fclose(f)) {
		perror("paper: cannot write");
		exit(1);
	}
}

static inline struct paper paper_begin(const char *section, int argc, char **argv)
{
	struct paper p = { .section = section };
	int at = 1;

	if (at < argc && !strcmp(argv[at], "--quick")) {
		p.quick = true;
		at++;
	}
	if (argc < at + 1 || argc > at + 2) {
		fprintf(stderr, "usage: %s [--quick] OUTDIR [LOG]\n", section);
		exit(2);
	}
	p.dir = argv[at];
	p.log = argv[at + 1]; /* or the NULL at the end */
	p.side = paper_open(p.dir, section, "");
	fprintf(p.side, "group,item,paper,ours,low,high,rule,note\n");
	return p;
}

/**
 * paper_row() - write a comparison row
 * @paper: the number as the paper prints it, or ""
 * @rule: see page.py
 * @ours: printf's format of our number
 */
__attribute__((format(printf, 7, 8))) static inline void paper_row(
	const struct paper *p, const char *group, const char *item, const char *paper,
	const char *rule, const char *note, const char *ours, ...)
{
	va_list args;

	fprintf(p->side, "%s,%s,%s,", group, item, paper);
	va_start(args, ours);
	vfprintf(p->side, ours, args);
	va_end(args);
	fprintf(p->side, ",,,%s,%s\n", rule, note);
}

/* Write a row for something that was not run. */
static inline void paper_skipped(const struct paper *p, const char *group, const char *item,
				 const char *paper, const char *why)
{
	fprintf(p->side, "%s,%s,%s,,,,report,%s\n", group, item, paper, why);
}

/**
 * struct paper_rate - number of hits among trials, with the 99.9 % interval of the rate
 */
struct paper_rate {
	double rate, low, high;
};

/* Wilson's score interval (Wilson 1927), which is sound even with no hits. */
static inline struct paper_rate paper_rate(double hits, double trials)
{
	double z = 3.290527, zz = z * z / trials;
	double p = trials ? hits / trials : 0;
	double mid = (p + zz / 2) / (1 + zz);
	double off = z / (1 + zz) * sqrt(p * (1 - p) / trials + zz / (4 * trials));

	if (!trials)
		return (struct paper_rate){ 0, 0, 1 };
	return (struct paper_rate){ p, fmax(mid - off, 0), fmin(mid + off, 1) };
}

/* Like paper_row(), for a measured rate. */
static inline void paper_measured(const struct paper *p, const char *group, const char *item,
				  const char *paper, const char *rule, const char *note,
				  struct paper_rate ours)
{
	fprintf(p->side, "%s,%s,%s,%.4g,%.4g,%.4g,%s,%s\n", group, item, paper, ours.rate, ours.low,
		ours.high, rule, note);
}

/* Return: exit status. */
static inline int paper_end(struct paper *p)
{
	paper_close(p->side);
	return 0;
}

#endif /* PAPER_H */
