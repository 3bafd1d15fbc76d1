/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slot map, shared by the programs of one interface. */
#ifndef EPF_SLOT_BPF_H
#define EPF_SLOT_BPF_H

#ifdef EPF_INLINE
#include "epf_packet.bpf.h"
#include "epf_inline.bpf.h"
#else
#include "epf_kfunc.bpf.h"
#define EPF_XDP_REF EPF_KPTR *
#endif
#include <epf/xdp.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_xdp_slot);
} epf_slot SEC(".maps");

#endif /* EPF_SLOT_BPF_H */
