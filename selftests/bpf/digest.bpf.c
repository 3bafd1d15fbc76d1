// SPDX-License-Identifier: GPL-2.0
/* The digest of one packet without the module; driven by digest.c. */
#include "../../bpf/epf_packet.bpf.h"
#include "digest.h"

struct digest_shared shared;

SEC("xdp.frags")
int digest(struct xdp_md *ctx)
{
	__u64 d = 0;

	shared.iface = ctx->ingress_ifindex;
	if (shared.skip && bpf_xdp_adjust_head(ctx, (int)shared.skip))
		return XDP_ABORTED;
	shared.ret = epf_xdp_digest(ctx, &shared.hash, &shared.opts, &d);
	shared.digest = d;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
