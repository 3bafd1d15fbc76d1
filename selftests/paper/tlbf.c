// SPDX-License-Identifier: GPL-2.0
/*
 * "Time-limited Bloom Filter", 2023, longer version: Table 2, Figures 1 to 5, and cases
 * that it does not test. The numbers of keys, times and capacities of the figures are not
 * given in the paper; ours are named in the rows.
 */
#include "tlbf.h"

struct pairs tlbf_pairs[ERRORS];

/* Read lines of a file of data/ after comments and the header. Return: NULL at the end. */
static char *next_line(FILE *f, char *line, int size)
{
	while (fgets(line, size, f))
		if (*line >= '0' && *line <= '9')
			return line;
	return NULL;
}

static FILE *data(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void bad(const char *path)
{
	fprintf(stderr, "tlbf: not as expected: %s\n", path);
	exit(1);
}

static void read_pairs(const char *path)
{
	FILE *f = data(path);
	char line[256];
	int i;

	for (i = 0; i < ERRORS * PAIRS && next_line(f, line, sizeof(line)); i++) {
		struct pairs *to = &tlbf_pairs[i / PAIRS];

		if (sscanf(line, "%u,%u,%15[^,]", &to->k[i % PAIRS], &to->l[i % PAIRS],
			   to->error) != 3)
			bad(path);
	}
	fclose(f);
	if (i < ERRORS * PAIRS)
		bad(path);
}

/* Bits per key at a steady rate, for the pair (k, l): of k + l half-full slices over the
 * keys of l generations, just after a shift; and of l + 1 generations, just before it.
 */
static struct range steady_bits(unsigned int k, unsigned int l)
{
	double bits = k * (k + l) / log(2);

	return (struct range){ bits / (l + 1), bits / l };
}

static struct range measured_bits(unsigned int k, unsigned int l, double keys)
{
	struct epf_tlbf_shape shape = flow_shape(k, l, false, keys);
	struct range r;
	struct flow f;

	flow_open(&f, &shape, 20);
	f.blind = true;
	flow_drive(&f, 4, keys);
	r = flow_range(&f, 3, 4, sample_bits);
	flow_close(&f);
	return r;
}

/**
 * struct bits - the pairs of one error
 * @low: least bits per key, and the pair that has it
 * @high: most, likewise
 * @off: largest deviation from the formula, as a share
 */
struct bits {
	double low, high, off;
	int pair_low, pair_high;
};

static struct bits bits_of(const struct paper *p, const struct pairs *pairs, FILE *table)
{
	double keys = p->quick ? 40000 : 200000;
	struct bits b = { .low = INFINITY };
	int i;

	for (i = 0; i < PAIRS; i++) {
		unsigned int k = pairs->k[i], l = pairs->l[i];
		struct range is = measured_bits(k, l, keys);
		struct range should = steady_bits(k, l);

		fprintf(table, "%s,%u,%u,%.3f,%.3f,%.3f,%.3f\n", pairs->error, k, l, is.low,
			should.low, is.high, should.high);
		if (is.low < b.low) {
			b.low = is.low;
			b.pair_low = i;
		}
		if (is.high > b.high) {
			b.high = is.high;
			b.pair_high = i;
		}
		b.off = fmax(b.off, fabs(is.low / should.low - 1));
		b.off = fmax(b.off, fabs(is.high / should.high - 1));
	}
	return b;
}

static void cell(const struct paper *p, const struct pairs *pairs, const char *what,
		 const char *printed, double bits, int pair)
{
	char item[64], note[160];

	snprintf(item, sizeof(item), "error %s: %s", pairs->error, what);
	snprintf(note, sizeof(note), "%.2f with k=%u l=%u: digits cut off; keys are those of %s",
		 bits, pairs->k[pair], pairs->l[pair],
		 *what == 'l' ? "l + 1 generations" : "l generations");
	paper_row(p, "Table 2", item, printed, "exact", note, "%.0f", floor(bits));
}

static void table2(const struct paper *p)
{
	static const char path[] = "data/tlbf_table2.csv";
	FILE *f = data(path), *table;
	char line[256], note[64];
	double off = 0;
	int i;

	table = paper_table(p, "bits", "error,k,l,least,least by formula,most,most by formula");
	for (i = 0; i < ERRORS && next_line(f, line, sizeof(line)); i++) {
		struct bits b = bits_of(p, &tlbf_pairs[i], table);
		char error[16], low[16], high[16];

		if (sscanf(line, "%15[^,],%15[^,],%15[^,\n]", error, low, high) != 3 ||
		    strtod(error, NULL) != strtod(tlbf_pairs[i].error, NULL))
			bad(path);
		cell(p, &tlbf_pairs[i], "least bits a key", low, b.low, b.pair_low);
		cell(p, &tlbf_pairs[i], "most bits a key", high, b.high, b.pair_high);
		off = fmax(off, b.off);
	}
	fclose(f);
	paper_close(table);
	if (i < ERRORS)
		bad(path);
	snprintf(note, sizeof(note), "farthest off by %.2f %%", 100 * off);
	paper_row(p, "Table 2",
		  "each pair: k (k + l) / (l + 1) ln 2 to k (k + l) / l ln 2 bits a key", "", "law",
		  note, "%d", off < .005);
}

int main(int argc, char **argv)
{
	struct paper p = paper_begin("tlbf", argc, argv);

	read_pairs("data/aged_table2.csv");
	table2(&p);
	tlbf_figures(&p);
	tlbf_beyond(&p);
	return paper_end(&p);
}
