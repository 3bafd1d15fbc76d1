# SPDX-License-Identifier: GPL-2.0
"""Packets for reflex.py, made from a description: a flow, and how it is carried. So the
test knows the expected outcome without parsing a packet. Written from the RFCs, not from
the programs under test.
"""

import mmap
import socket
import struct

MAC_A, MAC_B = bytes(6), bytes(6)  # set by reflex.py
# Addresses that no host has, so that none answers.
A = {4: socket.inet_pton(socket.AF_INET, "198.18.0.1"),
     6: socket.inet_pton(socket.AF_INET6, "2001:db8:2::1")}
B = {4: socket.inet_pton(socket.AF_INET, "198.18.0.2"),
     6: socket.inet_pton(socket.AF_INET6, "2001:db8:2::2")}
UDP, TCP, SCTP, ICMP, ICMP6, GRE, IPIP = 17, 6, 132, 1, 58, 47, 4
KIND = {4: 0x0800, 6: 0x86DD}


def gso_ipv4_max(dev, size):
    """Send RTM_NEWLINK with IFLA_GSO_IPV4_MAX_SIZE, which older `ip link` does not know."""
    body = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(dev), 0, 0) + \
        struct.pack("=HHI", 8, 63, size)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(struct.pack("=IHHII", 16 + len(body), 16, 5, 1, 0) + body)
        error = struct.unpack("=i", sock.recv(4096)[16:20])[0]
    if error:
        raise OSError(-error, "RTM_NEWLINK")


SOL_PACKET, PACKET_TX_RING, TX_REQUEST = 263, 13, 1
RING, SLOT, AT = 64, 2048, 32  # slots, bytes of a slot, where its frame begins


def send_from_ring(sock, frames):
    """Send at most RING frames from memory shared with the kernel: its packets refer to
    that memory, and have only the link header in their linear part.
"""
    sock.setblocking(True)
    sock.setsockopt(SOL_PACKET, PACKET_TX_RING,
                    struct.pack("IIII", 4096, RING * SLOT // 4096, SLOT, RING))
    with mmap.mmap(sock.fileno(), RING * SLOT) as ring:
        for at, frame in zip(range(0, RING * SLOT, SLOT), frames):
            ring[at + AT:at + AT + len(frame)] = frame
            ring[at:at + 16] = struct.pack("=QII", TX_REQUEST, len(frame), len(frame))
        sock.send(b"")


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ether(kind, payload, to_a, tags=()):
    ends = MAC_A + MAC_B if to_a else MAC_B + MAC_A
    head = b"".join(struct.pack(">HH", t, v) for t, v in tags)
    return ends + head + struct.pack(">H", kind) + payload


def untagged(frame):
    """Return it as packet sockets deliver it, with the outer tag apart from the frame."""
    tag = frame[12:14] in (b"\x81\x00", b"\x88\xa8")
    return frame[:12] + frame[16:] if tag else frame


def ip4(proto, payload, src, dst, flags=0, options=b"", length=None, ihl=None):
    ihl = ihl or 5 + len(options) // 4
    length = 20 + len(options) + len(payload) if length is None else length
    head = struct.pack(">BBHHHBBH", 0x40 | ihl, 0, length, 7, flags, 64, proto, 0) + \
        src + dst + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ip6(proto, payload, src, dst):
    return struct.pack(">IHBB", 6 << 28, len(payload), proto, 64) + src + dst + payload


def extended(proto, payload):
    """Put it after a hop-by-hop and a destination options header."""
    pad = b"\x01\x04" + bytes(4)
    return 0, bytes([60, 0]) + pad + bytes([proto, 0]) + pad + payload


class Flow:
    """A flow from B's port @port (derived from @n) to A's @remote, and back."""

    def __init__(self, version, proto, n, remote, ends=None):
        self.version, self.proto, self.remote = version, proto, remote
        self.port = 1024 + n % 60000
        self.a, self.b = ends or (A[version], B[version])

    def l4(self, out, how):
        ports = (self.port, self.remote) if out else (self.remote, self.port)
        data = how.encode().ljust(32, b".")
        if self.proto == UDP:
            return struct.pack(">HHHH", *ports, 8 + len(data), 0) + data
        return struct.pack(">HHIIBBHHH", *ports, 1, 0, 0x50, 0x10, 100, 0, 0) + data

    def ends(self, out):
        return (self.b, self.a) if out else (self.a, self.b)

    def checked(self, body, out):
        """Fill in the checksum that a UDP socket requires for IPv6, and accepts for IPv4."""
        if self.proto != UDP or len(body) < 8:
            return body
        src, dst = self.ends(out)
        pseudo = src + dst + struct.pack(">II", len(body), UDP)
        return body[:6] + struct.pack(">H", checksum(pseudo + body) or 0xFFFF) + body[8:]

    def packet(self, out, how="plain"):
        """Return the network packet; @how it is carried."""
        src, dst = self.ends(out)
        body, proto = self.checked(self.l4(out, how), out), self.proto
        if self.version == 6:
            if how == "options":
                proto, body = extended(proto, body)
            elif how in ("first", "later"):
                offset = 1 if how == "first" else 64 | 1
                body = bytes([proto, 0]) + struct.pack(">HI", offset, 99) + body
                proto = 44
            elif how == "short":
                body = body[:3]
            return ip6(proto, body, src, dst)
        if how == "options":
            return ip4(proto, body, src, dst, options=b"\x01" * 8)
        if how == "first":
            return ip4(proto, body, src, dst, flags=0x2000)
        if how == "later":
            return ip4(proto, body, src, dst, flags=0x2000 | 8)
        if how == "short":
            return ip4(proto, body[:3], src, dst)
        return ip4(proto, body, src, dst)

    def frame(self, out, how="plain"):
        tagged = {"tagged": [(0x8100, 5)], "twice": [(0x88A8, 5), (0x8100, 6)]}
        return ether(KIND[self.version], self.packet(out, how), out,
                     tagged.get(how, ()))

    def query(self, how="plain"):
        return self.frame(True, how)

    def answer(self, how="plain"):
        return self.frame(False, how)

    def error(self, how="plain"):
        """Return an ICMP error of a router on the way, about the packet that was sent."""
        carried = self.packet(True, how)
        if self.version == 4:
            body = struct.pack(">BBHI", 3, 3, 0, 0) + carried[:64]
            return ether(KIND[4], ip4(ICMP, body, bytes([198, 51, 100, 1]), B[4]), False)
        body = struct.pack(">BBHI", 1, 4, 0, 0) + carried
        router = socket.inet_pton(socket.AF_INET6, "2001:db8:1::1")
        return ether(KIND[6], ip6(ICMP6, body, router, B[6]), False)


def neighbours(version):
    """Return what may arrive after a query from port 2000 to port 53 of A: {what: frame}."""
    def flow(n, remote, a=A[version]):
        return Flow(version, UDP, n - 1024, remote, (a, B[version]))

    near, far = bytearray(A[version]), bytearray(A[version])
    near[3 if version == 4 else 7] ^= 4
    far[1] ^= 1
    query = flow(2000, 53)
    return query, {
        "answer": query.answer(), "tagged": query.answer("tagged"),
        "error": query.error(), "first": query.answer("first"),
        "port": flow(2001, 53).answer(), "remote": flow(2000, 123).answer(),
        "near": flow(2000, 53, bytes(near)).answer(),
        "far": flow(2000, 53, bytes(far)).answer()}


def sockets(*ends):
    """Return two flows to port 5000 of B: from port 53 and from port 123 of A."""
    ends = [socket.inet_pton(socket.AF_INET, e) for e in ends]
    return [Flow(4, UDP, 5000 - 1024, remote, ends) for remote in (53, 123)]


def dns(flow):
    """Does 'udp:sport=53,123,443,448' match it?"""
    return flow.proto == UDP and flow.remote in (53, 123, 443, 448) # the last one begins a word of the rule


def any_port(flow):
    return True


def tunnels():
    """A matching packet inside a tunnel does not match."""
    inner = Flow(4, UDP, 77, 53)
    for out in True, False:
        src, dst = (B[4], A[4]) if out else (A[4], B[4])
        for proto, body in ((GRE, b"\0\0\x08\0" + inner.packet(out)),
                            (IPIP, inner.packet(out))):
            yield out, ether(KIND[4], ip4(proto, body, src, dst), out)


def others():
    """Yield (incoming frame, reason) for packets that are not flows with ports."""
    src, dst = A[4], B[4]
    arp = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 3) + bytes(20)
    ping = struct.pack(">BBHI", 8, 0, 0, 1) + bytes(8)
    yield ether(0x0806, arp, False), "other"
    yield ether(KIND[4], ip4(ICMP, ping, src, dst), False), "other"
    yield ether(KIND[6], ip6(ICMP6, b"\x80" + ping[1:], A[6], B[6]), False), "other"
    yield ether(KIND[4], ip4(ICMP, ping[:2], src, dst), False), "other"
    error = struct.pack(">BBHI", 3, 3, 0, 0)
    yield ether(KIND[4], ip4(ICMP, error, src, dst), False), "truncated"
    yield ether(KIND[4], ip4(ICMP, error + bytes(40), src, dst), False), "malformed"
    cut = ip4(UDP, bytes(8), dst, src)
    yield ether(KIND[4], ip4(ICMP, error + cut[:12], src, dst), False), "truncated"
    for n in range(5):
        body = struct.pack(">HHHH", 53, 1024 + n, 8, 0)
        yield ether(KIND[4], ip4(UDP, body, src, dst, ihl=4), False), "malformed"
        yield ether(KIND[4], ip4(UDP, body, src, dst, length=12), False), "malformed"
        yield ether(KIND[4], ip4(UDP, body, src, dst)[:12 + n], False), "truncated"
        yield ether(KIND[6], ip6(UDP, body, A[6], B[6])[:30 + n], False), "truncated"
    # its own length is wrong, not that of the ports
    yield ether(KIND[4], ip4(UDP, b"\0\x35\x10", src, dst), False), "malformed"
    yield ether(KIND[4], ip4(UDP, b"\0\x35\x10", src, dst, length=40), False), \
        "truncated"


CONTROL = ("reserved_mac", "nd", "group_member", "dhcp", "bfd", "ospf", "vrrp", "local_group")


def control_of(counters):
    """Return how many packets are counted as control packets of any kind."""
    return sum(counters.get(kind, 0) for kind in CONTROL)


def controls(out):
    """Return frames that 'udp' matches: control packets, and packets that only come from
    their ports.
    """
    four = [("198.18.0.2", 67, 68), ("255.255.255.255", 68, 67), ("224.0.0.251", 5353, 5353),
            ("198.18.0.2", 49152, 3784)]
    six = [("2001:db8:2::2", 547, 546), ("ff02::fb", 5353, 5353), ("ff02::1:2", 546, 547)]
    like = [("198.18.0.2", 67, 4000), ("198.18.0.2", 3784, 4000), ("224.0.1.1", 53, 4000),
            ("2001:db8:2::2", 546, 4000), ("ff05::2", 53, 4000)]

    def frame(to, *ports):
        version = 6 if ":" in to else 4
        family = socket.AF_INET6 if version == 6 else socket.AF_INET
        body = struct.pack(">HHHH", *ports, 40, 0) + bytes(32)
        make = ip6 if version == 6 else ip4
        return ether(KIND[version], make(UDP, body, A[version], socket.inet_pton(family, to)),
                     out)
    return [frame(*f) for f in four + six], [frame(*f) for f in like]


WAYS = ("plain", "options", "tagged", "twice", "first")


def mixture(rng, matches):
    """Return ([(outgoing frame, reason)], [(incoming frame, reason)])."""
    flows = [Flow(rng.choice((4, 6)), rng.choice((UDP, UDP, UDP, TCP)), n,
                  rng.choice((53, 123, 443, 448, 416, 52, 8053, 0, 65535)))
             for n in range(0, 1200, 3)]
    sent, asked = [], []
    for n, flow in enumerate(flows):
        known = n % 2
        if known:
            sent.append((flow.query(rng.choice(WAYS)),
                         "learnt" if matches(flow) else "other"))
        found = "recent" if known else "absent"
        if not matches(flow):
            found = "other"
        asked += [(flow.answer(how), found) for how in rng.sample(WAYS, 2)]
        asked.append((flow.error(rng.choice(("plain", "options", "first"))), found))
        # a sent packet is no answer, and its opposite direction is another flow
        if matches(flow) and flow.remote != flow.port:
            back = Flow(flow.version, flow.proto, flow.port - 1024, flow.remote)
            back.port = flow.port + 1
            asked.append((back.answer(), "absent"))
        if n % 7 == 0:
            later = "fragment" if matches(Flow(4, flow.proto, 0, 53)) else "other"
            asked.append((flow.answer("later"), later))
            sent.append((flow.query("later"), later))
    for out, frame in tunnels():
        (sent if out else asked).append((frame, "other"))
    asked += list(others())
    rng.shuffle(asked)
    rng.shuffle(sent)
    return sent, asked
