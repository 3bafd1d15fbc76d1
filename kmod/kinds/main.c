// SPDX-License-Identifier: GPL-2.0
/*
 * epochfilter_kinds.ko: the locked kinds of filters, loaded by epochfilter.ko with the
 * first filter of such a kind, or by hand. It is in use as long as there is one.
 */
#include "owned.h"
#include "compat.h"

#include <linux/module.h>

/* What fixed-size and resizable kinds have in common. */
#define LOCKED_TABLE_OPS						\
	.owner = THIS_MODULE,						\
	.state_bytes = sizeof(struct epf_owned),			\
	.check = epf_owned_check,					\
	.make = epf_owned_make,						\
	.free = epf_owned_free,						\
	.fill_step = epf_owned_fill_step,				\
	.shape = epf_owned_shape,					\
	.test = epf_owned_test,						\
	.insert = epf_owned_insert,					\
	.test_and_insert = epf_owned_test_and_insert,			\
	.may_end = epf_owned_may_end,					\
	.ended = epf_owned_rotated,					\
	.late = epf_owned_send,						\
	.wait = epf_owned_wait,						\
	.pinned = epf_owned_pinned,					\
	.unpinned = epf_owned_send,					\
	.estimate = epf_owned_estimate,					\
	.full = epf_owned_full,						\
	.measured = epf_owned_measured,					\
	.info = epf_owned_info,						\
	.hold = epf_owned_hold,						\
	.moved = epf_owned_moved,					\
	.read = epf_owned_read,						\
	.restore = epf_owned_restore

static const struct epf_table_ops fixed_table_ops = {
	LOCKED_TABLE_OPS,
	.fill = epf_fixed_fill,
	.rotate = epf_fixed_rotate,
	.turnover = epf_fixed_turnover,
	.tick_ns = epf_table_epoch_tick_ns,
	.tick = epf_fixed_tick,
	.work = epf_fixed_work,
	.still = epf_fixed_still,
};

static const struct epf_table_ops resizable_table_ops = {
	LOCKED_TABLE_OPS,
	.fill = epf_owned_fill,
	.rotate = epf_resizable_rotate,
	.turnover = epf_resizable_turnover,
	.tick_ns = epf_resizable_tick_ns,
	.tick = epf_owned_send,
	.work = epf_resizable_work,
	.still = epf_resizable_still,
	.worked = epf_resizable_done,
};

static const struct epf_table_ops *epf_kinds_table_ops(u8 kind)
{
	const struct epf_kind_ops *ops = epf_kind_ops(kind);

	if (!ops)
		return NULL;
	return ops->resizable ? &resizable_table_ops : &fixed_table_ops;
}

static const struct epf_kinds kinds = {
	.table_bytes = sizeof(struct epf_table),
	.ops_bytes = sizeof(struct epf_table_ops),
	.ops = epf_kinds_table_ops,
};

static int __init epf_kinds_init(void)
{
	return epf_kinds_register(&kinds);
}

/* Nobody runs code of this module: each table with operations of it has a reference
 * until its memory is free.
 */
static void __exit epf_kinds_exit(void)
{
	epf_kinds_unregister();
}

module_init(epf_kinds_init);
module_exit(epf_kinds_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(EPF_VERSION);
MODULE_AUTHOR("The epochfilter authors");
MODULE_DESCRIPTION("Kinds of sliding-window membership filters from the papers");
MODULE_ALIAS("epochfilter-kinds");
EPF_IMPORT();
