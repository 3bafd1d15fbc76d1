// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for BPF programs whose reference stays in its map, also while others use it: see
 * docs/DESIGN.md, section 7. They need Linux 6.9. Their kernel-doc is in bpf/epf_kfunc.bpf.h.
 *
 * The program pins the map. If the reference is taken out meanwhile and released, the filter stays
 * in memory until a grace period has passed (epf_filter_put()); after destruction, too
 * (epf_filter_dispose()). The same holds for its table. bpf_kptr_xchg() orders the contents of the
 * filter before the pointer; the load here has an address dependency. During swap, restore and
 * destruction by force a call sees one table or none, for digest and operation.
 *
 * Programs on cgroups run in process context with softirqs on, and may be preempted. At tc egress
 * softirqs are off, but PREEMPT_RT may switch tasks there. Neither harms the operations: lines are
 * changed by locked instructions, per-CPU counters by one instruction or by a compare-and-exchange
 * that fails after an interruption (epf_table_count()), whatever the CPU; the section of O3 in
 * lanes.h is an RCU section, which may be preempted; and locks are taken with interrupts off.
 */
#include "kfunc.h"
#include "compat.h"

#include <linux/filter.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

static struct epf_table *epf_kfunc_held_table(const struct bpf_map *map)
{
	struct epf_filter **held = epf_map_reference(map, bpf_epf_release_dtor);
	struct epf_filter *f = held ? READ_ONCE(*held) : NULL;

	return f ? rcu_dereference(f->table) : NULL;
}

/* Without a filter. The error of a packet without a key is returned even then (any hash gives it),
 * because the program may have to let such packets pass (ARP).
 */
static noinline int epf_kfunc_xdp_missing(struct xdp_buff *xdp, struct epf_pkt_opts opts)
{
	static const struct epf_hash any;
	u64 digest;

	return epf_xdp_digest(&any, xdp, &opts, &digest) ?: -ENODEV;
}

static __always_inline int epf_kfunc_xdp_held(const struct bpf_map *map, struct xdp_md *ctx,
					      const struct epf_pkt_opts *opts, u32 opts__sz,
					      enum op op)
{
	struct xdp_buff *xdp = (struct xdp_buff *)ctx;
	struct epf_pkt_opts o;
	struct epf_table *t;
	int ret;

	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	rcu_read_lock();
	t = epf_kfunc_held_table(map);
	ret = likely(t) ? epf_kfunc_do_xdp(t, xdp, &o, op) : epf_kfunc_xdp_missing(xdp, o);
	rcu_read_unlock();
	return ret;
}

static int epf_kfunc_skb_held(const struct bpf_map *map, const struct sk_buff *skb, u32 iface,
			      const struct epf_pkt_opts *opts, u32 opts__sz, enum op op)
{
	struct epf_pkt_opts o;
	struct epf_table *t;
	int ret = -ENODEV;
	u64 digest;

	rcu_read_lock();
	t = epf_kfunc_held_table(map);
	if (likely(t && opts__sz == sizeof(o))) {
		o = epf_pkt_opts_read(opts);
		ret = epf_skb_digest(t, skb, 0, iface, &o, &digest) ?: epf_table_op(t, digest, op);
	} else if (t) {
		ret = -EINVAL;
	}
	rcu_read_unlock();
	return ret;
}

/* EPF_PKT_IFACE adds the interface that the packet comes from or goes to. */
static int epf_kfunc_skb_dev_held(const struct bpf_map *map, struct __sk_buff *ctx,
				  const struct epf_pkt_opts *opts, u32 opts__sz, enum op op)
{
	const struct sk_buff *skb = (struct sk_buff *)ctx;
	u32 iface = skb->dev ? skb->dev->ifindex : 0;

	return epf_kfunc_skb_held(map, skb, iface, opts, opts__sz, op);
}

__bpf_kfunc_start_defs();

__bpf_kfunc int bpf_epf_xdp_test_held(void *held__map, struct xdp_md *ctx,
				      const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_xdp_held(held__map, ctx, opts, opts__sz, OP_TEST);
}

__bpf_kfunc int bpf_epf_xdp_insert_held(void *held__map, struct xdp_md *ctx,
					const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_xdp_held(held__map, ctx, opts, opts__sz, OP_INSERT);
}

__bpf_kfunc int bpf_epf_xdp_test_and_insert_held(void *held__map, struct xdp_md *ctx,
						 const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_xdp_held(held__map, ctx, opts, opts__sz, OP_TEST_AND_INSERT);
}

__bpf_kfunc int bpf_epf_skb_test_held(void *held__map, struct __sk_buff *skb,
				      const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_skb_dev_held(held__map, skb, opts, opts__sz, OP_TEST);
}

__bpf_kfunc int bpf_epf_skb_insert_held(void *held__map, struct __sk_buff *skb,
					const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_skb_dev_held(held__map, skb, opts, opts__sz, OP_INSERT);
}

__bpf_kfunc int bpf_epf_nf_test_held(void *held__map, struct sk_buff *skb, u32 iface,
				     const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_skb_held(held__map, skb, iface, opts, opts__sz, OP_TEST);
}

__bpf_kfunc int bpf_epf_nf_insert_held(void *held__map, struct sk_buff *skb, u32 iface,
				       const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_skb_held(held__map, skb, iface, opts, opts__sz, OP_INSERT);
}

/* The barrier orders the loads of the answer that this is about before those of the filter, its
 * table and its epoch: see epf_state_since(). If the answer is of a table that was replaced, the
 * one that is found here began later.
 */
__bpf_kfunc u64 bpf_epf_since_held(void *held__map)
{
	u64 since;

	rcu_read_lock();
	smp_rmb(); /* the answer before the filter, see above */
	since = epf_table_since(epf_kfunc_held_table(held__map));
	rcu_read_unlock();
	return since;
}

__bpf_kfunc void bpf_epf_nf_set_mark(struct sk_buff *skb, u32 value, u32 mask)
{
	skb->mark = (skb->mark & ~mask) | (value & mask);
}

__bpf_kfunc_end_defs();
