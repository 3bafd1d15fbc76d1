// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of the locked kinds: operations, ends of epochs, and status. See
 * locked.h; memory that is resized is in resizable.c.
 */
#include "locked.h"

#include <epf/params.h>

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>

/* Words emptied, and samples taken, each time the lock is held: microseconds. */
#define LOCKED_SAMPLES 4u
/* Epochs ended in one run of the worker, before it estimates the error again. */
#define LOCKED_ROUND 8u

/* Set up counting if the filter has an error limit. */
static int epf_locked_begin_count(struct epf_locked *f, u64 limit_ppt)
{
	void *work = NULL;
	int err;

	if (limit_ppt >= EPF_RATE_ONE)
		return 0;
	f->room = kvzalloc(sizeof(*f->room), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!f->room)
		return -ENOMEM;
	f->room->limit_q56 = epf_ppt_to_q56(limit_ppt);
	if (f->ops->count_bytes) {
		work = kvmalloc(f->ops->count_bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!work)
			return -ENOMEM;
	}
	err = f->ops->count(f, work);
	kvfree(work);
	return err;
}

/* Check a shape and make the state of an empty filter. Return: the state, to be freed
 * with its room, or an error pointer: -EINVAL, -ENOMEM.
 */
static struct epf_locked_state *epf_locked_new(const struct epf_params *params,
					       const struct epf_shape *shape)
{
	struct epf_locked_state *o;
	int err;

	o = kvzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!o)
		return ERR_PTR(-ENOMEM);
	err = epf_locked_begin(&o->core, epf_kind_ops(params->kind), params, shape, ktime_get_ns());
	if (!err)
		err = epf_locked_begin_count(&o->core, params->limit_ppt);
	if (!err)
		return o;
	kvfree(o->core.room);
	kvfree(o);
	return ERR_PTR(err);
}

/**
 * epf_locked_check() - as epf_params_check()
 * @params: of a locked kind
 *
 * Return: 0 or -EINVAL.
 */
int epf_locked_check(const struct epf_params *params)
{
	return epf_params_check_locked(params);
}

/* Return: bytes to which a filter may grow by its shape; 0: it does not grow. */
static u64 epf_locked_most(const struct epf_locked *f)
{
	u64 slices, words;

	if (!f->ops->resizable)
		return 0;
	slices = f->ops->resizable->most(f, &words);
	return slices * PAGE_ALIGN(words * sizeof(u64));
}

/**
 * epf_locked_make() - check a shape and make the state of an empty filter
 * @t: table, zeroed
 * @params: checked, of a locked kind
 * @shape: unchecked
 *
 * Context: process; sleeps.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int epf_locked_make(struct epf_table *t, const struct epf_params *params,
		    const struct epf_shape *shape)
{
	struct epf_locked_state *o = epf_locked_new(params, shape);

	if (IS_ERR(o))
		return PTR_ERR(o);
	t->locked = o;
	t->most = epf_locked_most(&o->core);
	t->words = o->core.words;
	t->epochs = o->core.epochs;
	return 0;
}

/**
 * epf_locked_fill_step() - insertions that raise the fill of an epoch by about 1/16,
 *	at eight bits a key
 * @t: table
 *
 * A kind that grows is checked by time instead.
 */
u64 epf_locked_fill_step(const struct epf_table *t)
{
	if (!t->words)
		return EPF_INSERTS_MAX;
	return epf_locked_step(t->words, t->epochs);
}

/**
 * epf_locked_shape() - the shape to make such a table of
 * @t: table
 */
const struct epf_shape *epf_locked_shape(const struct epf_table *t)
{
	return &t->locked->core.shape;
}

static void epf_locked_begin_past(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;

	o->skewed_ns = t->created_ns;
	o->past[EPF_EPOCH_FIRST] = t->state.ring[EPF_EPOCH_FIRST & 7];
}

/**
 * epf_fixed_fill() - provide memory before the first insertion
 * @t: table of a fixed-size kind with zeroed lines, not yet published
 *
 * Return: 0.
 */
int epf_fixed_fill(struct epf_table *t)
{
	epf_locked_begin_past(t);
	t->locked->core.word = (u64 *)t->lanes.line;
	return 0;
}

/**
 * epf_locked_fill() - provide memory before the first insertion
 * @t: table of a resizable kind, not yet published
 *
 * Context: process; sleeps.
 * Return: 0, or as epf_resizable_fill().
 */
int epf_locked_fill(struct epf_table *t)
{
	int err;

	epf_locked_begin_past(t);
	err = epf_resizable_fill(t);
	if (err != -ENOSPC)
		return err;
	epf_wait_freed();
	return epf_resizable_fill(t);
}

/**
 * epf_locked_free() - free all memory except the lines
 * @t: table without users; perhaps not completely made
 */
void epf_locked_free(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;

	if (!o)
		return;
	if (o->core.ops->resizable)
		epf_resizable_free(t);
	kvfree(o->core.room);
	kvfree(o);
}

/**
 * epf_locked_full() - may the error be at the limit, according to the count?
 * @t: table, locked
 */
bool epf_locked_full(struct epf_table *t)
{
	struct epf_locked *f = &t->locked->core;

	lockdep_assert_held(&t->lock);
	if (!f->room)
		return false;
	if (f->room->stale)
		f->ops->set_room(f);
	return epf_room_full(f->room);
}

/**
 * epf_locked_measured() - begin to count from what was estimated
 * @t: table, estimated, not yet published
 */
void epf_locked_measured(struct epf_table *t)
{
	struct epf_locked *f = &t->locked->core;
	unsigned long flags;

	if (!f->room)
		return;
	epf_table_lock(t, &flags);
	f->ops->set_shares(f);
	if (epf_locked_full(t))
		epf_table_open(t, t->state.epoch);
	epf_table_unlock(t, flags);
}

/* Fail open if the key just inserted reached the limit. Caller holds the lock.
 * Return: true if it did, so that the worker has to notify.
 */
static bool epf_locked_open_if_full(struct epf_table *t)
{
	lockdep_assert_held(&t->lock);
	if (likely(!epf_locked_full(t)) || epf_table_saturated(t))
		return false;
	epf_table_open(t, t->state.epoch);
	return true;
}

/* Test a key. Caller holds the lock. */
static int epf_locked_test_one(const struct epf_table *t, u64 digest)
{
	const struct epf_locked_state *o = t->locked;

	lockdep_assert_held(&t->lock);
	return o->core.ops->test(&o->core, digest, epf_locked_clock(o));
}

/* Insert a key. Caller holds the lock. Return: the epoch that has the key; *@needs_memory
 * is set to whether the worker has to run.
 */
static u64 epf_locked_insert_one(struct epf_table *t, u64 digest, bool *needs_memory)
{
	u64 e = t->state.epoch;

	lockdep_assert_held(&t->lock);
	*needs_memory = false;
	if (t->locked->core.ops->resizable)
		*needs_memory = epf_resizable_insert(t, digest);
	else
		t->locked->core.ops->insert(&t->locked->core, digest, 0);
	*needs_memory |= epf_locked_open_if_full(t);
	return e;
}

/* Count the key that epf_locked_insert_one() has put into epoch @e; called without the lock. */
static int epf_locked_count(struct epf_table *t, u64 e, bool needs_memory, int ret)
{
	if (unlikely(needs_memory))
		queue_delayed_work(epf_wq, &t->work, 0);
	return epf_table_count(t, e, true, ret);
}

/**
 * epf_locked_test() - as epf_table_test()
 * @t: table
 * @digest: of the key
 *
 * Context: any except hardirq; takes the lock. The same holds for the next two
 * functions.
 */
int epf_locked_test(struct epf_table *t, u64 digest)
{
	unsigned long flags;
	int verdict;
	u8 answer;

	epf_table_lock(t, &flags);
	answer = READ_ONCE(t->answer.now);
	verdict = epf_locked_test_one(t, digest);
	epf_table_unlock(t, flags);
	return epf_table_verdict(t, verdict, answer);
}

/**
 * epf_locked_insert() - as epf_table_insert()
 * @t: table
 * @digest: of the key
 */
int epf_locked_insert(struct epf_table *t, u64 digest)
{
	unsigned long flags;
	bool needs_memory;
	u64 e;

	epf_table_lock(t, &flags);
	e = epf_locked_insert_one(t, digest, &needs_memory);
	epf_table_unlock(t, flags);
	return epf_locked_count(t, e, needs_memory, EPF_ABSENT);
}

/**
 * epf_locked_test_and_insert() - as epf_table_test_and_insert()
 * @t: table
 * @digest: of the key
 */
int epf_locked_test_and_insert(struct epf_table *t, u64 digest)
{
	unsigned long flags;
	bool needs_memory;
	int verdict;
	u8 answer;
	u64 e = 0;

	epf_table_lock(t, &flags);
	answer = READ_ONCE(t->answer.now);
	verdict = epf_locked_test_one(t, digest);
	if (!verdict || answer != EPF_ANSWER_SKIP)
		e = epf_locked_insert_one(t, digest, &needs_memory);
	epf_table_unlock(t, flags);
	verdict = epf_table_verdict(t, verdict, answer);
	return e ? epf_locked_count(t, e, needs_memory, verdict) : verdict;
}

/* ---------------------------------------------------- ends of epochs ---- */

/**
 * epf_locked_rotated() - record the end of an epoch
 * @t: table, locked
 * @e: the epoch
 */
void epf_locked_rotated(struct epf_table *t, u64 e)
{
	struct epf_locked_state *o = t->locked;
	struct epf_past *past = o->past;

	lockdep_assert_held(&t->lock);
	if (o->core.ops->resizable) { /* CPUs may still keep insertions */
		u64 begun = o->core.ops->resizable->begun(&o->core);

		t->state.ring[e & 7].inserts = begun - o->begun;
		o->begun = begun;
	}
	past[e % EPF_LOCKED_PAST] = t->state.ring[e & 7];
	past[(e + 1) % EPF_LOCKED_PAST] = t->state.ring[(e + 1) & 7];
}

/**
 * epf_locked_may_end() - may the current epoch end at once?
 * @t: table
 *
 * Return: false: the worker has to empty memory first.
 */
bool epf_locked_may_end(const struct epf_table *t)
{
	return false;
}

/**
 * epf_locked_send() - queue the worker at once, which has to end an epoch or may do so
 *	again
 * @t: table
 */
void epf_locked_send(struct epf_table *t)
{
	mod_delayed_work(epf_wq, &t->work, 0);
}

/**
 * epf_locked_wait() - sleep until the worker has ended an epoch, or a snapshot
 *	prevents it
 * @t: table, by reference
 * @e: the epoch
 *
 * Return: not 0: a signal.
 */
int epf_locked_wait(struct epf_table *t, u64 e)
{
	mod_delayed_work(epf_wq, &t->work, 0);
	return wait_event_interruptible(t->moved, epf_load(&t->state.epoch) != e ||
							  epf_table_pinned(t, ktime_get_ns()) ||
							  READ_ONCE(t->retired));
}

/**
 * epf_locked_pinned() - cancel the epochs that callers still want ended, see
 *	epf_fixed_rotate()
 * @t: table, locked
 */
void epf_locked_pinned(struct epf_table *t)
{
	lockdep_assert_held(&t->lock);
	t->locked->wanted = 0;
}

/* Should the worker end the current epoch? Caller holds the lock. */
static bool epf_locked_rotation_wanted(const struct epf_table *t)
{
	lockdep_assert_held(&t->lock);
	return t->locked->wanted || epf_table_late(t);
}

static bool epf_locked_retire_oldest(struct epf_table *t)
{
	unsigned long flags;
	bool wanted;

	epf_table_lock(t, &flags);
	wanted = epf_locked_rotation_wanted(t);
	if (wanted && epf_table_pinned(t, ktime_get_ns())) {
		epf_table_after_pin(t);
		wanted = false;
	}
	WRITE_ONCE(t->locked->retiring, wanted);
	if (wanted) {
		t->locked->moves++;
		t->locked->core.ops->retire(&t->locked->core);
	}
	epf_table_unlock(t, flags);
	return wanted;
}

static void epf_locked_sweep_retired(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	u64 at = 0;

	do {
		epf_table_lock(t, &flags);
		at = o->core.ops->sweep(&o->core, at, EPF_HOLD_WORDS);
		epf_table_unlock(t, flags);
		cond_resched();
	} while (at && !READ_ONCE(t->retired));
}

static void epf_locked_begin_next(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;

	epf_table_lock(t, &flags);
	o->core.ops->advance(&o->core);
	epf_locked_full(t); /* computes the room of the next epoch */
	WRITE_ONCE(o->retiring, false);
	epf_table_end_epoch(t, ktime_get_ns());
	if (o->wanted)
		o->wanted--;
	epf_table_unlock(t, flags);
	wake_up_all(&t->moved);
}

/* End the epoch if that is due or wanted. Return: true if it ended. */
static bool epf_locked_end_wanted(struct epf_table *t)
{
	if (READ_ONCE(t->retired) || !epf_locked_retire_oldest(t))
		return false;
	epf_locked_sweep_retired(t);
	if (READ_ONCE(t->retired))
		return false;
	epf_locked_begin_next(t);
	return true;
}

/**
 * epf_fixed_work() - the worker's part for a fixed-size kind: end epochs
 * @t: table
 */
void epf_fixed_work(struct epf_table *t)
{
	u32 n = 0;

	while (n < LOCKED_ROUND && epf_locked_end_wanted(t))
		n++;
	if (n == LOCKED_ROUND) /* let the estimate run in between */
		queue_delayed_work(epf_wq, &t->work, 0);
}

static bool epf_locked_rotation_done(const struct epf_table *t, u64 target)
{
	return READ_ONCE(t->estimated_epoch) >= target || READ_ONCE(t->retired);
}

/* Has a snapshot begun since there were @pins, before epoch @target? */
static bool epf_locked_given_up(const struct epf_table *t, u64 target, u64 pins)
{
	return READ_ONCE(t->pins) != pins && epf_load(&t->state.epoch) < target;
}

/**
 * epf_fixed_rotate() - end epochs now
 * @t: table of a fixed-size kind, by reference
 * @count: number of epochs to end
 *
 * A snapshot that begins cancels all the epochs that any caller still wants ended.
 * Each caller sees that by the number of pins, even if it runs again only after the
 * snapshot is over.
 *
 * Context: process; sleeps until the error rate has been estimated again.
 * Return: 0; -EBUSY: pinned at the call or since, some epochs may have ended;
 * -EINTR: a signal, the remaining epochs end all the same; -ENODEV: destroyed
 * meanwhile.
 */
int epf_fixed_rotate(struct epf_table *t, u32 count)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	u64 target, pins;
	int err = 0;

	epf_table_lock(t, &flags);
	if (epf_table_pinned(t, ktime_get_ns()))
		err = -EBUSY;
	else
		o->wanted += count;
	target = t->state.epoch + o->wanted;
	pins = t->pins;
	epf_table_unlock(t, flags);
	if (err)
		return err;
	mod_delayed_work(epf_wq, &t->work, 0);
	err = wait_event_interruptible(t->moved, epf_locked_rotation_done(t, target) ||
							 epf_locked_given_up(t, target, pins));
	if (READ_ONCE(t->retired))
		return -ENODEV;
	if (err)
		return -EINTR;
	return epf_locked_rotation_done(t, target) ? 0 : -EBUSY;
}

/**
 * epf_fixed_turnover() - ends of epochs after which no slice has a key
 * @t: table of a fixed-size kind
 */
u32 epf_fixed_turnover(const struct epf_table *t)
{
	return t->locked->core.slices;
}

/* ------------------------------------------------------------ status ---- */

/* Take all samples of an estimate. If an epoch becomes overdue meanwhile, end it
 * between two samples instead of letting it wait.
 */
static void epf_locked_take_samples(struct epf_table *t)
{
	struct epf_locked_state *o = t->locked;
	u64 random[LOCKED_SAMPLES];
	unsigned long flags;
	u32 i, n;

	memset(&o->core.estimator, 0, sizeof(o->core.estimator));
	for (i = 0; i < EPF_ESTIMATOR_SAMPLES; i += LOCKED_SAMPLES) {
		get_random_bytes(random, sizeof(random));
		epf_table_lock(t, &flags);
		for (n = 0; n < LOCKED_SAMPLES; n++)
			o->core.ops->sample(&o->core, random[n], epf_locked_clock(o));
		epf_table_unlock(t, flags);
		cond_resched();
		if (!o->core.ops->resizable && epf_table_late(t) &&
		    !epf_table_pinned(t, ktime_get_ns()))
			epf_locked_end_wanted(t);
	}
}

/* Convert the state of the estimator into estimates. For a fixed-size kind it reads
 * only what the worker alone changes; for a resizable kind the caller holds the lock.
 */
static void epf_locked_convert(const struct epf_table *t, struct epf_estimates *est)
{
	const struct epf_locked *f = &t->locked->core;
	u64 e = t->state.epoch, now = epf_locked_clock(t->locked);
	u64 fill, rate;
	u32 age;

	memset(est, 0, sizeof(*est));
	est->fpr = epf_q56_to_ppt(f->ops->rate(f, now));
	for (age = 0; age < EPF_EPOCHS && age <= f->epochs; age++) {
		rate = f->ops->layer(f, age, now, &fill);
		est->lane_fpr[(e - age) & 7] = epf_q56_to_ppt(rate);
		est->lane_fill[(e - age) & 7] = epf_q56_to_ppt(fill);
	}
}

/**
 * epf_locked_estimate() - sample the error rate
 * @t: table
 * @est: result; epochs by number modulo 8
 *
 * Context: the worker, or before @t is published.
 */
void epf_locked_estimate(struct epf_table *t, struct epf_estimates *est)
{
	unsigned long flags;

	epf_locked_take_samples(t);
	if (t->locked->core.ops->resizable) {
		epf_table_lock(t, &flags);
		epf_locked_convert(t, est);
		epf_table_unlock(t, flags);
	} else {
		epf_locked_convert(t, est);
	}
}

/* Insertions and time since the oldest epoch that counts began. */
static void epf_locked_fixed_covered(const struct epf_table *t, u64 now_ns, u64 *inserts, u64 *ns)
{
	const struct epf_locked_state *o = t->locked;
	u64 e = t->state.epoch;
	u64 x = e - min_t(u64, o->core.epochs - o->retiring, e - EPF_EPOCH_FIRST);

	*ns = now_ns - o->past[x % EPF_LOCKED_PAST].start_ns;
	*inserts = epf_count_of(epf_load(&t->state.count), e);
	for (; x < e; x++)
		*inserts += o->past[x % EPF_LOCKED_PAST].inserts;
	if (o->core.ops->resizable) /* starts are seen late; the promise is T */
		*ns = max(*ns, min(t->params.window_ns, now_ns - o->skewed_ns));
}

static void epf_locked_covered(const struct epf_table *t, u64 now_ns, u64 *inserts, u64 *ns)
{
	const struct epf_locked_state *o = t->locked;
	const struct epf_locked *f = &o->core;

	if (f->ops->resizable && f->ops->resizable->covered)
		f->ops->resizable->covered(f, now_ns + o->skew_ns, now_ns - o->skewed_ns, inserts,
					   ns);
	else
		epf_locked_fixed_covered(t, now_ns, inserts, ns);
}

/**
 * epf_locked_since() - as epf_state_since()
 * @t: table, locked
 *
 * Return: time, monotonic.
 */
u64 epf_locked_since(const struct epf_table *t)
{
	u64 began = READ_ONCE(t->began_ns), now = ktime_get_ns();
	u64 inserts, ns;

	lockdep_assert_held(&t->lock);
	epf_locked_covered(t, now, &inserts, &ns);
	return (s64)(now - ns) > (s64)began ? now - ns : began;
}

/**
 * epf_locked_info() - fill in what differs from lanes
 * @t: table, locked
 * @now_ns: monotonic
 * @info: its last fields and covered_* are set
 */
void epf_locked_info(const struct epf_table *t, u64 now_ns, struct epf_info *info)
{
	const struct epf_locked_state *o = t->locked;
	const struct epf_locked *f = &o->core;

	lockdep_assert_held(&t->lock);
	info->shape = f->shape;
	info->needs = f->ops->needs;
	info->slices = f->slices;
	info->waits = o->waits;
	epf_locked_covered(t, now_ns, &info->covered_inserts, &info->covered_ns);
}
