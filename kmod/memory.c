// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of tables: charged against the limits before it is allocated, by
 * compare-and-swap, so that the limits hold for any number of callers.
 */
#include "compat.h"
#include "limits.h"
#include "table.h"

#include <linux/rcupdate.h>
#include <linux/vmalloc.h>

struct workqueue_struct *epf_wq;
EPF_EXPORT(epf_wq);

static atomic64_t total_bytes; /* charged bytes; changed by CAS within the limit */

static bool epf_memory_try_charge(u64 bytes)
{
	s64 limit = epf_max_total_bytes();
	s64 old = atomic64_read(&total_bytes);

	do {
		if (bytes > limit || old > limit - (s64)bytes)
			return false;
	} while (!atomic64_try_cmpxchg(&total_bytes, &old, old + bytes));
	return true;
}

/**
 * epf_wait_freed() - wait until destroyed tables are freed
 *
 * Destroyed tables are freed asynchronously, so callers wait here and try again
 * before they report that there is no memory.
 *
 * Context: process; sleeps; not the workers.
 */
void epf_wait_freed(void)
{
	rcu_barrier();
	flush_workqueue(epf_wq);
}
EPF_EXPORT(epf_wait_freed);

/**
 * epf_charge() - charge memory against the limits
 * @bytes: of one filter
 *
 * Context: as epf_wait_freed().
 * Return: 0, -E2BIG, -ENOSPC.
 */
int epf_charge(u64 bytes)
{
	if (bytes > epf_max_filter_bytes())
		return -E2BIG;
	if (epf_memory_try_charge(bytes))
		return 0;
	epf_wait_freed();
	return epf_memory_try_charge(bytes) ? 0 : -ENOSPC;
}

/**
 * epf_uncharge() - the opposite of epf_charge()
 * @bytes: that have been charged
 */
void epf_uncharge(u64 bytes)
{
	atomic64_sub(bytes, &total_bytes);
}

/**
 * epf_alloc_lines() - allocate zeroed memory that is charged already
 * @bytes: whole pages
 *
 * Use huge pages if they are readily available; compacting memory for them would
 * keep a CPU busy for many seconds. Do not try to allocate more than is available:
 * that would first push everything else out of memory.
 *
 * Context: process; sleeps.
 * Return: the memory, or NULL.
 */
struct epf_line *epf_alloc_lines(u64 bytes)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
	void *lines;

	if (bytes >> PAGE_SHIFT > si_mem_available())
		return NULL;
	lines = vmalloc_huge(bytes, gfp | __GFP_NORETRY);
	return lines ?: __vmalloc(bytes, gfp | __GFP_RETRY_MAYFAIL);
}

/**
 * epf_table_grow() - allocate more memory for a table, zeroed
 * @t: table
 * @words: size in 64-bit words
 *
 * Context: process; sleeps. Called by the worker of the table, or before the table
 * is published. For lanes, whose worker needs no memory, callers serialize
 * themselves.
 * Return: the memory, charged against the limits, or an error pointer: -E2BIG,
 * -ENOSPC: limits; -ENOMEM.
 */
u64 *epf_table_grow(struct epf_table *t, u64 words)
{
	u64 bytes = PAGE_ALIGN(words * sizeof(u64));
	u64 *word;

	if (bytes > epf_max_filter_bytes() ||
	    atomic64_read(&t->bytes) > epf_max_filter_bytes() - bytes)
		return ERR_PTR(-E2BIG);
	if (!epf_memory_try_charge(bytes))
		return ERR_PTR(-ENOSPC);
	word = (u64 *)epf_alloc_lines(bytes);
	if (!word) {
		epf_uncharge(bytes);
		return ERR_PTR(-ENOMEM);
	}
	atomic64_add(bytes, &t->bytes);
	return word;
}
EPF_EXPORT(epf_table_grow);

/**
 * epf_table_shrink() - free memory from epf_table_grow()
 * @t: table
 * @word: the memory
 * @words: its size, as passed to epf_table_grow()
 *
 * Context: as epf_table_grow(); no operation can still use the memory.
 */
void epf_table_shrink(struct epf_table *t, u64 *word, u64 words)
{
	u64 bytes = PAGE_ALIGN(words * sizeof(u64));

	vfree(word);
	atomic64_sub(bytes, &t->bytes);
	epf_uncharge(bytes);
}
EPF_EXPORT(epf_table_shrink);
