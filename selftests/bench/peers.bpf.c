// SPDX-License-Identifier: GPL-2.0
/*
 * Common alternatives to this project, as XDP programs that do the same work:
 * find the flow of a packet, decide whether it was there before, count packet
 * and bytes by verdict, drop or pass. Counters and the reference to a filter
 * are in xdp_dedup's own slot map.
 *
 *   lru_*    a recency table: LRU hash from key to the time it was last seen
 *   bloom_*  two alternating bloom maps; user space exchanges the older one for an
 *            empty one at every half of the window
 *
 * The programs read the flow as xdp_dedup does: up to four VLAN tags, lengths
 * checked, fragments by their id, ICMP by type, code and id. They take only
 * IPv4, so that 16 bytes hold the flow, and only headers in the first buffer.
 *
 * *_packet hash the packet from its addresses on, a word at a time: FNV-1a over
 * words of 64 bits, the cheapest possible choice. It has no key, so anybody who
 * sees verdicts can make packets collide at will. Only for packets in one
 * buffer.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>

#include "../../bpf/epf_slot.bpf.h"
#include "peers.h"

struct peers peers;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} jump SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PEERS_FLOWS);
	__type(key, struct peers_key);
	__type(value, __u64);
} lru SEC(".maps");

struct bloom {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, PEERS_FLOWS);
	__uint(map_extra, PEERS_BLOOM_K);
	__uint(value_size, sizeof(struct peers_key));
} bloom0 SEC(".maps"), bloom1 SEC(".maps");

static __always_inline int done(struct xdp_md *ctx, __u32 outcome)
{
	__u32 zero = 0;
	struct epf_xdp_slot *slot = bpf_map_lookup_elem(&epf_slot, &zero);

	if (!slot)
		return XDP_PASS;
	slot->counts.by[0][outcome].packets++;
	slot->counts.by[0][outcome].bytes += bpf_xdp_get_buff_len(ctx);
	return outcome == EPF_OUT_RECENT ? XDP_DROP : XDP_PASS;
}

static __always_inline bool is_vlan(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD) ||
	       type == bpf_htons(0x9100);
}

/* Return: does this ICMP type have an identifier? */
static __always_inline bool icmp_id(__u8 type)
{
	return !type || type == 8 || (type >= 13 && type <= 18);
}

static __always_inline int read_l4(void *l4, void *end, const void *ip_end, struct peers_key *key)
{
	__u32 *ports = l4;
	__u16 *half = l4;

	switch (key->proto) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
	case IPPROTO_UDPLITE:
		if ((void *)(ports + 1) > end)
			return EPF_OUT_TRUNCATED;
		if ((const void *)(ports + 1) > ip_end)
			return EPF_OUT_MALFORMED;
		key->l4 = *ports;
		return 0;
	case IPPROTO_ICMP:
		if ((void *)(half + 3) > end)
			return EPF_OUT_TRUNCATED;
		key->l4 = *half;
		if (icmp_id(*(__u8 *)l4))
			key->l4 |= (__u32)half[2] << 16;
	}
	return 0;
}

/* Return: 0, or why there is no flow: enum epf_outcome. */
static __always_inline int read_flow(struct xdp_md *ctx, struct peers_key *key)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	__be16 *tag = (__be16 *)(eth + 1);
	struct iphdr *ip;
	__u32 ihl, total;
	__be16 type;
	int i;

	if ((void *)(eth + 1) > end)
		return EPF_OUT_TRUNCATED;
	type = eth->h_proto;
#pragma unroll
	for (i = 0; i < 4 && is_vlan(type); i++, tag += 2) {
		if ((void *)(tag + 2) > end)
			return EPF_OUT_TRUNCATED;
		type = tag[1];
	}
	ip = (struct iphdr *)tag;
	if (type != bpf_htons(ETH_P_IP))
		return EPF_OUT_NOT_IP;
	if ((void *)(ip + 1) > end)
		return EPF_OUT_TRUNCATED;
	ihl = ip->ihl * 4;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || ihl < sizeof(*ip) || total < ihl)
		return EPF_OUT_MALFORMED;
	key->saddr = ip->saddr;
	key->daddr = ip->daddr;
	key->l4 = 0;
	key->proto = ip->protocol;
	if (ip->frag_off & bpf_htons(0x3fff)) {
		key->proto |= 0x8000;
		key->l4 = ip->id;
		return 0;
	}
	return read_l4((void *)ip + ihl, end, (void *)ip + total, key);
}

/* Return: was the key seen inside the window? Record it. */
static __always_inline __u32 ask_lru(struct peers_key *key)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 *seen = bpf_map_lookup_elem(&lru, key);
	bool repeat;

	if (!seen) {
		bpf_map_update_elem(&lru, key, &now, BPF_ANY);
		return EPF_OUT_ABSENT;
	}
	repeat = now - *seen < peers.window_ns;
	*seen = now;
	return repeat ? EPF_OUT_RECENT : EPF_OUT_ABSENT;
}

static __always_inline __u32 ask_pair(void *new, void *old, struct peers_key *key)
{
	__u32 outcome;

	if (!bpf_map_peek_elem(new, key))
		return EPF_OUT_RECENT;
	outcome = bpf_map_peek_elem(old, key) ? EPF_OUT_ABSENT : EPF_OUT_RECENT;
	bpf_map_push_elem(new, key, BPF_ANY);
	return outcome;
}

static __always_inline __u32 ask_bloom(struct peers_key *key)
{
	if (peers.current)
		return ask_pair(&bloom1, &bloom0, key);
	return ask_pair(&bloom0, &bloom1, key);
}

#define WORD_STEP 0x100000001b3ULL /* FNV-1a, 64 bits */

/* Return: the bytes of @p before @end, fewer than eight. */
static __always_inline __u64 last_word(const __u8 *p, const void *end)
{
	__u64 last = 1;
	int i;

	for (i = 0; i < 7 && (void *)(p + 1) <= end; i++, p++)
		last = last << 8 | *p;
	return last;
}

/* Return: 0, or why there is no digest: enum epf_outcome. */
static __always_inline int read_packet(struct xdp_md *ctx, struct peers_key *key)
{
	const __u8 *p = (void *)(long)ctx->data + PEERS_KEY_AT;
	const void *end = (void *)(long)ctx->data_end;
	__u64 hash = 0xcbf29ce484222325ULL;
	int i;

	for (i = 0; i < PEERS_WORDS && (void *)(p + 8) <= end; i++, p += 8)
		hash = (hash ^ *(const __u64 *)p) * WORD_STEP;
	if ((void *)(p + 8) <= end)
		return EPF_OUT_ERROR;
	hash = (hash ^ last_word(p, end)) * WORD_STEP;
	hash ^= hash >> 32; /* the low bits choose the bucket */
	key->saddr = (__u32)hash;
	key->daddr = hash >> 32;
	key->l4 = 0;
	key->proto = 0;
	return 0;
}

SEC("xdp.frags")
int null(struct xdp_md *ctx)
{
	return done(ctx, EPF_OUT_ABSENT);
}

/* usage: ASK(PROGRAM, READ, TABLE): reads the key of a packet and asks a table. */
#define ASK(name, read, ask)                                    \
	SEC("xdp.frags")                                        \
	int name(struct xdp_md *ctx)                            \
	{                                                       \
		struct peers_key key;                           \
		int err = read(ctx, &key);                      \
                                                                \
		return done(ctx, err ? (__u32)err : ask(&key)); \
	}

ASK(lru_flow, read_flow, ask_lru)
ASK(bloom_flow, read_flow, ask_bloom)
ASK(lru_packet, read_packet, ask_lru)
ASK(bloom_packet, read_packet, ask_bloom)

/* Write the key into each packet, then continue with the program to be measured. */
SEC("xdp.frags")
int vary(struct xdp_md *ctx)
{
	__u32 *at = (void *)(long)ctx->data + PEERS_KEY_AT;

	if ((void *)(at + 1) <= (void *)(long)ctx->data_end)
		*at = peers.base + (peers.next++ & peers.mask);
	bpf_tail_call(ctx, &jump, 0);
	return XDP_ABORTED;
}

char _license[] SEC("license") = "GPL";
