/* SPDX-License-Identifier: GPL-2.0 */
#ifndef EPF_KMOD_MAP_H
#define EPF_KMOD_MAP_H

#include <linux/mm.h>

vm_fault_t epf_map_fault(struct vm_fault *vmf, const void *mem, u64 off, u64 bytes);

#endif /* EPF_KMOD_MAP_H */
