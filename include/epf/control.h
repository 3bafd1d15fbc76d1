/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Control packets: packets that hosts and routers repeat unchanged on purpose, and whose
 * loss breaks a network. enum epf_control lists them. Pure functions; any context.
 *
 * A packet that cannot be read is no control packet: truncated and malformed packets, and
 * fragments that only the transport header would identify.
 *
 * Sources: IEEE 802.1Q table 8-1 (reserved addresses); RFC 5771 section 4 and RFC 4291
 * section 2.7 (link-local groups); RFC 4861 and 2710, 3810, 3376 (ND, MLD, IGMP); RFC 2131,
 * 8357, 8415 (DHCP); RFC 5881, 5883, 7130, 7881 (BFD); RFC 2328, 5340 (OSPF); RFC 5798
 * (VRRP).
 */
#ifndef EPF_CONTROL_H
#define EPF_CONTROL_H

#include "headers.h"

/* Is it 01:80:c2:00:00:00 to 0f? This reads eight bytes. Here and below, the first test is
 * the one that most packets fail.
 */
EPF_FN bool epf_is_reserved_mac(const __u8 *p)
{
	return p[0] == 1 && (epf_get_le64(p) & 0xf0ffffffffffULL) == 0xc28001;
}

/* @ports: source and destination. Only the destination counts: it is a port of this host or
 * of a server, while anybody may send from any port.
 */
EPF_FN __u32 epf_control_udp(const __u8 *ports, __u32 dhcp)
{
	__u32 to = epf_be16(ports + 2);

	if (to - dhcp < 2)
		return EPF_CONTROL_DHCP;
	if (to - 3784 > 7784 - 3784)
		return 0;
	switch (to) {
	case 3784:
	case 3785: /* one hop, echo */
	case 4784: /* many hops */
	case 6784: /* link aggregation */
	case 7784: /* seamless */
		return EPF_CONTROL_BFD;
	}
	return 0;
}

EPF_FN __u32 epf_control_icmp6(__u32 type)
{
	if (type >= 133 && type <= 137)
		return EPF_CONTROL_ND;
	if ((type >= 130 && type <= 132) || type == 143)
		return EPF_CONTROL_GROUP_MEMBER;
	return 0;
}

/* Protocols that are control whatever they carry. */
EPF_FN __u32 epf_control_proto(__u32 proto, bool six)
{
	switch (proto) {
	case 2:
		return six ? 0 : EPF_CONTROL_GROUP_MEMBER;
	case 89:
		return EPF_CONTROL_OSPF;
	case 112:
		return EPF_CONTROL_VRRP;
	}
	return 0;
}

EPF_FN bool epf_is_local_group4(const __u8 *dst)
{
	return dst[0] == 224 && !dst[1] && !dst[2];
}

/**
 * epf_control_plain() - which control packet is it?
 * @p: a packet that passed epf_is_plain()
 *
 * Return: enum epf_control, or 0; the same as epf_control() finds.
 */
EPF_FN __u32 epf_control_plain(const __u8 *p)
{
	__u32 what;

	if (epf_is_reserved_mac(p))
		return EPF_CONTROL_RESERVED_MAC;
	if (p[23] == 17)
		what = epf_control_udp(p + 34, 67);
	else
		what = epf_control_proto(p[23], false);
	if (!what && epf_is_local_group4(p + 30))
		return EPF_CONTROL_LOCAL_GROUP;
	return what;
}

/* Decide by the transport header, if it is here. */
EPF_FN __u32 epf_control_l4(const struct epf_pkt *pkt, const struct epf_ip *ip)
{
	bool six = ip->hdr_len == 40;
	__u8 room[4] EPF_ALIGNED;
	const __u8 *p;
	int err;

	if (ip->proto == 17 && !ip->fragment) {
		p = epf_l4_at(pkt, ip, 4, room, &err);
		return p ? epf_control_udp(p, six ? 546 : 67) : 0;
	}
	if (ip->proto == 58 && six && !ip->fragment) {
		p = epf_l4_at(pkt, ip, 4, room, &err);
		return p ? epf_control_icmp6(p[0]) : 0;
	}
	return epf_control_proto(ip->proto, six);
}

EPF_FN __u32 epf_control_ip(const struct epf_pkt *pkt, struct epf_ip *ip)
{
	__u32 what = 0;
	bool local;

	if (!epf_ip_walk(pkt, ip, 1))
		what = epf_control_l4(pkt, ip);
	if (ip->hdr_len == 20)
		local = epf_is_local_group4(ip->hdr + 16);
	else
		local = ip->hdr[24] == 0xff && ip->hdr[25] == 2;
	return what ? what : local ? EPF_CONTROL_LOCAL_GROUP : 0;
}

/**
 * epf_control() - must the packet be passed, whatever was seen before?
 * @pkt: packet
 * @link: enum epf_pkt_link
 *
 * Return: 0: no; -(EPF_CONTROL + enum epf_control): yes, by the first kind that applies;
 * -EPROTO: it is not IP.
 */
EPF_FN_BIG int epf_control(const struct epf_pkt *pkt, __u32 link)
{
	__u8 room[14] EPF_ALIGNED;
	struct epf_l3 l3;
	struct epf_ip ip;
	__u32 what, len;
	const __u8 *p;
	int err;

	if (link == EPF_LINK_ETHER) {
		p = epf_pkt_first(pkt, &len);
		if (epf_is_plain(p, len)) {
			what = epf_control_plain(p);
			return what ? -(int)(EPF_CONTROL + what) : 0;
		}
		p = epf_pkt_at(pkt, 0, 14, room);
		if (p && epf_is_reserved_mac(p))
			return -(EPF_CONTROL + EPF_CONTROL_RESERVED_MAC);
	}
	err = epf_l3_find(pkt, link, &l3);
	if (!err)
		err = epf_ip_read(pkt, &l3, &ip);
	if (err)
		return err == -EPROTO ? err : 0;
	what = epf_control_ip(pkt, &ip);
	return what ? -(int)(EPF_CONTROL + what) : 0;
}

#endif /* EPF_CONTROL_H */
