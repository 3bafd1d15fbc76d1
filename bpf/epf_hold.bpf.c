// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Put a filter of the module into the map of an attachment, and take it out. The tool runs
 * this; programs may be at work meanwhile.
 */
#include <linux/errno.h>

#include "epf_held.bpf.h"
#include <epf/xdp.h>

/* @f may be NULL. Return: -ENOENT: there is no map. */
static __always_inline int put(struct epf_filter *f)
{
	__u32 zero = 0;
	struct epf_held *held = bpf_map_lookup_elem(&epf_held, &zero);

	if (held)
		f = bpf_kptr_xchg(&held->filter, f);
	if (f)
		bpf_epf_release(f);
	return held ? 0 : -ENOENT;
}

SEC("syscall")
int epf_hold(struct epf_xdp_bind *arg)
{
	struct epf_filter *f = bpf_epf_acquire(arg->id);

	return f ? put(f) : -ENOENT;
}

SEC("syscall")
int epf_let_go(void *arg)
{
	return put(NULL);
}

char _license[] SEC("license") = "Dual BSD/GPL";
