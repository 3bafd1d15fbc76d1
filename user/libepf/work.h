/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: long work in steps, for callers that do other things between them. A
 * step reads and writes at most EPF_STEP_BYTES of lines, or of the words of a
 * locked kind; that takes some tenths of a millisecond.
 */
#ifndef LIBEPF_WORK_H
#define LIBEPF_WORK_H

#include <errno.h>

#include "epf.h"

#define EPF_STEP_BYTES (1u << 20)

/**
 * struct epf_work - work that has begun
 * @step: do some more; returns 1: there is more, 0: it is done, or a negative
 *	errno, after which only @end may be called
 * @end: stop at any point, and free it
 * @done: bytes so far, for progress displays
 * @all: total bytes; 0: not known yet
 */
struct epf_work {
	int (*step)(struct epf_work *w);
	void (*end)(struct epf_work *w);
	__u64 done;
	__u64 all;
};

/* NULL stands for work without steps. */
static inline int epf_work_step(struct epf_work *w)
{
	return w ? w->step(w) : 0;
}

static inline void epf_work_end(struct epf_work *w)
{
	if (w)
		w->end(w);
}

/* Run all steps; @progress may be NULL. Return: as the last step; -ECANCELED. */
static inline int epf_work_run(struct epf_work *w, epf_progress_fn progress, void *ctx)
{
	int ret;

	do {
		ret = epf_work_step(w);
		if (ret > 0 && progress && w->done && progress(ctx, w->done, w->all))
			ret = -ECANCELED;
	} while (ret > 0);
	epf_work_end(w);
	return ret;
}

/* snap_copy.c: as epf_snap_copy(); @file is set when the work is done. Until
 * then a snapshot of the filter is under way on its descriptor.
 */
int epf_snap_copy_begin(int filter, struct epf_snap_file *file, struct epf_work **work);

/* snap.c: as epf_snap_open_fd(); @file and @fault stay where they are. */
int epf_snap_check_begin(int fd, struct epf_snap_file *file, enum epf_snap_fault *fault,
			 struct epf_work **work);

struct epf_view;

/* query/view.c: as epf_view_snap() and epf_view_settle(); @v stays where it is.
 * *@work is NULL if nothing is left to do. A view that could not be settled is
 * unchanged.
 */
int epf_view_snap_begin(struct epf_view *v, const struct epf_snap_file *file,
			struct epf_work **work);
int epf_view_settle_begin(struct epf_view *v, struct epf_work **work);

/* query/estimate.c: as epf_view_rate(); @v and @fpr_ppt stay where they are. */
int epf_view_rate_begin(const struct epf_view *v, __u64 *fpr_ppt, struct epf_work **work);

#endif /* LIBEPF_WORK_H */
