// SPDX-License-Identifier: GPL-2.0
/*
 * Section dict: Naor and Yogev, "Tight Bounds for Sliding Bloom Filters". The paper has no
 * measurements; it gives the space of Theorems 1.1 and 1.2,
 *
 *	n log2(1/eps) + n max(log2(n/m), log2 log2(1/eps))
 *
 * up to O(n), as an upper and a lower bound. For errors of 2^-4 to 2^-20 and several slacks
 * m/n, a filter is sized and filled for three windows, until all of its generations are
 * full. The page compares its memory with the bound and reports its error and the keys of
 * the window that it misses.
 */
#include "paper.h"

#include <kinds/dict.h>

#define WINDOWS 3
#define HITS_FEW 30 /* no verdict on fewer hits */

static const double slacks[] = { 0, 1. / 2, 1. / 7, 1. / 16, 1. / 64 };
static const char *const slack_name[] = { "any", "1/2", "1/7", "1/16", "1/64" };
#define SLACKS ((int)(sizeof(slacks) / sizeof(slacks[0])))

/* parameters of the full and of the quick form */
struct extent {
	double keys;
	double hits, queries_max;
	int bits_step, slack_step;
};

static const struct extent whole = { 1000000, 2000, 1.2e7, 4, 1 };
static const struct extent quick = { 60000, 1000, 2e5, 8, 2 };

/* struct point: one filter, sized and measured */
struct point {
	int bits;  /* eps = 2^-bits */
	int slack; /* index */
	struct epf_dict_size size;
	double keys; /* of a generation */
	double bound, per_key, hits;
	struct paper_rate error;
	__u64 missing;
};

static __u64 key(__u64 i)
{
	return epf_word(i, 1);
}

static __u64 other(__u64 i)
{
	return epf_word(i, 2);
}

static struct epf_dict make(const struct epf_dict_shape *s)
{
	__u64 bytes = epf_dict_words(s) * sizeof(__u64);
	struct epf_dict f = { .word = aligned_alloc(64, bytes) };

	if (!f.word || epf_dict_init(&f, s)) {
		fputs("error: no memory\n", stderr);
		exit(1);
	}
	memset(f.word, 0, bytes);
	return f;
}

/* Insert generations of distinct keys until all are full. Return: number of keys. */
static __u64 fill(struct epf_dict *f, __u64 keys)
{
	__u64 i, n = keys * (WINDOWS * f->shape.generations + 1);

	for (i = 0; i < n; i++) {
		if (i && i % keys == 0)
			epf_dict_rotate(f);
		epf_dict_insert(f, key(i));
	}
	return n;
}

static void measure(struct point *p, const struct extent *x)
{
	const struct epf_dict_shape *s = &p->size.shape;
	__u64 queries = (__u64)fmin(x->hits / p->size.fpr, x->queries_max);
	struct epf_dict f = make(s);
	__u64 n = fill(&f, (__u64)p->keys), i;

	for (i = n - (__u64)p->keys * (s->generations + 1); i < n; i++)
		p->missing += epf_dict_test(&f, key(i)) == EPF_ABSENT;
	for (i = 0; i < queries; i++)
		p->hits += epf_dict_test(&f, other(i)) != EPF_ABSENT;
	p->error = paper_rate(p->hits, (double)queries);
	free(f.word);
}

/* Return: whether such a filter exists. */
static bool plan(struct point *p, int bits, int slack, double keys)
{
	struct epf_dict_req req = {
		.keys_per_window = keys,
		.budget = exp2(-bits),
		.slack = slacks[slack],
	};

	*p = (struct point){ .bits = bits, .slack = slack };
	if (epf_dict_size(&req, &p->size))
		return false;
	p->keys = ceil(keys / p->size.shape.generations);
	p->bound = epf_dict_bound(req.budget, req.slack);
	p->per_key = (double)p->size.bytes * 8 / keys;
	return true;
}

static const char space[] = "Space (Theorem 1.1)";

#define SPACE_HEAD                                                            \
	"slack,bits,per_key,bound,ideal,ratio,c,tag,rem,slots,lines,buckets," \
	"yard,predicted,measured,low,high,missing"

static void table_row(FILE *f, const struct point *p)
{
	const struct epf_dict_shape *s = &p->size.shape;

	fprintf(f, "%s,%d,%.4f,%.4f,%.4f,%.4f,%u,%u,%u,%u,%u,%llu,%llu,%.6g,", slack_name[p->slack],
		p->bits, p->per_key, p->bound, epf_dict_paper(exp2(-p->bits), s->generations),
		p->per_key / p->bound, s->generations, s->tag_bits, s->rem_bits, s->slots, s->lines,
		s->buckets, s->yard, p->size.fpr);
	if (p->hits >= HITS_FEW)
		fprintf(f, "%.6g,%.6g,%.6g,", p->error.rate, p->error.low, p->error.high);
	else
		fprintf(f, ",,,");
	fprintf(f, "%llu\n", p->missing);
}

static void rows(const struct paper *page, const struct point *p)
{
	char item[64], theirs[32], note[96];
	const char *name = slack_name[p->slack];

	snprintf(item, sizeof(item), "2^-%d slack %s: bits a key", p->bits, name);
	snprintf(theirs, sizeof(theirs), "%.2f", p->bound);
	snprintf(note, sizeof(note), "%.2f times the formula; %.2f with an ideal dictionary",
		 p->per_key / p->bound, epf_dict_paper(exp2(-p->bits), p->size.shape.generations));
	paper_row(page, space, item, theirs, "report", note, "%.2f", p->per_key);
	if (p->hits < HITS_FEW)
		return;
	snprintf(item, sizeof(item), "2^-%d slack %s", p->bits, name);
	snprintf(theirs, sizeof(theirs), "%.6g", p->size.fpr);
	snprintf(note, sizeof(note), "predicted and measured; promised %.4g", exp2(-p->bits));
	paper_measured(page, "Error", item, theirs, "interval", note, p->error);
}

/* Totals over all points. */
struct sums {
	unsigned int points, above, below, rising, broken;
	__u64 missing;
};

/* From large to small errors, at one slack. */
static void one_slack(const struct paper *page, FILE *f, int slack, const struct extent *x,
		      struct sums *sums)
{
	double last = INFINITY;
	struct point p;
	int bits;

	for (bits = 4; bits <= 20; bits += x->bits_step) {
		if (!plan(&p, bits, slack, x->keys))
			continue;
		measure(&p, x);
		table_row(f, &p);
		rows(page, &p);
		sums->points++;
		sums->above += p.per_key > 1.25 * p.bound + 5;
		sums->below += p.per_key < p.bound;
		sums->rising += p.per_key / p.bound > last;
		sums->broken += p.error.low > exp2(-bits);
		sums->missing += p.missing;
		last = p.per_key / p.bound;
	}
}

static void law(const struct paper *page, const char *group, const char *item, bool holds,
		unsigned int points)
{
	char note[32];

	snprintf(note, sizeof(note), "%u filters", points);
	paper_row(page, group, item, "", "law", note, "%d", holds);
}

/* Only planned, not filled: a curve for each slack. */
static void curves(const struct paper *page, const struct extent *x)
{
	FILE *f = paper_table(page, "curves", "slack,bits,per_key,bound");
	struct point p;
	int bits, slack;

	for (slack = 0; slack < SLACKS; slack += x->slack_step)
		for (bits = 2; bits <= 20; bits++)
			if (plan(&p, bits, slack, x->keys))
				fprintf(f, "%s,%d,%.4f,%.4f\n", slack_name[slack], bits, p.per_key,
					p.bound);
	paper_close(f);
}

int main(int argc, char **argv)
{
	struct paper page = paper_begin("dict", argc, argv);
	const struct extent *x = page.quick ? &quick : &whole;
	FILE *f = paper_table(&page, "space", SPACE_HEAD);
	struct sums sums = { 0 };
	int slack;

	for (slack = 0; slack < SLACKS; slack += x->slack_step)
		one_slack(&page, f, slack, x, &sums);
	paper_close(f);
	law(&page, space, "at most a quarter above the formula and 5 bits", !sums.above,
	    sums.points);
	law(&page, space, "the ratio to the formula falls with the error", !sums.rising,
	    sums.points);
	law(&page, space, "nowhere below it (Theorem 1.2)", !sums.below, sums.points);
	law(&page, "Error", "nowhere above what was promised", !sums.broken, sums.points);
	law(&page, "Error", "no key of a window is missing", !sums.missing, sums.points);
	curves(&page, x);
	return paper_end(&page);
}
