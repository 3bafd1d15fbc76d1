// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From what a user asks of a filter to its parameters. */
#include "plan.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "epf/kind.h"
#include "epf/window.h"
#include "kinds/compare.h"
#include "query/kinds.h"

#define NS_PER_SEC 1000000000ULL
#define PAGE_WORDS 512u

__u64 epf_rate_ppt(double rate)
{
	double ppt = round(rate * (double)EPF_RATE_ONE);

	if (ppt < 1)
		return 1;
	return ppt < (double)EPF_RATE_ONE ? (__u64)ppt : EPF_RATE_ONE;
}

/* The mode that the windows mean. */
static enum epf_plan_fault derive_mode(const struct epf_plan_request *r, __u32 *mode)
{
	if (!r->window && !r->time_ns)
		return EPF_PLAN_NO_WINDOW;
	if (r->window && r->time_ns) {
		*mode = r->mode;
		return r->has_mode && *mode >= EPF_MODE_EITHER ? EPF_PLAN_OK : EPF_PLAN_TWO_WINDOWS;
	}
	*mode = r->window ? EPF_MODE_COUNT : EPF_MODE_TIME;
	return r->has_mode && r->mode != *mode ? EPF_PLAN_MODE : EPF_PLAN_OK;
}

/* Distinct keys that a window holds at most; 0: unknown. */
static double keys_of(const struct epf_plan_request *r, __u32 mode)
{
	double by_time = r->pps * (double)r->time_ns / (double)NS_PER_SEC;
	double by_count = (double)r->window;

	if (mode == EPF_MODE_COUNT || mode == EPF_MODE_EITHER)
		return by_count;
	if (!r->pps)
		return 0;
	if (by_time < 1)
		by_time = 1;
	return mode == EPF_MODE_BOTH && by_count > by_time ? by_count : by_time;
}

static enum epf_plan_fault plan_explicit(const struct epf_plan_request *r, struct epf_planned *plan)
{
	struct epf_params *params = &plan->params;
	struct epf_geom g;

	if (!r->nr_lines || !r->lines_per_key || !r->bits_per_key)
		return EPF_PLAN_PARTIAL;
	if (r->max_bytes && r->nr_lines > r->max_bytes / EPF_LINE_BYTES)
		return EPF_PLAN_LINES_MEMORY;
	if (epf_geom_init(&g, r->nr_lines, (__u32)r->lines_per_key, (__u32)r->bits_per_key))
		return EPF_PLAN_GEOMETRY;
	params->nr_lines = r->nr_lines;
	params->lines_per_key = (__u16)r->lines_per_key;
	params->bits_per_key = (__u16)r->bits_per_key;
	if (plan->keys)
		plan->fpr = epf_size_fpr(r->nr_lines, params->lines_per_key, params->bits_per_key,
					 plan->keys / EPF_LIVE_EPOCHS);
	return EPF_PLAN_OK;
}

static enum epf_plan_fault sizable(const struct epf_plan_request *r, const struct epf_planned *plan)
{
	if (!plan->keys)
		return EPF_PLAN_NO_RATE;
	if (!(plan->budget >= EPF_PLAN_BUDGET_LEAST && plan->budget <= EPF_PLAN_BUDGET_MOST))
		return EPF_PLAN_BUDGET_RANGE;
	if (r->lines_per_key == 3 || r->lines_per_key > EPF_PARTS_MAX)
		return EPF_PLAN_LINES_PER_KEY;
	if (r->max_bytes && r->max_bytes < EPF_LINES_MIN * EPF_LINE_BYTES)
		return EPF_PLAN_MEMORY_LEAST;
	return EPF_PLAN_OK;
}

static enum epf_plan_fault plan_sized(const struct epf_plan_request *r, struct epf_planned *plan,
				      int *err)
{
	struct epf_size_req req = {
		.keys_per_window = plan->keys,
		.budget = plan->budget,
		.max_bytes = r->max_bytes,
		.lines_per_key = (unsigned int)r->lines_per_key,
	};
	struct epf_size size = { 0 };
	enum epf_plan_fault fault = sizable(r, plan);

	if (fault)
		return fault;
	*err = epf_size(&req, &size);
	plan->params.nr_lines = size.nr_lines;
	plan->params.lines_per_key = (__u16)size.lines_per_key;
	plan->params.bits_per_key = (__u16)size.bits_per_key;
	plan->fpr = size.fpr;
	return !*err           ? EPF_PLAN_OK :
	       *err == -ENOSPC ? EPF_PLAN_FULL :
	       *err == -E2BIG  ? EPF_PLAN_TOO_MANY :
				 EPF_PLAN_SIZING;
}

static enum epf_plan_fault plan_lanes(const struct epf_plan_request *r, struct epf_planned *plan,
				      bool explicit, int *err)
{
	enum epf_plan_fault fault = explicit ? plan_explicit(r, plan) : plan_sized(r, plan, err);

	if (fault)
		return fault;
	plan->bytes = plan->params.nr_lines * EPF_LINE_BYTES;
	plan->epochs = EPF_LIVE_EPOCHS;
	plan->slack = 1.0 / EPF_LIVE_EPOCHS;
	return r->slack && r->slack < plan->slack ? EPF_PLAN_SLACK : EPF_PLAN_OK;
}

/* May this kind be sized for the request? */
static enum epf_plan_fault goes_with_kind(const struct epf_plan_request *r,
					  const struct epf_planned *plan)
{
	if (r->nr_lines || r->lines_per_key || r->bits_per_key)
		return EPF_PLAN_KIND_GEOMETRY;
	if (epf_kind_ops(r->kind)->resizable && plan->params.mode != EPF_MODE_TIME)
		return EPF_PLAN_KIND_TIME;
	return plan->keys || r->has_shape ? EPF_PLAN_OK : EPF_PLAN_NO_RATE;
}

/* How long keys stay after the window, by the shape. */
static double shape_slack(__u8 kind, const struct epf_shape *s, __u32 epochs)
{
	switch (kind) {
	case EPF_KIND_APBF:
		return (double)s->apbf.k / s->apbf.l;
	case EPF_KIND_APBBF:
		return (double)s->apbbf.k / s->apbbf.l;
	case EPF_KIND_TLBF:
		return (double)s->tlbf.k / s->tlbf.l;
	}
	return 1.0 / epochs;
}

/* Memory; of a resizable kind as long as the rate is that of its first slice. */
static __u64 shape_bytes(__u8 kind, const struct epf_locked *f)
{
	const struct epf_shape_tlbf *s = &f->shape.tlbf;
	__u64 words = f->ops->resizable ? f->ops->resizable->plan(f, 0) : f->words;

	return words * sizeof(__u64) * (kind == EPF_KIND_TLBF ? s->k + s->l + 1 : 1);
}

/* The keys for which such a filter was sized are unknown, and so is its rate. */
static enum epf_plan_fault plan_shape(const struct epf_plan_request *r, struct epf_planned *plan)
{
	const struct epf_kind_ops *ops = epf_kind_ops(r->kind);
	struct epf_locked f = { 0 };

	if (r->slack)
		return EPF_PLAN_KIND_SLACK;
	if (epf_locked_init(&f, ops, &r->shape, r->time_ns, 0))
		return EPF_PLAN_KIND_SHAPE;
	plan->params.kind = r->kind;
	plan->shape = r->shape;
	plan->bytes = shape_bytes(r->kind, &f);
	plan->epochs = f.epochs;
	plan->slack = shape_slack(r->kind, &r->shape, f.epochs);
	plan->keys = 0;
	return r->max_bytes && plan->bytes > r->max_bytes ? EPF_PLAN_KIND_MEMORY : EPF_PLAN_OK;
}

/* Let the largest slices or tables of a kind that grows take no more than @bytes together. Slices
 * from a page on take whole pages.
 */
static enum epf_plan_fault plan_growth(struct epf_planned *plan, __u64 bytes)
{
	struct epf_shape_tlbf *s = &plan->shape.tlbf;
	struct epf_shape_chain *c = &plan->shape.chain;
	__u64 slices, words, least;

	if (plan->params.kind == EPF_KIND_TLBF) {
		slices = epf_tlbf_most(s->k, s->l);
		least = slices * s->words_first * sizeof(__u64);
		words = bytes / slices / sizeof(__u64);
		words = words < PAGE_WORDS ? words : words - words % PAGE_WORDS;
		s->words_max = words < s->words_max ? words : s->words_max;
		if (words >= s->words_first)
			return EPF_PLAN_OK;
	} else {
		least = EPF_CHAIN_MOST * c->lines_first * EPF_LINE_BYTES;
		while (c->lines_max > c->lines_first &&
		       c->lines_max > bytes / EPF_CHAIN_MOST / EPF_LINE_BYTES)
			c->lines_max /= 2;
		if (least <= bytes)
			return EPF_PLAN_OK;
	}
	plan->bytes = least;
	return EPF_PLAN_KIND_MEMORY;
}

static enum epf_plan_fault plan_kind(const struct epf_plan_request *r, struct epf_planned *plan,
				     int *err)
{
	struct epf_compare_req req = {
		.keys_per_window = plan->keys,
		.budget = plan->budget,
		.slack = r->slack,
	};
	enum epf_plan_fault fault = goes_with_kind(r, plan);
	struct epf_compared c;

	if (fault)
		return fault;
	if (r->has_shape)
		return plan_shape(r, plan);
	*err = epf_compare_kind(r->kind, &req, &c);
	if (*err)
		return *err == -EINVAL ? EPF_PLAN_KIND_RANGE : EPF_PLAN_KIND_FULL;
	plan->params.kind = r->kind;
	plan->shape = c.shape;
	plan->bytes = c.bytes;
	plan->fpr = c.fpr;
	plan->epochs = c.epochs;
	plan->slack = c.slack;
	if (r->max_bytes && c.bytes > r->max_bytes)
		return EPF_PLAN_KIND_MEMORY;
	return r->max_bytes && epf_kind_ops(r->kind)->resizable ? plan_growth(plan, r->max_bytes) :
								  EPF_PLAN_OK;
}

static enum epf_plan_fault plan_limit(const struct epf_plan_request *r, struct epf_planned *plan)
{
	plan->limit = r->limit ? r->limit : EPF_PLAN_LIMIT_FACTOR * plan->budget;
	if (!(plan->limit >= plan->budget))
		return EPF_PLAN_LIMIT;
	plan->params.budget_ppt = epf_rate_ppt(plan->budget);
	plan->params.limit_ppt = epf_rate_ppt(plan->limit);
	return EPF_PLAN_OK;
}

int epf_plan(const struct epf_plan_request *r, struct epf_planned *plan, enum epf_plan_fault *fault)
{
	bool explicit = r->nr_lines || r->bits_per_key;
	int err = 0;
	__u32 mode;

	memset(plan, 0, sizeof(*plan));
	plan->budget = r->budget ? r->budget : EPF_PLAN_BUDGET;
	*fault = derive_mode(r, &mode);
	if (*fault)
		return -EINVAL;
	plan->params.mode = (__u8)mode;
	plan->params.window_inserts = r->window;
	plan->params.window_ns = r->time_ns;
	plan->keys = keys_of(r, mode);
	*fault = r->kind ? plan_kind(r, plan, &err) : plan_lanes(r, plan, explicit, &err);
	if (!*fault && explicit && !r->budget && plan->fpr)
		plan->budget = plan->fpr; /* the rate of this geometry */
	if (!*fault)
		*fault = plan_limit(r, plan);
	return *fault && !err ? -EINVAL : err;
}
