/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys of flows, and keys derived from them: conversations, peers. Pure functions; any
 * context.
 *
 * Canonical bytes:
 *
 *   one      version; plus 0x80 for a fragment; plus 0x10 for a conversation, 0x20 for a
 *            peer, 0x30 for a peer and port
 *   one      protocol; for a peer 0
 *   four     ports; or ICMP type, code, id; or the fragment's id; or 0. Peer: 0; peer and
 *            port: source port and 0; or the fragment's id
 *   4 or 16  source
 *   4 or 16  destination; for peers the number of bits of the source that count (0: all),
 *            then 0
 *   16       only with EPF_PKT_SCOPES: eight little-endian bytes with the VLAN ids and
 *            which scopes there are; then the interface, and the mark or zone, four bytes
 *            each
 *
 * There are 14 or 38 bytes, with a scope 30 or 54. After the first six bytes they are whole
 * words, and are stored so: an IPv6 address is two words, and both IPv4 addresses together
 * are one. So a key is built and hashed in registers.
 *
 * Formats: headers.h; RFC 792, 4443. ICMP errors: RFC 792 types 3, 4, 5, 11, 12; RFC 4443
 * types 1 to 4.
 */
#ifndef EPF_FLOW_H
#define EPF_FLOW_H

#include "control.h"
#include "hash.h"

/**
 * struct epf_flow - a flow, or a key derived from it
 * @src: address, as two little-endian words; for IPv4 the low half of the first
 * @dst: likewise
 * @scope: with EPF_PKT_SCOPES
 * @four: the four bytes, little-endian
 * @proto: of the transport header
 * @six: IPv6
 * @fragment: a fragment, identified by its id
 * @key: enum epf_pkt_key
 * @scoped: @scope counts
 */
struct epf_flow {
	__u64 src[2];
	__u64 dst[2];
	__u64 scope[2];
	__u32 four;
	__u32 proto;
	bool six;
	bool fragment;
	__u8 key;
	bool scoped;
};

/* ICMP and ICMPv6 queries and replies that carry an identifier. */
EPF_FN bool epf_icmp_has_id(__u32 proto, __u32 type)
{
	if (proto == 58)
		return type == 128 || type == 129;
	return type == 0 || type == 8 || (type >= 13 && type <= 18);
}

/* The type that answers a query, and the reverse: echo, time stamp, information, address
 * mask.
 */
EPF_FN __u32 epf_icmp_answer(__u32 proto, __u32 type)
{
	if (!epf_icmp_has_id(proto, type))
		return type;
	if (proto == 58)
		return type ^ 1;
	return type <= 8 ? type ^ 8 : ((type + 1) ^ 1) - 1;
}

/* ICMP types that carry the packet they report on. */
EPF_FN bool epf_icmp_is_error(__u32 proto, __u32 type)
{
	if (proto == 58)
		return type >= 1 && type <= 4;
	return (type >= 3 && type <= 5) || type == 11 || type == 12;
}

EPF_FN bool epf_flow_is_icmp(const struct epf_flow *f)
{
	return f->proto == (f->six ? 58 : 1);
}

EPF_FN __u64 epf_swap64(__u64 v)
{
	v = (v & 0x00ff00ff00ff00ffULL) << 8 | (v >> 8 & 0x00ff00ff00ff00ffULL);
	v = (v & 0x0000ffff0000ffffULL) << 16 | (v >> 16 & 0x0000ffff0000ffffULL);
	return v << 32 | v >> 32;
}

/* The four bytes of the reverse flow. */
EPF_FN __u32 epf_flow_four_back(const struct epf_flow *f)
{
	if (f->fragment)
		return f->four;
	if (epf_flow_is_icmp(f))
		return (f->four & ~0xffu) | epf_icmp_answer(f->proto, f->four & 0xff);
	return f->four << 16 | f->four >> 16;
}

EPF_FN void epf_flow_reverse(struct epf_flow *f)
{
	__u64 high = f->src[0], low = f->src[1];

	f->four = epf_flow_four_back(f);
	f->src[0] = f->dst[0];
	f->src[1] = f->dst[1];
	f->dst[0] = high;
	f->dst[1] = low;
}

/* Is the reverse flow the one that comes first? The order is by source address and the four
 * bytes, as the packet has them; it is never true for both directions.
 */
EPF_FN bool epf_flow_is_back(const struct epf_flow *f)
{
	if (f->src[0] != f->dst[0])
		return epf_swap64(f->dst[0]) < epf_swap64(f->src[0]);
	if (f->src[1] != f->dst[1])
		return epf_swap64(f->dst[1]) < epf_swap64(f->src[1]);
	return epf_swap64(epf_flow_four_back(f)) < epf_swap64(f->four);
}

/* The first @n bits of eight bytes; @n <= 0: none, 64 and up: all. */
EPF_FN __u64 epf_first_bits(__u64 word, int n)
{
	if (n >= 64)
		return word;
	return n > 0 ? word & epf_swap64(~0ULL << (64 - n)) : 0;
}

/* Reduce a flow to what identifies the peer. */
EPF_FN void epf_flow_peer(struct epf_flow *f, __u32 max_bytes)
{
	__u32 bits = f->six ? EPF_PKT_PREFIX6(max_bytes) : EPF_PKT_PREFIX4(max_bytes);
	int n = bits ? (int)bits : 128;

	f->src[0] = epf_first_bits(f->src[0], n);
	f->src[1] = epf_first_bits(f->src[1], n - 64);
	f->dst[0] = bits;
	f->dst[1] = 0;
	if (f->key == EPF_PKT_PEER) {
		f->proto = 0;
		f->four = 0;
		f->fragment = false;
	} else if (!f->fragment) {
		f->four &= epf_flow_is_icmp(f) ? 0 : 0xffff;
	}
}

/* Turn the flow of a packet into the requested one. @answer: the answer to that flow
 * counts, as for ICMP errors.
 */
EPF_FN void epf_flow_turn(struct epf_flow *f, const struct epf_pkt_opts *o, bool answer)
{
	bool back = answer;

	if (o->flags & EPF_PKT_REVERSE)
		back = !answer;
	if (o->key == EPF_PKT_CONVERSATION)
		back = epf_flow_is_back(f);
	if (back)
		epf_flow_reverse(f);
	if (o->key >= EPF_PKT_PEER)
		epf_flow_peer(f, o->max_bytes);
}

/* Bits 0 to 47 are VLAN ids (struct epf_l3), bits 48 and up say which scopes there are;
 * then come the interface, and the mark or zone. Everything else is 0.
 */
EPF_FN int epf_flow_scope(struct epf_flow *f, const struct epf_l3 *l3, const struct epf_pkt_opts *o,
			  const struct epf_pkt_scope *s)
{
	__u32 given = o->flags & (EPF_PKT_IFACE | EPF_PKT_MARK);

	f->scoped = o->flags & EPF_PKT_SCOPES;
	f->scope[0] = (__u64)(o->flags & EPF_PKT_SCOPES) / EPF_PKT_VLAN << 48;
	f->scope[1] = 0;
	if (o->flags & EPF_PKT_ZONE)
		f->scope[1] = (__u64)EPF_PKT_ZONE_OF(o->max_bytes) << 32;
	if (o->flags & EPF_PKT_VLAN)
		f->scope[0] |= l3->vids;
	if (!given)
		return 0;
	if (!s)
		return -EINVAL;
	if (given & EPF_PKT_IFACE)
		f->scope[1] |= s->iface;
	if (given & EPF_PKT_MARK)
		f->scope[1] |= (__u64)s->mark << 32;
	return 0;
}

/* Does the key use bytes of the transport header? @errors: ICMP errors count as the packets
 * that they carry.
 */
EPF_FN bool epf_flow_needs_l4(const struct epf_flow *f, bool errors)
{
	if (f->fragment)
		return false;
	if (epf_flow_is_icmp(f))
		return errors || f->key <= EPF_PKT_CONVERSATION;
	return f->key != EPF_PKT_PEER && epf_has_ports(f->proto);
}

/* Return: 0, a negative errno, or 1: an ICMP error, if the caller asked for those. */
EPF_FN int epf_flow_l4(const struct epf_pkt *pkt, const struct epf_ip *ip, bool errors,
		       struct epf_flow *f)
{
	__u8 room[6] EPF_ALIGNED;
	const __u8 *p;
	__u32 type;
	int err;

	if (!epf_flow_needs_l4(f, errors))
		return 0;
	p = epf_l4_at(pkt, ip, 4, room, &err);
	if (err)
		return err;
	if (!epf_flow_is_icmp(f)) {
		f->four = epf_get_le32(p);
		return 0;
	}
	type = epf_opaque(p[0]);
	if (errors && epf_icmp_is_error(f->proto, type))
		return 1;
	if (f->key > EPF_PKT_CONVERSATION)
		return 0;
	f->four = type | (__u32)p[1] << 8;
	if (!epf_icmp_has_id(f->proto, type))
		return 0;
	p = epf_l4_at(pkt, ip, 6, room, &err);
	if (!err)
		f->four |= (__u32)p[4] << 16 | (__u32)p[5] << 24;
	return err;
}

/* The fields that come from the IP header, after epf_ip_walk(). */
EPF_FN void epf_flow_ip(const struct epf_ip *ip, __u8 key, struct epf_flow *f)
{
	f->key = key;
	f->six = ip->hdr_len != 20;
	f->proto = ip->proto;
	f->fragment = ip->fragment;
	f->four = ip->fragment ? epf_get_le32(ip->frag_id) : 0;
	if (f->six) {
		f->src[0] = epf_get_le64(ip->hdr + 8);
		f->src[1] = epf_get_le64(ip->hdr + 16);
		f->dst[0] = epf_get_le64(ip->hdr + 24);
		f->dst[1] = epf_get_le64(ip->hdr + 32);
	} else {
		f->src[0] = epf_get_le32(ip->hdr + 12);
		f->dst[0] = epf_get_le32(ip->hdr + 16);
		f->src[1] = f->dst[1] = 0;
	}
}

/* Canonical bytes in whole words; bytes after them are 0. */
struct epf_flow_key {
	__u64 word[9];
};

/* Write word @i. @held: the six bytes carried over from before, replaced by the next six. */
EPF_FN void epf_flow_word(struct epf_flow_key *k, __u32 i, __u64 *held, __u64 w)
{
	k->word[i] = *held | w << 48;
	*held = w >> 16;
}

/* Write the scope as words @i and up. Return: length. */
EPF_FN __u32 epf_flow_end(struct epf_flow_key *k, __u32 i, __u64 held, const struct epf_flow *f)
{
	if (f->scoped) {
		epf_flow_word(k, i, &held, f->scope[0]);
		epf_flow_word(k, i + 1, &held, f->scope[1]);
		k->word[i + 2] = held;
		epf_apart(1);
		return 8 * i + 22;
	}
	k->word[i] = held;
	return 8 * i + 6;
}

/* Return: length. */
EPF_FN __u32 epf_flow_bytes(const struct epf_flow *f, struct epf_flow_key *k)
{
	__u64 held = (f->six ? 6 : 4) | (f->fragment ? 0x80 : 0) |
		     (__u32)(f->key - EPF_PKT_FLOW) << 4;
	__u32 len;

	held |= (__u64)f->proto << 8 | (__u64)f->four << 16;
	memset(k, 0, sizeof(*k));
	if (!f->six) {
		epf_flow_word(k, 0, &held, f->src[0] | f->dst[0] << 32);
		len = epf_flow_end(k, 1, held, f);
		epf_apart(4);
		return len;
	}
	epf_flow_word(k, 0, &held, f->src[0]);
	epf_flow_word(k, 1, &held, f->src[1]);
	epf_flow_word(k, 2, &held, f->dst[0]);
	epf_flow_word(k, 3, &held, f->dst[1]);
	len = epf_flow_end(k, 4, held, f);
	epf_apart(6);
	return len;
}

EPF_FN_SPLIT __u64 epf_flow_seal(const struct epf_hash *h, const struct epf_flow *f)
{
	struct epf_flow_key key;
	__u32 len;

	if (EPF_VERIFIED && (!h || !f)) /* never NULL, but the verifier requires the check */
		return 0;
	len = epf_flow_bytes(f, &key);
	return epf_digest_array(h, key.word, len);
}

/* The packet that the error at @ip carries, which ends where the error ends. */
EPF_FN void epf_l3_carried(struct epf_l3 *l3, const struct epf_ip *ip)
{
	l3->off = ip->l4 + 8;
	l3->cap = ip->end < ip->cap ? ip->end : ip->cap;
	l3->carried = 1;
}

/**
 * epf_flow_find() - the flow of a packet
 * @pkt: packet
 * @o: checked options, with key EPF_PKT_FLOW or a later one
 * @l3: network header
 * @f: result
 *
 * Return: as epf_pkt_digest_in(), or 1: an ICMP error; @l3 is now that of the datagram it
 * carries, and the caller calls this function once more.
 */
EPF_FN int epf_flow_find(const struct epf_pkt *pkt, const struct epf_pkt_opts *o, struct epf_l3 *l3,
			 struct epf_flow *f)
{
	__u32 errors = epf_forget(!l3->carried && (o->flags & EPF_PKT_ERRORS));
	__u32 more = epf_forget(!(o->flags & EPF_PKT_FIRST));
	struct epf_ip ip;
	int err;

	err = epf_ip_read(pkt, l3, &ip);
	if (!err)
		err = epf_ip_walk(pkt, &ip, more);
	if (err)
		return err;
	epf_flow_ip(&ip, o->key, f);
	if (!more && ip.fragment) /* no error is about a later fragment: RFC 1122, 3.2.2 */
		return l3->carried ? -EBADMSG : -ENOMSG;
	err = epf_flow_l4(pkt, &ip, errors, f);
	if (err > 0)
		epf_l3_carried(l3, &ip);
	return err;
}

/**
 * epf_flow_make() - the digest of the key made from a flow
 * @h: keyed function
 * @o: as for epf_flow_find()
 * @s: scope; NULL: none
 * @l3: as epf_flow_find() left it
 * @f: as epf_flow_find() left it; its contents are lost
 * @digest: result
 *
 * Return: 0, or -EINVAL: the key includes an interface or a mark, and @s is NULL.
 */
EPF_FN int epf_flow_make(const struct epf_hash *h, const struct epf_pkt_opts *o,
			 const struct epf_pkt_scope *s, const struct epf_l3 *l3, struct epf_flow *f,
			 __u64 *digest)
{
	int err = epf_flow_scope(f, l3, o, s);

	if (err)
		return err;
	epf_flow_turn(f, o, l3->carried);
	*digest = epf_flow_seal(h, f);
	return 0;
}

EPF_FN int epf_flow_digest(const struct epf_hash *h, const struct epf_pkt *pkt,
			   const struct epf_pkt_opts *o, const struct epf_pkt_scope *s,
			   __u64 *digest)
{
	struct epf_flow f;
	struct epf_l3 l3;
	int err;

	err = epf_l3_find(pkt, o->link, &l3);
	if (err)
		return err;
	memset(&f, 0, sizeof(f));
	err = epf_flow_find(pkt, o, &l3, &f);
	if (err > 0)
		err = epf_flow_find(pkt, o, &l3, &f);
	return err ? err : epf_flow_make(h, o, s, &l3, &f, digest);
}

/**
 * struct epf_flow_rec - a flow as an exporter's record describes it
 * @src: address; for IPv4 the first four bytes
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
 * epf_flow_rec_digest() - the digest that packets of a recorded flow have
 * @h: keyed function
 * @r: flow; not a flow of fragments
 * @o: checked options, with key EPF_PKT_FLOW or a later one; the only scope allowed is
 *	EPF_PKT_ZONE
 * @digest: result
 *
 * For protocols without ports @r->id does not count.
 *
 * Return: 0; -ENODATA: an ICMP type whose key includes the identifier or, with
 * EPF_PKT_ERRORS, the packet that it carries; no record has these.
 */
EPF_FN int epf_flow_rec_digest(const struct epf_hash *h, const struct epf_flow_rec *r,
			       const struct epf_pkt_opts *o, __u64 *digest)
{
	struct epf_flow f;

	memset(&f, 0, sizeof(f));
	f.key = o->key;
	f.six = r->version != 4;
	f.proto = r->proto;
	f.src[0] = f.six ? epf_get_le64(r->src) : epf_get_le32(r->src);
	f.dst[0] = f.six ? epf_get_le64(r->dst) : epf_get_le32(r->dst);
	f.src[1] = f.six ? epf_get_le64(r->src + 8) : 0;
	f.dst[1] = f.six ? epf_get_le64(r->dst + 8) : 0;
	if (epf_flow_is_icmp(&f)) {
		if ((o->flags & EPF_PKT_ERRORS) && epf_icmp_is_error(f.proto, r->id[0]))
			return -ENODATA;
		if (o->key <= EPF_PKT_CONVERSATION) {
			if (epf_icmp_has_id(f.proto, r->id[0]))
				return -ENODATA;
			f.four = epf_get_le32(r->id) & 0xffff;
		}
	} else if (epf_has_ports(f.proto)) {
		f.four = epf_get_le32(r->id);
	}
	epf_flow_scope(&f, NULL, o, NULL);
	epf_flow_turn(&f, o, false);
	*digest = epf_flow_seal(h, &f);
	return 0;
}

/**
 * epf_flow_plain() - the flow key of a plain packet, in registers
 * @p: the packet, or its first segment
 * @len: its length
 * @o: options, checked or not
 * @first: bytes 0 .. 7 of the key, little-endian
 * @tail: bytes 8 .. 13
 *
 * Plain means epf_is_plain() and a protocol with ports. The key is the same as from
 * epf_flow_digest(), which packets in several segments take.
 *
 * Return: false if the options or the packet are of another kind, or malformed, or if
 * EPF_PKT_PASS_CONTROL passes the packet.
 */
EPF_FN bool epf_flow_plain(const __u8 *p, __u32 len, const struct epf_pkt_opts *o, __u64 *first,
			   __u64 *tail)
{
	const struct epf_pkt_opts flow = { EPF_PKT_FLOW, EPF_LINK_ETHER, 0, 0 };
	const struct epf_pkt_opts free = { 0, 0, EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL, 0 };
	__u64 addrs;

	if (!epf_opts_are(o, &flow, &free) || !epf_is_plain(p, len) || !epf_has_ports(p[23]))
		return false;
	/* Both flags together are invalid (epf_pkt_opts_check()). */
	if ((o->flags & EPF_PKT_PASS_CONTROL) &&
	    ((o->flags & EPF_PKT_NONIP_FRAME) || epf_control_plain(p)))
		return false;
	addrs = epf_get_le64(p + 26);
	*first = 4 | (__u64)p[23] << 8 | epf_get_le64(p + 30) >> 32 << 16 | addrs << 48;
	*tail = addrs >> 16;
	return true;
}

/**
 * epf_flow_plain_reverse() - turn the words of a plain flow into the reverse flow's
 * @first: as epf_flow_plain() gives it
 * @tail: likewise
 */
EPF_FN void epf_flow_plain_reverse(__u64 *first, __u64 *tail)
{
	__u64 addrs = *first >> 48 | *tail << 16;
	__u32 ports = (__u32)(*first >> 16);

	ports = ports << 16 | ports >> 16;
	addrs = addrs << 32 | addrs >> 32;
	*first = (*first & 0xffff) | (__u64)ports << 16 | addrs << 48;
	*tail = addrs >> 16;
}

/**
 * epf_flow_plain_found() - epf_flow_plain() with flags that choose the flow
 * @p: the packet, or its first segment
 * @len: its length
 * @o: options; checked, unless they have none of EPF_PKT_REVERSE, EPF_PKT_ERRORS and
 *	EPF_PKT_FIRST
 * @first: bytes 0 .. 7 of the key, little-endian
 * @tail: bytes 8 .. 13
 *
 * A plain packet is neither an ICMP error nor a fragment.
 */
EPF_FN bool epf_flow_plain_found(const __u8 *p, __u32 len, const struct epf_pkt_opts *o,
				 __u64 *first, __u64 *tail)
{
	struct epf_pkt_opts flow = *o;

	flow.flags &= (__u16) ~(EPF_PKT_REVERSE | EPF_PKT_ERRORS | EPF_PKT_FIRST);
	if (!epf_flow_plain(p, len, &flow, first, tail))
		return false;
	if (o->flags & EPF_PKT_REVERSE)
		epf_flow_plain_reverse(first, tail);
	return true;
}

#endif /* EPF_FLOW_H */
