// SPDX-License-Identifier: GPL-2.0
/*
 * Failing open by count, of lanes: how the error limit is kept without the worker, however late the
 * rotation is. See section 5 of docs/DESIGN.md; kinds/locked.h is about the other kinds.
 *
 * When an epoch begins, its room is computed: how many keys it may take before the error passes the
 * limit. The inserter whose key reaches that number sets t->answer to open. The trigger (table.h)
 * is set so that an inserter checks in time, and CPUs keep no insertions when it is near.
 *
 * Counted are keys that set bits in the lanes of their epoch, by each CPU. Their sum is taken when
 * an epoch ends and when the trigger is reached. Keys inserted while an epoch ends may count twice:
 *
 *   keys_before  of the next epoch is summed before the epoch ends;
 *   share        of the epoch that ends is computed from a sum taken afterwards.
 *
 * An inserter may see the new epoch with the old keys_before and room. It then takes the keys of
 * both epochs for those of one, and opens too early rather than too late: the error of two epochs
 * is smaller than that of one epoch with the keys of both.
 *
 * Not counted in time are: one insertion for each context that is between setting its bits and
 * counting, and one operation that read the answer before the opening. An insertion that a rotation
 * overtakes counts only for the epoch in which it ends, or for none if the previous epoch had the
 * key already: one for each context and rotation.
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

/*
 * epf_table_set_limit() - compute how many keys an empty table of lanes may take
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

/*
 * epf_table_keys() - number of keys that have set bits since the table was made. Context: any.
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

/*
 * epf_table_left() - keys that the current epoch may still take; 0: the limit is near
 * Context: any; without the lock the result may be that of an epoch that is over.
 */
u64 epf_table_left(const struct epf_table *t)
{
	u64 before = READ_ONCE(t->keys_before);
	u64 keys, room;

	smp_rmb(); /* pairs with epf_capacity_set_room(): a new sum implies the new room */
	room = READ_ONCE(t->room);
	if (room == EPF_NO_LIMIT)
		return EPF_NO_LIMIT;
	keys = epf_table_keys(t) - before;
	return room > keys ? room - keys : 0;
}

/*
 * epf_table_open() - fail open because epoch @e, the current one as the caller counted it, is full
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

/*
 * epf_table_next_room() - set the room of a new epoch; @before: keys until then. Context: locked.
 */
void epf_table_next_room(struct epf_table *t, u64 before)
{
	u64 over = t->state.epoch - 1;

	lockdep_assert_held(&t->lock);
	if (!t->limited)
		return;
	t->share[over & 7] = epf_capacity_q56(&t->capacity, epf_table_keys(t) - t->keys_before);
	epf_capacity_set_room(t, before);
}

/*
 * epf_table_measured_room() - compute the room of a restored table of lanes, estimated, not
 * published. The measured errors of the lanes are used instead of the counts in the snapshot: those
 * include repeats, and a merged snapshot has lanes with the keys of many. Context: locked.
 */
void epf_table_measured_room(struct epf_table *t)
{
	u64 e = t->state.epoch;
	u64 keys;
	u32 i;

	lockdep_assert_held(&t->lock);
	if (!t->limited)
		return;
	for (i = 0; i < EPF_LANES; i++)
		t->share[i] = epf_ppt_to_q56(t->est.lane_fpr[i]);
	keys = epf_capacity_keys(&t->capacity, t->share[e & 7]);
	epf_capacity_set_room(t, epf_table_keys(t) - keys);
}

/*
 * epf_table_judge() - decide whether an estimated filter is saturated. Context: locked.
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
