# SPDX-License-Identifier: GPL-2.0
"""Canonical bytes of packets, as include/uapi/linux/epochfilter.h and the
comment of include/epf/packet.h describe them, parsed from the RFCs.

A frame is cut into layers by generators of (name, bytes) rather than by
offsets, so that it shares no arithmetic with the C.
"""

import ipaddress

FRAME, PACKET, FLOW, CONVERSATION, PEER, PEER_PORT = range(6)
ETHER, IP, SLL, SLL2 = range(4)
NO_MAC, NO_VLAN, NONIP_FRAME, PASS_CONTROL = 1, 2, 4, 8
REVERSE, ERRORS, FIRST, VLAN, IFACE, MARK, ZONE = 16, 32, 64, 128, 256, 512, 1024
SCOPES = VLAN | IFACE | MARK | ZONE

VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
PORT_PROTOS = {6: "TCP", 17: "UDP", 33: "DCCP", 132: "SCTP", 136: "UDP-Lite"}
ICMP4_WITH_ID = {0, 8, 13, 14, 15, 16, 17, 18}
ICMP6_WITH_ID = {128, 129}
# RFC 792, 950: who asks, and who answers; RFC 4443
ICMP4_ANSWERS = {8: 0, 13: 14, 15: 16, 17: 18}
ICMP6_ANSWERS = {128: 129}
ICMP4_ERRORS = {3, 4, 5, 11, 12}
ICMP6_ERRORS = {1, 2, 3, 4}
HOP_BY_HOP, ROUTING, FRAGMENT, AH, DEST_OPTS = 0, 43, 44, 51, 60
MOBILITY, HIP, SHIM6 = 135, 139, 140
EXTENSIONS = {HOP_BY_HOP, ROUTING, FRAGMENT, AH, DEST_OPTS, MOBILITY, HIP,
              SHIM6}
MAX_TAGS = 4
MAX_EXTENSIONS = 8192


class Truncated(Exception):
    """The captured bytes end before what the key needs."""


class Malformed(Exception):
    """A header contradicts itself or another one."""


class NotIp(Exception):
    """Neither IPv4 nor IPv6, and the options ask to pass those."""


class Fragment(Exception):
    """Not the first one, and the options ask for ports."""


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
    """Take bytes off the front of a packet whose datagram may be shorter
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
        if not total and len(data) > 65535:  # no field could tell it
            total = len(data)
        if fixed[0] >> 4 != 4 or header < 20 or total < header:
            raise Malformed
        if header > len(data):
            raise Truncated
        self.version = 4
        self.proto = fixed[9]
        self.source, self.dest = fixed[12:16], fixed[16:20]
        flags = be(fixed[6:8])
        more, self.offset = flags >> 13 & 1, flags & 0x1FFF
        self.fragment = fixed[4:6] if more or self.offset else None
        self.total = total
        self.data = data
        self.payload = Reader(data[header:], total - header)

    def invariant(self):
        whole = Reader(self.data).take(self.total)
        return whole[:8] + b"\0" + whole[9:10] + b"\0\0" + whole[12:]

    def walk(self, first=False):
        """With first, the first fragment counts as the whole."""
        if first and not self.offset:
            self.fragment = None


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
        if length == 0 and (self.proto == HOP_BY_HOP or len(data) > 65575):
            length = len(data) - 40  # RFC 2675: jumbogram, with its option or without
        self.length = length
        self.data = data
        self.payload = Reader(data[40:], length)

    def invariant(self):
        whole = Reader(self.data).take(40 + self.length)
        return whole[:7] + b"\0" + whole[8:]

    def walk(self, first=False):
        """Skip the extension headers, up to a fragment header; with first, up to
        the header of a fragment that is not the first.
        """
        seen = 0
        while self.proto in EXTENSIONS and self.fragment is None:
            if seen == MAX_EXTENSIONS:
                raise Malformed
            seen += 1
            head = self.payload.peek(8)
            kind, self.proto = self.proto, head[0]
            if kind == FRAGMENT:
                offset, more = be(head[2:4]) >> 3, head[3] & 1
                apart = offset or (more and not first)
                self.fragment = head[4:8] if apart else None
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


class Flow:
    """Who sends what to whom: a version, protocol and two ends, each an address
    and a number. The number is a port, or the type of the ICMP message and of its
    answer; the rest of the identity is in between.
    """

    def __init__(self, ip, key, reveals_errors):
        self.version, self.proto = ip.version, ip.proto
        self.source, self.dest = ip.source, ip.dest
        self.four = b""  # ports, or type, code, id
        self.is_fragment = ip.fragment is not None
        self.carried = None
        self.icmp = ip.proto == {4: 1, 6: 58}[ip.version]
        if self.is_fragment:
            self.four = ip.fragment
        elif self.icmp:
            if reveals_errors or key in (FLOW, CONVERSATION):
                self.read_icmp(ip, key, reveals_errors)
        elif ip.proto in PORT_PROTOS and key != PEER:
            self.four = ip.payload.peek(4)

    def read_icmp(self, ip, key, reveals_errors):
        head = ip.payload.peek(4)
        errors = {4: ICMP4_ERRORS, 6: ICMP6_ERRORS}[self.version]
        if reveals_errors and head[0] in errors:
            there = ip.payload.data[:ip.payload.room]
            self.carried = there[8:]
        elif key in (FLOW, CONVERSATION):
            with_id = {4: ICMP4_WITH_ID, 6: ICMP6_WITH_ID}[self.version]
            self.four = head[:2]
            if head[0] in with_id:
                self.four += ip.payload.peek(6)[4:]

    def answer(self):
        """Return the flow of the answers."""
        back = object.__new__(Flow)
        back.__dict__.update(self.__dict__, source=self.dest, dest=self.source)
        if self.is_fragment:
            return back
        if self.icmp and self.four:
            pairs = {4: ICMP4_ANSWERS, 6: ICMP6_ANSWERS}[self.version]
            pairs = pairs | {b: a for a, b in pairs.items()}
            kind = self.four[0]
            back.four = bytes([pairs.get(kind, kind)]) + self.four[1:]
        elif not self.icmp:
            back.four = self.four[2:] + self.four[:2]
        return back

    def rank(self):
        return self.source, self.four.ljust(4, b"\0")

    def octets(self):
        version = self.version | (0x80 if self.is_fragment else 0)
        return bytes([version, self.proto]) + self.four.ljust(4, b"\0") + \
            self.source + self.dest


def flow_of(frame, key, link, flags):
    """Return the flow that the options select."""
    _, _, ether_type, rest = link_layer(frame, link)
    ip = network_layer(ether_type, rest)
    first = bool(flags & FIRST)
    ip.walk(first)
    if first and ip.fragment is not None:
        raise Fragment
    flow = Flow(ip, key, bool(flags & ERRORS))
    if flow.carried is None:
        return flow
    inner = {4: Ip4, 6: Ip6}[flow.version](flow.carried)
    inner.walk(first)
    if first and inner.fragment is not None:
        raise Malformed  # RFC 1122, 3.2.2: no error is about a later fragment
    return Flow(inner, key, False).answer()


def prefix_of(address, bits):
    if not bits:
        return address
    whole = ipaddress.ip_address(address)
    net = ipaddress.ip_network((whole, bits), strict=False)
    return net.network_address.packed


def peer_bytes(flow, key, max_bytes):
    """A peer has the prefix length where a flow has its destination."""
    bits = max_bytes.to_bytes(4, "little")[flow.version == 6]
    octets = flow.octets()
    head, end = octets[:6], bytes([bits]).ljust(len(flow.dest), b"\0")
    if key == PEER:
        head = bytes([0x20 | flow.version, 0, 0, 0, 0, 0])
    else:
        head = bytes([0x30 | head[0]]) + head[1:]
        if flow.icmp and not flow.is_fragment:
            head = head[:2] + bytes(4)
        elif not flow.is_fragment:
            head = head[:4] + bytes(2)
    return head + prefix_of(flow.source, bits) + end


def scope_bytes(frame, link, flags, scope, zone=0):
    """VLAN ids, the scopes in use, interface, mark or zone."""
    if not flags & SCOPES:
        return b""
    ids = 0
    if flags & VLAN:
        tags = link_layer(frame, link)[1]
        for at in range(2, len(tags), 4):
            vid = be(tags[at:at + 2]) % 4096
            if vid:
                ids = ids * 4096 + vid
    iface = scope[0] if flags & IFACE else 0
    mark = scope[1] if flags & MARK else zone if flags & ZONE else 0
    which = bool(flags & VLAN) + 2 * bool(flags & IFACE) + \
        4 * bool(flags & MARK) + 8 * bool(flags & ZONE)
    return ids.to_bytes(6, "little") + which.to_bytes(2, "little") + \
        iface.to_bytes(4, "little") + mark.to_bytes(4, "little")


def flow_bytes(frame, link, key=FLOW, flags=0, max_bytes=0, scope=(0, 0)):
    flow = flow_of(frame, key, link, flags)
    if flags & REVERSE:
        flow = flow.answer()
    if key == CONVERSATION:
        flow = min(flow, flow.answer(), key=Flow.rank)
    octets = flow.octets()
    if key == CONVERSATION:
        octets = bytes([octets[0] | 0x10]) + octets[1:]
    elif key in (PEER, PEER_PORT):
        octets = peer_bytes(flow, key, max_bytes)
    return octets + scope_bytes(frame, link, flags, scope, max_bytes >> 16)


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
    """Decide by protocol and, except for fragments, ports or ICMPv6 type."""
    always = {(4, 2): "group_member", (4, 89): "ospf", (6, 89): "ospf",
              (4, 112): "vrrp", (6, 112): "vrrp"}
    if (ip.version, ip.proto) in always:
        return always[ip.version, ip.proto]
    if ip.fragment is not None:
        return None
    if ip.proto == 17:
        head = ip.payload.peek(4)
        dest = be(head[2:])
        if dest in DHCP_PORTS[ip.version]:
            return "dhcp"
        return "bfd" if dest in BFD_PORTS else None
    if (ip.version, ip.proto) == (6, 58):
        kind = ip.payload.peek(4)[0]
        return "nd" if kind in ND_TYPES else \
            "group_member" if kind in GROUP_TYPES else None
    return None


def control(frame, link):
    """Return the name of the control packet in the frame, or None; raise NotIp."""
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


def canonical(frame, key, link, flags, max_bytes, scope=(0, 0)):
    """Return the bytes that are hashed, or raise one of the exceptions above."""
    if flags & PASS_CONTROL:
        name = control(frame, link)
        if name:
            raise Control(name)
    if key >= FLOW:
        try:
            return flow_bytes(frame, link, key, flags, max_bytes, scope)
        except NotIp:
            if not flags & NONIP_FRAME:
                raise
            return frame
    whole = packet_bytes(frame, link, flags) if key == PACKET else frame
    return cut(whole, max_bytes)
