/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * Packet keys of epochfilter, and the packets that have none. A part of
 * linux/epochfilter.h, which includes it.
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_PACKET_H
#define _UAPI_LINUX_EPOCHFILTER_PACKET_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/*
 * Packet keys: which bytes of a packet make it "the same packet".
 *
 *   EPF_PKT_FRAME   every byte of the frame
 *   EPF_PKT_PACKET  what forwarding does not change: IPv4 without TTL and
 *                   header checksum, IPv6 without hop limit, without link
 *                   padding; other protocols: the frame. The MAC addresses and
 *                   the VLAN tags are included unless flags leave them out.
 *   EPF_PKT_FLOW    addresses, protocol and ports; ICMP: type, code and, for
 *                   types that have one, the id; fragments: addresses, protocol
 *                   and id. VLAN tags (QinQ too) are skipped.
 *
 * and keys derived from a flow:
 *
 *   EPF_PKT_CONVERSATION
 *                   the flow, and the same key for the answers to it
 *   EPF_PKT_PEER    source address, or a prefix of it (EPF_PKT_PREFIX)
 *   EPF_PKT_PEER_PORT
 *                   the same, with the protocol and the source port; fragments:
 *                   with the protocol and the id
 */
enum epf_pkt_key {
	EPF_PKT_FRAME = 0,
	EPF_PKT_PACKET = 1,
	EPF_PKT_FLOW = 2,
	EPF_PKT_CONVERSATION = 3,
	EPF_PKT_PEER = 4,
	EPF_PKT_PEER_PORT = 5,
	EPF_PKT_KEYS
};

/* Where the network header is. */
enum epf_pkt_link {
	EPF_LINK_ETHER = 0,
	EPF_LINK_IP = 1,   /* the frame is an IP packet */
	EPF_LINK_SLL = 2,  /* Linux cooked, 16 bytes */
	EPF_LINK_SLL2 = 3, /* Linux cooked v2, 20 bytes */
};

#define EPF_PKT_NO_MAC (1u << 0)  /* packet: leave out the MAC addresses */
#define EPF_PKT_NO_VLAN (1u << 1) /* packet: leave out VLAN tags */
#define EPF_PKT_NONIP_FRAME \
	(1u << 2) /* flow: the key of packets that are not IP is the frame;
				       * without it they are passed (EPROTO) */
#define EPF_PKT_PASS_CONTROL \
	(1u << 3) /* packets of enum epf_control, and those that are not IP
					* (EPROTO), are passed; not with EPF_PKT_NONIP_FRAME */

/*
 * Flags of flows and all keys derived from them. The reverse of a flow is the
 * flow of the packets that answer it: addresses and ports are exchanged, and
 * the type of an ICMP query becomes that of the reply, or the other way round.
 *
 * An ICMP error represents the flow whose packet it carries, as one of its
 * answers: with EPF_PKT_REVERSE it has the key that the carried packet has
 * without. An ICMP error inside an ICMP error is not looked into.
 */
/* clang-format off */
#define EPF_PKT_REVERSE (1u << 4) /* the key of the reverse flow: the peer is the destination; not
				   * for conversations */
#define EPF_PKT_ERRORS (1u << 5) /* the key of an ICMP error comes from the packet that it
				  * carries: types 3, 4, 5, 11, 12; for ICMPv6 1 to 4 */
#define EPF_PKT_FIRST (1u << 6) /* fragments other than the first have no key (ENOMSG), and the
				 * first has the key of a whole packet; not with EPF_PKT_PEER,
				 * which needs no ports */
#define EPF_PKT_VLAN (1u << 7) /* include the ids of the packet's VLANs; a tag with id 0 has only
				* a priority and does not count */
#define EPF_PKT_IFACE (1u << 8) /* include a number: of the interface or VRF */
#define EPF_PKT_MARK (1u << 9) /* include a number: a mark; not in XDP, where packets have none */
#define EPF_PKT_ZONE (1u << 10) /* include a number that is part of the options (EPF_PKT_IN_ZONE):
				 * keys of one zone are equal wherever they come from; not with
				 * EPF_PKT_MARK, because the key has one place for both */
/* clang-format on */
#define EPF_PKT_SCOPES (EPF_PKT_VLAN | EPF_PKT_IFACE | EPF_PKT_MARK | EPF_PKT_ZONE)

#define EPF_PKT_MASK                                                                     \
	(EPF_PKT_NO_MAC | EPF_PKT_NO_VLAN | EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL | \
	 EPF_PKT_REVERSE | EPF_PKT_ERRORS | EPF_PKT_FIRST | EPF_PKT_SCOPES)

/*
 * The number of address bits that identify the peer, as @max_bytes: for IPv4 8
 * to 32, for IPv6 8 to 128. All bits are written as 0, so that each key has one
 * description.
 */
#define EPF_PKT_PREFIX(v4, v6) ((31u & (v4)) | (127u & (v6)) << 8)
#define EPF_PKT_PREFIX4(max_bytes) (0xff & (max_bytes))
#define EPF_PKT_PREFIX6(max_bytes) (((max_bytes) >> 8) & 0xff)
#define EPF_PKT_PREFIX_LEAST 8

/* A zone, 0 to 65535, as a part of @max_bytes, for keys derived from flows. */
#define EPF_PKT_IN_ZONE(zone) ((__u32)(zone) << 16)
#define EPF_PKT_ZONE_OF(max_bytes) ((max_bytes) >> 16)

/*
 * Control packets, which their senders repeat unchanged and on purpose. They
 * are also found after VLAN tags and IPv6 extension headers. The first kind
 * that applies counts; for a fragment only kinds that the IP header alone
 * identifies. If such a packet is passed, the result in place of a verdict is
 * -(EPF_CONTROL + one of these), which is no errno.
 */
#define EPF_CONTROL 4096
enum epf_control {
	EPF_CONTROL_RESERVED_MAC = 1, /* Ethernet to 01:80:c2:00:00:0x: LACP,
				       * STP, LLDP, pause, ... */
	EPF_CONTROL_ND = 2,           /* IPv6 neighbour discovery */
	EPF_CONTROL_GROUP_MEMBER = 3, /* IGMP, MLD */
	EPF_CONTROL_DHCP = 4,         /* UDP to 67, 68; for IPv6 546, 547 */
	EPF_CONTROL_BFD = 5,          /* UDP to 3784, 3785, 4784, 6784, 7784 */
	EPF_CONTROL_OSPF = 6,
	EPF_CONTROL_VRRP = 7,
	EPF_CONTROL_LOCAL_GROUP = 8, /* IP to 224.0.0.0/24 or ff02::/16 */
	EPF_CONTROL_LAST = EPF_CONTROL_LOCAL_GROUP
};

/**
 * struct epf_pkt_opts - description of a packet key
 * @key: enum epf_pkt_key
 * @link: enum epf_pkt_link
 * @flags: EPF_PKT_*
 * @max_bytes: frame, packet: hash so many bytes of the key and, if it is
 *	longer, its length; 0: all. Peers: EPF_PKT_PREFIX(). For all keys
 *	derived from flows, with EPF_PKT_ZONE: EPF_PKT_IN_ZONE() is added
 */
struct epf_pkt_opts {
	__u8 key;
	__u8 link;
	__u16 flags;
	__u32 max_bytes;
};

/**
 * struct epf_pkt_scope - where a packet is, as far as the packet itself does
 * not say
 * @iface: with EPF_PKT_IFACE
 * @mark: with EPF_PKT_MARK; bits that do not count are 0
 */
struct epf_pkt_scope {
	__u32 iface;
	__u32 mark;
};

#endif /* _UAPI_LINUX_EPOCHFILTER_PACKET_H */
