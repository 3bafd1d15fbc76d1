// SPDX-License-Identifier: GPL-2.0
/*
 * What BPF programs call with a reference that stays in its map.
 *
 * A program may use a reference only while it owns it, so whoever calls the functions of
 * kfunc.c takes it out of the map, and a program that interrupts that one finds none. The
 * functions here take the map instead, and find the reference in it under RCU: any
 * number of programs can do so at a time, whatever they interrupt, and none of them
 * changes anything about it.
 *
 * - Whoever has the map has the filter, as there. An id would be a name that any
 *   program could make up.
 * - That it is a reference to a filter is known by its destructor, which the verifier
 *   has taken from the type of the map's value.
 * - The program holds the map. A reference that is taken out meanwhile, and given
 *   back, leaves the filter in memory until a grace period has passed
 *   (epf_filter_put()); so does destruction (dispose()). Its table likewise.
 *   bpf_kptr_xchg() orders the filter's contents before the pointer; the load here
 *   depends on it.
 * - Of swap, restore and destruction by force a call sees one table or none, and makes
 *   digest and operation of the same one.
 *
 * Programs on cgroups run in process context with softirqs on, and may be preempted. At
 * tc egress softirqs are off (rcu_read_lock_bh() in __dev_queue_xmit()), but PREEMPT_RT
 * may switch tasks there, without PREEMPT_RT_NEEDS_BH_LOCK also to others that have
 * them off. Neither matters to the operations: lines are changed by locked
 * instructions, what is a CPU's by one instruction or a compare-and-exchange
 * (epf_table_count()), and locks are taken with softirqs off (epf_table_lock()).
 */
#include "filter.h"
#include "compat.h"

#include <linux/filter.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

static struct epf_table *held_table(const struct bpf_map *map)
{
	struct epf_filter **held = epf_map_reference(map, bpf_epf_release_dtor);
	struct epf_filter *f = held ? READ_ONCE(*held) : NULL;

	return f ? rcu_dereference(f->table) : NULL;
}

/* As bpf_epf_xdp_test_held() and others. A packet without a key is told so without
 * a filter too, under any hash: it may be one that a program has to pass (ARP).
 */
static int xdp_held(const struct bpf_map *map, struct xdp_md *ctx,
		    const struct epf_pkt_opts *opts, u32 opts__sz, enum op op)
{
	static const struct epf_hash any;
	struct epf_pkt_opts o;
	struct epf_table *t;
	u64 digest;
	int ret;

	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	rcu_read_lock();
	t = held_table(map);
	ret = epf_xdp_digest(t ? &t->hash : &any, (struct xdp_buff *)ctx, &o,
			     &digest);
	if (!ret)
		ret = t ? epf_table_op(t, digest, op) : -ENODEV;
	rcu_read_unlock();
	return ret;
}

/* Of table @t; NULL: destroyed. */
static int skb_one(struct epf_table *t, const struct sk_buff *skb, u32 iface,
		   const struct epf_pkt_opts *opts, u32 opts__sz, enum op op)
{
	struct epf_pkt_opts o;
	u64 digest;
	int err;

	if (unlikely(!t))
		return -ENODEV;
	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	err = epf_skb_digest(t, skb, 0, iface, &o, &digest);
	return err ?: epf_table_op(t, digest, op);
}

/* As bpf_epf_nf_test_held() and others of socket buffers. */
static int skb_held(const struct bpf_map *map, const struct sk_buff *skb,
		    u32 iface, const struct epf_pkt_opts *opts, u32 opts__sz,
		    enum op op)
{
	int ret;

	rcu_read_lock();
	ret = skb_one(held_table(map), skb, iface, opts, opts__sz, op);
	rcu_read_unlock();
	return ret;
}

/* Of the interface that a packet comes from or goes to. */
static u32 skb_iface(const struct sk_buff *skb)
{
	return skb->dev ? skb->dev->ifindex : 0;
}

__bpf_kfunc_start_defs();

/**
 * bpf_epf_xdp_test_held() - as bpf_epf_xdp_test(), of a filter that a map holds
 * @held__map: array; the first reference in its first value is the filter
 * @ctx: of an XDP program; fragments are read too
 * @opts: which bytes make it the same packet
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Linux 6.9 and later.
 *
 * Return: as bpf_epf_xdp_test(). -ENODEV also if the map holds no filter, and only of
 * packets that have a key.
 */
__bpf_kfunc int bpf_epf_xdp_test_held(void *held__map, struct xdp_md *ctx,
				      const struct epf_pkt_opts *opts,
				      u32 opts__sz)
{
	return xdp_held(held__map, ctx, opts, opts__sz, OP_TEST);
}

/**
 * bpf_epf_xdp_insert_held() - as bpf_epf_xdp_insert(), of a filter that a map holds
 * @held__map: as of bpf_epf_xdp_test_held()
 * @ctx: likewise
 * @opts: likewise
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Linux 6.9 and later.
 *
 * Return: as bpf_epf_xdp_insert(), with -ENODEV as bpf_epf_xdp_test_held().
 */
__bpf_kfunc int bpf_epf_xdp_insert_held(void *held__map, struct xdp_md *ctx,
					const struct epf_pkt_opts *opts,
					u32 opts__sz)
{
	return xdp_held(held__map, ctx, opts, opts__sz, OP_INSERT);
}

/**
 * bpf_epf_xdp_test_and_insert_held() - digest, verdict and insert in one call
 * @held__map: as of bpf_epf_xdp_test_held()
 * @ctx: likewise
 * @opts: likewise
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Linux 6.9 and later.
 *
 * Return: as bpf_epf_xdp_test_and_insert(), with -ENODEV as bpf_epf_xdp_test_held().
 */
__bpf_kfunc int bpf_epf_xdp_test_and_insert_held(void *held__map,
						 struct xdp_md *ctx,
						 const struct epf_pkt_opts *opts,
						 u32 opts__sz)
{
	return xdp_held(held__map, ctx, opts, opts__sz, OP_TEST_AND_INSERT);
}

/**
 * bpf_epf_skb_test_held() - was a packet like this one inserted inside the window?
 * @held__map: as of bpf_epf_xdp_test_held()
 * @skb: of a program of tc, from the link header on; of one on a cgroup, from the
 *	network header on (EPF_LINK_IP). Fragments are read too; tags that lie beside
 *	the packet are not part of it
 * @opts: which bytes make it the same packet; the interface that EPF_PKT_IFACE asks
 *	for is the one that the packet comes from or goes to
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Linux 6.9 and later.
 *
 * Return: as bpf_epf_xdp_test_held().
 */
__bpf_kfunc int bpf_epf_skb_test_held(void *held__map, struct __sk_buff *skb,
				      const struct epf_pkt_opts *opts,
				      u32 opts__sz)
{
	const struct sk_buff *s = (struct sk_buff *)skb;

	return skb_held(held__map, s, skb_iface(s), opts, opts__sz, OP_TEST);
}

/**
 * bpf_epf_skb_insert_held() - insert a packet
 * @held__map: as of bpf_epf_xdp_test_held()
 * @skb: as of bpf_epf_skb_test_held()
 * @opts: likewise
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Linux 6.9 and later.
 *
 * Return: as bpf_epf_xdp_insert(). -ENODEV also if the map holds no filter.
 */
__bpf_kfunc int bpf_epf_skb_insert_held(void *held__map, struct __sk_buff *skb,
					const struct epf_pkt_opts *opts,
					u32 opts__sz)
{
	const struct sk_buff *s = (struct sk_buff *)skb;

	return skb_held(held__map, s, skb_iface(s), opts, opts__sz, OP_INSERT);
}

/**
 * bpf_epf_nf_test_held() - was a packet like this one inserted inside the window?
 * @held__map: as of bpf_epf_xdp_test_held()
 * @skb: of the context of a netfilter program; from the network header on
 *	(EPF_LINK_IP), where the data of such a packet begins
 * @iface: number for EPF_PKT_IFACE, which is the program's to choose: the hook knows
 *	two interfaces
 * @opts: as of bpf_epf_skb_test_held()
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Linux 6.9 and later.
 *
 * Return: as bpf_epf_xdp_test_held().
 */
__bpf_kfunc int bpf_epf_nf_test_held(void *held__map, struct sk_buff *skb,
				     u32 iface, const struct epf_pkt_opts *opts,
				     u32 opts__sz)
{
	return skb_held(held__map, skb, iface, opts, opts__sz, OP_TEST);
}

/**
 * bpf_epf_nf_insert_held() - insert a packet
 * @held__map: as of bpf_epf_nf_test_held()
 * @skb: likewise
 * @iface: likewise
 * @opts: likewise
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Linux 6.9 and later.
 *
 * Return: as bpf_epf_skb_insert_held().
 */
__bpf_kfunc int bpf_epf_nf_insert_held(void *held__map, struct sk_buff *skb,
				       u32 iface,
				       const struct epf_pkt_opts *opts,
				       u32 opts__sz)
{
	return skb_held(held__map, skb, iface, opts, opts__sz, OP_INSERT);
}

/**
 * bpf_epf_nf_set_mark() - set bits of a packet's mark
 * @skb: of the context of a netfilter program, which cannot write to it
 * @value: of the bits of @mask; its others do not count
 * @mask: the bits that are written; all others stay
 */
__bpf_kfunc void bpf_epf_nf_set_mark(struct sk_buff *skb, u32 value, u32 mask)
{
	skb->mark = (skb->mark & ~mask) | (value & mask);
}

__bpf_kfunc_end_defs();
