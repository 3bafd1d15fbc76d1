// SPDX-License-Identifier: GPL-2.0
/* Every function of the module, on memory that changes during the call; see kfunc.c. */
#include <linux/errno.h>
#include <stdbool.h>

#include "../../bpf/epf_kfunc.bpf.h"
#include "held.bpf.h"
#include "kfunc.h"

#define ROUNDS 500

struct kfunc kfunc;

/* Check that the return value is a possible one; a digest also changes the memory it
 * reads.
 */
static __always_inline void tell(int ret)
{
	kfunc.calls++;
	if (ret == -ENODEV)
		kfunc.gone++;
	else if (ret < 0 && ret != -EINVAL && ret != -ENOSPC && ret != -ENODATA &&
		 ret != -EBADMSG && ret != -EPROTO && ret != -ENOMSG &&
		 (ret < -(EPF_CONTROL + EPF_CONTROL_LAST) || ret >= -EPF_CONTROL))
		kfunc.bad++;
}

static __always_inline void keys(struct epf_filter *f)
{
	__u32 len = kfunc.len & (2 * EPF_KEY_MAX - 1);

	tell(bpf_epf_test(f, kfunc.key, len));
	tell(bpf_epf_insert(f, kfunc.key, len));
	tell(bpf_epf_test_and_insert(f, kfunc.key, len));
	tell(bpf_epf_key_digest(f, kfunc.key, len, (__u64 *)kfunc.key));
	tell(bpf_epf_test_digest(f, kfunc.digest));
	tell(bpf_epf_insert_digest(f, kfunc.digest));
	tell(bpf_epf_test_and_insert_digest(f, kfunc.digest));
}

/* Get the filter of @kfunc.filter, if the caller may have it; id 0: drop it. */
SEC("syscall")
int take(void *ctx)
{
	kfunc.got = hold(kfunc.filter);
	return 0;
}

SEC("xdp")
int on_xdp(struct xdp_md *ctx)
{
	struct held *h = get_held();
	struct epf_filter *f;

	if (!h || !h->filter)
		return XDP_PASS;
	tell(bpf_epf_xdp_test_held(&held, ctx, &kfunc.opts, sizeof(kfunc.opts)));
	f = bpf_kptr_xchg(&h->filter, NULL);
	if (!f)
		return XDP_PASS;
	kfunc.got = 2;
	tell(bpf_epf_xdp_digest(f, ctx, &kfunc.opts, sizeof(kfunc.opts), (__u64 *)&kfunc.opts));
	tell(bpf_epf_xdp_test(f, ctx, &kfunc.opts, sizeof(kfunc.opts)));
	tell(bpf_epf_xdp_insert(f, ctx, &kfunc.opts, sizeof(kfunc.opts)));
	tell(bpf_epf_xdp_test_and_insert(f, ctx, &kfunc.opts, sizeof(kfunc.opts)));
	keys(f);
	put_held(h, f);
	return XDP_PASS;
}

SEC("tc")
int on_tc(struct __sk_buff *skb)
{
	struct held *h = get_held();
	struct epf_filter *f;

	if (!h || !h->filter)
		return 0;
	tell(bpf_epf_skb_test_held(&held, skb, &kfunc.opts, sizeof(kfunc.opts)));
	tell(bpf_epf_skb_insert_held(&held, skb, &kfunc.opts, sizeof(kfunc.opts)));
	f = bpf_kptr_xchg(&h->filter, NULL);
	if (!f)
		return 0;
	kfunc.got = 3;
	keys(f);
	put_held(h, f);
	return 0;
}

static long one_round(__u32 i, void *unused)
{
	struct held *h = get_held();
	struct epf_filter *f = h ? bpf_kptr_xchg(&h->filter, NULL) : NULL;

	if (!h || !f)
		return 1;
	kfunc.got = 4;
	keys(f);
	put_held(h, f);
	return 0;
}

SEC("syscall")
int on_syscall(void *ctx)
{
	bpf_loop(ROUNDS, one_round, NULL, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
