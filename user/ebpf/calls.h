/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls of the device, for pure BPF filters; errors are those of the device. */
#ifndef EPF_EBPF_CALLS_H
#define EPF_EBPF_CALLS_H

#include "ebpf.h"

/* Open the control descriptor, which creates and opens filters. Return: descriptor;
 * -ENOTSUP: there is no BPF file system at /sys/fs/bpf, and it cannot be mounted.
 */
int ebpf_control_open(void);

/* Register the backend with the library. NULL if the program was built without it. */
void ebpf_backend_add(void) __attribute__((weak));

/* batch.c */
int ebpf_batch(struct ebpf_filter *f, struct epf_batch *a, enum epf_bpf_op op);

/* change.c */

/* End the epochs that are due, so that a bulk load keeps the window's pace. */
int ebpf_settle(struct ebpf_filter *f);
int ebpf_rotate_now(struct ebpf_filter *f, __u32 count, __u64 *epoch);
int ebpf_swap(const struct epf_swap *a);
int ebpf_restore(struct ebpf_filter *f, const struct epf_restore *a);

/* journal.c */
int ebpf_journal(struct ebpf_filter *f, struct epf_journal_args *a);

/* snap.c */
int ebpf_snap_begin(struct ebpf_filter *f, struct epf_snap *a);
int ebpf_snap_end(struct ebpf_filter *f, struct epf_snap *a);

#endif /* EPF_EBPF_CALLS_H */
