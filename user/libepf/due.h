/* SPDX-License-Identifier: GPL-2.0 */
/* When epochs of a filter in this process end by time. */
#ifndef LIBEPF_DUE_H
#define LIBEPF_DUE_H

#include <epf/window.h>

/**
 * epf_ends_due() - how many epochs have to end before a call
 * @w: window
 * @inserts: insertions of the current epoch
 * @start_ns: when it began
 * @now_ns: time of the call, on the same clock
 * @most: after so many ends nothing of older epochs is left, so no more are needed
 * @at_ns: set to when the first of them is to end; the others follow without gaps
 *
 * In EPF_MODE_BOTH the count can delay an epoch's end, so at most one end is due. In
 * EPF_MODE_TIME epochs follow one another without gaps.
 */
static inline __u64 epf_ends_due(const struct epf_window *w, __u64 inserts, __u64 start_ns,
				 __u64 now_ns, __u64 most, __u64 *at_ns)
{
	__u64 nr, skip;

	*at_ns = now_ns;
	if (w->mode == EPF_MODE_COUNT || now_ns < start_ns || now_ns - start_ns < w->epoch_ns)
		return 0;
	if (w->mode == EPF_MODE_BOTH)
		return epf_window_due(w, inserts, now_ns - start_ns);
	nr = (now_ns - start_ns) / w->epoch_ns;
	skip = nr > most ? nr - most : 0;
	*at_ns = start_ns + (skip + 1) * w->epoch_ns;
	return nr - skip;
}

#endif /* LIBEPF_DUE_H */
