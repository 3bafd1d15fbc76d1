# SPDX-License-Identifier: GPL-2.0
"""Canonical bytes of packets, as include/uapi/linux/epochfilter.h and the
comment of include/epf/packet.h describe them, parsed from the RFCs.

A frame is cut into layers by generators of (name, bytes) rather than by
offsets, so that it shares no arithmetic with the C.
"""

FRAME, PACKET, FLOW = range(3)
ETHER, IP, SLL, SLL2 = range(4)
NO_MAC, NO_VLAN, NONIP_FRAME, PASS_CONTROL = 1, 2, 4, 8

VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
PORT_PROTOS = {6: "TCP", 17: "UDP", 33: "DCCP", 132: "SCTP", 136: "UDP-Lite"}
ICMP4_WITH_ID = {0, 8, 13, 14, 15, 16, 17, 18}
ICMP6_WITH_ID = {128, 129}
HOP_BY_HOP, ROUTING, FRAGMENT, AH, DEST_OPTS = 0, 43, 44, 51, 60
MOBILITY, HIP, SHIM6 = 135, 139, 140
EXTENSIONS = {HOP_BY_HOP, ROUTING, FRAGMENT, AH, DEST_OPTS, MOBILITY, HIP,
              SHIM6}
MAX_TAGS = 4
MAX_EXTENSIONS = 8


class Truncated(Exception):
    """The captured bytes end before what the key needs."""


class Malformed(Exception):
    """A header contradicts itself or another one."""


class NotIp(Exception):
    """Neither IPv4 nor IPv6, and the options ask to pass those."""


class Control(Exception):
    """A control packet, and the options ask to pass those. @name says which."""

    NAMES = ("reserved_mac", "nd", "group_member", "dhcp", "bfd", "ospf",
             "vrrp", "local_group")  # 1 and up, as enum epf_control

    def __init__(self, name):
        super().__init__(name)
        self.name = name
        self.number = 1 + self.NAMES.index(name)


def be(octets):
    return int.from_bytes(octets, "big")


class Reader:
    """Takes bytes off the front of a packet whose datagram may be shorter
    (padding) or longer (truncation) than what was captured.
    """

    def __init__(self, data, room=None):
        self.data = data
        self.room = room  # bytes the enclosing header promises, or None

    def peek(self, n):
        if self.room is not None and n > self.room:
            raise Malformed
        if n > len(self.data):
            raise Truncated
        return self.data[:n]

    def skip(self, n):
        """The bytes need not exist: only the next peek wants them."""
        self.data = self.data[n:]
        if self.room is not None:
            self.room -= n

    def take(self, n):
        head = self.peek(n)
        self.skip(n)
        return head


def link_layer(frame, link):
    """(addresses, tags, EtherType, rest)"""
    rest = Reader(frame)
    if link == ETHER:
        macs = rest.take(12)
        tags = b""
        kind = rest.take(2)
        while be(kind) in VLAN_TYPES:
            if len(tags) == 4 * MAX_TAGS:
                raise Malformed
            body = rest.take(4)
            tags += kind + body[:2]
            kind = body[2:]
        return macs, tags, be(kind), rest.data
    if link == SLL:
        return b"", b"", be(rest.take(16)[14:]), rest.data
    if link == SLL2:
        return b"", b"", be(rest.take(20)[:2]), rest.data
    version = rest.peek(1)[0] >> 4
    if version not in (4, 6):
        raise Malformed
    return b"", b"", {4: 0x0800, 6: 0x86DD}[version], frame


class Ip4:
    def __init__(self, data):
        fixed = Reader(data).take(20)
        header = (fixed[0] & 0xF) * 4
        total = be(fixed[2:4])
        if fixed[0] >> 4 != 4 or header < 20 or total < header:
            raise Malformed
        if header > len(data):
            raise Truncated
        self.version = 4
        self.proto = fixed[9]
        self.source, self.dest = fixed[12:16], fixed[16:20]
        flags = be(fixed[6:8])
        more, offset = flags >> 13 & 1, flags & 0x1FFF
        self.fragment = fixed[4:6] if more or offset else None
        self.total = total
        self.data = data
        self.payload = Reader(data[header:], total - header)

    def invariant(self):
        whole = Reader(self.data).take(self.total)
        return whole[:8] + b"\0" + whole[9:10] + b"\0\0" + whole[12:]

    def walk(self):
        pass


class Ip6:
    def __init__(self, data):
        fixed = Reader(data).take(40)
        if fixed[0] >> 4 != 6:
            raise Malformed
        self.version = 6
        self.proto = fixed[6]
        self.source, self.dest = fixed[8:24], fixed[24:40]
        self.fragment = None
        length = be(fixed[4:6])
        if length == 0 and self.proto == HOP_BY_HOP:  # RFC 2675: jumbogram
            length = len(data) - 40
        self.length = length
        self.data = data
        self.payload = Reader(data[40:], length)

    def invariant(self):
        whole = Reader(self.data).take(40 + self.length)
        return whole[:7] + b"\0" + whole[8:]

    def walk(self):
        """Pass over the extension headers, up to a fragment's."""
        seen = 0
        while self.proto in EXTENSIONS and self.fragment is None:
            if seen == MAX_EXTENSIONS:
                raise Malformed
            seen += 1
            head = self.payload.peek(8)
            kind, self.proto = self.proto, head[0]
            if kind == FRAGMENT:
                offset, more = be(head[2:4]) >> 3, head[3] & 1
                self.fragment = head[4:8] if offset or more else None
                self.payload.skip(8)
            elif kind == AH:  # RFC 4302: in 4-byte units, minus 2
                self.payload.skip(4 * (head[1] + 2))
            else:  # RFC 8200: in 8-byte units, the first not counted
                self.payload.skip(8 * (head[1] + 1))


def network_layer(ether_type, data):
    if ether_type == 0x0800:
        return Ip4(data)
    if ether_type == 0x86DD:
        return Ip6(data)
    raise NotIp


def identity(ip):
    """The four bytes that tell flows between two addresses apart."""
    if ip.fragment is not None:
        return ip.fragment
    if ip.proto in PORT_PROTOS:
        return ip.payload.peek(4)
    if ip.proto == {4: 1, 6: 58}[ip.version]:
        head = ip.payload.peek(4)
        with_id = {4: ICMP4_WITH_ID, 6: ICMP6_WITH_ID}[ip.version]
        if head[0] in with_id:
            return head[:2] + ip.payload.peek(6)[4:]
        return head[:2]
    return b""


def flow_bytes(frame, link):
    _, _, ether_type, rest = link_layer(frame, link)
    ip = network_layer(ether_type, rest)
    ip.walk()
    four = identity(ip).ljust(4, b"\0")
    version = ip.version | (0x80 if ip.fragment is not None else 0)
    return bytes([version, ip.proto]) + four + ip.source + ip.dest


def packet_bytes(frame, link, flags):
    macs, tags, ether_type, rest = link_layer(frame, link)
    out = b"" if flags & NO_MAC else macs
    out += b"" if flags & NO_VLAN else tags
    out += ether_type.to_bytes(2, "big")
    try:
        return out + network_layer(ether_type, rest).invariant()
    except NotIp:
        return out + rest


def cut(octets, max_bytes):
    if not max_bytes or len(octets) <= max_bytes:
        return octets
    return octets[:max_bytes] + len(octets).to_bytes(4, "little")


RESERVED_MACS = {bytes.fromhex("0180c20000%02x" % n) for n in range(16)}
ND_TYPES = {133: "RS", 134: "RA", 135: "NS", 136: "NA", 137: "redirect"}
GROUP_TYPES = {130: "query", 131: "report", 132: "done", 143: "report v2"}
BFD_PORTS = {3784, 3785, 4784, 6784, 7784}
DHCP_PORTS = {4: {67, 68}, 6: {546, 547}}


def control_of_transport(ip):
    """By protocol and, but for fragments, ports or ICMPv6 type."""
    always = {(4, 2): "group_member", (4, 89): "ospf", (6, 89): "ospf",
              (4, 112): "vrrp", (6, 112): "vrrp"}
    if (ip.version, ip.proto) in always:
        return always[ip.version, ip.proto]
    if ip.fragment is not None:
        return None
    if ip.proto == 17:
        head = ip.payload.peek(4)
        source, dest = be(head[:2]), be(head[2:])
        if DHCP_PORTS[ip.version] & {source, dest}:
            return "dhcp"
        return "bfd" if dest in BFD_PORTS else None
    if (ip.version, ip.proto) == (6, 58):
        kind = ip.payload.peek(4)[0]
        return "nd" if kind in ND_TYPES else \
            "group_member" if kind in GROUP_TYPES else None
    return None


def control(frame, link):
    """The name of the control packet that the frame is, or None; NotIp."""
    if link == ETHER and len(frame) >= 14 and frame[:6] in RESERVED_MACS:
        return "reserved_mac"
    try:
        _, _, ether_type, rest = link_layer(frame, link)
        ip = network_layer(ether_type, rest)
    except (Truncated, Malformed):
        return None
    try:
        ip.walk()
        name = control_of_transport(ip)
    except (Truncated, Malformed):
        name = None
    local = ip.dest[:3] == bytes([224, 0, 0]) if ip.version == 4 else \
        ip.dest[:2] == b"\xff\x02"
    return name or ("local_group" if local else None)


def canonical(frame, key, link, flags, max_bytes):
    """The bytes that are hashed, or one of the exceptions above."""
    if flags & PASS_CONTROL:
        name = control(frame, link)
        if name:
            raise Control(name)
    if key == FLOW:
        try:
            return flow_bytes(frame, link)
        except NotIp:
            if not flags & NONIP_FRAME:
                raise
            return frame
    whole = packet_bytes(frame, link, flags) if key == PACKET else frame
    return cut(whole, max_bytes)
