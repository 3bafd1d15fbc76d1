// SPDX-License-Identifier: GPL-2.0
/* How many bytes the first buffer of a packet has. That is a difference of two pointers,
 * which a program may only compute with CAP_PERFMON.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp.frags")
int first(struct xdp_md *ctx)
{
	return (int)(ctx->data_end - ctx->data);
}

char LICENSE[] SEC("license") = "GPL";
