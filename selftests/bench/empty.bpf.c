// SPDX-License-Identifier: GPL-2.0
/* A program that does nothing; it can be loaded as any type. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int empty(void *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
