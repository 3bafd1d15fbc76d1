// SPDX-License-Identifier: GPL-2.0
/* References: every one acquired must be released once, and not used afterwards. */
#include "slot.bpf.h"

SEC("xdp")
FAILS(LEAK)
int leak(struct xdp_md *ctx)
{
	take_filter();
	return XDP_PASS;
}

SEC("xdp")
FAILS(LEAK)
int leak_on_one_path(struct xdp_md *ctx)
{
	struct epf_filter *f = take_filter();
	__u64 key = 1;

	if (!f)
		return XDP_PASS;
	if (bpf_epf_test(f, &key, sizeof(key)))
		return XDP_DROP;
	bpf_epf_release(f);
	return XDP_PASS;
}

SEC("xdp")
FAILS(LEAK)
int leak_from_map(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();

	if (slot)
		bpf_kptr_xchg(&slot->filter, NULL);
	return XDP_PASS;
}

SEC("xdp")
FAILS(LEAK)
int leak_of_the_replaced(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();
	struct epf_filter *f;

	if (!slot)
		return XDP_PASS;
	f = take_filter();
	if (f)
		bpf_kptr_xchg(&slot->filter, f);
	return XDP_PASS;
}

SEC("xdp")
FAILS(NOT_TO_RELEASE)
int release_twice(struct xdp_md *ctx)
{
	struct epf_filter *f = take_filter();

	if (!f)
		return XDP_PASS;
	bpf_epf_release(f);
	bpf_epf_release(f);
	return XDP_PASS;
}

SEC("xdp")
FAILS(NOT_A_FILTER)
int use_after_release(struct xdp_md *ctx)
{
	struct epf_filter *f = take_filter();
	__u64 key = 1;

	if (!f)
		return XDP_PASS;
	bpf_epf_release(f);
	return bpf_epf_test(f, &key, sizeof(key)) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
FAILS(NOT_A_FILTER)
int use_after_store(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();
	struct epf_filter *f, *old;
	__u64 key = 1;

	if (!slot)
		return XDP_PASS;
	f = take_filter();
	if (!f)
		return XDP_PASS;
	old = bpf_kptr_xchg(&slot->filter, f);
	if (old)
		bpf_epf_release(old);
	return bpf_epf_test(f, &key, sizeof(key)) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
FAILS("Possibly NULL pointer passed")
int unchecked_null(struct xdp_md *ctx)
{
	struct epf_filter *f = take_filter();
	__u64 key = 1;
	int ret = bpf_epf_test(f, &key, sizeof(key));

	if (f)
		bpf_epf_release(f);
	return ret ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
FAILS("Possibly NULL pointer passed")
int release_null(struct xdp_md *ctx)
{
	bpf_epf_release(take_filter());
	return XDP_PASS;
}

/* A filter still in the map may be freed by another CPU at any moment. */
SEC("xdp")
FAILS("must be referenced or trusted")
int use_inside_map(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();
	struct epf_filter *f;
	__u64 key = 1;

	if (!slot)
		return XDP_PASS;
	f = slot->filter;
	if (!f)
		return XDP_PASS;
	return bpf_epf_test(f, &key, sizeof(key)) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
FAILS(NOT_TO_RELEASE)
int release_inside_map(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();
	struct epf_filter *f;

	if (!slot)
		return XDP_PASS;
	f = slot->filter;
	if (f)
		bpf_epf_release(f);
	return XDP_PASS;
}

/* A forged reference is rejected. */
SEC("xdp")
FAILS("store to referenced kptr disallowed")
int overwrite_in_map(struct xdp_md *ctx)
{
	struct slot *slot = get_slot();

	if (slot)
		*(volatile __u64 *)&slot->filter = 0x1234;
	return XDP_PASS;
}
