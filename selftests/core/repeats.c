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

/**
 * struct row - a packet that is sent twice
 * @name: its name in the manual
 * @make: makes the first of the two, or the second
 * @frame: verdict on the second with this key, on a mirror port
 * @packet: verdict with this key, on a mirror port
 * @flow: verdict with this key, on a mirror port
 * @live: verdict with key packet on a port that is not a mirror
 */
struct row {
	const char *name;
	void (*make)(struct frame *f, bool second);
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

static void tcp4(struct frame *f, bool second)
{
	ip4(f, 6, 100 + second, NULL, 120);
	tcp(f, 0, 100);
}

static void tcp4_id0(struct frame *f, bool second)
{
	ip4(f, 6, 0, NULL, 120);
	tcp(f, 0, 100);
}

static void tcp4_id0_stamped(struct frame *f, bool second)
{
	ip4(f, 6, 0, NULL, 132);
	tcp(f, 7 + second, 100);
}

static void tcp6(struct frame *f, bool second)
{
	ip6(f, 6, NULL, 120);
	tcp(f, 0, 100);
}

static void tcp6_stamped(struct frame *f, bool second)
{
	ip6(f, 6, NULL, 132);
	tcp(f, 7 + second, 100);
}

static void ack6(struct frame *f, bool second)
{
	ip6(f, 6, NULL, 20);
	tcp(f, 0, 0);
}

static void keepalive4(struct frame *f, bool second)
{
	ip4(f, 6, 200 + second, NULL, 21);
	tcp(f, 0, 1);
}

static void keepalive6(struct frame *f, bool second)
{
	ip6(f, 6, NULL, 21);
	tcp(f, 0, 1);
}

static void dns4(struct frame *f, bool second)
{
	ip4(f, 17, 300 + second, NULL, 40);
	udp(f, 5000, 53, 32);
}

static void dns6(struct frame *f, bool second)
{
	ip6(f, 17, NULL, 40);
	udp(f, 5000, 53, 32);
}

static void nat_keepalive(struct frame *f, bool second)
{
	ip4(f, 17, 0, NULL, 9);
	udp(f, 4500, 4500, 0);
	put(f, "\xff", 1);
}

static void ping4(struct frame *f, bool second)
{
	ip4(f, 1, 0, NULL, 40);
	put(f, "\x08\0\x55\x55\1\2\0", 7);
	put(f, second ? "\2" : "\1", 1);
	zeros(f, 32);
}

static void rtp(struct frame *f, bool second)
{
	ip4(f, 17, 0, NULL, 60);
	udp(f, 6000, 6002, 12);
	f->bytes[f->len - 9] = second;
	zeros(f, 40);
}

static void arp(struct frame *f, bool second)
{
	ether(f, "\xff\xff\xff\xff\xff\xff", 0x0806);
	put(f, "\0\1\x08\0\6\4\0\1", 8);
	zeros(f, 38);
}

static void lacp(struct frame *f, bool second)
{
	ether(f, "\x01\x80\xc2\0\0\2", 0x8809);
	put(f, "\1\1", 2);
	zeros(f, 108);
}

static void stp(struct frame *f, bool second)
{
	ether(f, "\x01\x80\xc2\0\0\0", 38);
	put(f, "\x42\x42\3", 3);
	zeros(f, 35);
}

static void bfd(struct frame *f, bool second)
{
	ip4(f, 17, 0, NULL, 32);
	udp(f, 49152, 3784, 24);
}

static void ospf(struct frame *f, bool second)
{
	ip4(f, 89, 400 + second, "\xe0\0\0\5", 44);
	zeros(f, 44);
}

static void ospf6(struct frame *f, bool second)
{
	ip6(f, 89, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\5", 36);
	zeros(f, 36);
}

static void vrrp(struct frame *f, bool second)
{
	ip4(f, 112, 0, "\xe0\0\0\x12", 20);
	zeros(f, 20);
}

static void icmp6(struct frame *f, int type)
{
	__u8 octet = (__u8)type;

	ip6(f, 58, "\xff\2\0\0\0\0\0\0\0\0\0\1\xff\0\0\1", 32);
	put(f, &octet, 1);
	zeros(f, 31);
}

static void neighbour(struct frame *f, bool second)
{
	icmp6(f, 135);
}

static void mld(struct frame *f, bool second)
{
	icmp6(f, 143);
}

static void igmp(struct frame *f, bool second)
{
	ip4(f, 2, 0, "\xef\1\2\3", 8);
	zeros(f, 8);
}

static void dhcp(struct frame *f, bool second)
{
	ip4(f, 17, 0, "\xff\xff\xff\xff", 48);
	udp(f, 68, 67, 40);
}

static void dhcp6(struct frame *f, bool second)
{
	ip6(f, 17, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\1\0\2", 48);
	udp(f, 546, 547, 40);
}

static void mdns(struct frame *f, bool second)
{
	ip4(f, 17, 0, "\xe0\0\0\xfb", 48);
	udp(f, 5353, 5353, 40);
}

/* The same packet twice, as a mirror port sends it that copies both ingress and egress. */
static void copied(struct frame *f, bool second)
{
	tcp4(f, false);
}

static void routed(struct frame *f, bool second)
{
	tcp4(f, false);
	if (second) {
		f->bytes[5] ^= 1; /* destination address of the next hop */
		f->bytes[22]--;   /* TTL */
		f->bytes[24]++;   /* checksum */
	}
}

#define ALL "repeat", "repeat", "repeat"
#define FLOW_ONLY "new", "new", "repeat"
#define NOT_IP "repeat", "repeat", "not IP"

static const struct row rows[] = {
	{ "a copy of a mirror port", copied, ALL, "repeat" },
	{ "the same behind a router", routed, FLOW_ONLY, "new" },
	{ "TCP again, IPv4", tcp4, FLOW_ONLY, "new" },
	{ "TCP again, IPv4 with id 0", tcp4_id0, ALL, "repeat" },
	{ "... with time stamps", tcp4_id0_stamped, FLOW_ONLY, "new" },
	{ "TCP again, IPv6", tcp6, ALL, "repeat" },
	{ "... with time stamps", tcp6_stamped, FLOW_ONLY, "new" },
	{ "TCP duplicate ACK, IPv6", ack6, ALL, "repeat" },
	{ "TCP keepalive, IPv4", keepalive4, FLOW_ONLY, "new" },
	{ "TCP keepalive, IPv6", keepalive6, ALL, "repeat" },
	{ "DNS query again, IPv4", dns4, FLOW_ONLY, "new" },
	{ "DNS query again, IPv6", dns6, ALL, "repeat" },
	{ "NAT keepalive, id 0", nat_keepalive, ALL, "repeat" },
	{ "ping", ping4, FLOW_ONLY, "new" },
	{ "RTP, QUIC, WireGuard", rtp, FLOW_ONLY, "new" },
	{ "ARP request", arp, NOT_IP, "not_ip" },
	{ "LACP", lacp, NOT_IP, "reserved_mac" },
	{ "STP", stp, NOT_IP, "reserved_mac" },
	{ "BFD", bfd, ALL, "bfd" },
	{ "OSPF hello", ospf, FLOW_ONLY, "ospf" },
	{ "OSPFv3 hello", ospf6, ALL, "ospf" },
	{ "VRRP", vrrp, ALL, "vrrp" },
	{ "neighbour solicitation", neighbour, ALL, "nd" },
	{ "MLD report", mld, ALL, "group_member" },
	{ "IGMP report", igmp, ALL, "group_member" },
	{ "DHCP again", dhcp, ALL, "dhcp" },
	{ "DHCPv6 again", dhcp6, ALL, "dhcp" },
	{ "mDNS announcement", mdns, ALL, "local_group" },
};

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

		row->make(&f, i);
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
