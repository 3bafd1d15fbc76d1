/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A filter: the named object that descriptors and BPF programs refer to. It contains a table, which
 * swap and restore exchange for another one.
 */
#ifndef EPF_FILTER_H
#define EPF_FILTER_H

#include "table.h"

#include <linux/mutex.h>
#include <linux/rcupdate.h>

/**
 * struct epf_filter - see above
 * @table: its contents; NULL after destruction. Written under the registry lock, read under RCU
 * @refs: one for its name, one for each descriptor and each BPF reference. A mapping relies on the
 *	reference of its descriptor
 * @id: never 0
 * @name: valid, NUL-terminated; constant
 * @turn: serializes batches on a locked kind, so that only one of them at a time contends for the
 *	table lock
 * @wait: tasks in poll()
 * @rcu: frees the filter after a grace period
 */
struct epf_filter {
	struct epf_table __rcu *table;
	refcount_t refs;
	u32 id;
	char name[EPF_NAME_LEN];
	struct mutex turn;
	wait_queue_head_t wait;
	struct rcu_head rcu;
};

/* filter.c: */
int epf_filter_create(const struct epf_create *args, u32 *id);
int epf_filter_destroy(const struct epf_name *name, bool force);
void epf_filter_destroy_all(void);
u32 epf_filter_list(u32 *ids, u32 room);
struct epf_filter *epf_filter_find(const struct epf_name *name);
struct epf_filter *epf_filter_get_id(u32 id);
void epf_filter_put(struct epf_filter *f);
int epf_filter_swap(const struct epf_swap *args);
int epf_filter_replace(struct epf_filter *f, struct epf_table *t, const struct epf_table *instead);
struct epf_table *epf_filter_table(struct epf_filter *f);

/* kfunc.c: */
int epf_kfunc_init(void);

/* dev.c: */
int epf_dev_init(void);
void epf_dev_exit(void);

#endif /* EPF_FILTER_H */
