// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dedup_view.h"

#include <epf/packet.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS_MAX 8 /* outer headers, one in another */
#define MPLS_LABELS_MAX 16
#define MPLS_LAST 1 /* in the third byte of a label: the last one of the stack */
#define VXLAN_PORT 4789
#define VXLAN_VALID 0x08 /* in its first byte: it has a network identifier */

enum { PROTO_TCP = 6, PROTO_UDP = 17, PROTO_GRE = 47 };

enum {
	ETH_TRANSPARENT = 0x6558, /* GRE: an Ethernet frame */
	ETH_MPLS = 0x8847,
	ETH_MPLS_MULTICAST = 0x8848,
	ETH_ERSPAN = 0x88be,
	ETH_ERSPAN3 = 0x22eb,
};

/* First two bytes of GRE. */
enum {
	GRE_SUM = 0x8000,
	GRE_ROUTING = 0x4000, /* RFC 1701 */
	GRE_KEY = 0x2000,
	GRE_SEQUENCE = 0x1000,
	GRE_VERSION = 7,
};

/* The third word of ERSPAN III: eight more bytes follow. */
#define ERSPAN3_MORE 1

static struct epf_pkt pkt_of(const struct view *v, struct epf_seg *seg)
{
	*seg = (struct epf_seg){ .data = v->data, .len = v->len };
	return (struct epf_pkt){ .seg = seg, .nr_segs = 1, .len = v->len };
}

/* Bytes of the packet; NULL: not all @n were captured. */
static const unsigned char *bytes_at(const struct view *v, __u32 off, __u32 n)
{
	return off <= v->len && n <= v->len - off ? v->data + off : NULL;
}

static bool cut_front(struct view *v, __u32 n, int link)
{
	if (n > v->len)
		return false;
	v->data += n;
	v->len -= n;
	v->length -= n;
	v->link = link;
	return true;
}

/* Leave out what is behind the outer datagram, which is padding. */
static void cut_back(struct view *v, __u32 end)
{
	if (v->len > end)
		v->len = end;
	if (v->length > end)
		v->length = end;
}

/* After the labels comes IP, or a control word (RFC 4385) and an Ethernet frame. */
static bool leave_mpls(struct view *v, __u32 off)
{
	const unsigned char *p;
	unsigned int i;

	for (i = 0; i < MPLS_LABELS_MAX; i++) {
		p = bytes_at(v, off, 4);
		off += 4;
		if (!p || p[2] & MPLS_LAST)
			break;
	}
	p = i < MPLS_LABELS_MAX && p ? bytes_at(v, off, 1) : NULL;
	if (!p)
		return false;
	if (p[0] >> 4 == 4 || p[0] >> 4 == 6)
		return cut_front(v, off, EPF_LINK_IP);
	return !(p[0] >> 4) && cut_front(v, off + 4, EPF_LINK_ETHER);
}

static bool leave_vxlan(struct view *v, __u32 off)
{
	const unsigned char *p = bytes_at(v, off, 16);

	return p && epf_be16(p + 2) == VXLAN_PORT && p[8] & VXLAN_VALID &&
	       cut_front(v, off + 16, EPF_LINK_ETHER);
}

/* Without a sequence number there is no header of ERSPAN, which is then type I. */
static bool leave_erspan(struct view *v, __u32 off, unsigned int flags)
{
	return cut_front(v, off + (flags & GRE_SEQUENCE ? 8 : 0), EPF_LINK_ETHER);
}

static bool leave_erspan3(struct view *v, __u32 off)
{
	const unsigned char *p = bytes_at(v, off, 12);

	return p && cut_front(v, off + (p[11] & ERSPAN3_MORE ? 20 : 12), EPF_LINK_ETHER);
}

static bool leave_gre(struct view *v, __u32 off)
{
	const unsigned char *p = bytes_at(v, off, 4);
	unsigned int flags = p ? epf_be16(p) : GRE_VERSION;

	if (flags & (GRE_VERSION | GRE_ROUTING))
		return false;
	off += 4 + 4 * (!!(flags & GRE_SUM) + !!(flags & GRE_KEY) + !!(flags & GRE_SEQUENCE));
	switch (epf_be16(p + 2)) {
	case EPF_ETH_IP4:
	case EPF_ETH_IP6:
		return cut_front(v, off, EPF_LINK_IP);
	case ETH_TRANSPARENT:
		return cut_front(v, off, EPF_LINK_ETHER);
	case ETH_MPLS:
	case ETH_MPLS_MULTICAST:
		return leave_mpls(v, off);
	case ETH_ERSPAN:
		return leave_erspan(v, off, flags);
	case ETH_ERSPAN3:
		return leave_erspan3(v, off);
	}
	return false;
}

static bool leave_ip(struct view *v, const struct epf_pkt *pkt, const struct epf_l3 *l3)
{
	struct view inner = *v;
	struct epf_ip ip;
	bool left;

	if (epf_ip_read(pkt, l3, &ip) || epf_ip_walk(pkt, &ip, 1) || ip.fragment)
		return false;
	cut_back(&inner, ip.end);
	left = ip.proto == PROTO_UDP ? leave_vxlan(&inner, ip.l4) :
				       ip.proto == PROTO_GRE && leave_gre(&inner, ip.l4);
	if (left)
		*v = inner;
	return left;
}

/* Leave out one outer header. */
static bool leave(struct view *v)
{
	struct epf_seg seg;
	struct epf_pkt pkt = pkt_of(v, &seg);
	struct epf_l3 l3;

	if (v->link < 0 || epf_l3_find(&pkt, (__u32)v->link, &l3))
		return false;
	if (l3.type == ETH_MPLS || l3.type == ETH_MPLS_MULTICAST)
		return leave_mpls(v, l3.off);
	return leave_ip(v, &pkt, &l3);
}

bool view_inner(struct view *v)
{
	int layers = 0;

	while (layers < LAYERS_MAX && leave(v))
		layers++;
	return layers;
}

bool view_ignore(struct view *v, __u32 n)
{
	return n < v->len && cut_front(v, n, -1);
}

/* Copy the packet, and let @v have the copy. Return: it; NULL: out of memory. */
static unsigned char *copy_to(struct view_room *room, struct view *v)
{
	unsigned char *more;

	if (room->size < v->len) {
		more = realloc(room->bytes, v->len);
		if (!more)
			return NULL;
		room->bytes = more;
		room->size = v->len;
	}
	memcpy(room->bytes, v->data, v->len);
	v->data = room->bytes;
	return room->bytes;
}

static void clear_ip4_sum(unsigned char *packet, const struct epf_ip *ip)
{
	if (ip->hdr_len == 20)
		memset(packet + ip->off + 10, 0, 2);
}

static void mask_tos(unsigned char *packet, const struct epf_ip *ip)
{
	unsigned char *hdr = packet + ip->off;

	if (ip->hdr_len == 20) {
		hdr[1] = 0;
		clear_ip4_sum(packet, ip);
	} else {
		hdr[0] &= 0xf0;
		hdr[1] &= 0x0f;
	}
}

/* Make the datagram @n bytes shorter by its header, unless the header has no length. */
static void shorten(unsigned char *packet, const struct epf_ip *ip, __u32 n)
{
	unsigned char *at = packet + ip->off + (ip->hdr_len == 20 ? 2 : 4);
	__u32 length = epf_be16(at);

	if (length < n)
		return;
	at[0] = (unsigned char)((length - n) >> 8);
	at[1] = (unsigned char)(length - n);
}

/* @n: bytes of options. */
static void leave_options(struct view *v, unsigned char *packet, const struct epf_ip *ip, __u32 n)
{
	unsigned char *tcp = packet + ip->l4;

	tcp[12] = (unsigned char)(5 << 4 | (tcp[12] & 15));
	memmove(tcp + 20, tcp + 20 + n, v->len - ip->l4 - 20 - n);
	v->len -= n;
	v->length -= n;
	shorten(packet, ip, n);
}

static void mask_tcp(struct view *v, unsigned char *packet, const struct epf_ip *ip,
		     unsigned int masks)
{
	__u32 end = v->len < ip->end ? v->len : ip->end, size;
	unsigned char *tcp = packet + ip->l4;

	if (ip->l4 > end || end - ip->l4 < 20)
		return;
	size = (tcp[12] >> 4) * 4u;
	if (size < 20 || size > end - ip->l4)
		return;
	memset(tcp + 16, 0, 2);
	if (masks & MASK_SEQ)
		memset(tcp + 4, 0, 8);
	if (masks & MASK_OPTIONS) {
		clear_ip4_sum(packet, ip);
		leave_options(v, packet, ip, size - 20);
	}
}

int view_mask(struct view *v, unsigned int masks, struct view_room *room)
{
	struct epf_seg seg;
	struct epf_pkt pkt = pkt_of(v, &seg);
	unsigned char *packet;
	struct epf_l3 l3;
	struct epf_ip ip;

	if (v->link < 0 || epf_l3_find(&pkt, (__u32)v->link, &l3) || epf_ip_read(&pkt, &l3, &ip))
		return 0;
	packet = copy_to(room, v);
	if (!packet)
		return -ENOMEM;
	if (masks & MASK_TOS)
		mask_tos(packet, &ip);
	if (masks & (MASK_SEQ | MASK_OPTIONS) && !epf_ip_walk(&pkt, &ip, 0) && !ip.fragment &&
	    ip.proto == PROTO_TCP)
		mask_tcp(v, packet, &ip, masks);
	return 0;
}

void view_room_free(struct view_room *room)
{
	free(room->bytes);
	*room = (struct view_room){ 0 };
}
