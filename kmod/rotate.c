// SPDX-License-Identifier: GPL-2.0
/*
 * When epochs end, and what a rotation waits for.
 *
 * A rotation is one store (epf_rotate). It may take place when the scan keeps
 * up, when the grace period since the lane's last epoch was left is over (O3
 * of lanes.h), and when no snapshot pins it. Where one of these is missing it
 * is late, which is safe: the window is longer meanwhile. A late rotation is
 * tried again by the worker, by the timer, and now and then by inserters. Those
 * of the owned kinds are always late: the worker has to empty memory first.
 */
#include "journal.h"
#include "owned.h"
#include "trace.h"

#include <linux/ktime.h>
#include <linux/rcupdate.h>

/* Epochs shorter than this are made longer by the timer. */
#define TICK_MIN_NS NSEC_PER_MSEC
/* A fluid kind's worker does not come more often by itself; what is urgent comes
 * from inserters.
 */
#define MEND_MIN_NS (10 * NSEC_PER_MSEC)

/* Packet paths take the lock in softirqs, so those are off first; and then
 * preemption, which raw_spin_lock_bh() leaves on where the kernel is real-time:
 * packet paths of other CPUs would spin for as long as the holder is preempted.
 * Where interrupts are off nothing comes in between, and softirqs stay as they
 * are.
 */
static void softirqs_off(void)
{
	if (!irqs_disabled())
		local_bh_disable();
}

static void softirqs_on(void)
{
	if (!irqs_disabled())
		local_bh_enable();
}

/**
 * epf_table_unlock() - let rotation go on
 * @t: table
 *
 * Whoever found the lock taken has set @t->retry before: its rotation takes
 * place here.
 */
void epf_table_unlock(struct epf_table *t)
	__releases(&t->lock)
{
	raw_spin_unlock(&t->lock);
	softirqs_on();
	smp_mb(); /* unlock before the load; pairs with epf_table_try_rotate */
	if (READ_ONCE(t->retry))
		epf_table_try_rotate(t);
}

/**
 * epf_table_lock() - hold rotation
 * @t: table
 *
 * Context: not from a packet path, but those of owned kinds; softirqs are off
 * until epf_table_unlock().
 */
void epf_table_lock(struct epf_table *t)
	__acquires(&t->lock)
{
	softirqs_off();
	raw_spin_lock(&t->lock);
}

/**
 * epf_table_pinned() - does a snapshot hold rotation?
 * @t: table, locked; else it is a hint
 * @now_ns: monotonic
 */
bool epf_table_pinned(const struct epf_table *t, u64 now_ns)
{
	return READ_ONCE(t->pinned) && now_ns < READ_ONCE(t->pin_until_ns);
}

/* Let CPUs and groups keep no more than there is room for.
 * @sum: the count of the current epoch. Where it is of one that is over, or stale,
 *	an epoch's end is met less exactly, or dearer.
 * Return: keys left, by a count that is of after the last store.
 */
static u64 set_batches(struct epf_table *t, u64 sum)
{
	const struct epf_pace *p = &t->pace;
	u64 left = epf_table_left(t);
	u64 rest = epf_pace_rest(p, sum, left);
	u32 cpu, group;

	do { /* each time with less than before */
		cpu = epf_pace_batch(p, EPF_LEVEL_CPU, rest);
		group = epf_pace_batch(p, EPF_LEVEL_GROUP, rest);
		WRITE_ONCE(t->batch, cpu);
		WRITE_ONCE(t->group_batch, group);
		smp_mb(); /* whoever counts a key from now on keeps no more */
		left = epf_table_left(t);
		rest = epf_pace_rest(p, sum, left);
	} while (epf_pace_batch(p, EPF_LEVEL_CPU, rest) < cpu ||
		 epf_pace_batch(p, EPF_LEVEL_GROUP, rest) < group);
	return left;
}

/**
 * epf_table_reset_trigger() - for a new epoch, or a new table
 * @t: table, locked or not yet published
 */
void epf_table_reset_trigger(struct epf_table *t)
{
	u64 e = t->state.epoch;
	u64 sum = epf_count_of(epf_load(&t->state.count), e);
	u64 left = set_batches(t, sum);

	WRITE_ONCE(t->trigger,
		   epf_count_pack(e, epf_next_look(&t->pace, sum, left)));
	if (!left)
		epf_table_open(t, e);
}

/**
 * epf_table_end_epoch() - begin the next
 * @t: table, locked, whose next epoch is ready
 * @now_ns: monotonic
 */
void epf_table_end_epoch(struct epf_table *t, u64 now_ns)
{
	u64 e = t->state.epoch;
	u64 keys = epf_table_keys(t);

	epf_rotate(&t->state, now_ns);
	if (t->owned)
		epf_owned_rotated(t, e);
	else
		t->cookie[e & 7] = start_poll_synchronize_rcu();
	epf_journal_rotated(t, now_ns);
	t->rotations++;
	t->est.lane_fill[(e + 1) & 7] = 0;
	t->est.lane_fpr[(e + 1) & 7] = 0;
	epf_table_next_room(t, keys);
	epf_table_reset_trigger(t);
	trace_epf_rotate(t->owner_id, e + 1, t->state.ring[e & 7].inserts,
			 now_ns - t->state.ring[e & 7].start_ns);
}

/* With the lock held. 0, -EBUSY: pinned, -EAGAIN: scan, grace period, worker. */
static int rotate(struct epf_table *t, u64 now_ns)
{
	u64 e = t->state.epoch;

	if (epf_table_pinned(t, now_ns))
		return -EBUSY;
	if (t->owned || !epf_scan_keeps_up(&t->state) ||
	    !poll_state_synchronize_rcu(t->cookie[(e + 1) & 7]))
		return -EAGAIN;
	epf_table_end_epoch(t, now_ns);
	return 0;
}

/* How long epoch @e, the current one, is to last. Where the clock is set after
 * the timer was, it comes too early, or late by at most what is near a multiple.
 */
static u64 epoch_lasts(const struct epf_table *t, u64 e)
{
	u64 start = READ_ONCE(t->state.ring[e & 7].start_ns);

	if (!t->window.align_ns)
		return t->window.epoch_ns;
	return epf_window_lasts(&t->window,
				ktime_to_ns(ktime_mono_to_real(start)),
				e == EPF_EPOCH_FIRST);
}

/* Exact with the lock held. */
static bool is_due(const struct epf_table *t, u64 now_ns)
{
	u64 e = epf_load(&t->state.epoch);
	u64 ns = now_ns - READ_ONCE(t->state.ring[e & 7].start_ns);

	if (t->window.align_ns)
		return ns >= epoch_lasts(t, e);
	return epf_window_due(&t->window,
			      epf_count_of(epf_load(&t->state.count), e), ns);
}

/* With the lock held: end the epoch if it is due. Return: it ended. */
static bool rotate_due(struct epf_table *t)
{
	u64 now = ktime_get_ns();
	u64 e = t->state.epoch;

	if (!is_due(t, now))
		return false;
	if (!rotate(t, now))
		return true;
	if (t->late != e) {
		WRITE_ONCE(t->late, e);
		t->delayed++;
	}
	return false;
}

/**
 * epf_table_after_pin() - have the worker come when a snapshot's time is over
 * @t: table, locked or not: the time may be that of another pin since
 *
 * Unless it comes before. Not at once: it can do nothing about a late rotation
 * that is pinned, and the timer, which finds that each millisecond, may do so
 * during each of its runs. A pin that ends before its time sends for it.
 *
 * Context: any.
 */
void epf_table_after_pin(struct epf_table *t)
{
	s64 ns = READ_ONCE(t->pin_until_ns) - ktime_get_ns();

	queue_delayed_work(epf_wq, &t->work,
			   nsecs_to_jiffies(max_t(s64, ns, 0)) + 1);
}

/* Have the worker come: at once where it has something to do; with the next tick
 * where all it can do is to ask for the grace period again. That must not put off
 * a tick that is set, or those who ask often enough would keep it from coming.
 */
static void send_worker(struct epf_table *t, bool ended)
{
	if (!ended && epf_table_pinned(t, ktime_get_ns()))
		epf_table_after_pin(t);
	else if (ended || t->owned)
		mod_delayed_work(epf_wq, &t->work, 0);
	else
		queue_delayed_work(epf_wq, &t->work, 1);
}

/**
 * epf_table_try_rotate() - end the current epoch if it is due
 * @t: table
 *
 * Context: any, hardirq excepted; never waits. Who finds the lock taken
 * leaves the rotation to its holder.
 * Return: true: it ended.
 */
bool epf_table_try_rotate(struct epf_table *t)
{
	bool ended = false;

	do {
		WRITE_ONCE(t->retry, 1);
		smp_mb(); /* store before the try; pairs with the one below */
		softirqs_off();
		if (!raw_spin_trylock(&t->lock)) {
			softirqs_on();
			break;
		}
		WRITE_ONCE(t->retry, 0);
		ended |= rotate_due(t);
		raw_spin_unlock(&t->lock);
		softirqs_on();
		smp_mb(); /* unlock before the load of @retry */
	} while (READ_ONCE(t->retry));
	if (ended || epf_table_late(t))
		send_worker(t, ended);
	return ended;
}

/**
 * epf_table_full() - may insertions have ended the current epoch?
 * @t: table
 *
 * Whoever found the lock taken has left that to its holder, who may not have
 * come to it yet, nor said that it is late.
 *
 * Context: any; without the lock.
 */
bool epf_table_full(const struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);

	return epf_count_of(epf_load(&t->state.count), e) >= t->pace.full_at &&
	       is_due(t, ktime_get_ns());
}

/**
 * epf_table_look() - the count has reached the trigger
 * @t: table
 * @e: the epoch counted
 * @sum: its insertions; 0: it is not the epoch counted (any more)
 *
 * Context: a packet path.
 */
void epf_table_look(struct epf_table *t, u64 e, u64 sum)
{
	u64 seen = READ_ONCE(t->trigger);
	u64 left;

	if (sum >= t->pace.full_at && epf_table_try_rotate(t))
		return;
	left = sum ? set_batches(t, sum) : epf_table_left(t);
	if (!left)
		epf_table_open(t, e);
	if (!sum)
		return;
	/* Not over the trigger of a later epoch; two who look at once agree. */
	cmpxchg(&t->trigger, seen,
		epf_count_pack(e, epf_next_look(&t->pace, sum, left)));
	if (epf_table_pinned(t, ktime_get_ns())) /* it may be to come at the end */
		mod_delayed_work(epf_wq, &t->work, 1);
	else
		queue_delayed_work(epf_wq, &t->work, 1);
}

/**
 * epf_table_tick_ns() - until the timer has to look again
 * @t: table
 *
 * Return: ns from now, TICK_MIN_NS at least: late is safe.
 */
u64 epf_table_tick_ns(const struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	u64 ns = ktime_get_ns() -
		 READ_ONCE(t->state.ring[e & 7].start_ns);
	u64 lasts;

	if (epf_is_fluid(t))
		return max_t(u64, t->window.epoch_ns / t->owned->ops->ticks,
			     MEND_MIN_NS);
	lasts = epoch_lasts(t, e);
	if (ns < lasts)
		return max_t(u64, lasts - ns, TICK_MIN_NS);
	if (t->window.mode == EPF_MODE_BOTH && !epf_table_late(t))
		return max_t(u64, t->window.epoch_ns, TICK_MIN_NS);
	return TICK_MIN_NS; /* late */
}

/**
 * epf_table_tick() - the timer of the modes that know time
 * @timer: of a table
 *
 * It re-arms itself and nobody else does: after a rotation by count it comes
 * too early once, and goes on from there.
 *
 * Context: softirq.
 */
enum hrtimer_restart epf_table_tick(struct hrtimer *timer)
{
	struct epf_table *t = container_of(timer, struct epf_table, timer);

	if (READ_ONCE(t->retired))
		return HRTIMER_NORESTART;
	if (epf_is_fluid(t))
		mod_delayed_work(epf_wq, &t->work, 0);
	else
		epf_table_try_rotate(t);
	hrtimer_set_expires(timer,
			    ktime_add_ns(ktime_get(), epf_table_tick_ns(t)));
	return HRTIMER_RESTART;
}

/* Sleep until the worker has ended epoch @e, or a snapshot keeps it from that. */
static int wait_worker(struct epf_table *t, u64 e)
{
	mod_delayed_work(epf_wq, &t->work, 0);
	return wait_event_interruptible(t->moved,
					epf_load(&t->state.epoch) != e ||
					epf_table_pinned(t, ktime_get_ns()) ||
					READ_ONCE(t->retired));
}

/* Has epoch @e ended, or do scan and grace period allow that it ends? A pin is for
 * the caller to meet.
 */
static bool is_ready(struct epf_table *t, u64 e)
{
	bool ready;

	epf_table_lock(t);
	ready = t->state.epoch != e || epf_table_pinned(t, ktime_get_ns()) ||
		(epf_scan_keeps_up(&t->state) &&
		 poll_state_synchronize_rcu(t->cookie[(e + 1) & 7]));
	epf_table_unlock(t);
	return ready || READ_ONCE(t->retired);
}

/* Sleep until it may be so. A grace period wakes nobody and may take for ever, so
 * it is asked for with each tick.
 */
static int wait_ready(struct epf_table *t, u64 e)
{
	long left;

	mod_delayed_work(epf_wq, &t->work, 0);
	do {
		left = wait_event_interruptible_timeout(t->moved,
							is_ready(t, e), 1);
	} while (!left);
	return left < 0;
}

/**
 * epf_table_rotate() - end epochs now
 * @t: table, by reference
 * @count: how many
 *
 * Context: process; sleeps for grace periods and scans, and until the error
 * rate is estimated again.
 * Return: 0; -EBUSY: pinned; -EINTR: a signal, some may have ended;
 * -ENODEV: destroyed meanwhile.
 */
int epf_table_rotate(struct epf_table *t, u32 count)
{
	u64 e;
	int err;

	if (t->owned)
		return epf_owned_rotate(t, count);
	while (count) {
		epf_table_lock(t);
		err = rotate(t, ktime_get_ns());
		e = t->state.epoch;
		epf_table_unlock(t);
		if (err == -EBUSY)
			return err;
		if (!err)
			count--;
		else if (wait_ready(t, e))
			return -EINTR;
		if (READ_ONCE(t->retired))
			return -ENODEV;
	}
	mod_delayed_work(epf_wq, &t->work, 0);
	err = wait_event_interruptible(t->moved,
				       READ_ONCE(t->estimated_epoch) >= e ||
				       READ_ONCE(t->retired));
	return err ? -EINTR : 0;
}

/**
 * epf_table_clear() - forget everything
 * @t: table, by reference; not of a fluid kind, which does not know how
 *
 * So many epochs on that whatever is in it is outside the window, and of the
 * owned kinds in no slice.
 *
 * Context, return: as epf_table_rotate().
 */
int epf_table_clear(struct epf_table *t)
{
	return epf_table_rotate(t, t->owned ? t->owned->slices : EPF_LANES);
}

/**
 * epf_table_settle() - let a late rotation take place
 * @t: table, by reference
 *
 * Batches call this after an insertion, so that loading in bulk keeps the
 * window's pace, as it does where there is nothing to wait for.
 *
 * Context: process; sleeps.
 * Return: 0, also when a snapshot pins rotation; -EINTR.
 */
int epf_table_settle(struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	bool ended, wait;

	while (!READ_ONCE(t->retired)) {
		/* With the lock held: what is left to its holder by @retry
		 * may go from one to the next, and be seen by none in time.
		 */
		epf_table_lock(t);
		ended = t->state.epoch != e || rotate_due(t);
		wait = !ended && t->late == e &&
		       !epf_table_pinned(t, ktime_get_ns());
		epf_table_unlock(t);
		if (ended)
			mod_delayed_work(epf_wq, &t->work, 0);
		if (!wait)
			return 0;
		if (t->owned ? wait_worker(t, e) : wait_ready(t, e))
			return -EINTR;
	}
	return 0;
}

/**
 * epf_table_pin() - hold rotation for a snapshot
 * @t: table
 * @pin_ns: for at most so long
 * @pin: set, but for @moves
 *
 * Return: 0; -EBUSY: another snapshot is under way, and its time is not over.
 */
int epf_table_pin(struct epf_table *t, u64 pin_ns, struct epf_pin *pin)
{
	u64 now;
	int err = 0;

	epf_table_lock(t);
	now = ktime_get_ns();
	if (epf_table_pinned(t, now)) {
		err = -EBUSY;
	} else {
		WRITE_ONCE(t->pin_until_ns, now + pin_ns);
		WRITE_ONCE(t->pinned, true);
		WRITE_ONCE(t->pins, t->pins + 1);
		pin->nr = t->pins;
		pin->epoch = t->state.epoch;
		if (t->owned)
			t->owned->wanted = 0; /* see epf_owned_rotate() */
	}
	epf_table_unlock(t);
	wake_up_all(&t->moved);
	return err;
}

/**
 * epf_table_unpin() - the snapshot is over
 * @t: table
 * @pin: of the snapshot; if another one holds the table by now, it stays held
 */
void epf_table_unpin(struct epf_table *t, const struct epf_pin *pin)
{
	bool mine;

	epf_table_lock(t);
	mine = t->pins == pin->nr;
	if (mine)
		WRITE_ONCE(t->pinned, false);
	epf_table_unlock(t);
	if (!mine)
		return;
	if (t->owned)
		mod_delayed_work(epf_wq, &t->work, 0);
	else if (!epf_table_try_rotate(t) && /* here, before another pins it */
		 epf_table_late(t))
		mod_delayed_work(epf_wq, &t->work, 0);
}
