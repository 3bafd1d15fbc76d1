// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of module memory in user space. They stay read-only for good. A fault
 * maps the surrounding pages too, because a copy of gigabytes would otherwise
 * take one fault for each page. Pages are mapped by number (PFN): the memory
 * belongs to the filter and is charged to its creator, so a reader is not
 * charged again in its RSS, by which the OOM killer chooses.
 */
#include "map.h"
#include "compat.h"

#include <linux/vmalloc.h>

/* A fault maps the aligned 256 KiB around its address. */
#define AROUND_BYTES (64 * PAGE_SIZE)

/* Map the page of @vmf, which lies at @mem, and the pages around it. Pages that
 * are already mapped stay as they are. Only an error for the faulting page itself
 * (no memory for page tables) is reported.
 */
static vm_fault_t epf_map_around(const struct vm_fault *vmf, const u8 *mem)
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
 * epf_map_fault() - handle a fault of a mapping
 * @vmf: fault of a mapping that epf_vma_seal_readonly() sealed
 * @mem: vmalloc memory; offset 0 of the mapped object
 * @off: offset of the faulting page in @mem, in bytes
 * @bytes: size of @mem, whole pages; no mapping extends beyond it
 *
 * Context: fault handler of the mapping. The owner of @mem keeps it until the
 * mapping is closed.
 * Return: VM_FAULT_NOPAGE: mapped; VM_FAULT_SIGBUS: @off is beyond @bytes;
 * VM_FAULT_OOM.
 */
vm_fault_t epf_map_fault(struct vm_fault *vmf, const void *mem, u64 off, u64 bytes)
{
	if (off >= bytes)
		return VM_FAULT_SIGBUS;
	return epf_map_around(vmf, (const u8 *)mem + off);
}
