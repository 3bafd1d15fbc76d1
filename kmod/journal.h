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

/**
 * struct epf_journal - a journal
 * @table: the table that it records, by reference
 * @refs: its descriptor and mappings; packet paths hold none, they find it under RCU
 * @serial: different from that of every other journal
 * @mem: all the memory that is mapped
 * @words: size of @mem in words
 * @record: the rings, one after the other, in @mem
 * @order: a ring has 2^@order records
 * @shards: number of rings, a power of two
 */
struct epf_journal {
	struct epf_table *table;
	refcount_t refs;
	u64 serial;
	u64 *mem;
	u64 words;
	struct epf_journal_record *record;
	u32 order;
	u32 shards;
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

/* Caller holds the lock of @t. */
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
u64 epf_journal_serial(struct epf_table *t);
u64 epf_journal_bytes(const struct epf_journal *j);
u64 epf_journal_records_at(u32 shards);
int epf_journal_mmap(struct epf_journal *j, struct vm_area_struct *vma);

#endif /* EPF_KMOD_JOURNAL_H */
