// SPDX-License-Identifier: GPL-2.0
/*
 * The background work of a table: the scan (for a locked kind, the ends of its
 * epochs), the estimate of the error rate with the verdict "saturated", and
 * notification. Each table has one work item, so these never run concurrently
 * with themselves. The worker never waits for a grace period: it is queued again
 * instead.
 */
#include "filter.h"
#include "owned.h"
#include "trace.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/random.h>

/* Lines scanned each time the lock is held: 4 KiB, some microseconds. */
#define SCAN_LINES 64u
/* Lines of each part sampled between two calls of cond_resched(). */
#define SAMPLE_LINES 128u
/* While a rotation is overdue the worker runs with each tick, to poll the grace
 * period. It then estimates only this often. Nothing depends on a fresher estimate
 * that the inserters' own count does not cover.
 */
#define ESTIMATE_NS (10 * NSEC_PER_MSEC)

/* Scan the chunk that is due. Rotation is blocked for SCAN_LINES at a time; a
 * rotation in between is harmless, since every line is still visited.
 */
static void scan_chunk(struct epf_table *t)
{
	u64 first, end, next;

	epf_scan_chunk(&t->state, epf_geom_lines(&t->lanes.geom), &first, &end);
	for (; first < end; first = next) {
		next = min(end, first + SCAN_LINES);
		epf_table_lock(t);
		epf_scan(&t->lanes, first, next - first);
		t->scanned_lines += next - first;
		epf_table_unlock(t);
		cond_resched();
	}
	epf_table_lock(t);
	WRITE_ONCE(t->state.scanned, t->state.scanned + 1);
	epf_table_unlock(t);
	wake_up_all(&t->moved);
}

static void scan(struct epf_table *t)
{
	while (!READ_ONCE(t->retired) &&
	       t->state.scanned < epf_load(&t->state.epoch))
		scan_chunk(t);
}

static void estimate_lanes(struct epf_table *t, struct epf_estimates *est)
{
	u64 random = get_random_u32();
	struct epf_fill fill;

	memset(&fill, 0, sizeof(fill));
	while (epf_fill_sample(&fill, &t->cover, &t->lanes, random,
			       SAMPLE_LINES))
		cond_resched();
	epf_fill_estimates(&fill, t->lanes.geom.parts, est);
}

/* Store the estimates begun in epoch @e, without those of lanes that have been
 * reused since. Caller holds the lock.
 */
static void store_estimates(struct epf_table *t, u64 e,
			    const struct epf_estimates *est)
{
	u64 begun;

	lockdep_assert_held(&t->lock);
	t->est = *est;
	for (begun = e + 1; begun <= t->state.epoch; begun++) {
		t->est.lane_fill[begun & 7] = 0;
		t->est.lane_fpr[begun & 7] = 0;
	}
	t->estimated_ns = ktime_get_ns();
	WRITE_ONCE(t->estimated_epoch, e);
}

/* Is the last estimate fresh enough for a filter of lanes whose rotation is overdue? */
static bool estimate_can_wait(const struct epf_table *t)
{
	return !t->owned && t->limited && epf_table_late(t) &&
	       ktime_get_ns() - t->estimated_ns < ESTIMATE_NS;
}

static void notify(struct epf_table *t, __poll_t events)
{
	struct epf_filter *f;

	wake_up_all(&t->moved);
	rcu_read_lock();
	f = rcu_dereference(t->owner);
	if (f)
		wake_up_interruptible_poll(&f->wait, events);
	rcu_read_unlock();
}

/**
 * epf_table_estimate() - sample the error rate and act on it
 * @t: table
 *
 * Context: process; sleeps. Called by the worker, or before @t is published.
 */
void epf_table_estimate(struct epf_table *t)
{
	struct epf_estimates est;
	__poll_t events = EPOLLIN;
	u64 e = epf_load(&t->state.epoch);
	u64 flips;

	if (t->owned)
		epf_owned_estimate(t, &est);
	else
		estimate_lanes(t, &est);
	epf_table_lock(t);
	store_estimates(t, e, &est);
	epf_table_judge(t);
	epf_table_unlock(t);
	flips = atomic64_read(&t->flips);
	if (flips != t->told_flips)
		events |= EPOLLPRI;
	t->told_flips = flips;
	notify(t, events);
}

/**
 * epf_table_work() - scan what is due, estimate, notify, retry
 * @work: of a table
 */
void epf_table_work(struct work_struct *work)
{
	struct epf_table *t = container_of(to_delayed_work(work),
					   struct epf_table, work);
	bool put_off = false;

	if (t->owned)
		epf_owned_work(t);
	else
		scan(t);
	if (READ_ONCE(t->retired))
		return;
	if (epf_is_fluid(t)) {
		if (!epf_fluid_still(t))
			epf_table_estimate(t);
		epf_fluid_done(t);
	} else {
		put_off = estimate_can_wait(t);
		if (!put_off)
			epf_table_estimate(t);
	}
	if (!t->owned && epf_table_late(t))
		epf_table_try_rotate(t);
	if (put_off) /* the rotation may have queued it for earlier */
		queue_delayed_work(epf_wq, &t->work,
				   nsecs_to_jiffies(ESTIMATE_NS) + 1);
}
