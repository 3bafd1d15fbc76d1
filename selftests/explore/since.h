/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When epochs began, and since when a filter retains every key: epf_state_date(), called as
 * kmod/rotate.c and user/ebpf/rotate.c call it, and epf_state_since() after an answer.
 *
 * The clock of these scenes is a word that every insertion advances when it begins. That
 * orders nothing, nor does a load of it, which may be performed before earlier stores. A full
 * barrier follows in the insertion, because its loads are performed after it began.
 *
 * At the beginning, epoch e has begun at 2 e, and key SINCE_PAST is in epoch SINCE_EPOCH, the
 * oldest one that is retained. Its insertion began in the middle of that epoch.
 *
 * Properties:
 *
 *   since   If a key is told absent although its insertion had returned before, then
 *           epf_state_since() returns no earlier time than that of the beginning of that
 *           insertion, into whatever contents.
 *           A filter may get other contents meanwhile, as by user/ebpf/change.c and
 *           kmod/filter.c.
 *   date    The start of epoch e+1, once dated, is no earlier than the beginning of any
 *           insertion into epoch e.
 */
#ifndef EPF_EXPLORE_SINCE_H
#define EPF_EXPLORE_SINCE_H

#include "scene.h"

#define SINCE_PAST 5 /* key */
#define SINCE_EPOCH (SCENE_EPOCH - EPF_LIVE_EPOCHS)

void since_set_up(void);
__u64 since_begin(void);
void since_rotate(struct epf_state *s);
void since_run(const struct scene_role *r);
void since_starts(void);
void since_note(int t, const struct mc_op *op);

#endif /* EPF_EXPLORE_SINCE_H */
