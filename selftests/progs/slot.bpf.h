/* SPDX-License-Identifier: GPL-2.0 */
/* A place for a reference, and the id of a filter that the loader makes. */
#ifndef EPF_PROGS_SLOT_H
#define EPF_PROGS_SLOT_H

#include "../../bpf/epf_kfunc.bpf.h"
#include "expect.h"

struct slot {
	EPF_KPTR *filter;
	__u64 scratch;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

static __always_inline struct slot *get_slot(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&slots, &zero);
}

const volatile __u32 filter_id = 1;

char _license[] SEC("license") = "GPL";

#endif /* EPF_PROGS_SLOT_H */
