// SPDX-License-Identifier: GPL-2.0
/* Proposition 2 against measurements: all r + 1 epochs full of distinct keys. */
#define EPF_PRIVATE

#include "ge.h"

#define WINDOW 20000u
#define NR_BITS 10
#define GROUP "Proposition 2: closed form"
#define TOP 14 /* bits of Table 1 */

/* Above this share, the excess of double hashing is larger than the noise. */
#define ADDED 0.04

/* Fill the epochs, then query keys never inserted. Return: number found. */
static __u64 found(enum structure kind, double bits, unsigned int seed, __u64 queries)
{
	__u64 n, hits = 0;
	struct filter f;

	filter_make(&f, kind, WINDOW, bits, EPF_GE_TRANSPOSED);
	for (n = 0; n < (structure_epochs(kind) + 1) * f.epoch_keys; n++)
		filter_insert(&f, key_digest(n, seed));
	for (n = 0; n < queries; n++)
		hits += filter_test(&f, key_digest(n | 1ULL << 40, seed));
	filter_free(&f);
	return hits;
}

static double closed_form(enum structure kind, double bits, unsigned int *k, double *predicted)
{
	double fpr, keys;
	struct filter f;

	filter_make(&f, kind, WINDOW, bits, EPF_GE_TRANSPOSED);
	keys = (double)f.epoch_keys;
	*k = f.ge.shape.bits;
	*predicted = filter_fpr(&f, WINDOW);
	fpr = epf_ge_closed((double)f.ge.shape.segment_bits, f.ge.shape.epochs, *k, keys, keys);
	filter_free(&f);
	return fpr;
}

/* Return: whether the prediction with double hashing is in the interval. */
static bool point(const struct paper *p, FILE *table, const struct printed *printed,
		  enum structure kind, int bits)
{
	unsigned int filters = p->quick ? 4 : 32, seed, k;
	__u64 queries = p->quick ? 25000 : 125000, hits = 0;
	double predicted, closed = closed_form(kind, bits, &k, &predicted);
	struct paper_rate rate;
	char item[64], paper[32], note[128];

	for (seed = 0; seed < filters; seed++)
		hits += found(kind, bits, seed, queries);
	rate = paper_rate((double)hits, (double)(filters * queries));
	fprintf(table, "%u,%d,%u,%.6g,%.6g,%.6g,%.6g,%.6g,%s\n", structure_epochs(kind), bits, k,
		closed, predicted, rate.rate, rate.low, rate.high,
		bits == TOP ? printed->text[kind][FPR] : "NaN");
	snprintf(item, sizeof(item), "%s %d bits", structure_name[kind], bits);
	snprintf(paper, sizeof(paper), "%.4g", closed);
	snprintf(note, sizeof(note),
		 "paper: its formula; k=%u; with what double hashing adds: %.4g", k, predicted);
	paper_measured(p, GROUP, item, paper,
		       predicted < closed * (1 + ADDED) ?
			       "interval" :
			       "known:double hashing adds to it in short segments",
		       note, rate);
	return predicted >= rate.low && predicted <= rate.high;
}

void ge_closed(const struct paper *p)
{
	static const int bits[NR_BITS] = { 6, 8, 10, 12, TOP, 16, 18, 20, 22, 24 };
	FILE *table = paper_table(p, "error", "r,bits,k,closed,predicted,measured,low,high,paper");
	struct printed printed;
	int kind, i, points = 0, inside = 0;

	printed_read(&printed, "data/ge_table1.csv", "synthetic");
	for (kind = GE4; kind <= GE8; kind++) {
		for (i = 0; i < NR_BITS; i++) {
			if (p->quick && bits[i] % 4 != 2)
				continue;
			inside += point(p, table, &printed, kind, bits[i]);
			points++;
		}
	}
	paper_row(p, GROUP, "with what double hashing adds: inside the interval at every point", "",
		  "law", "epf_ge_fpr() of user/libepf/kinds", "%d", inside == points);
	paper_close(table);
}
