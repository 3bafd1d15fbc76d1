# SPDX-License-Identifier: GPL-2.0
"""What 'epfctl dedup' compares of a packet with --inner, --mask and --ignore, from the RFCs
that user/epfctl/dedup_view.h names. A packet is (captured bytes, length on the wire, link).
"""

from packets import (ETHER, IP, Malformed, NotIp, Reader, Truncated, be, link_layer,
                     network_layer)

TOS, SEQ, OPTIONS = 1, 2, 4
LAYERS = 8
LABELS = 16
TCP, UDP, GRE = 6, 17, 47
VXLAN_PORT = 4789
BAD = Malformed, NotIp, Truncated


def no_checksum(header):
    return header[:10] + b"\0\0" + header[12:]


def behind_labels(data):
    """(carried packet, its link), behind a stack of MPLS labels."""
    rest = Reader(data)
    for _ in range(LABELS):
        if rest.take(4)[2] & 1:
            break
    else:
        raise Malformed
    first = rest.peek(1)[0] >> 4
    if first in (4, 6):
        return rest.data, IP
    if first:
        raise Malformed
    rest.take(4)  # RFC 4385: the control word
    return rest.data, ETHER


def behind_gre(data):
    rest = Reader(data)
    head = rest.take(4)
    has_sum, has_routing, has_key, has_number = (head[0] >> n & 1 for n in (7, 6, 5, 4))
    if head[1] & 7 or has_routing:
        raise Malformed
    rest.take(4 * (has_sum + has_key + has_number))
    kind = be(head[2:])
    if kind in (0x0800, 0x86DD):
        return rest.data, IP
    if kind in (0x8847, 0x8848):
        return behind_labels(rest.data)
    if kind == 0x88BE and has_number:  # ERSPAN II; without a number it is type I
        rest.take(8)
    elif kind == 0x22EB:
        more = rest.take(12)[11] & 1
        rest.take(8 * more)
    elif kind not in (0x6558, 0x88BE):
        raise Malformed
    return rest.data, ETHER


def behind_vxlan(data):
    head = Reader(data).take(16)
    if be(head[2:4]) != VXLAN_PORT or not head[8] & 8:
        raise Malformed
    return data[16:], ETHER


def carried(data, link):
    """(carried packet, its link, bytes captured behind it, the most that it has)"""
    _, _, kind, rest = link_layer(data, link)
    if kind in (0x8847, 0x8848):
        return behind_labels(rest) + (0, None)
    ip = network_layer(kind, rest)
    ip.walk()
    carriers = {UDP: behind_vxlan, GRE: behind_gre}
    if ip.fragment or ip.proto not in carriers:
        raise Malformed
    own = ip.payload.data[:max(ip.payload.room, 0)]
    inside, its = carriers[ip.proto](own)
    most = ip.payload.room - (len(own) - len(inside))
    return inside, its, len(ip.payload.data) - len(own), most


def inner(packet):
    """(the innermost packet, whether there were outer headers)"""
    data, length, link = packet
    for layer in range(LAYERS):
        try:
            inside, its, padding, most = carried(data, link)
        except BAD:
            return (data, length, link), layer > 0
        unseen = length - len(data)
        length = len(inside) + padding + unseen
        length = length if most is None else min(length, most)
        data, link = inside, its
    return (data, length, link), True


def shorter(header, at, n):
    """The header of a datagram without @n of its bytes; 0 is no length."""
    length = be(header[at:at + 2])
    return header[:at] + (length - (n if length >= n else 0)).to_bytes(2, "big") + \
        header[at + 2:]


def masked_tcp(ip, masks):
    """(TCP, how many bytes of options are left out); None: it is no whole TCP header."""
    try:
        ip.walk(first=True)
    except BAD:
        return None
    data = ip.payload.data
    own = data[:max(ip.payload.room, 0)]
    if ip.fragment or ip.proto != TCP or len(own) < 20:
        return None
    size = 4 * (own[12] >> 4)
    if not 20 <= size <= len(own):
        return None
    head, options = data[:16] + b"\0\0" + data[18:20], data[20:size]
    if masks & SEQ:
        head = head[:4] + bytes(8) + head[12:]
    if not masks & OPTIONS:
        return head + options + data[size:], 0
    return head[:12] + bytes([0x50 | head[12] & 15]) + head[13:] + data[size:], len(options)


def masked(packet, masks):
    data, length, link = packet
    try:
        _, _, kind, rest = link_layer(data, link)
        ip = network_layer(kind, rest)
    except BAD:
        return packet
    four = ip.version == 4
    fixed = 20 if four else 40
    before, header = data[:len(data) - len(rest)], rest[:fixed]
    if masks & TOS and four:
        header = no_checksum(header[:1] + b"\0" + header[2:])
    elif masks & TOS:
        header = bytes([header[0] & 0xF0, header[1] & 0x0F]) + header[2:]
    tcp = masked_tcp(ip, masks) if masks & (SEQ | OPTIONS) else None
    if tcp is None:
        return before + header + rest[fixed:], length, link
    after, left_out = tcp
    if masks & OPTIONS:
        header = shorter(header, 2 if four else 4, left_out)
        header = no_checksum(header) if four else header
    between = rest[fixed:len(rest) - len(ip.payload.data)]
    return before + header + between + after, length - left_out, link


def without(packet, n):
    """(the packet without its first bytes, whether it has more than these)"""
    data, length, link = packet
    return ((data[n:], length - n, link), True) if len(data) > n else (packet, False)
