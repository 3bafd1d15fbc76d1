/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of an epoch of a filter without the module: the part that is shared by a process
 * (user/ebpf/rotate.c) and a BPF timer (bpf/epf_timer.bpf.c). Only one of them is at work
 * at a time.
 */
#ifndef EPF_BPF_ROTATE_H
#define EPF_BPF_ROTATE_H

#include "bpf.h"
#include "capacity.h"

#define EPF_BPF_NO_LIMIT (~0ULL)
#define EPF_BPF_HOLD_NS 1000000000ULL /* after which ending epochs is overdue */

/* The window of @s. */
EPF_FN struct epf_window epf_bpf_window(const struct epf_bpf_slot *s)
{
	const struct epf_params *p = &s->params;
	struct epf_window w;

	memset(&w, 0, sizeof(w));
	/* These values were checked when the slot was filled. */
	epf_window_init(&w, p->mode, p->refresh, p->window_inserts, p->window_ns);
	w.align_ns = s->align_ns;
	return w;
}

/**
 * epf_bpf_may_rotate() - may the epoch end?
 * @s: contents
 * @now_ns: monotonic
 *
 * Return: 0; -EBUSY: a snapshot keeps it from ending; -EAGAIN: scan or grace period.
 */
EPF_FN int epf_bpf_may_rotate(const struct epf_bpf_slot *s, __u64 now_ns)
{
	if (epf_load(&s->pin_until_ns) > now_ns)
		return -EBUSY;
	/* O3: no section may be left that has read epoch e - 7. */
	if (!epf_scan_keeps_up(&s->state) || s->quiet + EPF_LIVE_EPOCHS - 1 < s->state.epoch)
		return -EAGAIN;
	return 0;
}

/* The end was due and had to wait. Counted once per epoch. */
EPF_FN void epf_bpf_delayed(struct epf_bpf_slot *s)
{
	s->delayed += s->late != s->state.epoch;
	s->late = s->state.epoch;
}

/* Set @open_at of @s from the keys that are allowed; @kept: what @keys may lack. */
EPF_FN void epf_bpf_set_open_at(struct epf_bpf_slot *s, __u64 kept)
{
	__u64 at = s->keys_before + s->room;

	if (s->saturated)
		at = 0;
	else if (s->room == EPF_BPF_NO_LIMIT)
		at = EPF_BPF_NO_LIMIT;
	else
		at = at > kept ? at - kept : 0;
	epf_store_release(&s->open_at, at);
}

/* The keys that the current epoch of @s may take, given the errors of those before. */
EPF_FN __u64 epf_bpf_room(const struct epf_bpf_slot *s, const struct epf_capacity *c)
{
	return epf_capacity_room_of(c, s->share, s->state.epoch);
}

#endif /* EPF_BPF_ROTATE_H */
