/* SPDX-License-Identifier: GPL-2.0 */
/* Open files of the device; declarations shared by dev.c, batch.c and snapshot.c. */
#ifndef EPF_DEV_H
#define EPF_DEV_H

#include "filter.h"
#include "journal.h"

#include <linux/fs.h>

/* What EPF_IOC_INFO, or opening, has reported, and poll() compares with. */
struct epf_seen {
	u64 serial; /* of the table */
	u64 epoch;
	u64 flips; /* changes of saturation */
	bool saturated;
};

/* An open descriptor of a filter. */
struct epf_file {
	struct epf_filter *filter;   /* by reference */
	struct mutex lock;           /* protects the fields below */
	struct epf_table *snap;      /* of the snapshot under way, by reference; NULL: none */
	struct epf_pin snap_pin;     /* its pin of @snap */
	struct epf_journal *journal; /* that was begun by this descriptor, or NULL */
	struct epf_seen seen;
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

/* Performs a command. @file: NULL on the control descriptor. @t: current if it asks for one. */
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
