// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of the owned kinds: operations, the ends of their epochs, memory that
 * comes and goes, and what is told of them. See owned.h.
 */
#include "owned.h"
#include "trace.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>

/* Words emptied, and samples taken, under one hold of the lock: microseconds. */
#define OWNED_WORDS 512u
#define OWNED_SAMPLES 8u

/* A shape that uses nothing beyond what the kind knows. */
static bool shape_is_clean(const struct epf_shape *shape, u32 used)
{
	return !memchr_inv((const u8 *)shape + used, 0,
			   sizeof(*shape) - used);
}

/**
 * epf_owned_new() - check a shape and make the state of an empty filter
 * @params: checked, of an owned kind
 * @shape: anything
 *
 * Context: process; sleeps.
 * Return: to be freed with kvfree(), or an error pointer: -EINVAL, -ENOMEM.
 */
struct epf_owned *epf_owned_new(const struct epf_params *params,
				const struct epf_shape *shape)
{
	struct epf_owned *o;
	int err = -EINVAL;

	o = kvzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	if (!o)
		return ERR_PTR(-ENOMEM);
	o->ops = epf_kind_ops(params->kind);
	o->shape = *shape;
	o->skewed_ns = ktime_get_ns();
	o->past[EPF_EPOCH_FIRST].start_ns = o->skewed_ns;
	if (shape_is_clean(shape, o->ops->used))
		err = o->ops->setup(o, params, shape);
	if (!err)
		return o;
	kvfree(o);
	return ERR_PTR(err);
}

/* -------------------------------------------------- slices of a tlbf ---- */

/* Does memory come and go? */
static bool is_fluid(const struct epf_owned *o)
{
	return !o->ops->retire;
}

static u32 slices_now(const struct epf_owned *o)
{
	return o->tlbf.nr + !!o->tlbf.spare.words;
}

/* With the lock held: shifts that took place are ends of epochs. */
static void see_shifts(struct epf_table *t)
{
	struct epf_owned *o = t->owned;

	while (o->head != o->tlbf.head) {
		o->head = (o->head - 1) % EPF_TLBF_SLICES;
		if (o->tlbf.nr > o->tlbf.shape.keep) /* no first slice */
			epf_table_end_epoch(t, ktime_get_ns());
	}
	o->slices = slices_now(o);
}

/* With the lock held: should the next slice be made? How many words? */
static u64 words_wanted(const struct epf_owned *o)
{
	u64 now = epf_owned_now(o);

	if (o->tlbf.nr >= o->tlbf.shape.keep && !epf_tlbf_soon(&o->tlbf, now))
		return 0;
	return epf_tlbf_plan(&o->tlbf, now);
}

static void give_back(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 words;
	u64 *word;

	do {
		epf_table_lock(t);
		word = epf_tlbf_expired(&o->tlbf, epf_owned_now(o), &words);
		o->slices = slices_now(o);
		epf_table_unlock(t);
		if (word)
			epf_table_shrink(t, word, words);
	} while (word);
}

/* Make the slice that is wanted. Return: 0; -EAGAIN: none is; or as
 * epf_table_grow().
 */
static int supply(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	bool taken;
	u64 words;
	u64 *word;

	epf_table_lock(t);
	words = words_wanted(o);
	epf_table_unlock(t);
	if (!words)
		return -EAGAIN;
	word = epf_table_grow(t, words);
	epf_table_lock(t);
	WRITE_ONCE(o->starved, IS_ERR(word));
	o->waits += IS_ERR(word);
	taken = !IS_ERR(word) &&
		epf_tlbf_add(&o->tlbf, epf_owned_now(o), word, words);
	see_shifts(t);
	epf_table_unlock(t);
	if (!taken && !IS_ERR(word))
		epf_table_shrink(t, word, words);
	return PTR_ERR_OR_ZERO(word);
}

/* The worker: tell the time, take what is expired, make what is wanted. */
static void mend(struct epf_table *t)
{
	struct epf_owned *o = t->owned;

	epf_table_lock(t);
	epf_tlbf_tick(&o->tlbf, epf_owned_now(o));
	see_shifts(t);
	epf_table_unlock(t);
	give_back(t);
	supply(t);
}

/**
 * epf_owned_fill() - memory before the first insertion
 * @t: table with zeroed lines, not yet published
 *
 * Context: process; sleeps.
 * Return: 0, or as epf_table_grow().
 */
int epf_owned_fill(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	int err = 0;

	if (!is_fluid(o)) {
		o->word = (u64 *)t->lanes.line;
		return 0;
	}
	while (!err && o->tlbf.nr < o->tlbf.shape.keep)
		err = supply(t);
	return err;
}

/**
 * epf_owned_free() - all memory but the lines
 * @t: table that nobody uses
 */
void epf_owned_free(struct epf_table *t)
{
	struct epf_owned *o = t->owned;

	if (is_fluid(o)) {
		if (o->tlbf.spare.words)
			epf_table_shrink(t, o->tlbf.spare.word,
					 o->tlbf.spare.words);
		while (o->tlbf.nr) {
			const struct epf_tlbf_slice *s =
				epf_tlbf_at(&o->tlbf, --o->tlbf.nr);

			epf_table_shrink(t, s->word, s->words);
		}
	}
	kvfree(o);
}

/* ------------------------------------------------------- operations ---- */

/* With the lock held. Return: the epoch that has the key. */
static u64 insert(struct epf_table *t, u64 digest)
{
	struct epf_owned *o = t->owned;
	u64 e = t->state.epoch;

	o->ops->insert(o, digest);
	if (is_fluid(o)) {
		see_shifts(t);
		if (!o->starved && !o->tlbf.spare.words &&
		    epf_tlbf_soon(&o->tlbf, o->tlbf.now_ns))
			WRITE_ONCE(o->hungry, true);
	}
	return e;
}

/* Count what insert() has put into epoch @e, without the lock. */
static int count(struct epf_table *t, u64 e, int ret)
{
	if (unlikely(READ_ONCE(t->owned->hungry))) {
		WRITE_ONCE(t->owned->hungry, false);
		queue_delayed_work(epf_wq, &t->work, 0);
	}
	return epf_table_count(t, e, ret);
}

/**
 * epf_owned_test() - as epf_table_test()
 * @t: table
 * @digest: of the key
 *
 * Context: any, hardirq excepted; takes the lock. So do the next two.
 */
int epf_owned_test(struct epf_table *t, u64 digest)
{
	int verdict;

	epf_table_lock(t);
	verdict = t->owned->ops->test(t->owned, digest);
	epf_table_unlock(t);
	return epf_table_verdict(t, verdict);
}

/* As epf_table_insert(). */
int epf_owned_insert(struct epf_table *t, u64 digest)
{
	u64 e;

	epf_table_lock(t);
	e = insert(t, digest);
	epf_table_unlock(t);
	return count(t, e, EPF_ABSENT);
}

/* As epf_table_test_and_insert(). */
int epf_owned_test_and_insert(struct epf_table *t, u64 digest)
{
	int verdict;
	u64 e = 0;

	epf_table_lock(t);
	verdict = t->owned->ops->test(t->owned, digest);
	if (!verdict || !READ_ONCE(t->skip_present))
		e = insert(t, digest);
	epf_table_unlock(t);
	verdict = epf_table_verdict(t, verdict);
	return e ? count(t, e, verdict) : verdict;
}

/* ---------------------------------------------------- ends of epochs ---- */

/**
 * epf_owned_rotated() - an epoch has ended
 * @t: table, locked
 * @e: which
 */
void epf_owned_rotated(struct epf_table *t, u64 e)
{
	struct epf_owned *o = t->owned;
	struct epf_past *past = o->past;

	if (is_fluid(o)) /* CPUs may not have flushed what they count */
		t->state.ring[e & 7].inserts =
			o->tlbf.taken - epf_tlbf_at(&o->tlbf, 1)->since;
	past[e % EPF_OWNED_PAST] = t->state.ring[e & 7];
	past[(e + 1) % EPF_OWNED_PAST] = t->state.ring[(e + 1) & 7];
}

/* With the lock held. */
static bool rotation_wanted(const struct epf_table *t)
{
	return t->owned->wanted || epf_table_late(t);
}

static bool retire_oldest(struct epf_table *t)
{
	bool wanted;

	epf_table_lock(t);
	wanted = rotation_wanted(t);
	t->owned->retiring = wanted;
	if (wanted)
		t->owned->ops->retire(t->owned);
	epf_table_unlock(t);
	return wanted;
}

static void sweep_retired(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 at = 0;

	do {
		epf_table_lock(t);
		at = o->ops->sweep(o, at, OWNED_WORDS);
		epf_table_unlock(t);
		cond_resched();
	} while (at && !READ_ONCE(t->retired));
}

static void begin_next(struct epf_table *t)
{
	struct epf_owned *o = t->owned;

	epf_table_lock(t);
	o->ops->advance(o);
	o->retiring = false;
	epf_table_end_epoch(t, ktime_get_ns());
	if (o->wanted)
		o->wanted--;
	epf_table_unlock(t);
	wake_up_all(&t->moved);
}

/**
 * epf_owned_work() - the worker's part: end epochs, see to the memory
 * @t: table
 */
void epf_owned_work(struct epf_table *t)
{
	if (is_fluid(t->owned)) {
		mend(t);
		return;
	}
	while (!READ_ONCE(t->retired) && retire_oldest(t)) {
		sweep_retired(t);
		if (!READ_ONCE(t->retired))
			begin_next(t);
	}
}

/* Let its clock jump. */
static int skew(struct epf_table *t, u64 ns)
{
	epf_table_lock(t);
	t->owned->skew_ns += ns;
	t->owned->skewed_ns = ktime_get_ns();
	epf_table_unlock(t);
	mod_delayed_work(epf_wq, &t->work, 0);
	flush_delayed_work(&t->work);
	return READ_ONCE(t->retired) ? -ENODEV : 0;
}

/**
 * epf_owned_rotate() - end epochs now
 * @t: table, by reference
 * @count: how many
 *
 * A tlbf has its time advanced by as many generations.
 *
 * Context: process; sleeps until the error rate is estimated again.
 * Return: 0; -EINTR: a signal, those left end all the same; -ENODEV:
 * destroyed meanwhile.
 */
int epf_owned_rotate(struct epf_table *t, u32 count)
{
	struct epf_owned *o = t->owned;
	u64 target;
	int err;

	if (is_fluid(o))
		return skew(t, count * o->tlbf.generation_ns);
	epf_table_lock(t);
	o->wanted += count;
	target = t->state.epoch + o->wanted;
	epf_table_unlock(t);
	mod_delayed_work(epf_wq, &t->work, 0);
	err = wait_event_interruptible(t->moved,
				       READ_ONCE(t->estimated_epoch) >= target ||
				       READ_ONCE(t->retired));
	if (READ_ONCE(t->retired))
		return -ENODEV;
	return err ? -EINTR : 0;
}

/**
 * epf_owned_clear() - forget everything
 * @t: table, by reference
 *
 * Context, return: as epf_owned_rotate().
 */
int epf_owned_clear(struct epf_table *t)
{
	struct epf_owned *o = t->owned;

	if (is_fluid(o))
		return skew(t, o->tlbf.shape.span_ns + 1);
	return epf_owned_rotate(t, o->epochs + 1);
}

/* ---------------------------------------------------- what is told ---- */

static void take_samples(struct epf_table *t)
{
	struct epf_owned *o = t->owned;
	u64 random[OWNED_SAMPLES];
	u32 i, n;

	memset(&o->gauge, 0, sizeof(o->gauge));
	for (i = 0; i < EPF_GAUGE_SAMPLES; i += OWNED_SAMPLES) {
		get_random_bytes(random, sizeof(random));
		epf_table_lock(t);
		for (n = 0; n < OWNED_SAMPLES; n++)
			o->ops->sample(o, random[n]);
		epf_table_unlock(t);
		cond_resched();
	}
}

/**
 * epf_owned_estimate() - sample the error rate
 * @t: table
 * @est: result; epochs by number modulo 8
 *
 * Context: the worker, or whoever has not yet published @t.
 */
void epf_owned_estimate(struct epf_table *t, struct epf_estimates *est)
{
	struct epf_owned *o = t->owned;
	u64 fill, rate, e;
	u32 age;

	memset(est, 0, sizeof(*est));
	take_samples(t);
	epf_table_lock(t);
	e = t->state.epoch;
	est->fpr = epf_q56_to_ppt(o->ops->rate(o));
	for (age = 0; age < EPF_EPOCHS && age <= o->epochs; age++) {
		rate = o->ops->layer(o, age, &fill);
		est->lane_fpr[(e - age) & 7] = epf_q56_to_ppt(rate);
		est->lane_fill[(e - age) & 7] = epf_q56_to_ppt(fill);
	}
	epf_table_unlock(t);
}

/* All of the last T, and what is older but still in slices that all count: that
 * came since the oldest of them was the last to take keys. Nothing from before
 * the clock was made to jump, though some of it may be there.
 */
static void fluid_covered(const struct epf_owned *o, u64 now_ns, u64 *inserts,
			  u64 *ns)
{
	const struct epf_tlbf *f = &o->tlbf;
	u64 now = now_ns + o->skew_ns;
	u32 live = epf_tlbf_live(f, now);
	const struct epf_tlbf_slice *s;

	*inserts = 0;
	*ns = f->shape.span_ns;
	if (live) {
		s = epf_tlbf_at(f, live - f->shape.k);
		*inserts = f->taken - s->since;
		*ns = max(*ns, now - s->begin_ns);
	}
	*ns = min(*ns, now_ns - o->skewed_ns);
}

/* Since the oldest epoch that counts. */
static void paced_covered(const struct epf_table *t, u64 now_ns, u64 *inserts,
			  u64 *ns)
{
	const struct epf_owned *o = t->owned;
	u64 e = t->state.epoch;
	u64 x = e - min_t(u64, o->epochs - o->retiring, e - EPF_EPOCH_FIRST);

	*ns = now_ns - o->past[x % EPF_OWNED_PAST].start_ns;
	*inserts = epf_count_of(epf_load(&t->state.count), e);
	for (; x < e; x++)
		*inserts += o->past[x % EPF_OWNED_PAST].inserts;
}

/**
 * epf_owned_info() - what lanes do not have, or otherwise
 * @t: table, locked
 * @now_ns: monotonic
 * @info: its last fields and covered_* are set
 */
void epf_owned_info(const struct epf_table *t, u64 now_ns,
		    struct epf_info *info)
{
	const struct epf_owned *o = t->owned;

	info->shape = o->shape;
	info->needs = o->ops->needs;
	info->window_epochs = o->epochs;
	info->slices = o->slices;
	info->waits = o->waits;
	if (is_fluid(o))
		fluid_covered(o, now_ns, &info->covered_inserts,
			      &info->covered_ns);
	else
		paced_covered(t, now_ns, &info->covered_inserts,
			      &info->covered_ns);
}
