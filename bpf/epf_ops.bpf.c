// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program that user space runs (BPF_PROG_TEST_RUN) to test and to insert: the packet is
 * a struct epf_bpf_ops, and the modified packet is the answer.
 */
#include <stdbool.h>
#include <stddef.h>

#include "epf_inline.bpf.h"

struct run {
	struct xdp_md *ctx;
	__u32 slot;
	__u32 op;
};

static int one(__u32 op, __u64 digest, __u32 slot)
{
	if (op == EPF_BPF_TEST)
		return epf_inline_test(digest, slot);
	if (op == EPF_BPF_INSERT)
		return epf_inline_insert(digest, slot);
	return epf_inline_test_and_insert(digest, slot);
}

/* This uses helpers, because without CAP_PERFMON the verifier allows no variable offset to
 * a packet pointer.
 */
static long step(__u32 i, void *arg)
{
	struct run *run = arg;
	__u32 at = offsetof(struct epf_bpf_ops, word) + 8 * i;
	__u64 word;

	if (bpf_xdp_load_bytes(run->ctx, at, &word, sizeof(word)))
		return 1;
	word = (__u64)(__s64)one(run->op, word, run->slot);
	return bpf_xdp_store_bytes(run->ctx, at, &word, sizeof(word)) != 0;
}

SEC("xdp")
int epf_ops(struct xdp_md *ctx)
{
	struct epf_bpf_ops *ops = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct run run = { .ctx = ctx };
	struct epf_bpf_slot *slot;

	if ((void *)&ops->word[0] > end)
		return XDP_ABORTED;
	ops->jiffies = bpf_jiffies64();
	ops->now_ns = bpf_ktime_get_ns();
	if (!ops->count)
		return XDP_PASS;
	run.slot = epf_inline_slot(&slot);
	if (run.slot == EPF_BPF_SLOTS)
		return XDP_DROP;
	if (slot->serial != ops->serial) {
		ops->op = EPF_BPF_STALE;
		return XDP_PASS;
	}
	run.op = ops->op;
	bpf_loop(ops->count, step, &run, 0);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
