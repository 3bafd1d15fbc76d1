// SPDX-License-Identifier: GPL-2.0
/*
 * Owned kinds whose memory comes and goes: slices of a tlbf, tables of a chain.
 * Their core tells what it wants next and what has expired; the worker makes
 * the one and frees the other. They have a clock of their own, which rotation
 * lets jump.
 */
#include "owned.h"

#include <linux/ktime.h>
#include <linux/sched/signal.h>

/* Lines that a scan visits under one hold of the lock: 4 KiB, microseconds. */
#define SCAN_LINES 64u
/* How long an estimate is good for where nothing happens. */
#define STILL_NS (100 * NSEC_PER_MSEC)

/**
 * epf_fluid_see() - let the epochs that the core has ended end
 * @t: table, locked
 */
void epf_fluid_see(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 turns = o->ops->fluid->turns(o);

	for (; o->turns && o->turns != turns; o->turns++)
		epf_table_end_epoch(t, ktime_get_ns());
	o->slices = o->ops->fluid->slices(o);
}

/**
 * epf_fluid_stir() - time is about to be told
 * @o: of a table, locked
 *
 * The spare may then be taken into use; nothing else that a snapshot is of
 * can change by an insertion, or by time.
 */
void epf_fluid_stir(struct epf_owned *o)
{
	o->moves += o->ops->fluid->spared(o);
}

/**
 * epf_fluid_insert() - insert a key
 * @t: table, locked
 * @digest: key
 *
 * Return: whether the next slice is wanted.
 */
bool epf_fluid_insert(struct epf_table *t, u64 digest)
{
	struct epf_owned *o = t->owned;

	epf_fluid_stir(o);
	o->ops->insert(o, digest);
	epf_fluid_see(t);
	return !o->starved && o->ops->fluid->hungry(o);
}

/* With the lock held: does a snapshot hold the memory? The worker asks each time
 * that it has taken the lock, for one may begin between any two.
 */
static bool held(const struct epf_table *t)
{
	return epf_table_pinned(t, ktime_get_ns());
}

/* Take out what counts no more. Return: NULL: nothing. */
static u64 *expired(struct epf_table *t, u64 *words)
{
	struct epf_owned *o = t->owned;
	u64 *word = NULL;

	epf_table_lock(t);
	if (!held(t)) {
		epf_fluid_stir(o);
		word = o->ops->fluid->expired(o, epf_owned_now(o), words);
		o->moves += !!word;
		epf_fluid_see(t);
	}
	epf_table_unlock(t);
	return word;
}

static void give_back(struct epf_table *t)
{
	u64 words;
	u64 *word;

	while ((word = expired(t, &words)))
		epf_table_shrink(t, word, words);
}

/* Words of what is wanted; 0: nothing is. */
static u64 plan(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 words = 0;

	epf_table_lock(t);
	if (!held(t)) {
		words = o->ops->fluid->plan(o, epf_owned_now(o));
		if (!words) /* what could not be had is not wanted now */
			o->starved = false;
	}
	epf_table_unlock(t);
	return words;
}

/* Make what is wanted. Return: 0; -EAGAIN: nothing is; or as epf_table_grow(). */
static int supply(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 words = plan(t);
	bool taken = false;
	u64 *word;

	if (!words)
		return -EAGAIN;
	word = epf_table_grow(t, words);
	epf_table_lock(t);
	o->waits += IS_ERR(word);
	if (!held(t)) {
		o->starved = IS_ERR(word);
		o->moves++;
		taken = !IS_ERR(word) &&
			o->ops->fluid->add(o, epf_owned_now(o), word, words);
		epf_fluid_see(t);
	}
	epf_table_unlock(t);
	if (!taken && !IS_ERR(word))
		epf_table_shrink(t, word, words);
	return PTR_ERR_OR_ZERO(word);
}

/* What is due. As insertions may end epochs as fast as it goes, it comes to an
 * end after a few of them, and again.
 */
static void scan(struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	struct epf_owned *o = t->owned;
	bool more;

	do {
		epf_table_lock(t);
		more = !held(t) && o->ops->fluid->scan(o, SCAN_LINES);
		epf_table_unlock(t);
		cond_resched();
	} while (more && !READ_ONCE(t->retired) &&
		 epf_load(&t->state.epoch) - e < EPF_SCAN_LAG);
	if (more && !READ_ONCE(t->retired))
		queue_delayed_work(epf_wq, &t->work, 0);
}

/**
 * epf_fluid_hold() - a snapshot begins
 * @t: table, pinned, locked
 * @words: set to those of the spare
 *
 * From now on there is none, the worker makes none, and inserters need not ask
 * for one. They take what there is: the error grows, no key is lost.
 *
 * Return: the spare, to be freed; NULL: there was none.
 */
u64 *epf_fluid_hold(struct epf_table *t, u64 *words)
{
	struct epf_owned *o = t->owned;
	u64 *word;

	epf_fluid_stir(o);
	word = o->ops->fluid->spare(o, words);
	o->starved = true;
	o->slices = o->ops->fluid->slices(o);
	return word;
}

/**
 * epf_fluid_work() - the worker's part
 * @t: table
 *
 * Tells the time, takes what is expired, makes what is wanted; nothing of it
 * while a snapshot holds the memory.
 */
void epf_fluid_work(struct epf_table *t)
{
	struct epf_owned *o = t->owned;

	epf_table_lock(t);
	o->follows = o->jumps;
	epf_table_unlock(t);
	give_back(t);
	supply(t);
	if (o->ops->fluid->scan)
		scan(t);
}

/**
 * epf_fluid_done() - all is done that was due when the worker began
 * @t: table
 */
void epf_fluid_done(struct epf_table *t)
{
	WRITE_ONCE(t->owned->followed, t->owned->follows);
	wake_up_all(&t->moved);
}

/* What the error depends on, but for time: unlike whatever it was before. All but
 * the slices, of which there are a few hundred, only grow.
 */
static u64 sight(const struct epf_owned *o)
{
	return o->ops->fluid->taken(o) + ((o->turns + o->jumps) << 24) +
	       ((u64)o->slices << 48);
}

/**
 * epf_fluid_still() - is the last estimate as good as another?
 * @t: table
 *
 * Where no key came, and no slice went, the error falls by time alone: that is
 * looked at ten times a second.
 *
 * Context: its worker.
 */
bool epf_fluid_still(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 now = ktime_get_ns();
	u64 seen;
	bool still;

	epf_table_lock(t);
	seen = sight(o);
	still = seen == o->seen && now - o->seen_ns < STILL_NS;
	epf_table_unlock(t);
	if (!still) {
		o->seen = seen;
		o->seen_ns = now;
	}
	return still;
}

/**
 * epf_fluid_fill() - memory before the first insertion
 * @t: table, not yet published
 *
 * Context: process; sleeps.
 * Return: 0, -EINTR, or as epf_table_grow(); may then be called again.
 */
int epf_fluid_fill(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	int err = 0;

	while (!err && !o->ops->fluid->ready(o))
		err = fatal_signal_pending(current) ? -EINTR : supply(t);
	if (!err)
		o->turns = o->ops->fluid->turns(o);
	return err;
}

/**
 * epf_fluid_free() - all its memory
 * @t: table that nobody uses
 */
void epf_fluid_free(struct epf_table *t)
{
	u64 words;
	u64 *word;

	while ((word = t->owned->ops->fluid->take(t->owned, &words)))
		epf_table_shrink(t, word, words);
}

/**
 * epf_fluid_adopt() - memory for what was loaded
 * @t: table, not yet published, of which the core's pieces have none
 *
 * The oldest first: so that all there is can be taken back from there.
 *
 * Context: process; sleeps.
 * Return: 0, -EINTR, or as epf_table_grow().
 */
int epf_fluid_adopt(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 **piece, *word;
	u64 words;
	u32 i;

	for (i = o->ops->fluid->slices(o); i--;) {
		if (fatal_signal_pending(current))
			return -EINTR;
		piece = o->ops->piece(o, i, &words);
		word = epf_table_grow(t, words);
		if (word == ERR_PTR(-ENOSPC)) {
			epf_wait_freed();
			word = epf_table_grow(t, words);
		}
		if (IS_ERR(word))
			return PTR_ERR(word);
		*piece = word;
	}
	return 0;
}

static int jump(struct epf_table *t, u64 *jumps)
{
	struct epf_owned *o = t->owned;
	int err = 0;

	epf_table_lock(t);
	if (epf_table_pinned(t, ktime_get_ns()))
		err = -EBUSY;
	else if (epf_owned_now(o) > S64_MAX - t->window.epoch_ns)
		err = -EOVERFLOW;
	if (!err) {
		o->skew_ns += t->window.epoch_ns;
		o->skewed_ns = ktime_get_ns();
		*jumps = ++o->jumps;
	}
	epf_table_unlock(t);
	return err;
}

/**
 * epf_fluid_rotate() - let the clock jump by epochs
 * @t: table, by reference
 * @count: how many
 *
 * One at a time: what an epoch leaves to the worker is done before the next. Where
 * a snapshot begins meanwhile, that is done when it is over.
 *
 * Context: process; sleeps until the error rate is estimated again.
 * Return: 0; -EINTR: a signal, some may have ended; -EBUSY: pinned; -EOVERFLOW:
 * the clock cannot go any further; -ENODEV: destroyed meanwhile.
 */
int epf_fluid_rotate(struct epf_table *t, u32 count)
{
	u64 jumps;
	int err = 0;

	for (; count && !err; count--) {
		err = jump(t, &jumps);
		if (err)
			break;
		mod_delayed_work(epf_wq, &t->work, 0);
		err = wait_event_interruptible(
			t->moved, READ_ONCE(t->owned->followed) >= jumps ||
					  READ_ONCE(t->retired));
		if (READ_ONCE(t->retired))
			return -ENODEV;
	}
	return err == -ERESTARTSYS ? -EINTR : err;
}
