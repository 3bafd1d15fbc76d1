/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Journals record the insertions into the lines of a table and the ends of its epochs, for one
 * reader that maps the rings (include/epf/journal.h).
 *
 * Shared words:
 *
 *   table.journal  Written under the table's lock; read under it, or in an RCU
 *                  section. The ioctl that sets or clears it returns a grace
 *                  period later, so that no section is left that uses the previous
 *                  value.
 *   table.plain    Likewise, and only a hint: packet paths that see an old value
 *                  are in RCU sections that began before the change.
 *   head->over     Written once, before table.journal is cleared and before the
 *                  filter has another table; read by user space.
 */
#ifndef EPF_KMOD_JOURNAL_H
#define EPF_KMOD_JOURNAL_H

#include "table.h"

#include <epf/journal.h>

/* A journal. */
struct epf_journal {
	struct epf_table *table; /* that it records, by reference */
	refcount_t refs;         /* descriptor and mappings; packet paths find it under RCU */
	u64 serial;              /* different from that of every other journal */
	u64 *mem;                /* all the memory that is mapped */
	u64 words;               /* size of @mem */
	struct epf_journal_record *record; /* the rings, one after the other, in @mem */
	u32 order;                         /* a ring has 2^@order records */
	u32 shards;                        /* number of rings, a power of two */
};

static inline struct epf_journal_head *epf_journal_head(const struct epf_journal *j)
{
	return (struct epf_journal_head *)j->mem;
}

static inline struct epf_journal_ring epf_journal_ring(const struct epf_journal *j, u32 n)
{
	u8 *shards = (u8 *)j->mem + EPF_JOURNAL_SHARD_BYTES;
	struct epf_journal_ring r = {
		.shard = (struct epf_journal_shard *)shards + n,
		.record = j->record + ((u64)n << j->order),
		.mask = (1ULL << j->order) - 1,
	};

	return r;
}

/* Offset of the first ring in the mapping, in bytes. */
static inline u64 epf_journal_records_at(u32 shards)
{
	return PAGE_ALIGN((1 + (u64)shards) * EPF_JOURNAL_SHARD_BYTES);
}

/* Size of the mapping in bytes. */
static inline u64 epf_journal_bytes(const struct epf_journal *j)
{
	return PAGE_ALIGN(j->words * sizeof(u64));
}

/* With the lock of @t. */
static inline struct epf_journal *epf_journal_locked(struct epf_table *t)
{
	return rcu_dereference_protected(t->journal, lockdep_is_held(&t->lock));
}

/* record.c: */
void epf_journal_rotated(struct epf_table *t, u64 now_ns);
void epf_journal_over_locked(struct epf_table *t);

/* journal.c: */
struct epf_journal *epf_journal_begin(struct epf_table *t, u32 order, u32 shards);
void epf_journal_stop(struct epf_journal *j);
void epf_journal_end(struct epf_journal *j);
int epf_journal_mmap(struct epf_journal *j, struct vm_area_struct *vma);

#endif /* EPF_KMOD_JOURNAL_H */
