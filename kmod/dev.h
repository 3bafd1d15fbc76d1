/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open files of the device; declarations shared by dev.c, batch.c and snapshot.c.
 */
#ifndef EPF_DEV_H
#define EPF_DEV_H

#include "filter.h"
#include "journal.h"

#include <linux/fs.h>
#include <linux/mutex.h>

/**
 * struct epf_file - an open descriptor of a filter
 * @filter: by reference
 * @lock: protects the fields below
 * @snap: table of the snapshot under way, by reference; NULL: none
 * @snap_pin: its pin of @snap
 * @journal: journal that was begun by this descriptor, or NULL
 * @seen_serial: serial of the table at the last EPF_IOC_INFO. With the next three
 *	fields: what poll() compares with to report changes
 * @seen_epoch: epoch at that time
 * @seen_flips: number of saturation changes at that time
 * @seen_saturated: whether it was saturated
 */
struct epf_file {
	struct epf_filter *filter;
	struct mutex lock;
	struct epf_table *snap;
	struct epf_pin snap_pin;
	struct epf_journal *journal;
	u64 seen_serial;
	u64 seen_epoch;
	u64 seen_flips;
	bool seen_saturated;
};

/* batch.c: */
int epf_batch_test(struct epf_file *file, void *args);
int epf_batch_insert(struct epf_file *file, void *args);
int epf_batch_test_and_insert(struct epf_file *file, void *args);

/* snapshot.c: */
int epf_snap_begin(struct epf_file *file, void *args);
int epf_snap_end(struct epf_file *file, void *args);
int epf_snap_read(struct epf_file *file, void *args);
void epf_snap_cancel(struct epf_file *file);
int epf_restore(struct epf_file *file, void *args);
int epf_mmap(struct file *filp, struct vm_area_struct *vma);

#endif /* EPF_DEV_H */
