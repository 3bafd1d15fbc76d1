/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libepf: mirrors. The lines of a live filter of kind lanes, in this process:
 * copied once, and kept up to date from the filter's journal. For whoever asks
 * often and wants lines that stay still while he does.
 *
 * A mirror is for one thread. Functions return 0 or a negative errno unless
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
 * @filter: descriptor, which stays the caller's; it has no journal and no
 *	snapshot under way. It is not closed before the mirror
 * @order: the journal has 2^@order records for each ring, of 32 bytes: as many
 *	insertions as may come between two calls of epf_mirror_follow()
 * @shards: rings, see struct epf_journal_args; 0: one for each CPU
 * @m: set to the mirror, or to NULL
 *
 * Return: 0; -EBUSY: it has a journal, or a snapshot is under way;
 * -EOPNOTSUPP: an owned kind; -EOVERFLOW: more was inserted than the journal
 * holds, several times; -ENOMEM; what EPF_IOC_JOURNAL and _SNAP_BEGIN say.
 */
int epf_mirror_open(int filter, __u32 order, __u32 shards,
		    struct epf_mirror **m);
void epf_mirror_close(struct epf_mirror *m); /* NULL is well */

/**
 * epf_mirror_begin() - as epf_mirror_open(), in steps
 * @filter: as there
 * @order: as there
 * @shards: as there
 * @m: set to the mirror, or to NULL; to be asked when epf_mirror_step() returns
 *	0, and to be closed at any time
 *
 * Return: 0; -ENOMEM.
 */
int epf_mirror_begin(int filter, __u32 order, __u32 shards,
		     struct epf_mirror **m);

/**
 * epf_mirror_step() - do some more of what was begun
 * @m: mirror
 *
 * A step reads and writes at most EPF_STEP_BYTES of lines and records (work.h).
 *
 * Return: 1: there is more; 0: it is done; or as what was begun.
 */
int epf_mirror_step(struct epf_mirror *m);

/**
 * epf_mirror_follow() - apply what is new
 * @m: mirror
 *
 * Afterwards it has every key whose insertion had returned when this was called
 * and that is of the window still, and is at the latest epoch that it knows of.
 *
 * Return: records applied; -EOVERFLOW: too much was; -ESTALE: the filter has
 * got other contents, or none. With either the mirror is behind, and stays so
 * until epf_mirror_renew().
 */
long epf_mirror_follow(struct epf_mirror *m);

/* In steps: what has been inserted now. Return: 0; -EOVERFLOW, -ESTALE. */
int epf_mirror_follow_begin(struct epf_mirror *m);

/**
 * epf_mirror_renew() - copy the lines again, also where they are other ones now
 * @m: mirror
 *
 * Views of it are to be made anew.
 *
 * Return: as epf_mirror_open(). With any other than 0 the mirror can only be
 * renewed again, or closed.
 */
int epf_mirror_renew(struct epf_mirror *m);
void epf_mirror_renew_begin(struct epf_mirror *m); /* in steps */

/* A view of the mirror, for audits; good until the next follow, renew or close.
 * It need not be settled.
 * An engine with memory of its own has the lines of an earlier one brought on by
 * the records that came since.
 */
void epf_mirror_view(const struct epf_mirror *m, struct epf_view *v);

/**
 * epf_mirror_header() - what describes the lines of the mirror
 * @m: mirror
 * @h: as of a snapshot taken at the end of the last follow, without the
 *	checksums. Insertions of epochs that are over are as the filter has
 *	them; those of the current one, and all, may lack some that were under
 *	way when the lines were copied, never more
 */
void epf_mirror_header(const struct epf_mirror *m, struct epf_snap_header *h);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_MIRROR_H */
