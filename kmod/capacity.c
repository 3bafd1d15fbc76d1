// SPDX-License-Identifier: GPL-2.0
/*
 * The filter opens by count: the promise of the error, kept without the worker. Of
 * lanes; owned.h tells what the other kinds count.
 *
 * When an epoch begins it is known how many keys it may take before the error of
 * the filter passes its limit: the errors of the seven epochs before it follow
 * from what they counted, and epf/capacity.h turns what the limit leaves into a
 * number of keys, t->room. The inserter that comes to it sets t->answer to open,
 * on its own way: it matters not whether the rotation is late for a grace period,
 * the scan, a snapshot or the timer, nor whether the worker ever comes. The
 * trigger (table.h) is set so that somebody looks in time, and CPUs keep no
 * insertions to themselves when it is near.
 *
 * Counted are keys that set bits in the lanes of their epoch, by each CPU for
 * itself; a repeat inside an epoch adds nothing to the error. Summing the CPUs'
 * counts takes a cache line for each, at the ends of epochs and where the trigger
 * says so. Of the keys inserted while an epoch ends, some are counted for both:
 *
 *   keys_before  of the next epoch is summed before the epoch ends,
 *   share        of the one that ends is computed from a sum taken afterwards.
 *
 * An inserter may meet the new epoch with the old keys_before and room. It then
 * takes the keys of both epochs for those of one, and opens too early rather than
 * too late: two epochs err less than one that has the keys of both.
 *
 * What is not counted in time: one insertion for each context that is between
 * its bits and its count, and one verdict that was read before the opening; an
 * insertion that a rotation overtakes counts only for the epoch it ends in, or for
 * none where the key was in the epoch before already: one a context and rotation.
 *
 * Closing. The worker judges with the lock held: the filter is closed where there
 * is room left and the sampled error is within the limit. It reads the answer
 * first and the counts then, and writes with cmpxchg; an inserter that found no
 * room has changed the number of openings meanwhile, and the worker judges again.
 */
#include "owned.h"
#include "trace.h"

#include <linux/mm.h>

#define NO_LIMIT U64_MAX

/* With the worker's part of the error not yet known: all epochs are empty. */
static int init_capacity(struct epf_table *t)
{
	struct epf_capacity_work *work =
		kvmalloc(sizeof(*work), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!work)
		return -ENOMEM;
	epf_capacity_init(&t->capacity, &t->lanes.geom,
			  epf_ppt_to_q56(t->params.limit_ppt), work);
	kvfree(work);
	t->room = epf_capacity_room(&t->capacity, t->share);
	return 0;
}

/**
 * epf_table_set_limit() - work out what an empty table may take
 * @t: table with parameters, all else zeroed
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int epf_table_set_limit(struct epf_table *t)
{
	t->room = NO_LIMIT;
	t->limited = !t->owned && t->params.limit_ppt < EPF_RATE_ONE;
	return t->limited ? init_capacity(t) : 0;
}

/**
 * epf_table_keys() - keys that have set bits, since ever
 * @t: table
 */
u64 epf_table_keys(const struct epf_table *t)
{
	u64 sum = 0;
	int cpu;

	if (!t->limited)
		return 0;
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(t->cpu, cpu)->inserts[1]);
	return sum;
}

/**
 * epf_table_left() - keys that the current epoch may yet take
 * @t: table
 *
 * Context: any; without the lock it may be of an epoch that is over.
 * Return: 0: the error may be at the limit.
 */
u64 epf_table_left(const struct epf_table *t)
{
	u64 before = READ_ONCE(t->keys_before);
	u64 keys, room;

	smp_rmb(); /* pairs with set_room(): not the new sum with the old room */
	room = READ_ONCE(t->room);
	if (room == NO_LIMIT)
		return NO_LIMIT;
	keys = epf_table_keys(t) - before;
	return room > keys ? room - keys : 0;
}

/**
 * epf_table_open() - fail open: epoch @e has come to its capacity
 * @t: table
 * @e: the current epoch, as the caller counted it
 *
 * Context: any; without the lock.
 */
void epf_table_open(struct epf_table *t, u64 e)
{
	union epf_answer_word old, new;

	smp_rmb(); /* the count before the epoch: it was that of @e */
	if (epf_load(&t->state.epoch) != e)
		return;
	old.word = READ_ONCE(t->answer.word);
	do {
		new = old;
		new.now = EPF_ANSWER_OPEN;
		new.openings++;
	} while (!try_cmpxchg(&t->answer.word, &old.word, new.word));
	if (old.now == EPF_ANSWER_OPEN)
		return;
	atomic64_inc(&t->flips);
	atomic64_inc(&t->saturations);
	trace_epf_saturate(t->owner_id, true, t->params.limit_ppt,
			   t->params.limit_ppt);
}

/* With the lock held: from what epochs e-7 .. e-1 err. */
static void set_room(struct epf_table *t, u64 before)
{
	u64 others[EPF_LIVE_EPOCHS];
	u64 e = t->state.epoch;
	u32 i;

	for (i = 0; i < EPF_LIVE_EPOCHS; i++)
		others[i] = t->share[(e - 1 - i) & 7];
	WRITE_ONCE(t->room, epf_capacity_room(&t->capacity, others));
	smp_wmb(); /* pairs with epf_table_left() */
	WRITE_ONCE(t->keys_before, before);
}

/**
 * epf_table_next_room() - an epoch has begun
 * @t: table, locked
 * @before: epf_table_keys() before it began
 */
void epf_table_next_room(struct epf_table *t, u64 before)
{
	u64 over = t->state.epoch - 1;

	if (!t->limited)
		return;
	t->share[over & 7] = epf_capacity_q56(&t->capacity,
					      epf_table_keys(t) -
						      t->keys_before);
	set_room(t, before);
}

/**
 * epf_table_measured_room() - of a table with contents from elsewhere
 * @t: table, estimated, not yet published
 *
 * Its lanes are taken for what they are measured to be, whatever the snapshot
 * says that it counted: repeats count, too, and a merged one has lanes of many.
 */
void epf_table_measured_room(struct epf_table *t)
{
	u64 e, keys;
	u32 i;

	if (t->owned)
		epf_owned_measured(t);
	if (!t->limited)
		return;
	epf_table_lock(t);
	e = t->state.epoch;
	for (i = 0; i < EPF_LANES; i++)
		t->share[i] = epf_ppt_to_q56(t->est.lane_fpr[i]);
	keys = epf_capacity_keys(&t->capacity, t->share[e & 7]);
	set_room(t, epf_table_keys(t) - keys);
	epf_table_reset_trigger(t);
	epf_table_unlock(t);
}

static u8 usual_answer(const struct epf_table *t)
{
	return t->window.first_seen ? EPF_ANSWER_SKIP : EPF_ANSWER;
}

/**
 * epf_table_judge() - is the filter saturated by what is known now?
 * @t: table, locked, estimated
 *
 * Return: that changed.
 */
bool epf_table_judge(struct epf_table *t)
{
	u64 limit = t->params.limit_ppt;
	union epf_answer_word old, new;
	bool saturated;

	old.word = READ_ONCE(t->answer.word);
	do {
		smp_mb(); /* the number of openings before the counts */
		saturated = (limit < EPF_RATE_ONE && t->est.fpr > limit) ||
			    !epf_table_left(t) ||
			    (t->owned && epf_owned_full(t));
		if (saturated == (old.now == EPF_ANSWER_OPEN))
			return false;
		new = old;
		new.now = saturated ? EPF_ANSWER_OPEN : usual_answer(t);
	} while (!try_cmpxchg(&t->answer.word, &old.word, new.word));
	atomic64_inc(&t->flips);
	atomic64_add(saturated, &t->saturations);
	trace_epf_saturate(t->owner_id, saturated, t->est.fpr, limit);
	return true;
}
