// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: Figures 2 and 4: fill ratios of the slices, and the share of keys beyond
 * the window that is still found. k = 10 and l = 15, as in the figures, just before a
 * shift.
 */
#include "aged.h"

#define K 10
#define L 15
#define BEYOND (K + 3) /* generations beyond the window that are queried */
#define TOLD 5         /* number of them that are compared with the paper's powers of 1/2 */

struct seen {
	struct mean fill[K + L];
	struct mean found[L + 1 + BEYOND]; /* share found, by age in shifts */
	struct mean npws;
	double lost; /* keys of the window that were not found */
};

static void look(const struct epf_apbf *f, __u64 seed, unsigned int keys, struct seen *seen)
{
	struct epf_rates r = apbf_rates(f);
	unsigned int newest = 2 * (K + L) - 1, age;
	double beyond = 0;
	__u64 n;

	for (age = 0; age < K + L; age++)
		mean_add(&seen->fill[age], r.r[age]);
	for (age = 0; age <= L + BEYOND; age++) {
		double found = 0;

		for (n = 0; n < keys; n++)
			found += epf_apbf_query(f, key_of(seed, (newest - age) * keys + n));
		mean_add(&seen->found[age], found / keys);
		if (age <= L)
			seen->lost += keys - found;
		if (age >= L && age < L + K)
			beyond += found / keys;
	}
	mean_add(&seen->npws, beyond / L);
}

static void out_fill(const struct seen *seen, const struct epf_rates *exact)
{
	FILE *t = paper_table(&paper, "figure2", "slice,fill,low,high,exact ramp,straight ramp");
	bool predicted = true, rising = true;
	int i;

	for (i = 0; i < K + L; i++) {
		const struct mean *m = &seen->fill[i];
		double straight = i < K ? (i + 1) / (2. * K) : .5;
		char item[32], value[32];

		snprintf(item, sizeof(item), "fill of slice %d", i);
		snprintf(value, sizeof(value), "%g", straight);
		out_mean("Figure 2", item, value,
			 i < K - 1 ? "known:the fill is no straight ramp" : "interval",
			 i < K ? "(i + 1) / 2k in section 5.3" : "full", m);
		predicted &= mean_is(m, exact->r[i]);
		rising &= i == 0 || i >= K || mean_low(m) > mean_high(&seen->fill[i - 1]);
		fprintf(t, "%d,%.6f,%.6f,%.6f,%.6f,%.6f\n", i, mean_of(m), mean_low(m),
			mean_high(m), exact->r[i], straight);
	}
	out_law("Figure 2", "slice i of the first k has a fill of 1 - 2^-((i+1)/k)", predicted,
		"each in its interval; the others 1/2");
	out_law("Figure 2", "fills rise up to slice k - 1", rising, "");
	paper_close(t);
}

static void out_decay(const struct seen *seen, const struct epf_rates *exact)
{
	FILE *t = paper_table(&paper, "figure4", "shifts ago,found,low,high,predicted,halves");
	bool predicted = true, falling = true;
	int age;

	for (age = 0; age <= L + BEYOND; age++) {
		const struct mean *m = &seen->found[age];
		int more = age - L;
		double halves = more <= 0 ? 1 : more < K ? pow(2, -more) : 0;
		double due = more <= 0 ? 1 : epf_aged_expired(exact, more);
		char item[48], value[32];

		fprintf(t, "%d,%.6f,%.6f,%.6f,%.6f,%.6f\n", age, mean_of(m), mean_low(m),
			mean_high(m), due, halves);
		predicted &= mean_is(m, due);
		falling &= more < 1 || more > TOLD + 1 ||
			   mean_high(m) < mean_low(&seen->found[age - 1]);
		if (more < 1 || more > TOLD)
			continue;
		snprintf(item, sizeof(item), "found of generation l + %d", more);
		snprintf(value, sizeof(value), "%g", halves);
		out_mean("Figure 4", item, value, more <= 3 ? "interval" : "report",
			 "keys found by other slices are on top", m);
	}
	out_law("Figure 4", "all keys of the last l + 1 generations are found", !seen->lost,
		"just before a shift");
	out_law("Figure 4", "what is found halves from generation to generation", falling,
		"falls in each of the first six");
	out_law("Figure 4", "what is found is as predicted down to the error", predicted,
		"each generation in its interval");
	paper_close(t);
}

void figures(void)
{
	struct epf_apbf_shape z = { paper.quick ? 1 << 14 : 1 << 17, K, L };
	struct epf_aged_load load = { floor(epf_apbf_generation(&z)), 1 };
	unsigned int keys = (unsigned int)load.keys;
	struct seen seen = { 0 };
	struct epf_rates exact;
	int n;

	epf_apbf_rates(&z, &load, EPF_APBF_EXACT, &exact);
	for (n = 0; n < nr_filters; n++) {
		struct epf_apbf f = apbf_new(&z);
		__u64 seed = epf_word(4000, n);

		apbf_fill(&f, seed, 2 * (K + L), keys);
		look(&f, seed, keys, &seen);
		apbf_free(&f);
	}
	out_fill(&seen, &exact);
	out_decay(&seen, &exact);
	out_mean("Figure 4", "NPWS", "0.1332", "within:0.05", "1 + 1/2 + .. + 1/2^9 over l",
		 &seen.npws);
}
