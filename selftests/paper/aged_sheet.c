// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: tables as printed, and the rows of the comparison.
 */
#include "aged.h"

#define SIZE_MAX_BYTES (1 << 14)

static _Noreturn void fail(const char *what, const char *path)
{
	fprintf(stderr, "aged: %s %s\n", what, path);
	exit(1);
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, SIZE_MAX_BYTES);
	size_t n;

	if (!f || !text)
		fail("cannot read", path);
	n = fread(text, 1, SIZE_MAX_BYTES - 1, f);
	if (n == SIZE_MAX_BYTES - 1)
		fail("too long:", path);
	fclose(f);
	return text;
}

/* Split @line into cells, in place. Return: number of cells. */
static int cut(char *line, char **cell)
{
	int n = 0;

	while (line && n < SHEET_COLUMNS)
		cell[n++] = strsep(&line, ",");
	return n;
}

struct sheet sheet_read(const char *name)
{
	struct sheet s = { 0 };
	char path[512], *line, *rest;

	snprintf(path, sizeof(path), "data/aged_%s.csv", name);
	rest = s.text = read_all(path);
	while ((line = strsep(&rest, "\n"))) {
		if (!*line || *line == '#')
			continue;
		if (!s.columns) {
			s.columns = cut(line, s.name);
			continue;
		}
		if (s.rows == SHEET_ROWS || cut(line, s.cell[s.rows++]) != s.columns)
			fail("not sound:", path);
	}
	return s;
}

void sheet_free(struct sheet *s)
{
	free(s->text);
}

const char *sheet_cell(const struct sheet *s, int row, const char *column)
{
	int i;

	for (i = 0; i < s->columns; i++)
		if (!strcmp(s->name[i], column))
			return s->cell[row][i];
	fail("no column", column);
}

double sheet_number(const struct sheet *s, int row, const char *column)
{
	return atof(sheet_cell(s, row, column));
}

unsigned int sheet_count(const struct sheet *s, int row, const char *column)
{
	return (unsigned int)atoi(sheet_cell(s, row, column));
}

void out_number(const char *group, const char *item, const char *printed, const char *rule,
		const char *note, double ours)
{
	paper_row(&paper, group, item, printed, rule, note, "%.12g", ours);
}

void out_mean(const char *group, const char *item, const char *printed, const char *rule,
	      const char *note, const struct mean *ours)
{
	paper_measured(&paper, group, item, printed, rule, note,
		       (struct paper_rate){ mean_of(ours), mean_low(ours), mean_high(ours) });
}

void out_law(const char *group, const char *item, bool holds, const char *note)
{
	out_number(group, item, "", "law", note, holds);
}

static bool listed(const struct sheet *misprints, int i, const char *group, const char *key,
		   const char *column)
{
	return !strcmp(sheet_cell(misprints, i, "group"), group) &&
	       !strcmp(sheet_cell(misprints, i, "row"), key) &&
	       !strcmp(sheet_cell(misprints, i, "column"), column);
}

void out_cell(const char *group, const char *key, const struct sheet *s, int row,
	      const char *column, double ours)
{
	struct sheet misprints = sheet_read("misprints");
	char item[128], rule[64] = "digits";
	const char *note = "";
	int i;

	snprintf(item, sizeof(item), "%s %s", key, column);
	for (i = 0; i < misprints.rows; i++) {
		if (!listed(&misprints, i, group, key, column))
			continue;
		snprintf(rule, sizeof(rule), "misprint:%s", sheet_cell(&misprints, i, "right"));
		note = sheet_cell(&misprints, i, "reason");
	}
	out_number(group, item, sheet_cell(s, row, column), rule, note, ours);
	sheet_free(&misprints);
}
