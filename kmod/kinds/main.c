// SPDX-License-Identifier: GPL-2.0
/*
 * epochfilter_kinds.ko: the locked kinds of filters, loaded by epochfilter.ko with the
 * first filter of such a kind, or by hand. It is in use as long as there is one.
 */
#include "locked.h"
#include "compat.h"

#include <linux/irqflags.h>
#include <linux/module.h>

/* ------------------------------------- kinds with locks of their own ---- */

/* Operations on keys of such a kind do not take the lock of the table, and do not wait for
 * whoever has it. Interrupts are off while a line is locked: on a real-time kernel too, no
 * other insertion then comes in between on this CPU, and whoever waits for the line waits
 * for one change of it.
 *
 * An insertion counts for the epoch that it reads first. Its key is in that epoch or in a
 * later one: epf_locked_begin_next() makes the core advance before it stores the epoch, and
 * the acquire load here pairs with that store. So an epoch never counts a key that is older,
 * and the last W insertions are retained.
 */

/* As epf_table_test(). */
static int epf_line_test(struct epf_table *t, u64 digest)
{
	const struct epf_locked *f = &t->locked->core;

	return epf_table_verdict(t, f->ops->test(f, digest, 0), READ_ONCE(t->answer.now));
}

static bool epf_line_full(const struct epf_table *t)
{
	return t->locked->core.room && epf_room_full(t->locked->core.room);
}

/* Fail open if the limit is reached, and count an insertion of epoch @e. @was_full: before
 * it. Whoever sees the filter become full opens it even if it is open already: the worker,
 * which may be about to close it, then judges again (capacity.c). Return: @ret.
 */
static int epf_line_count(struct epf_table *t, u64 e, bool was_full, int ret)
{
	if (unlikely(epf_line_full(t)) && !(was_full && epf_table_saturated(t))) {
		epf_table_open(t, epf_load(&t->state.epoch));
		queue_delayed_work(epf_wq, &t->work, 0);
	}
	return epf_table_count(t, e, true, ret);
}

/* As epf_table_insert(). */
static int epf_line_insert(struct epf_table *t, u64 digest)
{
	struct epf_locked *f = &t->locked->core;
	u64 e = epf_load_acquire(&t->state.epoch);
	bool was_full = epf_line_full(t);
	unsigned long flags;

	local_irq_save(flags);
	f->ops->insert(f, digest, 0);
	local_irq_restore(flags);
	return epf_line_count(t, e, was_full, EPF_ABSENT);
}

/* As epf_table_test_and_insert(). */
static int epf_line_test_and_insert(struct epf_table *t, u64 digest)
{
	struct epf_locked *f = &t->locked->core;
	u64 e = epf_load_acquire(&t->state.epoch);
	u8 answer = READ_ONCE(t->answer.now);
	bool was_full = epf_line_full(t);
	bool keep = answer == EPF_ANSWER_SKIP;
	unsigned long flags;
	int verdict;

	local_irq_save(flags);
	verdict = f->ops->test_and_insert(f, digest, keep);
	local_irq_restore(flags);
	if (verdict && keep)
		return epf_table_verdict(t, verdict, answer);
	verdict = epf_table_verdict(t, verdict, answer);
	return epf_line_count(t, e, was_full, verdict);
}

/* --------------------------------------------------- tables of kinds ---- */

/* What fixed-size and resizable kinds have in common. */
#define LOCKED_TABLE_OPS                                                                           \
	.owner = THIS_MODULE, .state_bytes = sizeof(struct epf_locked_state),                      \
	.check = epf_locked_check, .make = epf_locked_make, .free = epf_locked_free,               \
	.fill_step = epf_locked_fill_step, .shape = epf_locked_shape,                              \
	.may_end = epf_locked_may_end, .ended = epf_locked_rotated, .late = epf_locked_send,       \
	.wait = epf_locked_wait, .pinned = epf_locked_pinned, .unpinned = epf_locked_send,         \
	.estimate = epf_locked_estimate, .full = epf_locked_full, .measured = epf_locked_measured, \
	.since = epf_locked_since, .info = epf_locked_info, .hold = epf_locked_begin_snapshot,     \
	.moved = epf_locked_moved, .read = epf_locked_read, .restore = epf_locked_restore

/* Operations on keys under the lock of the filter. */
#define ONE_LOCK_OPS .op = { epf_locked_test, epf_locked_insert, epf_locked_test_and_insert }

#define FIXED_TABLE_OPS                                                                     \
	.fill = epf_fixed_fill, .rotate = epf_fixed_rotate, .turnover = epf_fixed_turnover, \
	.tick_ns = epf_table_epoch_tick_ns, .work = epf_fixed_work

static const struct epf_table_ops fixed_table_ops = {
	LOCKED_TABLE_OPS,
	ONE_LOCK_OPS,
	FIXED_TABLE_OPS,
};

static const struct epf_table_ops line_lock_table_ops = {
	LOCKED_TABLE_OPS,
	FIXED_TABLE_OPS,
	.op = { epf_line_test, epf_line_insert, epf_line_test_and_insert },
};

static const struct epf_table_ops resizable_table_ops = {
	LOCKED_TABLE_OPS,
	ONE_LOCK_OPS,
	.fill = epf_locked_fill,
	.rotate = epf_resizable_rotate,
	.turnover = epf_resizable_turnover,
	.tick_ns = epf_resizable_tick_ns,
	.tick = epf_locked_send,
	.work = epf_resizable_work,
	.still = epf_resizable_still,
	.worked = epf_resizable_done,
};

static const struct epf_table_ops *epf_kinds_table_ops(u8 kind)
{
	const struct epf_kind_ops *ops = epf_kind_ops(kind);

	if (!ops)
		return NULL;
	if (ops->test_and_insert)
		return &line_lock_table_ops;
	return ops->resizable ? &resizable_table_ops : &fixed_table_ops;
}

static const struct epf_sizes kinds = { EPF_SIZES };

static int __init epf_kinds_init(void)
{
	return epf_kinds_fit(&kinds) ?: epf_kinds_set(epf_kinds_table_ops);
}

/* Nobody runs code of this module: each table with operations of it has a reference
 * until its memory is free.
 */
static void __exit epf_kinds_exit(void)
{
	epf_kinds_set(NULL);
}

module_init(epf_kinds_init);
module_exit(epf_kinds_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(EPF_VERSION);
MODULE_AUTHOR("The epochfilter authors");
MODULE_DESCRIPTION("Kinds of sliding-window membership filters from the papers");
MODULE_ALIAS("epochfilter-kinds");
EPF_IMPORT();
