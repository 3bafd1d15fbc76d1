// SPDX-License-Identifier: GPL-2.0
/*
 * Journals: writing, and what rotations do to them. See journal.h.
 *
 * A record is written after the bits are set, so that it never names a key that is not there, and
 * before the insertion is counted and returns, so that a reader that has read all records up to a
 * moment has all keys inserted before it.
 */
#include "journal.h"

#include <linux/smp.h>

/* Write a record to a ring, any of them. A reader waits for it: preemption would prolong that. */
static void epf_record_put(const struct epf_journal *j, u64 kind, u64 epoch, u64 value, u64 more)
{
	struct epf_journal_ring r;

	preempt_disable();
	r = epf_journal_ring(j, smp_processor_id() & (j->shards - 1));
	epf_journal_put(&r, kind, epoch, value, more);
	preempt_enable();
}

/**
 * epf_journal_inserted() - record an insertion
 * @j: journal
 * @digest: of the key
 * @e: epoch
 * @lanes: see epf_lanes_insert_into()
 * @grew: the key set bits
 *
 * Context: a packet path, in the RCU section in which it found @j.
 */
void epf_journal_inserted(const struct epf_journal *j, u64 digest, u64 e, u64 lanes, bool grew)
{
	epf_record_put(j, EPF_JOURNAL_INSERT, e, digest, lanes | (grew ? EPF_JOURNAL_NEW : 0));
}

/**
 * epf_journal_rotated() - record that an epoch has begun
 * @t: table; it may have no journal
 * @now_ns: CLOCK_MONOTONIC
 *
 * Context: locked.
 */
void epf_journal_rotated(struct epf_table *t, u64 now_ns)
{
	const struct epf_journal *j = epf_journal_locked(t);
	u64 e = t->state.epoch;

	if (j)
		epf_record_put(j, EPF_JOURNAL_ROTATE, e, t->state.ring[(e - 1) & 7].inserts,
			       now_ns);
}

/**
 * epf_journal_over_locked() - end the journal of a table that its filter loses
 * @t: table; it may have no journal
 *
 * The descriptor and the mappings keep the journal, but nobody writes to it. An insertion that
 * finds no journal may return before this function does. A reader that then looks for the key must
 * see that the journal is over, so @over is written first: explore, case end-late.
 *
 * Context: locked.
 */
void epf_journal_over_locked(struct epf_table *t)
{
	struct epf_journal *j = epf_journal_locked(t);

	if (!j)
		return;
	epf_store_release(&epf_journal_head(j)->over, 1);
	smp_wmb(); /* pairs with whatever reports that an insertion has returned */
	RCU_INIT_POINTER(t->journal, NULL);
	WRITE_ONCE(t->plain, t->lanes.geom.parts == EPF_PARTS_MAX);
}
