// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the module in a process: read-only for good, and some pages each
 * time one is touched, or a copy of gigabytes would wait for a fault a page.
 */
#include "map.h"
#include "compat.h"

#include <linux/vmalloc.h>

/* What a fault maps, 256 KiB of what lies round it, and how much of that at once. */
#define AROUND_BYTES (64 * PAGE_SIZE)
#define TOGETHER 16ul

/* Pages that are there already end a group early, and are well as they are;
 * where memory for page tables is missing the next fault has it or says so.
 */
static void map_group(struct vm_area_struct *vma, unsigned long at,
		      const u8 *mem, unsigned long nr)
{
	struct page *pages[TOGETHER];
	unsigned long i;

	for (i = 0; i < nr; i++)
		pages[i] = vmalloc_to_page(mem + i * PAGE_SIZE);
	vm_insert_pages(vma, at, pages, &nr);
}

/* Whole mapped groups round @vmf, whose page is at @mem. */
static void map_around(const struct vm_fault *vmf, const u8 *mem)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long first = round_down(vmf->address, AROUND_BYTES);
	unsigned long end = min(vma->vm_end, first + AROUND_BYTES);
	unsigned long at, nr;

	for (at = max(vma->vm_start, first); at < end; at += nr * PAGE_SIZE) {
		nr = min((end - at) >> PAGE_SHIFT, TOGETHER);
		map_group(vma, at, mem - (vmf->address - at), nr);
	}
}

/**
 * epf_map_fault() - a page was touched
 * @vmf: fault of a mapping that epf_vma_seal_readonly() sealed
 * @mem: vmalloc memory, the page of the mapping's first offset 0
 * @off: of the page in @mem
 * @bytes: of @mem, whole pages; no mapping goes beyond
 *
 * Context: the handler of the mapping; the owner of @mem keeps it until the
 * mapping is closed.
 * Return: 0; VM_FAULT_SIGBUS: behind @bytes.
 */
vm_fault_t epf_map_fault(struct vm_fault *vmf, const void *mem, u64 off,
			 u64 bytes)
{
	if (off >= bytes)
		return VM_FAULT_SIGBUS;
	map_around(vmf, (const u8 *)mem + off);
	vmf->page = vmalloc_to_page((const u8 *)mem + off);
	get_page(vmf->page);
	return 0;
}
