// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Drop, count or mark packets seen before. One source for two objects: the filter is the
 * module's, or with EPF_INLINE it is pure BPF.
 *
 * The verdict is the filter's; this program only acts on it. Every packet that is not
 * certainly a repeat is passed: "do not know" (saturated, gone, an error) means pass, and
 * each outcome has its counter. With a cluster the verdict is that of all its hosts
 * (epf/cluster.h). The programs can take packets of several buffers; their
 * loader sets BPF_F_XDP_HAS_FRAGS if it wants those.
 */
#include <linux/errno.h>
#include <stdbool.h>

#include "epf_slot.bpf.h"
#ifdef EPF_INLINE
#include "epf_all_inline.bpf.h"
#else
#include "epf_cover.bpf.h"

/* The slot map of the filter of all of a cluster, bound as the other one is. Its options and
 * counters are not used.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_xdp_slot);
} epf_all_slot SEC(".maps");
#endif

/* EPF_XDP_DROP or EPF_XDP_COUNT; the verifier removes the other branch. */
const volatile __u32 action = EPF_XDP_DROP;

/* Some drivers leave no room before the packet, or do not allow it. */
static __always_inline bool mark(struct xdp_md *ctx, __u32 age)
{
	struct epf_xdp_meta *meta;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return false;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return false;
	meta->magic = EPF_XDP_META_MAGIC;
	meta->age = age;
	return true;
}

#ifdef EPF_INLINE
/* The digest is inserted only into the contents that it was made for, whatever is swapped
 * meanwhile.
 */
static __always_inline int verdict(struct xdp_md *ctx, struct epf_xdp_slot *slot)
{
	struct epf_bpf_slot *filter;
	__u32 at = epf_inline_slot(&filter);
	__u64 digest;
	int err;

	if (at == EPF_BPF_SLOTS)
		return -ENODEV;
	err = epf_xdp_digest(ctx, &filter->hash, &slot->opts, &digest);
	return err ? err : epf_inline_cluster(digest, at, epf_inline_test_and_insert(digest, at));
}
#else
/* The program takes the filter out of the slot and puts it back, because only its owner may
 * use it.
 */
static __always_inline int verdict_local(struct xdp_md *ctx, struct epf_xdp_slot *slot,
					 __u64 *since)
{
	struct epf_filter *f = bpf_kptr_xchg(&slot->filter, NULL);
	int ret;

	if (!f) /* bound as long as the program is attached, so it is in use */
		return -EBUSY;
	ret = bpf_epf_xdp_test_and_insert(f, ctx, &slot->opts, sizeof(slot->opts));
	if (epf_clustered && !ret)
		*since = bpf_epf_since(f);
	f = bpf_kptr_xchg(&slot->filter, f);
	if (f)
		bpf_epf_release(f);
	return ret;
}

/* The verdict of the cluster, where the local filter says "absent", which retains everything
 * since @since.
 */
static __always_inline int verdict_all(struct xdp_md *ctx, struct epf_xdp_slot *slot, __u64 since)
{
	__u32 zero = 0;
	__u64 until = epf_cover_until();
	struct epf_xdp_slot *all = bpf_map_lookup_elem(&epf_all_slot, &zero);
	struct epf_filter *f = all ? bpf_kptr_xchg(&all->filter, NULL) : NULL;
	int ret;

	if (!f)
		return -EBUSY;
	ret = bpf_epf_xdp_test(f, ctx, &slot->opts, sizeof(slot->opts));
	if (!ret)
		since = epf_cluster_later(since, bpf_epf_since(f));
	f = bpf_kptr_xchg(&all->filter, f);
	if (f)
		bpf_epf_release(f);
	return epf_cluster_verdict(0, ret, !ret && epf_cover_holds(until, since));
}

static __always_inline int verdict(struct xdp_md *ctx, struct epf_xdp_slot *slot)
{
	__u64 since = EPF_BEGAN_NEVER;
	int ret = verdict_local(ctx, slot, &since);

	return epf_clustered && !ret ? verdict_all(ctx, slot, since) : ret;
}
#endif

static __always_inline void count(struct xdp_md *ctx, struct epf_xdp_slot *slot, __u32 outcome)
{
	struct epf_count *count;

	barrier_var(outcome); /* compare and index must use one register */
	if (outcome >= EPF_OUTCOMES)
		return;
	count = &slot->counts.by[0][outcome];
	count->packets++;
	count->bytes += bpf_xdp_get_buff_len(ctx);
}

static __always_inline int dedup(struct xdp_md *ctx, bool marks)
{
	__u32 zero = 0;
	struct epf_xdp_slot *slot = bpf_map_lookup_elem(&epf_slot, &zero);
	int ret;

	if (!slot)
		return XDP_PASS;
	ret = verdict(ctx, slot);
	count(ctx, slot,
	      epf_forget(ret < 0 ? epf_outcome_of(ret) :
			 ret     ? EPF_OUT_RECENT :
				   EPF_OUT_ABSENT));
	if (ret <= 0)
		return XDP_PASS;
	if (marks)
		slot->counts.effect[EPF_EFFECT_UNMARKED] += !mark(ctx, ret - 1);
	return !marks && action == EPF_XDP_DROP ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int xdp_dedup(struct xdp_md *ctx)
{
	return dedup(ctx, false);
}

/* Separate, because a program that moves packet pointers cannot replace one that does not,
 * which is what libxdp before 1.5.5 has in its dispatcher.
 */
SEC("?xdp")
int xdp_dedup_mark(struct xdp_md *ctx)
{
	return dedup(ctx, true);
}

char _license[] SEC("license") = "Dual BSD/GPL";
