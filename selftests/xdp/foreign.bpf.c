// SPDX-License-Identifier: GPL-2.0
/* Metadata of another program, as long as that of action mark. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include <epf/xdp.h>

SEC("xdp")
int write_foreign(struct xdp_md *ctx)
{
	struct epf_xdp_meta *meta;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return XDP_DROP;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return XDP_DROP;
	meta->magic = EPF_XDP_META_MAGIC + 1;
	meta->age = 77;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
