/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kinds of filters, outside the packet path of lanes.
 *
 * Each table has one row of operations. That of lanes is in lanes.c. Those of the locked kinds are
 * in a module of their own (kinds/), which registers them here. A table holds a reference to that
 * module from before its row is used for the first time until its memory is free. Packet paths hold
 * no reference to a table, but the grace period that its memory waits for covers them; its timer
 * and its work are cancelled before.
 */
#ifndef EPF_KMOD_KIND_H
#define EPF_KMOD_KIND_H

#include "table.h"

/**
 * struct epf_table_ops - operations of a table; those that may be NULL say so
 * @owner: the module that has them; NULL: this one
 * @state_bytes: what @make allocates, to be charged
 * @check: check parameters of this kind. Return: 0 or -EINVAL
 * @make: set the epochs, words and state of a zeroed table from checked parameters and, except for
 *	lanes, an unchecked shape. Return: 0, -EINVAL, -ENOMEM
 * @fill: complete a table that has memory and is initialized, before the first insertion. Sleeps.
 *	Return: 0, or as epf_table_new()
 * @free: free what @make and @fill have allocated, also after they failed. NULL: nothing
 * @fill_step: insertions that raise the fill of an epoch by about 1/16
 * @shape: the shape to make such a table of; NULL: lanes
 *
 * @op: by enum op: as epf_table_test(), epf_table_insert(), epf_table_test_and_insert(); NULL for
 *	lanes, whose packet paths have them inline
 *
 * @may_end: may the current epoch end now? Caller holds the lock
 * @ended: epoch e has ended. Caller holds the lock
 * @late: queue the worker, because the end of an epoch is overdue and not pinned
 * @wait: sleep until epoch e has ended, can end, or is pinned. Return: not 0: a signal
 * @rotate: end epochs now; t is held by reference. Sleeps for whatever the ends wait for, and until
 *	the error rate has been estimated again. Return: 0; -EBUSY: pinned; -EINTR: a signal, some
 *	epochs may have ended; -ENODEV: destroyed meanwhile; -EOVERFLOW: the clock of a resizable
 *	kind cannot advance any further
 * @turnover: ends of epochs after which no key is left; 0: the table is replaced by an empty one
 *	instead
 * @tick_ns: time until the timer has to fire again
 * @tick: the timer has fired
 * @pinned: a snapshot has begun. Caller holds the lock. NULL: nothing to do
 * @unpinned: a snapshot is over
 *
 * @work: the worker's part: what is due
 * @still: is the last estimate good enough? Worker only
 * @worked: the worker is done; @estimated: with an estimate. NULL: nothing to do
 * @estimate: sample the error rate
 * @full: may the error be at its limit, by the count of keys? Caller holds the lock
 * @measured: count from what was estimated; the table is restored and not published
 * @info: fill in what differs between kinds. Caller holds the lock
 *
 * @hold: make a pinned table ready for a snapshot; like the next three NULL for lanes, whose lines
 *	user space copies from a mapping
 * @moved: is a snapshot void?
 * @read: read a part of a snapshot
 * @restore: make a table from a snapshot with a checked header
 */
struct epf_table_ops {
	struct module *owner;
	u32 state_bytes;
	int (*check)(const struct epf_params *params);
	int (*make)(struct epf_table *t, const struct epf_params *params,
		    const struct epf_shape *shape);
	int (*fill)(struct epf_table *t);
	void (*free)(struct epf_table *t);
	u64 (*fill_step)(const struct epf_table *t);
	const struct epf_shape *(*shape)(const struct epf_table *t);

	int (*op[OP_TEST_AND_INSERT + 1])(struct epf_table *t, u64 digest);

	bool (*may_end)(const struct epf_table *t);
	void (*ended)(struct epf_table *t, u64 e);
	void (*late)(struct epf_table *t);
	int (*wait)(struct epf_table *t, u64 e);
	int (*rotate)(struct epf_table *t, u32 count);
	u32 (*turnover)(const struct epf_table *t);
	u64 (*tick_ns)(const struct epf_table *t);
	void (*tick)(struct epf_table *t);
	void (*pinned)(struct epf_table *t);
	void (*unpinned)(struct epf_table *t);

	void (*work)(struct epf_table *t);
	bool (*still)(struct epf_table *t);
	void (*worked)(struct epf_table *t, bool estimated);
	void (*estimate)(struct epf_table *t, struct epf_estimates *est);
	bool (*full)(struct epf_table *t);
	void (*measured)(struct epf_table *t);
	void (*info)(const struct epf_table *t, u64 now_ns, struct epf_info *info);

	int (*hold)(struct epf_table *t, u64 pin_ns, struct epf_pin *pin);
	bool (*moved)(struct epf_table *t, u64 moves);
	int (*read)(struct epf_table *t, u64 moves, const struct epf_snap_read *args);
	struct epf_table *(*restore)(const struct epf_restore *args);
};

/* Sizes of the structs that modules share, as one of them was built. */
struct epf_sizes {
	u32 table;
	u32 ops;
};

#define EPF_SIZES                                                      \
	{                                                              \
		sizeof(struct epf_table), sizeof(struct epf_table_ops) \
	}

typedef const struct epf_table_ops *epf_kinds_fn(u8 kind);

/* lanes.c: */
extern const struct epf_table_ops epf_lanes_ops;

/* kind.c: */
const struct epf_table_ops *epf_kind_get(u8 kind);
void epf_kind_put(const struct epf_table_ops *ops);
int epf_params_check(const struct epf_params *params);
int epf_kinds_fit(const struct epf_sizes *built);
int epf_kinds_set(epf_kinds_fn *ops);

#endif /* EPF_KMOD_KIND_H */
