// SPDX-License-Identifier: GPL-2.0
/* The sweep over an access log, in the common or combined format. */
#define EPF_PRIVATE
#define _GNU_SOURCE

#include "ge.h"

#include <time.h>

#define LINE_MAX_BYTES 65536
#define SEEDS 3u
#define GROUP "Table 1: web log"

struct record {
	long long time; /* seconds, UTC */
	__u64 line, key;
};

/* Parse "17/May/2015:10:05:03 +0000". Return: false if it is malformed. */
static bool parse_time(const char *text, long long *time)
{
	struct tm tm = { 0 };
	const char *zone = strptime(text, "%d/%b/%Y:%H:%M:%S", &tm);
	char sign;
	int hours, minutes;

	if (!zone || sscanf(zone, " %c%2d%2d", &sign, &hours, &minutes) != 3)
		return false;
	minutes += 60 * hours;
	*time = timegm(&tm) - 60LL * (sign == '-' ? -minutes : minutes);
	return true;
}

/* Parse CLIENT ... [TIME] "METHOD PATH?QUERY ..."; the query is not part of the key.
 * Return: false if it is not a record. @line is cut into pieces.
 */
static bool parse(char *line, struct record *r)
{
	static const struct epf_hash h = { { 0x6c, 0x6f }, 0, { 0 } };
	char *client = strsep(&line, " ");
	char *stamp = line ? strchr(line, '[') : NULL;
	char *method = stamp ? strchr(stamp, '"') : NULL;
	char *path, *key;
	int len;

	if (!method || !parse_time(stamp + 1, &r->time))
		return false;
	method++;
	path = method + strcspn(method, " \"");
	if (*path != ' ')
		return false;
	*path++ = 0;
	path[strcspn(path, " ?\"")] = 0;
	len = asprintf(&key, "%s %s %s", client, method, path);
	if (len < 0)
		exit(1);
	r->key = epf_digest(&h, key, (__u32)len);
	free(key);
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

static int by_key(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static __u64 count_distinct(struct record *r, __u64 n)
{
	__u64 i, distinct = n > 0;

	qsort(r, n, sizeof(*r), by_key);
	for (i = 1; i < n; i++)
		distinct += r[i].key != r[i - 1].key;
	return distinct;
}

static struct record *records(const char *path, __u64 *nr)
{
	struct record *all = NULL;
	FILE *f = fopen(path, "r");
	char *line = NULL;
	__u64 room = 0, n = 0;
	size_t size = 0;

	while (f && getline(&line, &size, f) >= 0) {
		if (n == room) {
			room = room ? 2 * room : 4096;
			all = realloc(all, room * sizeof(*all));
			if (!all)
				exit(1);
		}
		all[n].line = n;
		n += parse(line, &all[n]);
	}
	if (f)
		fclose(f);
	free(line);
	*nr = n;
	return all;
}

bool log_read(struct stream *s, const char *path, __u64 *distinct)
{
	__u64 i, n;
	struct record *all = records(path, &n);

	*s = (struct stream){ "log", NULL, n, (n * 20000 + 213182 / 2) / 213182 };
	/* at least one key per epoch, and two windows of keys */
	if (s->window < 64) {
		free(all);
		return false;
	}
	s->key = malloc(n * sizeof(*s->key));
	if (!s->key)
		exit(1);
	qsort(all, n, sizeof(*all), by_time);
	for (i = 0; i < n; i++)
		s->key[i] = all[i].key;
	*distinct = count_distinct(all, n);
	free(all);
	return true;
}

static void beside(const struct paper *p, const struct rows *r, const char *about)
{
	static const char *const name[] = { "FPR", "live FNR", "expired pos." };
	struct printed printed;
	int kind, metric;

	printed_read(&printed, "data/ge_table1.csv", "log");
	for (metric = 0; metric < SPEED; metric++)
		for (kind = 0; kind < NR_STRUCTURES; kind++) {
			double ours = rows_median(r, kind, 14, metric);
			char item[128];

			snprintf(item, sizeof(item), "%s %s", structure_name[kind], name[metric]);
			if (isnan(ours))
				paper_skipped(p, GROUP, item, printed.text[kind][metric],
					      "no key of the window before was out of the window");
			else
				paper_row(p, GROUP, item, printed.text[kind][metric], "report",
					  about, "%.4g", ours);
		}
}

/* The paper's sweep: three budgets, three seeds, five structures. */
static void sweep(struct rows *r, const struct stream *s, const struct paper *p)
{
	static const double budgets[] = { 8, 12, 14 };
	unsigned int seed, b;

	for (seed = 1; seed <= SEEDS; seed++)
		for (b = 0; b < 3; b++)
			rows_add(r, s, seed, budgets[b]);
	rows_medians(r, p, "log_medians", budgets, 3);
}

void ge_log(const struct paper *p)
{
	__u64 distinct;
	struct stream s;
	struct rows r;
	char about[256];

	if (!p->log || !log_read(&s, p->log, &distinct)) {
		paper_skipped(p, GROUP, "rows of the five structures", "45",
			      p->log ? "skipped: the log given has too few records" :
				       "skipped: no log was given (LOG=access.log)");
		return;
	}
	snprintf(about, sizeof(about),
		 "paper: 213182 records; 2350 distinct; W=20000. Here: %llu; %llu; W=%llu", s.keys,
		 distinct, s.window);
	rows_begin(&r, p, "log");
	sweep(&r, &s, p);
	beside(p, &r, about);
	paper_row(p, GROUP, "rows of the five structures", "45", "exact", "3 budgets; 3 seeds",
		  "%zu", r.papers);
	paper_row(p, GROUP, "live keys that a guarded filter lost", "0", "exact", about, "%llu",
		  r.lost);
	rows_end(&r);
	stream_free(&s);
}
