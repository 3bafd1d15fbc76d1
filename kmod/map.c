// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the module in a process: read-only for good, and some pages each
 * time one is touched, or a copy of gigabytes would wait for a fault a page. Mapped
 * by number, not as pages: it is the filter's memory, charged to who made it, and
 * who reads it is not charged again (RSS, which the OOM killer goes by).
 */
#include "map.h"
#include "compat.h"

#include <linux/vmalloc.h>

/* What a fault maps: 256 KiB of what lies round it. */
#define AROUND_BYTES (64 * PAGE_SIZE)

/* The page of @vmf, at @mem, and whole those round it. What is there already is well
 * as it is; where memory for page tables is missing the fault of that page says so.
 */
static vm_fault_t map_around(const struct vm_fault *vmf, const u8 *mem)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long first = round_down(vmf->address, AROUND_BYTES);
	unsigned long end = min(vma->vm_end, first + AROUND_BYTES);
	unsigned long at, here = round_down(vmf->address, PAGE_SIZE);
	vm_fault_t ret = VM_FAULT_NOPAGE, one;

	for (at = max(vma->vm_start, first); at < end; at += PAGE_SIZE) {
		one = vmf_insert_pfn(vma, at, vmalloc_to_pfn(mem + (at - here)));
		if (at == here)
			ret = one;
	}
	return ret;
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
 * Return: VM_FAULT_NOPAGE: it is mapped; VM_FAULT_SIGBUS: behind @bytes;
 * VM_FAULT_OOM.
 */
vm_fault_t epf_map_fault(struct vm_fault *vmf, const void *mem, u64 off,
			 u64 bytes)
{
	if (off >= bytes)
		return VM_FAULT_SIGBUS;
	return map_around(vmf, (const u8 *)mem + off);
}
