// SPDX-License-Identifier: GPL-2.0
/* The operations of lanes. Their packet path is inline in table.h. */
#include "kind.h"

#include <epf/params.h>

#include <linux/jiffies.h>
#include <linux/random.h>

/* Lines of each part sampled between two calls of cond_resched(). */
#define SAMPLE_LINES 128u
/* While a rotation is overdue the worker runs with each tick, to poll the grace period. It then
 * estimates only this often: the inserters' own count covers what depends on a fresh estimate.
 */
#define ESTIMATE_NS (10 * NSEC_PER_MSEC)

static int epf_lanes_make(struct epf_table *t, const struct epf_params *params,
			  const struct epf_shape *shape)
{
	epf_geom_init(&t->lanes.geom, params->nr_lines, params->lines_per_key,
		      params->bits_per_key);
	t->words = params->nr_lines * EPF_LANES;
	t->epochs = EPF_LIVE_EPOCHS;
	return 0;
}

static int epf_lanes_fill(struct epf_table *t)
{
	epf_cover_init(&t->cover, &t->lanes.geom);
	return epf_table_set_limit(t);
}

static u64 epf_lanes_fill_step(const struct epf_table *t)
{
	const struct epf_params *p = &t->params;

	return p->nr_lines * EPF_LANE_BITS / (16 * p->bits_per_key);
}

/* Does the scan keep up, and is the grace period over since the lane's last epoch was left? */
static bool epf_lanes_may_end(const struct epf_table *t)
{
	return epf_scan_keeps_up(&t->state) &&
	       poll_state_synchronize_rcu(t->cookie[(t->state.epoch + 1) & 7]);
}

static void epf_lanes_ended(struct epf_table *t, u64 e)
{
	t->cookie[e & 7] = get_state_synchronize_rcu(); /* epf_lanes_work() starts it */
}

/* The worker can only poll the grace period again. A queued run is not postponed: frequent calls
 * would otherwise keep the worker from running.
 */
static void epf_lanes_late(struct epf_table *t)
{
	queue_delayed_work(epf_wq, &t->work, 1);
}

/* Has epoch @e ended, or can it end? A pin also counts as ready: the caller deals with it. */
static bool epf_lanes_is_ready(struct epf_table *t, u64 e)
{
	unsigned long flags;
	bool ready;

	epf_table_lock(t, &flags);
	ready = t->state.epoch != e || epf_table_pinned(t, ktime_get_ns()) || epf_lanes_may_end(t);
	epf_table_unlock(t, flags);
	return ready || READ_ONCE(t->retired);
}

/* Sleep until epf_lanes_is_ready(). The end of a grace period wakes nobody, so it is polled. */
static int epf_lanes_wait(struct epf_table *t, u64 e)
{
	long left;

	mod_delayed_work(epf_wq, &t->work, 0);
	do {
		left = wait_event_interruptible_timeout(t->moved, epf_lanes_is_ready(t, e), 1);
	} while (!left);
	return left < 0;
}

static int epf_lanes_rotate(struct epf_table *t, u32 count)
{
	u64 e;
	int err;

	while (count) {
		err = epf_table_rotate_now(t, &e);
		if (err == -EBUSY)
			return err;
		if (!err)
			count--;
		else if (epf_lanes_wait(t, e))
			return -EINTR;
		if (READ_ONCE(t->retired))
			return -ENODEV;
	}
	mod_delayed_work(epf_wq, &t->work, 0);
	err = wait_event_interruptible(t->moved,
				       READ_ONCE(t->estimated_epoch) >= e || READ_ONCE(t->retired));
	return err ? -EINTR : 0;
}

static u32 epf_lanes_turnover(const struct epf_table *t)
{
	return EPF_LANES;
}

/* Rotate here if that is overdue, before the next pin. */
static void epf_lanes_unpinned(struct epf_table *t)
{
	if (!epf_table_try_rotate(t) && epf_table_late(t))
		mod_delayed_work(epf_wq, &t->work, 0);
}

/* Scan the chunk that is due. Rotation is blocked for EPF_HOLD_WORDS at a time; a rotation in
 * between is harmless, since every line is still visited.
 */
static void epf_lanes_scan_chunk(struct epf_table *t)
{
	u64 first, end, next;
	unsigned long flags;

	epf_scan_chunk(&t->state, epf_geom_lines(&t->lanes.geom), &first, &end);
	for (; first < end; first = next) {
		next = min(end, first + EPF_HOLD_WORDS / EPF_LANES);
		epf_table_lock(t, &flags);
		epf_lanes_scan(&t->lanes, first, next - first);
		t->scanned_lines += next - first;
		epf_table_unlock(t, flags);
		cond_resched();
	}
	epf_table_lock(t, &flags);
	WRITE_ONCE(t->state.scanned, t->state.scanned + 1);
	epf_table_unlock(t, flags);
	wake_up_all(&t->moved);
}

/* A grace period must be started with interrupts enabled, so not where an epoch ends, with the
 * lock held. The end of an epoch queues the worker afterwards. If it comes late, so does the
 * rotation that waits for this grace period, which must wait for the worker's scan, too.
 */
static void epf_lanes_work(struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);

	if (!poll_state_synchronize_rcu(READ_ONCE(t->cookie[(e - 1) & 7])))
		start_poll_synchronize_rcu();
	while (!READ_ONCE(t->retired) && t->state.scanned < epf_load(&t->state.epoch))
		epf_lanes_scan_chunk(t);
}

static void epf_lanes_estimate(struct epf_table *t, struct epf_estimates *est)
{
	u64 random = get_random_u32();
	struct epf_fill fill;

	epf_table_recount(t);
	memset(&fill, 0, sizeof(fill));
	while (epf_fill_sample(&fill, &t->cover, &t->lanes, random, SAMPLE_LINES))
		cond_resched();
	epf_fill_estimates(&fill, t->lanes.geom.parts, est);
}

/* Is the last estimate fresh enough, as a rotation is overdue? */
static bool epf_lanes_still(struct epf_table *t)
{
	return t->limited && epf_table_late(t) && ktime_get_ns() - t->estimated_ns < ESTIMATE_NS;
}

static void epf_lanes_worked(struct epf_table *t, bool estimated)
{
	if (epf_table_late(t))
		epf_table_try_rotate(t);
	if (!estimated) /* the rotation may have queued it for earlier */
		queue_delayed_work(epf_wq, &t->work, nsecs_to_jiffies(ESTIMATE_NS) + 1);
}

static bool epf_lanes_full(struct epf_table *t)
{
	return epf_table_at_limit(t);
}

static void epf_lanes_measured(struct epf_table *t)
{
	unsigned long flags;

	epf_table_lock(t, &flags);
	epf_table_measured_room(t);
	epf_table_reset_trigger(t);
	epf_table_unlock(t, flags);
}

static u64 epf_lanes_since(const struct epf_table *t)
{
	return epf_state_since(&t->state, READ_ONCE(t->began_ns));
}

static void epf_lanes_info(const struct epf_table *t, u64 now_ns, struct epf_info *info)
{
	info->slices = EPF_LANES;
	epf_state_covered(&t->state, now_ns, &info->covered_inserts, &info->covered_ns);
}

const struct epf_table_ops epf_lanes_ops = {
	.check = epf_params_check_lanes,
	.make = epf_lanes_make,
	.fill = epf_lanes_fill,
	.fill_step = epf_lanes_fill_step,
	.may_end = epf_lanes_may_end,
	.ended = epf_lanes_ended,
	.late = epf_lanes_late,
	.wait = epf_lanes_wait,
	.rotate = epf_lanes_rotate,
	.turnover = epf_lanes_turnover,
	.tick_ns = epf_table_epoch_tick_ns,
	.unpinned = epf_lanes_unpinned,
	.work = epf_lanes_work,
	.still = epf_lanes_still,
	.worked = epf_lanes_worked,
	.estimate = epf_lanes_estimate,
	.full = epf_lanes_full,
	.measured = epf_lanes_measured,
	.since = epf_lanes_since,
	.info = epf_lanes_info,
};
