/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet digests: the canonical bytes of a packet under struct epf_pkt_opts, hashed. Pure
 * functions; any context.
 *
 * Memory may change while it is read: packets (headers.h), and options, which are in memory
 * that BPF programs and user space write. epf_pkt_opts_read() makes the one copy of the
 * options that is checked and used. struct epf_head bounds itself, whatever the options and
 * the packet say.
 *
 * Canonical bytes:
 *
 *   FRAME   the frame
 *   PACKET  [destination and source MAC] [VLAN tags] EtherType, then
 *             IPv4: the datagram up to its total length, TTL and checksum 0
 *             IPv6: the datagram up to its payload length, hop limit 0
 *             other protocols: the rest of the frame
 *   FLOW    and the keys derived from it: flow.h
 *
 * With max_bytes, FRAME and PACKET are cut there; if anything was cut, the total length
 * follows as 32 little-endian bits.
 *
 * With EPF_PKT_PASS_CONTROL, packets of control.h and packets that are not IP have no
 * digest.
 *
 * Formats: headers.h; RFC 792, 4443.
 */
#ifndef EPF_PACKET_H
#define EPF_PACKET_H

#include "flow.h"

/**
 * struct epf_take - canonical bytes on their way into a digest
 * @sip: digest in progress
 * @max: how many bytes count
 * @offered: how many bytes have been offered so far
 * @off: offset in the packet where its last canonical bytes begin
 * @end: and where they end
 */
struct epf_take {
	struct epf_sip sip;
	__u32 max;
	__u32 offered;
	__u32 off;
	__u32 end;
};

/* @all: total number of canonical bytes. */
EPF_FN void epf_take_init(struct epf_take *t, const struct epf_hash *h, __u32 max_bytes, __u32 all)
{
	t->max = max_bytes ? max_bytes : 0xffffffff;
	t->offered = 0;
	epf_sip_init(&t->sip, h, all > t->max ? t->max + 4 : all);
}

/* Offer @n more bytes. Return: how many of them count. */
EPF_FN __u32 epf_take_some(struct epf_take *t, __u32 n)
{
	__u32 left = t->offered < t->max ? t->max - t->offered : 0;

	t->offered += n;
	return n < left ? n : left;
}

#ifndef EPF_NO_PERFMON

/* The canonical bytes that precede the rest of a packet. */
struct epf_head {
	__u8 bytes[12 + 4 * EPF_VLAN_MAX + 2 + EPF_HDR_MAX + 2] EPF_ALIGNED; /* whole words */
	__u32 len;
};

EPF_FN void epf_head_init(struct epf_head *head, const struct epf_hash *h,
			  const struct epf_pkt_opts *o, __u32 all, struct epf_take *t)
{
	(void)h;
	(void)t;
	(void)o;
	(void)all;
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

/* The caller has written @n bytes. */
EPF_FN void epf_head_add(struct epf_head *head, __u32 n)
{
	(void)head;
	(void)n;
}

/* Absorb the whole head into the digest. */
EPF_FN_APART int epf_head_take(struct epf_head *head, const struct epf_hash *h, struct epf_take *t,
			       __u32 max_bytes)
{
	if (EPF_VERIFIED && (!head || !h || !t))
		return 0;
	epf_take_init(t, h, max_bytes, head->len + t->end - t->off);
	epf_sip_update(&t->sip, h, head->bytes, epf_take_some(t, head->len));
	return 0;
}

#else /* the same digest without variable offsets into memory */

struct epf_head {
	__u8 room[EPF_HDR_MAX] EPF_ALIGNED;
	const struct epf_hash *h;
	struct epf_take *take;
};

EPF_FN void epf_head_init(struct epf_head *head, const struct epf_hash *h,
			  const struct epf_pkt_opts *o, __u32 all, struct epf_take *t)
{
	epf_take_init(t, h, o->max_bytes, all);
	memset(head->room, 0, sizeof(head->room));
	head->h = h;
	head->take = t;
}

EPF_FN __u8 *epf_head_room(struct epf_head *head, __u32 n)
{
	(void)n;
	return head->room;
}

/* Absorb the low @n bytes of @m, 0 .. 8. */
EPF_FN_APART int epf_take_word(struct epf_take *t, const struct epf_hash *h, __u64 m, __u32 n)
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

EPF_FN void epf_head_take(const struct epf_head *head, const struct epf_hash *h, struct epf_take *t,
			  __u32 max_bytes)
{
	(void)head;
	(void)h;
	(void)t;
	(void)max_bytes;
}

#endif

/* Append @n bytes, a constant, from @off of the packet, which has them. */
EPF_FN void epf_head_pkt(struct epf_head *head, const struct epf_pkt *pkt, __u32 off, __u32 n)
{
	__u8 *to = epf_head_room(head, n);
	const __u8 *p = to ? epf_pkt_at(pkt, off, n, to) : NULL;

	if (p && p != to)
		memcpy(to, p, n);
	epf_head_add(head, n);
}

EPF_FN void epf_head_link(struct epf_head *head, const struct epf_pkt *pkt, const struct epf_l3 *l3,
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

/* The fixed part of the IP header, without the fields that a router changes. */
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

/* Absorb the last bytes, and the length if any bytes were left out. */
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
 * @p: the packet, or its first segment
 * @len: its length
 * @o: options, checked or not
 * @digest: result
 *
 * Plain means Ethernet without tags, IPv4 without options, all of it in the first segment;
 * with EPF_PKT_PASS_CONTROL also epf_is_plain(). Then the canonical bytes are contiguous,
 * except for TTL and checksum. The digest is the same as on the general path, which packets
 * in several segments take.
 *
 * Return: false if the options or the packet are of another kind, or malformed, or if
 * EPF_PKT_PASS_CONTROL passes the packet.
 */
EPF_FN bool epf_packet_plain(const struct epf_hash *h, const __u8 *p, __u32 len,
			     const struct epf_pkt_opts *o, __u64 *digest)
{
	const struct epf_pkt_opts packet = { EPF_PKT_PACKET, EPF_LINK_ETHER, 0, 0 };
	const struct epf_pkt_opts free = { 0, 0,
					   EPF_PKT_PASS_CONTROL | EPF_PKT_NO_MAC | EPF_PKT_NO_VLAN,
					   0 };
	__u64 word[4];
	__u32 end;

	if (!epf_opts_are(o, &packet, &free) || len < 34)
		return false;
	end = 14 + epf_opaque(epf_be16(p + 16));
	if ((epf_get_le64(p + 12) & 0xffffff) != 0x450008 || end < 34 || end > len)
		return false;
	if ((o->flags & EPF_PKT_PASS_CONTROL) && (!epf_is_plain(p, len) || epf_control_plain(p)))
		return false;
	if (o->flags & EPF_PKT_NO_MAC) {
		word[0] = epf_get_le64(p + 12);
		word[1] = epf_get_le64(p + 20) & ~0xffff00ff0000ULL;
		*digest = epf_digest_from(h, word, 2, p + 28, end - 28);
		return true;
	}
	word[0] = epf_get_le64(p);
	word[1] = epf_get_le64(p + 8);
	word[2] = epf_get_le64(p + 16) & ~(0xffULL << 48);
	word[3] = epf_get_le64(p + 24) & ~0xffffULL;
	*digest = epf_digest_from(h, word, 4, p + 32, end - 32);
	return true;
}

/* Bytes of the head of a packet; @hdr_len of them are the IP header. */
EPF_FN __u32 epf_head_len(const struct epf_l3 *l3, const struct epf_pkt_opts *o, __u32 hdr_len)
{
	__u32 len = 2 + hdr_len;

	if (l3->macs && !(o->flags & EPF_PKT_NO_MAC))
		len += 12;
	return o->flags & EPF_PKT_NO_VLAN ? len : len + 4 * l3->tags;
}

/* Absorb the head of a packet, and note where the rest is. */
EPF_FN_BIG int epf_packet_start(const struct epf_hash *h, const struct epf_pkt *pkt,
				const struct epf_pkt_opts *o, struct epf_take *t)
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
	t->off = no_ip ? l3.off : ip.off + ip.hdr_len;
	t->end = no_ip ? pkt->len : ip.end;
	epf_head_init(&head, h, o, t->end - t->off + epf_head_len(&l3, o, no_ip ? 0 : ip.hdr_len),
		      t);
	epf_head_link(&head, pkt, &l3, o);
	if (!no_ip)
		epf_head_ip(&head, &ip);
	epf_head_take(&head, h, t, o->max_bytes);
	return 0;
}

/**
 * epf_pkt_opts_read() - read options once
 * @from: options in memory that others may be writing
 *
 * Return: a copy, to be checked and used in place of @from. Its two halves may be from
 * different moments.
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

/* Flags that may be combined freely with a key. */
EPF_FN __u32 epf_pkt_flags(__u32 key)
{
	const __u32 flow = EPF_PKT_PASS_CONTROL | EPF_PKT_ERRORS | EPF_PKT_SCOPES;

	switch (key) {
	case EPF_PKT_FRAME:
		return EPF_PKT_PASS_CONTROL;
	case EPF_PKT_PACKET:
		return EPF_PKT_PASS_CONTROL | EPF_PKT_NO_MAC | EPF_PKT_NO_VLAN;
	case EPF_PKT_CONVERSATION:
		return flow | EPF_PKT_FIRST;
	case EPF_PKT_PEER:
		return flow | EPF_PKT_REVERSE;
	}
	return flow | EPF_PKT_REVERSE | EPF_PKT_FIRST;
}

EPF_FN bool epf_prefix_sound(__u32 bits, __u32 all)
{
	return !bits || (bits >= EPF_PKT_PREFIX_LEAST && bits < all);
}

/* Keys derived from flows: mark and zone exclude each other, a zone number needs
 * EPF_PKT_ZONE, and only peers have a prefix.
 */
EPF_FN bool epf_flow_opts_sound(const struct epf_pkt_opts *o)
{
	if (!(o->flags & EPF_PKT_ZONE) && EPF_PKT_ZONE_OF(o->max_bytes))
		return false;
	if ((o->flags & EPF_PKT_ZONE) && (o->flags & EPF_PKT_MARK))
		return false;
	if (o->key < EPF_PKT_PEER)
		return !(o->max_bytes & 0xffff);
	return epf_prefix_sound(EPF_PKT_PREFIX4(o->max_bytes), 32) &&
	       epf_prefix_sound(EPF_PKT_PREFIX6(o->max_bytes), 128);
}

/**
 * epf_pkt_opts_check() - are the options valid?
 * @o: options
 *
 * Return: 0, or -EINVAL: unknown key, link or flag, or a flag or number that has no meaning
 * with this key or with another flag.
 */
EPF_FN int epf_pkt_opts_check(const struct epf_pkt_opts *o)
{
	bool sound = o->key < EPF_PKT_KEYS && o->link <= EPF_LINK_SLL2 &&
		     !(o->flags & ~epf_pkt_flags(o->key));

	if (o->key == EPF_PKT_FLOW && o->flags == EPF_PKT_NONIP_FRAME)
		sound = o->link <= EPF_LINK_SLL2;
	if (o->key >= EPF_PKT_FLOW)
		sound = sound && epf_flow_opts_sound(o);
	return sound ? 0 : -EINVAL;
}

/* Return: 0, or the reason to pass the packet, as epf_control(). */
EPF_FN int epf_pkt_control(const struct epf_pkt *pkt, const struct epf_pkt_opts *o)
{
	return o->flags & EPF_PKT_PASS_CONTROL ? epf_control(pkt, o->link) : 0;
}

/**
 * epf_pkt_start() - parse a packet and digest its headers
 * @h: keyed function
 * @pkt: packet that epf_pkt_control() does not pass
 * @o: options that passed epf_pkt_opts_check(), with key EPF_PKT_FRAME or EPF_PKT_PACKET
 * @t: digest in progress, which epf_take_rest() finishes
 *
 * Return: as epf_pkt_digest().
 */
EPF_FN int epf_pkt_start(const struct epf_hash *h, const struct epf_pkt *pkt,
			 const struct epf_pkt_opts *o, struct epf_take *t)
{
	if (o->key == EPF_PKT_PACKET)
		return epf_packet_start(h, pkt, o, t);
	t->off = 0;
	t->end = pkt->len;
	epf_take_init(t, h, o->max_bytes, pkt->len);
	return 0;
}

/* For the keys EPF_PKT_FRAME and EPF_PKT_PACKET. */
EPF_FN int epf_pkt_whole(const struct epf_hash *h, const struct epf_pkt *pkt,
			 const struct epf_pkt_opts *o, __u64 *digest)
{
	struct epf_take t;
	int err = epf_pkt_start(h, pkt, o, &t);

	if (!err)
		*digest = epf_take_rest(&t, h, pkt);
	return err;
}

/* For all keys. */
EPF_FN int epf_pkt_any(const struct epf_hash *h, const struct epf_pkt *pkt,
		       const struct epf_pkt_opts *o, const struct epf_pkt_scope *s, __u64 *digest)
{
	struct epf_pkt_opts frame = *o;
	int err;

	if (o->key < EPF_PKT_FLOW)
		return epf_pkt_whole(h, pkt, o, digest);
	err = epf_flow_digest(h, pkt, o, s, digest);
	if (err != -EPROTO || !(o->flags & EPF_PKT_NONIP_FRAME))
		return err;
	frame.key = EPF_PKT_FRAME;
	return epf_pkt_whole(h, pkt, &frame, digest);
}

/**
 * epf_pkt_digest_in() - the digest of a packet in a scope
 * @h: keyed function
 * @pkt: packet
 * @o: options that passed epf_pkt_opts_check()
 * @s: scope; NULL: the caller knows none
 * @digest: result
 *
 * Return: 0, -ENODATA: the packet ends before the bytes that the key needs (for a packet
 * key: the whole datagram), -EBADMSG: a header contradicts itself, -EPROTO: not IP, to be
 * passed, -ENOMSG: a fragment, which has no ports (EPF_PKT_FIRST), -(EPF_CONTROL + enum
 * epf_control): a control packet, to be passed, -EINVAL: the key includes an interface or a
 * mark, and there is no scope.
 */
EPF_FN int epf_pkt_digest_in(const struct epf_hash *h, const struct epf_pkt *pkt,
			     const struct epf_pkt_opts *o, const struct epf_pkt_scope *s,
			     __u64 *digest)
{
	__u64 first, tail;
	const __u8 *p;
	__u32 len;
	int err;

	p = epf_pkt_first(pkt, &len);
	if (epf_flow_plain_found(p, len, o, &first, &tail)) {
		*digest = epf_digest_words(h, first, tail, 14);
		return 0;
	}
	if (epf_packet_plain(h, p, len, o, digest))
		return 0;
	err = epf_pkt_control(pkt, o);
	return err ? err : epf_pkt_any(h, pkt, o, s, digest);
}

/* epf_pkt_digest_in() without a scope. */
EPF_FN int epf_pkt_digest(const struct epf_hash *h, const struct epf_pkt *pkt,
			  const struct epf_pkt_opts *o, __u64 *digest)
{
	return epf_pkt_digest_in(h, pkt, o, NULL, digest);
}

#endif /* EPF_PACKET_H */
