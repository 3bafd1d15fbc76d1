// SPDX-License-Identifier: GPL-2.0
/*
 * Programs on one filter that interrupt one another: at a cgroup's egress, in process
 * context with softirqs on, and at tc ingress of the same CPU, in softirqs. Both insert
 * keys; see race.c. With RACE_SLOT a program takes the filter out of a slot of its CPU
 * and puts it back, which is correct only if programs do not interrupt one another.
 */
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <stdbool.h>

#include "../../bpf/epf_kfunc.bpf.h"
#include "race.h"

#ifdef RACE_SLOT
#define RACE_MAP BPF_MAP_TYPE_PERCPU_ARRAY
#else
#define RACE_MAP BPF_MAP_TYPE_ARRAY
#endif

struct race race;

struct race_held {
	EPF_KPTR *filter;
};

struct {
	__uint(type, RACE_MAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct race_held);
} race_held SEC(".maps");

/* Is a program on this CPU inserting, at a cgroup? */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} race_inside SEC(".maps");

static __always_inline void add(__u64 *count)
{
	__sync_fetch_and_add(count, 1);
}

/* Put the filter into one CPU's slot, or into the map. Return: 1 if there is no such
 * CPU.
 */
static long take_cpu(__u32 cpu, void *unused)
{
	struct race_held *held;
	struct epf_filter *f;
	__u32 zero = 0;

#ifdef RACE_SLOT
	held = bpf_map_lookup_percpu_elem(&race_held, &zero, cpu);
#else
	held = cpu ? NULL : bpf_map_lookup_elem(&race_held, &zero);
#endif
	if (!held)
		return 1;
	f = bpf_epf_acquire(race.filter);
	race.got = !!f;
	f = bpf_kptr_xchg(&held->filter, f);
	if (f)
		bpf_epf_release(f);
	return 0;
}

/* Get the filter of @race.filter; id 0: drop it. */
SEC("syscall")
int race_take(void *ctx)
{
	bpf_loop(1024, take_cpu, NULL, 0);
	return 0;
}

#ifdef RACE_SLOT
struct race_key {
	__u32 source, dest, ports;
};

static __always_inline int key_of(struct __sk_buff *skb, __u32 at, struct race_key *key)
{
	return bpf_skb_load_bytes(skb, at + 12, key, sizeof(*key));
}

static __always_inline int use(struct __sk_buff *skb, __u32 at, bool learn)
{
	__u32 zero = 0;
	struct race_held *held = bpf_map_lookup_elem(&race_held, &zero);
	struct race_key key = { 0 };
	struct epf_filter *f;
	int ret;

	if (!held || key_of(skb, at, &key))
		return -EINVAL;
	f = bpf_kptr_xchg(&held->filter, NULL);
	if (!f)
		return -EBUSY;
	ret = learn ? bpf_epf_insert(f, &key, sizeof(key)) : bpf_epf_test(f, &key, sizeof(key));
	f = bpf_kptr_xchg(&held->filter, f);
	if (f)
		bpf_epf_release(f);
	return ret;
}
#else
static __always_inline int use(struct __sk_buff *skb, __u32 at, bool learn)
{
	struct epf_pkt_opts opts = at ? race.opts : race.ip_opts;

	return learn ? bpf_epf_skb_insert_held(&race_held, skb, &opts, sizeof(opts)) :
		       bpf_epf_skb_test_held(&race_held, skb, &opts, sizeof(opts));
}
#endif

SEC("cgroup_skb/egress")
int race_send(struct __sk_buff *skb)
{
	__u32 zero = 0, *inside = bpf_map_lookup_elem(&race_inside, &zero);
	int ret;

	if (!inside || skb->protocol != bpf_htons(ETH_P_IP))
		return 1;
	*(volatile __u32 *)inside = 1;
	ret = use(skb, 0, true);
	*(volatile __u32 *)inside = 0;
	add(ret == -ENODEV ? &race.gone : ret ? &race.lost : &race.learnt);
	return 1;
}

/* Incoming packets of this test must be found; those of others are inserted. All of
 * them are dropped.
 */
SEC("tc")
int race_come(struct __sk_buff *skb)
{
	__u32 zero = 0, *inside = bpf_map_lookup_elem(&race_inside, &zero);
	__be16 port = 0;
	int ret;

	if (!inside || skb->protocol != bpf_htons(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + 20, &port, sizeof(port)))
		return TC_ACT_UNSPEC;
	if (*(volatile __u32 *)inside)
		add(&race.between);
	ret = use(skb, ETH_HLEN, port != bpf_htons(RACE_PORT));
	if (ret == -ENODEV)
		add(&race.gone);
	else if (port == bpf_htons(RACE_PORT))
		add(ret > 0 ? &race.found : &race.missed);
	else
		add(ret ? &race.flood_lost : &race.flood);
	return TC_ACT_SHOT;
}

#ifndef RACE_SLOT
/* tc inserts a packet, and XDP looks up the same packet. */
SEC("tc")
int same_learn(struct __sk_buff *skb)
{
	race.last = bpf_epf_skb_insert_held(&race_held, skb, &race.opts, sizeof(race.opts));
	return TC_ACT_UNSPEC;
}

SEC("tc")
int same_ask_tc(struct __sk_buff *skb)
{
	race.last = bpf_epf_skb_test_held(&race_held, skb, &race.opts, sizeof(race.opts));
	return TC_ACT_UNSPEC;
}

SEC("xdp.frags")
int same_ask(struct xdp_md *ctx)
{
	race.last = bpf_epf_xdp_test_held(&race_held, ctx, &race.opts, sizeof(race.opts));
	return XDP_PASS;
}
#endif

char _license[] SEC("license") = "GPL";
