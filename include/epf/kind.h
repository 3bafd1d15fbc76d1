/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A filter of any locked kind, and what its kind can do: a row of functions. kind_KIND.h has
 * the row, and all that it needs but the core itself (KIND.h). The module, user space and
 * tests reach a kind by its row alone.
 *
 * The owner of a filter supplies its memory, serializes all calls, and passes the time: on a
 * clock of its own, which never runs backwards. Fixed-size kinds ignore it. A kind with
 * @test_and_insert has locks of its own: for it the owner serializes only what is neither
 * @test, @insert, @test_and_insert nor @copy.
 */
#ifndef EPF_KIND_H
#define EPF_KIND_H

#include "apbbf.h"
#include "apbf.h"
#include "chain.h"
#include "dict.h"
#include "elastic.h"
#include "estimate.h"
#include "estimator.h"
#include "ge.h"
#include "gebl.h"
#include "room.h"
#include "tlbf.h"

#include <linux/epochfilter.h>

/* The locked kinds: number, name. */
#define EPF_LOCKED_KINDS(X)      \
	X(EPF_KIND_GE, ge)       \
	X(EPF_KIND_GEBL, gebl)   \
	X(EPF_KIND_APBF, apbf)   \
	X(EPF_KIND_APBBF, apbbf) \
	X(EPF_KIND_TLBF, tlbf)   \
	X(EPF_KIND_DICT, dict)   \
	X(EPF_KIND_CHAIN, chain) \
	X(EPF_KIND_ELASTIC, elastic)

struct epf_kind_ops;

/**
 * struct epf_chain_estimator - estimator of a chain: sums over samples; zeroed before the first
 *	one
 * @cover: for all tables; they have the same L and k
 * @fill: of each table; a switch between two samples blurs them
 * @samples: number of samples
 */
struct epf_chain_estimator {
	struct epf_cover cover;
	struct epf_fill fill[EPF_CHAIN_TABLES];
	__u64 samples;
};

/**
 * struct epf_locked - a filter of a locked kind
 * @ops: its row; constant
 * @shape: as passed at creation; constant
 * @words: size of the memory that it keeps for its whole life; 0: a resizable kind; constant
 * @epochs: complete epochs in the window; constant
 * @slices: segments, slices or generations that have memory; the owner of a resizable kind
 *	keeps it up to date
 * @room: count and limit, see room.h; NULL: there is no limit
 * @word: the memory; the state of each fixed-size kind begins with it
 * @ge, @gebl, @apbf, @apbbf, @tlbf, @dict, @chain, @elastic: the state of the core
 * @estimator: false-positive-rate estimator; zeroed before the first sample
 */
struct epf_locked {
	const struct epf_kind_ops *ops;
	struct epf_shape shape;
	__u64 words;
	__u32 epochs;
	__u32 slices;
	struct epf_room *room;
	union {
		__u64 *word;
		struct epf_ge ge;
		struct epf_gebl gebl;
		struct epf_apbf apbf;
		struct epf_apbbf apbbf;
		struct epf_tlbf tlbf;
		struct epf_dict dict;
		struct epf_chain chain;
		struct epf_elastic elastic;
	};
	union {
		struct epf_estimator all;
		struct epf_chain_estimator chain;
	} estimator;
};

/**
 * struct epf_resizable_ops - operations of a resizable kind
 * @ready: does it have the memory that insertions need?
 * @needs_memory: is the next slice needed?
 * @plan: size of the next slice in words; 0: none is needed
 * @most: how many slices, of the largest size, are all the memory that it may have at once; @words
 *	is set to that size. The module refuses more
 * @add: hand over the memory. Return: true if it was taken
 * @expired: update the clock and take out memory that no longer counts; NULL: none
 * @spared: is there a slice or table that was handed over and is not yet in use?
 *	Without one, insertions do not change the layout
 * @spare: take that reserve out; NULL: there is none
 * @take: take any memory out; NULL: nothing is left
 * @scan: empty stale memory, up to so many lines. Return: true if more is due. NULL: the
 *	kind needs no scan
 * @turns: epochs ended since creation, given how many of them the caller knows of
 * @taken: keys inserted
 * @begun: keys inserted before the current epoch
 * @slices: number of slices
 * @covered: as epf_state_covered(), if the clock has not jumped for @steady_ns; NULL: as many
 *	epochs as the window has
 */
struct epf_resizable_ops {
	bool (*ready)(const struct epf_locked *f);
	bool (*needs_memory)(const struct epf_locked *f);
	__u64 (*plan)(const struct epf_locked *f, __u64 now_ns);
	__u64 (*most)(const struct epf_locked *f, __u64 *words);
	bool (*add)(struct epf_locked *f, __u64 now_ns, __u64 *word, __u64 words);
	__u64 *(*expired)(struct epf_locked *f, __u64 now_ns, __u64 *words);
	bool (*spared)(const struct epf_locked *f);
	__u64 *(*spare)(struct epf_locked *f, __u64 *words);
	__u64 *(*take)(struct epf_locked *f, __u64 *words);
	bool (*scan)(struct epf_locked *f, __u64 lines);
	__u64 (*turns)(const struct epf_locked *f, __u64 known);
	__u64 (*taken)(const struct epf_locked *f);
	__u64 (*begun)(const struct epf_locked *f);
	__u32 (*slices)(const struct epf_locked *f);
	void (*covered)(const struct epf_locked *f, __u64 now_ns, __u64 steady_ns, __u64 *inserts,
			__u64 *ns);
};

/**
 * struct epf_kind_ops - the row of a locked kind
 * @name: for users
 * @used: bytes of struct epf_shape that the kind uses; the others must be zero
 * @needs: EPF_NEEDS_*
 * @ticks: for a resizable kind: runs of the worker per epoch
 * @count_bytes: working memory of @count
 * @resizable: operations of a resizable kind, whose window is one of time; NULL: a fixed-size
 *	kind, of which @retire, @sweep and @advance end an epoch
 * @setup: check the shape, set words, epochs and slices, initialize the core; epf_locked_init()
 *	calls it. Return: 0 or -EINVAL
 * @insert: insert a key
 * @test: test a key. Return: EPF_ABSENT, or EPF_PRESENT + age
 * @retire: make the oldest epoch no longer count
 * @sweep: empty some of its memory, as epf_ge_sweep()
 * @advance: make it the current epoch
 * @sample: add one random sample to the estimate
 * @rate: the estimated error, q56
 * @layer: the part of it that is due to the epoch of an age, and its fill, q56
 * @count: begin to count in @room, which has the limit; the filter is empty. @work:
 *	@count_bytes. Return: 0 or -EINVAL
 * @set_room: compute how far it may grow
 * @set_shares: set what it has grown to from the estimate
 * @save: store the state of the core for a snapshot; updates the clock
 * @load: load such a state, which is untrusted. Return: 0 or -EINVAL
 * @piece: piece i of the memory, in the order of snapshots, and its address. Return: its
 *	size in words; 0: there are no more
 * @place: set the address of piece i
 * @sound: are words at .. at + n of piece i valid? They are untrusted, and whole lines or
 *	buckets. NULL: every content is valid
 * @tidy: empty what is stale in them, before the first insertion; NULL: nothing is
 * @copy: copy words at .. at + n of piece i during insertions, @at at the beginning of a
 *	line. NULL: plain words, under the owner's lock
 * @test_and_insert: as @test, then, unless @keep and the key is present, as @insert; callers
 *	on one CPU must not interrupt each other. NULL: the owner serializes both
 */
struct epf_kind_ops {
	const char *name;
	__u32 used;
	__u32 needs;
	__u32 ticks;
	__u32 count_bytes;
	const struct epf_resizable_ops *resizable;
	int (*setup)(struct epf_locked *f, __u64 window_ns, __u64 now_ns);
	void (*insert)(struct epf_locked *f, __u64 digest, __u64 now_ns);
	int (*test)(const struct epf_locked *f, __u64 digest, __u64 now_ns);
	void (*retire)(struct epf_locked *f);
	__u64 (*sweep)(struct epf_locked *f, __u64 at, __u64 n);
	void (*advance)(struct epf_locked *f);
	void (*sample)(struct epf_locked *f, __u64 random, __u64 now_ns);
	__u64 (*rate)(const struct epf_locked *f, __u64 now_ns);
	__u64 (*layer)(const struct epf_locked *f, __u32 age, __u64 now_ns, __u64 *fill);
	int (*count)(struct epf_locked *f, void *work);
	void (*set_room)(struct epf_locked *f);
	void (*set_shares)(struct epf_locked *f);
	void (*save)(struct epf_locked *f, struct epf_snap_locked *s, __u64 now_ns);
	int (*load)(struct epf_locked *f, const struct epf_snap_locked *s);
	__u64 (*piece)(const struct epf_locked *f, __u32 i, __u64 **word);
	void (*place)(struct epf_locked *f, __u32 i, __u64 *word);
	bool (*sound)(const struct epf_locked *f, __u32 i, __u64 at, __u64 n);
	void (*tidy)(struct epf_locked *f, __u32 i, __u64 at, __u64 n);
	void (*copy)(const struct epf_locked *f, __u32 i, __u64 at, __u64 *to, __u64 n);
	int (*test_and_insert)(struct epf_locked *f, __u64 digest, bool keep);
};

/* The bytes of struct epf_shape up to the last field that a kind uses. */
#define EPF_SHAPE_USED(kind, last)                         \
	(__builtin_offsetof(struct epf_shape, kind.last) + \
	 sizeof(((struct epf_shape *)0)->kind.last))

/**
 * epf_locked_init() - set up an empty filter
 * @f: result, zeroed; its pieces have no memory yet
 * @ops: row of its kind
 * @shape: unchecked, except that what the kind does not use is zero
 * @window_ns: T, for a resizable kind
 * @now_ns: the time
 *
 * Return: 0 or -EINVAL.
 */
EPF_FN int epf_locked_init(struct epf_locked *f, const struct epf_kind_ops *ops,
			   const struct epf_shape *shape, __u64 window_ns, __u64 now_ns)
{
	f->ops = ops;
	f->shape = *shape;
	return ops->setup(f, window_ns, now_ns);
}

/* Is the part of the shape that the kind does not use zero? */
EPF_FN bool epf_shape_is_clean(const struct epf_shape *shape, __u32 used)
{
	const __u8 *byte = (const __u8 *)shape;

	for (; used < sizeof(*shape); used++)
		if (byte[used])
			return false;
	return true;
}

/**
 * epf_locked_begin() - check a shape and set up an empty filter
 * @f: as for epf_locked_init()
 * @ops: row of the kind of @p
 * @p: passed by epf_params_check_locked()
 * @shape: any bytes
 * @now_ns: the time
 *
 * Return: 0 or -EINVAL.
 */
EPF_FN int epf_locked_begin(struct epf_locked *f, const struct epf_kind_ops *ops,
			    const struct epf_params *p, const struct epf_shape *shape, __u64 now_ns)
{
	if (!epf_shape_is_clean(shape, ops->used) || (ops->resizable && p->mode != EPF_MODE_TIME))
		return -EINVAL;
	return epf_locked_init(f, ops, shape, p->window_ns, now_ns);
}

/* Insertions that raise the fill of an epoch by about 1/16, at eight bits a key. */
EPF_FN __u64 epf_locked_step(__u64 words, __u32 epochs)
{
	return words * 64 / (16 * 8) / (epochs + 1);
}

/* Set the memory of all pieces, which lie one after the other. */
EPF_FN void epf_locked_place(struct epf_locked *f, __u64 *word)
{
	__u64 words, *old;
	__u32 i;

	for (i = 0; (words = f->ops->piece(f, i, &old)); i++) {
		f->ops->place(f, i, word);
		word += words;
	}
}

/* End the current epoch of a fixed-size kind at once. */
EPF_FN void epf_locked_rotate(struct epf_locked *f)
{
	f->ops->retire(f);
	f->ops->sweep(f, 0, f->words);
	f->ops->advance(f);
}

#endif /* EPF_KIND_H */
