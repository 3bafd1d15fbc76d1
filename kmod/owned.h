/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The owned kinds: filters whose core wants one caller at a time.
 *
 * A table of an owned kind has no lanes (no parts), and the union below
 * instead. All of that, and the memory behind it, is read and written under
 * t->lock, by packet paths too: an operation holds it for the time of some
 * cache misses; the worker for OWNED_WORDS words of a sweep, OWNED_SAMPLES
 * samples of the estimate (some microseconds; with blocks of 512 bits and
 * double hashing some ten), or what a fluid kind makes of them (likewise). So a
 * test tells what some order of all operations gives, and of concurrent
 * sightings of a new key exactly one is told absent.
 *
 * The filter opens by count, as capacity.c tells of lanes: what it may grow by is
 * computed when an epoch or a slice begins (epf/rooms.h), under one hold of the
 * lock with it, and whoever inserts compares. Verdict, growth and answer are of
 * one hold, too: so not even one verdict is late.
 *
 * Epochs end behind the packets' back. Who sees that one is due says so in
 * t->late; the worker retires the oldest epoch, sweeps its memory, and makes
 * that the next one. In between insertions still join the epoch that is over,
 * which is kept longer for it: no key is lost by a worker that is late.
 */
#ifndef EPF_OWNED_H
#define EPF_OWNED_H

#include "table.h"

#include <epf/image.h>
#include <epf/rooms.h>

struct epf_kind_ops;

/* Epochs of which insertions and beginning are remembered; a power of two. */
#define EPF_OWNED_PAST 256u

/**
 * struct epf_owned - what an owned kind has instead of lanes
 * @ops: of the kind; constant
 * @shape: as given; constant
 * @words: of the memory that it keeps for all its life; constant
 * @epochs: complete epochs that make the window; constant
 * @slices: segments, slices or generations there are memory for
 * @wanted: epochs that somebody wants ended though they are not due; 0 from the
 *	beginning of a snapshot on
 * @waits: times memory was wanted and not to be had
 * @retiring: the oldest epoch counts no more, and its end is not complete
 * @starved: the last time it was not; inserters do not ask again before the
 *	timer comes
 * @moves: changes of what memory means, beyond keys: an epoch to be ended, a
 *	slice or table that comes or goes, or may. A snapshot is of one number
 * @skew_ns: how far the clock of a fluid kind is ahead, modulo 2^64: what was
 *	rotated away, or the clock of a snapshot
 * @skewed_ns: when that was last changed; at first, creation
 * @jumps: of that clock, by rotation; @lock
 * @follows: those when the worker began; worker's
 * @followed: those of which it has done all that was due; it writes, who rotates
 *	waits for it on epf_table.moved. flush_delayed_work() would not do: it
 *	takes work that the timer is queueing anew for idle
 * @turns: epochs of a fluid kind that have been seen to end; 0: it is being
 *	filled
 * @begun: keys it had taken then
 * @seen: what it was like at the last estimate, see epf_fluid_still(); worker's
 * @seen_ns: when that was
 * @past: epoch e is at e mod EPF_OWNED_PAST
 * @room: what it counts; NULL: there is no limit
 * @gauge: the worker's
 * @word: the memory: all but fluid kinds begin with it
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
 * struct epf_fluid_ops - a kind whose memory comes and goes; with the table's
 *	lock held, times on its clock
 * @ready: has it what insertions need?
 * @hungry: is the next slice wanted?
 * @plan: how many words that shall have; 0: not wanted
 * @add: hand it over. Return: whether it was taken
 * @expired: tell the time, give back what counts no more; NULL: nothing
 * @spared: is there a slice or table handed over and not yet in use? Without
 *	one memory stays what it is, whatever is inserted
 * @spare: give that back; NULL: there is none
 * @take: give back anything; NULL: nothing is left
 * @scan: empty what is stale, up to so many lines. Return: more is due. NULL:
 *	there is nothing to scan
 * @turns: epochs ended, since ever
 * @taken: keys inserted
 * @begun: of those, before the current epoch
 * @slices: there are
 * @covered: as epf_covered(); NULL: as many epochs as make the window
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
 * struct epf_kind_ops - a kind; all with the table's lock held but @setup
 * @used: bytes of struct epf_shape
 * @needs: EPF_NEEDS_*
 * @setup: check @shape, set words, epochs and slices, make it empty. Return:
 *	0 or -EINVAL
 * @insert: a key
 * @test: return EPF_ABSENT, or EPF_PRESENT + age
 * @fluid: NULL: memory stays, and the next three end an epoch
 * @ticks: of a fluid kind: how often in an epoch the worker comes
 * @retire: the oldest epoch counts no more
 * @sweep: empty some of it, as epf_ge_sweep()
 * @advance: it becomes the current one
 * @sample: one more, at random, for the estimate
 * @rate: the estimate of the error, q56
 * @layer: the part in it of the epoch of an age, and its fill, q56
 * @count: begin to count; empty, @room of the limit. Return: 0, -EINVAL, -ENOMEM
 * @set_room: compute how far it may grow
 * @set_shares: take what the gauge says for what it has grown to
 * @save: the state of the core for a snapshot; tells the time
 * @load: take such a state, which may be anything. Return: 0 or -EINVAL
 * @piece: where the words of piece i of memory are, as snapshots order them;
 *	NULL: there are no more
 * @settle: words at .. at + n of piece i have come from anywhere: refuse what
 *	cannot be, empty what is stale. NULL: all is welcome
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

/* owned.c: */
struct epf_owned *epf_owned_new(const struct epf_params *params,
				const struct epf_shape *shape);
int epf_owned_fill(struct epf_table *t);
void epf_owned_free(struct epf_table *t);
void epf_owned_rotated(struct epf_table *t, u64 e);
int epf_owned_rotate(struct epf_table *t, u32 count);
void epf_owned_work(struct epf_table *t);
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
void epf_fluid_done(struct epf_table *t);
int epf_fluid_rotate(struct epf_table *t, u32 count);
bool epf_fluid_still(struct epf_table *t);
void epf_fluid_see(struct epf_table *t);
void epf_fluid_stir(struct epf_owned *o);
int epf_fluid_adopt(struct epf_table *t);

/* Does its memory come and go? */
static inline bool epf_is_fluid(const struct epf_table *t)
{
	return t->owned && t->owned->ops->fluid;
}

/* On the clock of a fluid kind. */
static inline u64 epf_owned_now(const struct epf_owned *o)
{
	return ktime_get_ns() + o->skew_ns;
}

#endif /* EPF_OWNED_H */
