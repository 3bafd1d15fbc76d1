/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When epochs of a filter in this process end by time. */
#ifndef LIBEPF_DUE_H
#define LIBEPF_DUE_H

#include <epf/window.h>

/**
 * struct epf_due - the ends of epochs that are due
 * @nr: how many
 * @at_ns: when the first of them is to end
 * @every_ns: the others follow at this distance, without gaps
 */
struct epf_due {
	__u64 nr;
	__u64 at_ns;
	__u64 every_ns;
};

/**
 * epf_ends_due() - how many epochs have to end before a call
 * @w: window
 * @s: epochs
 * @inserts: insertions of the current epoch
 * @last_ns: time of the call before this one, or of the snapshot that the contents come from
 * @now_ns: time of the call, on the clock of @s
 * @ahead_ns: how far the wall clock is ahead of that clock; only for an aligned window
 * @most: after so many ends nothing of older epochs is left, so no more are needed
 *
 * Epochs of a snapshot may have begun before the clock's zero, so that their times wrap
 * around: only differences count, and those are below 2^63.
 *
 * No epoch ends before @last_ns, because keys may have been inserted into the current epoch until
 * then, and they are retained by the epochs that follow it. The end can be due earlier: after the
 * wall clock was set forward, and in a snapshot whose owner rotated late, or which was merged. Then
 * one epoch ends, at @last_ns. So repeat the call until nothing is due.
 *
 * In EPF_MODE_BOTH the count can delay an epoch's end, so at most one end is due. In
 * EPF_MODE_TIME epochs follow one another without gaps.
 */
static inline struct epf_due epf_ends_due(const struct epf_window *w, const struct epf_state *s,
					  __u64 inserts, __u64 last_ns, __u64 now_ns,
					  __u64 ahead_ns, __u64 most)
{
	__u64 start = s->ring[s->epoch % EPF_LANES].start_ns, nr, skip;
	struct epf_due due = { 0, now_ns, w->align_ns ? w->align_ns : w->epoch_ns };
	__u64 lasts = epf_window_lasts(w, start + ahead_ns, s->epoch == EPF_EPOCH_FIRST);

	if (w->mode == EPF_MODE_COUNT || (__s64)(now_ns - start) < 0 || now_ns - start < lasts)
		return due;
	if (w->mode == EPF_MODE_BOTH) {
		due.nr = epf_window_due(w, inserts, now_ns - start);
		return due;
	}
	nr = 1 + (now_ns - start - lasts) / due.every_ns;
	skip = nr > most ? nr - most : 0;
	due.nr = nr - skip;
	due.at_ns = start + lasts + skip * due.every_ns;
	if ((__s64)(due.at_ns - last_ns) < 0) {
		due.nr = 1;
		due.at_ns = last_ns;
	}
	return due;
}

#endif /* LIBEPF_DUE_H */
