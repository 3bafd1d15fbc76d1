// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: Tables 1 to 4 by the paper's formulas, as libepf implements them.
 */
#include "aged.h"

/* For slices that are all full, that is, half of their bits are set. @l = 0 is a Bloom
 * filter.
 */
static struct epf_rates half_full(unsigned int k, unsigned int l)
{
	struct epf_rates r = { .k = k, .l = l, .phase = 1 };
	unsigned int i;

	for (i = 0; i < k + l; i++)
		r.r[i] = .5;
	return r;
}

/* At the worst phase; full slices have half of their bits set. */
static struct epf_rates worst(unsigned int k, unsigned int l, enum epf_apbf_ramp ramp)
{
	struct epf_apbf_shape s = { SLICE_LARGE, k, l };
	struct epf_aged_load load = { epf_apbf_generation(&s), 1 };
	struct epf_rates r;

	epf_apbf_rates(&s, &load, ramp, &r);
	return r;
}

static double bloom_absent(unsigned int k)
{
	struct epf_rates r = half_full(k, 0);

	return epf_aged_accesses(&r, EPF_AGED_ABSENT);
}

/* F and A with l = 0 are those of a Bloom filter. */
static void table1(void)
{
	FILE *f = paper_table(&paper, "table1", "aimed,k,bits,error,true,false");
	struct sheet s = sheet_read("table1");
	char key[32];
	int i;

	for (i = 0; i < s.rows; i++) {
		double k = ceil(-log2(sheet_number(&s, i, "aimed")));
		struct epf_rates r = half_full((unsigned int)k, 0);
		double fpr = epf_aged_fpr(&r), bits = k / log(2);
		double hit = epf_aged_accesses(&r, EPF_AGED_FALSE);
		double absent = epf_aged_accesses(&r, EPF_AGED_ABSENT);

		snprintf(key, sizeof(key), "aimed %s", sheet_cell(&s, i, "aimed"));
		out_cell("Table 1", key, &s, i, "k", k);
		out_cell("Table 1", key, &s, i, "bits", bits);
		out_cell("Table 1", key, &s, i, "error", fpr);
		out_cell("Table 1", key, &s, i, "true", hit);
		out_cell("Table 1", key, &s, i, "false", absent);
		fprintf(f, "%s,%g,%.6g,%.6g,%.6g,%.6g\n", sheet_cell(&s, i, "aimed"), k, bits, fpr,
			hit, absent);
	}
	paper_close(f);
	sheet_free(&s);
}

static double efficiency(unsigned int k, unsigned int l, double fpr)
{
	return log2(1 / fpr) / k * l / (k + l);
}

/* Do libepf and the paper's recursions agree, up to rounding? */
static bool recursions_agree(const struct epf_rates *r)
{
	double fpr = recursion_fpr(r), absent = recursion_accesses(r);

	return fabs(fpr / epf_aged_fpr(r) - 1) < 1e-9 &&
	       fabs(absent / epf_aged_accesses(r, EPF_AGED_ABSENT) - 1) < 1e-9;
}

/* Checks that are the same for all rows of Table 2. */
struct rows2 {
	double least_eff, most_eff;
	bool recursions, npws;
};

static void row2(const struct sheet *s, int i, FILE *f, struct rows2 *all)
{
	unsigned int k = sheet_count(s, i, "k"), l = sheet_count(s, i, "l");
	struct epf_rates r = worst(k, l, EPF_APBF_LINEAR);
	struct epf_rates exact = worst(k, l, EPF_APBF_EXACT);
	struct epf_rates half = half_full(k, l);
	double fpr = epf_aged_fpr(&r), eff = efficiency(k, l, fpr);
	double npws = epf_aged_npws(&half);
	double window = epf_aged_accesses(&r, EPF_AGED_WINDOW);
	double hit = epf_aged_accesses(&r, EPF_AGED_FALSE);
	double absent = epf_aged_accesses(&r, EPF_AGED_ABSENT);
	char key[32];

	snprintf(key, sizeof(key), "k=%u l=%u", k, l);
	out_cell("Table 2", key, s, i, "error", fpr);
	out_cell("Table 2", key, s, i, "eff", eff);
	out_cell("Table 2", key, s, i, "window", window);
	out_cell("Table 2", key, s, i, "fp", hit);
	out_cell("Table 2", key, s, i, "false", absent);
	out_cell("Table 2", key, s, i, "NPWS", npws);
	fprintf(f, "%u,%u,%.6g,%.6g,%.4f,%.4f,%.4f,%.4f,%.4f\n", k, l, fpr, epf_aged_fpr(&exact),
		eff, window, hit, absent, npws);
	all->least_eff = fmin(all->least_eff, eff);
	all->most_eff = fmax(all->most_eff, eff);
	all->recursions &= recursions_agree(&r) && recursions_agree(&exact);
	all->npws &= npws < 2. / l;
}

/* The origin of the misprints. */
static void misprints2(void)
{
	struct epf_rates r = worst(13, 22, EPF_APBF_LINEAR);

	out_number("Table 2 misprints", "error printed for k=13 l=23", "0.000928", "digits",
		   "k=13 l=22", epf_aged_fpr(&r));
	out_number("Table 2 misprints", "eff printed for k=13 l=23", "0.50", "digits",
		   "of the error printed", efficiency(13, 23, .000928));
	out_number("Table 2 misprints", "eff printed for k=19 l=22", "0.56", "digits",
		   "for an error of 0.000001", efficiency(19, 22, 1e-6));
	out_number("Table 2 misprints", "eff printed for k=20 l=33", "0.62", "digits",
		   "for an error of 0.000001", efficiency(20, 33, 1e-6));
	out_number("Table 2 misprints", "eff printed for k=21 l=54", "0.68", "digits",
		   "for an error of 0.000001", efficiency(21, 54, 1e-6));
}

/* "In higher precision settings they even improve on Bloom filters when queries
 * return false", section 5.5.
 */
static bool cheaper_than_bloom(void)
{
	static const unsigned int shape[][2] = { { 10, 7 }, { 14, 11 }, { 17, 13 } };
	bool holds = true;
	int i;

	for (i = 0; i < COUNT(shape); i++) {
		struct epf_rates r = worst(shape[i][0], shape[i][1], EPF_APBF_EXACT);

		holds &= epf_aged_accesses(&r, EPF_AGED_ABSENT) < bloom_absent(shape[i][0]);
	}
	return holds;
}

static void table2(void)
{
	FILE *f = paper_table(&paper, "table2",
			      "k,l,error,error with the exact ramp,eff,window,fp,false,NPWS");
	struct rows2 all = { 1, 0, true, true };
	struct sheet s = sheet_read("table2");
	int i;

	for (i = 0; i < s.rows; i++)
		row2(&s, i, f, &all);
	misprints2();
	out_law("Table 2 laws", "F and A as printed give what libepf gives in all rows",
		all.recursions, "with the straight ramp and the exact one");
	out_law("Table 2 laws", "NPWS is below 2/l in all rows", all.npws, "section 5.2");
	out_law("Table 2 laws", "from 0.001 on an absent key costs less than in a Bloom filter",
		cheaper_than_bloom(), "k=10 l=7; k=14 l=11; k=17 l=13");
	out_number("Table 2 laws", "least efficiency in per cent", "36", "digits", "section 5.5",
		   100 * all.least_eff);
	out_number("Table 2 laws", "most efficiency in per cent", "68", "misprint:57",
		   "follows from the three cells", 100 * all.most_eff);
	paper_close(f);
	sheet_free(&s);
}

static struct epf_apbbf_shape shape_of(const struct sheet *s, int i)
{
	return (struct epf_apbbf_shape){ 1ULL << 26, sheet_count(s, i, "k"), sheet_count(s, i, "l"),
					 sheet_count(s, i, "B"), sheet_count(s, i, "b") };
}

static struct epf_rates blocked(const struct epf_apbbf_shape *s)
{
	struct epf_aged_load load = { epf_apbbf_generation(s), 1 };
	struct epf_rates r;

	epf_apbbf_rates(s, &load, &r);
	return r;
}

static void row3(const struct sheet *s, int i, FILE *f)
{
	struct epf_apbbf_shape z = shape_of(s, i);
	struct epf_rates r = blocked(&z);
	struct epf_rates plain = worst(z.k * z.bits, z.l * z.bits, EPF_APBF_LINEAR);
	double cap = epf_apbbf_block_keys(z.block_bits, z.bits) * z.bits / (z.block_bits * log(2));
	double fpr = epf_aged_fpr(&r), apbf = epf_aged_fpr(&plain);
	double npws = epf_aged_npws(&r);
	double window = epf_aged_accesses(&r, EPF_AGED_WINDOW);
	double hit = epf_aged_accesses(&r, EPF_AGED_FALSE);
	double absent = epf_aged_accesses(&r, EPF_AGED_ABSENT);
	char key[48];

	snprintf(key, sizeof(key), "k=%u l=%u B=%u b=%u", z.k, z.l, z.block_bits, z.bits);
	out_cell("Table 3", key, s, i, "error", fpr);
	out_cell("Table 3", key, s, i, "APBF", apbf);
	out_cell("Table 3", key, s, i, "cap", cap);
	out_cell("Table 3", key, s, i, "window", window);
	out_cell("Table 3", key, s, i, "fp", hit);
	out_cell("Table 3", key, s, i, "false", absent);
	out_cell("Table 3", key, s, i, "NPWS", npws);
	fprintf(f, "%u,%u,%u,%u,%.6g,%.6g,%.4f,%.4f,%.4f,%.4f,%.4f\n", z.k, z.l, z.block_bits,
		z.bits, fpr, apbf, cap, window, hit, absent, npws);
}

/* Memory of a filter for @window keys, half of the bits of a full slice set, for each pair. */
static double bits_a_key(struct epf_apbbf_shape z, double window)
{
	z.nr_blocks =
		(__u64)ceil(ceil(window / z.l) * z.k / epf_apbbf_block_keys(z.block_bits, z.bits));
	return 64. * (double)epf_apbbf_words(&z) / window;
}

static void row4(const struct sheet *s, int i, FILE *f)
{
	struct epf_apbbf_shape z = shape_of(s, i);
	const char *swamp = sheet_cell(s, i, "SWAMP");
	double bits = bits_a_key(
		z, 1 << 26); /* so many keys that rounding to whole blocks has no visible effect */
	struct epf_rates r = blocked(&z);
	char key[48], item[80];

	snprintf(key, sizeof(key), "k=%u l=%u B=%u b=%u", z.k, z.l, z.block_bits, z.bits);
	out_cell("Table 4", key, s, i, "error", epf_aged_fpr(&r));
	out_cell("Table 4", key, s, i, "bits", bits);
	out_cell("Table 4", key, s, i, "NPWS", epf_aged_npws(&r));
	snprintf(item, sizeof(item), "%s SWAMP bits", key);
	paper_row(&paper, "Table 4", item, swamp, "report",
		  "read by the paper off a figure of another one; no formula is given", "%s", "");
	snprintf(item, sizeof(item), "%s bits: fewer than SWAMP", key);
	out_number("Table 4", item, swamp, "atmost", "memory in whole blocks for 65536 keys",
		   bits_a_key(z, 65536));
	fprintf(f, "%u,%u,%u,%u,%.6g,%s,%.4f,%.4f\n", z.k, z.l, z.block_bits, z.bits,
		epf_aged_fpr(&r), swamp, bits, epf_aged_npws(&r));
}

/* Print the rows of a table: columns of the comparison's own file, and what writes a row. */
static void table_of(const char *name, const char *columns,
		     void (*row)(const struct sheet *s, int i, FILE *f))
{
	FILE *f = paper_table(&paper, name, columns);
	struct sheet s = sheet_read(name);
	int i;

	for (i = 0; i < s.rows; i++)
		row(&s, i, f);
	paper_close(f);
	sheet_free(&s);
}

void tables(void)
{
	table1();
	table2();
	table_of("table3", "k,l,B,b,error,APBF,cap,window,fp,false,NPWS", row3);
	table_of("table4", "k,l,B,b,error,SWAMP as printed,bits,NPWS", row4);
}
