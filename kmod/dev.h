/* SPDX-License-Identifier: GPL-2.0 */
/* Open files of the device; declarations shared by dev.c, batch.c and snapshot.c. */
#ifndef EPF_DEV_H
#define EPF_DEV_H

#include "filter.h"
#include "journal.h"

#include <linux/fs.h>

/**
 * struct epf_file - an open descriptor of a filter
 * @filter: by reference
 * @lock: protects the fields below
 * @snap: table of the snapshot under way, by reference; NULL: none
 * @snap_pin: its pin of @snap
 * @journal: journal that was begun by this descriptor, or NULL
 * @seen_serial: serial of the table at the last EPF_IOC_INFO. With the next three fields: what
 *	poll() compares with to report changes
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

/* The struct of a command; each begins with its size and flags. */
union epf_args {
	struct {
		u32 size;
		u32 flags;
	};
	struct epf_create create;
	struct epf_ref_args ref;
	struct epf_list list;
	struct epf_swap swap;
	struct epf_info info;
	struct epf_batch batch;
	struct epf_rotate_args rotate;
	struct epf_key_args key;
	struct epf_snap snap;
	struct epf_snap_read snap_read;
	struct epf_restore restore;
	struct epf_journal_args journal;
	struct epf_describe describe;
};

/* Performs a command. @file is NULL on the control descriptor. @t is the current table if the
 * command asks for it (TABLE in dev.c), else NULL.
 */
typedef int epf_cmd_fn(struct epf_file *file, struct epf_table *t, union epf_args *a);

/* batch.c: */
epf_cmd_fn epf_batch_test;
epf_cmd_fn epf_batch_insert;
epf_cmd_fn epf_batch_test_and_insert;

/* snapshot.c: */
epf_cmd_fn epf_snap_begin;
epf_cmd_fn epf_snap_end;
epf_cmd_fn epf_snap_read;
epf_cmd_fn epf_restore;
void epf_snap_cancel(struct epf_file *file);
int epf_mmap(struct file *filp, struct vm_area_struct *vma);

#endif /* EPF_DEV_H */
