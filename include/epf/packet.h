/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet digests: the canonical bytes of a packet under struct epf_pkt_opts,
 * hashed. Pure functions; any context.
 *
 * Memory may change while it is read: packets (headers.h), and options, which lie
 * where BPF programs and user space write. epf_pkt_opts_read() makes the one copy
 * of these that is checked and used. struct epf_head is bounded by itself,
 * whatever options and packet say.
 *
 * Canonical bytes:
 *
 *   FRAME   the frame
 *   PACKET  [destination and source MAC] [VLAN tags] EtherType, then
 *           IPv4: the datagram up to its total length, TTL and checksum 0
 *           IPv6: the datagram up to its payload length, hop limit 0
 *           else: the rest of the frame
 *   FLOW    version (0x80 added for a fragment), protocol, four bytes (ports;
 *           or ICMP type, code, id; or the fragment's id; or 0), source,
 *           destination; 14 bytes for IPv4, 38 for IPv6
 *
 * With max_bytes, FRAME and PACKET are cut there, and the length of the whole
 * follows as 32 little-endian bits if anything was cut.
 *
 * With EPF_PKT_PASS_CONTROL, packets of control.h and those that are not IP have
 * no digest.
 *
 * Formats: headers.h; RFC 792, 4443.
 */
#ifndef EPF_PACKET_H
#define EPF_PACKET_H

#include "control.h"
#include "hash.h"

/**
 * struct epf_take - canonical bytes on their way into a digest
 * @sip: digest in progress
 * @max: how many bytes count
 * @offered: how many there were so far
 * @off: of the packet's bytes that come last
 * @end: of these, @off and up
 */
struct epf_take {
	struct epf_sip sip;
	__u32 max;
	__u32 offered;
	__u32 off;
	__u32 end;
};

EPF_FN void epf_take_init(struct epf_take *t, const struct epf_hash *h,
			  __u32 max_bytes)
{
	epf_sip_init(&t->sip, h);
	t->max = max_bytes ? max_bytes : 0xffffffff;
	t->offered = 0;
	t->off = 0;
	t->end = 0;
}

/* Offer @n more bytes. Return: how many of them count. */
EPF_FN __u32 epf_take_some(struct epf_take *t, __u32 n)
{
	__u32 left = t->offered < t->max ? t->max - t->offered : 0;

	t->offered += n;
	return n < left ? n : left;
}

#ifndef EPF_NO_PERFMON

/* What stands before the rest of a packet's canonical bytes. */
struct epf_head {
	__u8 bytes[12 + 4 * EPF_VLAN_MAX + 2 + EPF_HDR_MAX + 2]
		EPF_ALIGNED; /* whole words */
	__u32 len;
};

EPF_FN void epf_head_init(struct epf_head *head, const struct epf_hash *h,
			  struct epf_take *t)
{
	(void)h;
	(void)t;
	memset(head, 0, sizeof(*head));
}

/* Room for @n more bytes, a constant; NULL: there is none. */
EPF_FN __u8 *epf_head_room(struct epf_head *head, __u32 n)
{
	__u32 len = epf_opaque(head->len);

	if (len > sizeof(head->bytes) - n)
		return NULL;
	head->len = len + n;
	return head->bytes + len;
}

/* They have been written. */
EPF_FN void epf_head_add(struct epf_head *head, __u32 n)
{
	(void)head;
	(void)n;
}

/* All of it into the digest. */
EPF_FN void epf_head_take(const struct epf_head *head, const struct epf_hash *h,
			  struct epf_take *t)
{
	epf_sip_update(&t->sip, h, head->bytes, epf_take_some(t, head->len));
}

#else /* the same digest, where no offset into memory may be a variable */

struct epf_head {
	__u8 room[EPF_HDR_MAX] EPF_ALIGNED;
	const struct epf_hash *h;
	struct epf_take *take;
};

EPF_FN void epf_head_init(struct epf_head *head, const struct epf_hash *h,
			  struct epf_take *t)
{
	memset(head->room, 0, sizeof(head->room));
	head->h = h;
	head->take = t;
}

EPF_FN __u8 *epf_head_room(struct epf_head *head, __u32 n)
{
	(void)n;
	return head->room;
}

/* Take the low @n bytes of @m, 0 .. 8. */
EPF_FN_APART int epf_take_word(struct epf_take *t, const struct epf_hash *h,
			       __u64 m, __u32 n)
{
	if (!t || !h)
		return 0;
	n = epf_take_some(t, n);
	epf_sip_some(&t->sip, h, m & ((1ULL << 4 * n << 4 * n) - 1), n);
	return 0;
}

EPF_FN void epf_head_add(struct epf_head *head, __u32 n)
{
	__u32 i;

	EPF_UNROLL_ALL
	for (i = 0; i < n; i += 8)
		epf_take_word(head->take, head->h, epf_get_le64(head->room + i),
			      n - i < 8 ? n - i : 8);
}

EPF_FN void epf_head_take(const struct epf_head *head, const struct epf_hash *h,
			  struct epf_take *t)
{
	(void)head;
	(void)h;
	(void)t;
}

#endif

/* @n bytes at @off, which the packet has; @n is a constant. */
EPF_FN void epf_head_pkt(struct epf_head *head, const struct epf_pkt *pkt,
			 __u32 off, __u32 n)
{
	__u8 *to = epf_head_room(head, n);
	const __u8 *p = to ? epf_pkt_at(pkt, off, n, to) : NULL;

	if (p && p != to)
		memcpy(to, p, n);
	epf_head_add(head, n);
}

EPF_FN void epf_head_link(struct epf_head *head, const struct epf_pkt *pkt,
			  const struct epf_l3 *l3,
			  const struct epf_pkt_opts *o)
{
	__u8 *to;
	__u32 i;

	if (l3->macs && !(o->flags & EPF_PKT_NO_MAC))
		epf_head_pkt(head, pkt, 0, 12);
	EPF_UNROLL_ALL
	for (i = 0; i < EPF_VLAN_MAX; i++) {
		if (i >= l3->tags || (o->flags & EPF_PKT_NO_VLAN))
			break;
		epf_head_pkt(head, pkt, 12 + 4 * i, 4);
	}
	to = epf_head_room(head, 2);
	if (to) {
		to[0] = (__u8)(l3->type >> 8);
		to[1] = (__u8)l3->type;
		epf_head_add(head, 2);
	}
}

/* The fixed part of the IP header, without what a router changes. */
EPF_FN void epf_head_ip(struct epf_head *head, const struct epf_ip *ip)
{
	__u8 *to;

	if (ip->hdr_len == 20) {
		to = epf_head_room(head, 20);
		if (!to)
			return;
		memcpy(to, ip->hdr, 20);
		to[8] = to[10] = to[11] = 0;
		epf_head_add(head, 20);
		return;
	}
	to = epf_head_room(head, 40);
	if (!to)
		return;
	memcpy(to, ip->hdr, 40);
	to[7] = 0;
	epf_head_add(head, 40);
}

/* Take the bytes that come last, and the length if any were left out. */
EPF_FN_BIG __u64 epf_take_rest(struct epf_take *t, const struct epf_hash *h,
			       const struct epf_pkt *pkt)
{
	__u32 n = epf_take_some(t, t->end - t->off);

	epf_pkt_sip(&t->sip, h, pkt, t->off, t->off + n);
	if (t->offered > t->max)
		epf_sip_some(&t->sip, h, t->offered, 4);
	return epf_sip_final(&t->sip, h);
}

/**
 * epf_packet_plain() - the packet key of a plain packet
 * @h: keyed function
 * @pkt: packet
 * @o: checked options, of key EPF_PKT_PACKET
 * @digest: result
 *
 * Plain: Ethernet without tags, IPv4 without options, all of it in the first
 * segment. Then the canonical bytes lie in one piece, but for TTL and checksum.
 * Same digest as by the long way, which packets in several segments show.
 *
 * Return: false where options or packet are of another kind, or wrong.
 */
EPF_FN bool epf_packet_plain(const struct epf_hash *h,
			     const struct epf_pkt *pkt,
			     const struct epf_pkt_opts *o, __u64 *digest)
{
	__u32 len, end, at;
	const __u8 *p = epf_pkt_first(pkt, &len);
	struct epf_sip s;

	if (o->link != EPF_LINK_ETHER || o->max_bytes || len < 34)
		return false;
	end = 14 + epf_opaque(epf_be16(p + 16));
	if ((epf_get_le64(p + 12) & 0xffffff) != 0x450008 || end < 34 ||
	    end > len)
		return false;
	epf_sip_init(&s, h);
	if (o->flags & EPF_PKT_NO_MAC) {
		epf_sip_word(&s, epf_get_le64(p + 12));
		epf_sip_word(&s, epf_get_le64(p + 20) & ~0xffff00ff0000ULL);
		at = 28;
	} else {
		epf_sip_word(&s, epf_get_le64(p));
		epf_sip_word(&s, epf_get_le64(p + 8));
		epf_sip_word(&s, epf_get_le64(p + 16) & ~(0xffULL << 48));
		epf_sip_word(&s, epf_get_le64(p + 24) & ~0xffffULL);
		at = 32;
	}
	s.len = o->flags & EPF_PKT_NO_MAC ? at - 12 : at;
	epf_sip_update(&s, h, p + at, end - at);
	*digest = epf_sip_final(&s, h);
	return true;
}

/* Take the head of a packet, and note where the rest is. */
EPF_FN_BIG int epf_packet_start(const struct epf_hash *h,
				const struct epf_pkt *pkt,
				const struct epf_pkt_opts *o,
				struct epf_take *t)
{
	struct epf_head head;
	struct epf_l3 l3;
	struct epf_ip ip;
	int err, no_ip;

	err = epf_l3_find(pkt, o->link, &l3);
	if (err)
		return err;
	no_ip = epf_ip_read(pkt, &l3, &ip);
	if (no_ip && no_ip != -EPROTO)
		return no_ip;
	if (!no_ip && ip.end > pkt->len)
		return -ENODATA;
	epf_head_init(&head, h, t);
	epf_head_link(&head, pkt, &l3, o);
	if (!no_ip)
		epf_head_ip(&head, &ip);
	epf_head_take(&head, h, t);
	t->off = no_ip ? l3.off : ip.off + ip.hdr_len;
	t->end = no_ip ? pkt->len : ip.end;
	return 0;
}

/* A flow key in the making. */
struct epf_flow {
	__u8 key[38];
	__u32 len;
	__u32 proto;
	bool fragment;
};

/* ICMP and ICMPv6 queries and replies that carry an identifier. */
EPF_FN bool epf_icmp_has_id(__u32 proto, __u32 type)
{
	if (proto == 58)
		return type == 128 || type == 129;
	return type == 0 || type == 8 || (type >= 13 && type <= 18);
}

EPF_FN bool epf_flow_is_icmp(const struct epf_flow *f)
{
	return f->proto == (f->len == 14 ? 1 : 58);
}

EPF_FN int epf_flow_l4(const struct epf_pkt *pkt, const struct epf_ip *ip,
		       struct epf_flow *f)
{
	bool icmp = epf_flow_is_icmp(f);
	__u8 room[6] EPF_ALIGNED;
	const __u8 *p;
	int err;

	if (f->fragment || (!icmp && !epf_has_ports(f->proto)))
		return 0;
	p = epf_l4_at(pkt, ip, 4, room, &err);
	if (err)
		return err;
	if (!icmp) {
		memcpy(f->key + 2, p, 4);
		return 0;
	}
	memcpy(f->key + 2, p, 2);
	if (!epf_icmp_has_id(f->proto, p[0]))
		return 0;
	p = epf_l4_at(pkt, ip, 6, room, &err);
	if (!err)
		memcpy(f->key + 4, p + 4, 2);
	return err;
}

/* What the IP header gives; epf_ip_walk() has been there. */
EPF_FN void epf_flow_ip(const struct epf_ip *ip, struct epf_flow *f)
{
	__u32 addrs = ip->hdr_len == 20 ? 8 : 32;

	f->len = 6 + addrs;
	f->proto = ip->proto;
	f->fragment = ip->fragment;
	memset(f->key, 0, 6);
	if (f->fragment)
		memcpy(f->key + 2, ip->frag_id, 4);
	if (addrs == 8)
		memcpy(f->key + 6, ip->hdr + 12, 8);
	else
		memcpy(f->key + 6, ip->hdr + 8, 32);
}

/* The digest of @f by @kind; @len and @kind are constants, so no offset into the key is a
 * variable.
 */
EPF_FN __u64 epf_flow_rounds(const struct epf_hash *h, const struct epf_flow *f,
			     __u32 len, __u64 kind)
{
	struct epf_sip s;
	__u32 i;

	epf_sip_init(&s, h);
	s.kind = kind;
	EPF_UNROLL_ALL
	for (i = 0; i + 8 <= len; i += 8)
		epf_sip_word(&s, epf_get_le64(f->key + i));
	s.tail = epf_get_le_last(f->key, len, len & 7);
	s.len = len;
	return epf_sip_end(&s);
}

/* What is said in front, then the digest of all. */
EPF_FN_SPLIT __u64 epf_flow_seal(const struct epf_hash *h, struct epf_flow *f)
{
	if (EPF_VERIFIED && (!h || !f)) /* never; the verifier asks for it */
		return 0;
	f->key[0] = (f->len == 14 ? 4 : 6) | (f->fragment ? 0x80 : 0);
	f->key[1] = (__u8)f->proto;
	if (h->kind == EPF_HASH_SIPHASH24) /* a flow's key is short for EPF_HASH_NH */
		return f->len == 14 ?
			       epf_flow_rounds(h, f, 14, EPF_HASH_SIPHASH24) :
			       epf_flow_rounds(h, f, 38, EPF_HASH_SIPHASH24);
	return f->len == 14 ? epf_flow_rounds(h, f, 14, EPF_HASH_SIPHASH13) :
			      epf_flow_rounds(h, f, 38, EPF_HASH_SIPHASH13);
}

EPF_FN int epf_flow_digest(const struct epf_hash *h, const struct epf_pkt *pkt,
			   const struct epf_pkt_opts *o, __u64 *digest)
{
	struct epf_flow f;
	struct epf_l3 l3;
	struct epf_ip ip;
	int err;

	epf_blank(&f, sizeof(f));
	err = epf_l3_find(pkt, o->link, &l3);
	if (!err)
		err = epf_ip_read(pkt, &l3, &ip);
	if (!err)
		err = epf_ip_walk(pkt, &ip);
	if (err)
		return err;
	epf_flow_ip(&ip, &f);
	err = epf_flow_l4(pkt, &ip, &f);
	if (err)
		return err;
	*digest = epf_flow_seal(h, &f);
	return 0;
}

/**
 * struct epf_flow_rec - a flow as a record of an exporter tells it
 * @src: address; of IPv4 the first four bytes
 * @dst: address
 * @id: ports, or the type and code of ICMP, as they are in the packet
 * @version: 4 or 6
 * @proto: of the transport header
 */
struct epf_flow_rec {
	__u8 src[16];
	__u8 dst[16];
	__u8 id[4];
	__u8 version;
	__u8 proto;
};

/**
 * epf_flow_rec_digest() - the digest that packets of a flow have
 * @h: keyed function
 * @r: flow; not of fragments
 * @digest: result
 *
 * Of protocols without ports @r->id does not count.
 *
 * Return: 0; -ENODATA: ICMP of a type whose key has the identifier, which no
 * record tells.
 */
EPF_FN int epf_flow_rec_digest(const struct epf_hash *h,
			       const struct epf_flow_rec *r, __u64 *digest)
{
	__u32 addr = r->version == 4 ? 4 : 16;
	struct epf_flow f;

	f.len = 6 + 2 * addr;
	f.proto = r->proto;
	f.fragment = false;
	memset(f.key, 0, 8);
	memcpy(f.key + 6, r->src, addr);
	memcpy(f.key + 6 + addr, r->dst, addr);
	if (epf_flow_is_icmp(&f)) {
		if (epf_icmp_has_id(f.proto, r->id[0]))
			return -ENODATA;
		memcpy(f.key + 2, r->id, 2);
	} else if (epf_has_ports(f.proto)) {
		memcpy(f.key + 2, r->id, 4);
	}
	*digest = epf_flow_seal(h, &f);
	return 0;
}

/**
 * epf_flow_plain() - the flow key of a plain packet, in registers
 * @p: the packet, or its first segment
 * @len: of it
 * @o: options, checked or not
 * @first: bytes 0 .. 7 of the key, little-endian
 * @tail: bytes 8 .. 13
 *
 * Plain: as epf_is_plain(), and a protocol with ports. Same key as from
 * epf_flow_digest(), which packets in several segments show.
 *
 * Return: false where options or packet are of another kind, or wrong, or the
 * packet is one that EPF_PKT_PASS_CONTROL passes.
 */
EPF_FN bool epf_flow_plain(const __u8 *p, __u32 len,
			   const struct epf_pkt_opts *o, __u64 *first,
			   __u64 *tail)
{
	const struct epf_pkt_opts flow = { EPF_PKT_FLOW, EPF_LINK_ETHER, 0, 0 };
	const struct epf_pkt_opts free = {
		0, 0, EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL, 0
	};
	__u64 have, want, any, addrs;

	memcpy(&have, o, 8); /* one comparison of all, on constants */
	memcpy(&want, &flow, 8);
	memcpy(&any, &free, 8);
	if ((have & ~any) != want || !epf_is_plain(p, len) ||
	    !epf_has_ports(p[23]))
		return false;
	/* Both flags are wrong (epf_pkt_opts_check()). */
	if ((o->flags & EPF_PKT_PASS_CONTROL) &&
	    ((o->flags & EPF_PKT_NONIP_FRAME) || epf_control_plain(p)))
		return false;
	addrs = epf_get_le64(p + 26);
	*first = 4 | (__u64)p[23] << 8 | epf_get_le64(p + 30) >> 32 << 16 |
		 addrs << 48;
	*tail = addrs >> 16;
	return true;
}

/**
 * epf_pkt_opts_read() - options as they are at one moment
 * @from: options in memory that others may be writing
 *
 * Return: a copy, to be checked and used in place of @from. It may be of two
 * states, half each.
 */
EPF_FN struct epf_pkt_opts epf_pkt_opts_read(const struct epf_pkt_opts *from)
{
	struct epf_pkt_opts copy;
	__u32 half[2];

	memcpy(half, from, sizeof(half));
	half[0] = epf_opaque(half[0]);
	half[1] = epf_opaque(half[1]);
	memcpy(&copy, half, sizeof(copy));
	return copy;
}

/**
 * epf_pkt_opts_check() - are the options ones we know?
 * @o: options
 *
 * Return: 0, or -EINVAL: unknown key, link or flag, or a flag or length that
 * the key, or another flag, leaves no use for.
 */
EPF_FN int epf_pkt_opts_check(const struct epf_pkt_opts *o)
{
	if (o->link > EPF_LINK_SLL2 || (o->flags & ~EPF_PKT_MASK))
		return -EINVAL;
	switch (o->key) {
	case EPF_PKT_FRAME:
		return o->flags & ~EPF_PKT_PASS_CONTROL ? -EINVAL : 0;
	case EPF_PKT_PACKET:
		return o->flags & EPF_PKT_NONIP_FRAME ? -EINVAL : 0;
	case EPF_PKT_FLOW:
		if (o->max_bytes)
			return -EINVAL;
		return o->flags && o->flags != EPF_PKT_NONIP_FRAME &&
		       o->flags != EPF_PKT_PASS_CONTROL ? -EINVAL : 0;
	}
	return -EINVAL;
}

/* Return: 0, or the reason to pass the packet, as epf_control(). */
EPF_FN int epf_pkt_control(const struct epf_pkt *pkt,
			   const struct epf_pkt_opts *o)
{
	return o->flags & EPF_PKT_PASS_CONTROL ? epf_control(pkt, o->link) : 0;
}

/**
 * epf_pkt_start() - parse a packet and digest its headers
 * @h: keyed function
 * @pkt: packet that epf_pkt_control() does not pass
 * @o: options that passed epf_pkt_opts_check()
 * @digest: result, unless @rest is set
 * @t: digest in progress, if @rest is set
 * @rest: set if epf_take_rest() has to finish the digest; false at first
 *
 * Return: as epf_pkt_digest().
 */
EPF_FN int epf_pkt_start(const struct epf_hash *h, const struct epf_pkt *pkt,
			 const struct epf_pkt_opts *o, __u64 *digest,
			 struct epf_take *t, bool *rest)
{
	int err;

	if (o->key == EPF_PKT_PACKET && epf_packet_plain(h, pkt, o, digest))
		return 0;
	if (o->key == EPF_PKT_FLOW) {
		err = epf_flow_digest(h, pkt, o, digest);
		if (err != -EPROTO || !(o->flags & EPF_PKT_NONIP_FRAME))
			return err;
	}
	*rest = true;
	epf_take_init(t, h, o->max_bytes);
	t->end = pkt->len;
	return o->key == EPF_PKT_PACKET ? epf_packet_start(h, pkt, o, t) : 0;
}

/**
 * epf_pkt_digest() - the digest of a packet
 * @h: keyed function
 * @pkt: packet
 * @o: options that passed epf_pkt_opts_check()
 * @digest: result
 *
 * Return: 0, -ENODATA: the packet ends before what the key needs (packet: the
 * whole datagram), -EBADMSG: a header contradicts itself, -EPROTO: not IP and
 * to be passed, -(EPF_CONTROL + enum epf_control): a control packet and to be
 * passed.
 */
EPF_FN int epf_pkt_digest(const struct epf_hash *h, const struct epf_pkt *pkt,
			  const struct epf_pkt_opts *o, __u64 *digest)
{
	__u64 first, tail;
	struct epf_take t;
	bool rest = false;
	const __u8 *p;
	__u32 len;
	int err;

	p = epf_pkt_first(pkt, &len);
	if (epf_flow_plain(p, len, o, &first, &tail)) {
		*digest = epf_digest_words(h, first, tail, 14);
		return 0;
	}
	err = epf_pkt_control(pkt, o);
	if (!err)
		err = epf_pkt_start(h, pkt, o, digest, &t, &rest);
	if (!err && rest)
		*digest = epf_take_rest(&t, h, pkt);
	return err;
}

#endif /* EPF_PACKET_H */
