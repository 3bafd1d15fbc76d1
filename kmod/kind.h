/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kinds of filters, outside the packet path of lanes.
 *
 * Each table has one row of operations. That of lanes is in lanes.c. Those of the locked kinds are
 * in a module of their own (kinds/), which registers them here. A table holds a reference to that
 * module while it exists. Packet paths hold no reference to a table, but the grace period that its
 * memory waits for covers them; its timer and its work are cancelled before.
 */
#ifndef EPF_KMOD_KIND_H
#define EPF_KMOD_KIND_H

#include "table.h"

#include <linux/module.h>

/* Operations of a table; those that may be NULL say so. "Locked": the caller holds its lock. */
struct epf_table_ops {
	struct module *owner; /* that has them; NULL: this one */
	u32 state_bytes;      /* what @make allocates, to be charged */
	/* Check parameters of this kind. Return: 0 or -EINVAL. */
	int (*check)(const struct epf_params *params);
	/* Set the epochs, words and state of a zeroed table from checked parameters and, except for
	 * lanes, an unchecked shape. Return: 0, -EINVAL, -ENOMEM.
	 */
	int (*make)(struct epf_table *t, const struct epf_params *params,
		    const struct epf_shape *shape);
	/* Complete a table that has memory and is initialized, before the first insertion. Sleeps.
	 * Return: 0, or as epf_table_new().
	 */
	int (*fill)(struct epf_table *t);
	/* Free what @make and @fill have allocated, also after they failed. NULL: nothing. */
	void (*free)(struct epf_table *t);
	/* Insertions that raise the fill of an epoch by about 1/16. */
	u64 (*fill_step)(const struct epf_table *t);
	/* The shape to make such a table of. NULL for lanes. */
	const struct epf_shape *(*shape)(const struct epf_table *t);

	/* By enum op, as epf_table_test(). NULL for lanes: packet paths have them inline. */
	int (*op[OP_TEST_AND_INSERT + 1])(struct epf_table *t, u64 digest);

	bool (*may_end)(const struct epf_table *t); /* the current epoch, now? Locked */
	void (*ended)(struct epf_table *t, u64 e);  /* epoch e has ended. Locked */
	void (*late)(struct epf_table *t);          /* queue the worker: overdue and not pinned */
	/* Sleep until epoch e has ended, can end, or is pinned. Return: not 0: a signal. */
	int (*wait)(struct epf_table *t, u64 e);
	/* End epochs now; @t is held by reference. Sleeps for whatever the ends wait for, and until
	 * the error rate has been estimated again. Return: 0; -EBUSY: pinned; -EINTR: a signal,
	 * some epochs may have ended; -ENODEV: destroyed meanwhile; -EOVERFLOW: the clock of a
	 * resizable kind cannot advance any further.
	 */
	int (*rotate)(struct epf_table *t, u32 count);
	/* Ends of epochs after which no key is left; 0: an empty table replaces it instead. */
	u32 (*turnover)(const struct epf_table *t);
	u64 (*tick_ns)(const struct epf_table *t); /* time until the timer has to fire again */
	void (*tick)(struct epf_table *t);         /* it has fired. NULL: epf_table_try_rotate() */
	void (*pinned)(struct epf_table *t);       /* a snapshot has begun. Locked. NULL: nothing */
	void (*unpinned)(struct epf_table *t);     /* a snapshot is over */

	void (*work)(struct epf_table *t);  /* the worker's part: what is due */
	bool (*still)(struct epf_table *t); /* is the last estimate good enough? NULL: no */
	void (*worked)(struct epf_table *t, bool estimated); /* the worker is done. NULL: nothing */
	void (*estimate)(struct epf_table *t, struct epf_estimates *est);
	bool (*full)(struct epf_table *t);     /* may the error be at its limit, by count? Locked */
	void (*measured)(struct epf_table *t); /* count from estimates; restored, not published */
	/* As epf_state_since(). Locked, except for lanes. */
	u64 (*since)(const struct epf_table *t);
	/* Fill in what differs between kinds. Locked. */
	void (*info)(const struct epf_table *t, u64 now_ns, struct epf_info *info);

	/* Prepare a pinned table. Like the next three NULL for lanes, which are mapped. */
	int (*hold)(struct epf_table *t, u64 pin_ns, struct epf_pin *pin);
	bool (*moved)(struct epf_table *t, u64 moves); /* is a snapshot void? */
	int (*read)(struct epf_table *t, u64 moves, const struct epf_snap_read *args);
	struct epf_table *(*restore)(const struct epf_restore *args); /* its header is checked */
};

/* Sizes of the structs that modules share, as one of them was built. */
struct epf_sizes {
	u32 table;
	u32 ops;
};

#define EPF_SIZES sizeof(struct epf_table), sizeof(struct epf_table_ops)

typedef const struct epf_table_ops *epf_kinds_fn(u8 kind);

/* lanes.c: */
extern const struct epf_table_ops epf_lanes_ops;

/* kind.c: */
const struct epf_table_ops *epf_kind_get(u8 kind);
int epf_params_check(const struct epf_params *params);
int epf_kinds_fit(const struct epf_sizes *built);
int epf_kinds_set(epf_kinds_fn *ops);

/* Drop the reference that epf_kind_get() took. */
static inline void epf_kind_put(const struct epf_table_ops *ops)
{
	module_put(ops->owner);
}

#endif /* EPF_KMOD_KIND_H */
