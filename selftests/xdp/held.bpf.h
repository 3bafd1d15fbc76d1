/* SPDX-License-Identifier: GPL-2.0 */
/* A place for a reference to a filter, which a syscall program puts there. */
#ifndef EPF_XDP_HELD_H
#define EPF_XDP_HELD_H

#include "../../bpf/epf_kfunc.bpf.h"

struct held {
	EPF_KPTR *filter;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct held);
} held SEC(".maps");

static __always_inline struct held *get_held(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&held, &zero);
}

#endif /* EPF_XDP_HELD_H */
