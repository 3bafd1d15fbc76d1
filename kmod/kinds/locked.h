/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The locked kinds: filters whose core allows one caller at a time.
 *
 * A table of a locked kind has no lanes (no parts) but the struct below. All of
 * that, and the memory behind it, is read and written under t->lock, by packet
 * paths too. An operation holds the lock for some cache misses. The worker holds
 * it for EPF_HOLD_WORDS words of a sweep, for LOCKED_SAMPLES samples of the estimate
 * (some microseconds; about ten with blocks of 512 bits and double hashing), or
 * for a similar step of a resizable kind. So operations are linearizable: a test
 * returns what some order of all operations gives, and when several CPUs see a new
 * key at once, exactly one of them gets "absent".
 *
 * A kind with locks of its own (elastic: each line has one) is different in one respect:
 * tests, insertions and both together (main.c) run without t->lock, on any number of CPUs.
 * The struct below, the ends of epochs, samples and snapshots belong to t->lock all the
 * same; whoever holds it takes the lock of a line within, to sweep or copy it, and never the
 * other way round. Each CPU may still return the one verdict that is under way
 * when the filter opens.
 *
 * The filter opens by count, as capacity.c describes for lanes: how far it may grow
 * is computed when an epoch or a slice begins (epf/room.h), under the same hold of
 * the lock, and inserters compare with that. The verdict, the growth and the answer
 * belong to one hold, too, so not even one verdict is late.
 *
 * Epochs end asynchronously. Whoever finds the end of an epoch due records that in
 * t->late. The worker retires the oldest epoch, sweeps its memory, and makes that
 * the next epoch. Until then insertions still join the epoch that is over, which is
 * kept longer in return: a slow worker loses no key.
 */
#ifndef EPF_LOCKED_H
#define EPF_LOCKED_H

#include "kind.h"

#include <epf/image.h>
#include <epf/kind.h>

/* Number of epochs whose insertions and start are remembered; a power of two. */
#define EPF_LOCKED_PAST 256u

/**
 * struct epf_locked_state - state of a locked kind, in place of lanes
 * @core: the filter and its row of operations, all of which but the setup are called
 *	under @lock. Its estimator belongs to the worker only
 * @wanted: epochs that callers want ended although they are not due; 0 from the
 *	beginning of a snapshot on
 * @waits: number of failed allocations
 * @retiring: the oldest epoch no longer counts, and its end is not complete
 * @alloc_failed: the last allocation failed; inserters do not ask again before the timer
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
 *	writes it; epf_resizable_rotate() waits for it on epf_table.moved.
 *	flush_delayed_work() would not do: it treats work that the timer is just
 *	requeueing as idle
 * @turns: epochs of a resizable kind that have been seen to end; 0: the table is
 *	being filled
 * @begun: keys it had taken at the last of these ends
 * @seen: fingerprint of the state at the last estimate, see epf_resizable_still();
 *	worker only
 * @seen_ns: time of @seen
 * @past: history; epoch e is at e mod EPF_LOCKED_PAST
 */
struct epf_locked_state {
	struct epf_locked core;
	u32 wanted;
	u32 waits;
	bool retiring;
	bool alloc_failed;
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
	struct epf_past past[EPF_LOCKED_PAST];
};

/* kinds.c: */
const struct epf_kind_ops *epf_kind_ops(u8 kind);

/* locked.c: operations of tables (kind.h), of all kinds and of fixed-size ones */
int epf_locked_check(const struct epf_params *params);
int epf_locked_make(struct epf_table *t, const struct epf_params *params,
		    const struct epf_shape *shape);
int epf_locked_fill(struct epf_table *t);
int epf_fixed_fill(struct epf_table *t);
void epf_locked_free(struct epf_table *t);
u64 epf_locked_fill_step(const struct epf_table *t);
const struct epf_shape *epf_locked_shape(const struct epf_table *t);
int epf_locked_test(struct epf_table *t, u64 digest);
int epf_locked_insert(struct epf_table *t, u64 digest);
int epf_locked_test_and_insert(struct epf_table *t, u64 digest);
bool epf_locked_may_end(const struct epf_table *t);
void epf_locked_rotated(struct epf_table *t, u64 e);
void epf_locked_send(struct epf_table *t);
int epf_locked_wait(struct epf_table *t, u64 e);
int epf_fixed_rotate(struct epf_table *t, u32 count);
u32 epf_fixed_turnover(const struct epf_table *t);
void epf_locked_pinned(struct epf_table *t);
void epf_fixed_work(struct epf_table *t);
bool epf_locked_full(struct epf_table *t);
void epf_locked_measured(struct epf_table *t);
void epf_locked_estimate(struct epf_table *t, struct epf_estimates *est);
u64 epf_locked_since(const struct epf_table *t);
void epf_locked_info(const struct epf_table *t, u64 now_ns, struct epf_info *info);

/* image.c: */
int epf_locked_begin_snapshot(struct epf_table *t, u64 pin_ns, struct epf_pin *pin);
bool epf_locked_moved(struct epf_table *t, u64 moves);
int epf_locked_read(struct epf_table *t, u64 moves, const struct epf_snap_read *args);
struct epf_table *epf_locked_restore(const struct epf_restore *args);

/* resizable.c: */
int epf_resizable_fill(struct epf_table *t);
void epf_resizable_free(struct epf_table *t);
bool epf_resizable_insert(struct epf_table *t, u64 digest);
u64 *epf_resizable_hold(struct epf_table *t, u64 *words);
void epf_resizable_work(struct epf_table *t);
void epf_resizable_done(struct epf_table *t, bool estimated);
int epf_resizable_rotate(struct epf_table *t, u32 count);
u32 epf_resizable_turnover(const struct epf_table *t);
u64 epf_resizable_tick_ns(const struct epf_table *t);
bool epf_resizable_still(struct epf_table *t);
void epf_resizable_sync_epochs(struct epf_table *t);
void epf_resizable_invalidate(struct epf_locked_state *o);
int epf_resizable_alloc_loaded(struct epf_table *t);

/* Is it of a resizable kind? */
static inline bool epf_is_resizable(const struct epf_table *t)
{
	return t->locked && t->locked->core.ops->resizable;
}

/* The time on the clock of a resizable kind, in ns. */
static inline u64 epf_locked_now(const struct epf_locked_state *o)
{
	return ktime_get_ns() + o->skew_ns;
}

/* The time that operations of the core get; fixed-size kinds have no clock. */
static inline u64 epf_locked_clock(const struct epf_locked_state *o)
{
	return o->core.ops->resizable ? epf_locked_now(o) : 0;
}

#endif /* EPF_LOCKED_H */
