// SPDX-License-Identifier: GPL-2.0
/* Checks epf_size() and epf_size_fpr() against the model, and their guarantees. */
#include <epf.h>

#include <errno.h>
#include <math.h>
#include <time.h>

#include "size_vectors.h"
#include "tap.h"

#define LINES_MIN 64ULL
#define LINES_MAX (1ULL << 31)
#define MIB 1048576.0

static void agrees_with_the_model(void)
{
	unsigned int i, rows = sizeof(size_vectors) / sizeof(size_vectors[0]);
	double worst = 0, least = 1;

	for (i = 0; i < rows; i++) {
		double got = epf_size_fpr(size_vectors[i].nr_lines, size_vectors[i].lines_per_key,
					  size_vectors[i].bits_per_key, size_vectors[i].keys);
		double off = fabs(got / size_vectors[i].fpr - 1);

		worst = fmax(off, worst);
		least = fmin(got, least);
	}
	tap_ok(worst < 1e-10, "%u rates down to %.0g agree with the model, within %.1g", rows,
	       least, worst);
}

static double best_fpr(__u64 nr_lines, unsigned int parts, double keys)
{
	double best = 1;
	unsigned int k;

	for (k = parts; k <= 15 * parts; k += parts)
		best = fmin(best, epf_size_fpr(nr_lines, parts, k, keys));
	return best;
}

/* 14, 16 and 20 bits per key have the rates that were measured. */
static void agrees_with_measurements(void)
{
	static const double bits[] = { 14, 16, 20 };
	static const double rates[3][3] = { { .0875, .0586, .0292 },
					    { .0420, .0227, .00734 },
					    { .0305, .0152, .00341 } };
	bool good = true;
	int l, i;

	for (l = 0; l < 3; l++)
		for (i = 0; i < 3; i++) {
			__u64 lines = (__u64)(bits[i] * 1e6 / 512 / 4) * 4;
			double fpr = best_fpr(lines, 1u << l, 1e6 / 7);

			good &= fabs(fpr / rates[l][i] - 1) < 0.03;
		}
	tap_ok(good, "14, 16, 20 bits per key: the rates measured, within 3%%");
}

static double keys_of_epoch(double window)
{
	return ceil(window / 7);
}

/* Memory that size.c may spend to save positions. */
#define BITS_MEMORY 1.015

static bool is_least(const struct epf_size_req *req, const struct epf_size *s)
{
	double keys = keys_of_epoch(req->keys_per_window);
	unsigned int parts = s->lines_per_key;
	unsigned int k = s->bits_per_key;
	double fpr = epf_size_fpr(s->nr_lines, parts, k, keys);
	__u64 below = (__u64)((double)s->nr_lines / BITS_MEMORY) / 4 * 4 - 4;

	if (s->fpr > req->budget || s->nr_lines % 4)
		return false;
	if (fabs(s->fpr / fpr - 1) > 1e-9)
		return false;
	while ((k -= parts) >= parts)
		if (epf_size_fpr(s->nr_lines, parts, k, keys) <= req->budget)
			return false;
	if (s->nr_lines == LINES_MIN)
		return true;
	return epf_size_fpr(s->nr_lines - 4, parts, s->bits_per_key, keys) > req->budget &&
	       (below < LINES_MIN || best_fpr(below, parts, keys) > req->budget);
}

static void finds_the_least(void)
{
	static const double budgets[] = { .5, 1e-1, 1e-3, 1e-6, 1e-9 };
	static const double windows[] = { 1, 64, 1000, 1e6, 1e7 };
	bool least = true, fewest = true;
	int b, w;

	for (b = 0; b < 5; b++)
		for (w = 0; w < 5; w++) {
			struct epf_size_req req = { windows[w], budgets[b], 0, 0 };
			struct epf_size any, fixed;
			__u64 smallest = LINES_MAX;
			unsigned int l;

			least &= !epf_size(&req, &any) && is_least(&req, &any);
			for (l = 1; l <= 4; l *= 2) {
				req.lines_per_key = l;
				least &= !epf_size(&req, &fixed) && fixed.lines_per_key == l &&
					 is_least(&req, &fixed);
				if (fixed.nr_lines < smallest)
					smallest = fixed.nr_lines;
				/* fewer lines per key at the same memory? */
				if (l < any.lines_per_key)
					fewest &= (double)fixed.nr_lines > (double)any.nr_lines;
			}
			fewest &= (double)any.nr_lines <= 1.01 * BITS_MEMORY * (double)smallest;
		}
	tap_ok(least, "the budget kept, within 1.5%% of the least memory, fewest positions");
	tap_ok(fewest, "the fewest lines per key within 1%% of the least memory");
}

static void reference_size(void)
{
	struct epf_size_req req = { 1e6, 1e-4, 0, 0 };
	struct epf_size s;
	int err = epf_size(&req, &s);
	double mib = (double)s.nr_lines * 64 / MIB;

	tap_ok(!err && mib <= 5, "a million flows at 1e-4: %.2f MiB, L=%u, k=%u, predicted %.3g",
	       mib, s.lines_per_key, s.bits_per_key, s.fpr);
}

static int size_of(double window, double budget, __u64 max_bytes, unsigned int parts,
		   struct epf_size *s)
{
	struct epf_size_req req = { window, budget, max_bytes, parts };

	return epf_size(&req, s);
}

/* Can that many lines meet the budget with any L and k? */
static bool in_reach(__u64 nr_lines, double window, double budget)
{
	unsigned int l;

	for (l = 1; l <= 4; l *= 2)
		if (best_fpr(nr_lines, l, keys_of_epoch(window)) <= budget)
			return true;
	return false;
}

static void memory_limits(void)
{
	struct epf_size s, full;
	bool good = true;
	unsigned int l;
	__u64 least;

	good &= !size_of(1e6, 1e-3, 0, 0, &full);
	for (least = full.nr_lines; in_reach(least - 4, 1e6, 1e-3); least -= 4)
		;
	good &= !size_of(1e6, 1e-3, least * 64, 0, &s);
	good &= s.nr_lines == least && s.fpr <= 1e-3;
	good &= size_of(1e6, 1e-3, least * 64 - 1, 0, &s) == -ENOSPC;
	good &= s.nr_lines < least && s.fpr > 1e-3;
	for (l = 1; l <= 4; l *= 2)
		good &= s.fpr <= best_fpr(s.nr_lines, l, keys_of_epoch(1e6));
	good &= size_of(1e6, 1e-3, 4096, 0, &s) == -ENOSPC && s.nr_lines == 64;
	good &= size_of(1e6, 1e-3, 4096 + 300, 0, &s) == -ENOSPC;
	good &= s.nr_lines == 68;
	tap_ok(good, "memory limit: exact at its end, else the most accurate within it");
}

static void bad_requests(void)
{
	struct epf_size s;
	bool good = true;

	good &= size_of(0, .1, 0, 0, &s) == -EINVAL;
	good &= size_of(0.99, .1, 0, 0, &s) == -EINVAL;
	good &= size_of(-1, .1, 0, 0, &s) == -EINVAL;
	good &= size_of(NAN, .1, 0, 0, &s) == -EINVAL;
	good &= size_of(INFINITY, .1, 0, 0, &s) == -EINVAL;
	good &= size_of(10, 0, 0, 0, &s) == -EINVAL;
	good &= size_of(10, 0.9e-9, 0, 0, &s) == -EINVAL;
	good &= size_of(10, 0.51, 0, 0, &s) == -EINVAL;
	good &= size_of(10, NAN, 0, 0, &s) == -EINVAL;
	good &= size_of(10, .1, 4095, 0, &s) == -EINVAL;
	good &= size_of(10, .1, 0, 3, &s) == -EINVAL;
	good &= size_of(10, .1, 0, 8, &s) == -EINVAL;
	good &= size_of(1e12, 1e-9, 0, 0, &s) == -E2BIG;
	good &= size_of(1e300, .5, 0, 0, &s) == -E2BIG;
	good &= size_of(1e12, .5, 1 << 30, 0, &s) == -ENOSPC;
	good &= epf_size_fpr(63, 1, 5, 10) == 1;
	good &= epf_size_fpr(64, 1, 5, NAN) == 1;
	/* no keys: only those without positions are found, in all epochs at once */
	good &= fabs(epf_size_fpr(64, 1, 5, 0) / 0x1p-25 - 1) < 1e-6;
	good &= epf_size_fpr(64, 2, 5, 0) == 1;
	good &= epf_size_fpr(LINES_MAX, 1, 5, 1) == 1;
	good &= epf_size_fpr(LINES_MAX, 4, 20, 1) < 1e-20;
	good &= epf_size_fpr(64, 1, 1, 1e18) == 1;
	tap_ok(good, "requests out of range are refused, each with its error");
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Independent of the machine's speed: trying every number of lines would take far more
 * anywhere.
 */
#define QUICK_MS 2000

/* Return: the least time of five tries, or the first if it is quick. */
static double takes_ms(double window, double budget)
{
	double start, least = INFINITY;
	struct epf_size s;
	int i;

	for (i = 0; i < 5 && least >= QUICK_MS; i++) {
		start = now_ms();
		size_of(window, budget, 0, 0, &s);
		least = fmin(least, now_ms() - start);
	}
	return least;
}

static void searches_few(void)
{
	double window, budget, worst = 0;

	for (window = 1; window < 1e15 && worst < QUICK_MS; window *= 30)
		for (budget = .5; budget >= 1e-9; budget /= 40)
			worst = fmax(worst, takes_ms(window, budget));
	tap_ok(worst < QUICK_MS, "no request searches through all shapes: %.1f ms", worst);
}

int main(void)
{
	tap_plan(8);
	agrees_with_the_model();
	agrees_with_measurements();
	finds_the_least();
	reference_size();
	memory_limits();
	bad_requests();
	searches_few();
	return tap_end();
}
