// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Put a filter into the slot of every CPU, and take it out. The tool runs this while no
 * program works on the slots.
 */
#include <linux/errno.h>

#include "epf_slot.bpf.h"

#define CPUS_MAX 65536

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_xdp_conf);
} epf_conf SEC(".maps");

struct walk {
	struct epf_xdp_bind arg;
	int ret;
};

static void put(struct epf_xdp_slot *slot, struct epf_filter *f)
{
	f = bpf_kptr_xchg(&slot->filter, f);
	if (f)
		bpf_epf_release(f);
}

/* bpf_loop() callback: 1 ends the walk, after the last CPU or on error. */
static long bind_cpu(__u32 cpu, struct walk *walk)
{
	__u32 zero = 0;
	struct epf_xdp_slot *slot;
	struct epf_filter *f;

	slot = bpf_map_lookup_percpu_elem(&epf_slot, &zero, cpu);
	if (!slot)
		return 1;
	f = bpf_epf_acquire(walk->arg.id);
	if (!f) {
		walk->ret = -ENOENT;
		return 1;
	}
	slot->opts = walk->arg.opts;
	put(slot, f);
	return 0;
}

static long unbind_cpu(__u32 cpu, void *unused)
{
	__u32 zero = 0;
	struct epf_xdp_slot *slot;

	slot = bpf_map_lookup_percpu_elem(&epf_slot, &zero, cpu);
	if (!slot)
		return 1;
	put(slot, NULL);
	return 0;
}

SEC("syscall")
int epf_bind(struct epf_xdp_bind *arg)
{
	struct walk walk = { .arg = *arg };

	bpf_loop(CPUS_MAX, bind_cpu, &walk, 0);
	return walk.ret;
}

SEC("syscall")
int epf_unbind(void *arg)
{
	bpf_loop(CPUS_MAX, unbind_cpu, NULL, 0);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
