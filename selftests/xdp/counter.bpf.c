// SPDX-License-Identifier: GPL-2.0
/* A second XDP program: counts the packets that reach it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} epf_other SEC(".maps");

SEC("xdp.frags")
int count_packets(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&epf_other, &zero);

	if (count)
		++*count;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
