// SPDX-License-Identifier: GPL-2.0
/*
 * Resizable kinds: locked kinds whose memory grows and
 * shrinks, by slices of a tlbf or tables of a chain. Their core says what it needs
 * next and what has expired; the worker allocates the one and frees the other. They
 * have a clock of their own, which forced rotation advances.
 */
#include "locked.h"

#include <linux/ktime.h>
#include <linux/sched/signal.h>

/* Shortest period of the timer that queues the worker. Inserters queue it themselves if
 * it is urgent.
 */
#define MEND_MIN_NS (10 * NSEC_PER_MSEC)
/* How long an estimate stays valid while the filter does not change. */
#define STILL_NS (100 * NSEC_PER_MSEC)

/**
 * epf_resizable_sync_epochs() - end the epochs of the table that the core has ended
 * @t: table, locked
 */
void epf_resizable_sync_epochs(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	u64 turns = o->core.ops->resizable->turns(&o->core, o->turns);

	lockdep_assert_held(&t->lock);
	for (; o->turns && o->turns != turns; o->turns++)
		epf_table_end_epoch(t, ktime_get_ns());
	o->core.slices = o->core.ops->resizable->slices(&o->core);
}

/**
 * epf_resizable_invalidate() - change the layout number before the clock is updated
 * @o: of a table, locked
 *
 * The update may take the reserve into use. Nothing else that a snapshot depends on
 * can change by an insertion or by time.
 */
void epf_resizable_invalidate(struct epf_locked_state *o)
{
	o->moves += o->core.ops->resizable->spared(&o->core);
}

/**
 * epf_resizable_insert() - insert a key
 * @t: table, locked
 * @digest: of the key
 *
 * Return: true if the next slice is needed.
 */
bool epf_resizable_insert(struct epf_table *t, u64 digest)
{
	struct epf_locked_state *o = t->locked;

	lockdep_assert_held(&t->lock);
	epf_resizable_invalidate(o);
	o->core.ops->insert(&o->core, digest, epf_locked_now(o));
	epf_resizable_sync_epochs(t);
	return !o->alloc_failed && o->core.ops->resizable->needs_memory(&o->core);
}

/* Does a snapshot hold the memory? Caller holds the lock. The worker checks each time
 * it has taken the lock, because a snapshot may begin in between.
 */
static bool epf_resizable_held(const struct epf_table *t)
{
	lockdep_assert_held(&t->lock);
	return epf_table_pinned(t, ktime_get_ns());
}

/* Take out memory that no longer counts. Return: NULL: there is none. */
static u64 *epf_resizable_expired(struct epf_table *t, u64 *words)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	u64 *word = NULL;

	epf_table_lock(t, &flags);
	if (!epf_resizable_held(t)) {
		epf_resizable_invalidate(o);
		word = o->core.ops->resizable->expired(&o->core, epf_locked_now(o), words);
		o->moves += !!word;
		epf_resizable_sync_epochs(t);
	}
	epf_table_unlock(t, flags);
	return word;
}

static void epf_resizable_give_back(struct epf_table *t)
{
	u64 words;
	u64 *word;

	while ((word = epf_resizable_expired(t, &words)))
		epf_table_shrink(t, word, words);
}

/* Size in words of the memory that is needed; 0: none is. */
static u64 epf_resizable_plan(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	u64 words = 0;

	epf_table_lock(t, &flags);
	if (!epf_resizable_held(t)) {
		words = o->core.ops->resizable->plan(&o->core, epf_locked_now(o));
		if (!words) /* the failed allocation is no longer needed */
			o->alloc_failed = false;
	}
	epf_table_unlock(t, flags);
	return words;
}

/* Allocate the memory that is needed. Return: 0; -EAGAIN: none is; or as
 * epf_table_grow().
 */
static int epf_resizable_supply(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	u64 words = epf_resizable_plan(t);
	unsigned long flags;
	bool taken = false;
	u64 *word;

	if (!words)
		return -EAGAIN;
	word = epf_table_grow(t, words);
	epf_table_lock(t, &flags);
	o->waits += IS_ERR(word);
	if (!epf_resizable_held(t)) {
		o->alloc_failed = IS_ERR(word);
		o->moves++;
		taken = !IS_ERR(word) &&
			o->core.ops->resizable->add(&o->core, epf_locked_now(o), word, words);
		epf_resizable_sync_epochs(t);
	}
	epf_table_unlock(t, flags);
	if (!taken && !IS_ERR(word))
		epf_table_shrink(t, word, words);
	return PTR_ERR_OR_ZERO(word);
}

/* Scan what is due. Insertions may end epochs as fast as the scan proceeds, so it
 * stops after a few epochs and requeues the worker.
 */
static void epf_resizable_scan(struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	bool more;

	do {
		epf_table_lock(t, &flags);
		more = !epf_resizable_held(t) &&
		       o->core.ops->resizable->scan(&o->core, EPF_HOLD_WORDS / EPF_LANES);
		epf_table_unlock(t, flags);
		cond_resched();
	} while (more && !READ_ONCE(t->retired) && epf_load(&t->state.epoch) - e < EPF_SCAN_LAG);
	if (more && !READ_ONCE(t->retired))
		queue_delayed_work(epf_wq, &t->work, 0);
}

/**
 * epf_resizable_hold() - take the reserve away at the beginning of a snapshot
 * @t: table, pinned, locked
 * @words: set to the size of the reserve
 *
 * From now on there is no reserve, the worker makes none, and inserters do not ask
 * for one. They use the memory there is: the error grows, no key is lost.
 *
 * Return: the reserve, to be freed; NULL: there was none.
 */
u64 *epf_resizable_hold(struct epf_table *t, u64 *words)
{
	struct epf_locked_state *o = t->locked;
	u64 *word;

	lockdep_assert_held(&t->lock);
	epf_resizable_invalidate(o);
	word = o->core.ops->resizable->spare(&o->core, words);
	o->alloc_failed = true;
	o->core.slices = o->core.ops->resizable->slices(&o->core);
	return word;
}

/**
 * epf_resizable_work() - the worker's part
 * @t: table
 *
 * Updates the clock, frees what has expired, allocates what is needed. It does none
 * of this while a snapshot holds the memory.
 */
void epf_resizable_work(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;

	epf_table_lock(t, &flags);
	o->follows = o->jumps;
	epf_table_unlock(t, flags);
	epf_resizable_give_back(t);
	epf_resizable_supply(t);
	if (o->core.ops->resizable->scan)
		epf_resizable_scan(t);
}

/**
 * epf_resizable_done() - report that everything due at the beginning of the run is done
 * @t: table
 * @estimated: with an estimate
 */
void epf_resizable_done(struct epf_table *t, bool estimated)
{
	WRITE_ONCE(t->locked->followed, t->locked->follows);
	wake_up_all(&t->moved);
}

/* Everything but time that the estimate depends on, in one word that never repeats:
 * keys, epochs ended and jumps only grow, and the slice count, a few hundred at
 * most, is above bit 48.
 */
static u64 epf_resizable_fingerprint(const struct epf_locked_state *o)
{
	return o->core.ops->resizable->taken(&o->core) + ((o->turns + o->jumps) << 24) +
	       ((u64)o->core.slices << 48);
}

/**
 * epf_resizable_still() - is the last estimate still good enough?
 * @t: table
 *
 * If no key was added and no slice removed, only time changes the error: it falls.
 * That is estimated ten times a second.
 *
 * Context: its worker.
 */
bool epf_resizable_still(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	u64 now = ktime_get_ns();
	unsigned long flags;
	u64 seen;
	bool still;

	epf_table_lock(t, &flags);
	seen = epf_resizable_fingerprint(o);
	still = seen == o->seen && now - o->seen_ns < STILL_NS;
	epf_table_unlock(t, flags);
	if (!still) {
		o->seen = seen;
		o->seen_ns = now;
	}
	return still;
}

/**
 * epf_resizable_fill() - provide memory before the first insertion
 * @t: table, not yet published
 *
 * Context: process; sleeps.
 * Return: 0, -EINTR, or as epf_table_grow(). It may be called again after an error.
 */
int epf_resizable_fill(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	int err = 0;

	while (!err && !o->core.ops->resizable->ready(&o->core))
		err = fatal_signal_pending(current) ? -EINTR : epf_resizable_supply(t);
	if (!err)
		o->turns = o->core.ops->resizable->turns(&o->core, 0);
	return err;
}

/**
 * epf_resizable_free() - free all memory of a resizable kind
 * @t: table without users
 */
void epf_resizable_free(struct epf_table *t)
{
	struct epf_locked *f = &t->locked->core;
	u64 words;
	u64 *word;

	while ((word = f->ops->resizable->take(f, &words)))
		epf_table_shrink(t, word, words);
}

/**
 * epf_resizable_alloc_loaded() - allocate the memory of a state that was loaded
 * @t: table, not yet published, whose pieces have no memory yet
 *
 * Pieces get memory from the oldest on: epf_resizable_free() begins there, too, and stops
 * at the first one without memory.
 *
 * Context: process; sleeps.
 * Return: 0, -EINTR, or as epf_table_grow().
 */
int epf_resizable_alloc_loaded(struct epf_table *t)
{
	struct epf_locked *f = &t->locked->core;
	u64 words;
	u64 *word;
	u32 i;

	for (i = f->ops->resizable->slices(f); i--;) {
		if (fatal_signal_pending(current))
			return -EINTR;
		words = f->ops->piece(f, i, &word);
		word = epf_table_grow(t, words);
		if (word == ERR_PTR(-ENOSPC)) {
			epf_wait_freed();
			word = epf_table_grow(t, words);
		}
		if (IS_ERR(word))
			return PTR_ERR(word);
		f->ops->place(f, i, word);
	}
	return 0;
}

/**
 * epf_resizable_turnover() - no number of epochs removes all keys: the last slice has room
 *	for them, so an empty table takes its place
 * @t: table
 */
u32 epf_resizable_turnover(const struct epf_table *t)
{
	return 0;
}

/**
 * epf_resizable_tick_ns() - time until the worker has to run again
 * @t: table
 */
u64 epf_resizable_tick_ns(const struct epf_table *t)
{
	return max_t(u64, t->window.epoch_ns / t->locked->core.ops->ticks, MEND_MIN_NS);
}

static int epf_resizable_jump(struct epf_table *t, u64 *jumps)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	int err = 0;

	epf_table_lock(t, &flags);
	if (epf_table_pinned(t, ktime_get_ns()))
		err = -EBUSY;
	else if (epf_locked_now(o) > S64_MAX - t->window.epoch_ns)
		err = -EOVERFLOW;
	if (!err) {
		o->skew_ns += t->window.epoch_ns;
		o->skewed_ns = ktime_get_ns();
		*jumps = ++o->jumps;
	}
	epf_table_unlock(t, flags);
	return err;
}

/**
 * epf_resizable_rotate() - advance the clock by epochs
 * @t: table, by reference
 * @count: number of epochs
 *
 * Epochs are ended one at a time: the worker completes one before the next begins.
 * If a snapshot begins meanwhile, the worker completes the epoch after it.
 *
 * Context: process; sleeps until the error rate has been estimated again.
 * Return: 0; -EINTR: a signal, some epochs may have ended; -EBUSY: pinned;
 * -EOVERFLOW: the clock cannot advance any further; -ENODEV: destroyed meanwhile.
 */
int epf_resizable_rotate(struct epf_table *t, u32 count)
{
	u64 jumps;
	int err = 0;

	for (; count && !err; count--) {
		err = epf_resizable_jump(t, &jumps);
		if (err)
			break;
		mod_delayed_work(epf_wq, &t->work, 0);
		err = wait_event_interruptible(t->moved, READ_ONCE(t->locked->followed) >= jumps ||
								 READ_ONCE(t->retired));
		if (READ_ONCE(t->retired))
			return -ENODEV;
	}
	return err == -ERESTARTSYS ? -EINTR : err;
}
