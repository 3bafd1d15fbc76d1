// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Comparison of all kinds. A line is 64 bytes. The counts assume that positions
 * of a key that may be in different lines are in different lines.
 */
#include "compare.h"

#include "../epf.h"
#include "apbbf.h"
#include "apbf.h"
#include "cbf.h"
#include "cells.h"
#include "chain.h"
#include "dict.h"
#include "elastic.h"
#include "ge.h"
#include "gebl.h"
#include "tlbf.h"

#include <errno.h>
#include <math.h>

#include <epf/geometry.h>
#include <epf/kind.h>

#define LINE_BITS 512u
#define EPOCH_KEYS(req, r) ceil((req)->keys_per_window / (r))

typedef int (*plan_fn)(const struct epf_compare_req *req, struct epf_compared *c);

/* Return: the mean number of looks, at most @n, until one fails, if each
 * succeeds with probability @p.
 */
static double until_one_fails(double p, unsigned int n)
{
	double looked = 0, on = 1;

	for (; n; n--, on *= p)
		looked += on;
	return looked;
}

/* The probability that the positions in one line are all set in some epoch,
 * derived from that of all L lines in the same epoch.
 */
static double line_covers(double fpr, unsigned int parts)
{
	double epoch = -expm1(log1p(-fpr) / EPF_LANES);
	double line = pow(epoch, 1.0 / parts);

	return -expm1(EPF_LANES * log1p(-line));
}

static int compare_plan_lanes(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_size_req r = { req->keys_per_window, req->budget, 0, 0 };
	struct epf_size size;
	int err = epf_size(&r, &size);

	c->slack = 1.0 / EPF_LIVE_EPOCHS;
	if (err || (req->slack && c->slack > req->slack))
		return err ? err : -ENOSPC;
	c->bytes = size.nr_lines * EPF_LINE_BYTES;
	c->epochs = EPF_LIVE_EPOCHS;
	c->params.nr_lines = size.nr_lines;
	c->params.lines_per_key = (__u16)size.lines_per_key;
	c->params.bits_per_key = (__u16)size.bits_per_key;
	c->fpr = size.fpr;
	c->lines_insert = c->lines_present = size.lines_per_key;
	c->lines_absent = until_one_fails(line_covers(size.fpr, size.lines_per_key),
					  size.lines_per_key);
	return 0;
}

/* Return: the mean number of cells read until no epoch has all of them set. */
static double ge_absent(const struct epf_ge_shape *s, double keys)
{
	double set = -expm1(-(s->bits * keys) / (double)s->segment_bits);
	double cells = 0;
	unsigned int i;

	for (i = 0; i < s->bits; i++)
		cells += 1 - pow(1 - pow(set, i), s->epochs + 1);
	return cells;
}

static int plan_ge(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_ge_req r = {
		.keys_per_window = req->keys_per_window,
		.budget = req->budget,
		.slack = req->slack,
		.layout = EPF_GE_TRANSPOSED,
	};
	struct epf_ge_size size;
	int err = epf_ge_size(&r, &size);

	if (err)
		return err;
	c->bytes = size.bytes;
	c->fpr = size.fpr;
	c->slack = 1.0 / size.shape.epochs;
	c->epochs = size.shape.epochs;
	c->shape.ge.segment_bits = size.shape.segment_bits;
	c->shape.ge.epochs = size.shape.epochs;
	c->shape.ge.bits = size.shape.bits;
	c->shape.ge.layout = size.shape.layout;
	c->lines_insert = c->lines_present = size.shape.bits;
	c->lines_absent = ge_absent(&size.shape, EPOCH_KEYS(req, size.shape.epochs));
	return 0;
}

static int plan_gebl(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_gebl_req r = {
		.keys_per_window = req->keys_per_window,
		.budget = req->budget,
		.slack = req->slack,
		.offsets = EPF_GEBL_DISTINCT,
	};
	struct epf_gebl_size size;
	int err = epf_gebl_size(&r, &size);
	unsigned int bits;

	if (err)
		return err;
	bits = (size.shape.epochs + 1) * size.shape.block_bits;
	c->bytes = size.bytes;
	c->fpr = size.fpr;
	c->slack = 1.0 / size.shape.epochs;
	c->epochs = size.shape.epochs;
	c->shape.gebl.blocks = size.shape.blocks;
	c->shape.gebl.block_bits = size.shape.block_bits;
	c->shape.gebl.epochs = size.shape.epochs;
	c->shape.gebl.bits = size.shape.bits;
	c->shape.gebl.offsets = size.shape.offsets;
	c->lines_insert = 1;
	c->lines_absent = c->lines_present = (bits + LINE_BITS - 1) / LINE_BITS;
	return 0;
}

static void aged_lines(const struct epf_rates *rates, struct epf_compared *c)
{
	c->slack = epf_aged_slack(rates->k, rates->l);
	c->epochs = rates->l;
	c->lines_insert = rates->k;
	c->lines_absent = epf_aged_accesses(rates, EPF_AGED_ABSENT);
	c->lines_present = epf_aged_accesses(rates, EPF_AGED_WINDOW);
}

static int plan_apbf(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_aged_req r = {
		.keys_per_window = req->keys_per_window,
		.budget = req->budget,
		.slack = req->slack,
	};
	struct epf_aged_load full = { .phase = 1 };
	struct epf_apbf_size size;
	struct epf_rates rates;
	int err = epf_apbf_size(&r, &size);

	if (err)
		return err;
	full.keys = size.generation;
	epf_apbf_rates(&size.shape, &full, EPF_APBF_EXACT, &rates);
	c->shape.apbf.slice_bits = size.shape.slice_bits;
	c->shape.apbf.k = size.shape.k;
	c->shape.apbf.l = size.shape.l;
	c->bytes = epf_apbf_words(&size.shape) * sizeof(__u64);
	c->fpr = size.fpr;
	aged_lines(&rates, c);
	return 0;
}

static int plan_apbbf(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_aged_req r = {
		.keys_per_window = req->keys_per_window,
		.budget = req->budget,
		.slack = req->slack,
	};
	struct epf_aged_load full = { .phase = 1 };
	struct epf_apbbf_size size;
	struct epf_rates rates;
	int err = epf_apbbf_size(&r, 0, 0, &size);

	if (err)
		return err;
	full.keys = size.generation;
	epf_apbbf_rates(&size.shape, &full, &rates);
	c->shape.apbbf.blocks = size.shape.nr_blocks;
	c->shape.apbbf.k = size.shape.k;
	c->shape.apbbf.l = size.shape.l;
	c->shape.apbbf.block_bits = size.shape.block_bits;
	c->shape.apbbf.bits = size.shape.bits;
	c->bytes = epf_apbbf_words(&size.shape) * sizeof(__u64);
	c->fpr = size.fpr;
	aged_lines(&rates, c);
	return 0;
}

/* The window is one second with W keys. Memory is that of k + l + 1 slices,
 * each in lines of its own, and of the ring that orders them. Only lines of
 * slices count, because the ring stays in the cache.
 */
static int plan_tlbf(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_tlbf_req r = {
		.span_ns = 1000000000,
		.rate = req->keys_per_window,
		.budget = req->budget,
		.slack = req->slack,
	};
	struct epf_tlbf_size size;
	struct epf_rates rates;
	int err = epf_tlbf_size(&r, &size);
	__u32 k, l;

	if (err)
		return err;
	k = size.shape.k;
	l = size.shape.l;
	c->shape.tlbf.words_first = size.shape.words_first;
	c->shape.tlbf.words_min = size.shape.words_min;
	c->shape.tlbf.words_max = size.shape.words_max;
	c->shape.tlbf.k = k;
	c->shape.tlbf.l = l;
	epf_tlbf_steady(k, l, &rates);
	c->bytes = (size.shape.words_first * 8 + 63) / 64 * 64 * (k + l + 1) +
		   sizeof(struct epf_tlbf);
	c->fpr = size.fpr;
	aged_lines(&rates, c);
	c->epochs = l;
	return 0;
}

/* The window is one second with W keys, as above. At a steady rate there is one
 * table.
 */
static int plan_chain(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_chain_req r = {
		.span_ns = 1000000000,
		.rate = req->keys_per_window,
		.budget = req->budget,
	};
	struct epf_chain_size size;
	int err = epf_chain_size(&r, &size);

	c->slack = 1.0 / EPF_LIVE_EPOCHS;
	if (err || (req->slack && c->slack > req->slack))
		return err ? err : -ENOSPC;
	c->epochs = EPF_LIVE_EPOCHS;
	c->shape.chain.lines_first = size.shape.lines_first;
	c->shape.chain.lines_min = size.shape.lines_min;
	c->shape.chain.lines_max = size.shape.lines_max;
	c->shape.chain.load = size.shape.load;
	c->shape.chain.lines_per_key = size.shape.parts;
	c->shape.chain.bits_per_key = size.shape.bits;
	c->bytes = size.words * sizeof(__u64) + sizeof(struct epf_chain);
	c->fpr = size.fpr;
	c->lines_insert = c->lines_present = size.shape.parts;
	c->lines_absent = until_one_fails(line_covers(size.fpr, size.shape.parts),
					  size.shape.parts);
	return 0;
}

static int plan_dict(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_dict_req r = {
		.keys_per_window = req->keys_per_window,
		.budget = req->budget,
		.slack = req->slack,
	};
	struct epf_dict_state state;
	struct epf_dict_size size;
	double keys;
	int err = epf_dict_size(&r, &size);

	if (err)
		return err;
	keys = EPOCH_KEYS(req, size.shape.generations);
	epf_dict_predict(&size.shape, keys, keys, &state);
	c->bytes = size.bytes;
	c->fpr = size.fpr;
	c->slack = 1.0 / size.shape.generations;
	c->epochs = size.shape.generations;
	c->shape.dict.buckets = size.shape.buckets;
	c->shape.dict.yard = size.shape.yard;
	c->shape.dict.generations = size.shape.generations;
	c->shape.dict.tag_bits = size.shape.tag_bits;
	c->shape.dict.rem_bits = size.shape.rem_bits;
	c->shape.dict.slots = size.shape.slots;
	c->shape.dict.lines = size.shape.lines;
	c->lines_insert = size.shape.lines * (1 + 2 * state.asks);
	c->lines_absent = c->lines_insert;
	c->lines_present = size.shape.lines * 3;
	return 0;
}

static int plan_elastic(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_elastic_req r = {
		.keys_per_window = req->keys_per_window,
		.budget = req->budget,
		.slack = req->slack,
	};
	struct epf_elastic_size size;
	int err = epf_elastic_size(&r, &size);

	if (err)
		return err;
	c->bytes = size.bytes;
	c->fpr = size.fpr;
	c->slack = 1.0 / size.shape.epochs;
	c->epochs = size.shape.epochs;
	c->shape.elastic.lines = size.shape.nr_lines;
	c->shape.elastic.line_words = size.shape.line_words;
	c->shape.elastic.epochs = size.shape.epochs;
	c->lines_insert = c->lines_absent = c->lines_present = size.shape.line_words / 8;
	return 0;
}

/* Choose k so that a counter is non-zero with probability 1/2, then the counters. */
static int plan_cbf(const struct epf_compare_req *req, struct epf_compared *c)
{
	struct epf_cbf_shape s = { .bits = 1 };
	double w = ceil(req->keys_per_window);

	s.bits += (unsigned int)(-log2(req->budget) - 0.5);
	s.window = (__u64)w;
	s.cells = (__u64)ceil(-(s.bits * w) / log1p(-pow(req->budget, 1.0 / s.bits)));
	if (s.cells < EPF_CELLS_MIN)
		s.cells = EPF_CELLS_MIN;
	c->bytes = epf_cbf_bytes(&s) + epf_cbf_queue_bytes(&s);
	c->fpr = epf_cbf_fpr(&s, w);
	c->slack = 0;
	c->lines_insert = 2.0 * s.bits + 1;
	c->lines_absent = until_one_fails(pow(c->fpr, 1.0 / s.bits), s.bits);
	c->lines_present = s.bits;
	return 0;
}

/* @name: NULL: epf_kind_name() has it */
static const struct {
	__u32 number;
	const char *name, *promise;
	plan_fn plan;
} kinds[EPF_COMPARE_KINDS] = {
	{ EPF_KIND_LANES, NULL,
	  "no key of the window is lost, exact age; no lock, one store rotates",
	  compare_plan_lanes },
	{ EPF_KIND_ELASTIC, NULL, "no key of the window is lost, exact age; one lock per line",
	  plan_elastic },
	{ EPF_KIND_DICT, NULL, "no key of the window is lost, exact age; one lock, a scan",
	  plan_dict },
	{ EPF_KIND_GE, NULL,
	  "no key of the window is lost, exact age; one lock, rotation sweeps everything",
	  plan_ge },
	{ EPF_KIND_GEBL, NULL,
	  "no key of the window is lost, exact age; one lock, rotation sweeps one epoch",
	  plan_gebl },
	{ EPF_KIND_APBF, NULL,
	  "no key of the window is lost, age is a minimum; one lock, a shift sweeps one slice",
	  plan_apbf },
	{ EPF_KIND_APBBF, NULL,
	  "no key of the window is lost, age is a minimum; one lock, a shift sweeps one slice",
	  plan_apbbf },
	{ EPF_KIND_TLBF, NULL,
	  "window in time, memory follows the rate, age is a minimum; one lock", plan_tlbf },
	{ EPF_KIND_CHAIN, NULL,
	  "window in time, tables of lanes follow the rate, exact age; one lock", plan_chain },
	{ EPF_COMPARED_USER, "cbf",
	  "exact window, no age; the queue takes 8 bytes per key of the window", plan_cbf },
};

const char *epf_kind_name(__u32 number)
{
#define NAME(number, name) [number] = #name,
	static const char *const names[EPF_KIND_MAX + 1] = { [EPF_KIND_LANES] = "lanes",
							     EPF_LOCKED_KINDS(NAME) };
#undef NAME

	return number <= EPF_KIND_MAX ? names[number] : NULL;
}

static void compare_one(int i, const struct epf_compare_req *req, struct epf_compared *row)
{
	*row = (struct epf_compared){ .kind = kinds[i].name ? kinds[i].name :
							      epf_kind_name(kinds[i].number),
				      .number = kinds[i].number,
				      .promise = kinds[i].promise };
	row->err = kinds[i].plan(req, row);
}

void epf_compare(const struct epf_compare_req *req, struct epf_compared rows[EPF_COMPARE_KINDS])
{
	int i;

	for (i = 0; i < EPF_COMPARE_KINDS; i++)
		compare_one(i, req, &rows[i]);
}

/* Return: the index of kind @number in the table, or -1. */
static int compare_find_kind(__u32 number)
{
	int i;

	for (i = 0; i < EPF_COMPARE_KINDS; i++)
		if (kinds[i].number == number && number != EPF_COMPARED_USER)
			return i;
	return -1;
}

int epf_compare_kind(__u32 number, const struct epf_compare_req *req, struct epf_compared *row)
{
	int i = compare_find_kind(number);

	if (i < 0)
		return -EINVAL;
	compare_one(i, req, row);
	return row->err;
}

double epf_kind_fpr(const struct epf_params *p, const struct epf_shape *s, double keys)
{
	struct epf_aged_load full = { .phase = 1 };

	switch (p->kind) {
	case EPF_KIND_LANES:
		keys /= EPF_LIVE_EPOCHS;
		return epf_size_fpr(p->nr_lines, p->lines_per_key, p->bits_per_key, keys);
	case EPF_KIND_GE:
		keys /= s->ge.epochs;
		return epf_ge_fpr(&(struct epf_ge_shape){ s->ge.segment_bits, s->ge.epochs,
							  s->ge.bits, s->ge.layout },
				  keys, keys);
	case EPF_KIND_GEBL:
		keys /= s->gebl.epochs;
		return epf_gebl_fpr(&(struct epf_gebl_shape){ s->gebl.blocks, s->gebl.block_bits,
							      s->gebl.epochs, s->gebl.bits,
							      s->gebl.offsets },
				    keys, keys);
	case EPF_KIND_APBF:
		full.keys = keys / s->apbf.l;
		return epf_apbf_fpr(&(struct epf_apbf_shape){ s->apbf.slice_bits, s->apbf.k,
							      s->apbf.l },
				    &full);
	case EPF_KIND_APBBF:
		full.keys = keys / s->apbbf.l;
		return epf_apbbf_fpr(&(struct epf_apbbf_shape){ s->apbbf.blocks, s->apbbf.k,
								s->apbbf.l, s->apbbf.block_bits,
								s->apbbf.bits },
				     &full);
	case EPF_KIND_DICT:
		keys /= s->dict.generations;
		return epf_dict_fpr(&(struct epf_dict_shape){ s->dict.buckets, s->dict.yard,
							      s->dict.generations, s->dict.tag_bits,
							      s->dict.rem_bits, s->dict.slots,
							      s->dict.lines },
				    keys, keys);
	case EPF_KIND_ELASTIC:
		keys /= s->elastic.epochs;
		return epf_elastic_fpr(&(struct epf_elastic_shape){ s->elastic.lines,
								    s->elastic.line_words,
								    s->elastic.epochs },
				       keys, keys);
	}
	return -1;
}
