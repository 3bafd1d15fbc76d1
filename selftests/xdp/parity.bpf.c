// SPDX-License-Identifier: GPL-2.0
/* The functions of the module, one call per run; see parity.c. */
#include <linux/errno.h>

#include "../../bpf/epf_kfunc.bpf.h"
#include "held.bpf.h"
#include "parity.h"

struct parity parity;

/* Give parity_packet() the filter, or drop it if the id is 0. */
SEC("syscall")
int parity_hold(void *ctx)
{
	hold(parity.filter);
	return 0;
}

static __always_inline int on_digest(struct epf_filter *f, __u32 op, __u64 digest)
{
	if (op == PARITY_TEST)
		return bpf_epf_test_digest(f, digest);
	if (op == PARITY_INSERT)
		return bpf_epf_insert_digest(f, digest);
	return bpf_epf_test_and_insert_digest(f, digest);
}

static __always_inline int on_key(struct epf_filter *f, __u32 op, __u32 len)
{
	if (op == PARITY_TEST)
		return bpf_epf_test(f, parity.key, len);
	if (op == PARITY_INSERT)
		return bpf_epf_insert(f, parity.key, len);
	return bpf_epf_test_and_insert(f, parity.key, len);
}

SEC("syscall")
int parity_key(void *ctx)
{
	struct epf_filter *f = bpf_epf_acquire(parity.filter);
	__u32 len = parity.len;

	parity.ret = -ENOENT;
	if (!f)
		return 0;
	if (parity.by_digest) {
		parity.ret = on_digest(f, parity.op, parity.digest);
	} else if (len <= EPF_KEY_MAX) {
		parity.ret = bpf_epf_key_digest(f, parity.key, len, &parity.digest);
		if (!parity.ret)
			parity.ret = on_key(f, parity.op, len);
	}
	bpf_epf_release(f);
	return 0;
}

SEC("xdp.frags")
int parity_packet(struct xdp_md *ctx)
{
	struct held *h = get_held();
	struct epf_filter *f;
	int ret;

	parity.ret = -ENOENT;
	if (!h)
		return XDP_PASS;
	f = bpf_kptr_xchg(&h->filter, NULL);
	if (!f)
		return XDP_PASS;
	parity.digest = 0;
	parity.first = (__u32)(ctx->data_end - ctx->data);
	if (parity.skip && bpf_xdp_adjust_head(ctx, (int)parity.skip)) {
		parity.ret = -EREMOTEIO;
		goto out;
	}
	parity.ret = bpf_epf_xdp_digest(f, ctx, &parity.opts, sizeof(parity.opts), &parity.digest);
	ret = bpf_epf_xdp_test_and_insert(f, ctx, &parity.opts, sizeof(parity.opts));
	/* Either both fail with the same error, or neither fails. */
	parity.ret = parity.ret && parity.ret != ret ? -EREMOTEIO : ret;
out:
	put_held(h, f);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
