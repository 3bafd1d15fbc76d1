/* SPDX-License-Identifier: GPL-2.0 */
/* A map slot for a reference, the id of a filter that the loader makes, and the program
 * that puts it there: for programs that cannot acquire it themselves.
 */
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

SEC("syscall")
int fill_slot(void *ctx)
{
	struct epf_filter *f = bpf_epf_acquire(filter_id);
	struct slot *slot = get_slot();

	if (f && slot)
		f = bpf_kptr_xchg(&slot->filter, f);
	if (f)
		bpf_epf_release(f);
	return 0;
}

static __always_inline struct epf_filter *take_filter(void)
{
	struct slot *slot = get_slot();

	return slot ? bpf_kptr_xchg(&slot->filter, NULL) : NULL;
}

char _license[] SEC("license") = "GPL";

#endif /* EPF_PROGS_SLOT_H */
