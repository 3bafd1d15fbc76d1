/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet as a list of segments (an XDP buffer and its fragments, or the one segment of a
 * captured frame), and how headers.h and packet.h reach its bytes. The way it is split does
 * not change any result. Pure functions; any context.
 *
 * A program that cannot follow pointers into a packet (bpf/epf_packet.bpf.h) defines
 * EPF_PKT_READER before its first include and supplies struct epf_pkt with @len,
 * epf_pkt_first(), epf_pkt_at() and epf_pkt_sip() itself.
 */
#ifndef EPF_SEGMENTS_H
#define EPF_SEGMENTS_H

#include "hash.h"

struct epf_seg {
	const __u8 *data;
	__u32 len;
};

/**
 * struct epf_pkt - a packet, by reference
 * @seg: @nr_segs segments
 * @nr_segs: 1 and up
 * @len: sum of their lengths
 */
struct epf_pkt {
	const struct epf_seg *seg;
	__u32 nr_segs;
	__u32 len;
};

/* The @len contiguous bytes at the beginning. */
EPF_FN const __u8 *epf_pkt_first(const struct epf_pkt *pkt, __u32 *len)
{
	*len = pkt->seg[0].len;
	return pkt->seg[0].data;
}

/* Copy @n bytes at @off, which the packet has, from any segments. */
EPF_FN_BIG void epf_pkt_copy(const struct epf_pkt *pkt, __u32 off, __u32 n, __u8 *to)
{
	__u32 i;

	for (i = 0; i < pkt->nr_segs && n; i++) {
		const struct epf_seg *s = &pkt->seg[i];
		__u32 part;

		if (off >= s->len) {
			off -= s->len;
			continue;
		}
		part = s->len - off < n ? s->len - off : n;
		memcpy(to, s->data + off, part);
		to += part;
		n -= part;
		off = 0;
	}
}

/* @n bytes at @off, in place or copied to @room, which has room for @n. NULL: the packet
 *	has fewer bytes.
 */
EPF_FN const __u8 *epf_pkt_at(const struct epf_pkt *pkt, __u32 off, __u32 n, __u8 *room)
{
	if (off + n <= pkt->seg[0].len) /* offsets are far below 2^32 */
		return pkt->seg[0].data + off;
	if (off + n > pkt->len)
		return NULL;
	epf_pkt_copy(pkt, off, n, room);
	return room;
}

/* Absorb the bytes from @off to @end, as far as the packet has them. */
EPF_FN_BIG void epf_pkt_sip(struct epf_sip *sip, const struct epf_hash *h,
			    const struct epf_pkt *pkt, __u32 off, __u32 end)
{
	__u32 i;

	for (i = 0; i < pkt->nr_segs && off < end; i++) {
		const struct epf_seg *s = &pkt->seg[i];
		__u32 stop = end < s->len ? end : s->len;

		if (off < stop) {
			epf_sip_update(sip, h, s->data + off, stop - off);
			off = stop;
		}
		off -= off < s->len ? off : s->len;
		end -= end < s->len ? end : s->len;
	}
}

#endif /* EPF_SEGMENTS_H */
