// SPDX-License-Identifier: GPL-2.0
/*
 * The owned kinds, each in the terms of struct epf_kind_ops: the core's own
 * functions, and what of struct epf_shape they take.
 */
#include "owned.h"

#include <linux/ktime.h>

/* Kinds whose epochs are of one size and end when the owner says so. @last of
 * struct epf_shape is used by them.
 */
#define PACED(kind, last)						      \
static void kind##_insert(struct epf_owned *o, u64 digest)		      \
{									      \
	epf_##kind##_insert(&o->kind, digest);				      \
}									      \
									      \
static int kind##_test(const struct epf_owned *o, u64 digest)		      \
{									      \
	return epf_##kind##_test(&o->kind, digest);			      \
}									      \
									      \
static void kind##_retire(struct epf_owned *o)				      \
{									      \
	epf_##kind##_retire(&o->kind);					      \
}									      \
									      \
static u64 kind##_sweep(struct epf_owned *o, u64 at, u64 n)		      \
{									      \
	return epf_##kind##_sweep(&o->kind, at, n);			      \
}									      \
									      \
static void kind##_advance(struct epf_owned *o)				      \
{									      \
	epf_##kind##_advance(&o->kind);					      \
}									      \
									      \
static void kind##_sample(struct epf_owned *o, u64 random)		      \
{									      \
	epf_##kind##_gauge(&o->gauge.all, &o->kind, random);		      \
}									      \
									      \
static u64 kind##_rate(const struct epf_owned *o)			      \
{									      \
	return epf_##kind##_gauge_q56(&o->gauge.all, &o->kind);		      \
}									      \
									      \
static u64 kind##_layer(const struct epf_owned *o, u32 age, u64 *fill)	      \
{									      \
	return epf_##kind##_gauge_layer_q56(&o->gauge.all, &o->kind, age, fill);  \
}									      \
									      \
static const struct epf_kind_ops kind##_ops = {				      \
	.used = offsetofend(struct epf_shape, kind.last),		      \
	.needs = EPF_NEEDS_LOCK | EPF_NEEDS_WORKER,			      \
	.setup = kind##_setup,						      \
	.insert = kind##_insert,					      \
	.test = kind##_test,						      \
	.retire = kind##_retire,					      \
	.sweep = kind##_sweep,						      \
	.advance = kind##_advance,					      \
	.sample = kind##_sample,					      \
	.rate = kind##_rate,						      \
	.layer = kind##_layer,						      \
};									      \
static_assert(!offsetof(struct epf_##kind, word))

static int ge_setup(struct epf_owned *o, const struct epf_params *params,
		    const struct epf_shape *shape)
{
	const struct epf_ge_shape s = {
		.segment_bits = shape->ge.segment_bits,
		.epochs = shape->ge.epochs,
		.bits = shape->ge.bits,
		.layout = shape->ge.layout,
	};

	o->words = epf_ge_words(&s);
	o->epochs = s.epochs;
	o->slices = s.epochs + 1;
	return epf_ge_init(&o->ge, &s);
}
PACED(ge, layout);

static int gebl_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_gebl_shape s = {
		.blocks = shape->gebl.blocks,
		.block_bits = shape->gebl.block_bits,
		.epochs = shape->gebl.epochs,
		.bits = shape->gebl.bits,
		.offsets = shape->gebl.offsets,
	};

	o->words = epf_gebl_words(&s);
	o->epochs = s.epochs;
	o->slices = s.epochs + 1;
	return epf_gebl_init(&o->gebl, &s);
}
PACED(gebl, offsets);

static int apbf_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_apbf_shape s = {
		.slice_bits = shape->apbf.slice_bits,
		.k = shape->apbf.k,
		.l = shape->apbf.l,
	};
	int err = epf_apbf_init(&o->apbf, &s);

	if (err)
		return err;
	o->words = epf_apbf_words(&s);
	o->epochs = s.l;
	o->slices = s.k + s.l;
	return 0;
}
PACED(apbf, l);

static int apbbf_setup(struct epf_owned *o, const struct epf_params *params,
		       const struct epf_shape *shape)
{
	const struct epf_apbbf_shape s = {
		.nr_blocks = shape->apbbf.blocks,
		.k = shape->apbbf.k,
		.l = shape->apbbf.l,
		.block_bits = shape->apbbf.block_bits,
		.bits = shape->apbbf.bits,
	};
	int err = epf_apbbf_init(&o->apbbf, &s);

	if (err)
		return err;
	o->words = epf_apbbf_words(&s);
	o->epochs = s.l;
	o->slices = s.k + s.l;
	return 0;
}
PACED(apbbf, bits);

static int dict_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_dict_shape s = {
		.buckets = shape->dict.buckets,
		.yard = shape->dict.yard,
		.generations = shape->dict.generations,
		.tag_bits = shape->dict.tag_bits,
		.rem_bits = shape->dict.rem_bits,
		.slots = shape->dict.slots,
		.lines = shape->dict.lines,
	};

	o->words = epf_dict_words(&s);
	o->epochs = s.generations;
	o->slices = s.generations + 1;
	return epf_dict_init(&o->dict, &s);
}
PACED(dict, lines);

/* Never given back: what the paper keeps. Timed: the staleness law. */
static int tlbf_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_tlbf_shape s = {
		.span_ns = params->window_ns,
		.words_first = shape->tlbf.words_first,
		.words_min = shape->tlbf.words_min,
		.words_max = shape->tlbf.words_max,
		.k = shape->tlbf.k,
		.l = shape->tlbf.l,
		.keep = shape->tlbf.k,
		.timed = 1,
	};

	if (params->mode != EPF_MODE_TIME)
		return -EINVAL;
	o->epochs = s.l;
	return epf_tlbf_init(&o->tlbf, &s, ktime_get_ns());
}

static void tlbf_insert(struct epf_owned *o, u64 digest)
{
	epf_tlbf_insert(&o->tlbf, digest, epf_owned_now(o));
}

static int tlbf_test(const struct epf_owned *o, u64 digest)
{
	return epf_tlbf_test(&o->tlbf, digest, epf_owned_now(o));
}

static void tlbf_sample(struct epf_owned *o, u64 random)
{
	epf_tlbf_gauge(&o->gauge.all, &o->tlbf, epf_owned_now(o), random);
}

static u64 tlbf_rate(const struct epf_owned *o)
{
	return epf_tlbf_gauge_q56(&o->gauge.all, &o->tlbf, epf_owned_now(o));
}

static u64 tlbf_layer(const struct epf_owned *o, u32 age, u64 *fill)
{
	return epf_tlbf_gauge_layer_q56(&o->gauge.all, &o->tlbf, epf_owned_now(o),
					age, fill);
}

static bool tlbf_ready(const struct epf_owned *o)
{
	return o->tlbf.nr >= o->tlbf.shape.keep;
}

static bool tlbf_hungry(const struct epf_owned *o)
{
	return !o->tlbf.spare.words && o->tlbf.nr < EPF_TLBF_SLICES &&
	       epf_tlbf_soon(&o->tlbf, o->tlbf.now_ns);
}

static u64 tlbf_plan(const struct epf_owned *o, u64 now_ns)
{
	if (tlbf_ready(o) && !epf_tlbf_soon(&o->tlbf, now_ns))
		return 0;
	return epf_tlbf_plan(&o->tlbf, now_ns);
}

static bool tlbf_add(struct epf_owned *o, u64 now_ns, u64 *word, u64 words)
{
	return epf_tlbf_add(&o->tlbf, now_ns, word, words);
}

static u64 *tlbf_expired(struct epf_owned *o, u64 now_ns, u64 *words)
{
	epf_tlbf_tick(&o->tlbf, now_ns);
	return epf_tlbf_expired(&o->tlbf, now_ns, words);
}

static u64 *tlbf_take(struct epf_owned *o, u64 *words)
{
	struct epf_tlbf *f = &o->tlbf;
	const struct epf_tlbf_slice *s = &f->spare;

	*words = s->words;
	f->spare.words = 0;
	if (!*words) {
		if (!f->nr)
			return NULL;
		s = epf_tlbf_at(f, --f->nr);
		*words = s->words;
	}
	return s->word;
}

/* The ring turns downwards by one place with each shift. */
static u64 tlbf_turns(const struct epf_owned *o)
{
	u32 seen = -(u32)o->turns % EPF_TLBF_SLICES;

	return o->turns + (seen - o->tlbf.head) % EPF_TLBF_SLICES;
}

static u64 tlbf_taken(const struct epf_owned *o)
{
	return o->tlbf.taken;
}

static u64 tlbf_begun(const struct epf_owned *o)
{
	return epf_tlbf_at(&o->tlbf, 0)->since;
}

static u32 tlbf_slices(const struct epf_owned *o)
{
	return o->tlbf.nr + !!o->tlbf.spare.words;
}

/* All of the last T, and what is older but still in slices that all count: that
 * came since the oldest of them was the last to take keys. Nothing from before
 * the clock was made to jump, though some of it may be there.
 */
static void tlbf_covered(const struct epf_owned *o, u64 now_ns, u64 *inserts,
			 u64 *ns)
{
	const struct epf_tlbf *f = &o->tlbf;
	u64 now = now_ns + o->skew_ns;
	u32 live = epf_tlbf_live(f, now);
	const struct epf_tlbf_slice *s;

	*inserts = 0;
	*ns = f->shape.span_ns;
	if (live) {
		s = epf_tlbf_at(f, live - f->shape.k);
		*inserts = f->taken - s->since;
		*ns = max(*ns, now - s->begin_ns);
	}
	*ns = min(*ns, now_ns - o->skewed_ns);
}

static const struct epf_fluid_ops tlbf_fluid = {
	.ready = tlbf_ready,
	.hungry = tlbf_hungry,
	.plan = tlbf_plan,
	.add = tlbf_add,
	.expired = tlbf_expired,
	.take = tlbf_take,
	.turns = tlbf_turns,
	.taken = tlbf_taken,
	.begun = tlbf_begun,
	.slices = tlbf_slices,
	.covered = tlbf_covered,
};

static const struct epf_kind_ops tlbf_ops = {
	.used = offsetofend(struct epf_shape, tlbf.l),
	.needs = EPF_NEEDS_LOCK | EPF_NEEDS_WORKER | EPF_NEEDS_MEMORY,
	.fluid = &tlbf_fluid,
	.ticks = 2,
	.setup = tlbf_setup,
	.insert = tlbf_insert,
	.test = tlbf_test,
	.sample = tlbf_sample,
	.rate = tlbf_rate,
	.layer = tlbf_layer,
};

static int chain_setup(struct epf_owned *o, const struct epf_params *params,
		       const struct epf_shape *shape)
{
	const struct epf_chain_shape s = {
		.span_ns = params->window_ns,
		.lines_first = shape->chain.lines_first,
		.lines_min = shape->chain.lines_min,
		.lines_max = shape->chain.lines_max,
		.load = shape->chain.load,
		.parts = shape->chain.lines_per_key,
		.bits = shape->chain.bits_per_key,
	};

	if (params->mode != EPF_MODE_TIME || shape->chain.reserved)
		return -EINVAL;
	o->epochs = EPF_LIVE_EPOCHS;
	return epf_chain_init(&o->chain, &s, ktime_get_ns());
}

static void chain_insert(struct epf_owned *o, u64 digest)
{
	epf_chain_insert(&o->chain, digest, epf_owned_now(o));
}

static int chain_test(const struct epf_owned *o, u64 digest)
{
	return epf_chain_test(&o->chain, digest, epf_owned_now(o));
}

static void chain_sample(struct epf_owned *o, u64 random)
{
	epf_chain_gauge(&o->gauge.chain, &o->chain, random);
}

static u64 chain_rate(const struct epf_owned *o)
{
	return epf_chain_gauge_q56(&o->gauge.chain, &o->chain);
}

static u64 chain_layer(const struct epf_owned *o, u32 age, u64 *fill)
{
	return epf_chain_gauge_layer_q56(&o->gauge.chain, &o->chain, age, fill);
}

static bool chain_ready(const struct epf_owned *o)
{
	return o->chain.nr;
}

static bool chain_hungry(const struct epf_owned *o)
{
	return !o->chain.spare.lines && o->chain.nr < EPF_CHAIN_TABLES &&
	       epf_chain_soon(&o->chain, o->chain.now_ns);
}

static u64 chain_plan(const struct epf_owned *o, u64 now_ns)
{
	if (chain_ready(o) && !epf_chain_soon(&o->chain, now_ns))
		return 0;
	return epf_chain_plan(&o->chain, now_ns);
}

static bool chain_add(struct epf_owned *o, u64 now_ns, u64 *word, u64 words)
{
	return epf_chain_add(&o->chain, now_ns, word, words);
}

static u64 *chain_expired(struct epf_owned *o, u64 now_ns, u64 *words)
{
	return epf_chain_expired(&o->chain, now_ns, words);
}

static u64 *chain_take(struct epf_owned *o, u64 *words)
{
	struct epf_chain *f = &o->chain;
	const struct epf_chain_table *t = &f->spare;

	*words = t->lines * EPF_LANES;
	f->spare.lines = 0;
	if (!*words) {
		if (!f->nr)
			return NULL;
		t = &f->table[--f->nr];
		*words = t->lines * EPF_LANES;
	}
	return (u64 *)t->line;
}

static bool chain_scan(struct epf_owned *o, u64 lines)
{
	return epf_chain_scan(&o->chain, lines);
}

static u64 chain_turns(const struct epf_owned *o)
{
	return o->chain.epoch;
}

static u64 chain_taken(const struct epf_owned *o)
{
	return o->chain.taken;
}

static u64 chain_begun(const struct epf_owned *o)
{
	return o->chain.begun;
}

static u32 chain_slices(const struct epf_owned *o)
{
	return o->chain.nr + !!o->chain.spare.lines;
}

static const struct epf_fluid_ops chain_fluid = {
	.ready = chain_ready,
	.hungry = chain_hungry,
	.plan = chain_plan,
	.add = chain_add,
	.expired = chain_expired,
	.take = chain_take,
	.scan = chain_scan,
	.turns = chain_turns,
	.taken = chain_taken,
	.begun = chain_begun,
	.slices = chain_slices,
};

static const struct epf_kind_ops chain_ops = {
	.used = offsetofend(struct epf_shape, chain.reserved),
	.needs = EPF_NEEDS_LOCK | EPF_NEEDS_WORKER | EPF_NEEDS_MEMORY,
	.fluid = &chain_fluid,
	.ticks = 16,
	.setup = chain_setup,
	.insert = chain_insert,
	.test = chain_test,
	.sample = chain_sample,
	.rate = chain_rate,
	.layer = chain_layer,
};

/**
 * epf_kind_ops() - the functions of an owned kind
 * @kind: enum epf_kind, or any number
 *
 * Return: NULL: lanes, or unknown.
 */
const struct epf_kind_ops *epf_kind_ops(u8 kind)
{
	static const struct epf_kind_ops *const kinds[] = {
		[EPF_KIND_GE] = &ge_ops,
		[EPF_KIND_GEBL] = &gebl_ops,
		[EPF_KIND_APBF] = &apbf_ops,
		[EPF_KIND_APBBF] = &apbbf_ops,
		[EPF_KIND_TLBF] = &tlbf_ops,
		[EPF_KIND_DICT] = &dict_ops,
		[EPF_KIND_CHAIN] = &chain_ops,
	};

	return kind < ARRAY_SIZE(kinds) ? kinds[kind] : NULL;
}
