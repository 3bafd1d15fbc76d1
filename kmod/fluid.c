// SPDX-License-Identifier: GPL-2.0
/*
 * Owned kinds whose memory comes and goes: slices of a tlbf, tables of a chain.
 * Their core tells what it wants next and what has expired; the worker makes
 * the one and frees the other. They have a clock of their own, which rotation
 * lets jump.
 */
#include "owned.h"

#include <linux/ktime.h>

/* Lines that a scan visits under one hold of the lock: 4 KiB, microseconds. */
#define SCAN_LINES 64u

/* With the lock held: let the epochs that the core has ended end. */
static void see_turns(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 turns = o->ops->fluid->turns(o);

	for (; o->turns && o->turns != turns; o->turns++)
		epf_table_end_epoch(t, ktime_get_ns());
	o->slices = o->ops->fluid->slices(o);
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

	o->ops->insert(o, digest);
	see_turns(t);
	return !o->starved && o->ops->fluid->hungry(o);
}

static void give_back(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 words;
	u64 *word;

	do {
		epf_table_lock(t);
		word = o->ops->fluid->expired(o, epf_owned_now(o), &words);
		see_turns(t);
		epf_table_unlock(t);
		if (word)
			epf_table_shrink(t, word, words);
	} while (word);
}

/* Make what is wanted. Return: 0; -EAGAIN: nothing is; or as epf_table_grow(). */
static int supply(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	bool taken;
	u64 words;
	u64 *word;

	epf_table_lock(t);
	words = o->ops->fluid->plan(o, epf_owned_now(o));
	epf_table_unlock(t);
	if (!words)
		return -EAGAIN;
	word = epf_table_grow(t, words);
	epf_table_lock(t);
	o->starved = IS_ERR(word);
	o->waits += IS_ERR(word);
	taken = !IS_ERR(word) &&
		o->ops->fluid->add(o, epf_owned_now(o), word, words);
	see_turns(t);
	epf_table_unlock(t);
	if (!taken && !IS_ERR(word))
		epf_table_shrink(t, word, words);
	return PTR_ERR_OR_ZERO(word);
}

static void scan(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	bool more;

	do {
		epf_table_lock(t);
		more = o->ops->fluid->scan(o, SCAN_LINES);
		epf_table_unlock(t);
		cond_resched();
	} while (more && !READ_ONCE(t->retired));
}

/**
 * epf_fluid_work() - the worker's part
 * @t: table
 *
 * Tells the time, takes what is expired, makes what is wanted.
 */
void epf_fluid_work(struct epf_table *t)
{
	give_back(t);
	if (t->owned->ops->fluid->scan)
		scan(t);
	supply(t);
}

/**
 * epf_fluid_fill() - memory before the first insertion
 * @t: table, not yet published
 *
 * Context: process; sleeps.
 * Return: 0, or as epf_table_grow().
 */
int epf_fluid_fill(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	int err = 0;

	while (!err && !o->ops->fluid->ready(o))
		err = supply(t);
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
 * epf_fluid_rotate() - let the clock jump by epochs
 * @t: table, by reference
 * @count: how many
 *
 * One at a time: what an epoch leaves to the worker is done before the next.
 *
 * Context: process; sleeps until the error rate is estimated again.
 * Return: 0; -ENODEV: destroyed meanwhile.
 */
int epf_fluid_rotate(struct epf_table *t, u32 count)
{
	struct epf_owned *o = t->owned;

	for (; count; count--) {
		epf_table_lock(t);
		o->skew_ns += t->window.epoch_ns;
		o->skewed_ns = ktime_get_ns();
		epf_table_unlock(t);
		mod_delayed_work(epf_wq, &t->work, 0);
		flush_delayed_work(&t->work);
	}
	return READ_ONCE(t->retired) ? -ENODEV : 0;
}
