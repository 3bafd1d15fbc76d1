/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: the journal of a filter, mapped. A filter has one journal, so a mirror (mirror.h) and
 * a tail (tail.h) of one filter in one process share it: both only read.
 *
 * Functions return 0 or a negative errno unless they say otherwise, and print nothing. Any
 * thread may call them.
 */
#ifndef LIBEPF_RINGS_H
#define LIBEPF_RINGS_H

#include <stdbool.h>

#include "epf/journal.h"

/**
 * struct epf_rings - a journal that is read
 * @filter: descriptor of its own
 * @id: of the filter
 * @args: as EPF_IOC_JOURNAL returned it
 * @map: the mapping
 * @ring: @args.shards rings
 * @keep: a journal of a filter without the module goes on when nobody reads it any more
 * @users: those that have it
 * @next: the next one of this process; those that are over may have left the list
 */
struct epf_rings {
	int filter;
	__u32 id;
	struct epf_journal_args args;
	void *map;
	struct epf_journal_ring *ring;
	bool keep;
	unsigned int users;
	struct epf_rings *next;
};

/**
 * epf_rings_get() - begin a journal, or use that of this process
 * @filter: descriptor, which stays the caller's
 * @order: for a new journal, see struct epf_journal_args
 * @shards: likewise
 * @r: result
 *
 * A journal of a filter without the module that another process has left goes on.
 *
 * Return: 0; -EBUSY: another process has it; -ENOMEM; an error of EPF_IOC_JOURNAL.
 */
int epf_rings_get(int filter, __u32 order, __u32 shards, struct epf_rings **r);
/* Return: another descriptor of @filter. */
int epf_rings_reopen(int filter);
/* The last user ends the journal, unless it is kept. */
void epf_rings_put(struct epf_rings *r);
/* Wait for insertions under way: EPF_JOURNAL_SYNC. */
int epf_rings_sync(struct epf_rings *r);

static inline struct epf_journal_head *epf_rings_head(const struct epf_rings *r)
{
	return (struct epf_journal_head *)r->map;
}

/* Has the filter other contents by now, or none? */
static inline bool epf_rings_over(const struct epf_rings *r)
{
	return epf_load_acquire(&epf_rings_head(r)->over);
}

#endif /* LIBEPF_RINGS_H */
