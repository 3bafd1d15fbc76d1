/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A filter: the named object that descriptors and BPF programs refer to. It contains a table, which
 * swap and restore exchange for another one. A mapping relies on the reference of its descriptor.
 */
#ifndef EPF_FILTER_H
#define EPF_FILTER_H

#include "table.h"

#include <linux/mutex.h>
#include <linux/rcupdate.h>

struct epf_filter {
	struct epf_table __rcu *table; /* NULL after destruction; written under the registry lock */
	refcount_t refs; /* one for its name, one for each descriptor and each BPF reference */
	u32 id;          /* never 0 */
	char name[EPF_NAME_LEN]; /* valid, NUL-terminated; constant */
	struct mutex replacing;  /* of the table: held until operations in the old one are over */
	struct mutex turn;       /* of callers without rights at a locked kind's lock, see dev.c */
	wait_queue_head_t wait;  /* tasks in poll() */
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
extern struct miscdevice epf_device;

#endif /* EPF_FILTER_H */
