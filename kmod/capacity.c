// SPDX-License-Identifier: GPL-2.0
/*
 * Failing open by count, of lanes: how the error limit is kept without the worker, however late the
 * rotation is. See section 5 of docs/DESIGN.md; kinds/locked.h is about the other kinds.
 *
 * When an epoch begins, its room is computed: how many keys it may take before the error passes the
 * limit. The inserter whose key reaches that number sets t->answer to open. The trigger (table.h)
 * is set so that an inserter checks in time, and CPUs keep no insertions when it is near.
 *
 * Counted are keys that set bits in the lanes of their epoch, by each CPU. A sum reads a cache line
 * of each possible CPU, so it is taken once when an epoch ends, by the worker without the lock, and
 * beyond the mark (table.h), when what all CPUs may keep could be the rest: by inserters, and with
 * the lock by who sets batches or judges.
 *
 * Each CPU counts the keys of even and of odd epochs separately. So the one sum, taken after epoch
 * e has ended, has the keys of e and of the epochs e-2, e-4, ..., without those that already came
 * in e+1. With the keys of e-1, e-3, ..., summed when e-1 ended (keys_ended), they are keys_before
 * of e+1, and what that exceeds keys_before of e by is the share of e.
 *
 * An inserter may see the new epoch with the old keys_before and room. It then takes the keys of
 * both epochs for those of one, and opens too early rather than too late: the error of two epochs
 * is smaller than that of one epoch with the keys of both.
 *
 * Not counted in time are: one insertion for each context that is between setting its bits and
 * counting, and one operation that read the answer before the opening. An insertion that a rotation
 * overtakes counts only for the epoch in which it ends, or for none if the previous epoch had the
 * key already; one that is counted only after its epoch was summed, for the epochs after that: one
 * for each context and rotation.
 *
 * Closing. The worker judges with the lock held: it closes the filter if there is room left and the
 * sampled error is within the limit. It reads the answer first and the counts afterwards, and
 * writes with cmpxchg. An inserter that found no room meanwhile has changed the number of openings,
 * so the cmpxchg fails and the worker judges again.
 */
#include "compat.h"
#include "kind.h"
#include "trace.h"

#include <linux/mm.h>

/**
 * epf_table_set_limit() - compute how many keys an empty table of lanes may take
 * @t: table, not yet published
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int epf_table_set_limit(struct epf_table *t)
{
	struct epf_capacity_work *work;

	t->limited = t->params.limit_ppt < EPF_RATE_ONE;
	if (!t->limited)
		return 0;
	work = kvmalloc(sizeof(*work), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!work)
		return -ENOMEM;
	epf_capacity_init(&t->capacity, &t->lanes.geom, epf_ppt_to_q56(t->params.limit_ppt), work);
	kvfree(work);
	t->room = epf_capacity_room(&t->capacity, t->share);
	return 0;
}

/* Keys that have set bits since the table was made, by their epoch modulo 2. */
struct epf_capacity_sum {
	u64 keys[2];
};

static struct epf_capacity_sum epf_capacity_sum(const struct epf_table *t)
{
	struct epf_capacity_sum sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		const u64 *grew = per_cpu_ptr(t->cpu, cpu)->inserts[1];

		sum.keys[0] += READ_ONCE(grew[0]);
		sum.keys[1] += READ_ONCE(grew[1]);
	}
	return sum;
}

static u64 epf_capacity_left(const struct epf_capacity_sum *sum, u64 before, u64 room)
{
	u64 keys = sum->keys[0] + sum->keys[1] - before;

	return room > keys ? room - keys : 0;
}

/**
 * epf_table_left() - keys that the current epoch may still take
 * @t: table of lanes
 *
 * Context: any; without the lock the result may be that of an epoch that is over. Visits all CPUs.
 * Return: keys; 0: the limit is near.
 */
u64 epf_table_left(const struct epf_table *t)
{
	u64 before = READ_ONCE(t->keys_before);
	struct epf_capacity_sum sum;
	u64 room;

	smp_rmb(); /* pairs with epf_capacity_set_room(): a new sum implies the new room */
	room = READ_ONCE(t->room);
	if (room == EPF_NO_LIMIT)
		return EPF_NO_LIMIT;
	sum = epf_capacity_sum(t);
	return epf_capacity_left(&sum, before, room);
}

/**
 * epf_table_open() - fail open because an epoch is full
 * @t: table of lanes
 * @e: the epoch, current as the caller counted it
 *
 * Context: any; without the lock.
 */
void epf_table_open(struct epf_table *t, u64 e)
{
	union epf_answer_word old, new;

	smp_rmb(); /* the count before the epoch: it was the count of @e */
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
	trace_epf_saturate(t->owner_id, true, t->params.limit_ppt, t->params.limit_ppt);
}
EPF_EXPORT(epf_table_open);

/* Compute the room from the errors of epochs e-7 .. e-1. */
static void epf_capacity_set_room(struct epf_table *t, u64 before)
{
	lockdep_assert_held(&t->lock);
	WRITE_ONCE(t->room, epf_capacity_room_of(&t->capacity, t->share, t->state.epoch));
	smp_wmb(); /* pairs with epf_table_left() */
	WRITE_ONCE(t->keys_before, before);
}

/**
 * epf_table_next_room() - set the room of a new epoch
 * @t: table of lanes
 *
 * Context: locked.
 * Return: as epf_table_left().
 */
u64 epf_table_next_room(struct epf_table *t)
{
	u64 over = t->state.epoch - 1;
	struct epf_capacity_sum sum;
	u64 before;

	lockdep_assert_held(&t->lock);
	if (!t->limited)
		return EPF_NO_LIMIT;
	sum = epf_capacity_sum(t);
	before = t->keys_ended + sum.keys[over & 1];
	t->share[over & 7] = epf_capacity_q56(&t->capacity, before - t->keys_before);
	t->keys_ended = sum.keys[over & 1];
	epf_capacity_set_room(t, before);
	return epf_capacity_left(&sum, before, t->room);
}

/**
 * epf_table_measured_room() - compute the room of a restored table of lanes
 * @t: table, estimated, not yet published
 *
 * The measured errors of the lanes are used instead of the counts in the snapshot: those
 * include repeats, and a merged snapshot has lanes with the keys of many.
 *
 * Context: locked.
 */
void epf_table_measured_room(struct epf_table *t)
{
	u64 e = t->state.epoch;
	struct epf_capacity_sum sum;
	u64 keys;
	u32 i;

	lockdep_assert_held(&t->lock);
	if (!t->limited)
		return;
	for (i = 0; i < EPF_LANES; i++)
		t->share[i] = epf_ppt_to_q56(t->est.lane_fpr[i]);
	keys = epf_capacity_keys(&t->capacity, t->share[e & 7]);
	sum = epf_capacity_sum(t);
	t->keys_ended = sum.keys[(e - 1) & 1];
	epf_capacity_set_room(t, sum.keys[0] + sum.keys[1] - keys);
}

/**
 * epf_table_judge() - decide whether an estimated filter is saturated
 * @t: table with an estimate
 *
 * Context: locked.
 * Return: true if that changed.
 */
bool epf_table_judge(struct epf_table *t)
{
	u64 limit = t->params.limit_ppt;
	union epf_answer_word old, new;
	bool saturated;

	lockdep_assert_held(&t->lock);
	old.word = READ_ONCE(t->answer.word);
	do {
		smp_mb(); /* the number of openings before the counts */
		saturated = (limit < EPF_RATE_ONE && t->est.fpr > limit) || t->ops->full(t);
		if (saturated == (old.now == EPF_ANSWER_OPEN))
			return false;
		new = old;
		new.now = saturated ? EPF_ANSWER_OPEN : epf_table_usual_answer(t);
	} while (!try_cmpxchg(&t->answer.word, &old.word, new.word));
	atomic64_inc(&t->flips);
	atomic64_add(saturated, &t->saturations);
	trace_epf_saturate(t->owner_id, saturated, t->est.fpr, limit);
	return true;
}
