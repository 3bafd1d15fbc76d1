// SPDX-License-Identifier: GPL-2.0
/* The synthetic rows, and their medians beside Table 1. */
#define EPF_PRIVATE

#include "ge.h"

#define WINDOW 20000u
#define SEEDS 3u
#define TOP 14.0 /* bits of Table 1 */

static const double budgets[] = { 6, 8, 10, 12, TOP };
#define NR_BUDGETS (sizeof(budgets) / sizeof(*budgets))

static void sweep(struct rows *r, const struct paper *p)
{
	unsigned int workload, seed, b;

	for (workload = 0; workload < NR_WORKLOADS; workload++)
		for (seed = 1; seed <= SEEDS; seed++) {
			struct stream s;

			stream_synthetic(&s, workload, seed, WINDOW);
			for (b = p->quick ? NR_BUDGETS - 1 : 0; b < NR_BUDGETS; b++)
				rows_add(r, &s, seed, budgets[b]);
			stream_free(&s);
		}
}

static const char *const metric_name[] = { "FPR", "live FNR", "expired pos.", "Mq/s" };

static const char *rule(enum structure kind, enum metric metric)
{
	if (metric == SPEED || kind == DISTINCT)
		return "report";
	if (metric == FNR && kind != SBF)
		return "exact";
	return kind == SBF ? "within:0.1" : "within:0.05";
}

static void beside(const struct paper *p, const struct rows *r, FILE *bars,
		   const struct printed *printed, enum structure kind, enum metric metric)
{
	double ours = rows_median(r, kind, TOP, metric);
	const char *text = printed->text[kind][metric];
	char item[128], note[256], settings[128];
	struct filter f;

	filter_make(&f, kind, WINDOW, TOP, EPF_GE_SEGMENTS);
	filter_settings(&f, settings, sizeof(settings));
	filter_free(&f);
	snprintf(item, sizeof(item), "%s %s", structure_name[kind], metric_name[metric]);
	snprintf(note, sizeof(note), "%s",
		 metric == SPEED ? "another machine; one thread; NumPy there and C here" :
				   settings);
	paper_row(p, metric == SPEED ? "Table 1: CPU rate" : "Table 1: synthetic streams", item,
		  text, rule(kind, metric), note, "%.4g", ours);
	if (metric == FPR || metric == EXPIRED)
		fprintf(bars, "%s,%s,%s,%.5f\n", metric == FPR ? "fpr" : "expired",
			structure_name[kind], *text ? text : "NaN", ours);
}

void ge_table(const struct paper *p)
{
	struct printed printed;
	struct rows r;
	FILE *bars;
	int kind, metric;

	printed_read(&printed, "data/ge_table1.csv", "synthetic");
	rows_begin(&r, p, "synthetic");
	sweep(&r, p);
	bars = paper_table(p, "table1", "metric,structure,paper,ours");
	for (metric = 0; metric < NR_METRICS; metric++)
		for (kind = 0; kind < NR_STRUCTURES; kind++)
			beside(p, &r, bars, &printed, kind, metric);
	paper_close(bars);
	rows_medians(&r, p, "synthetic_medians", budgets, NR_BUDGETS);
	paper_row(p, "Synthetic rows", "rows of the five structures", "225",
		  p->quick ? "report" : "exact",
		  "3 workloads; 3 seeds; inferred budgets: 6 8 10 12 14 bits", "%zu", r.papers);
	paper_row(p, "Synthetic rows", "live keys that a guarded filter lost", "0", "exact",
		  workload_note, "%llu", r.lost);
	rows_end(&r);
}
