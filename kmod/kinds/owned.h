/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The locked kinds ("owned" in the code): filters whose core allows one caller at a
 * time.
 *
 * A table of a locked kind has no lanes (no parts) but the union below. All of
 * that, and the memory behind it, is read and written under t->lock, by packet
 * paths too. An operation holds the lock for some cache misses. The worker holds
 * it for OWNED_WORDS words of a sweep, for OWNED_SAMPLES samples of the estimate
 * (some microseconds; about ten with blocks of 512 bits and double hashing), or
 * for a similar step of a resizable kind. So operations are linearizable: a test
 * returns what some order of all operations gives, and when several CPUs see a new
 * key at once, exactly one of them gets "absent".
 *
 * The filter opens by count, as capacity.c describes for lanes: how far it may grow
 * is computed when an epoch or a slice begins (epf/rooms.h), under the same hold of
 * the lock, and inserters compare with that. The verdict, the growth and the answer
 * belong to one hold, too, so not even one verdict is late.
 *
 * Epochs end asynchronously. Whoever finds the end of an epoch due records that in
 * t->late. The worker retires the oldest epoch, sweeps its memory, and makes that
 * the next epoch. Until then insertions still join the epoch that is over, which is
 * kept longer in return: a slow worker loses no key.
 */
#ifndef EPF_OWNED_H
#define EPF_OWNED_H

#include "kind.h"

#include <epf/image.h>
#include <epf/rooms.h>

struct epf_kind_ops;

/* Number of epochs whose insertions and start are remembered; a power of two. */
#define EPF_OWNED_PAST 256u

/**
 * struct epf_owned - state of a locked kind, in place of lanes
 * @ops: operations of the kind; constant
 * @shape: as passed at creation; constant
 * @words: size of the memory that it keeps for its whole life; constant
 * @epochs: complete epochs in the window; constant
 * @slices: segments, slices or generations that have memory
 * @wanted: epochs that callers want ended although they are not due; 0 from the
 *	beginning of a snapshot on
 * @waits: number of failed allocations
 * @retiring: the oldest epoch no longer counts, and its end is not complete
 * @starved: the last allocation failed; inserters do not ask again before the timer
 *	fires
 * @moves: layout sequence number. It changes with the meaning of memory, other than
 *	by keys: an epoch is to be ended, or a slice or table is added or removed, or
 *	may be. All of a snapshot has one number
 * @skew_ns: how far the clock of a resizable kind is ahead, modulo 2^64: by forced
 *	rotations, or because the clock of a snapshot was restored
 * @skewed_ns: when @skew_ns last changed; at first, the time of creation
 * @jumps: jumps of that clock by forced rotation; @lock
 * @follows: @jumps when the worker began its run; worker only
 * @followed: value of @jumps whose consequences the worker has completed. The worker
 *	writes it; epf_fluid_rotate() waits for it on epf_table.moved.
 *	flush_delayed_work() would not do: it treats work that the timer is just
 *	requeueing as idle
 * @turns: epochs of a resizable kind that have been seen to end; 0: the table is
 *	being filled
 * @begun: keys it had taken at the last of these ends
 * @seen: fingerprint of the state at the last estimate, see epf_fluid_still();
 *	worker only
 * @seen_ns: time of @seen
 * @past: history; epoch e is at e mod EPF_OWNED_PAST
 * @room: count and limit, see epf/rooms.h; NULL: there is no limit
 * @gauge: false-positive-rate estimator; worker only
 * @word: the memory; the state of every kind but the resizable ones begins with it
 */
struct epf_owned {
	const struct epf_kind_ops *ops;
	struct epf_shape shape;
	u64 words;
	u32 epochs;
	u32 slices;
	u32 wanted;
	u32 waits;
	bool retiring;
	bool starved;
	u64 moves;
	u64 skew_ns;
	u64 skewed_ns;
	u64 jumps;
	u64 follows;
	u64 followed;
	u64 turns;
	u64 begun;
	u64 seen;
	u64 seen_ns;
	struct epf_past past[EPF_OWNED_PAST];
	struct epf_room *room;
	union {
		struct epf_gauge all;
		struct epf_chain_gauge chain;
	} gauge;
	union {
		__u64 *word;
		struct epf_ge ge;
		struct epf_gebl gebl;
		struct epf_apbf apbf;
		struct epf_apbbf apbbf;
		struct epf_tlbf tlbf;
		struct epf_dict dict;
		struct epf_chain chain;
	};
};

/**
 * struct epf_fluid_ops - operations of a resizable kind; called with the table's
 *	lock held, with times on its clock
 * @ready: does it have the memory that insertions need?
 * @hungry: is the next slice needed?
 * @plan: size of the next slice in words; 0: none is needed
 * @add: hand over the memory. Return: true if it was taken
 * @expired: update the clock and take out memory that no longer counts; NULL: none
 * @spared: is there a slice or table that was handed over and is not yet in use?
 *	Without one, insertions do not change the layout
 * @spare: take that reserve out; NULL: there is none
 * @take: take any memory out; NULL: nothing is left
 * @scan: empty stale memory, up to so many lines. Return: true if more is due.
 *	NULL: the kind needs no scan
 * @turns: epochs ended since creation
 * @taken: keys inserted
 * @begun: keys inserted before the current epoch
 * @slices: number of slices
 * @covered: as epf_covered(); NULL: as many epochs as the window has
 */
struct epf_fluid_ops {
	bool (*ready)(const struct epf_owned *o);
	bool (*hungry)(const struct epf_owned *o);
	u64 (*plan)(const struct epf_owned *o, u64 now_ns);
	bool (*add)(struct epf_owned *o, u64 now_ns, u64 *word, u64 words);
	u64 *(*expired)(struct epf_owned *o, u64 now_ns, u64 *words);
	bool (*spared)(const struct epf_owned *o);
	u64 *(*spare)(struct epf_owned *o, u64 *words);
	u64 *(*take)(struct epf_owned *o, u64 *words);
	bool (*scan)(struct epf_owned *o, u64 lines);
	u64 (*turns)(const struct epf_owned *o);
	u64 (*taken)(const struct epf_owned *o);
	u64 (*begun)(const struct epf_owned *o);
	u32 (*slices)(const struct epf_owned *o);
	void (*covered)(const struct epf_owned *o, u64 now_ns, u64 *inserts,
			u64 *ns);
};

/**
 * struct epf_kind_ops - operations of a locked kind; all but @setup are called with
 *	the table's lock held
 * @used: bytes of struct epf_shape that the kind uses
 * @needs: EPF_NEEDS_*
 * @setup: check @shape, set words, epochs and slices, initialize the core. Return:
 *	0 or -EINVAL
 * @insert: insert a key
 * @test: test a key. Return: EPF_ABSENT, or EPF_PRESENT + age
 * @fluid: operations of a resizable kind; NULL: a fixed-size kind, of which the next
 *	three end an epoch
 * @ticks: for a resizable kind: runs of the worker per epoch
 * @retire: make the oldest epoch no longer count
 * @sweep: empty some of its memory, as epf_ge_sweep()
 * @advance: make it the current epoch
 * @sample: add one random sample to the estimate
 * @rate: the estimated error, q56
 * @layer: the part of it that is due to the epoch of an age, and its fill, q56
 * @count: begin to count; the filter is empty and @room has the limit. Return: 0,
 *	-EINVAL, -ENOMEM
 * @set_room: compute how far it may grow
 * @set_shares: set what it has grown to from the estimate
 * @save: store the state of the core for a snapshot; updates the clock
 * @load: load such a state, which is untrusted. Return: 0 or -EINVAL
 * @piece: where the pointer to piece i of the memory is, in the order of snapshots;
 *	NULL: there are no more
 * @settle: validate words at .. at + n of piece i, which are untrusted: reject what
 *	is invalid, empty what is stale. NULL: every content is valid
 */
struct epf_kind_ops {
	u32 used;
	u32 needs;
	const struct epf_fluid_ops *fluid;
	u32 ticks;
	int (*setup)(struct epf_owned *o, const struct epf_params *params,
		     const struct epf_shape *shape);
	void (*insert)(struct epf_owned *o, u64 digest);
	int (*test)(const struct epf_owned *o, u64 digest);
	void (*retire)(struct epf_owned *o);
	u64 (*sweep)(struct epf_owned *o, u64 at, u64 n);
	void (*advance)(struct epf_owned *o);
	void (*sample)(struct epf_owned *o, u64 random);
	u64 (*rate)(const struct epf_owned *o);
	u64 (*layer)(const struct epf_owned *o, u32 age, u64 *fill);
	int (*count)(struct epf_owned *o);
	void (*set_room)(struct epf_owned *o);
	void (*set_shares)(struct epf_owned *o);
	void (*save)(struct epf_owned *o, struct epf_snap_owned *s);
	int (*load)(struct epf_owned *o, const struct epf_snap_owned *s);
	u64 **(*piece)(struct epf_owned *o, u32 i, u64 *words);
	bool (*settle)(struct epf_owned *o, u32 i, u64 at, u64 n);
};

/* kinds.c: */
const struct epf_kind_ops *epf_kind_ops(u8 kind);

/* owned.c: operations of tables (kind.h), of all kinds and of fixed-size ones */
int epf_owned_check(const struct epf_params *params);
int epf_owned_make(struct epf_table *t, const struct epf_params *params,
		   const struct epf_shape *shape);
int epf_owned_fill(struct epf_table *t);
int epf_paced_fill(struct epf_table *t);
void epf_owned_free(struct epf_table *t);
u64 epf_owned_fill_step(const struct epf_table *t);
const struct epf_shape *epf_owned_shape(const struct epf_table *t);
int epf_owned_test(struct epf_table *t, u64 digest);
int epf_owned_insert(struct epf_table *t, u64 digest);
int epf_owned_test_and_insert(struct epf_table *t, u64 digest);
bool epf_owned_may_end(const struct epf_table *t);
void epf_owned_rotated(struct epf_table *t, u64 e);
void epf_owned_send(struct epf_table *t);
int epf_owned_wait(struct epf_table *t, u64 e);
int epf_paced_rotate(struct epf_table *t, u32 count);
u32 epf_paced_turnover(const struct epf_table *t);
void epf_paced_tick(struct epf_table *t);
void epf_owned_pinned(struct epf_table *t);
void epf_paced_work(struct epf_table *t);
bool epf_paced_still(struct epf_table *t);
bool epf_owned_full(struct epf_table *t);
void epf_owned_measured(struct epf_table *t);
void epf_owned_estimate(struct epf_table *t, struct epf_estimates *est);
void epf_owned_info(const struct epf_table *t, u64 now_ns,
		    struct epf_info *info);

/* image.c: */
int epf_owned_hold(struct epf_table *t, u64 pin_ns, struct epf_pin *pin);
bool epf_owned_moved(struct epf_table *t, u64 moves);
int epf_owned_read(struct epf_table *t, u64 moves,
		   const struct epf_snap_read *args);
struct epf_table *epf_owned_restore(const struct epf_restore *args);

/* fluid.c: */
int epf_fluid_fill(struct epf_table *t);
void epf_fluid_free(struct epf_table *t);
bool epf_fluid_insert(struct epf_table *t, u64 digest);
u64 *epf_fluid_hold(struct epf_table *t, u64 *words);
void epf_fluid_work(struct epf_table *t);
void epf_fluid_done(struct epf_table *t, bool estimated);
int epf_fluid_rotate(struct epf_table *t, u32 count);
u32 epf_fluid_turnover(const struct epf_table *t);
u64 epf_fluid_tick_ns(const struct epf_table *t);
bool epf_fluid_still(struct epf_table *t);
void epf_fluid_see(struct epf_table *t);
void epf_fluid_stir(struct epf_owned *o);
int epf_fluid_adopt(struct epf_table *t);

/* Is it of a resizable kind? */
static inline bool epf_is_fluid(const struct epf_table *t)
{
	return t->owned && t->owned->ops->fluid;
}

/* The time on the clock of a resizable kind, in ns. */
static inline u64 epf_owned_now(const struct epf_owned *o)
{
	return ktime_get_ns() + o->skew_ns;
}

#endif /* EPF_OWNED_H */
