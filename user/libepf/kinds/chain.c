// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Chain of lanes tables: filters in this process, prediction, sizing.
 */
#include "chain.h"

#include "../epf.h"

#include <epf/estimate.h>

#include <math.h>
#include <stdlib.h>

#define SCAN_LINES 4096 /* lines per call */
#define SPARE_RATE 1.25 /* a table is sized for the measured rate times this */

static __u64 *table_new(__u64 words)
{
	void *memory = aligned_alloc(EPF_LINE_BYTES, words * 8);

	return memory ? memset(memory, 0, words * 8) : NULL;
}

/* Allocate and add the planned table. Return: false if there is no memory. */
static bool chain_supply(struct epf_chain_owner *o, __u64 now_ns)
{
	__u64 words = epf_chain_plan(&o->f, now_ns);
	__u64 *word = NULL;

	if (!words)
		return true;
	if (!o->max_words || (o->words <= o->max_words && words <= o->max_words - o->words))
		word = table_new(words);
	if (!word)
		return false;
	epf_chain_add(&o->f, now_ns, word, words);
	o->words += words;
	if (o->words > o->words_peak)
		o->words_peak = o->words;
	return true;
}

int epf_chain_open(struct epf_chain_owner *o, const struct epf_chain_shape *s, __u64 max_words,
		   __u64 now_ns)
{
	int ret = epf_chain_init(&o->f, s, now_ns);

	o->words = o->words_peak = o->refused = 0;
	o->max_words = max_words;
	if (!ret && !chain_supply(o, now_ns))
		ret = -ENOMEM;
	return ret;
}

void epf_chain_close(struct epf_chain_owner *o)
{
	if (o->f.spare.lines)
		free(o->f.spare.line);
	while (o->f.nr)
		free(o->f.table[--o->f.nr].line);
}

void epf_chain_care(struct epf_chain_owner *o, __u64 now_ns)
{
	__u64 *word, words;

	while ((word = epf_chain_expired(&o->f, now_ns, &words))) {
		free(word);
		o->words -= words;
	}
	while (epf_chain_scan(&o->f, SCAN_LINES))
		;
	if (epf_chain_soon(&o->f, now_ns) && !chain_supply(o, now_ns))
		o->refused += epf_chain_due(&o->f, now_ns);
}

void epf_chain_put(struct epf_chain_owner *o, __u64 digest, __u64 now_ns)
{
	epf_chain_care(o, now_ns);
	epf_chain_insert(&o->f, digest, now_ns);
	epf_chain_care(o, now_ns);
}

/* log(1 - p) of the lanes of one epoch with @keys keys; without keys the lanes
 * belong to another epoch and add nothing.
 */
static double epoch_passes(const struct epf_chain *f, __u32 i, double keys)
{
	if (keys <= 0)
		return 0;
	return log1p(-epf_size_fpr(f->table[i].lines, f->shape.parts, f->shape.bits, keys)) /
	       EPF_LANES;
}

/* log(1 - p) of the lanes of table @i that are retained at epoch @e. */
static double table_passes(const struct epf_chain *f, __u32 i, __u64 e)
{
	__u64 age = e - f->table[i].last;
	double sum = 0;

	for (; age < EPF_LANES; age++)
		sum += epoch_passes(f, i, (double)f->table[i].keys[(e - age) & 7]);
	return sum;
}

/* The same, computed from the bits that are set. */
static double table_counted(const struct epf_chain *f, __u32 i, __u64 e)
{
	struct epf_lanes lanes = epf_chain_lanes(f, i);
	struct epf_fill fill;
	struct epf_cover cover;
	__u64 n;

	lanes.epoch = &e;
	memset(&fill, 0, sizeof(fill));
	epf_cover_init(&cover, &lanes.geom);
	for (n = 0; n < lanes.geom.part_lines; n++)
		epf_fill_add(&fill, &cover, &lanes, n);
	return log1p(-(double)epf_fill_q56(&fill, lanes.geom.parts) / (double)EPF_Q56_ONE);
}

double epf_chain_fpr(const struct epf_chain *f, enum epf_chain_fill fill, __u64 now_ns)
{
	__u64 e = epf_chain_epoch(f, now_ns);
	double sum = 0;
	__u32 i;

	for (i = 0; i < f->nr && epf_chain_counts(f, i, e); i++)
		sum += fill == EPF_CHAIN_KEYS ? table_passes(f, i, e) : table_counted(f, i, e);
	return -expm1(sum);
}

static bool chain_sound(const struct epf_chain_req *req)
{
	return req->span_ns && req->span_ns <= EPF_NS_MAX && req->rate > 0 && isfinite(req->rate);
}

/* Determine lines per key and load from a window so large that the number of
 * lines is nearly continuous. The rate depends only on the keys per line.
 */
static int densest(const struct epf_chain_req *req, struct epf_chain_shape *s)
{
	struct epf_size_req many = {
		.keys_per_window = 7e6,
		.budget = req->budget,
		.lines_per_key = req->lines_per_key,
	};
	struct epf_size size;
	int ret = epf_size(&many, &size);

	if (ret)
		return ret;
	s->parts = size.lines_per_key;
	s->bits = size.bits_per_key;
	s->lines_max = epf_chain_lines_max(s->parts);
	s->load = (__u32)(1e6 * (1 << EPF_CHAIN_LOAD_SHIFT) / (double)size.nr_lines);
	return 0;
}

int epf_chain_size(const struct epf_chain_req *req, struct epf_chain_size *size)
{
	struct epf_chain_shape s = {
		.span_ns = req->span_ns,
		.lines_first = EPF_LINES_MIN,
		.lines_min = EPF_LINES_MIN,
	};
	double keys = req->rate * (double)req->span_ns / 1e9 / EPF_LIVE_EPOCHS;
	double per_line;
	int ret;

	if (!chain_sound(req))
		return -EINVAL;
	ret = densest(req, &s);
	if (ret)
		return ret;
	per_line = (double)s.load / (1 << EPF_CHAIN_LOAD_SHIFT);
	while ((double)s.lines_first * per_line < SPARE_RATE * keys) {
		if (s.lines_first == s.lines_max)
			return -E2BIG;
		s.lines_first *= 2;
	}
	size->shape = s;
	size->words = s.lines_first * EPF_LANES;
	size->fpr = epf_size_fpr(s.lines_first, s.parts, s.bits, keys);
	size->fpr_full = epf_size_fpr(s.lines_first, s.parts, s.bits,
				      (double)s.lines_first * per_line);
	size->late_ns = EPF_LANES * ((s.span_ns + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS) -
			s.span_ns;
	return 0;
}
