// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kind dict: predicted false-positive rate, sizing, and theoretical space
 * bounds.
 *
 * n live keys have M (1 - exp(-n/M)) fingerprints. A key not inserted agrees
 * with a fingerprint of the first table with probability
 *
 *	first = 1 - exp(-n1/M)
 *
 * where n1 is n without the keys in the backyard. A bucket of d cells behaves
 * like d servers that reject arrivals when all are busy. Arrivals are Poisson,
 * and a key stays for c + 1 generations, less the time that its first
 * generation had run. If stays were independent, the share rejected would be
 * Erlang's B, whatever their distribution. Here they end together, and the load
 * rises by one generation of c + 1 and falls again. So the share lies between B
 * in the middle and B at the end of a generation. Its place between the two,
 * and the share of buckets with a spill mark, 1 - exp(-2 x / sqrt(d)) for x
 * keys spilt per bucket, are fits to the Markov chain of one bucket. They are
 * within a tenth for d of 18 to 110, c of 2 to 40 and loads of .8 to 1. They
 * matter little, because only a few of a hundred keys are in the backyard. A
 * filter that was empty spills little at first. Then, until these keys leave,
 * it spills up to 1.35 times the mean, because what it spilt is unevenly spread
 * over the generations. The backyard is sized for that: 1.3 - .9 / (c + 1)
 * times B at the end.
 *
 * In the backyard a key takes the emptier of two buckets of e cells. Let u be
 * the load per bucket and s_k the share of buckets that hold k or more keys.
 * The balance of arrivals and departures is, for k = 1 .. e,
 *
 *	u (s_{k-1}^2 - s_e^2) = k s_k + s_{k+1} + .. + s_e
 *
 * (the limit of many buckets, for exponential stays), and s_e^2 is the
 * probability that both buckets are full. It falls doubly exponentially: if of
 * forty cells four are free it is 1e-6, with six free 1e-25. In a small filter
 * more keys than the mean may be spilt: their number is taken as normal with a
 * variance of sqrt(d) times the mean, which is a fit as well (the chain has .75
 * sqrt(d)). u is that of the middle of a generation.
 */
#include "dict.h"

#include <math.h>

#define FPR_MIN 1e-9
#define FPR_MAX 0.5

#define FREE_CELLS 4 /* mean number of free cells in a bucket of the backyard */
#define SIGMAS 4     /* standard deviations of the number of keys spilt */
#define FEW_BUCKETS 64
#define FEWER 8      /* so many smaller generation counts are tried as well */
#define LOAD_MAX 1.0 /* of a bucket; beyond it the fit is not validated */
#define LOAD_MIN 0.5

/* Erlang's B: the share of @load that @cells servers reject. */
static double turned_away(unsigned int cells, double load)
{
	double b = 1;
	unsigned int i;

	for (i = 1; i <= cells; i++)
		b = load * b / (i + load * b);
	return b;
}

/* Return: s_0 for s_e = exp(@top). */
static double all_buckets(unsigned int cells, double load, double top)
{
	double s = exp(top), last = s * s, above = 0;
	unsigned int k;

	for (k = cells; k > 0 && s <= 1; k--) {
		double below = sqrt(last + (k * s + above) / load);

		above += s;
		s = below;
	}
	return k ? 2 : s;
}

/* Share of the keys sent to the backyard that find both buckets full. */
static double both_full(unsigned int cells, double load)
{
	double low = -14, high = 0; /* a share below 1e-12 counts as 0 */
	int i;

	if (!(load > 0) || all_buckets(cells, load, low) > 1)
		return 0;
	for (i = 0; i < 60; i++) {
		double top = (low + high) / 2;

		if (all_buckets(cells, load, top) > 1)
			high = top;
		else
			low = top;
	}
	return exp(2 * low);
}

/* The same for a mean of @away keys, spilt from buckets of @home cells. */
static double dict_lost(const struct epf_dict_table *yard, unsigned int home, double away)
{
	double sigma = sqrt(away * sqrt(home)), sum = 0, weights = 0;
	int z;

	for (z = -SIGMAS; z <= SIGMAS; z++) {
		double weight = exp(-z * z / 2.0);

		sum += weight * both_full(yard->cells, (away + z * sigma) / (double)yard->buckets);
		weights += weight;
	}
	return sum / weights;
}

static double places(const struct epf_dict_table *t)
{
	return (double)t->buckets * t->slots * exp2(t->rem_bits);
}

/* Load of a bucket with @generations of @keys; equal fingerprints count once. */
static double loaded(const struct epf_dict_table *t, double generations, double keys)
{
	double m = places(t);

	return -expm1(-keys * generations / m) * m / (double)t->buckets;
}

/* Share of the keys that find their bucket full, in the long run. */
static double spilt(const struct epf_dict_table *t, unsigned int c, double keys)
{
	double end = turned_away(t->cells, loaded(t, c + 1, keys));
	double middle = turned_away(t->cells, loaded(t, c + .5, keys));

	return middle + (end - middle) * (.5 + .3 / (c + 1));
}

/* Upper limit of spilt() while a filter that was empty fills. */
static double spilt_first(const struct epf_dict_table *t, unsigned int c, double keys)
{
	return turned_away(t->cells, loaded(t, c + 1, keys)) * (1.3 - .9 / (c + 1));
}

double epf_dict_predict(const struct epf_dict_shape *s, double generation_keys, double now_keys,
			struct epf_dict_state *state)
{
	double keys = generation_keys * s->generations + now_keys;
	double most = fmax(generation_keys, now_keys);
	struct epf_dict_table t[2];
	double m, live, away, none;

	*state = (struct epf_dict_state){ .pass = 1 };
	if (!epf_dict_words(s) || !(generation_keys >= 0) || !(now_keys >= 0) || !isfinite(keys))
		return 1;
	epf_dict_tables(t, s);
	m = places(&t[0]);
	live = -expm1(-keys / m) * m;
	state->spilt = spilt(&t[0], s->generations, most);
	none = dict_lost(&t[1], t[0].cells,
			 state->spilt * (double)s->buckets *
				 loaded(&t[0], s->generations + .5, most));
	away = live * state->spilt;
	state->asks = -expm1(-2 * away / (double)s->buckets / sqrt(t[0].cells));
	state->first = -expm1(log1p(-live * (1 - state->spilt) / m));
	state->yard = -expm1(-2 * away * (1 - none) / places(&t[1])) * state->asks;
	state->pass = away > 0 ? -expm1(-none * away / (double)s->buckets / state->asks) *
					 state->asks :
				 0;
	return -expm1(log1p(-state->first) + log1p(-state->yard) + log1p(-state->pass));
}

double epf_dict_fpr(const struct epf_dict_shape *s, double generation_keys, double now_keys)
{
	struct epf_dict_state state;

	return epf_dict_predict(s, generation_keys, now_keys, &state);
}

double epf_dict_bound(double budget, double slack)
{
	double bits = -log2(budget), tags = log2(bits);

	return bits + (slack > 0 ? fmax(tags, -log2(slack)) : tags);
}

double epf_dict_paper(double budget, unsigned int generations)
{
	double bits = -log2(budget) - (1 / budget - 1) * log1p(-budget) / M_LN2;

	return (1 + 1.0 / generations) * (bits + log2(generations + 1));
}

/* Set the smallest backyard for generations of @keys. */
static void choose_yard(struct epf_dict_shape *s, double keys)
{
	struct epf_dict_table t[2];
	double away, room;
	int i;

	s->yard = 1;
	for (i = 0; i < 3; i++) { /* a larger backyard has shorter remainders */
		if (!epf_dict_tables(t, s))
			return;
		away = spilt_first(&t[0], s->generations, keys) *
		       loaded(&t[0], s->generations + 1, keys) * (double)s->buckets;
		away += SIGMAS * sqrt(away * sqrt(t[0].cells));
		room = t[1].cells > 2 * FREE_CELLS ? t[1].cells - FREE_CELLS : t[1].cells / 2;
		s->yard = (__u64)fmin(ceil(away / room), EPF_DICT_BUCKETS_MAX);
		if (!s->yard)
			s->yard = 1;
	}
}

/* Return: does the scan come round in time, with @keys insertions per generation? */
static bool scan_enough(const struct epf_dict_shape *s, double keys)
{
	double passes = (1u << s->tag_bits) - s->generations - 1;
	double all = (double)(s->buckets + s->yard);
	struct epf_dict_table t[2];

	if (!epf_dict_tables(t, s))
		return false;
	return all <= FEW_BUCKETS || floor(keys * EPF_DICT_SCAN / t[0].cells) * passes >= all;
}

/* Return: could it, with only as many cells as keys? Known before there is a shape. */
static bool scan_possible(const struct epf_dict_shape *s, double keys)
{
	double passes = (1u << s->tag_bits) - s->generations - 1;
	double all = .9 * keys * (s->generations + 1);

	return all <= FEW_BUCKETS * 256 || keys * EPF_DICT_SCAN * passes >= all;
}

/* Set the best buckets and slots for the other fields of @s. */
static __u64 choose_slots(struct epf_dict_shape *s, const struct epf_dict_req *req, double keys)
{
	double most = req->load > 0 ? req->load : LOAD_MAX;
	double share = -log1p(-req->budget) * exp2(s->rem_bits);
	double all = keys * (s->generations + 1);
	struct epf_dict_shape try = *s;
	__u64 least = 0;

	for (try.slots = 1; try.slots < 512 * s->lines; try.slots++) {
		struct epf_dict_table t = { .slots = try.slots, .rem_bits = s->rem_bits };
		double load = share * try.slots; /* load of a bucket */
		__u64 words;

		t.buckets = try.buckets = (__u64)ceil(fmin(all / load, 0x1p40));
		if (!epf_dict_set_out(&t, &try) || load > most * t.cells)
			break;
		if (load < .8 * most * t.cells)
			continue;
		choose_yard(&try, keys);
		words = epf_dict_words(&try);
		if (words && (!least || words < least)) {
			least = words;
			*s = try;
		}
	}
	return least;
}

/* Reduce the buckets. choose_slots() needs this because it computes as if every
 * lookup read the backyard.
 */
static double trim(struct epf_dict_shape *s, double keys, double budget)
{
	struct epf_dict_shape try = *s;
	__u64 low = s->buckets * 7 / 8 + 1, high = s->buckets;

	while (low < high) {
		try.buckets = (low + high) / 2;
		choose_yard(&try, keys);
		if (epf_dict_fpr(&try, keys, keys) <= budget) {
			high = try.buckets;
			*s = try;
		} else {
			low = try.buckets + 1;
		}
	}
	return epf_dict_fpr(s, keys, keys);
}

/* Find the best remainder for c, tag bits and lines of @shape. */
static void dict_choose(const struct epf_dict_shape *shape, const struct epf_dict_req *req,
			struct epf_dict_size *size)
{
	double keys = ceil(req->keys_per_window / shape->generations);
	unsigned int rem = (unsigned int)fmax(-log2(req->budget) - 1, 1);
	unsigned int end = rem + 4;

	for (; rem <= end; rem++) {
		struct epf_dict_shape s = *shape;
		double fpr;
		__u64 words;

		s.rem_bits = rem;
		words = choose_slots(&s, req, keys);
		if (!words || (size->bytes && words * 7 / 8 * 8 > size->bytes))
			continue;
		fpr = trim(&s, keys, req->budget);
		words = epf_dict_words(&s);
		if (fpr > req->budget || !scan_enough(&s, keys) ||
		    (size->bytes && size->bytes <= words * 8))
			continue;
		*size = (struct epf_dict_size){ s, words * 8, fpr };
	}
}

static bool dict_valid(const struct epf_dict_req *req)
{
	unsigned int most = (1u << EPF_DICT_TAG_MAX) - 2;

	if (!(req->keys_per_window >= 1) || !isfinite(req->keys_per_window))
		return false;
	if (!(req->budget >= FPR_MIN && req->budget <= FPR_MAX))
		return false;
	if (!(req->slack >= 0) || (req->slack > 0 && req->slack * most < 1))
		return false;
	if (req->load != 0 && !(req->load >= LOAD_MIN && req->load <= LOAD_MAX))
		return false;
	return req->lines <= EPF_DICT_LINES_MAX &&
	       (!req->generations ||
		(req->generations >= EPF_DICT_GENERATIONS_MIN && req->generations <= most));
}

static bool dict_allowed(const struct epf_dict_req *req, unsigned int generations)
{
	if (req->generations && req->generations != generations)
		return false;
	return !(req->slack > 0) || req->slack * generations >= 1;
}

/* Find the best c for these tag bits: try the largest for which the scan is
 * fast enough and some smaller ones, because buckets and remainders come in
 * steps.
 */
static void choose_generations(struct epf_dict_shape *s, const struct epf_dict_req *req,
			       struct epf_dict_size *size)
{
	__u64 before = size->bytes;
	unsigned int c, more = FEWER;

	for (c = (1u << s->tag_bits) - 2; c >= EPF_DICT_GENERATIONS_MIN; c--) {
		if (!dict_allowed(req, c))
			continue;
		s->generations = c;
		if (!scan_possible(s, req->keys_per_window / c))
			continue;
		dict_choose(s, req, size);
		if (size->bytes != before && !more--)
			return;
	}
}

int epf_dict_size(const struct epf_dict_req *req, struct epf_dict_size *size)
{
	struct epf_dict_shape s = { 0 };

	if (!dict_valid(req))
		return -EINVAL;
	size->bytes = 0;
	for (s.lines = 1; s.lines <= EPF_DICT_LINES_MAX; s.lines++) {
		if (req->lines && req->lines != s.lines)
			continue;
		for (s.tag_bits = EPF_DICT_TAG_MIN; s.tag_bits <= EPF_DICT_TAG_MAX; s.tag_bits++)
			choose_generations(&s, req, size);
	}
	if (!size->bytes)
		return -E2BIG;
	return req->max_bytes && size->bytes > req->max_bytes ? -ENOSPC : 0;
}

/* Return: the best c by the paper's formula. */
static unsigned int paper_generations(const struct epf_dict_req *req)
{
	unsigned int c, best = 0;

	for (c = EPF_DICT_GENERATIONS_MIN; c < 1u << EPF_DICT_TAG_MAX; c++)
		if (dict_allowed(req, c) &&
		    (!best || epf_dict_paper(req->budget, c) < epf_dict_paper(req->budget, best)))
			best = c;
	return best;
}

void epf_dict_print_space(FILE *to, const struct epf_dict_req *req,
			  const struct epf_dict_size *size)
{
	const struct epf_dict_shape *s = &size->shape;
	unsigned int c = paper_generations(req);

	fprintf(to, "error 2^%.2f slack %.3g: %.2f bits/key, bound %.2f, paper %.2f at c=%u; ",
		log2(req->budget), req->slack, (double)size->bytes * 8 / req->keys_per_window,
		epf_dict_bound(req->budget, req->slack), epf_dict_paper(req->budget, c), c);
	fprintf(to, "c=%u tag %u rem %u slots %u lines %u, %llu + %llu buckets, predicted 2^%.2f\n",
		s->generations, s->tag_bits, s->rem_bits, s->slots, s->lines, s->buckets, s->yard,
		log2(size->fpr));
}
