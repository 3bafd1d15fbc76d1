/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys looked up in a snapshot file in place of a live filter. */
#ifndef EPFCTL_TEST_SNAPSHOT_H
#define EPFCTL_TEST_SNAPSHOT_H

#include "cmd.h"
#include "libepf/audit.h"

/**
 * struct snapshot - an open snapshot
 * @file: mapped
 * @view: of its contents
 * @fpr_ppt: estimated error
 * @saturated: that is above the limit
 */
struct snapshot {
	struct epf_snap_file file;
	struct epf_view view;
	__u64 fpr_ppt;
	bool saturated;
};

/* Open the snapshot at @path, and describe it in @info as far as keys need it. Return:
 * false: an error is printed.
 */
bool snapshot_open(struct snapshot *s, const char *path, struct epf_info *info);

/**
 * snapshot_ask() - look keys up
 * @s: snapshot
 * @keys: the batch
 * @ages: result, as for EPF_IOC_TEST: what is found is unknown if the error is above the limit
 * @present: result: how many are present
 *
 * Return: 0; -ENOMEM.
 */
int snapshot_ask(const struct snapshot *s, const struct keys *keys, __u8 *ages, __u32 *present);
void snapshot_close(struct snapshot *s);

#endif /* EPFCTL_TEST_SNAPSHOT_H */
