// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of tables: charged against the limits before it is allocated, by compare-and-swap, so that
 * the limits hold for any number of callers; and its mappings in user space.
 */
#include "compat.h"
#include "table.h"

#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

/* Limits, which may change at any time. */
unsigned int epf_max_filters = 1024;
module_param_named(max_filters, epf_max_filters, uint, 0644);
MODULE_PARM_DESC(max_filters, "maximum number of filters");

static unsigned int max_filter_mib;
module_param(max_filter_mib, uint, 0644);
MODULE_PARM_DESC(max_filter_mib, "maximum size of one filter in MiB (0: half of the RAM)");

static unsigned int max_total_mib;
module_param(max_total_mib, uint, 0644);
MODULE_PARM_DESC(max_total_mib, "maximum size of all filters together in MiB (0: half of the RAM)");

struct workqueue_struct *epf_wq;
EPF_EXPORT(epf_wq);

static atomic64_t total_bytes; /* charged bytes; changed by CAS within the limit */

static u64 epf_memory_limit(const unsigned int *mib)
{
	return (u64)READ_ONCE(*mib) << 20 ?: (u64)totalram_pages() << PAGE_SHIFT >> 1;
}

static bool epf_memory_try_charge(u64 bytes)
{
	s64 limit = epf_memory_limit(&max_total_mib);
	s64 old = atomic64_read(&total_bytes);

	do {
		if (bytes > limit || old > limit - (s64)bytes)
			return false;
	} while (!atomic64_try_cmpxchg(&total_bytes, &old, old + bytes));
	return true;
}

/**
 * epf_wait_freed() - wait until destroyed tables are freed, before reporting that memory is short
 * Context: sleeps; not a worker.
 */
void epf_wait_freed(void)
{
	rcu_barrier();
	flush_workqueue(epf_wq);
}
EPF_EXPORT(epf_wait_freed);

/**
 * epf_charge() - charge the memory of one filter against the limits
 * @bytes: of whole pages
 *
 * Context: as epf_wait_freed().
 * Return: 0; -E2BIG: the limit of one filter; -ENOSPC: that of all.
 */
int epf_charge(u64 bytes)
{
	if (bytes > epf_memory_limit(&max_filter_mib))
		return -E2BIG;
	if (epf_memory_try_charge(bytes))
		return 0;
	epf_wait_freed();
	return epf_memory_try_charge(bytes) ? 0 : -ENOSPC;
}

/**
 * epf_uncharge() - give back what was charged
 * @bytes: as charged
 *
 * Context: any.
 */
void epf_uncharge(u64 bytes)
{
	atomic64_sub(bytes, &total_bytes);
}

/* Use huge pages if they are readily available: compacting memory would take many seconds. Do not
 * allocate more than is available: that would first push everything else out.
 */
static void *epf_memory_alloc(u64 bytes)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
	void *lines;

	if (bytes >> PAGE_SHIFT > si_mem_available())
		return NULL;
	lines = vmalloc_huge(bytes, gfp | __GFP_NORETRY);
	return lines ?: __vmalloc(bytes, gfp | EPF_VMALLOC_HARD);
}

/**
 * epf_alloc_lines() - allocate zeroed memory
 * @t: table whose memory it is
 * @bytes: of whole pages, charged already
 *
 * Whoever allocates, a worker for example, the memory counts for the memory control group of the
 * process that made the table.
 *
 * Context: sleeps.
 * Return: the memory, or NULL.
 */
struct epf_line *epf_alloc_lines(const struct epf_table *t, u64 bytes)
{
	struct mem_cgroup *before = set_active_memcg(t->creator);
	void *lines = epf_memory_alloc(bytes);

	set_active_memcg(before);
	return (struct epf_line *)lines;
}

/**
 * epf_table_grow() - allocate more memory for a table
 * @t: table
 * @words: number of 64-bit words, 1 and up
 *
 * Context: sleeps. The worker of the table, or before it is published. For lanes, whose worker
 * needs no memory, callers serialize themselves.
 * Return: the memory, zeroed and charged, or an error pointer: -E2BIG: the limit of one filter, or
 * of its shape; -ENOSPC: that of all; -ENOMEM.
 */
u64 *epf_table_grow(struct epf_table *t, u64 words)
{
	u64 bytes = PAGE_ALIGN(words * sizeof(u64));
	u64 most = min_not_zero(epf_memory_limit(&max_filter_mib), t->most);
	u64 *word;

	if (bytes > most || atomic64_read(&t->bytes) > most - bytes)
		return ERR_PTR(-E2BIG);
	if (!epf_memory_try_charge(bytes))
		return ERR_PTR(-ENOSPC);
	word = (u64 *)epf_alloc_lines(t, bytes);
	if (!word) {
		epf_uncharge(bytes);
		return ERR_PTR(-ENOMEM);
	}
	atomic64_add(bytes, &t->bytes);
	return word;
}
EPF_EXPORT(epf_table_grow);

/**
 * epf_table_shrink() - free memory of epf_table_grow() that nobody uses
 * @t: table
 * @word: the memory
 * @words: number of 64-bit words, as allocated
 *
 * Context: as epf_table_grow().
 */
void epf_table_shrink(struct epf_table *t, u64 *word, u64 words)
{
	u64 bytes = PAGE_ALIGN(words * sizeof(u64));

	vfree(word);
	atomic64_sub(bytes, &t->bytes);
	epf_uncharge(bytes);
}
EPF_EXPORT(epf_table_shrink);

/* A fault maps the aligned 256 KiB around its address: a copy of gigabytes takes fewer faults. */
#define AROUND_BYTES (64 * PAGE_SIZE)

/**
 * epf_map() - prepare a mapping that is neither writable nor executable, for good
 * @vma: mapping
 * @first: page of the file that begins the memory
 * @bytes: of the memory, whole pages
 * @ops: its fault calls epf_map_fault()
 * @owner: keeps the memory until the mapping is closed
 *
 * Context: process; with mmap_lock.
 * Return: 0; -EINVAL: it extends beyond @bytes.
 */
int epf_map(struct vm_area_struct *vma, u64 first, u64 bytes,
	    const struct vm_operations_struct *ops, void *owner)
{
	u64 pages = bytes >> PAGE_SHIFT;

	if (first > pages || vma_pages(vma) > pages - first)
		return -EINVAL;
	epf_vma_seal_readonly(vma);
	vma->vm_ops = ops;
	vma->vm_private_data = owner;
	return 0;
}

/**
 * epf_map_fault() - handle a fault of a mapping that epf_map() prepared
 * @vmf: fault
 * @mem: vmalloc memory
 * @first: as of epf_map()
 * @bytes: as of epf_map()
 *
 * Pages are mapped by number (PFN): the memory belongs to the filter and is charged to its creator,
 * so a reader is not charged again in its RSS, by which the OOM killer chooses.
 *
 * Context: process; sleeps.
 * Return: VM_FAULT_NOPAGE: mapped; VM_FAULT_SIGBUS: beyond @bytes; VM_FAULT_OOM: no memory for the
 * page tables of the faulting page itself.
 */
vm_fault_t epf_map_fault(struct vm_fault *vmf, const void *mem, u64 first, u64 bytes)
{
	const u8 *page = (const u8 *)mem + ((vmf->pgoff - first) << PAGE_SHIFT);
	struct vm_area_struct *vma = vmf->vma;
	unsigned long from = round_down(vmf->address, AROUND_BYTES);
	unsigned long end = min(vma->vm_end, from + AROUND_BYTES);
	unsigned long at, here = round_down(vmf->address, PAGE_SIZE);
	vm_fault_t ret = VM_FAULT_NOPAGE, one;

	if (vmf->pgoff - first >= bytes >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	for (at = max(vma->vm_start, from); at < end; at += PAGE_SIZE) {
		one = vmf_insert_pfn(vma, at, vmalloc_to_pfn(page + (at - here)));
		if (at == here)
			ret = one;
	}
	return ret;
}
