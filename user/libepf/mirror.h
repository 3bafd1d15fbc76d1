/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: mirrors. A mirror is a copy of the lines of a live filter of kind lanes
 * in this process, kept up to date from the filter's journal. It serves callers
 * that query often and need lines that do not change during a query.
 *
 * Only one thread uses a mirror. Functions return 0 or a negative errno unless
 * they say otherwise, and print nothing. CAP_NET_ADMIN is needed.
 */
#ifndef LIBEPF_MIRROR_H
#define LIBEPF_MIRROR_H

#include "audit.h"

#ifdef __cplusplus
extern "C" {
#endif

struct epf_mirror;

/**
 * epf_mirror_open() - begin a journal, copy the lines, follow once
 * @filter: descriptor, which stays the caller's; it has no journal other than
 *	this process's (rings.h), and no snapshot under way. It is not closed
 *	before the mirror
 * @order: a new journal has 2^@order records for each ring, of 32 bytes: as many
 *	insertions as may come between two calls of epf_mirror_follow()
 * @shards: rings, see struct epf_journal_args; 0: one for each CPU
 * @m: set to the mirror, or to NULL
 *
 * Return: 0; -EBUSY: another process has its journal, or a snapshot is under way;
 * -EOPNOTSUPP: a locked kind, or not a filter of the module; -EOVERFLOW: at several
 * tries more was inserted than the journal holds; -ENOMEM; an error of
 * EPF_IOC_JOURNAL or _SNAP_BEGIN.
 */
int epf_mirror_open(int filter, __u32 order, __u32 shards, struct epf_mirror **m);
void epf_mirror_close(struct epf_mirror *m); /* NULL is well */

/**
 * epf_mirror_begin() - as epf_mirror_open(), in steps
 * @filter: as there
 * @order: as there
 * @shards: as there
 * @m: set to the mirror, or to NULL; it can be queried after epf_mirror_step()
 *	has returned 0, and closed at any time
 *
 * Return: 0; -ENOMEM.
 */
int epf_mirror_begin(int filter, __u32 order, __u32 shards, struct epf_mirror **m);

/**
 * epf_mirror_step() - do one step of the work that was begun
 * @m: mirror
 *
 * A step reads and writes at most EPF_STEP_BYTES of lines and records (work.h).
 *
 * Return: 1: there is more; 0: done; or an error of the call that it continues.
 */
int epf_mirror_step(struct epf_mirror *m);

/**
 * epf_mirror_follow() - apply new records
 * @m: mirror
 *
 * Afterwards the mirror has every key that is still in the window and whose
 * insertion had returned before the call. It is at the latest epoch of its records.
 *
 * Return: records applied; -EOVERFLOW: records were lost; -ESTALE: the filter has
 * other contents, or none. After either error the mirror is out of date until
 * epf_mirror_renew().
 */
long epf_mirror_follow(struct epf_mirror *m);

/* The same in steps, up to what is inserted now. Return: 0; -EOVERFLOW, -ESTALE. */
int epf_mirror_follow_begin(struct epf_mirror *m);

/**
 * epf_mirror_renew() - copy the lines again, even if the filter has new ones
 * @m: mirror
 *
 * The caller makes new views of the mirror.
 *
 * Return: as epf_mirror_open(). After an error the mirror can only be renewed
 * again or closed.
 */
int epf_mirror_renew(struct epf_mirror *m);
void epf_mirror_renew_begin(struct epf_mirror *m); /* in steps */

/* A view of the mirror, for audits; valid until the next follow, renew or close.
 * It need not be settled. An engine with memory of its own updates the lines of
 * an earlier view with the records that came since.
 */
void epf_mirror_view(const struct epf_mirror *m, struct epf_view *v);

/**
 * epf_mirror_header() - a snapshot header for the lines of the mirror
 * @m: mirror
 * @h: out: header as of a snapshot taken at the end of the last follow, without
 *	the checksums. The insertion counts of ended epochs are those of the
 *	filter. The count of the current epoch and the total may lack insertions
 *	that were under way when the lines were copied, but no others
 */
void epf_mirror_header(const struct epf_mirror *m, struct epf_snap_header *h);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_MIRROR_H */
