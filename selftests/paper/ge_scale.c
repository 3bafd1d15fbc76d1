// SPDX-License-Identifier: GPL-2.0
/* The run at scale: 200 million insertions, 40 million in the window. */
#define EPF_PRIVATE

#include "../clock.h"
#include "ge.h"

#define GROUP "Run at scale"
#define SEED 200u
#define BITS 14.0

struct scale {
	__u64 window, inserts, queries;
};

/* Keys are numbers: key n is the n-th insertion; larger numbers are never inserted. */
static __u64 found(const struct filter *f, __u64 first, __u64 of, __u64 queries)
{
	__u64 n, hits = 0;

	for (n = 0; n < queries; n++) {
		__u64 key = first + epf_mulhi(draw(DRAW_LIVE, SEED, n), of);

		hits += filter_test(f, key_digest(key, SEED));
	}
	return hits;
}

static void report(const struct paper *p, const struct scale *s, const struct filter *f,
		   const char *rate, __u64 lost, __u64 fp, double seconds)
{
	struct paper_rate fpr = paper_rate((double)fp, (double)s->queries);
	const char *name = structure_name[f->kind];
	char item[128], note[256], predicted[32], settings[128];

	filter_settings(f, settings, sizeof(settings));
	snprintf(note, sizeof(note),
		 "%s; %llu insertions; W=%llu; paper: an NVIDIA B200; ours: a thread of this CPU",
		 settings, s->inserts, s->window);
	snprintf(item, sizeof(item), "%s Mq/s", name);
	paper_row(p, GROUP, item, rate, "report", note, "%.3g",
		  2.0 * (double)s->queries / seconds / 1e6);
	snprintf(item, sizeof(item), "%s live keys lost", name);
	paper_row(p, GROUP, item, "0", "exact", settings, "%llu", lost);
	snprintf(item, sizeof(item), "%s FPR", name);
	snprintf(predicted, sizeof(predicted), "%.5f", filter_fpr(f, s->window));
	if (f->kind == GE4 || f->kind == GE8) {
		paper_measured(p, GROUP, item, predicted, "within:0.02",
			       "paper: its formula; it prints none here", fpr);
		return;
	}
	snprintf(note, sizeof(note), "the paper prints none; predicted %s", predicted);
	paper_measured(p, GROUP, item, "", "report", note, fpr);
}

static void one(const struct paper *p, const struct scale *s, enum structure kind, const char *rate)
{
	__u64 n, lost, fp, live = s->inserts - s->window;
	struct filter f;
	double seconds;

	filter_make(&f, kind, s->window, BITS, EPF_GE_TRANSPOSED);
	for (n = 0; n < s->inserts; n++)
		filter_insert(&f, key_digest(n, SEED));
	seconds = -cpu_s();
	lost = s->queries - found(&f, live, s->window, s->queries);
	fp = found(&f, 1ULL << 40, 1ULL << 40, s->queries);
	seconds += cpu_s();
	report(p, s, &f, rate, lost, fp, seconds);
	filter_free(&f);
}

void ge_scale(const struct paper *p)
{
	struct scale s = { 40000000, 200000000, 10000000 };
	struct printed printed;
	int kind;

	if (p->quick)
		s = (struct scale){ 400000, 2000000, 100000 };
	printed_read(&printed, "data/ge_scale.csv", "scale");
	for (kind = 0; kind < NR_PAPERS; kind++)
		if (*printed.text[kind][SPEED])
			one(p, &s, kind, printed.text[kind][SPEED]);
}
