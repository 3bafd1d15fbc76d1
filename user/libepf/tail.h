/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: tails. A tail hands out the digests that are newly inserted into a live filter of kind
 * lanes, from the filter's journal. A mirror of the filter in this process may use the same
 * journal (rings.h).
 *
 * Only one thread uses a tail, and a filter has one at most. Functions return 0 or a
 * negative errno unless they say otherwise, and print nothing. CAP_NET_ADMIN is needed,
 * without the module CAP_BPF.
 *
 * A filter with the module loses its journal with the reader. Without the module the journal
 * outlives it: the next tail begins where the last one had been told (epf_tail_acked()) that
 * what it handed out has arrived.
 */
#ifndef LIBEPF_TAIL_H
#define LIBEPF_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct epf_tail;

#define EPF_TAIL_NOTE 4u /* words */

/**
 * epf_tail_open() - begin a journal, or go on with the one that there is
 * @filter: descriptor, which stays the caller's and may be closed
 * @order: a new journal has 2^@order records for each CPU, of 32 bytes: as many insertions as
 *	may come between two calls of epf_tail_read()
 * @t: set to the tail, or to NULL
 *
 * Return: 0; -EBUSY: another process has the journal; -EOPNOTSUPP: a locked kind; -ENOMEM; an
 * error of EPF_IOC_JOURNAL.
 */
int epf_tail_open(int filter, __u32 order, struct epf_tail **t);
/* NULL is well. Without the module the journal goes on, for the next tail. */
void epf_tail_close(struct epf_tail *t);
/* The same, and the journal ends, unless a mirror has it. */
void epf_tail_end(struct epf_tail *t);

/**
 * epf_tail_serial() - which journal it is
 * @t: tail
 *
 * Return: a number that no other journal has. It is the same after epf_tail_open() if that
 * went on with a journal, and another one after epf_tail_renew().
 */
__u64 epf_tail_serial(const struct epf_tail *t);

/**
 * epf_tail_read() - hand out new digests
 * @t: tail
 * @digest: result
 * @room: the most to hand out, at least 1
 * @lost: records that were overwritten before they were read, or could not be written, are
 *	added to this
 *
 * After it returned less than @room, everything whose insertion had returned before the call
 * has been handed out, but for as many as were lost. A digest is handed out when the lanes of
 * the current epoch lacked it: so once an epoch, seldom twice, and before the insertion
 * returns. A key whose bits other keys had set is not new (this is the filter's error).
 *
 * It waits for the insertions that are under way, which takes some ms.
 *
 * Return: how many; -ESTALE: the filter has other contents, or none: what was not handed out
 * is lost, see epf_tail_renew(); another error: nothing was handed out, try again.
 */
long epf_tail_read(struct epf_tail *t, __u64 *digest, size_t room, __u64 *lost);

/**
 * epf_tail_mark() - note what has been handed out so far
 * @t: tail
 * @mark: result: a number, higher than that of earlier marks
 *
 * Return: 0; -ENOMEM.
 */
int epf_tail_mark(struct epf_tail *t, __u64 *mark);

/**
 * epf_tail_acked() - what had been handed out at @mark is not needed again
 * @t: tail
 * @mark: of epf_tail_mark(); earlier marks are forgotten. One of before a renewal is ignored
 * @note: EPF_TAIL_NOTE words for the next tail; NULL: leave them
 *
 * A process that is killed here has stored @note, and perhaps not yet that.
 */
void epf_tail_acked(struct epf_tail *t, __u64 mark, const __u64 *note);
/* The words that were stored last, also by an earlier process; zero if the journal is new. */
void epf_tail_note(const struct epf_tail *t, __u64 note[EPF_TAIL_NOTE]);

/**
 * epf_tail_renew() - go on with other contents of the filter, in a new journal
 * @t: tail
 *
 * Return: as epf_tail_open(); -ENOENT: the filter was destroyed. After an error the tail can
 * only be renewed again or closed.
 */
int epf_tail_renew(struct epf_tail *t);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_TAIL_H */
