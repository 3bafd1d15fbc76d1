/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The headers of a packet: link, VLAN tags, IPv4 and IPv6 with extension headers. Pure
 * functions; any context. A packet may change while it is read (zero-copy buffers of AF_XDP
 * are user memory). Each length in a header is therefore read once, so that a check of it
 * stays valid.
 *
 * Formats: RFC 791, 8200, 4302; IEEE 802.1Q; LINKTYPE_LINUX_SLL and SLL2 of tcpdump.org.
 */
#ifndef EPF_HEADERS_H
#define EPF_HEADERS_H

#ifndef EPF_PKT_READER
#include "segments.h"
#endif

#include "exts.h"

#include <linux/epochfilter.h>

#define EPF_ETH_IP4 0x0800
#define EPF_ETH_IP6 0x86dd
#define EPF_VLAN_MAX 4 /* stacked tags; more is malformed */

/**
 * struct epf_l3 - the network header, and the Ethernet header before it
 * @off: offset of the network header in the packet
 * @type: EtherType; 0: unknown
 * @macs: bytes of MAC addresses: 12, or 0 without an Ethernet header
 * @tags: VLAN tags, 0 .. EPF_VLAN_MAX
 * @cap: offset after the last byte that belongs to it: the end of the packet, or of the
 *	ICMP error that carries the datagram
 * @carried: an ICMP error carries the datagram
 * @vids: nonzero VLAN ids, the innermost in the low twelve bits
 */
struct epf_l3 {
	__u32 off;
	__u32 type;
	__u32 macs;
	__u32 tags;
	__u32 cap;
	__u32 carried;
	__u64 vids;
};

#define EPF_HDR_MAX 40 /* longest header read at once */
#define EPF_LEN_MAX \
	0xffffu /* the largest length a header can hold; a longer packet, yet to be
			     * cut by GSO, has 0 there (Linux 6.3: iph_set_totlen(), BIG TCP) */

/* For memory that headers are copied to: BPF reads and writes words on the stack only if
 * they are aligned.
 */
#define EPF_ALIGNED __attribute__((aligned(8)))

EPF_FN __u32 epf_be16(const __u8 *p)
{
	return (__u32)p[0] << 8 | p[1];
}

EPF_FN bool epf_is_vlan(__u32 type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

EPF_FN __u32 epf_get_le32(const __u8 *p)
{
	return p[0] | (__u32)p[1] << 8 | (__u32)p[2] << 16 | (__u32)p[3] << 24;
}

/* A tag with id 0 has only a priority. There is no branch, because a verifier would follow
 * both ways for each tag.
 */
EPF_FN void epf_l3_vlan(struct epf_l3 *l3, __u32 vid)
{
	l3->vids = l3->vids << (vid + 0xfff) / 0x1000 * 12 | vid;
}

EPF_FN int epf_l3_ether(const struct epf_pkt *pkt, struct epf_l3 *l3)
{
	__u8 room[14] EPF_ALIGNED;
	const __u8 *p = epf_pkt_at(pkt, 0, 14, room);
	__u32 i;

	if (!p)
		return -ENODATA;
	l3->off = 14;
	l3->type = epf_be16(p + 12);
	l3->macs = 12;
	EPF_UNROLL
	for (i = 0; i <= EPF_VLAN_MAX; i++) {
		if (!epf_is_vlan(l3->type))
			return 0;
		if (i == EPF_VLAN_MAX)
			return -EBADMSG;
		p = epf_pkt_at(pkt, l3->off, 4, room);
		if (!p)
			return -ENODATA;
		epf_l3_vlan(l3, epf_be16(p) & 0xfff);
		l3->tags++;
		l3->off += 4;
		l3->type = epf_be16(p + 2);
	}
	return 0;
}

EPF_FN int epf_l3_cooked(const struct epf_pkt *pkt, __u32 type_at, __u32 len, struct epf_l3 *l3)
{
	__u8 room[20] EPF_ALIGNED;
	const __u8 *p = epf_pkt_at(pkt, 0, len, room);

	if (!p)
		return -ENODATA;
	l3->off = len;
	l3->type = epf_be16(p + type_at);
	return 0;
}

EPF_FN int epf_l3_ip(const struct epf_pkt *pkt, struct epf_l3 *l3)
{
	__u8 room[1] EPF_ALIGNED;
	const __u8 *p = epf_pkt_at(pkt, 0, 1, room);
	__u32 version;

	if (!p)
		return -ENODATA;
	version = p[0] >> 4;
	l3->off = 0;
	l3->type = version == 4 ? EPF_ETH_IP4 : version == 6 ? EPF_ETH_IP6 : 0;
	return l3->type ? 0 : -EBADMSG;
}

EPF_FN int epf_l3_of(const struct epf_pkt *pkt, __u32 link, struct epf_l3 *l3)
{
	switch (link) {
	case EPF_LINK_ETHER:
		return epf_l3_ether(pkt, l3);
	case EPF_LINK_IP:
		return epf_l3_ip(pkt, l3);
	case EPF_LINK_SLL:
		return epf_l3_cooked(pkt, 14, 16, l3);
	case EPF_LINK_SLL2:
		return epf_l3_cooked(pkt, 0, 20, l3);
	}
	return -EINVAL;
}

EPF_FN int epf_l3_find(const struct epf_pkt *pkt, __u32 link, struct epf_l3 *l3)
{
	int err;

	l3->off = 0;
	l3->type = 0;
	l3->macs = 0;
	l3->tags = 0;
	l3->cap = pkt->len;
	l3->carried = 0;
	l3->vids = 0;
	err = epf_l3_of(pkt, link, l3);
	l3->off = epf_forget(l3->off);
	l3->type = epf_forget(l3->type);
	l3->macs = epf_forget(l3->macs);
	l3->tags = epf_forget(l3->tags);
	return err;
}

/* An IP header: its fixed part, in the packet or copied, and offsets in the packet. */
struct epf_ip {
	const __u8 *hdr;
	__u8 room[EPF_HDR_MAX] EPF_ALIGNED;
	__u32 hdr_len; /* of the fixed part: 20 or 40 */
	__u32 off;     /* offset of the header in the packet */
	__u32 l4;      /* offset after header and options */
	__u32 end;     /* offset after the datagram, by its own length */
	__u32 cap;     /* as in struct epf_l3 */
	/* set by epf_ip_walk(): */
	__u32 proto;
	bool fragment;
	__u8 frag_id[4]; /* of a fragment; for IPv4 the first two bytes */
};

EPF_FN int epf_ip4_read(const struct epf_pkt *pkt, __u32 off, struct epf_ip *ip)
{
	__u32 ihl, total;
	const __u8 *p;

	epf_blank(ip->room + 20, sizeof(ip->room) - 20);
	p = epf_pkt_at(pkt, off, 20, ip->room);
	if (!p || off + 20 > ip->cap)
		return -ENODATA;
	ihl = epf_opaque((p[0] & 15) * 4);
	total = epf_opaque(epf_be16(p + 2));
	if (!total && ip->cap - off > EPF_LEN_MAX)
		total = ip->cap - off;
	if (p[0] >> 4 != 4 || ihl < 20 || total < ihl)
		return -EBADMSG;
	if (ihl > ip->cap - off)
		return -ENODATA;
	ip->hdr = p;
	ip->hdr_len = 20;
	ip->off = off;
	ip->l4 = off + ihl;
	ip->end = off + total;
	return 0;
}

EPF_FN int epf_ip6_read(const struct epf_pkt *pkt, __u32 off, struct epf_ip *ip)
{
	const __u8 *p = epf_pkt_at(pkt, off, 40, ip->room);
	__u32 payload;

	if (!p || off + 40 > ip->cap)
		return -ENODATA;
	if (p[0] >> 4 != 6)
		return -EBADMSG;
	payload = epf_opaque(epf_be16(p + 4));
	ip->hdr = p;
	ip->hdr_len = 40;
	ip->off = off;
	ip->l4 = off + 40;
	ip->end = ip->l4 + payload;
	/* the length of a jumbogram is in an option, or nowhere */
	if (!payload && (!p[6] || ip->cap - ip->l4 > EPF_LEN_MAX))
		ip->end = ip->cap;
	return 0;
}

/* Return: 0, or -EPROTO when the network header is not IP. */
EPF_FN int epf_ip_read(const struct epf_pkt *pkt, const struct epf_l3 *l3, struct epf_ip *ip)
{
	ip->cap = l3->cap;
	if (l3->type == EPF_ETH_IP4)
		return epf_ip4_read(pkt, l3->off, ip);
	if (l3->type == EPF_ETH_IP6)
		return epf_ip6_read(pkt, l3->off, ip);
	return -EPROTO;
}

/* The first @n bytes of the transport header; if there are none, *@err says why. */
EPF_FN const __u8 *epf_l4_at(const struct epf_pkt *pkt, const struct epf_ip *ip, __u32 n,
			     __u8 *room, int *err)
{
	const __u8 *p = epf_pkt_at(pkt, ip->l4, n, room);

	*err = 0;
	if (ip->l4 + n > ip->end)
		*err = -EBADMSG;
	else if (!p || ip->l4 + n > ip->cap)
		*err = -ENODATA;
	return *err ? NULL : p;
}

/* Follow one extension header. Return: 0, or 1: there is no further one that can be read. */
EPF_FN int epf_exts_step(const struct epf_pkt *pkt, struct epf_exts *e)
{
	__u8 room[8] EPF_ALIGNED;
	const __u8 *p;
	__u32 len;

	if (e->fragment || !epf_is_ext(e->proto))
		return 1;
	p = epf_pkt_at(pkt, e->off, 8, room);
	if (!p || e->off + 8 > e->end)
		return 1;
	len = epf_opaque(p[1]);
	if (e->proto == 44) {
		e->fragment = (__u16)(epf_be16(p + 2) & (0xfff8 | e->more));
		memcpy(e->frag_id, p + 4, 4);
		e->off += 8;
	} else if (e->proto == 51) {
		e->off += (len + 2) * 4;
	} else {
		e->off += (len + 1) * 8;
	}
	e->proto = p[0];
	return 0;
}

#ifndef EPF_EXTS_FOLLOW /* else the file that defines it supplies both functions */
/* Where the place in the chain is kept. */
EPF_FN struct epf_exts *epf_exts_at(const struct epf_pkt *pkt, struct epf_exts *room)
{
	(void)pkt;
	return room;
}

/* Follow at most EPF_IP6_EXT_MAX extension headers. */
EPF_FN void epf_exts_follow(const struct epf_pkt *pkt, struct epf_exts *e)
{
	__u32 i;

	for (i = 0; i < EPF_IP6_EXT_MAX; i++)
		if (epf_exts_step(pkt, e))
			return;
}
#endif

/* Walk the extension headers and set ip->l4 to the offset after them. @more: as for
 * epf_ip_walk().
 */
EPF_FN_BIG int epf_ip6_walk(const struct epf_pkt *pkt, struct epf_ip *ip, __u32 more)
{
	struct epf_exts room, *e = epf_exts_at(pkt, &room);
	__u8 header[8] EPF_ALIGNED;
	int err;

	ip->proto = ip->hdr[6];
	ip->fragment = false;
	if (!epf_is_ext(ip->proto))
		return 0;
	e->end = ip->end < ip->cap ? ip->end : ip->cap;
	memset(e->frag_id, 0, 4);
	e->off = ip->l4;
	e->fragment = 0;
	e->proto = (__u8)ip->proto;
	e->more = (__u8)more;
	epf_exts_follow(pkt, e);
	ip->l4 = e->off;
	ip->proto = e->proto;
	ip->fragment = epf_forget(e->fragment != 0);
	memcpy(ip->frag_id, e->frag_id, 4);
	if (ip->fragment || !epf_is_ext(ip->proto))
		return 0;
	epf_l4_at(pkt, ip, 8, header, &err); /* why it is the last one */
	return err ? err : -EBADMSG;
}

/* Find the transport protocol, and whether this is a fragment. @more is 1; or 0: the first
 * fragment, which only "more fragments" tells from a whole packet, counts as whole. After
 * an error ip->proto is the last header that was understood.
 */
EPF_FN int epf_ip_walk(const struct epf_pkt *pkt, struct epf_ip *ip, __u32 more)
{
	memset(ip->frag_id, 0, 4);
	if (ip->hdr_len != 20)
		return epf_ip6_walk(pkt, ip, more);
	ip->proto = ip->hdr[9];
	ip->fragment = epf_be16(ip->hdr + 6) & (0x1fff | more << 13);
	memcpy(ip->frag_id, ip->hdr + 4, 2);
	return 0;
}

EPF_FN bool epf_has_ports(__u32 proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 ||
	       proto == 136; /* TCP, UDP, DCCP, SCTP, UDP-Lite */
}

/* Is it a plain packet: Ethernet without tags, IPv4 without options and not fragmented,
 * with the first four bytes of the transport header? @p: the packet, or its first segment;
 * @len: its length.
 */
EPF_FN bool epf_is_plain(const __u8 *p, __u32 len)
{
	/* EtherType, version and length; total length; offset of a fragment */
	return len >= 38 && (epf_get_le64(p + 12) & 0xffffff) == 0x450008 &&
	       epf_be16(p + 16) >= 24 && !(epf_get_le64(p + 20) & 0xff3f);
}

/* Are the options equal to @want outside the bits of @free? One comparison covers all. */
EPF_FN bool epf_opts_are(const struct epf_pkt_opts *o, const struct epf_pkt_opts *want,
			 const struct epf_pkt_opts *free)
{
	__u64 have, all, any;

	memcpy(&have, o, 8);
	memcpy(&all, want, 8); /* constants */
	memcpy(&any, free, 8);
	return (have & ~any) == all;
}

#endif /* EPF_HEADERS_H */
