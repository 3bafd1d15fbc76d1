/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits on all filters, and the memory that counts against them.
 */
#ifndef EPF_LIMITS_H
#define EPF_LIMITS_H

#include <linux/types.h>

struct epf_line;
struct epf_table;

/* limits.c: module parameters. They may change at any time. */
u32 epf_max_filters(void);
u64 epf_max_filter_bytes(void);
u64 epf_max_total_bytes(void);

/* memory.c: */
extern struct workqueue_struct *epf_wq;
int epf_charge(u64 bytes);
void epf_uncharge(u64 bytes);
void epf_wait_freed(void);
struct epf_line *epf_alloc_lines(u64 bytes);
u64 *epf_table_grow(struct epf_table *t, u64 words);
void epf_table_shrink(struct epf_table *t, u64 *word, u64 words);

#endif /* EPF_LIMITS_H */
