// SPDX-License-Identifier: GPL-2.0
/*
 * Packet digests of any frame under any options, in any segments, each of them
 * in memory of exactly its size.
 *
 * Input: key, link (and above two bits the flags from EPF_PKT_REVERSE on), the other
 * flags, max_bytes (2 bytes), cuts; then the length of the
 * segment before each cut; the rest is the frame.
 */
#include "fuzz.h"

#include <epf/packet.h>

#define CUTS_MAX 7

static struct epf_hash hash[EPF_HASH_MAX + 1]; /* one of each kind */

/**
 * struct question - a frame and a query about it
 * @h: keyed function
 * @o: options, checked
 * @frame: the frame
 * @len: its length
 * @cut: lengths of all segments but the last
 * @cuts: number of cuts
 */
struct question {
	const struct epf_hash *h;
	struct epf_pkt_opts o;
	const __u8 *frame;
	__u32 len;
	__u8 cut[CUTS_MAX];
	__u32 cuts;
};

/**
 * struct answer - the result
 * @err: 0 or a negative errno
 * @digest: valid if @err is 0
 */
struct answer {
	int err;
	__u64 digest;
};

/* Take only options that matter for the key, so that no input is wasted. */
static void take_opts(struct input *in, struct epf_pkt_opts *o)
{
	enum { MADE = EPF_PKT_PASS_CONTROL | EPF_PKT_ERRORS | EPF_PKT_SCOPES };
	static const __u16 allowed[] = {
		[EPF_PKT_FRAME] = EPF_PKT_PASS_CONTROL,
		[EPF_PKT_PACKET] = EPF_PKT_NO_MAC | EPF_PKT_NO_VLAN | EPF_PKT_PASS_CONTROL,
		[EPF_PKT_FLOW] = EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL | EPF_PKT_REVERSE |
				 MADE | EPF_PKT_FIRST,
		[EPF_PKT_CONVERSATION] = MADE | EPF_PKT_FIRST,
		[EPF_PKT_PEER] = MADE | EPF_PKT_REVERSE,
		[EPF_PKT_PEER_PORT] = MADE | EPF_PKT_REVERSE | EPF_PKT_FIRST,
	};

	__u32 zone;
	__u8 link;

	o->key = take(in) % EPF_PKT_KEYS;
	link = take(in);
	o->link = link % 4;
	o->flags = (take(in) % EPF_PKT_REVERSE | link / 4 * EPF_PKT_REVERSE) & allowed[o->key];
	if (o->flags & ~EPF_PKT_NONIP_FRAME)
		o->flags &= (__u16)~EPF_PKT_NONIP_FRAME;
	o->max_bytes = take16(in);
	zone = o->max_bytes;
	if (o->key == EPF_PKT_FLOW || o->key == EPF_PKT_CONVERSATION)
		o->max_bytes = 0;
	if (o->key >= EPF_PKT_PEER)
		o->max_bytes = EPF_PKT_PREFIX(8 + o->max_bytes % 25, 8 + o->max_bytes / 256 % 121);
	if ((o->flags & EPF_PKT_MARK) && zone % 2) { /* the two flags exclude each other */
		o->flags ^= EPF_PKT_MARK | EPF_PKT_ZONE;
		o->max_bytes += EPF_PKT_IN_ZONE(zone);
	}
	law(!epf_pkt_opts_check(o), "useful options are accepted");
}

static void take_question(struct input *in, struct question *q)
{
	__u32 i;
	__u8 shape;

	take_opts(in, &q->o);
	shape = take(in);
	q->h = &hash[shape / 86];
	q->cuts = shape % (CUTS_MAX + 1);
	for (i = 0; i < q->cuts; i++)
		q->cut[i] = take(in);
	q->frame = in->p;
	q->len = (__u32)in->left;
}

/* Digest the frame cut as @cut says; a segment may be empty. */
static struct answer ask(const struct question *q, const __u8 *cut, __u32 cuts)
{
	static const struct epf_pkt_scope scope = { 3, 4 };
	struct epf_seg seg[CUTS_MAX + 1];
	struct epf_pkt pkt = { seg, cuts + 1, q->len };
	struct answer a = { 0, 0 };
	__u32 at = 0, i;

	for (i = 0; i <= cuts; i++) {
		__u32 n = q->len - at;

		if (i < cuts && cut[i] < n)
			n = cut[i];
		seg[i].data = exactly(q->frame + at, n);
		seg[i].len = n;
		at += n;
	}
	a.err = epf_pkt_digest_in(q->h, &pkt, &q->o, &scope, &a.digest);
	for (i = 0; i <= cuts; i++)
		free((void *)(size_t)seg[i].data);
	return a;
}

static bool same(struct answer a, struct answer b)
{
	return a.err == b.err && (a.err || a.digest == b.digest);
}

static __u32 be16(const __u8 *p)
{
	return (__u32)p[0] << 8 | p[1];
}

/* Ethernet without tags and IPv4 without options. */
static bool is_bare_ip4(const struct question *q)
{
	return q->o.link == EPF_LINK_ETHER && q->len >= 34 && be16(q->frame + 12) == 0x0800 &&
	       q->frame[14] == 0x45;
}

static bool has_ports(__u8 proto)
{
	return memchr("\x06\x11\x21\x84\x88", proto, 5);
}

/* Is it control of a plain flow that is to be passed, by addresses or ports? */
static bool control_flow(const struct question *q)
{
	__u32 to = be16(q->frame + 36);
	bool dhcp = to == 67 || to == 68;
	bool bfd = to == 3784 || to == 3785 || to == 4784 || to == 6784 || to == 7784;

	if (!(q->o.flags & EPF_PKT_PASS_CONTROL))
		return false;
	return (!memcmp(q->frame, "\x01\x80\xc2\0\0", 5) && q->frame[5] < 16) ||
	       !memcmp(q->frame + 30, "\xe0\0\0", 3) || (q->frame[23] == 17 && (dhcp || bfd));
}

/* Is it a whole datagram with at least four bytes after its header? */
static bool whole_with_ports(const struct question *q)
{
	return q->len >= 38 && be16(q->frame + 16) >= 24 && !(be16(q->frame + 20) & 0x3fff);
}

/* Do the fast paths accept it? Written again from their descriptions. */
static bool plain_packet(const struct question *q)
{
	if (!is_bare_ip4(q) || q->o.max_bytes || be16(q->frame + 16) < 20 ||
	    14 + be16(q->frame + 16) > q->len)
		return false;
	return !(q->o.flags & EPF_PKT_PASS_CONTROL) ||
	       (whole_with_ports(q) && !control_flow(q) &&
		!memchr("\x02\x59\x70", q->frame[23], 3)); /* IGMP, OSPF, VRRP */
}

static bool plain_flow(const struct question *q)
{
	if (q->o.flags & ~(EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL))
		return false;
	return is_bare_ip4(q) && q->o.key == EPF_PKT_FLOW && whole_with_ports(q) &&
	       has_ports(q->frame[23]) && !control_flow(q);
}

/* Control is passed only if that is asked for, and the same for every key. */
static bool passed_as_control(const struct question *q, int err)
{
	struct question other = *q;

	other.o.key = EPF_PKT_FRAME;
	other.o.flags &= EPF_PKT_PASS_CONTROL;
	return (q->o.flags & EPF_PKT_PASS_CONTROL) && err < -EPF_CONTROL &&
	       err >= -(EPF_CONTROL + EPF_CONTROL_LAST) && ask(&other, NULL, 0).err == err;
}

/* Both fast paths on the whole frame in one segment; @a is the answer of the slow path. */
static void fast_paths(const struct question *q, struct answer a)
{
	__u8 *copy = exactly(q->frame, q->len);
	__u64 digest = 0, first = 0, tail = 0;
	bool flow = epf_flow_plain(copy, q->len, &q->o, &first, &tail);

	law(flow == plain_flow(q), "epf_flow_plain() takes the plain ones");
	if (flow)
		law(!a.err && a.digest == epf_digest_words(q->h, first, tail, 14),
		    "epf_flow_plain() gives the key of the long way");
	if (q->o.key == EPF_PKT_PACKET) {
		bool took = epf_packet_plain(q->h, copy, q->len, &q->o, &digest);

		law(took == plain_packet(q), "epf_packet_plain() takes the plain ones");
		law(!took || (!a.err && a.digest == digest),
		    "epf_packet_plain() gives the key of the long way");
	}
	free(copy);
}

/* TTL, checksum and bytes after the datagram do not change the packet's digest. */
static void forwarding(struct question q, struct answer a)
{
	__u8 *other = malloc(q.len + 3u);
	const __u8 *was = q.frame;

	if (!other)
		abort();
	memcpy(other, was, q.len);
	memcpy(other + q.len, "pad", 3);
	other[22] ^= 0xff;
	other[24] ^= 0xff;
	other[25] ^= 0xff;
	q.frame = other;
	q.len += 3;
	law(same(a, ask(&q, NULL, 0)), "a packet key ignores TTL, checksum and padding");
	free(other);
}

/* The reverse has a key if the flow has one, and so has the peer. */
static void answers(struct question q, struct answer a)
{
	struct answer b;

	if (q.o.key == EPF_PKT_CONVERSATION || (q.o.flags & EPF_PKT_NONIP_FRAME))
		return;
	q.o.flags ^= EPF_PKT_REVERSE;
	b = ask(&q, NULL, 0);
	law(a.err == b.err, "a flow has a key if its reverse has one");
	q.o.key = EPF_PKT_PEER;
	q.o.flags &= (__u16)~EPF_PKT_FIRST;
	q.o.max_bytes = 0;
	b = ask(&q, NULL, 0);
	law(a.err || !b.err, "whatever has a flow has a peer");
}

/* A limit that no frame reaches. */
static void no_limit(struct question q, struct answer a)
{
	q.o.max_bytes = q.len + 64;
	law(same(a, ask(&q, NULL, 0)), "a limit above the length changes nothing");
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static const __u8 slow[] = { 13 }; /* too short for the fast paths */
	struct input in = { data, size };
	struct question q;
	struct answer a;
	__u32 i;

	for (i = 0; i <= EPF_HASH_MAX; i++)
		epf_hash_init(&hash[i], 5, 6, i);
	take_question(&in, &q);
	a = ask(&q, slow, 1);
	law(a.err != -ENOMSG || (q.o.flags & EPF_PKT_FIRST),
	    "fragments have no key where that is asked for");
	law(!a.err || a.err == -ENODATA || a.err == -EBADMSG || a.err == -EPROTO ||
		    a.err == -ENOMSG || passed_as_control(&q, a.err),
	    "the errors are those of the description");
	law(a.err != -EPROTO || q.o.key >= EPF_PKT_FLOW || (q.o.flags & EPF_PKT_PASS_CONTROL),
	    "only a flow key passes packets that are not IP by itself");
	law(same(a, ask(&q, NULL, 0)), "one segment, or two");
	law(same(a, ask(&q, q.cut, q.cuts)), "any segments");
	fast_paths(&q, a);
	if (q.o.key >= EPF_PKT_FLOW)
		answers(q, a);
	if (a.err || q.o.max_bytes)
		return 0;
	if (q.o.key == EPF_PKT_PACKET && is_bare_ip4(&q))
		forwarding(q, a);
	if (q.o.key < EPF_PKT_FLOW)
		no_limit(q, a);
	return 0;
}
