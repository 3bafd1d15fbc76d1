// SPDX-License-Identifier: GPL-2.0
/* Kinds of filters: options of plan and create, shapes as text and JSON. */
#include "cmd.h"

#include <errno.h>
#include <string.h>

#include "kinds/compare.h"

const char kind_help[] =
"      --kind KIND         lanes (default), ge, gebl, apbf, apbbf, tlbf, dict,\n"
"                          chain: 'epfctl plan --compare' shows them side by side\n"
"      --slack SHARE       keys may stay at most this share of the window after\n"
"                          they have left it, 0.2 or 20% (default: any)\n";

static bool parse_kind(__u8 *kind, const char *arg)
{
	unsigned int k;

	for (k = 0; k <= EPF_KIND_MAX; k++)
		if (!strcmp(arg, epf_kind_name(k))) {
			*kind = (__u8)k;
			return true;
		}
	fail("--kind '%s' is none of lanes, ge, gebl, apbf, apbbf, tlbf, dict, "
	     "chain", arg);
	return false;
}

bool kind_option(struct promise *p, int opt, const char *arg)
{
	if (opt == OPT_KIND)
		return parse_kind(&p->kind, arg);
	if (opt == OPT_SLACK)
		return parse_rate("--slack", arg, &p->slack);
	return promise_option(p, opt, arg);
}

static bool in_time(__u8 kind)
{
	return kind == EPF_KIND_TLBF || kind == EPF_KIND_CHAIN;
}

static bool goes_with_kind(const struct promise *p, const struct planned *plan)
{
	const char *kind = epf_kind_name(p->kind);

	if (p->nr_lines || p->lines_per_key || p->bits_per_key)
		fail("--lines, --lines-per-key and --bits-per-key go with "
		     "--kind lanes only");
	else if (in_time(p->kind) && plan->params.mode != EPF_MODE_TIME)
		fail("--kind %s has a window of time: give --time DURATION and --rate "
		     "PPS, not --window", kind);
	else if (!plan->keys)
		fail("--kind %s needs --rate PPS to be sized", kind);
	else
		return true;
	return false;
}

static bool kind_failed(const struct promise *p, const struct planned *plan,
			double budget, int err)
{
	const char *kind = epf_kind_name(p->kind);

	if (err == -EINVAL)
		fail("out of range for --kind %s: --budget must be 1e-9 to 0.5, and the "
		     "least --slack depends on the kind", kind);
	else
		fail("--kind %s cannot hold %.4g keys at %s%s: 'epfctl plan "
		     "--compare' shows which kinds can", kind, plan->keys,
		     fmt_rate(budget).s, p->slack ? " with that --slack" : "");
	return false;
}

bool kind_plan(const struct promise *p, struct planned *plan, double budget)
{
	struct epf_compare_req req = {
		.keys_per_window = plan->keys,
		.budget = budget,
		.slack = p->slack,
	};
	struct epf_compared c;
	int err;

	if (!goes_with_kind(p, plan))
		return false;
	err = epf_compare_kind(p->kind, &req, &c);
	if (err)
		return kind_failed(p, plan, budget, err);
	if (p->max_bytes && c.bytes > p->max_bytes) {
		fail("--kind %s takes %s, which is above --memory",
		     epf_kind_name(p->kind), fmt_bytes(c.bytes).s);
		return false;
	}
	plan->params.kind = p->kind;
	plan->shape = c.shape;
	plan->bytes = c.bytes;
	plan->fpr = c.fpr;
	plan->epochs = c.epochs;
	plan->slack = c.slack;
	return true;
}

void shape_text(char text[SHAPE_TEXT], __u8 kind, const struct epf_shape *s)
{
	const size_t room = SHAPE_TEXT;

	switch (kind) {
	case EPF_KIND_GE:
		snprintf(text, room, "%u segments of %llu bits, %u bits a key%s",
			 s->ge.epochs + 1, s->ge.segment_bits, s->ge.bits,
			 s->ge.layout ? "" : ", transposed");
		break;
	case EPF_KIND_GEBL:
		snprintf(text, room, "%u segments of %llu blocks of %u bits, "
			 "%u bits a key%s", s->gebl.epochs + 1, s->gebl.blocks,
			 s->gebl.block_bits, s->gebl.bits,
			 s->gebl.offsets ? ", double hashing" : "");
		break;
	case EPF_KIND_APBF:
		snprintf(text, room, "%u + %u slices of %llu bits", s->apbf.k,
			 s->apbf.l, s->apbf.slice_bits);
		break;
	case EPF_KIND_APBBF:
		snprintf(text, room, "%u + %u slices of %llu blocks of %u bits, "
			 "%u bits a key in each", s->apbbf.k, s->apbbf.l,
			 s->apbbf.blocks, s->apbbf.block_bits, s->apbbf.bits);
		break;
	case EPF_KIND_TLBF:
		snprintf(text, room, "%u slices a key, %u generations in the "
			 "window, slices of %llu .. %llu words", s->tlbf.k,
			 s->tlbf.l, s->tlbf.words_min, s->tlbf.words_max);
		break;
	case EPF_KIND_DICT:
		snprintf(text, room, "%llu buckets of %u lines and %llu more, "
			 "remainders of %u bits, %u generations",
			 s->dict.buckets, s->dict.lines, s->dict.yard,
			 s->dict.rem_bits, s->dict.generations);
		break;
	case EPF_KIND_CHAIN:
		snprintf(text, room, "tables of %llu .. %llu lines, for %u keys "
			 "of 1024 lines and an epoch; %u lines and %u bits a key",
			 s->chain.lines_min, s->chain.lines_max, s->chain.load,
			 s->chain.lines_per_key, s->chain.bits_per_key);
		break;
	default:
		snprintf(text, room, "unknown kind %u", kind);
	}
}

static json_t *guarded_json(__u8 kind, const struct epf_shape *s)
{
	if (kind == EPF_KIND_GE)
		return json_pack("{sI si si si}",
			"segment_bits", (json_int_t)s->ge.segment_bits,
			"epochs", (int)s->ge.epochs,
			"bits", (int)s->ge.bits,
			"layout", (int)s->ge.layout);
	return json_pack("{sI si si si si}",
		"blocks", (json_int_t)s->gebl.blocks,
		"block_bits", (int)s->gebl.block_bits,
		"epochs", (int)s->gebl.epochs,
		"bits", (int)s->gebl.bits,
		"offsets", (int)s->gebl.offsets);
}

static json_t *aged_json(__u8 kind, const struct epf_shape *s)
{
	if (kind == EPF_KIND_APBF)
		return json_pack("{sI si si}",
			"slice_bits", (json_int_t)s->apbf.slice_bits,
			"k", (int)s->apbf.k, "l", (int)s->apbf.l);
	return json_pack("{sI si si si si}",
		"blocks", (json_int_t)s->apbbf.blocks,
		"k", (int)s->apbbf.k, "l", (int)s->apbbf.l,
		"block_bits", (int)s->apbbf.block_bits,
		"bits", (int)s->apbbf.bits);
}

static json_t *fluid_json(__u8 kind, const struct epf_shape *s)
{
	if (kind == EPF_KIND_TLBF)
		return json_pack("{sI sI sI si si}",
			"words_first", (json_int_t)s->tlbf.words_first,
			"words_min", (json_int_t)s->tlbf.words_min,
			"words_max", (json_int_t)s->tlbf.words_max,
			"k", (int)s->tlbf.k, "l", (int)s->tlbf.l);
	return json_pack("{sI sI sI si si si}",
		"lines_first", (json_int_t)s->chain.lines_first,
		"lines_min", (json_int_t)s->chain.lines_min,
		"lines_max", (json_int_t)s->chain.lines_max,
		"load", (int)s->chain.load,
		"lines_per_key", (int)s->chain.lines_per_key,
		"bits_per_key", (int)s->chain.bits_per_key);
}

json_t *shape_json(__u8 kind, const struct epf_shape *s)
{
	switch (kind) {
	case EPF_KIND_GE:
	case EPF_KIND_GEBL:
		return guarded_json(kind, s);
	case EPF_KIND_APBF:
	case EPF_KIND_APBBF:
		return aged_json(kind, s);
	case EPF_KIND_TLBF:
	case EPF_KIND_CHAIN:
		return fluid_json(kind, s);
	case EPF_KIND_DICT:
		return json_pack("{sI sI si si si si si}",
			"buckets", (json_int_t)s->dict.buckets,
			"yard", (json_int_t)s->dict.yard,
			"generations", (int)s->dict.generations,
			"tag_bits", (int)s->dict.tag_bits,
			"rem_bits", (int)s->dict.rem_bits,
			"slots", (int)s->dict.slots,
			"lines", (int)s->dict.lines);
	}
	return json_object();
}
