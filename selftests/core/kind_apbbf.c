// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of kind apbbf: known answers, properties, predictions, sizing, and Table 3 of
 * Shtul, Baquero and Almeida, "Age-Partitioned Bloom Filters", 2020.
 */
#define KIND apbbf

#include <epf/apbbf.h>

#include "aged_sim.h"
#include "apbbf_vectors.h"

#include <kinds/apbbf.h>
#include <kinds/apbf.h>

static const char *tell(const SHAPE *s)
{
	static char text[60];

	snprintf(text, sizeof(text), "k=%u l=%u B=%u b=%u", s->k, s->l, s->block_bits, s->bits);
	return text;
}

static void answers(void)
{
	int i;

	for (i = 0; i < NR(apbbf_scripts); i++) {
		SHAPE shape = { apbbf_scripts[i].nr_blocks, apbbf_scripts[i].k, apbbf_scripts[i].l,
				apbbf_scripts[i].block_bits, apbbf_scripts[i].bits };

		tap_ok(known_answers(&shape, apbbf_scripts[i].seed, apbbf_scripts[i].steps,
				     apbbf_scripts[i].answers, &apbbf_scripts[i].memory),
		       "known answers, %s, %llu blocks", tell(&shape), shape.nr_blocks);
	}
}

static void laws(void)
{
	static const SHAPE small[] = { { 1, 1, 1, 64, 1 },  { 3, 2, 3, 64, 4 },
				       { 1, 3, 5, 512, 8 }, { 2, 1, 7, 128, 8 },
				       { 2, 3, 8, 256, 4 }, { 5, 4, 2, 64, 8 } };
	static const SHAPE sparse[] = { { 500, 3, 1, 64, 4 },
					{ 100, 3, 4, 512, 4 },
					{ 100, 3, 5, 256, 8 },
					{ 500, 5, 3, 64, 2 } };

	aged_laws(small, NR(small), sparse, NR(sparse), &small[4]);
}
#define LAWS (6 + 4 + 1)

static void shapes(void)
{
	static const SHAPE bad[] = {
		{ 0, 3, 3, 64, 4 },
		{ 8, 0, 3, 64, 4 },
		{ 8, 3, 0, 64, 4 },
		{ 8, 64, 65, 64, 4 },
		{ 8, ~0u, 2, 64, 4 },
		{ 8, 3, 3, 0, 0 },
		{ 8, 3, 3, 32, 4 },
		{ 8, 3, 3, 1024, 4 },
		{ 8, 3, 3, 96, 3 },
		{ 8, 3, 3, 64, 0 },
		{ 8, 3, 3, 64, 3 },
		{ 8, 3, 3, 64, 64 },
		{ 8, 3, 3, 512, 16 },
		{ 8, 3, 3, 64, 128 },
		{ (1ULL << 32) + 1, 3, 3, 64, 4 },
		{ (1ULL << 29) + 1, 3, 3, 512, 4 },
		{ ~0ULL, 3, 3, 512, 4 },
	};
	static const struct shape_words good[] = {
		{ { 1, 1, 1, 64, 32 }, 8 },
		{ { 1ULL << 32, 64, 64, 64, 16 }, 1ULL << 39 },
		{ { 1ULL << 29, 1, 127, 512, 8 }, 1ULL << 39 },
	};

	check_shapes(bad, NR(bad), false, good, NR(good));
}

/* Table 3, as printed. */
enum cell { FPR, APBF, CAPACITY, WINDOW, FALSE_HIT, ABSENT, NPWS, CELLS };

static const struct {
	SHAPE shape;
	double cell[CELLS];
} table3[] = {
	{ { 1ULL << 26, 2, 3, 64, 4 }, { .0159865, .0180539, .968, 3.30, 2.72, 2.25, .36 } },
	{ { 1ULL << 26, 2, 3, 512, 4 }, { .0121825, .0180539, .996, 3.31, 2.71, 2.23, .35 } },
	{ { 1ULL << 26, 2, 5, 64, 4 }, { .0257532, .0335359, .968, 3.80, 3.28, 3.37, .21 } },
	{ { 1ULL << 26, 2, 5, 512, 4 }, { .0197654, .0335359, .996, 3.81, 3.26, 3.33, .21 } },
	{ { 1ULL << 26, 3, 5, 64, 4 }, { .0016005, .0017134, .968, 4.40, 3.85, 2.29, .22 } },
	{ { 1ULL << 26, 3, 5, 512, 4 }, { .0010688, .0017134, .996, 4.40, 3.83, 2.26, .21 } },
	{ { 1ULL << 26, 3, 8, 64, 4 }, { .0026767, .0031769, .968, 4.92, 4.41, 3.43, .13 } },
	{ { 1ULL << 26, 3, 8, 512, 4 }, { .0017993, .0031769, .996, 4.92, 4.39, 3.38, .13 } },
	{ { 1ULL << 26, 2, 3, 64, 8 }, { .0005608, .0001122, .936, 3.33, 2.70, 2.05, .34 } },
	{ { 1ULL << 26, 2, 3, 512, 8 }, { .0000738, .0001122, .992, 3.33, 2.68, 2.02, .33 } },
	{ { 1ULL << 26, 2, 5, 64, 8 }, { .0009231, .0002342, .936, 3.80, 3.23, 3.08, .20 } },
	{ { 1ULL << 26, 2, 5, 512, 8 }, { .0001226, .0002342, .992, 3.80, 3.21, 3.03, .20 } },
	{ { 1ULL << 26, 3, 5, 64, 8 }, { .0000104, .0000007, .936, 4.40, 3.82, 2.05, .20 } },
	{ { 1ULL << 26, 3, 5, 512, 8 }, { .0000005, .0000007, .992, 4.40, 3.78, 2.02, .20 } },
	{ { 1ULL << 26, 3, 8, 64, 8 }, { .0000178, .0000014, .936, 4.88, 4.35, 3.08, .13 } },
	{ { 1ULL << 26, 3, 8, 512, 8 }, { .0000009, .0000014, .992, 4.88, 4.32, 3.03, .13 } },
};

/* Return: the error of an apbf of shape (k b, l b), half full, with the linear ramp. */
static double unblocked(const SHAPE *s)
{
	struct epf_apbf_shape apbf = { 1ULL << 33, s->k * s->bits, s->l * s->bits };
	struct epf_aged_load load = { epf_apbf_generation(&apbf), 1 };
	struct epf_rates r;

	epf_apbf_rates(&apbf, &load, EPF_APBF_LINEAR, &r);
	return epf_aged_fpr(&r);
}

static void compute_row(const SHAPE *s, double ours[CELLS])
{
	struct epf_aged_load load = { epf_apbbf_generation(s), 1 };
	double parts = (double)s->block_bits / s->bits;
	struct epf_rates r;

	epf_apbbf_rates(s, &load, &r);
	ours[FPR] = epf_aged_fpr(&r);
	ours[APBF] = unblocked(s);
	ours[CAPACITY] = epf_apbbf_block_keys(s->block_bits, s->bits) / (parts * log(2));
	ours[WINDOW] = epf_aged_accesses(&r, EPF_AGED_WINDOW);
	ours[FALSE_HIT] = epf_aged_accesses(&r, EPF_AGED_FALSE);
	ours[ABSENT] = epf_aged_accesses(&r, EPF_AGED_ABSENT);
	ours[NPWS] = epf_aged_npws(&r);
}

static int row_differs(int i)
{
	static const int digits[CELLS] = { 7, 7, 3, 2, 2, 2, 2 };
	const SHAPE *s = &table3[i].shape;
	double ours[CELLS];
	int c, differ = 0;

	compute_row(s, ours);
	for (c = 0; c < CELLS; c++)
		differ += cell_differs(s, c, ours[c], table3[i].cell[c], NULL, digits[c]);
	return differ;
}

static void table(void)
{
	int i, differ = 0;

	for (i = 0; i < NR(table3); i++)
		differ += row_differs(i);
	tap_ok(!differ, "Table 3: %d rows of %d cells: %d differ", NR(table3), CELLS, differ);
}

static void rates(const SHAPE *s, const struct epf_aged_load *load, struct epf_rates *r)
{
	epf_apbbf_rates(s, load, r);
}

/* Predict as if all blocks were equally full. */
static void equal_blocks(const SHAPE *s, const struct epf_aged_load *load, struct epf_rates *r)
{
	double bit = (double)s->bits / s->block_bits;
	unsigned int i;

	*r = (struct epf_rates){ .k = s->k, .l = s->l, .phase = load->phase };
	for (i = 0; i < s->k + s->l; i++)
		r->r[i] = pow(1 - pow(1 - bit,
				      epf_aged_had(r, i) * load->keys / (double)s->nr_blocks),
			      s->bits);
}

static const SHAPE simulated[] = { { 300, 2, 3, 64, 4 },
				   { 400, 1, 7, 64, 8 },
				   { 200, 2, 5, 512, 4 } };

static void simulations(void)
{
	int i;

	for (i = 0; i < NR(simulated); i++)
		simulation(&simulated[i], (int)epf_apbbf_generation(&simulated[i]), rates,
			   equal_blocks, "blocks equally full");
}

static void sizes(void)
{
	static const struct {
		struct epf_aged_req req;
		unsigned int block_bits, bits;
	} ask[] = {
		{ { 1e6, .0222, .25, 0, 0, 0 }, 512, 0 },  { { 1e6, .0222, .25, 0, 0, 0 }, 0, 0 },
		{ { 1e6, .0369, 0, .118, 0, 0 }, 512, 4 }, { { 1e5, 1e-4, 0, .2, 0, 0 }, 64, 0 },
		{ { 1e7, 1e-6, .5, 0, 0, 0 }, 0, 8 },
	};
	int i;

	for (i = 0; i < NR(ask); i++) {
		struct epf_apbbf_size z;
		int ret = epf_apbbf_size(&ask[i].req, ask[i].block_bits, ask[i].bits, &z);
		struct epf_aged_load load = { z.generation, 1 };
		SHAPE less = z.shape;
		double n = ask[i].req.keys_per_window;

		less.nr_blocks--;
		tap_ok(!ret && z.fpr <= ask[i].req.budget &&
			       z.fpr == epf_apbbf_fpr(&z.shape, &load) &&
			       z.generation * z.shape.l >= n && epf_apbbf_fpr(&less, &load) > z.fpr,
		       "sizing: window %g, error %g: k=%u l=%u B=%u b=%u, %.2f bits a key, error %.3g, NPWS %.3f",
		       n, ask[i].req.budget, z.shape.k, z.shape.l, z.shape.block_bits, z.shape.bits,
		       (double)epf_apbbf_words(&z.shape) * 64 / n, z.fpr, z.npws);
	}
}

static void bad_sizes(void)
{
	struct epf_aged_req req = { 1e6, .1, 0, 0, 0, 0 };
	struct epf_aged_req small = { 1e6, .1, 0, 0, 100000, 0 };
	struct epf_aged_req bad = { 1e6, .7, 0, 0, 0, 0 };
	struct epf_apbbf_size z;

	tap_ok(epf_apbbf_size(&req, 96, 0, &z) == -EINVAL &&
		       epf_apbbf_size(&req, 64, 3, &z) == -EINVAL &&
		       epf_apbbf_size(&req, 512, 16, &z) == -EINVAL &&
		       epf_apbbf_size(&bad, 0, 0, &z) == -EINVAL &&
		       epf_apbbf_size(&small, 0, 0, &z) == -ENOSPC,
	       "sizing: bad promises and impossible ones are refused");
}

static const struct part parts[] = {
	{ answers, NR(apbbf_scripts), false },
	{ laws, LAWS, true },
	{ shapes, SHAPES, false },
	{ table, 1, false },
	{ simulations, NR(simulated) * SIMULATION, false },
	{ sizes, 5, false },
	{ bad_sizes, 1, false },
};

KIND_MAIN(parts)
