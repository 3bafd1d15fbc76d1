// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: Tables 2 and 3, measured on filters in use at the worst phase.
 */
#include "aged.h"

#define PROBED_ABOVE 5e-4 /* errors that are probed; of smaller ones probes would find too few */
#define RAMP_SHOWS \
	1.05 /* ratio of the errors of the exact ramp and the straight one from which it matters */
#define SHARE .06 /* tolerance, as a share of the printed error */

/* The paper's columns of accesses, as sums. */
struct accesses {
	double window, windows, hit, hits, absent, absents;
};

static void count_apbf(const struct epf_apbf *f, __u64 seed, unsigned int keys, struct accesses *a)
{
	__u64 last = 2 * (__u64)(f->ring.k + f->ring.l) * keys;
	__u64 n, probes = paper.quick ? 20000 : 60000;

	for (n = last - (__u64)f->ring.l * keys; n < last; n++)
		a->windows += apbf_counted(f, key_of(seed, n), &a->window);
	for (n = 0; n < probes; n++) {
		double cost = 0;
		bool hit = apbf_counted(f, probe_of(seed, n), &cost);

		*(hit ? &a->hit : &a->absent) += cost;
		*(hit ? &a->hits : &a->absents) += 1;
	}
}

static void out_accesses(const char *key, const struct sheet *s, int i, const struct accesses *a)
{
	char item[64];

	snprintf(item, sizeof(item), "%s window", key);
	out_number("Table 2 measured", item, sheet_cell(s, i, "window"), "within:0.01", "",
		   a->window / a->windows);
	snprintf(item, sizeof(item), "%s fp", key);
	out_number("Table 2 measured", item, sheet_cell(s, i, "fp"), "within:0.03", "",
		   a->hit / a->hits);
	snprintf(item, sizeof(item), "%s false", key);
	out_number("Table 2 measured", item, sheet_cell(s, i, "false"), "within:0.05", "",
		   a->absent / a->absents);
}

/* Why the measured error is not expected to equal the printed one; NULL: it is. */
static const char *differs(double printed, double straight, double exact)
{
	if (fabs(straight / printed - 1) > SHARE)
		return "the printed error is a misprint";
	if (exact > RAMP_SHOWS * straight)
		return "the straight ramp underrates slices that are being filled";
	return NULL;
}

static void out_error(const char *key, const struct sheet *s, int i, const struct mean *error,
		      double straight, double exact)
{
	const char *why = differs(sheet_number(s, i, "error"), straight, exact);
	char item[64], rule[80], note[64];

	snprintf(item, sizeof(item), "%s error", key);
	snprintf(note, sizeof(note), "F with the exact ramp: %.4g", exact);
	if (why)
		snprintf(rule, sizeof(rule), "known:%s", why);
	else
		snprintf(rule, sizeof(rule), "within:%g", SHARE);
	out_mean("Table 2 measured", item, sheet_cell(s, i, "error"), rule, note, error);
}

/* Return: whether the measured error is F with the exact ramp. */
static bool measure2(const struct sheet *s, int i)
{
	unsigned int k = sheet_count(s, i, "k"), l = sheet_count(s, i, "l");
	unsigned int keys, n, generations = 2 * (k + l);
	struct epf_apbf_shape z = apbf_for_window(k, l, paper.quick ? 5000 : 20000, &keys);
	struct epf_aged_load load = { keys, 1 };
	double exact = epf_apbf_fpr(&z, &load), straight;
	struct accesses a = { 0 };
	struct mean error = { 0 };
	struct epf_rates r;
	char key[32];

	epf_apbf_rates(&z, &load, EPF_APBF_LINEAR, &r);
	straight = epf_aged_fpr(&r);
	for (n = 0; n < (unsigned int)nr_filters; n++) {
		struct epf_apbf f = apbf_new(&z);

		apbf_fill(&f, epf_word(2000 + i, n), generations, keys);
		r = apbf_rates(&f);
		mean_add(&error, epf_aged_fpr(&r));
		if (exact > PROBED_ABOVE)
			count_apbf(&f, epf_word(2000 + i, n), keys, &a);
		apbf_free(&f);
	}
	snprintf(key, sizeof(key), "k=%u l=%u", k, l);
	out_error(key, s, i, &error, straight, exact);
	if (exact > PROBED_ABOVE)
		out_accesses(key, s, i, &a);
	return mean_is(&error, exact);
}

static bool measure3(const struct sheet *s, int i)
{
	struct epf_apbbf_shape z = {
		.k = sheet_count(s, i, "k"),
		.l = sheet_count(s, i, "l"),
		.block_bits = sheet_count(s, i, "B"),
		.bits = sheet_count(s, i, "b"),
	};
	struct epf_aged_load load = { .phase = 1 };
	struct mean error = { 0 };
	char item[64], note[64];
	double predicted;
	int n;

	z.nr_blocks = (paper.quick ? 1 << 17 : 1 << 19) / z.block_bits;
	load.keys = round(epf_apbbf_generation(&z));
	predicted = epf_apbbf_fpr(&z, &load);
	for (n = 0; n < nr_filters; n++) {
		struct epf_apbbf f = apbbf_new(&z);
		struct epf_rates r;

		apbbf_fill(&f, epf_word(3000 + i, n), 2 * (z.k + z.l), (unsigned int)load.keys);
		r = apbbf_rates(&f);
		mean_add(&error, epf_aged_fpr(&r));
		apbbf_free(&f);
	}
	snprintf(item, sizeof(item), "k=%u l=%u B=%u b=%u error", z.k, z.l, z.block_bits, z.bits);
	snprintf(note, sizeof(note), "F: %.4g", predicted);
	/* Errors below one in a million are printed with a single digit. */
	out_mean("Table 3 measured", item, sheet_cell(s, i, "error"),
		 predicted < 1e-6 ? "report" : "interval", note, &error);
	return mean_is(&error, predicted);
}

/* Do probes find the error that the memory of the filter predicts? For errors of a few per
 * cent.
 */
static bool probes_agree(void)
{
	struct epf_apbf_shape a = { 3000, 5, 7 };
	struct epf_apbbf_shape b = { 200, 2, 5, 64, 4 };
	struct epf_apbf f = apbf_new(&a);
	struct epf_apbbf g = apbbf_new(&b);
	double hits[2] = { 0 }, probes = paper.quick ? 200000 : 2000000;
	struct epf_rates r[2];
	__u64 n;

	apbf_fill(&f, 1, 24, (unsigned int)epf_apbf_generation(&a));
	apbbf_fill(&g, 1, 14, (unsigned int)epf_apbbf_generation(&b));
	r[0] = apbf_rates(&f);
	r[1] = apbbf_rates(&g);
	for (n = 0; n < (__u64)probes; n++) {
		hits[0] += epf_apbf_query(&f, probe_of(1, n));
		hits[1] += epf_apbbf_query(&g, probe_of(1, n));
	}
	apbf_free(&f);
	apbbf_free(&g);
	return hits_are(hits[0], probes * epf_aged_fpr(&r[0])) &&
	       hits_are(hits[1], probes * epf_aged_fpr(&r[1]));
}

void measured(void)
{
	struct sheet two = sheet_read("table2"), three = sheet_read("table3");
	int i, differ = 0;

	for (i = 0; i < two.rows; i++)
		differ += !measure2(&two, i);
	out_law("Table 2 measured", "every error is F with the exact ramp in its interval", !differ,
		"");
	for (i = differ = 0; i < three.rows; i++)
		differ += !measure3(&three, i);
	out_law("Table 3 measured", "every error is F in its interval", !differ, "");
	out_law("Table 3 measured", "probes find what F says of the bits that are set",
		probes_agree(), "the errors of filters are taken from their memory");
	sheet_free(&two);
	sheet_free(&three);
}
