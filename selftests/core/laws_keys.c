// SPDX-License-Identifier: GPL-2.0
/*
 * laws_keys [ROUNDS]
 *
 * Properties of keys made from flows: answers and errors are found; bytes that a key
 * leaves out do not change it, and all others do. Packets are random, at most ROUNDS for
 * each property; each is made from a description of both of its ends.
 */
#include <epf/keydesc.h>
#include <epf/packet.h>

#include "tap.h"

#define ROUNDS 20000
#define FRAME_MAX 512

static __u64 drawn;

static __u32 draw(__u32 below)
{
	return (__u32)(epf_word(0xf105 + tap_seed(), (__u32)++drawn) % below);
}

/**
 * struct told - the description of a packet
 * @six: IPv6
 * @proto: 6, 17, 47, or 1 for ICMP of either version
 * @addr: source and destination; IPv4 uses the first four bytes
 * @port: source and destination; for ICMP the type of the query, and the id
 * @reply: it is the reply to an ICMP query
 * @frag: fragment offset, more fragments
 * @id: IP id of fragments
 * @tci: VLAN tags
 * @tags: number of VLAN tags
 */
struct told {
	bool six;
	__u32 proto;
	__u8 addr[2][16];
	__u16 port[2];
	bool reply;
	__u32 frag;
	__u16 id;
	__u16 tci[3];
	__u32 tags;
};

/* A packet under construction. */
struct frame {
	__u8 bytes[FRAME_MAX];
	__u32 len;
};

static void put(struct frame *f, const void *p, __u32 n)
{
	memcpy(f->bytes + f->len, p, n);
	f->len += n;
}

static void put16(struct frame *f, __u32 v)
{
	__u8 be[2] = { (__u8)(v >> 8), (__u8)v };

	put(f, be, 2);
}

static void put_l4(struct frame *f, const struct told *t)
{
	static const __u8 query[2][2] = { { 8, 0 }, { 13, 14 } };
	static const __u8 query6[2] = { 128, 129 };
	const __u8 *pair = t->six ? query6 : query[t->port[0] & 1];

	switch (t->proto) {
	case 1:
		put16(f, (__u32)pair[t->reply] << 8);
		put16(f, draw(65536));
		put16(f, t->port[1]);
		put16(f, draw(65536));
		break;
	case 47:
		put(f, "\0\0\x08\0\0\0\0\0", 8);
		break;
	default:
		put16(f, t->port[0]);
		put16(f, t->port[1]);
		put16(f, draw(65536));
		put16(f, draw(65536));
	}
}

/* Append the datagram, with @extra bytes after the first eight of the transport header. */
static void put_ip(struct frame *f, const struct told *t, __u32 extra)
{
	__u32 i, proto = t->proto == 1 && t->six ? 58 : t->proto;

	if (t->six) {
		put16(f, 0x6000);
		put16(f, draw(65536));
		put16(f, 8 + 8 * !!t->frag + extra);
		put16(f, (t->frag ? 44 : proto) << 8 | draw(256));
		put(f, t->addr, 32);
		if (t->frag) {
			put16(f, proto << 8);
			put16(f, (t->frag & 0x1fff) << 3 | t->frag >> 13);
			put16(f, 0);
			put16(f, t->id);
		}
	} else {
		put16(f, 0x4500);
		put16(f, 28 + extra);
		put16(f, t->id);
		put16(f, t->frag);
		put16(f, draw(256) << 8 | proto);
		put16(f, draw(65536));
		put(f, t->addr[0], 4);
		put(f, t->addr[1], 4);
	}
	put_l4(f, t);
	for (i = 0; i < extra; i++)
		f->bytes[f->len++] = (__u8)draw(256);
}

static void put_link(struct frame *f, const struct told *t)
{
	__u32 i;

	f->len = 0;
	put(f, "\2\1\1\1\1\1\2\2\2\2\2\2", 12);
	for (i = 0; i < t->tags; i++) {
		put16(f, i ? 0x8100 : 0x88a8);
		put16(f, t->tci[i]);
	}
	put16(f, t->six ? 0x86dd : 0x0800);
}

static struct frame packet(const struct told *t)
{
	struct frame f;

	put_link(&f, t);
	put_ip(&f, t, draw(20));
	return f;
}

static struct told answer(struct told t)
{
	struct told a = t;

	memcpy(a.addr[0], t.addr[1], 16);
	memcpy(a.addr[1], t.addr[0], 16);
	if (t.proto == 1) {
		a.reply = !t.reply;
	} else {
		a.port[0] = t.port[1];
		a.port[1] = t.port[0];
	}
	return a;
}

/* Make the ICMP error about the packet that a router at @from sends to its source;
 * @whole: it carries whole datagrams.
 * Return: offset of the carried header.
 */
static __u32 put_error(struct frame *f, const struct told *t, const struct told *from,
		       const struct frame *about, __u32 whole)
{
	static const __u8 types[2][5] = { { 3, 4, 5, 11, 12 }, { 1, 2, 3, 4, 1 } };
	struct told outer = *from;
	__u8 type = types[t->six][draw(5)];
	__u32 l3 = 14 + 4 * t->tags, head = t->six ? 40 : 20, at;

	outer.six = t->six;
	outer.proto = 1;
	outer.frag = 0;
	outer.tags = t->tags;
	memcpy(outer.tci, t->tci, sizeof(outer.tci));
	memcpy(outer.addr[1], t->addr[0], 16);
	put_link(f, &outer);
	at = f->len;
	put_ip(f, &outer, whole);
	f->bytes[at + head] = type;
	at += head + 8;
	memcpy(f->bytes + at, about->bytes + l3, whole);
	return at;
}

static void draw_ends(struct told *t)
{
	__u32 i;

	for (i = 0; i < 32; i++)
		t->addr[i / 16][i % 16] = (__u8)draw(256);
	if (!draw(4)) /* the same address, or half of it */
		memcpy(t->addr[1], t->addr[0], draw(2) ? 16 : 8);
	for (i = 0; i < 2; i++)
		t->port[i] = (__u16)(draw(8) ? draw(65536) : 4242);
}

static struct told draw_told(void)
{
	static const __u8 protos[] = { 6, 17, 17, 1, 47 };
	struct told t;

	memset(&t, 0, sizeof(t));
	t.six = draw(2);
	t.proto = protos[draw(5)];
	t.reply = draw(2);
	t.id = (__u16)draw(65536);
	draw_ends(&t);
	return t;
}

static const struct epf_hash hash = { { 21, 22 }, 0, { 0 } };

static int digest_in(const struct frame *f, __u8 key, __u32 flags, __u32 most,
		     const struct epf_pkt_scope *scope, __u64 *digest)
{
	struct epf_pkt_opts o = { key, EPF_LINK_ETHER, (__u16)flags, most };
	struct epf_seg seg = { f->bytes, f->len };
	struct epf_pkt pkt = { &seg, 1, f->len };
	int err = epf_pkt_opts_check(&o);

	*digest = 0;
	return err ? err : epf_pkt_digest_in(&hash, &pkt, &o, scope, digest);
}

/* Return: the key, or 0 if there is none. A key is 0 with probability 2^-64. */
static __u64 key_of(const struct frame *f, __u8 key, __u32 flags, __u32 most)
{
	__u64 digest;

	return digest_in(f, key, flags, most, NULL, &digest) ? 0 : digest;
}

static bool alike(__u64 a, __u64 b)
{
	return a && a == b;
}

/* ------------------------------------------------------------ answers ---- */

static bool is_one_address(const struct told *t)
{
	return !memcmp(t->addr[0], t->addr[1], t->six ? 16 : 4);
}

/* Does the packet equal its own answer? */
static bool is_same_back(const struct told *t)
{
	return is_one_address(t) && t->proto != 1 && (t->proto == 47 || t->port[0] == t->port[1]);
}

static bool answers_are_found(const struct told *t)
{
	struct told back = answer(*t), once = answer(back);
	struct frame f = packet(t), g = packet(&back), again = packet(&once);
	__u64 flow = key_of(&f, EPF_PKT_FLOW, 0, 0);
	bool self = alike(flow, key_of(&g, EPF_PKT_FLOW, 0, 0));

	return alike(flow, key_of(&g, EPF_PKT_FLOW, EPF_PKT_REVERSE, 0)) &&
	       alike(flow, key_of(&again, EPF_PKT_FLOW, 0, 0)) &&
	       alike(key_of(&g, EPF_PKT_FLOW, 0, 0),
		     key_of(&f, EPF_PKT_FLOW, EPF_PKT_REVERSE, 0)) &&
	       self == is_same_back(t);
}

static bool peers_are_found(const struct told *t)
{
	struct told back = answer(*t), other = *t;
	struct frame f = packet(t), g = packet(&back), h;
	__u64 far = key_of(&f, EPF_PKT_PEER, EPF_PKT_REVERSE, 0);
	__u64 port = key_of(&f, EPF_PKT_PEER_PORT, EPF_PKT_REVERSE, 0);

	other.port[0] ^= 1; /* the near end's port, or type and id of ICMP */
	other.port[1] ^= t->proto == 1;
	other.reply = !t->reply;
	h = packet(&other);
	return alike(far, key_of(&g, EPF_PKT_PEER, 0, 0)) &&
	       alike(far, key_of(&h, EPF_PKT_PEER, EPF_PKT_REVERSE, 0)) &&
	       alike(port, key_of(&g, EPF_PKT_PEER_PORT, 0, 0)) &&
	       alike(port, key_of(&h, EPF_PKT_PEER_PORT, EPF_PKT_REVERSE, 0)) && far != port;
}

static bool conversations_are_one(const struct told *t)
{
	struct told back = answer(*t), other = *t;
	struct frame f = packet(t), g = packet(&back), h;
	__u64 both = key_of(&f, EPF_PKT_CONVERSATION, 0, 0);

	other.addr[draw(2)][3] ^= 1; /* a third party */
	h = packet(&other);
	return alike(both, key_of(&g, EPF_PKT_CONVERSATION, 0, 0)) &&
	       both != key_of(&h, EPF_PKT_CONVERSATION, 0, 0);
}

/* Conversations differ by which end began them. */
static bool askers_are_two(const struct told *t)
{
	struct told turned = answer(*t);
	struct frame f = packet(t), g;

	if (t->proto != 1 || is_one_address(t))
		return true;
	turned.reply = t->reply;
	g = packet(&turned);
	return key_of(&f, EPF_PKT_CONVERSATION, 0, 0) != key_of(&g, EPF_PKT_CONVERSATION, 0, 0);
}

/* ------------------------------------------------------------- errors ---- */

/* Keys that one side learnt from a packet match an error about it on the other side. */
static bool errors_are_found(const struct told *t)
{
	static const struct {
		__u8 key;
		__u32 learnt, asked;
	} way[] = {
		{ EPF_PKT_FLOW, 0, EPF_PKT_REVERSE },
		{ EPF_PKT_FLOW, EPF_PKT_REVERSE, 0 },
		{ EPF_PKT_CONVERSATION, 0, 0 },
		{ EPF_PKT_PEER, EPF_PKT_REVERSE, 0 },
		{ EPF_PKT_PEER_PORT, EPF_PKT_REVERSE, 0 },
		{ EPF_PKT_PEER_PORT, 0, EPF_PKT_REVERSE },
	};
	struct told from = draw_told();
	struct frame f = packet(t), e;
	bool good = true;
	__u32 i;

	put_error(&e, t, &from, &f, f.len - 14);
	for (i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		__u64 learnt = key_of(&f, way[i].key, way[i].learnt, 0);

		good &= alike(learnt, key_of(&e, way[i].key, way[i].asked | EPF_PKT_ERRORS, 0)) &&
			alike(learnt, key_of(&f, way[i].key, way[i].learnt | EPF_PKT_ERRORS, 0)) &&
			(way[i].key > EPF_PKT_CONVERSATION ||
			 learnt != key_of(&e, way[i].key, way[i].asked, 0));
	}
	return good;
}

/* An error about an error counts as the error that it carries. */
static bool errors_do_not_nest(const struct told *t)
{
	struct told from = draw_told(), to;
	struct frame f = packet(t), e, ee;
	struct told outer = from;

	put_error(&e, t, &from, &f, f.len - 14);
	outer.six = t->six;
	to = *t;
	memcpy(to.addr[0], from.addr[0], 16); /* the host that the first error was sent to */
	put_error(&ee, &to, &outer, &e, e.len - 14);
	return alike(key_of(&ee, EPF_PKT_FLOW, EPF_PKT_REVERSE | EPF_PKT_ERRORS, 0),
		     key_of(&e, EPF_PKT_FLOW, 0, 0));
}

/* A packet cut off before the fields that the key needs, by the capture or by the error
 * itself.
 */
static bool errors_need_their_packet(const struct told *t)
{
	__u32 head = t->six ? 40 : 20, n, need;
	struct told from = draw_told();
	struct frame f = packet(t), e, cut;
	__u32 at, len = f.len - 14;
	bool good = true;
	__u64 digest;
	int err, want;

	at = put_error(&e, t, &from, &f, len);
	need = head + (t->proto == 47 ? 0 : t->proto == 1 ? 6 : 4);
	for (n = 0; n <= len; n++) {
		want = n < need ? -ENODATA : 0;
		cut = e;
		cut.len = at + n;
		err = digest_in(&cut, EPF_PKT_FLOW, EPF_PKT_ERRORS, 0, NULL, &digest);
		good &= err == want;
		put_error(&cut, t, &from, &f, n);
		memset(cut.bytes + cut.len, 0x45, 64); /* link padding */
		cut.len += 64;
		err = digest_in(&cut, EPF_PKT_FLOW, EPF_PKT_ERRORS, 0, NULL, &digest);
		good &= err == want;
	}
	return good;
}

/* ------------------------------------------------------------- prefix ---- */

static bool prefixes_end_there(const struct told *t)
{
	__u32 all = t->six ? 128 : 32, n = 8 + draw(all - 7), bit;
	__u32 most = t->six ? EPF_PKT_PREFIX(0, n) : EPF_PKT_PREFIX(n, 0);
	__u8 key = draw(2) ? EPF_PKT_PEER : EPF_PKT_PEER_PORT;
	struct frame f = packet(t), g;
	__u64 want = key_of(&f, key, 0, most);
	bool good = want;

	for (bit = 0; bit < all; bit++) {
		struct told near = *t;

		near.addr[0][bit / 8] ^= 0x80 >> bit % 8;
		near.addr[1][draw(16)] ^= 1;
		g = packet(&near);
		good &= (key_of(&g, key, 0, most) == want) == (bit >= n);
	}
	return good;
}

static bool lengths_are_keys(const struct told *t)
{
	__u32 all = t->six ? 128 : 32, n;
	struct frame f = packet(t);
	__u64 seen[121];
	bool good = true;
	__u32 i;

	for (n = 8; n <= all && good; n++) {
		seen[n - 8] = key_of(&f, EPF_PKT_PEER, 0,
				     t->six ? EPF_PKT_PREFIX(0, n) : EPF_PKT_PREFIX(n, 0));
		for (i = 8; i < n; i++)
			good &= seen[i - 8] != seen[n - 8];
	}
	return good;
}

/* ------------------------------------------------------------- scopes ---- */

/* @number: mark, and zone */
static __u64 scoped(const struct told *t, __u32 flags, __u32 iface, __u32 number)
{
	__u32 most = flags & EPF_PKT_ZONE ? EPF_PKT_IN_ZONE(number) : 0;
	struct epf_pkt_scope scope = { iface, number };
	struct frame f = packet(t);
	__u64 digest;
	int err = digest_in(&f, EPF_PKT_FLOW, flags, most, &scope, &digest);

	return err ? 0 : digest;
}

static bool scopes_separate(const struct told *t)
{
	__u32 flags, all = EPF_PKT_SCOPES, vlan = EPF_PKT_VLAN;
	__u32 numbered = EPF_PKT_MARK | EPF_PKT_ZONE;
	struct told there = *t, prio;
	bool good = true;

	there.tags = 1 + draw(3);
	there.tci[0] = (__u16)(1 + draw(4094));
	there.tci[1] = (__u16)(1 + draw(4094));
	prio = there;
	prio.tci[0] ^= 0xe000;
	for (flags = 0; flags <= all; flags += vlan) {
		__u64 want = scoped(&there, flags, 5, 6);
		__u32 other = flags & numbered ? numbered : EPF_PKT_ZONE;

		if ((flags & numbered) == numbered)
			continue;
		good &= alike(want, scoped(&prio, flags, 5, 6)) &&
			(want == scoped(t, flags, 5, 6)) == !(flags & vlan) &&
			(want == scoped(&there, flags, 7, 6)) == !(flags & EPF_PKT_IFACE) &&
			(want == scoped(&there, flags, 5, 7)) == !(flags & numbered) &&
			(want == scoped(&there, flags, 5, 0x8006)) == !(flags & numbered) &&
			want != scoped(&there, flags ^ vlan, 5, 6) &&
			want != scoped(&there, flags ^ EPF_PKT_IFACE, 5, 6) &&
			want != scoped(&there, flags ^ other, 5, 6) &&
			want != scoped(&there, (flags & ~numbered) ^ EPF_PKT_MARK, 5, 0);
	}
	return good;
}

/* A tag with only a priority is no VLAN; the order of the other tags counts. */
static bool tags_are_vlans(const struct told *t)
{
	struct told bare = *t, one = *t, two = *t, turned;

	bare.tags = 0;
	one.tags = 1;
	one.tci[0] = (__u16)(draw(8) << 13);
	two.tags = 2;
	two.tci[0] = (__u16)(1 + draw(2000));
	two.tci[1] = (__u16)(2001 + draw(2000));
	turned = two;
	turned.tci[0] = two.tci[1];
	turned.tci[1] = two.tci[0];
	return alike(scoped(&bare, EPF_PKT_VLAN, 0, 0), scoped(&one, EPF_PKT_VLAN, 0, 0)) &&
	       scoped(&two, EPF_PKT_VLAN, 0, 0) != scoped(&turned, EPF_PKT_VLAN, 0, 0);
}

static bool scopes_are_given(const struct told *t)
{
	struct frame f = packet(t);
	__u64 digest;

	return digest_in(&f, EPF_PKT_FLOW, EPF_PKT_IFACE, 0, NULL, &digest) == -EINVAL &&
	       digest_in(&f, EPF_PKT_PEER, EPF_PKT_MARK, 0, NULL, &digest) == -EINVAL &&
	       !digest_in(&f, EPF_PKT_FLOW, EPF_PKT_VLAN, 0, NULL, &digest) &&
	       !digest_in(&f, EPF_PKT_FLOW, EPF_PKT_ZONE, 0, NULL, &digest);
}

/* Return: the key that a record of the packet's flow has in a zone. */
static __u64 key_of_record(const struct told *t, __u8 key, __u32 most)
{
	struct epf_pkt_opts o = { key, EPF_LINK_ETHER, EPF_PKT_ZONE, most };
	struct epf_flow_rec r = { .version = t->six ? 6 : 4, .proto = (__u8)t->proto };
	__u64 digest;

	memcpy(r.src, t->addr[0], 16);
	memcpy(r.dst, t->addr[1], 16);
	r.id[0] = (__u8)(t->port[0] >> 8);
	r.id[1] = (__u8)t->port[0];
	r.id[2] = (__u8)(t->port[1] >> 8);
	r.id[3] = (__u8)t->port[1];
	return epf_flow_rec_digest(&hash, &r, &o, &digest) ? 0 : digest;
}

/* A key learnt in a zone is found there by the answer, and in no other zone; with
 * prefixes, too.
 */
static bool zones_are_apart(const struct told *t)
{
	const __u8 keys[] = { EPF_PKT_FLOW, EPF_PKT_CONVERSATION, EPF_PKT_PEER, EPF_PKT_PEER_PORT };
	__u32 zone = draw(65536), far = zone ^ (1u << draw(16));
	struct told back = answer(*t);
	struct frame out = packet(t), in = packet(&back);
	bool good = true;
	__u32 i;

	for (i = 0; i < sizeof(keys); i++) {
		__u32 most = keys[i] >= EPF_PKT_PEER ? EPF_PKT_PREFIX(24, 64) : 0;
		__u32 turn = keys[i] == EPF_PKT_CONVERSATION ? 0 : EPF_PKT_REVERSE;
		__u64 want = key_of(&out, keys[i], EPF_PKT_ZONE, most + EPF_PKT_IN_ZONE(zone));

		good &= want && want != key_of(&out, keys[i], 0, most) &&
			want == key_of(&in, keys[i], EPF_PKT_ZONE | turn,
				       most + EPF_PKT_IN_ZONE(zone)) &&
			want != key_of(&in, keys[i], EPF_PKT_ZONE | turn,
				       most + EPF_PKT_IN_ZONE(far));
		if (t->proto != 1 && !t->frag)
			good &= want == key_of_record(t, keys[i], most + EPF_PKT_IN_ZONE(zone));
	}
	return good;
}

/* ---------------------------------------------------------- fragments ---- */

static bool fragments_have_a_key_or_not(const struct told *t)
{
	struct told first = *t, later = *t, back;
	struct frame f = packet(t), g, h, b;
	bool good;
	__u64 digest;
	__u8 key;

	first.frag = 0x2000;
	later.frag = 1 + draw(0x1fff) + 0x2000 * draw(2);
	back = answer(later);
	g = packet(&first);
	h = packet(&later);
	b = packet(&back);
	good = alike(key_of(&g, EPF_PKT_FLOW, 0, 0),
		     key_of(&b, EPF_PKT_FLOW, EPF_PKT_REVERSE, 0)) &&
	       alike(key_of(&g, EPF_PKT_CONVERSATION, 0, 0),
		     key_of(&b, EPF_PKT_CONVERSATION, 0, 0));
	for (key = EPF_PKT_FLOW; key <= EPF_PKT_PEER_PORT; key++) {
		if (key == EPF_PKT_PEER) {
			good &= alike(key_of(&f, key, 0, 0), key_of(&h, key, 0, 0));
			continue;
		}
		good &= alike(key_of(&f, key, 0, 0), key_of(&g, key, EPF_PKT_FIRST, 0)) &&
			alike(key_of(&g, key, 0, 0), key_of(&h, key, 0, 0)) &&
			key_of(&g, key, 0, 0) != key_of(&f, key, 0, 0) &&
			digest_in(&h, key, EPF_PKT_FIRST, 0, NULL, &digest) == -ENOMSG;
	}
	return good;
}

/* ------------------------------------------------------------- others ---- */

/* No key of one sort equals a key of another. */
static bool sorts_are_apart(const struct told *t)
{
	static const __u8 keys[] = { EPF_PKT_FLOW, EPF_PKT_CONVERSATION, EPF_PKT_PEER,
				     EPF_PKT_PEER_PORT };
	struct frame f = packet(t);
	__u64 digest[8];
	bool good = true;
	__u32 i, k;

	for (i = 0; i < 8; i++) {
		digest[i] = key_of(&f, keys[i % 4], i < 4 ? 0 : EPF_PKT_VLAN, 0);
		good &= !!digest[i];
		for (k = 0; k < i; k++)
			good &= digest[k] != digest[i];
	}
	return good;
}

/* Is it valid by the manual of struct epf_pkt_opts? Written down a second time. */
static bool is_sound(const struct epf_pkt_opts *o)
{
	bool flow = o->key >= EPF_PKT_FLOW && o->key <= EPF_PKT_PEER_PORT;
	bool peer = o->key == EPF_PKT_PEER || o->key == EPF_PKT_PEER_PORT;
	__u32 four = o->max_bytes & 0xff, six = o->max_bytes >> 8 & 0xff;
	__u32 zone = o->max_bytes >> 16;

	if (o->key > EPF_PKT_PEER_PORT || o->link > EPF_LINK_SLL2 || o->flags >= 2048)
		return false;
	if ((o->flags & 3) && o->key != EPF_PKT_PACKET)
		return false;
	if (o->flags & EPF_PKT_NONIP_FRAME)
		return o->key == EPF_PKT_FLOW && !o->max_bytes && o->flags == EPF_PKT_NONIP_FRAME;
	if (!flow)
		return !(o->flags & ~0xfu);
	if ((o->key == EPF_PKT_CONVERSATION && (o->flags & EPF_PKT_REVERSE)) ||
	    (o->key == EPF_PKT_PEER && (o->flags & EPF_PKT_FIRST)))
		return false;
	if (zone && !(o->flags & EPF_PKT_ZONE))
		return false;
	if ((o->flags & EPF_PKT_ZONE) && (o->flags & EPF_PKT_MARK))
		return false;
	if (!peer)
		return !four && !six;
	return (!four || (four >= 8 && four < 32)) && (!six || (six >= 8 && six < 128));
}

static bool options_are_sound(void)
{
	static const __u32 most[] = { 0,      1,      7,          8,       31,       32,
				      0x700,  0x800,  0x1f18,     0x7f00,  0x8000,   0x10000,
				      0x4018, 0x4007, 0xffff0000, 0x7f01f, 0x104018, 0x14007 };
	__u32 key, link, flags, i;
	struct epf_pkt_opts o;
	bool good = true;

	for (key = 0; key < 8; key++)
		for (link = 0; link < 5; link++)
			for (flags = 0; flags < 4096; flags++)
				for (i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
					o.key = (__u8)key;
					o.link = (__u8)link;
					o.flags = (__u16)flags;
					o.max_bytes = most[i];
					good &= !epf_pkt_opts_check(&o) == is_sound(&o);
				}
	return good;
}

static bool descriptions_serve(void)
{
	struct epf_pkt_opts o = { EPF_PKT_PEER, 0, EPF_PKT_REVERSE, EPF_PKT_PREFIX(24, 64) };
	struct epf_key_desc a = epf_key_desc_packet(&o), b = a, c;

	b.flags = EPF_PKT_ERRORS;
	c = epf_key_desc_join(&a, &b);
	if (!epf_key_desc_serves(&a, &b) || c.kind != EPF_KEYS_PACKET)
		return false;
	b.flags = EPF_PKT_VLAN;
	c = epf_key_desc_join(&a, &b);
	if (epf_key_desc_serves(&a, &b) || c.kind != EPF_KEYS_MIXED)
		return false;
	b = a;
	b.max_bytes = 0;
	return !epf_key_desc_serves(&a, &b) && !epf_key_desc_equal(&a, &b);
}

/* A description says that keys have a zone, but not which one. */
static bool descriptions_have_no_zone(void)
{
	struct epf_pkt_opts o = { EPF_PKT_PEER, 0, EPF_PKT_ZONE,
				  EPF_PKT_PREFIX(24, 64) + EPF_PKT_IN_ZONE(5) };
	struct epf_key_desc a = epf_key_desc_packet(&o), b, c;

	o.max_bytes += EPF_PKT_IN_ZONE(60000);
	b = epf_key_desc_packet(&o);
	o.flags = 0;
	o.max_bytes = EPF_PKT_PREFIX(24, 64);
	c = epf_key_desc_packet(&o);
	if (epf_key_desc_check(&a) || !epf_key_desc_equal(&a, &b) ||
	    epf_key_desc_join(&a, &b).kind != EPF_KEYS_PACKET || epf_key_desc_serves(&a, &c) ||
	    epf_key_desc_join(&a, &c).kind != EPF_KEYS_MIXED)
		return false;
	a.max_bytes += EPF_PKT_IN_ZONE(1);
	return epf_key_desc_check(&a) == -EINVAL;
}

/* ---------------------------------------------------------------- run ---- */

static __u32 most = ROUNDS; /* of a law */

static void law(bool (*holds)(const struct told *), __u32 rounds, const char *text)
{
	bool good = true;
	__u32 i;

	for (i = 0; i < rounds && i < most && good; i++) {
		struct told t = draw_told();

		good = holds(&t);
		if (!good)
			printf("# round %u: IPv%d, protocol %u\n", i, t.six ? 6 : 4, t.proto);
	}
	tap_ok(good, "%s", text);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		most = (__u32)strtoul(argv[1], NULL, 10);
	tap_plan(18);
	law(answers_are_found, ROUNDS, "the reverse of a packet's answer is the packet");
	law(peers_are_found, ROUNDS, "the destination is the peer who answers");
	law(conversations_are_one, ROUNDS, "both directions are one conversation");
	law(askers_are_two, ROUNDS, "who pings whom tells conversations apart");
	law(errors_are_found, ROUNDS, "an ICMP error answers the packet that it carries");
	law(errors_do_not_nest, ROUNDS, "errors inside errors are not parsed");
	law(errors_need_their_packet, 500, "an error that carries too little is truncated");
	law(prefixes_end_there, 1000, "bits after the prefix do not matter, all others do");
	law(lengths_are_keys, 100, "prefixes of other lengths are other keys");
	law(scopes_separate, ROUNDS,
	    "VLAN, interface, mark, zone: each counts where it is asked for");
	law(zones_are_apart, ROUNDS, "what is learnt in a zone is found there and in no other");
	law(tags_are_vlans, ROUNDS, "a priority is no VLAN");
	law(scopes_are_given, 100, "no interface, no mark: no key");
	law(fragments_have_a_key_or_not, ROUNDS,
	    "fragments go by their id, or only the first counts");
	law(sorts_are_apart, ROUNDS, "no key of one sort is one of another");
	tap_ok(options_are_sound(), "options without use are refused");
	tap_ok(descriptions_serve(), "how a key is found does not tell filters apart");
	tap_ok(descriptions_have_no_zone(), "keys of several zones are of one kind");
	return tap_end();
}
