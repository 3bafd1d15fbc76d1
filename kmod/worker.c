// SPDX-License-Identifier: GPL-2.0
/*
 * The background work of a table: the scan (for a locked kind, the ends of its epochs), the
 * estimate of the error rate with the verdict "saturated", and notification. Each table has one
 * work item, so these never run concurrently. It never waits for a grace period but is queued
 * again.
 */
#include "filter.h"
#include "kind.h"

#include <linux/poll.h>

/* Store the estimates begun in epoch @e, without those of lanes reused since. @t: locked. */
static void epf_worker_store_estimates(struct epf_table *t, u64 e, const struct epf_estimates *est)
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

static void epf_worker_notify(struct epf_table *t, __poll_t events)
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
 * Context: sleeps; the worker, or before @t is published.
 */
void epf_table_estimate(struct epf_table *t)
{
	struct epf_estimates est;
	__poll_t events = EPOLLIN;
	u64 e = epf_load(&t->state.epoch);
	unsigned long flags;
	u64 flips;

	t->ops->estimate(t, &est);
	epf_table_lock(t, &flags);
	epf_worker_store_estimates(t, e, &est);
	epf_table_judge(t);
	epf_table_unlock(t, flags);
	flips = atomic64_read(&t->flips);
	if (flips != t->told_flips)
		events |= EPOLLPRI;
	t->told_flips = flips;
	epf_worker_notify(t, events);
}

/**
 * epf_table_work() - what is due for the kind, then the estimate
 * @work: of a table
 *
 * Context: epf_wq; sleeps.
 */
void epf_table_work(struct work_struct *work)
{
	struct epf_table *t = container_of(to_delayed_work(work), struct epf_table, work);
	bool still;

	t->ops->work(t);
	if (READ_ONCE(t->retired))
		return;
	still = t->ops->still && t->ops->still(t);
	if (!still)
		epf_table_estimate(t);
	if (t->ops->worked)
		t->ops->worked(t, !still);
}
