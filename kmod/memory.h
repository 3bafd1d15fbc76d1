/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of tables, and the limits on all filters. */
#ifndef EPF_MEMORY_H
#define EPF_MEMORY_H

#include <linux/mm.h>

struct epf_line;
struct epf_table;

/* memory.c: */
extern struct workqueue_struct *epf_wq;
extern unsigned int epf_max_filters;
int epf_charge(u64 bytes);
void epf_uncharge(u64 bytes);
void epf_wait_freed(void);
struct epf_line *epf_alloc_lines(const struct epf_table *t, u64 bytes);
u64 *epf_table_grow(struct epf_table *t, u64 words);
void epf_table_shrink(struct epf_table *t, u64 *word, u64 words);
int epf_map(struct vm_area_struct *vma, u64 first, u64 bytes,
	    const struct vm_operations_struct *ops, void *owner);
vm_fault_t epf_map_fault(struct vm_fault *vmf, const void *mem, u64 first, u64 bytes);

#endif /* EPF_MEMORY_H */
