// SPDX-License-Identifier: GPL-2.0
/*
 * The operations (struct epf_kind_ops) of each locked kind. They map to the core's
 * functions, and to the fields of struct epf_shape that the kind uses.
 */
#include "owned.h"

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/nospec.h>

/* The only piece of a kind whose memory is contiguous. */
static u64 **whole(struct epf_owned *o, u32 i, u64 *words)
{
	*words = o->words;
	return i ? NULL : &o->word;
}

/* Fixed-size kinds: their epochs have one size and end when the owner says so. @last:
 * the last field of struct epf_shape that the kind uses; @sift: its settle operation.
 */
#define PACED(kind, last, sift)						      \
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
static int kind##_count(struct epf_owned *o)				      \
{									      \
	epf_##kind##_count(&o->kind, o->room);				      \
	return 0;							      \
}									      \
									      \
static void kind##_set_room(struct epf_owned *o)			      \
{									      \
	epf_##kind##_set_room(&o->kind);				      \
}									      \
									      \
static void kind##_set_shares(struct epf_owned *o)			      \
{									      \
	epf_##kind##_set_shares(&o->kind, &o->gauge.all);		      \
}									      \
									      \
static void kind##_save(struct epf_owned *o, struct epf_snap_owned *s)	      \
{									      \
	epf_##kind##_save(&o->kind, s);					      \
}									      \
									      \
static int kind##_load(struct epf_owned *o, const struct epf_snap_owned *s)   \
{									      \
	return epf_##kind##_load(&o->kind, s);				      \
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
	.count = kind##_count,						      \
	.set_room = kind##_set_room,					      \
	.set_shares = kind##_set_shares,				      \
	.save = kind##_save,						      \
	.load = kind##_load,						      \
	.piece = whole,							      \
	.settle = sift,							      \
};									      \
static_assert(!offsetof(struct epf_##kind, word))

static int ge_setup(struct epf_owned *o, const struct epf_params *params,
		    const struct epf_shape *shape)
{
	const struct epf_ge_shape s = epf_ge_shape_of(shape);

	o->words = epf_ge_words(&s);
	o->epochs = s.epochs;
	o->slices = s.epochs + 1;
	return epf_ge_init(&o->ge, &s);
}
PACED(ge, layout, NULL);

static int gebl_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_gebl_shape s = epf_gebl_shape_of(shape);

	o->words = epf_gebl_words(&s);
	o->epochs = s.epochs;
	o->slices = s.epochs + 1;
	return epf_gebl_init(&o->gebl, &s);
}
PACED(gebl, offsets, NULL);

static int apbf_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_apbf_shape s = epf_apbf_shape_of(shape);
	int err = epf_apbf_init(&o->apbf, &s);

	if (err)
		return err;
	o->words = epf_apbf_words(&s);
	o->epochs = s.l;
	o->slices = s.k + s.l;
	return 0;
}
PACED(apbf, l, NULL);

static int apbbf_setup(struct epf_owned *o, const struct epf_params *params,
		       const struct epf_shape *shape)
{
	const struct epf_apbbf_shape s = epf_apbbf_shape_of(shape);
	int err = epf_apbbf_init(&o->apbbf, &s);

	if (err)
		return err;
	o->words = epf_apbbf_words(&s);
	o->epochs = s.l;
	o->slices = s.k + s.l;
	return 0;
}
PACED(apbbf, bits, NULL);

static int dict_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_dict_shape s = epf_dict_shape_of(shape);

	o->words = epf_dict_words(&s);
	o->epochs = s.generations;
	o->slices = s.generations + 1;
	return epf_dict_init(&o->dict, &s);
}
/* @at and @n are multiples of a bucket: it has one or two lines, a chunk has many. */
static bool dict_settle(struct epf_owned *o, u32 i, u64 at, u64 n)
{
	u64 words = 8 * o->dict.shape.lines;
	u64 nr = at / words, end = (at + n) / words;

	for (; nr < end; nr++) {
		if (!epf_dict_sound(&o->dict, nr))
			return false;
		epf_dict_tidy(&o->dict, nr);
	}
	return true;
}
PACED(dict, lines, dict_settle);

static int tlbf_setup(struct epf_owned *o, const struct epf_params *params,
		      const struct epf_shape *shape)
{
	const struct epf_tlbf_shape s =
		epf_tlbf_shape_of(shape, params->window_ns);

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

static int tlbf_count(struct epf_owned *o)
{
	epf_tlbf_count(&o->tlbf, o->room);
	return 0;
}

static void tlbf_set_room(struct epf_owned *o)
{
	epf_tlbf_set_room(&o->tlbf);
}

static void tlbf_set_shares(struct epf_owned *o)
{
	epf_tlbf_set_shares(&o->tlbf, &o->gauge.all);
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

static u64 *tlbf_spare(struct epf_owned *o, u64 *words)
{
	*words = o->tlbf.spare.words;
	o->tlbf.spare.words = 0;
	return *words ? o->tlbf.spare.word : NULL;
}

static bool tlbf_spared(const struct epf_owned *o)
{
	return o->tlbf.spare.words;
}

static u64 *tlbf_take(struct epf_owned *o, u64 *words)
{
	struct epf_tlbf *f = &o->tlbf;
	u64 *word = tlbf_spare(o, words);
	const struct epf_tlbf_slice *s;

	if (word || !f->nr)
		return word;
	s = epf_tlbf_at(f, --f->nr);
	*words = s->words;
	return s->word;
}

static u64 **tlbf_piece(struct epf_owned *o, u32 i, u64 *words)
{
	struct epf_tlbf *f = &o->tlbf;
	struct epf_tlbf_slice *s = &f->slice[(f->head + i) % EPF_TLBF_SLICES];

	*words = s->words;
	return i < f->nr ? &s->word : NULL;
}

static void tlbf_save(struct epf_owned *o, struct epf_snap_owned *s)
{
	epf_tlbf_save(&o->tlbf, s, epf_owned_now(o));
}

static int tlbf_load(struct epf_owned *o, const struct epf_snap_owned *s)
{
	return epf_tlbf_load(&o->tlbf, s);
}

/* The head of the ring moves down by one place with each shift. */
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

/* The window covers the last T ns, and what is older but still in slices that all
 * count: that is everything since the oldest of them began to take keys. It covers
 * nothing from before the clock last jumped, though some of that may be there.
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
	.spared = tlbf_spared,
	.spare = tlbf_spare,
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
	.count = tlbf_count,
	.set_room = tlbf_set_room,
	.set_shares = tlbf_set_shares,
	.save = tlbf_save,
	.load = tlbf_load,
	.piece = tlbf_piece,
};

static int chain_setup(struct epf_owned *o, const struct epf_params *params,
		       const struct epf_shape *shape)
{
	const struct epf_chain_shape s =
		epf_chain_shape_of(shape, params->window_ns);

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

static int chain_count(struct epf_owned *o)
{
	struct epf_capacity_work *work =
		kvmalloc(sizeof(*work), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	int err;

	if (!work)
		return -ENOMEM;
	err = epf_chain_count(&o->chain, o->room, work);
	kvfree(work);
	return err;
}

static void chain_set_room(struct epf_owned *o)
{
	epf_chain_set_room(&o->chain);
}

static void chain_set_shares(struct epf_owned *o)
{
	epf_chain_set_shares(&o->chain, &o->gauge.chain);
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

static u64 *chain_spare(struct epf_owned *o, u64 *words)
{
	*words = o->chain.spare.lines * EPF_LANES;
	o->chain.spare.lines = 0;
	return *words ? (u64 *)o->chain.spare.line : NULL;
}

static bool chain_spared(const struct epf_owned *o)
{
	return o->chain.spare.lines;
}

static u64 *chain_take(struct epf_owned *o, u64 *words)
{
	struct epf_chain *f = &o->chain;
	u64 *word = chain_spare(o, words);
	const struct epf_chain_table *t;

	if (word || !f->nr)
		return word;
	t = &f->table[--f->nr];
	*words = t->lines * EPF_LANES;
	return (u64 *)t->line;
}

static u64 **chain_piece(struct epf_owned *o, u32 i, u64 *words)
{
	if (i >= o->chain.nr)
		return NULL;
	*words = o->chain.table[i].lines * EPF_LANES;
	return (u64 **)&o->chain.table[i].line;
}

/* @at and @n are multiples of a line. */
static bool chain_settle(struct epf_owned *o, u32 i, u64 at, u64 n)
{
	struct epf_lanes lanes = epf_chain_lanes(&o->chain, i);

	epf_scan(&lanes, at / EPF_LANES, n / EPF_LANES);
	return true;
}

static void chain_save(struct epf_owned *o, struct epf_snap_owned *s)
{
	epf_chain_tick(&o->chain, epf_owned_now(o));
	epf_chain_save(&o->chain, s);
}

static int chain_load(struct epf_owned *o, const struct epf_snap_owned *s)
{
	return epf_chain_load(&o->chain, s);
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
	.spared = chain_spared,
	.spare = chain_spare,
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
	.count = chain_count,
	.set_room = chain_set_room,
	.set_shares = chain_set_shares,
	.save = chain_save,
	.load = chain_load,
	.piece = chain_piece,
	.settle = chain_settle,
};

/**
 * epf_kind_ops() - get the operations of a locked kind
 * @kind: enum epf_kind, or any number
 *
 * Return: NULL for lanes and for unknown kinds.
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

	if (kind >= ARRAY_SIZE(kinds))
		return NULL;
	return kinds[array_index_nospec(kind, ARRAY_SIZE(kinds))];
}
