// SPDX-License-Identifier: GPL-2.0
/* Journals: beginning, mapping, ending. See journal.h. */
#include "journal.h"
#include "compat.h"

#include <linux/capability.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#define RECORD_WORDS (sizeof(struct epf_journal_record) / sizeof(u64))

static DEFINE_MUTEX(memory); /* serializes charging tables for journals */
static atomic64_t last_serial;

static void epf_journal_unref(struct epf_journal *j)
{
	struct epf_table *t = j->table;

	if (!refcount_dec_and_test(&j->refs))
		return;
	epf_table_shrink(t, j->mem, j->words);
	kfree(j);
	epf_table_put(t);
}

static u64 *epf_journal_get_memory(struct epf_table *t, u64 words)
{
	u64 *mem;

	mutex_lock(&memory);
	mem = epf_table_grow(t, words);
	mutex_unlock(&memory);
	return mem;
}

static struct epf_journal *epf_journal_new(struct epf_table *t, u32 order, u32 shards)
{
	struct epf_journal *j = kzalloc(sizeof(*j), GFP_KERNEL_ACCOUNT);
	u64 first = epf_journal_records_at(shards) / sizeof(u64);
	struct epf_journal_ring r;
	u64 *mem;
	u32 i;

	if (!j)
		return ERR_PTR(-ENOMEM);
	j->order = order;
	j->shards = shards;
	j->words = first + ((u64)shards << order) * RECORD_WORDS;
	mem = epf_journal_get_memory(t, j->words);
	if (mem == ERR_PTR(-ENOSPC)) {
		epf_wait_freed();
		mem = epf_journal_get_memory(t, j->words);
	}
	if (IS_ERR(mem)) {
		kfree(j);
		return ERR_CAST(mem);
	}
	j->mem = mem;
	j->record = (struct epf_journal_record *)(mem + first);
	for (i = 0; i < shards; i++) {
		r = epf_journal_ring(j, i);
		epf_journal_init(&r);
	}
	j->serial = atomic64_inc_return(&last_serial);
	refcount_set(&j->refs, 1);
	epf_table_get(t);
	j->table = t;
	return j;
}

/* Attach a journal to its table. The journal of a retired table is over from the beginning. */
static int epf_journal_attach(struct epf_table *t, struct epf_journal *j)
{
	unsigned long flags;
	int err = 0;

	epf_table_lock(t, &flags);
	if (epf_journal_locked(t)) {
		err = -EBUSY;
	} else if (t->retired) {
		epf_store_release(&epf_journal_head(j)->over, 1);
	} else {
		rcu_assign_pointer(t->journal, j);
		WRITE_ONCE(t->plain, false);
	}
	epf_table_unlock(t, flags);
	return err;
}

/**
 * epf_journal_begin() - begin a journal of a table of lanes
 * @t: table, by reference
 * @order: a ring has 2^@order records, 1 .. EPF_JOURNAL_ORDER_MAX
 * @shards: number of rings, a power of two
 *
 * Context: process; sleeps for a grace period.
 * Return: the journal, which records all insertions that begin after this call; or an error
 * pointer: -EBUSY: the table has a journal; -E2BIG: the limit of one filter; -ENOSPC: that of all;
 * -ENOMEM.
 */
struct epf_journal *epf_journal_begin(struct epf_table *t, u32 order, u32 shards)
{
	struct epf_journal *j = epf_journal_new(t, order, shards);
	int err;

	if (IS_ERR(j))
		return j;
	err = epf_journal_attach(t, j);
	if (err) {
		epf_journal_unref(j);
		return ERR_PTR(err);
	}
	synchronize_rcu();
	return j;
}

/**
 * epf_journal_stop() - end a journal, if it still is that of its table
 * @j: journal, by reference
 *
 * Context: process; never sleeps: writers may use the journal for another grace period.
 */
void epf_journal_stop(struct epf_journal *j)
{
	struct epf_table *t = j->table;
	unsigned long flags;

	epf_table_lock(t, &flags);
	if (epf_journal_locked(t) == j)
		epf_journal_over_locked(t);
	epf_table_unlock(t, flags);
}

/**
 * epf_journal_end() - end a journal and drop the descriptor's reference
 * @j: journal
 *
 * Context: process; sleeps for a grace period.
 */
void epf_journal_end(struct epf_journal *j)
{
	epf_journal_stop(j);
	synchronize_rcu(); /* no writer uses it after this */
	epf_journal_unref(j);
}

static void epf_journal_vma_open(struct vm_area_struct *vma)
{
	struct epf_journal *j = vma->vm_private_data;

	refcount_inc(&j->refs);
}

static void epf_journal_vma_close(struct vm_area_struct *vma)
{
	epf_journal_unref(vma->vm_private_data);
}

static vm_fault_t epf_journal_vma_fault(struct vm_fault *vmf)
{
	const struct epf_journal *j = vmf->vma->vm_private_data;

	return epf_map_fault(vmf, j->mem, EPF_MMAP_JOURNAL >> PAGE_SHIFT, epf_journal_bytes(j));
}

static const struct vm_operations_struct vma_ops = {
	.open = epf_journal_vma_open,
	.close = epf_journal_vma_close,
	.fault = epf_journal_vma_fault,
};

/**
 * epf_journal_mmap() - map the rings
 * @j: journal, by reference
 * @vma: from EPF_MMAP_JOURNAL on
 *
 * The mapping takes a reference.
 *
 * Context: process; with mmap_lock.
 * Return: 0; -EPERM: no CAP_NET_ADMIN; -EINVAL: beyond the rings.
 */
int epf_journal_mmap(struct epf_journal *j, struct vm_area_struct *vma)
{
	u64 first = vma->vm_pgoff - (EPF_MMAP_JOURNAL >> PAGE_SHIFT);
	int err = capable(CAP_NET_ADMIN) ? 0 : -EPERM;

	err = err ?: epf_map(vma, first, epf_journal_bytes(j), &vma_ops, j);
	if (!err)
		refcount_inc(&j->refs);
	return err;
}
