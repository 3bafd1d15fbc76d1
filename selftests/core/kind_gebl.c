// SPDX-License-Identifier: GPL-2.0
/*
 * Kind gebl: known answers, laws, prediction against measurement, sizing.
 *
 * With the argument "laws" only the laws: epochs_broken.sh runs them with edits
 * of the core that must break them.
 */
#include "epoch_laws.h"
#include "gebl_vectors.h"
#include "tap.h"

#include <epf/gebl.h>
#include <cover.h>
#include <kinds/gebl.h>

LAW_OPS(gebl)

static bool make(struct epf_gebl *f, const struct epf_gebl_shape *s)
{
	f->word = law_memory(epf_gebl_words(s));
	return f->word && !epf_gebl_init(f, s);
}

static void known_answers(void)
{
	struct epf_gebl_probe p;
	struct epf_gebl f;
	bool good = true;
	__u32 i;

	for (i = 0; i < NR(gebl_masks); i++) {
		struct epf_gebl_shape s = { 1, gebl_masks[i].block_bits, 2,
					    gebl_masks[i].bits,
					    gebl_masks[i].offsets };

		good &= make(&f, &s);
		epf_gebl_probe(&f, gebl_masks[i].digest, &p);
		good &= !memcmp(p.mask, gebl_masks[i].mask, sizeof(p.mask));
		free(f.word);
	}
	tap_ok(good, "offsets are the model's");
	for (i = 0; i < NR(gebl_scripts); i++) {
		struct epf_gebl_shape s = { gebl_scripts[i].blocks,
					    gebl_scripts[i].block_bits,
					    gebl_scripts[i].epochs,
					    gebl_scripts[i].bits,
					    gebl_scripts[i].offsets };
		struct law_kind kind = LAW_KIND(&f, 0, 0);

		good = make(&f, &s) &&
		       law_script(&kind, gebl_scripts[i].seed,
				  gebl_scripts[i].steps,
				  gebl_scripts[i].answers);
		tap_ok(good, "blocks=%llu B=%u r=%u k=%u %s: answers are the model's",
		       s.blocks, s.block_bits, s.epochs, s.bits,
		       s.offsets ? "double" : "distinct");
		free(f.word);
	}
}

static const struct {
	struct epf_gebl_shape s;
	__u64 part; /* words of a part of a sweep */
	bool exact; /* large enough to be without a false positive */
} law_shapes[] = {
	{ { 1 << 18, 64, 7, 5, EPF_GEBL_DISTINCT }, 100001, true },
	{ { 50001, 128, 2, 9, EPF_GEBL_DISTINCT }, 33333, true },
	{ { 1 << 22, 64, 4, 1, EPF_GEBL_DISTINCT }, 1 << 21, true },
	{ { 20000, 256, 8, 9, EPF_GEBL_DOUBLE }, 30000, true },
	{ { 9999, 512, 31, 20, EPF_GEBL_DISTINCT }, 40000, true },
	{ { 1, 128, 6, 3, EPF_GEBL_DISTINCT }, 1, false },
	{ { 1, 64, 3, 2, EPF_GEBL_DOUBLE }, 1, false },
	{ { 2, 64, 31, 3, EPF_GEBL_DISTINCT }, 1, false },
};

static void laws(void)
{
	static struct laws l;
	struct epf_gebl f;
	__u32 i;

	for (i = 0; i < NR(law_shapes); i++) {
		const struct epf_gebl_shape *s = &law_shapes[i].s;
		struct law_kind kind = LAW_KIND(&f, s->epochs,
						law_shapes[i].part);
		bool made = make(&f, s);

		if (made)
			laws_run(&l, &kind, 33 + i);
		tap_ok(made && !l.lost && !l.older &&
			       !l.inexact == law_shapes[i].exact,
		       "blocks=%llu B=%u r=%u k=%u: %llu answers, %llu lost, %llu too old, %llu inexact",
		       s->blocks, s->block_bits, s->epochs, s->bits, l.checks,
		       l.lost, l.older, l.inexact);
		free(f.word);
	}
}

static void shapes(void)
{
	static const struct epf_gebl_shape bad[] = {
		{ 0, 64, 7, 5, 0 },	   { (1ULL << 34) + 1, 64, 7, 5, 0 },
		{ ~0ULL, 64, 7, 5, 0 },	   { 9, 32, 7, 5, 0 },
		{ 9, 1024, 7, 5, 0 },	   { 9, 65, 7, 5, 0 },
		{ 9, 0, 7, 5, 0 },	   { 9, 384, 7, 5, 0 },
		{ 9, 64, 1, 5, 0 },	   { 9, 64, 32, 5, 0 },
		{ 9, 64, ~0u, 5, 0 },	   { 9, 64, 7, 0, 0 },
		{ 9, 64, 7, 21, 0 },	   { 9, 64, 7, 5, 2 },
		{ (1ULL << 31) + 1, 64, 7, 5, 0 },
	};
	static const struct {
		struct epf_gebl_shape s;
		__u64 words;
	} good[] = {
		{ { 1, 64, 2, 1, 0 }, 8 },     { { 3, 64, 7, 20, 1 }, 24 },
		{ { 5, 256, 8, 9, 1 }, 184 },  { { 7, 512, 31, 9, 0 }, 1792 },
		{ { 1ULL << 31, 64, 7, 5, 0 }, 1ULL << 34 },
	};
	struct epf_gebl f;
	bool fine = true;
	__u32 i;

	for (i = 0; i < NR(bad); i++)
		fine &= !epf_gebl_words(&bad[i]) &&
			epf_gebl_init(&f, &bad[i]) == -EINVAL;
	tap_ok(fine, "%zu bad shapes are refused", NR(bad));
	for (fine = true, i = 0; i < NR(good); i++)
		fine &= epf_gebl_words(&good[i].s) == good[i].words &&
			!epf_gebl_init(&f, &good[i].s);
	tap_ok(fine, "%zu shapes take the words they should", NR(good));
}

/* k = 2, by hand: 1 less twice the chance that a given position is not set, and
 * that of both not.
 */
static void covers(void)
{
	struct epf_cover_double *c = epf_cover_double_new(64, 2);
	double load = .75;
	double distinct = 1 - 2 * exp(-load * 2 / 64) +
			  exp(-load * (1 - 62.0 * 61 / (64 * 63)));
	/* of 64 * 64 progressions 127 meet a given place, 2 meet a given pair */
	double once = exp(-load * 127 / 4096);
	double twice = 1 - 2 * once + exp(-load * 252 / 4096);

	tap_ok(fabs(epf_cover_distinct(64, 2, load) - distinct) < 1e-14 &&
		       epf_cover_distinct(512, 9, 0) == 0 &&
		       epf_cover_distinct(512, 9, 1e9) == 1,
	       "distinct: the chance of k=2 is %.9f", distinct);
	tap_ok(c && fabs(epf_cover_double(c, 0, load) - twice) < 1e-14 &&
		       fabs(epf_cover_double(c, 5, load) - twice) < 1e-14 &&
		       fabs(epf_cover_double(c, 6, load) - 1 + once) < 1e-14 &&
		       epf_cover_double(c, 6, 0) == 0 &&
		       epf_cover_double(c, 6, 1e9) == 1,
	       "double: the chance of k=2 is %.9f, with h2 = 0 %.9f", twice,
	       1 - once);
	epf_cover_double_free(c);
}

static void fill(struct epf_gebl *f, __u64 seed, __u64 keys, __u64 now)
{
	__u32 e;
	__u64 i;

	for (e = 0; e <= f->shape.epochs; e++) {
		__u64 n = e < f->shape.epochs ? keys : now;

		for (i = 0; i < n; i++)
			epf_gebl_insert(f, epf_word(seed, (__u32)(e * keys + i + 1)));
		if (e < f->shape.epochs)
			epf_gebl_rotate(f);
	}
}

static double measure(const struct epf_gebl *f, __u64 seed, __u64 queries)
{
	__u64 i, hits = 0;

	for (i = 0; i < queries; i++)
		hits += epf_gebl_test(f, epf_word(seed ^ i << 24, 7)) !=
			EPF_ABSENT;
	return (double)hits / (double)queries;
}

/* Mostly 14 bits a key of a window of 20,000. */
static const struct {
	struct epf_gebl_shape s;
	__u64 keys, now; /* of the older epochs, of the current one */
} predicted[] = {
	{ { 122, 256, 8, 9, EPF_GEBL_DOUBLE }, 2500, 2500 },
	{ { 122, 256, 8, 9, EPF_GEBL_DISTINCT }, 2500, 2500 },
	{ { 122, 256, 8, 9, EPF_GEBL_DISTINCT }, 2500, 0 },
	{ { 61, 512, 8, 9, EPF_GEBL_DOUBLE }, 2500, 1250 },
	{ { 61, 512, 8, 9, EPF_GEBL_DISTINCT }, 2500, 2500 },
	{ { 243, 128, 8, 10, EPF_GEBL_DISTINCT }, 2500, 2500 },
	{ { 547, 64, 7, 5, EPF_GEBL_DISTINCT }, 2857, 2857 },
	{ { 547, 64, 7, 5, EPF_GEBL_DOUBLE }, 2857, 2857 },
	{ { 160, 128, 4, 16, EPF_GEBL_DOUBLE }, 700, 700 },
	{ { 40, 512, 20, 20, EPF_GEBL_DISTINCT }, 900, 300 },
};

/* Blocks taken as equally full: what the intervals must refuse. */
static double evenly_full(const struct epf_gebl_shape *s, double keys,
			  double now)
{
	double none = 1 - (double)s->bits / s->block_bits;
	double p = pow(1 - pow(none, keys / (double)s->blocks), s->bits);
	double q = pow(1 - pow(none, now / (double)s->blocks), s->bits);

	return 1 - pow(1 - p, s->epochs) * (1 - q);
}

static void prediction(void)
{
	__u32 i, j, refused = 0;

	for (i = 0; i < NR(predicted); i++) {
		const struct epf_gebl_shape *s = &predicted[i].s;
		struct law_sample rate = { 0, 0 };
		struct epf_gebl f;
		double p;

		for (j = 0; j < LAW_FILTERS; j++) {
			__u64 seed = epf_word(i * 1000 + j, 98);

			if (!make(&f, s))
				abort();
			fill(&f, seed, predicted[i].keys, predicted[i].now);
			law_sample_add(&rate, measure(&f, ~seed, 20000));
			free(f.word);
		}
		p = epf_gebl_fpr(s, predicted[i].keys, predicted[i].now);
		tap_ok(fabs(p - law_mean(&rate)) <= law_margin(&rate),
		       "B=%u r=%u k=%u %s, %llu and %llu keys: predicted %.4f, measured %.4f +- %.4f",
		       s->block_bits, s->epochs, s->bits,
		       s->offsets ? "double" : "distinct", predicted[i].keys,
		       predicted[i].now, p, law_mean(&rate), law_margin(&rate));
		p = evenly_full(s, predicted[i].keys, predicted[i].now);
		refused += fabs(p - law_mean(&rate)) > law_margin(&rate);
	}
	tap_ok(refused == NR(predicted),
	       "a prediction with all blocks equally full is refused %u times of %zu",
	       refused, NR(predicted));
}

static const struct {
	struct epf_gebl_req req;
	int err;
} sizes[] = {
	{ { 1e6, .0222, 0, 0, 0, 0, EPF_GEBL_DISTINCT }, 0 },
	{ { 1e6, .0222, 0, 0, 7, 64, EPF_GEBL_DISTINCT }, 0 },
	{ { 1e6, .0222, 0, 0, 8, 256, EPF_GEBL_DOUBLE }, 0 },
	{ { 1e6, 1e-4, .1, 0, 0, 512, EPF_GEBL_DISTINCT }, 0 },
	{ { 1e6, 1e-3, .1, 0, 0, 128, EPF_GEBL_DOUBLE }, 0 },
	{ { 1e3, 1e-9, 0, 0, 2, 512, EPF_GEBL_DISTINCT }, 0 },
	{ { 1, .5, 0, 0, 0, 0, EPF_GEBL_DISTINCT }, 0 },
	{ { 1e6, .0222, 0, 1 << 20, 8, 512, 0 }, -ENOSPC },
	{ { 1e13, .0222, 0, 0, 8, 512, 0 }, -E2BIG },
	{ { 0, .1, 0, 0, 0, 0, 0 }, -EINVAL },
	{ { INFINITY, .1, 0, 0, 0, 0, 0 }, -EINVAL },
	{ { 1e6, 0, 0, 0, 0, 0, 0 }, -EINVAL },
	{ { 1e6, .1, .03, 0, 0, 0, 0 }, -EINVAL },
	{ { 1e6, .1, 0, 0, 32, 0, 0 }, -EINVAL },
	{ { 1e6, .1, 0, 0, 0, 1024, 0 }, -EINVAL },
	{ { 1e6, .1, 0, 0, 0, 96, 0 }, -EINVAL },
	{ { 1e6, .1, 0, 0, 0, 64, 2 }, -EINVAL },
};

/* Does one block less break the promise, also with other k? */
static bool is_least(const struct epf_gebl_req *req,
		     const struct epf_gebl_size *size)
{
	double keys = ceil(req->keys_per_window / size->shape.epochs);
	struct epf_gebl_shape s = size->shape;
	bool least = true;
	__u32 k = size->shape.bits;

	if (--s.blocks == 0)
		return true;
	for (s.bits = k > 3 ? k - 3 : 1;
	     s.bits <= k + 3 && s.bits <= EPF_GEBL_BITS_MAX; s.bits++)
		least &= epf_gebl_fpr(&s, keys, keys) > req->budget;
	return least;
}

static void sizing(void)
{
	bool fine = true;
	__u32 i;

	for (i = 0; i < NR(sizes); i++) {
		const struct epf_gebl_req *req = &sizes[i].req;
		struct epf_gebl_size size;
		int err = epf_gebl_size(req, &size);

		fine &= err == sizes[i].err;
		if (err)
			continue;
		printf("# W=%g budget %g: blocks=%llu B=%u r=%u k=%u %s, %.2f bits/key\n",
		       req->keys_per_window, req->budget, size.shape.blocks,
		       size.shape.block_bits, size.shape.epochs,
		       size.shape.bits, req->offsets ? "double" : "distinct",
		       (double)size.bytes * 8 / req->keys_per_window);
		fine &= size.fpr <= req->budget &&
			size.bytes == 8 * epf_gebl_words(&size.shape) &&
			is_least(req, &size) &&
			(!(req->slack > 0) ||
			 1.0 / size.shape.epochs <= req->slack);
	}
	tap_ok(fine, "sizing keeps %zu promises or says why not", NR(sizes));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "laws")) {
		tap_plan(NR(law_shapes));
		laws();
		return tap_end();
	}
	tap_plan(1 + (int)NR(gebl_scripts) + (int)NR(law_shapes) + 2 + 2 +
		 (int)NR(predicted) + 1 + 1);
	known_answers();
	laws();
	shapes();
	covers();
	prediction();
	sizing();
	return tap_end();
}
