// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that hosts and routers send twice in normal operation, and the verdict of
 * each key on the second one. "repeats --table" prints the table of epfctl(8).
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <epf/packet.h>

#include "tap.h"

#define FRAME_MAX 256

/* A frame under construction. */
struct frame {
	__u8 bytes[FRAME_MAX];
	__u32 len;
};

enum net { ETHER, IP4, IP6 };

/**
 * struct recipe - how to make a packet
 * @net: what the frame contains; with ETHER @bytes follow its header
 * @proto: type of the frame, or protocol of the IP packet
 * @id: of an IPv4 packet
 * @dest: destination address; NULL: the usual one
 * @from, @to: ports, of UDP
 * @stamp: time stamp of TCP; 0: without that option
 * @step: added to @id, or else to @stamp, in the second packet
 * @data: zeros that the transport header counts
 * @bytes: what comes then
 * @nr: their number
 * @rest: zeros after them
 * @change: changes the second packet, or NULL
 */
struct recipe {
	enum net net;
	__u32 proto;
	const char *dest;
	__u32 id, stamp, step;
	__u32 from, to, data;
	const char *bytes;
	__u32 nr, rest;
	void (*change)(struct frame *f);
};

/**
 * struct row - a packet that is sent twice
 * @name: its name in the manual
 * @recipe: how it is made
 * @frame: verdict on the second with this key, on a mirror port
 * @packet: verdict with this key, on a mirror port
 * @flow: verdict with this key, on a mirror port
 * @live: verdict with key packet on a port that is not a mirror
 */
struct row {
	const char *name;
	struct recipe recipe;
	const char *frame, *packet, *flow, *live;
};

static void put(struct frame *f, const void *bytes, __u32 n)
{
	memcpy(f->bytes + f->len, bytes, n);
	f->len += n;
}

static void put16(struct frame *f, __u32 v)
{
	__u8 be[2] = { (__u8)(v >> 8), (__u8)v };

	put(f, be, 2);
}

static void zeros(struct frame *f, __u32 n)
{
	memset(f->bytes + f->len, 0, n);
	f->len += n;
}

static void ether(struct frame *f, const char *dest, __u32 type)
{
	put(f, dest ? dest : "\x02\x11\x22\x33\x44\x55", 6);
	put(f, "\x02\xaa\xbb\xcc\xdd\xee", 6);
	put16(f, type);
}

static void ip4(struct frame *f, __u32 proto, __u32 id, const char *dest, __u32 payload)
{
	ether(f, NULL, 0x0800);
	put16(f, 0x4500);
	put16(f, 20 + payload);
	put16(f, id);
	put16(f, 0x4000);
	put16(f, 64 << 8 | proto);
	put16(f, 0xbeef + id);
	put(f, "\xc0\0\2\1", 4);
	put(f, dest ? dest : "\xc6\x33\x64\7", 4);
}

static void ip6(struct frame *f, __u32 proto, const char *dest, __u32 payload)
{
	static const __u8 host[16] = { 0x20, 1, 0x0d, 0xb8, [15] = 1 };

	ether(f, NULL, 0x86dd);
	put16(f, 0x6000);
	put16(f, 0x1234);
	put16(f, payload);
	put16(f, proto << 8 | 64);
	put(f, host, 16);
	put(f, dest ? dest : (const char *)host, 16);
}

/* Append a TCP segment of @data bytes; @stamp: value of the time stamp option, 0:
 * without it.
 */
static void tcp(struct frame *f, __u32 stamp, __u32 data)
{
	put16(f, 40000);
	put16(f, 443);
	put(f, "\1\2\3\4\5\6\7\x08", 8); /* sequence, acknowledgement */
	put16(f, (stamp ? 8 : 5) << 12 | 0x18);
	put16(f, 500);
	put16(f, 0x1111 + stamp);
	put16(f, 0);
	if (stamp) {
		put(f, "\1\1\x08\x0a\0\0", 6);
		put16(f, stamp);
		zeros(f, 4);
	}
	zeros(f, data);
}

static void udp(struct frame *f, __u32 from, __u32 to, __u32 data)
{
	put16(f, from);
	put16(f, to);
	put16(f, 8 + data);
	put16(f, 0x2222);
	zeros(f, data);
}

#define TCP 6
#define UDP 17

static void make(const struct recipe *r, struct frame *f, bool second)
{
	__u32 stamp = r->stamp + (r->stamp && second ? r->step : 0);
	__u32 header = r->proto == UDP ? 8 : r->proto != TCP ? 0 : stamp ? 32 : 20;
	__u32 payload = header + r->data + r->nr + r->rest;

	if (r->net == IP4)
		ip4(f, r->proto, r->id + (!stamp && second ? r->step : 0), r->dest, payload);
	else if (r->net == IP6)
		ip6(f, r->proto, r->dest, payload);
	else
		ether(f, r->dest, r->proto);
	if (r->proto == TCP)
		tcp(f, stamp, r->data);
	if (r->proto == UDP)
		udp(f, r->from, r->to, r->data);
	if (r->nr)
		put(f, r->bytes, r->nr);
	zeros(f, r->rest);
	if (second && r->change)
		r->change(f);
}

static void hop(struct frame *f)
{
	f->bytes[5] ^= 1; /* destination address of the next hop */
	f->bytes[22]--;   /* TTL */
	f->bytes[24]++;   /* checksum */
}

static void next_ping(struct frame *f)
{
	f->bytes[41]++;
}

static void next_rtp(struct frame *f)
{
	f->bytes[45] = 1;
}

#define ALL "repeat", "repeat", "repeat"
#define FLOW_ONLY "new", "new", "repeat"
#define NOT_IP "repeat", "repeat", "not IP"

#define BYTES(text, more) .bytes = text, .nr = sizeof(text) - 1, .rest = more
#define NODES "\xff\2\0\0\0\0\0\0\0\0\0\1\xff\0\0\1"

/* clang-format off */
static const struct row rows[] = {
	{ "a copy of a mirror port", { IP4, TCP, .id = 100, .data = 100 }, ALL, "repeat" },
	{ "the same behind a router",
	  { IP4, TCP, .id = 100, .data = 100, .change = hop }, FLOW_ONLY, "new" },
	{ "TCP again, IPv4",
	  { IP4, TCP, .id = 100, .step = 1, .data = 100 }, FLOW_ONLY, "new" },
	{ "TCP again, IPv4 with id 0", { IP4, TCP, .data = 100 }, ALL, "repeat" },
	{ "... with time stamps",
	  { IP4, TCP, .stamp = 7, .step = 1, .data = 100 }, FLOW_ONLY, "new" },
	{ "TCP again, IPv6", { IP6, TCP, .data = 100 }, ALL, "repeat" },
	{ "... with time stamps",
	  { IP6, TCP, .stamp = 7, .step = 1, .data = 100 }, FLOW_ONLY, "new" },
	{ "TCP duplicate ACK, IPv6", { IP6, TCP, .data = 0 }, ALL, "repeat" },
	{ "TCP keepalive, IPv4",
	  { IP4, TCP, .id = 200, .step = 1, .data = 1 }, FLOW_ONLY, "new" },
	{ "TCP keepalive, IPv6", { IP6, TCP, .data = 1 }, ALL, "repeat" },
	{ "DNS query again, IPv4",
	  { IP4, UDP, .id = 300, .step = 1, .from = 5000, .to = 53, .data = 32 }, FLOW_ONLY, "new" },
	{ "DNS query again, IPv6",
	  { IP6, UDP, .from = 5000, .to = 53, .data = 32 }, ALL, "repeat" },
	{ "NAT keepalive, id 0",
	  { IP4, UDP, .from = 4500, .to = 4500, BYTES("\xff", 0) }, ALL, "repeat" },
	{ "ping",
	  { IP4, 1, BYTES("\x08\0\x55\x55\1\2\0\1", 32), .change = next_ping }, FLOW_ONLY, "new" },
	{ "RTP, QUIC, WireGuard",
	  { IP4, UDP, .from = 6000, .to = 6002, .data = 12, .rest = 40, .change = next_rtp }, FLOW_ONLY, "new" },
	{ "ARP request",
	  { ETHER, 0x0806, "\xff\xff\xff\xff\xff\xff", BYTES("\0\1\x08\0\6\4\0\1", 38) }, NOT_IP, "not_ip" },
	{ "LACP",
	  { ETHER, 0x8809, "\x01\x80\xc2\0\0\2", BYTES("\1\1", 108) }, NOT_IP, "reserved_mac" },
	{ "STP",
	  { ETHER, 38, "\x01\x80\xc2\0\0\0", BYTES("\x42\x42\3", 35) }, NOT_IP, "reserved_mac" },
	{ "BFD", { IP4, UDP, .from = 49152, .to = 3784, .data = 24 }, ALL, "bfd" },
	{ "OSPF hello",
	  { IP4, 89, "\xe0\0\0\5", .id = 400, .step = 1, .rest = 44 }, FLOW_ONLY, "ospf" },
	{ "OSPFv3 hello",
	  { IP6, 89, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\5", .rest = 36 }, ALL, "ospf" },
	{ "VRRP", { IP4, 112, "\xe0\0\0\x12", .rest = 20 }, ALL, "vrrp" },
	{ "neighbour solicitation", { IP6, 58, NODES, BYTES("\x87", 31) }, ALL, "nd" },
	{ "MLD report", { IP6, 58, NODES, BYTES("\x8f", 31) }, ALL, "group_member" },
	{ "IGMP report", { IP4, 2, "\xef\1\2\3", .rest = 8 }, ALL, "group_member" },
	{ "DHCP again",
	  { IP4, UDP, "\xff\xff\xff\xff", .from = 68, .to = 67, .data = 40 }, ALL, "dhcp" },
	{ "DHCPv6 again",
	  { IP6, UDP, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\1\0\2", .from = 546, .to = 547, .data = 40 }, ALL, "dhcp" },
	{ "mDNS announcement",
	  { IP4, UDP, "\xe0\0\0\xfb", .from = 5353, .to = 5353, .data = 40 }, ALL, "local_group" },
};
/* clang-format on */

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *control_name(int err)
{
	static const char *const names[] = {
		"reserved_mac", "nd", "group_member", "dhcp", "bfd", "ospf", "vrrp", "local_group",
	};
	int which = -err - EPF_CONTROL - 1;

	if (err == -EPROTO)
		return "not_ip";
	return which >= 0 && which < EPF_CONTROL_LAST ? names[which] : "wrong";
}

/* Return: the verdict on the second packet, after only the first was seen. */
static const char *verdict(const struct row *row, __u8 key, __u16 flags)
{
	static const struct epf_hash h = { { 3, 4 }, 0, { 0 } };
	struct epf_pkt_opts o = { key, EPF_LINK_ETHER, flags, 0 };
	__u64 digest[2] = { 0, 0 };
	int err[2], i;

	for (i = 0; i < 2; i++) {
		struct frame f = { .len = 0 };
		struct epf_seg seg = { f.bytes, 0 };
		struct epf_pkt pkt = { &seg, 1, 0 };

		make(&row->recipe, &f, i);
		seg.len = pkt.len = f.len;
		err[i] = epf_pkt_opts_check(&o);
		if (!err[i])
			err[i] = epf_pkt_digest(&h, &pkt, &o, &digest[i]);
	}
	if (err[0] != err[1])
		return "wrong";
	if (!err[0])
		return digest[0] == digest[1] ? "repeat" : "new";
	return flags ? control_name(err[0]) : err[0] == -EPROTO ? "not IP" : "wrong";
}

static void check(const struct row *row)
{
	const char *frame = verdict(row, EPF_PKT_FRAME, 0);
	const char *packet = verdict(row, EPF_PKT_PACKET, 0);
	const char *flow = verdict(row, EPF_PKT_FLOW, 0);
	const char *live = verdict(row, EPF_PKT_PACKET, EPF_PKT_PASS_CONTROL);

	tap_ok(!strcmp(frame, row->frame) && !strcmp(packet, row->packet) &&
		       !strcmp(flow, row->flow) && !strcmp(live, row->live),
	       "%s: frame %s, packet %s, flow %s; no mirror: %s", row->name, frame, packet, flow,
	       live);
}

static void table(void)
{
	size_t i;

	for (i = 0; i < NR_ROWS; i++)
		printf("%-26s  %-6s  %-6s  %-6s  %s\n", rows[i].name, rows[i].frame, rows[i].packet,
		       rows[i].flow, rows[i].live);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "--table")) {
		table();
		return 0;
	}
	tap_plan(NR_ROWS);
	for (i = 0; i < NR_ROWS; i++)
		check(&rows[i]);
	return tap_end();
}
