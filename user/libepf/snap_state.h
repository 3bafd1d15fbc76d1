/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The epochs of a filter in this process from the header of a snapshot. */
#ifndef LIBEPF_SNAP_STATE_H
#define LIBEPF_SNAP_STATE_H

#include <epf/window.h>

/**
 * epf_snap_state() - set the epochs that a snapshot has
 * @header: checked by epf_snap_open()
 * @s: result
 * @taken_ns: when the snapshot was taken, on the filter's clock; may be before its zero
 *
 * Return: 0; -EBADMSG: no filter can have these epochs.
 */
int epf_snap_state(const struct epf_snap_header *header, struct epf_state *s, __u64 taken_ns);

#endif /* LIBEPF_SNAP_STATE_H */
