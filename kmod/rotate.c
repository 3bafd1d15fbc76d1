// SPDX-License-Identifier: GPL-2.0
/*
 * When epochs end, and what a rotation waits for.
 *
 * A rotation is one store (epf_state_rotate). It may take place if the scan keeps up, if the grace
 * period that began when the lane's last epoch was left is over (O3 of lanes.h), and if no snapshot
 * pins the table. Otherwise it is overdue. That is safe: the window is longer meanwhile. The
 * worker, the timer and, now and then, inserters retry an overdue rotation. Rotations of the locked
 * kinds are always overdue, because the worker has to empty memory first.
 */
#include "compat.h"
#include "journal.h"
#include "kind.h"
#include "trace.h"

/* The timer stretches epochs that are shorter than this. */
#define TICK_MIN_NS NSEC_PER_MSEC

/* Without @raise only if that is less. */
static void epf_rotate_set_batch(u32 *batch, u32 to, bool raise)
{
	u32 old = READ_ONCE(*batch);

	if (raise)
		WRITE_ONCE(*batch, to);
	else
		while (to < old && !try_cmpxchg(batch, &old, to))
			;
}

/* @left keys might come in epoch @e when its count was @sum, or later. */
static void epf_rotate_set_mark(struct epf_table *t, u64 e, u64 sum, u64 left)
{
	WRITE_ONCE(t->mark, epf_count_pack(e, epf_pace_mark(&t->pace, sum, left)));
}

static u64 epf_rotate_mark(const struct epf_table *t, u64 e)
{
	return epf_count_of(READ_ONCE(t->mark), e);
}

/* As epf_table_left(), for epoch @e, whose count was @sum before. */
static u64 epf_rotate_sum_keys(struct epf_table *t, u64 e, u64 sum)
{
	u64 left = epf_table_left(t);

	epf_rotate_set_mark(t, e, sum, left);
	return left;
}

/* Likewise, but below the mark nothing limits the keys until the mark, so they are not summed. */
static u64 epf_rotate_left(struct epf_table *t, u64 e, u64 sum)
{
	return sum < epf_rotate_mark(t, e) ? EPF_NO_LIMIT : epf_rotate_sum_keys(t, e, sum);
}

/* When to look next: at the mark at the latest; at once if @left is without limit because of a mark
 * that another has replaced since.
 */
static u64 epf_rotate_next_trigger(const struct epf_table *t, u64 e, u64 sum, u64 left)
{
	u64 mark = epf_rotate_mark(t, e);
	u64 next = epf_next_look(&t->pace, sum, left);

	if (sum < mark)
		next = min(next, mark);
	else if (left == EPF_NO_LIMIT)
		next = sum;
	return epf_count_pack(e, next);
}

/* Limit what CPUs and groups keep to what there is room for: @left keys at count @sum of epoch @e.
 * If that is stale, or the epoch is over, batches become smaller than they need be, until the
 * next epoch. @raise: batches may grow. Only with the lock held, and with the trigger set anew
 * after that: a trigger that is set at the same time assumes smaller batches. Return: the keys that
 * may still come, as epf_rotate_left(), by a count made after the last store.
 */
static u64 epf_rotate_set_batches(struct epf_table *t, u64 e, u64 sum, u64 left, bool raise)
{
	const struct epf_pace *p = &t->pace;
	u64 rest = epf_pace_rest(p, sum, left);
	u32 cpu, group;

	do { /* each time with less than before */
		cpu = epf_pace_batch(p, EPF_LEVEL_CPU, rest);
		group = epf_pace_batch(p, EPF_LEVEL_GROUP, rest);
		epf_rotate_set_batch(&t->batch, cpu, raise);
		epf_rotate_set_batch(&t->group_batch, group, raise);
		raise = false;
		smp_mb(); /* whoever counts a key from now on keeps no more */
		left = epf_rotate_left(t, e, sum);
		rest = epf_pace_rest(p, sum, left);
	} while (epf_pace_batch(p, EPF_LEVEL_CPU, rest) < cpu ||
		 epf_pace_batch(p, EPF_LEVEL_GROUP, rest) < group);
	return left;
}

/* Set batches and trigger: @left keys might come when the count was @sum, or later. */
static void epf_rotate_reset_trigger(struct epf_table *t, u64 sum, u64 left)
{
	u64 e = t->state.epoch;

	left = epf_rotate_set_batches(t, e, sum, left, true);
	WRITE_ONCE(t->trigger, epf_rotate_next_trigger(t, e, sum, left));
	if (!left)
		epf_table_open(t, e);
}

/* The insertions counted in epoch @e. Keys that are summed afterwards have all of these. */
static u64 epf_rotate_count(const struct epf_table *t, u64 e)
{
	u64 sum = epf_count_of(epf_load(&t->state.count), e);

	smp_rmb(); /* pairs with the CAS of epf_count_add() */
	return sum;
}

/**
 * epf_table_reset_trigger() - set trigger and batches for what is now in the epoch
 * @t: table whose epoch is new or overdue
 *
 * Context: locked, or not yet published.
 */
void epf_table_reset_trigger(struct epf_table *t)
{
	u64 e = t->state.epoch;
	u64 sum = epf_rotate_count(t, e);

	epf_rotate_reset_trigger(t, sum, epf_rotate_sum_keys(t, e, sum));
}
EPF_EXPORT(epf_table_reset_trigger);

/**
 * epf_table_recount() - sum the keys, so that inserters seldom have to
 * @t: table of lanes
 *
 * Context: any; no lock.
 */
void epf_table_recount(struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);

	epf_rotate_sum_keys(t, e, epf_rotate_count(t, e));
}

/**
 * epf_table_at_limit() - may the current epoch be at its limit, by count?
 * @t: table of lanes
 *
 * Context: locked.
 * Return: true if so.
 */
bool epf_table_at_limit(struct epf_table *t)
{
	u64 e = t->state.epoch;

	return !epf_rotate_left(t, e, epf_rotate_count(t, e));
}

/**
 * epf_table_end_epoch() - end the current epoch and begin the next
 * @t: table whose next epoch is ready
 * @now_ns: CLOCK_MONOTONIC
 *
 * Context: locked.
 */
void epf_table_end_epoch(struct epf_table *t, u64 now_ns)
{
	u64 e = t->state.epoch;
	u64 left;

	lockdep_assert_held(&t->lock);
	epf_state_rotate(&t->state, now_ns);
	smp_mb(); /* see epf_state_date() */
	epf_state_date(&t->state, ktime_get_ns());
	t->ops->ended(t, e);
	epf_journal_rotated(t, t->state.ring[(e + 1) & 7].start_ns);
	t->rotations++;
	t->est.lane_fill[(e + 1) & 7] = 0;
	t->est.lane_fpr[(e + 1) & 7] = 0;
	left = epf_table_next_room(t);
	epf_rotate_set_mark(t, e + 1, 0, left);
	epf_rotate_reset_trigger(t, 0, left);
	trace_epf_rotate(t->owner_id, e + 1, t->state.ring[e & 7].inserts,
			 now_ns - t->state.ring[e & 7].start_ns);
}
EPF_EXPORT(epf_table_end_epoch);

/* End the current epoch. Caller holds the lock. Return: 0; -EBUSY: pinned; -EAGAIN: the scan, the
 * grace period or the worker of a locked kind is not ready.
 */
static int epf_rotate_now(struct epf_table *t, u64 now_ns)
{
	lockdep_assert_held(&t->lock);
	if (epf_table_pinned(t, now_ns))
		return -EBUSY;
	if (!t->ops->may_end(t))
		return -EAGAIN;
	epf_table_end_epoch(t, now_ns);
	return 0;
}

/* Duration of epoch @e, the current one. After the wall clock was set, an armed timer fires too
 * early, or late by at most epf_align_near().
 */
static u64 epf_rotate_epoch_lasts(const struct epf_table *t, u64 e)
{
	u64 start = READ_ONCE(t->state.ring[e & 7].start_ns);

	if (!t->window.align_ns)
		return t->window.epoch_ns;
	return epf_window_lasts(&t->window, ktime_to_ns(ktime_mono_to_real(start)),
				e == EPF_EPOCH_FIRST);
}

/* Is the current epoch due to end? Exact with the lock held. */
static bool epf_rotate_is_due(const struct epf_table *t, u64 now_ns)
{
	u64 e = epf_load(&t->state.epoch);
	u64 ns = now_ns - READ_ONCE(t->state.ring[e & 7].start_ns);

	if (t->window.align_ns)
		return ns >= epf_rotate_epoch_lasts(t, e);
	return epf_window_due(&t->window, epf_count_of(epf_load(&t->state.count), e), ns);
}

/* End the epoch if it is due; record that it is overdue if it cannot. Return: true if it ended. */
static bool epf_rotate_due(struct epf_table *t)
{
	u64 now = ktime_get_ns();
	u64 e = t->state.epoch;

	lockdep_assert_held(&t->lock);
	if (!epf_rotate_is_due(t, now))
		return false;
	if (!epf_rotate_now(t, now))
		return true;
	if (t->late != e) {
		WRITE_ONCE(t->late, e);
		t->delayed++;
		/* The end of the epoch, by which batches had shrunk, is past. */
		epf_table_reset_trigger(t);
	}
	return false;
}

/**
 * epf_table_after_pin() - queue the worker for when the pin expires
 * @t: table; without the lock its pin is a hint
 *
 * A run that is queued for earlier stays. The worker is not queued at once, because it can do
 * nothing about an overdue rotation while the table is pinned. The timer, which finds the rotation
 * overdue each millisecond, could then requeue the worker during each of its runs. A pin that is
 * released before it expires queues the worker itself.
 *
 * Context: any.
 */
void epf_table_after_pin(struct epf_table *t)
{
	s64 ns = READ_ONCE(t->pin_until_ns) - ktime_get_ns();

	queue_delayed_work(epf_wq, &t->work, nsecs_to_jiffies(max_t(s64, ns, 0)) + 1);
}
EPF_EXPORT(epf_table_after_pin);

/* Queue the worker: at once if an epoch has ended, else as the kind needs it: it is overdue. */
static void epf_rotate_send_worker(struct epf_table *t, bool ended)
{
	if (!ended && epf_table_pinned(t, ktime_get_ns()))
		epf_table_after_pin(t);
	else if (ended)
		mod_delayed_work(epf_wq, &t->work, 0);
	else
		t->ops->late(t);
}

/**
 * epf_table_try_rotate() - end the current epoch if it is due
 * @t: table
 *
 * If the lock is contended, its holder ends the epoch instead.
 *
 * Context: any except hardirq; never waits.
 * Return: true if the epoch ended here.
 */
bool epf_table_try_rotate(struct epf_table *t)
{
	unsigned long flags;
	bool ended = false;

	do {
		WRITE_ONCE(t->retry, 1);
		smp_mb(); /* store before the try; pairs with the one below */
		if (!raw_spin_trylock_irqsave(&t->lock, flags))
			break;
		WRITE_ONCE(t->retry, 0);
		ended |= epf_rotate_due(t);
		raw_spin_unlock_irqrestore(&t->lock, flags);
		smp_mb(); /* unlock before the load of @retry */
	} while (READ_ONCE(t->retry));
	if (ended || epf_table_late(t))
		epf_rotate_send_worker(t, ended);
	return ended;
}
EPF_EXPORT(epf_table_try_rotate);

/**
 * epf_table_full() - may insertions have filled the current epoch?
 * @t: table
 *
 * The inserter that filled it may have found the lock contended. The rotation is then up to the
 * holder, which may not have performed it yet, nor recorded that it is overdue.
 *
 * Context: any; without the lock.
 * Return: true if they may.
 */
bool epf_table_full(const struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);

	return epf_count_of(epf_load(&t->state.count), e) >= t->pace.full_at &&
	       epf_rotate_is_due(t, ktime_get_ns());
}

/**
 * epf_table_look() - act on a count that has reached the trigger
 * @t: table
 * @e: epoch of the insertions that were counted
 * @sum: number of its insertions; 0: @e is not the epoch that is counted (any more)
 *
 * Context: a packet path.
 */
void epf_table_look(struct epf_table *t, u64 e, u64 sum)
{
	u64 seen = READ_ONCE(t->trigger);
	u64 left;

	if (sum >= t->pace.full_at && epf_table_try_rotate(t))
		return;
	if (!sum && epf_load(&t->state.epoch) != e)
		return;
	left = sum ? epf_rotate_set_batches(t, e, sum, epf_rotate_left(t, e, sum), false) :
		     epf_table_left(t);
	if (!left)
		epf_table_open(t, e);
	if (!sum)
		return;
	/* Not over the trigger of a later epoch; two who look at once agree. */
	cmpxchg(&t->trigger, seen, epf_rotate_next_trigger(t, e, sum, left));
	if (epf_table_pinned(t, ktime_get_ns())) /* it may be to come at the end */
		mod_delayed_work(epf_wq, &t->work, 1);
	else
		queue_delayed_work(epf_wq, &t->work, 1);
}
EPF_EXPORT(epf_table_look);

/**
 * epf_table_epoch_tick_ns() - time until the timer has to check again
 * @t: table
 *
 * Context: any.
 * Return: ns, at least TICK_MIN_NS.
 */
u64 epf_table_epoch_tick_ns(const struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	u64 ns = ktime_get_ns() - READ_ONCE(t->state.ring[e & 7].start_ns);
	u64 lasts = epf_rotate_epoch_lasts(t, e);

	if (ns < lasts)
		return max_t(u64, lasts - ns, TICK_MIN_NS);
	if (t->window.mode == EPF_MODE_BOTH && !epf_table_late(t))
		return max_t(u64, t->window.epoch_ns, TICK_MIN_NS);
	return TICK_MIN_NS; /* late */
}
EPF_EXPORT(epf_table_epoch_tick_ns);

/**
 * epf_table_tick() - timer callback, for the modes that involve time
 * @timer: of a table
 *
 * Only it re-arms the timer. After a rotation by count it fires once too early, and goes on from
 * there.
 *
 * Context: softirq.
 * Return: HRTIMER_RESTART; HRTIMER_NORESTART: the table is retired.
 */
enum hrtimer_restart epf_table_tick(struct hrtimer *timer)
{
	struct epf_table *t = container_of(timer, struct epf_table, timer);

	if (READ_ONCE(t->retired))
		return HRTIMER_NORESTART;
	if (t->ops->tick)
		t->ops->tick(t);
	else
		epf_table_try_rotate(t);
	hrtimer_set_expires(timer, ktime_add_ns(ktime_get(), t->ops->tick_ns(t)));
	return HRTIMER_RESTART;
}

/**
 * epf_table_rotate_now() - end the current epoch if possible now
 * @t: table
 * @e: set to the epoch after that
 *
 * Context: any except hardirq; takes the lock.
 * Return: 0; -EBUSY: pinned; -EAGAIN: see the wait operation.
 */
int epf_table_rotate_now(struct epf_table *t, u64 *e)
{
	unsigned long flags;
	int err;

	epf_table_lock(t, &flags);
	err = epf_rotate_now(t, ktime_get_ns());
	*e = t->state.epoch;
	epf_table_unlock(t, flags);
	return err;
}

/**
 * epf_table_settle() - wait for an overdue rotation
 * @t: table, by reference
 *
 * So bulk loading keeps the pace of the window.
 *
 * Context: process; sleeps.
 * Return: 0, also if a snapshot pins the table; -EINTR: a signal.
 */
int epf_table_settle(struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	unsigned long flags;
	bool ended, wait;

	while (!READ_ONCE(t->retired)) {
		/* Not @retry: one holder could pass it on to the next, and none does it in time. */
		epf_table_lock(t, &flags);
		ended = t->state.epoch != e || epf_rotate_due(t);
		wait = !ended && t->late == e && !epf_table_pinned(t, ktime_get_ns());
		epf_table_unlock(t, flags);
		if (ended)
			mod_delayed_work(epf_wq, &t->work, 0);
		if (!wait)
			return 0;
		if (t->ops->wait(t, e))
			return -EINTR;
	}
	return 0;
}

/**
 * epf_table_pin() - block rotation for a snapshot
 * @t: table, by reference
 * @pin_ns: for at most so long, 1 .. EPF_PIN_MAX_NS
 * @pin: set, except @moves
 *
 * Context: process; takes the lock.
 * Return: 0; -EBUSY: another snapshot is under way and its pin has not expired.
 */
int epf_table_pin(struct epf_table *t, u64 pin_ns, struct epf_pin *pin)
{
	unsigned long flags;
	u64 now;
	int err = 0;

	epf_table_lock(t, &flags);
	now = ktime_get_ns();
	if (epf_table_pinned(t, now)) {
		err = -EBUSY;
	} else {
		WRITE_ONCE(t->pin_until_ns, now + pin_ns);
		WRITE_ONCE(t->pinned, true);
		WRITE_ONCE(t->pins, t->pins + 1);
		pin->nr = t->pins;
		pin->epoch = t->state.epoch;
		if (t->ops->pinned)
			t->ops->pinned(t);
	}
	epf_table_unlock(t, flags);
	wake_up_all(&t->moved);
	return err;
}

/**
 * epf_table_unpin() - release the pin of a snapshot
 * @t: table, by reference
 * @pin: of it; a later one stays
 *
 * Context: process; takes the lock.
 */
void epf_table_unpin(struct epf_table *t, const struct epf_pin *pin)
{
	unsigned long flags;
	bool mine;

	epf_table_lock(t, &flags);
	mine = t->pins == pin->nr;
	if (mine)
		WRITE_ONCE(t->pinned, false);
	epf_table_unlock(t, flags);
	if (mine)
		t->ops->unpinned(t);
}

/**
 * epf_table_unlock() - release the lock, and rotate for a CPU that found it contended
 * @t: table, locked
 * @flags: of epf_table_lock()
 *
 * The last function of this file: after its definition, sparse no longer applies the __releases of
 * the prototype to calls.
 *
 * Context: any except hardirq.
 */
void epf_table_unlock(struct epf_table *t, unsigned long flags) __releases(&t->lock)
{
	raw_spin_unlock_irqrestore(&t->lock, flags);
	smp_mb(); /* unlock before the load; pairs with epf_table_try_rotate */
	if (READ_ONCE(t->retry))
		epf_table_try_rotate(t);
}
EPF_EXPORT(epf_table_unlock);
