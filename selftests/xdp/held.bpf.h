/* SPDX-License-Identifier: GPL-2.0 */
/* A place for a reference to a filter, which a syscall program puts there. */
#ifndef EPF_XDP_HELD_H
#define EPF_XDP_HELD_H

#include "../../bpf/epf_kfunc.bpf.h"

#include <stdbool.h>

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

/* Put the filter back. */
static __always_inline void put_held(struct held *h, struct epf_filter *f)
{
	f = bpf_kptr_xchg(&h->filter, f);
	if (f)
		bpf_epf_release(f);
}

/* Hold filter @id, if the caller may have it, else none. Return: is it held? */
static __always_inline bool hold(__u32 id)
{
	struct epf_filter *f = bpf_epf_acquire(id);
	struct held *h = get_held();
	bool got = f;

	if (h && f)
		f = bpf_kptr_xchg(&h->filter, f);
	else if (h)
		f = bpf_kptr_xchg(&h->filter, NULL);
	if (f)
		bpf_epf_release(f);
	return got;
}

#endif /* EPF_XDP_HELD_H */
