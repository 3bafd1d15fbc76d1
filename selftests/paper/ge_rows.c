// SPDX-License-Identifier: GPL-2.0
/* Rows of the sweeps, and the numbers that the paper prints for them. */
#define EPF_PRIVATE
#define _GNU_SOURCE

#include "ge.h"
#include "../median.h"

#define QUERIES 20000u

void rows_begin(struct rows *r, const struct paper *p, const char *table)
{
	memset(r, 0, sizeof(*r));
	r->file = paper_table(p, table, "stream,seed,bits,structure,fpr,fnr,expired,mqps,settings");
}

void rows_end(struct rows *r)
{
	paper_close(r->file);
	free(r->row);
}

static struct row *new_row(struct rows *r)
{
	if (r->nr == r->room) {
		r->room = r->room ? 2 * r->room : 64;
		r->row = realloc(r->row, r->room * sizeof(*r->row));
		if (!r->row)
			exit(1);
	}
	return &r->row[r->nr++];
}

static void add(struct rows *r, enum structure kind, const struct stream *s, unsigned int seed,
		double bits)
{
	struct row *row = new_row(r);
	struct score score;
	struct filter f;
	char text[128];

	filter_make(&f, kind, s->window, bits, EPF_GE_SEGMENTS);
	score = filter_score(&f, s, seed, QUERIES);
	*row = (struct row){
		.kind = kind,
		.bits = bits,
		.metric = {
			[FPR] = (double)score.fp / (double)score.asked,
			[FNR] = (double)score.fn / (double)score.asked,
			[EXPIRED] = score.expired ? (double)score.stale /
						    (double)score.expired : NAN,
			[SPEED] = (double)(2 * score.asked + score.expired) /
				  score.seconds / 1e6,
		},
	};
	r->papers += kind < NR_PAPERS;
	if (is_guarded(kind))
		r->lost += score.fn;
	fprintf(r->file, "%s,%u,%g,%s,%.5f,%.5f,%.5f,%.3g,%s\n", s->name, seed, bits,
		structure_file[kind], row->metric[FPR], row->metric[FNR], row->metric[EXPIRED],
		row->metric[SPEED], filter_settings(&f, text, sizeof(text)));
	filter_free(&f);
}

void rows_add(struct rows *r, const struct stream *s, unsigned int seed, double bits)
{
	int kind;

	for (kind = 0; kind < NR_STRUCTURES; kind++)
		add(r, (enum structure)kind, s, seed, bits);
}

double rows_median(const struct rows *r, enum structure kind, double bits, enum metric metric)
{
	double *value = malloc(r->nr * sizeof(*value)), median;
	size_t i, n = 0;

	if (!value)
		exit(1);
	for (i = 0; i < r->nr; i++)
		if (r->row[i].kind == kind && r->row[i].bits == bits &&
		    !isnan(r->row[i].metric[metric]))
			value[n++] = r->row[i].metric[metric];
	qsort(value, n, sizeof(*value), median_order);
	median = n ? (value[(n - 1) / 2] + value[n / 2]) / 2 : NAN;
	free(value);
	return median;
}

void rows_medians(const struct rows *r, const struct paper *p, const char *table,
		  const double *bits, unsigned int nr)
{
	FILE *f = paper_table(p, table, "bits,structure,fpr,fnr,expired");
	unsigned int b;
	int kind;

	for (b = 0; b < nr; b++)
		for (kind = 0; kind < NR_STRUCTURES; kind++)
			if (!isnan(rows_median(r, kind, bits[b], FPR)))
				fprintf(f, "%g,%s,%.5f,%.5f,%.5f\n", bits[b], structure_file[kind],
					rows_median(r, kind, bits[b], FPR),
					rows_median(r, kind, bits[b], FNR),
					rows_median(r, kind, bits[b], EXPIRED));
	paper_close(f);
}

static void take(struct printed *p, char **field)
{
	int kind, i;

	for (kind = 0; kind < NR_PAPERS; kind++)
		if (!strcmp(field[1], structure_file[kind]))
			for (i = 0; i < NR_METRICS; i++)
				snprintf(p->text[kind][i], sizeof(p->text[kind][i]), "%s",
					 field[2 + i]);
}

void printed_read(struct printed *p, const char *path, const char *corpus)
{
	FILE *f = fopen(path, "r");
	char line[512];

	if (!f) {
		perror(path);
		exit(1);
	}
	memset(p, 0, sizeof(*p));
	while (fgets(line, sizeof(line), f)) {
		char *field[NR_METRICS + 2] = { NULL }, *at = line;
		int i;

		line[strcspn(line, "\n")] = 0;
		for (i = 0; i < NR_METRICS + 2; i++)
			field[i] = strsep(&at, ",");
		if (field[NR_METRICS + 1] && !strcmp(field[0], corpus))
			take(p, field);
	}
	fclose(f);
}
