// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of kind gebl: known answers, properties, prediction against measurement,
 * sizing.
 */
#define KIND gebl
#define EPOCHS(shape) ((shape)->epochs)
#define WARM(shape) EPOCHS(shape)

#include <epf/gebl.h>
#include <cover.h>
#include <kinds/gebl.h>

#include "epoch_kind.h"
#include "gebl_vectors.h"

static const char *tell(const SHAPE *s)
{
	static char text[80];

	snprintf(text, sizeof(text), "blocks=%llu B=%u r=%u k=%u %s", s->blocks, s->block_bits,
		 s->epochs, s->bits, s->offsets ? "double" : "distinct");
	return text;
}

static void answers(void)
{
	struct epf_gebl_probe p;
	bool good = true;
	int i;

	for (i = 0; i < NR(gebl_masks); i++) {
		SHAPE s = { 1, gebl_masks[i].block_bits, 2, gebl_masks[i].bits,
			    gebl_masks[i].offsets };
		FILTER f = filter_new(&s);

		epf_gebl_probe(&f, gebl_masks[i].digest, &p);
		good &= !memcmp(p.mask, gebl_masks[i].mask, sizeof(p.mask));
		filter_free(&f);
	}
	tap_ok(good, "offsets are the model's");
	for (i = 0; i < NR(gebl_scripts); i++) {
		SHAPE s = { gebl_scripts[i].blocks, gebl_scripts[i].block_bits,
			    gebl_scripts[i].epochs, gebl_scripts[i].bits, gebl_scripts[i].offsets };

		tap_ok(known_answers(&s, gebl_scripts[i].seed, gebl_scripts[i].steps,
				     gebl_scripts[i].answers, NULL),
		       "%s: answers are the model's", tell(&s));
	}
}

static const struct law_shape law_shapes[] = {
	{ { 1 << 18, 64, 7, 5, EPF_GEBL_DISTINCT }, 100001, EXACT },
	{ { 50001, 128, 2, 9, EPF_GEBL_DISTINCT }, 33333, EXACT },
	{ { 1 << 22, 64, 4, 1, EPF_GEBL_DISTINCT }, 1 << 21, EXACT },
	{ { 20000, 256, 8, 9, EPF_GEBL_DOUBLE }, 30000, EXACT },
	{ { 9999, 512, 31, 20, EPF_GEBL_DISTINCT }, 40000, EXACT },
	{ { 1, 128, 6, 3, EPF_GEBL_DISTINCT }, 1, CROWDED },
	{ { 1, 64, 3, 2, EPF_GEBL_DOUBLE }, 1, CROWDED },
	{ { 2, 64, 31, 3, EPF_GEBL_DISTINCT }, 1, CROWDED },
};

static void laws(void)
{
	epoch_laws(law_shapes, NR(law_shapes), 33);
}

static void shapes(void)
{
	static const SHAPE bad[] = {
		{ 0, 64, 7, 5, 0 },
		{ (1ULL << 34) + 1, 64, 7, 5, 0 },
		{ ~0ULL, 64, 7, 5, 0 },
		{ 9, 32, 7, 5, 0 },
		{ 9, 1024, 7, 5, 0 },
		{ 9, 65, 7, 5, 0 },
		{ 9, 0, 7, 5, 0 },
		{ 9, 384, 7, 5, 0 },
		{ 9, 64, 1, 5, 0 },
		{ 9, 64, 32, 5, 0 },
		{ 9, 64, ~0u, 5, 0 },
		{ 9, 64, 7, 0, 0 },
		{ 9, 64, 7, 21, 0 },
		{ 9, 64, 7, 5, 2 },
		{ (1ULL << 31) + 1, 64, 7, 5, 0 },
	};
	static const struct shape_words good[] = {
		{ { 1, 64, 2, 1, 0 }, 8 },
		{ { 3, 64, 7, 20, 1 }, 24 },
		{ { 5, 256, 8, 9, 1 }, 184 },
		{ { 7, 512, 31, 9, 0 }, 1792 },
		{ { 1ULL << 31, 64, 7, 5, 0 }, 1ULL << 34 },
	};

	check_shapes(bad, NR(bad), true, good, NR(good));
}

/* k = 2, by hand: 1, less twice the probability that a given position is clear, plus
 * the probability that both are.
 */
static void covers(void)
{
	struct epf_cover_double *c = epf_cover_double_new(64, 2);
	double load = .75;
	double distinct = 1 - 2 * exp(-load * 2 / 64) + exp(-load * (1 - 62.0 * 61 / (64 * 63)));
	/* of 64 * 64 progressions 127 contain a given place, and 2 a given pair */
	double once = exp(-load * 127 / 4096);
	double twice = 1 - 2 * once + exp(-load * 252 / 4096);

	tap_ok(fabs(epf_cover_distinct(64, 2, load) - distinct) < 1e-14 &&
		       epf_cover_distinct(512, 9, 0) == 0 && epf_cover_distinct(512, 9, 1e9) == 1,
	       "distinct: the chance of k=2 is %.9f", distinct);
	tap_ok(c && fabs(epf_cover_double(c, 0, load) - twice) < 1e-14 &&
		       fabs(epf_cover_double(c, 5, load) - twice) < 1e-14 &&
		       fabs(epf_cover_double(c, 6, load) - 1 + once) < 1e-14 &&
		       epf_cover_double(c, 6, 0) == 0 && epf_cover_double(c, 6, 1e9) == 1,
	       "double: the chance of k=2 is %.9f, with h2 = 0 %.9f", twice, 1 - once);
	epf_cover_double_free(c);
}

/* Mostly 14 bits a key of a window of 20,000. */
static const struct load predicted[] = {
	{ { 122, 256, 8, 9, EPF_GEBL_DOUBLE }, 2500, 2500, 20000 },
	{ { 122, 256, 8, 9, EPF_GEBL_DISTINCT }, 2500, 2500, 20000 },
	{ { 122, 256, 8, 9, EPF_GEBL_DISTINCT }, 2500, 0, 20000 },
	{ { 61, 512, 8, 9, EPF_GEBL_DOUBLE }, 2500, 1250, 20000 },
	{ { 61, 512, 8, 9, EPF_GEBL_DISTINCT }, 2500, 2500, 20000 },
	{ { 243, 128, 8, 10, EPF_GEBL_DISTINCT }, 2500, 2500, 20000 },
	{ { 547, 64, 7, 5, EPF_GEBL_DISTINCT }, 2857, 2857, 20000 },
	{ { 547, 64, 7, 5, EPF_GEBL_DOUBLE }, 2857, 2857, 20000 },
	{ { 160, 128, 4, 16, EPF_GEBL_DOUBLE }, 700, 700, 20000 },
	{ { 40, 512, 20, 20, EPF_GEBL_DISTINCT }, 900, 300, 20000 },
};

/* Predict as if blocks were equally full, which the intervals must reject. */
static double evenly_full(const struct load *l)
{
	double none = 1 - (double)l->s.bits / l->s.block_bits;
	double p = pow(1 - pow(none, (double)l->keys / (double)l->s.blocks), l->s.bits);
	double q = pow(1 - pow(none, (double)l->now / (double)l->s.blocks), l->s.bits);

	return 1 - pow(1 - p, l->s.epochs) * (1 - q);
}

static void prediction(void)
{
	predictions(predicted, NR(predicted), 0, evenly_full, "all blocks equally full");
}

static const struct ask sizes[] = {
	{ { 1e6, .0222, 0, 0, 0, 0, EPF_GEBL_DISTINCT }, 0, 0 },
	{ { 1e6, .0222, 0, 0, 7, 64, EPF_GEBL_DISTINCT }, 0, 0 },
	{ { 1e6, .0222, 0, 0, 8, 256, EPF_GEBL_DOUBLE }, 0, 0 },
	{ { 1e6, 1e-4, .1, 0, 0, 512, EPF_GEBL_DISTINCT }, 0, 0 },
	{ { 1e6, 1e-3, .1, 0, 0, 128, EPF_GEBL_DOUBLE }, 0, 0 },
	{ { 1e3, 1e-9, 0, 0, 2, 512, EPF_GEBL_DISTINCT }, 0, 0 },
	{ { 1, .5, 0, 0, 0, 0, EPF_GEBL_DISTINCT }, 0, 0 },
	{ { 1e6, .0222, 0, 1 << 20, 8, 512, 0 }, -ENOSPC, 0 },
	{ { 1e13, .0222, 0, 0, 8, 512, 0 }, -E2BIG, 0 },
	{ { 0, .1, 0, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { INFINITY, .1, 0, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, 0, 0, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, .03, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, 0, 0, 32, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, 0, 0, 0, 1024, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, 0, 0, 0, 96, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, 0, 0, 0, 64, 2 }, -EINVAL, 0 },
};

/* Would one block less break the guarantee, even with another k? */
static bool is_least(const struct epf_gebl_req *req, const struct epf_gebl_size *size)
{
	double keys = ceil(req->keys_per_window / size->shape.epochs);
	struct epf_gebl_shape s = size->shape;
	bool least = true;
	__u32 k = size->shape.bits;

	if (--s.blocks == 0)
		return true;
	for (s.bits = k > 3 ? k - 3 : 1; s.bits <= k + 3 && s.bits <= EPF_GEBL_BITS_MAX; s.bits++)
		least &= epf_gebl_fpr(&s, keys, keys) > req->budget;
	return least;
}

static void sizing(void)
{
	check_sizes(sizes, NR(sizes), 0);
}

static const struct part parts[] = {
	{ answers, 1 + NR(gebl_scripts), false },
	{ laws, NR(law_shapes), true },
	{ shapes, SHAPES, false },
	{ covers, 2, false },
	{ prediction, NR(predicted) + 1, false },
	{ sizing, 1, false },
};

KIND_MAIN(parts)
