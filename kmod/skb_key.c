// SPDX-License-Identifier: GPL-2.0
/*
 * The key of a packet in a socket buffer, computed by the core's own parser: it equals the key that
 * XDP computes from the same bytes. Bytes are read in place, in the linear part, in pages or in
 * further buffers, and are not moved. Bytes that cannot be read (device memory) count as missing.
 */
#define EPF_PKT_READER
#include <epf/hash.h>

#include <linux/skbuff.h>

/* A packet, as the core's parser reads it: @len bytes from offset @at of @skb. */
struct epf_pkt {
	const struct sk_buff *skb;
	u32 at;
	u32 len;
};

/* The contiguous bytes at the beginning of the packet; @len is set to their number. */
static inline const u8 *epf_pkt_first(const struct epf_pkt *pkt, u32 *len)
{
	*len = skb_headlen(pkt->skb) - pkt->at;
	return pkt->skb->data + pkt->at;
}

/* @n bytes at @off, in place or copied to @room, which has @n bytes. NULL: missing. */
static inline const u8 *epf_pkt_at(const struct epf_pkt *pkt, u32 off, u32 n, u8 *room)
{
	if (off + n > pkt->len) /* offsets are far below 2^31 */
		return NULL;
	return skb_header_pointer(pkt->skb, pkt->at + off, n, room);
}

/* Absorb the bytes from @off to @end or the end of the packet, beyond the linear part in pieces. */
static noinline void epf_pkt_sip(struct epf_sip *sip, const struct epf_hash *h,
				 const struct epf_pkt *pkt, u32 off, u32 end)
{
	u8 room[128];
	u32 linear;
	const u8 *first = epf_pkt_first(pkt, &linear);

	end = min(end, pkt->len);
	linear = min(end, linear);
	if (off < linear) {
		epf_sip_update(sip, h, first + off, linear - off);
		off = linear;
	}
	while (off < end) {
		u32 n = min_t(u32, end - off, sizeof(room));
		const u8 *p = epf_pkt_at(pkt, off, n, room);

		if (!p)
			return;
		epf_sip_update(sip, h, p, n);
		off += n;
	}
}

#include "compat.h"
#include "table.h"

/**
 * epf_skb_digest() - compute the digest of a packet
 * @t: table, whose hash key counts
 * @skb: packet
 * @at: offset in @skb, within the linear part, of the header that @opts say is first
 * @iface: number of the interface, for EPF_PKT_IFACE
 * @opts: what of the packet is the key, checked here
 * @digest: set on success
 *
 * Context: any.
 * Return: 0; -EINVAL: bad @opts; or as epf_pkt_digest_in().
 */
int epf_skb_digest(const struct epf_table *t, const struct sk_buff *skb, u32 at, u32 iface,
		   const struct epf_pkt_opts *opts, u64 *digest)
{
	const struct epf_pkt pkt = { skb, at, skb->len - at };
	const struct epf_pkt_scope scope = { iface, skb->mark };

	if (unlikely(epf_pkt_opts_check(opts)))
		return -EINVAL;
	return epf_pkt_digest_in(&t->hash, &pkt, opts, &scope, digest);
}
EPF_EXPORT(epf_skb_digest);
