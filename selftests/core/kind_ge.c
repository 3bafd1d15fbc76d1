// SPDX-License-Identifier: GPL-2.0
/*
 * Kind ge: known answers, laws, both layouts against each other, the paper's
 * closed form, prediction against measurement, sizing.
 *
 * With the argument "laws" only the laws: epochs_broken.sh runs them with edits
 * of the core that must break them.
 */
#include "epoch_laws.h"
#include "ge_vectors.h"
#include "tap.h"

#include <epf/ge.h>
#include <kinds/ge.h>

LAW_OPS(ge)

static bool make(struct epf_ge *f, __u64 segment_bits, __u32 epochs, __u32 bits,
		 __u32 layout)
{
	struct epf_ge_shape s = { segment_bits, epochs, bits, layout };

	f->word = law_memory(epf_ge_words(&s));
	return f->word && !epf_ge_init(f, &s);
}

static void known_answers(void)
{
	__u32 i, j, layout;
	bool good = true;

	for (i = 0; i < NR(ge_positions); i++) {
		__u64 digest = ge_positions[i].digest;
		__u64 step = epf_ge_step(digest);

		for (j = 0; j < ge_positions[i].k; j++, digest += step)
			good &= epf_mulhi(digest, ge_positions[i].segment_bits) ==
				ge_positions[i].at[j];
	}
	tap_ok(good, "positions are the model's");
	for (i = 0; i < NR(ge_scripts); i++) {
		for (good = true, layout = 0; layout < 2; layout++) {
			struct epf_ge f;
			struct law_kind kind = LAW_KIND(&f, 0, 0);

			good &= make(&f, ge_scripts[i].segment_bits,
				     ge_scripts[i].epochs, ge_scripts[i].bits,
				     layout) &&
				law_script(&kind, ge_scripts[i].seed,
					   ge_scripts[i].steps,
					   ge_scripts[i].answers);
			free(f.word);
		}
		tap_ok(good, "s=%llu r=%u k=%u: both layouts answer as the model",
		       ge_scripts[i].segment_bits, ge_scripts[i].epochs,
		       ge_scripts[i].bits);
	}
}

/* s, r, k; words of a part of a sweep */
static const struct {
	__u64 s;
	__u32 r, k;
	__u64 part;
} law_shapes[] = {
	{ 1 << 20, 2, 3, 50000 }, { (1 << 14) + 1, 4, 8, 600 },
	{ 100000, 7, 9, 3001 },	  { 1 << 26, 8, 1, 4000000 },
	{ 100000, 16, 9, 20000 }, { 60001, 31, 12, 10000 },
};
#define LAW_TESTS (2 * (int)NR(law_shapes) + 2)

static void laws_of_shape(__u32 i, __u32 layout)
{
	static struct laws l;
	struct epf_ge f;
	struct law_kind kind = LAW_KIND(&f, law_shapes[i].r,
					law_shapes[i].part);

	if (!make(&f, law_shapes[i].s, law_shapes[i].r, law_shapes[i].k,
		  layout)) {
		tap_ok(false, "no filter");
		return;
	}
	if (layout == EPF_GE_SEGMENTS)
		kind.sweep = epf_ge_stride(&f.shape) / 3;
	laws_run(&l, &kind, 77 + i);
	tap_ok(!l.lost && !l.older && !l.inexact,
	       "%s s=%llu r=%u k=%u: %llu answers, %llu lost, %llu too old, %llu inexact",
	       layout ? "segments" : "transposed", law_shapes[i].s,
	       law_shapes[i].r, law_shapes[i].k, l.checks, l.lost, l.older,
	       l.inexact);
	free(f.word);
}

/* A full filter: false positives everywhere, yet nothing lost or too old. */
static void laws_crowded(__u32 layout)
{
	static struct laws l;
	struct epf_ge f;
	struct law_kind kind = LAW_KIND(&f, 5, 7);
	bool made = make(&f, 64, 5, 2, layout);

	if (made)
		laws_run(&l, &kind, 5);
	tap_ok(made && !l.lost && !l.older && l.inexact,
	       "%s s=64 r=5 k=2: %llu answers, %llu lost, %llu too old, %llu inexact",
	       layout ? "segments" : "transposed", l.checks, l.lost, l.older,
	       l.inexact);
	free(f.word);
}

static void laws(void)
{
	__u32 i, layout;

	for (layout = 0; layout < 2; layout++) {
		for (i = 0; i < NR(law_shapes); i++)
			laws_of_shape(i, layout);
		laws_crowded(layout);
	}
}

static bool segment_bit(const struct epf_ge *f, __u32 segment, __u64 pos)
{
	__u64 stride = epf_ge_stride(&f->shape);
	const __u64 *word;
	__u32 at;

	if (f->shape.layout == EPF_GE_SEGMENTS)
		return f->word[segment * stride + (pos >> 6)] >> (pos & 63) & 1;
	word = epf_ge_locate(f, pos, &at);
	return *word >> (at + f->shape.epochs - segment) & 1;
}

/* Both layouts through one stream of some false positives. */
static void layouts_agree(__u64 s, __u32 r, __u32 k)
{
	struct epf_ge a, b;
	__u64 i, hits = 0, differ = 0;
	__u32 segment;

	if (!make(&a, s, r, k, EPF_GE_TRANSPOSED) ||
	    !make(&b, s, r, k, EPF_GE_SEGMENTS))
		abort();
	for (i = 0; i < 60 * s / k; i++) {
		int verdict = epf_ge_test(&a, epf_word(i, 3));

		hits += !!verdict;
		differ += verdict != epf_ge_test(&b, epf_word(i, 3));
		epf_ge_insert(&a, epf_word(i, 9));
		epf_ge_insert(&b, epf_word(i, 9));
		if (i % (s / k) == s / k - 1) {
			epf_ge_rotate(&a);
			epf_ge_rotate(&b);
		}
	}
	for (segment = 0; segment <= r; segment++)
		for (i = 0; i < s; i++)
			differ += segment_bit(&a, segment, i) !=
				  segment_bit(&b, segment, i);
	tap_ok(hits && !differ,
	       "s=%llu r=%u k=%u: layouts agree in every answer (%llu positive) and bit",
	       s, r, k, hits);
	free(a.word);
	free(b.word);
}

static void shapes(void)
{
	static const struct epf_ge_shape bad[] = {
		{ 63, 4, 3, 0 },	     { (1ULL << 40) + 1, 4, 3, 0 },
		{ ~0ULL, 4, 3, 0 },	     { 1 << 20, 1, 3, 0 },
		{ 1 << 20, 32, 3, 0 },	     { 1 << 20, ~0u, 3, 1 },
		{ 1 << 20, 4, 0, 1 },	     { 1 << 20, 4, 65, 1 },
		{ 1 << 20, 4, 3, 2 },	     { 1ULL << 40, 8, 3, 0 },
		{ 1ULL << 40, 4, 3, 1 },     { (1ULL << 37) + 1, 7, 3, 0 },
	};
	static const struct {
		struct epf_ge_shape s;
		__u64 words;
	} good[] = {
		{ { 64, 2, 1, 0 }, 8 },	       { { 64, 2, 1, 1 }, 8 },
		{ { 65, 7, 64, 0 }, 16 },      { { 1000, 8, 1, 0 }, 256 },
		{ { 1000, 15, 1, 0 }, 256 },   { { 1000, 16, 1, 0 }, 504 },
		{ { 1000, 31, 1, 1 }, 512 },   { { 1ULL << 37, 7, 3, 0 }, 1ULL << 34 },
		{ { 1ULL << 35, 31, 3, 1 }, 1ULL << 34 },
	};
	struct epf_ge f;
	bool fine = true;
	__u32 i;

	for (i = 0; i < NR(bad); i++)
		fine &= !epf_ge_words(&bad[i]) &&
			epf_ge_init(&f, &bad[i]) == -EINVAL;
	tap_ok(fine, "%zu bad shapes are refused", NR(bad));
	for (fine = true, i = 0; i < NR(good); i++)
		fine &= epf_ge_words(&good[i].s) == good[i].words &&
			!epf_ge_init(&f, &good[i].s);
	tap_ok(fine, "%zu shapes take the words they should", NR(good));
}

/* The closed form at its best k: W, bits a key of the window, r, k, rate and its
 * last digit; computed from the formula as printed, apart from this code.
 */
static const struct {
	double window, bits;
	__u32 r, k;
	double rate, unit;
} table[] = {
	{ 20e3, 8, 4, 4, .2125, 1e-4 }, { 20e3, 8, 8, 5, .2596, 1e-4 },
	{ 20e3, 10, 4, 6, .1033, 1e-4 }, { 20e3, 10, 8, 6, .1191, 1e-4 },
	{ 20e3, 12, 4, 7, .0488, 1e-4 }, { 20e3, 12, 8, 7, .0525, 1e-4 },
	{ 20e3, 14, 4, 8, .02284, 1e-5 }, { 20e3, 14, 8, 9, .02263, 1e-5 },
	{ 20e3, 14, 16, 9, .02987, 1e-5 }, { 20e3, 16, 4, 9, .01063, 1e-5 },
	{ 20e3, 16, 8, 10, .00966, 1e-5 }, { 20e3, 20, 4, 11, .00229, 1e-5 },
	{ 20e3, 20, 8, 12, .00176, 1e-5 }, { 20e3, 24, 4, 13, .00049, 1e-5 },
	{ 20e3, 24, 8, 15, .00032, 1e-5 }, { 84e4, 14, 6, 8, .02179, 1e-5 },
	{ 84e4, 14, 7, 9, .02216, 1e-5 }, { 84e4, 16, 7, 10, .00957, 1e-5 },
	{ 84e4, 20, 7, 12, .00178, 1e-5 }, { 84e4, 24, 7, 15, .00033, 1e-5 },
};

static void closed_form(void)
{
	bool fine = true;
	__u32 i;

	for (i = 0; i < NR(table); i++) {
		double w = table[i].window;
		double s = floor(table[i].bits * w / (table[i].r + 1));
		double keys = ceil(w / table[i].r);
		__u32 k = epf_ge_best_bits(s, table[i].r, keys);
		double p = epf_ge_closed(s, table[i].r, k, keys, keys);

		if (fabs(p - table[i].rate) <= .5001 * table[i].unit &&
		    (!table[i].k || k == table[i].k))
			continue;
		fine = false;
		printf("# %g bits r=%u: k=%u %.6f\n", table[i].bits,
		       table[i].r, k, p);
	}
	tap_ok(fine, "Proposition 2: best k and rate of %zu settings", NR(table));
}

/* A filter with @epochs full epochs and @now keys in the current one. */
static bool fill(struct epf_ge *f, __u64 seed, __u64 keys, __u64 now)
{
	__u32 e;
	__u64 i;

	for (e = 0; e <= f->shape.epochs; e++) {
		__u64 n = e < f->shape.epochs ? keys : now;

		for (i = 0; i < n; i++)
			epf_ge_insert(f, epf_word(seed, (__u32)(e * keys + i + 1)));
		if (e < f->shape.epochs)
			epf_ge_rotate(f);
	}
	return true;
}

static double measure(const struct epf_ge *f, __u64 seed, __u64 queries)
{
	__u64 i, hits = 0;

	for (i = 0; i < queries; i++)
		hits += epf_ge_test(f, epf_word(seed ^ i << 24, 7)) != EPF_ABSENT;
	return (double)hits / (double)queries;
}

static const struct {
	__u64 s;
	__u32 r, k;
	__u64 keys, now; /* of the older epochs, of the current one */
	__u64 queries;	 /* of one filter */
	__u32 layout;
} predicted[] = {
	{ 31111, 8, 9, 2500, 2500, 40000, 1 }, /* the paper's: 14 bits */
	{ 31111, 8, 9, 2500, 1250, 40000, 1 }, { 31111, 8, 9, 2500, 0, 40000, 0 },
	{ 35000, 7, 9, 2857, 2857, 40000, 0 }, { 56000, 4, 8, 5000, 5000, 40000, 0 },
	{ 4800, 15, 8, 400, 400, 40000, 0 },   { 10000, 31, 8, 1000, 700, 20000, 0 },
	{ 1024, 7, 12, 59, 59, 100000, 0 }, /* where double hashing tells */
};

static void prediction(void)
{
	struct law_sample rate;
	double p, closed = 0;
	__u32 i, j;

	for (i = 0; i < NR(predicted); i++) {
		struct epf_ge f = { 0 };

		memset(&rate, 0, sizeof(rate));
		for (j = 0; j < LAW_FILTERS; j++) {
			__u64 seed = epf_word(i * 1000 + j, 99);

			if (!make(&f, predicted[i].s, predicted[i].r,
				  predicted[i].k, predicted[i].layout))
				abort();
			fill(&f, seed, predicted[i].keys, predicted[i].now);
			law_sample_add(&rate, measure(&f, ~seed,
						      predicted[i].queries));
			free(f.word);
		}
		p = epf_ge_fpr(&f.shape, predicted[i].keys, predicted[i].now);
		closed = epf_ge_closed(predicted[i].s, predicted[i].r,
				       predicted[i].k, predicted[i].keys,
				       predicted[i].now);
		tap_ok(fabs(p - law_mean(&rate)) <= law_margin(&rate),
		       "s=%llu r=%u k=%u, %llu and %llu keys: predicted %.5f, measured %.5f +- %.5f",
		       predicted[i].s, predicted[i].r, predicted[i].k,
		       predicted[i].keys, predicted[i].now, p, law_mean(&rate),
		       law_margin(&rate));
	}
	tap_ok(fabs(closed - law_mean(&rate)) > law_margin(&rate),
	       "the last is refused without the term of double hashing: %.5f",
	       closed);
}

static const struct {
	struct epf_ge_req req;
	int err;
	__u32 r; /* expected; 0: any */
} sizes[] = {
	{ { 1e6, .0222, 0, 0, 0, EPF_GE_TRANSPOSED }, 0, 7 },
	{ { 1e6, .0222, 0, 0, 0, EPF_GE_SEGMENTS }, 0, 6 },
	{ { 1e6, .0222, 0, 0, 8, EPF_GE_SEGMENTS }, 0, 8 },
	{ { 1e6, 1e-6, .04, 0, 0, EPF_GE_TRANSPOSED }, 0, 31 },
	{ { 1e6, 1e-6, .125, 0, 0, EPF_GE_SEGMENTS }, 0, 0 },
	{ { 1, .5, 0, 0, 0, EPF_GE_SEGMENTS }, 0, 0 },
	{ { 500, 1e-6, 0, 0, 0, EPF_GE_TRANSPOSED }, 0, 7 },
	{ { 1e6, .0222, 0, 1 << 20, 0, EPF_GE_SEGMENTS }, -ENOSPC, 0 },
	{ { 1e13, .0222, 0, 0, 0, EPF_GE_SEGMENTS }, -E2BIG, 0 },
	{ { 0, .0222, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { NAN, .0222, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, 1e-10, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .6, 0, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, .03, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, -1, 0, 0, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, 0, 0, 1, 0 }, -EINVAL, 0 },
	{ { 1e6, .1, 0, 0, 0, 2 }, -EINVAL, 0 },
};

/* Does one bit less of a segment break the promise, at every k? */
static bool is_least(const struct epf_ge_req *req, struct epf_ge_size *size)
{
	double keys = ceil(req->keys_per_window / size->shape.epochs);
	struct epf_ge_shape s = size->shape;
	bool least = true;

	if (s.segment_bits == EPF_GE_SEGMENT_MIN)
		return true;
	s.segment_bits--;
	for (s.bits = 1; s.bits <= EPF_GE_BITS_MAX; s.bits++)
		least &= epf_ge_fpr(&s, keys, keys) > req->budget;
	return least;
}

static void sizing(void)
{
	bool fine = true;
	__u32 i;

	for (i = 0; i < NR(sizes); i++) {
		const struct epf_ge_req *req = &sizes[i].req;
		struct epf_ge_size size;
		int err = epf_ge_size(req, &size);

		fine &= err == sizes[i].err;
		if (err)
			continue;
		printf("# W=%g budget %g: s=%llu r=%u k=%u %s, %.2f bits/key\n",
		       req->keys_per_window, req->budget,
		       size.shape.segment_bits, size.shape.epochs,
		       size.shape.bits, req->layout ? "segments" : "transposed",
		       (double)size.bytes * 8 / req->keys_per_window);
		fine &= size.fpr <= req->budget &&
			size.bytes == 8 * epf_ge_words(&size.shape) &&
			is_least(req, &size) &&
			(!sizes[i].r || size.shape.epochs == sizes[i].r) &&
			(!(req->slack > 0) ||
			 1.0 / size.shape.epochs <= req->slack);
	}
	tap_ok(fine, "sizing keeps %zu promises or says why not", NR(sizes));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "laws")) {
		tap_plan(LAW_TESTS);
		laws();
		return tap_end();
	}
	tap_plan(1 + (int)NR(ge_scripts) + LAW_TESTS + 3 + 2 + 1 +
		 (int)NR(predicted) + 1 + 1);
	known_answers();
	laws();
	layouts_agree(300, 2, 3);
	layouts_agree(2000, 8, 9);
	layouts_agree(900, 31, 5);
	shapes();
	closed_form();
	prediction();
	sizing();
	return tap_end();
}
