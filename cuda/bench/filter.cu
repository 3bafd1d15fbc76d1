// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Comparison of filters for the same window: lanes with the bytes of the
 * baselines and with the false-positive rate of the classic filter, and the
 * baselines in all their forms.
 *
 * With all epochs full the classic filter has a rate of 2.28 % at 14 bits per
 * key, r = 8 and k = 8. Lanes with k = 7 have 2.47 % at 21 bits and 2.25 % at
 * 21.6, because the number of keys in a line is Poisson. At 14 bits k = 6 is
 * the best: 8.75 %.
 */
#include "bench.h"

#define EQUAL_BYTES 14.0 /* as in the paper */
#define EQUAL_ERROR 21.6

static void lanes_make(struct filter *f)
{
	__u64 lines = (__u64)(f->kind->bits * (double)f->window) / 8 / EPF_LINE_BYTES;
	int err = epf_geom_init(&f->lanes.geom, lines, 1, f->kind->k);

	must(err ? cudaErrorInvalidValue : cudaSuccess, "a filter's shape");
	f->lanes.line = (struct epf_line *)bench.lines;
	f->lanes.epoch = EPF_EPOCH_FIRST;
	f->bytes = lines * EPF_LINE_BYTES;
}

static struct epf_cu_keys digests(const __u64 *digest, __u64 n)
{
	struct epf_cu_keys k = { digest, n, 0, { { 0, 0 }, 0 } };

	return k;
}

static cudaError_t lanes_insert(struct filter *f, const __u64 *digest, __u64 n)
{
	struct epf_cu_keys k = digests(digest, n);

	return epf_cu_insert(&f->lanes, &k, f->lanes.epoch, bench.stream);
}

static cudaError_t lanes_rotate(struct filter *f)
{
	cudaError_t err = epf_cu_clear(&f->lanes, f->lanes.epoch + 1, bench.stream);

	f->lanes.epoch++;
	return err;
}

static cudaError_t lanes_query(struct filter *f, int form, const __u64 *digest, __u64 n,
			       __u32 *bitmap)
{
	struct epf_cu_keys k = digests(digest, n);

	return epf_cu_query(&f->lanes, &k, bitmap, form ? bench.ages : NULL, bench.count,
			    bench.stream);
}

static void segments_make(struct filter *f)
{
	struct epf_ge_shape s = { 0, f->kind->epochs, f->kind->k, EPF_GE_SEGMENTS };

	s.segment_bits = (__u64)(f->kind->bits * (double)f->window) / (f->kind->epochs + 1);
	must(epf_ge_init(&f->ge, &s) ? cudaErrorInvalidValue : cudaSuccess, "a rival's shape");
	f->ge.word = (__u64 *)bench.lines;
	f->bytes = epf_ge_words(&s) * sizeof(__u64);
}

/* A cell of one byte holds the eight epochs of r = 7. */
static void cells_make(struct filter *f)
{
	struct epf_ge_shape s = { 0, f->kind->epochs, f->kind->k, EPF_GE_TRANSPOSED };

	s.segment_bits = (__u64)(f->kind->bits * (double)f->window) / 8;
	must(epf_ge_init(&f->ge, &s) ? cudaErrorInvalidValue : cudaSuccess, "a rival's shape");
	f->ge.word = (__u64 *)bench.lines;
	f->bytes = epf_ge_words(&s) * sizeof(__u64);
}

static cudaError_t classic_insert(struct filter *f, const __u64 *digest, __u64 n)
{
	return ge_insert(&f->ge, digest, n);
}

static cudaError_t classic_rotate(struct filter *f)
{
	return ge_rotate(&f->ge);
}

static cudaError_t segments_query(struct filter *f, int form, const __u64 *digest, __u64 n,
				  __u32 *bitmap)
{
	static const enum ge_form forms[] = { GE_EARLY, GE_WAVE, GE_ALL };

	return ge_query(&f->ge, forms[form], digest, n, bitmap);
}

static cudaError_t cells_query(struct filter *f, int form, const __u64 *digest, __u64 n,
			       __u32 *bitmap)
{
	(void)form;
	return ge_query(&f->ge, GE_CELLS, digest, n, bitmap);
}

static void counting_make(struct filter *f)
{
	f->counting.cells = (__u64)(f->kind->bits * (double)f->window) / 4;
	f->counting.bits = f->kind->k;
	f->counting.word = (__u32 *)bench.lines;
	f->bytes = (f->counting.cells + 7) / 8 * sizeof(__u32);
}

/* Insert before deleting, so that the keys of the window are always present. */
static cudaError_t counting_insert(struct filter *f, const __u64 *digest, __u64 n)
{
	cudaError_t err = counting_add(&f->counting, digest, n, 1);

	if (err == cudaSuccess && f->inserted >= f->window)
		err = counting_add(&f->counting, digest - f->window, n, -1);
	return err;
}

static cudaError_t counted_query(struct filter *f, int form, const __u64 *digest, __u64 n,
				 __u32 *bitmap)
{
	(void)form;
	return counting_query(&f->counting, digest, n, bitmap);
}

/* The k of counters leaves half of them zero. */
/* clang-format off */
const struct kind kinds[NR_KINDS] = {
	{ "lanes", EQUAL_BYTES, EPF_LIVE_EPOCHS, 6, true, { "bitmap", "ages" },
	  lanes_make, lanes_insert, lanes_rotate, lanes_query },
	{ "lanes, equal error", EQUAL_ERROR, EPF_LIVE_EPOCHS, 7, true,
	  { "bitmap", "ages" },
	  lanes_make, lanes_insert, lanes_rotate, lanes_query },
	{ "classic", EQUAL_BYTES, GE_EPOCHS, GE_BITS, false,
	  { "early", "wave", "all" },
	  segments_make, classic_insert, classic_rotate, segments_query },
	{ "cells", EQUAL_BYTES, CELLS_EPOCHS, GE_BITS, false, { "early" },
	  cells_make, classic_insert, classic_rotate, cells_query },
	{ "counting", EQUAL_BYTES, 0, 2, false, { "early" },
	  counting_make, counting_insert, NULL, counted_query },
};
/* clang-format on */

#define COUNTING_CHUNKS 8 /* chunks of a window, with a deletion after each */

void filter_make(struct filter *f, const struct kind *kind, __u64 window)
{
	__u32 epochs = kind->epochs ? kind->epochs : COUNTING_CHUNKS;

	f->kind = kind;
	f->window = window;
	f->inserted = 0;
	f->epoch_keys = (window + epochs - 1) / epochs;
	f->left = f->epoch_keys;
	kind->make(f);
	if (f->bytes > bench.room)
		must(cudaErrorMemoryAllocation, kind->name);
	must(cudaMemsetAsync(bench.lines, 0, f->bytes, bench.stream), "a filter's memory");
}

cudaError_t filter_insert(struct filter *f, const __u64 *digest, __u64 n)
{
	cudaError_t err = cudaSuccess;
	__u64 some;

	for (; n && err == cudaSuccess; n -= some, digest += some) {
		if (!f->left) {
			err = f->kind->rotate ? f->kind->rotate(f) : cudaSuccess;
			f->left = f->epoch_keys;
		}
		some = n < f->left ? n : f->left;
		if (err == cudaSuccess)
			err = f->kind->insert(f, digest, some);
		f->left -= some;
		f->inserted += some;
	}
	return err;
}

__u64 filter_full(const struct filter *f)
{
	return f->kind->epochs ? f->epoch_keys * (f->kind->epochs + 1) : f->window;
}

/* ---- lookups ---- */

struct asking {
	struct filter *f;
	int form;
	__u64 n;
};

static cudaError_t ask(void *self)
{
	struct asking *a = (struct asking *)self;

	return a->f->kind->query(a->f, a->form, bench.keys, a->n, bench.bitmap);
}

/* Return: seconds to look up @a->n keys of bench.keys; *@found is how many are
 * present.
 */
static double ask_for(struct asking *a, __u64 *found)
{
	double s = seconds_of(ask, a);

	*found = present_in(bench.bitmap, a->n);
	return s;
}

static void ask_in(struct asking *a, const char *part, double insert_s)
{
	struct filter *f = a->f;
	double n = (double)a->n, live_s, absent_s;
	__u64 first = f->inserted - f->window, found, wrong;

	must(keys_draw(bench.keys, first, f->window, a->n), "keys");
	live_s = ask_for(a, &found);
	must(keys_make(bench.keys, SEED_ABSENT, 0, a->n), "keys");
	absent_s = ask_for(a, &wrong);
	record(part,
	       "s:name s:form d:window d:bits_a_key d:k d:bytes d:inserted d:insert_s d:live_per_s d:absent_per_s d:both_per_s d:missing d:error",
	       f->kind->name, f->kind->form[a->form], (double)f->window, f->kind->bits,
	       (double)f->kind->k, (double)f->bytes, (double)f->inserted, insert_s, n / live_s,
	       n / absent_s, 2 * n / (live_s + absent_s), n - (double)found, (double)wrong / n);
	law(found == a->n, "no key of the window is missing");
}

void filter_ask(struct filter *f, const char *part, __u64 n, double insert_s)
{
	struct asking a = { f, 0, n };

	for (; f->kind->form[a.form]; a.form++)
		ask_in(&a, part, insert_s);
}

/* ---- the baselines at several sizes ---- */

static double fill(struct filter *f)
{
	__u64 all = filter_full(f), at, n;
	double s = 0;

	for (at = 0; at < all; at += n) {
		n = all - at < bench.nr_keys ? all - at : bench.nr_keys;
		must(keys_make(bench.keys, SEED_LIVE, at, n), "keys");
		span_begin();
		must(filter_insert(f, bench.keys, n), "insertions");
		s += span_end();
	}
	return s;
}

void run_rivals(void)
{
	static const __u64 bytes[] = { 70 * MB, 560 * MB, 4500 * MB };
	const struct kind *kind;
	struct filter f;
	__u64 window;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		window = (bench.emulated ? (i + 1) * 10000 : bytes[i]) * 8 / 14;
		for (kind = kinds; kind < kinds + NR_KINDS; kind++) {
			if (kind->bits * (double)window / 8 > (double)bench.room)
				continue;
			filter_make(&f, kind, window);
			filter_ask(&f, "rivals", bench.nr_keys / 2, fill(&f));
			ceiling(EPF_LINE_BYTES, f.bytes);
		}
		if (cuco_ask)
			cuco_ask(window);
	}
}
