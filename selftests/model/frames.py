# SPDX-License-Identifier: GPL-2.0
"""Frames for the packet vectors: usual, unusual and broken ones. Every entry is
(link type, bytes, captured lengths); no captured lengths: the whole frame.
"""

from packets import ETHER, IP, SLL, SLL2

MACS = bytes.fromhex("021122334455 02aabbccddee")
V4 = bytes([192, 0, 2, 1]), bytes([198, 51, 100, 7])
V6 = (bytes.fromhex("20010db8 00000000 00000000 00000001"),
      bytes.fromhex("20010db8 0000beef 00000000 00000002"))


def be16(v):
    return v.to_bytes(2, "big")


def ether(kind, payload, tags=(), dest=MACS[:6]):
    return dest + MACS[6:] + b"".join(be16(t) + be16(tci) for t, tci in tags) + \
        be16(kind) + payload


def ip4(proto, payload, ttl=64, ident=0x1234, flags=0x4000, options=b"",
        total=None, first=None, sums=0xBEEF, dest=V4[1]):
    header = 20 + len(options)
    total = header + len(payload) if total is None else total
    first = 0x40 | header // 4 if first is None else first
    return bytes([first, 0]) + be16(total) + be16(ident) + be16(flags) + \
        bytes([ttl, proto]) + be16(sums) + V4[0] + dest + options + payload


def ip6(proto, payload, hops=64, length=None, first=0x60, dest=V6[1]):
    length = len(payload) if length is None else length
    return bytes([first, 0, 0x12, 0x34]) + be16(length) + \
        bytes([proto, hops]) + V6[0] + dest + payload


def ports(a, b, rest=16):
    return be16(a) + be16(b) + bytes(range(rest))


def icmp(kind, code, ident=0x0102):
    return bytes([kind, code]) + be16(0x5555) + be16(ident) + be16(7) + b"ping"


def ext(proto, units=0, body=None):
    """An extension header of (units + 1) * 8 bytes."""
    body = bytes([0x5A] * (6 + 8 * units)) if body is None else body
    return bytes([proto, units]) + body


def frag6(proto, offset, more, reserved=0):
    return bytes([proto, reserved]) + \
        be16(offset << 3 | reserved << 1 & 6 | more) + be16(0xCAFE) + \
        be16(0xF00D)


def chain(n, proto, payload):
    """n destination options headers, then proto."""
    return b"".join(ext(60) for _ in range(n - 1)) + ext(proto) + payload


def plain():
    tcp4 = ip4(6, ports(40000, 443))
    udp4 = ip4(17, ports(5353, 53, 4))
    tcp6 = ip6(6, ports(40000, 443))
    return [
        (ETHER, ether(0x0800, tcp4), ()),
        (ETHER, ether(0x0800, ip4(6, ports(40000, 443), ttl=63, sums=0xBFEF)),
         ()),
        (ETHER, ether(0x0800, udp4 + bytes(14)), ()),  # link padding
        (ETHER, ether(0x0800, ip4(33, ports(1, 2, 4))), ()),
        (ETHER, ether(0x0800, ip4(132, ports(3, 4, 8))), ()),
        (ETHER, ether(0x0800, ip4(136, ports(5, 6, 4))), ()),
        (ETHER, ether(0x0800, ip4(47, bytes([0x20, 0, 0x88, 0xBE]))), ()),
        (ETHER, ether(0x0800, ip4(6, ports(9, 10), options=b"\1" * 8)), ()),
        (ETHER, ether(0x0800, ip4(6, ports(9, 10), options=b"\1" * 40)), ()),
        (ETHER, ether(0x0800, ip4(50, bytes(8))), ()),
        (ETHER, ether(0x0800, ip4(1, icmp(8, 0))), ()),
        (ETHER, ether(0x0800, ip4(1, icmp(0, 0))), ()),
        (ETHER, ether(0x0800, ip4(1, icmp(3, 1))), ()),
        (ETHER, ether(0x0800, ip4(1, icmp(18, 0))), ()),
        (ETHER, ether(0x0800, ip4(1, icmp(19, 0))), ()),
        (ETHER, ether(0x0800, ip4(58, icmp(128, 0))), ()),
        (ETHER, ether(0x86DD, tcp6), ()),
        (ETHER, ether(0x86DD, ip6(6, ports(40000, 443), hops=1)), ()),
        (ETHER, ether(0x86DD, ip6(17, ports(7, 8, 4)) + bytes(6)), ()),
        (ETHER, ether(0x86DD, ip6(58, icmp(128, 0))), ()),
        (ETHER, ether(0x86DD, ip6(58, icmp(129, 0))), ()),
        (ETHER, ether(0x86DD, ip6(58, icmp(135, 0))), ()),
        (ETHER, ether(0x86DD, ip6(1, icmp(8, 0))), ()),
        (ETHER, ether(0x86DD, ip6(59, b"")), ()),
        (IP, tcp4, ()), (IP, tcp6, ()), (IP, udp4, ()),
        (SLL, bytes(14) + be16(0x0800) + udp4, ()),
        (SLL, bytes(14) + be16(0x0806) + bytes(28), ()),
        (SLL2, be16(0x86DD) + bytes(18) + tcp6, ()),
    ]


def tagged():
    udp4 = ip4(17, ports(68, 67, 4))
    return [
        (ETHER, ether(0x0800, udp4, [(0x8100, 0x2064)]), ()),
        (ETHER, ether(0x0800, udp4, [(0x88A8, 100), (0x8100, 200)]), ()),
        (ETHER, ether(0x86DD, ip6(6, ports(1, 2)), [(0x9100, 5)]), ()),
        (ETHER, ether(0x0800, udp4, [(0x8100, n) for n in range(4)]), ()),
        (ETHER, ether(0x0800, udp4, [(0x8100, n) for n in range(5)]), ()),
        (ETHER, ether(0x88CC, b"\2\7\4hello", [(0x8100, 9)]), ()),
    ]


def fragments():
    return [
        (ETHER, ether(0x0800, ip4(17, ports(1, 2), flags=0x2000)), ()),
        (ETHER, ether(0x0800, ip4(17, bytes(24), flags=0x0003)), ()),
        (ETHER, ether(0x0800, ip4(17, b"", flags=0x2001)), ()),
        (ETHER, ether(0x0800, ip4(17, ports(1, 2), flags=0x8000)), ()),
        (ETHER, ether(0x86DD, ip6(44, frag6(17, 0, 1) + ports(1, 2))), ()),
        (ETHER, ether(0x86DD, ip6(44, frag6(17, 99, 0) + bytes(16))), ()),
        # atomic (RFC 6946): one fragment that is the whole
        (ETHER, ether(0x86DD, ip6(44, frag6(17, 0, 0, 0xFF) + ports(1, 2))),
         ()),
        (ETHER, ether(0x86DD, ip6(60, ext(44) + frag6(6, 5, 1) + bytes(8))),
         ()),
    ]


def extensions():
    auth = bytes([6, 4]) + bytes(22)
    jumbo = ext(6, 0, bytes([0xC2, 4, 0, 1, 0, 0])) + ports(1, 2)
    return [
        (ETHER, ether(0x86DD, ip6(0, ext(43) + ext(60, 2) + ext(6) +
                                  ports(11, 12))), ()),
        (ETHER, ether(0x86DD, ip6(51, auth + ports(13, 14))), ()),
        (ETHER, ether(0x86DD, ip6(135, ext(139) + ext(140) + ext(17) +
                                  ports(15, 16))), ()),
        (ETHER, ether(0x86DD, ip6(60, chain(8, 6, ports(17, 18)))), ()),
        (ETHER, ether(0x86DD, ip6(60, chain(40, 6, ports(17, 18)))), ()),
        (ETHER, ether(0x86DD, ip6(0, jumbo, length=0)), ()),
        (ETHER, ether(0x86DD, ip6(60, ext(6, 31, b"") + ports(1, 2))), ()),
        (ETHER, ether(0x86DD, ip6(60, ext(59, 200, bytes(6)))), ()),
        (ETHER, ether(0x86DD, ip6(60, b"\6\0\0\0")), ()),
    ]


def reserved(last):
    """One of the Ethernet addresses that bridges do not forward."""
    return bytes.fromhex("0180c20000") + bytes([last])


def group4(*octets):
    return bytes([224, *octets])


def group6(flags_scope, last):
    return bytes([0xFF, flags_scope]) + bytes(13) + bytes([last])


def of_links():
    """Control packets by Ethernet address, and similar addresses."""
    return [
        (ETHER, ether(0x8809, bytes([1, 1]) + bytes(40), (), reserved(2)), ()),
        (ETHER, ether(38, b"\x42\x42\3" + bytes(35), (), reserved(0)), ()),
        (ETHER, ether(0x88CC, bytes(30), [(0x8100, 9)], reserved(14)), ()),
        (ETHER, ether(0x0800, ip4(6, ports(9, 10)), (), reserved(15)), ()),
        (ETHER, ether(0x0800, ip4(6, ports(9, 10)), (), reserved(16)), ()),
        (ETHER, ether(0x86DD, ip6(6, ports(9, 10)), (), reserved(0x20)), ()),
    ]


def of_routers():
    """OSPF, VRRP, BFD, and packets that only resemble them."""
    hello = bytes(range(44))
    return [
        (ETHER, ether(0x0800, ip4(89, hello, 1, dest=group4(0, 0, 5))), ()),
        (ETHER, ether(0x0800, ip4(89, hello, 1)), ()),
        (ETHER, ether(0x0800, ip4(112, bytes(20), 255)), ()),
        (ETHER, ether(0x86DD, ip6(89, hello, 1)), ()),
        (ETHER, ether(0x86DD, ip6(60, ext(112) + bytes(20))), ()),
        (ETHER, ether(0x86DD, ip6(44, frag6(89, 7, 1) + bytes(16))), ()),
        (ETHER, ether(0x86DD, ip6(2, bytes(8))), ()),
    ] + [(ETHER, ether(0x0800, ip4(17, ports(50000, port)),
                       [(0x88A8, 7), (0x8100, 8)]), ())
         for port in (3783, 3784, 3785, 3786, 4784, 6784, 7784)] + [
        (ETHER, ether(0x86DD, ip6(17, ports(50000, 3784))), ()),
        (ETHER, ether(0x0800, ip4(17, ports(3784, 50000))), ()),
        (ETHER, ether(0x0800, ip4(6, ports(50000, 3784))), ()),
        (ETHER, ether(0x0800, ip4(17, ports(50000, 3784), flags=0x2000)), ()),
    ]


def of_hosts():
    """DHCP, groups and their members, neighbours, and packets that only resemble them."""
    return [(ETHER, ether(0x0800, ip4(17, ports(*pair))), ()) for pair in
            ((68, 67), (67, 68), (50000, 67), (67, 50000), (66, 69),
             (546, 547))] + [
        (ETHER, ether(0x0800, ip4(17, ports(68, 67), options=b"\1" * 4)), ()),
        (ETHER, ether(0x86DD, ip6(17, ports(546, 547))), ()),
        (ETHER, ether(0x86DD, ip6(17, ports(50000, 546))), ()),
        (ETHER, ether(0x86DD, ip6(17, ports(67, 68))), ()),
        (ETHER, ether(0x86DD, ip6(17, ports(545, 548))), ()),
        (ETHER, ether(0x0800, ip4(17, ports(5353, 5353),
                                  dest=group4(0, 0, 251))), ()),
        (ETHER, ether(0x0800, ip4(17, ports(1, 2), flags=0x2000,
                                  dest=group4(0, 0, 1))), ()),
        (ETHER, ether(0x0800, ip4(2, bytes(8), 1, options=b"\x94\4\0\0",
                                  dest=group4(1, 2, 3))), ()),
        (ETHER, ether(0x0800, ip4(17, ports(1, 2), dest=group4(0, 1, 0))),
         ()),
        (ETHER, ether(0x0800, ip4(17, ports(1, 2), dest=group4(1, 0, 0))),
         ()),
        (ETHER, ether(0x86DD, ip6(17, ports(1, 2), dest=group6(2, 1))), ()),
        (ETHER, ether(0x86DD, ip6(17, ports(1, 2), dest=group6(5, 1))), ()),
        (ETHER, ether(0x86DD, ip6(60, ext(59, 200, bytes(6)),
                                  dest=group6(2, 1))), ()),
        (ETHER, ether(0x86DD, ip6(0, ext(58) + icmp(143, 0),
                                  dest=group6(2, 22))), ()),
        (ETHER, ether(0x86DD, ip6(44, frag6(58, 0, 1) + icmp(135, 0))), ()),
        (SLL, bytes(14) + be16(0x0800) + ip4(17, ports(68, 67)), ()),
        (IP, ip6(58, icmp(136, 0)), ()),
    ] + [(ETHER, ether(0x86DD, ip6(58, icmp(kind, 0))), ())
         for kind in (129, 130, 132, 133, 137, 138, 142, 143, 144)]


def control():
    return of_links() + of_routers() + of_hosts()


def others():
    arp = bytes.fromhex("0001 0800 06 04 0001") + MACS[6:] + V4[0] + \
        bytes(6) + V4[1]
    return [
        (ETHER, ether(0x0806, arp), ()),
        (ETHER, ether(0x0026, bytes(38)), ()),  # IEEE 802.3 length
        (ETHER, MACS, ()),
        (ETHER, b"", ()),
        (IP, b"", ()), (IP, b"\x50" + bytes(30), ()),
        (SLL, bytes(15), ()), (SLL2, bytes(19), ()),
    ]


def broken():
    tcp = ports(40000, 443)
    return [
        (ETHER, ether(0x0800, ip4(6, tcp, first=0x65)), ()),
        (ETHER, ether(0x0800, ip4(6, tcp, first=0x44)), ()),
        (ETHER, ether(0x0800, ip4(6, tcp, total=0)), ()),
        (ETHER, ether(0x0800, ip4(6, tcp, total=19)), ()),
        (ETHER, ether(0x0800, ip4(6, tcp, total=20)), ()),
        (ETHER, ether(0x0800, ip4(6, tcp, total=23)), ()),
        (ETHER, ether(0x0800, ip4(1, icmp(8, 0), total=25)), ()),
        (ETHER, ether(0x0800, ip4(1, icmp(3, 0), total=24)), ()),
        (ETHER, ether(0x0800, ip4(6, tcp, total=1500)), ()),
        (ETHER, ether(0x86DD, ip6(6, tcp, first=0x45)), ()),
        (ETHER, ether(0x86DD, ip6(6, tcp, length=0)), ()),
        (ETHER, ether(0x86DD, ip6(6, tcp, length=3)), ()),
        (ETHER, ether(0x86DD, ip6(6, tcp, length=1500)), ()),
        (ETHER, ether(0x86DD, ip6(60, ext(6) + tcp, length=7)), ()),
    ]


def truncated():
    """One frame of each sort, truncated at every place that matters."""
    icmp4 = ether(0x0800, ip4(1, icmp(8, 0), options=b"\1" * 4),
                  [(0x8100, 1)])
    exts = ether(0x86DD, ip6(0, ext(44) + frag6(17, 0, 0) + ports(1, 2, 4)))
    return [
        (ETHER, icmp4, (13, 14, 17, 18, 37, 38, 41, 42, 45, 46, 47, 48,
                        len(icmp4) - 1)),
        (ETHER, exts, (53, 54, 61, 62, 69, 70, 73, 74, len(exts) - 1)),
        (IP, icmp4[18:], (1, 19, 20, 24)),
    ]


def error4(kind, carried, code=1, **outer):
    """An ICMP error from a router on the way."""
    return ether(0x0800, ip4(1, bytes([kind, code]) + bytes(6) + carried,
                             **outer))


def error6(kind, carried, before=b"", proto=58):
    """The same for ICMPv6, behind extension headers."""
    return ether(0x86DD, ip6(proto, before + bytes([kind, 0]) + bytes(6) +
                             carried))


def errors():
    """ICMP errors, and packets that only resemble them; their payload is sound, odd, truncated."""
    tcp4 = ip4(6, ports(40000, 443, 4), dest=bytes([203, 0, 113, 9]))
    tcp6 = ip6(6, ports(40000, 443, 4), dest=group6(0, 9))
    whole = error4(11, tcp4)
    long6 = error6(3, ip6(60, ext(17) + ports(7, 8, 4)))
    return [(ETHER, error4(kind, tcp4), ()) for kind in
            (2, 3, 4, 5, 6, 10, 11, 12, 13)] + [
        (ETHER, error6(kind, tcp6), ()) for kind in (0, 1, 2, 3, 4, 5)] + [
        (ETHER, error4(3, ip4(17, ports(5353, 53, 0), total=1400)), ()),
        (ETHER, error4(3, ip4(6, ports(9, 10, 0), options=b"\1" * 12)), ()),
        (ETHER, error4(3, ip4(1, icmp(8, 0))), ()),
        (ETHER, error4(3, ip4(1, icmp(0, 0))), ()),
        (ETHER, error4(3, ip4(47, bytes(8))), ()),
        (ETHER, error4(3, ip4(17, bytes(8), flags=0x0003)), ()),
        (ETHER, error4(3, ip4(17, ports(1, 2), flags=0x2000)), ()),
        (ETHER, error4(3, ip4(1, bytes([3, 1]) + bytes(6) + tcp4)), ()),
        (ETHER, error4(3, tcp6), ()),
        (ETHER, error4(3, ip4(6, ports(1, 2), total=22)), ()),
        (ETHER, error4(3, ip4(6, ports(1, 2), first=0x44)), ()),
        (ETHER, error4(3, tcp4, flags=0x2000), ()),
        (ETHER, error4(3, tcp4, flags=0x0005), ()),
        (ETHER, error4(3, tcp4, total=50) + bytes(9), ()),
        (ETHER, error4(3, tcp4, total=47) + bytes(9), ()),
        (ETHER, error4(3, tcp4, total=26) + bytes(9), ()),
        (ETHER, error6(1, ip6(58, icmp(128, 0))), ()),
        (ETHER, error6(1, ip6(58, bytes([1, 0]) + bytes(6) + tcp6)), ()),
        (ETHER, error6(2, tcp6, ext(58), 60), ()),
        (ETHER, error6(2, tcp4), ()),
        (ETHER, error6(4, ip6(44, frag6(17, 99, 0) + bytes(8))), ()),
        (ETHER, error6(4, ip6(44, frag6(17, 0, 1) + ports(1, 2))), ()),
        (ETHER, ether(0x0800, whole[14:], [(0x88A8, 0x6000), (0x8100, 0x2ABC)]),
         ()),
        (IP, whole[14:], ()),
        (ETHER, whole, (37, 38, 41, 42, 61, 62, 65, 66)),
        (ETHER, long6, (61, 62, 101, 102, 109, 110, 113, 114)),
    ]


def ends():
    """Both directions of a conversation, the same address at both ends."""
    made = []
    for a, b in ((40000, 443), (443, 40000)):
        for one, other in (V4, V4[::-1], (V4[0], V4[0])):
            made.append((ETHER, ether(0x0800, ip4(17, ports(a, b), dest=other)
                                      .replace(V4[0], one, 1)), ()))
        for one, other in (V6, V6[::-1], (V6[0], V6[0])):
            made.append((ETHER, ether(0x86DD, ip6(17, ports(a, b), dest=other)
                                      .replace(V6[0], one, 1)), ()))
    for kind in (0, 8, 14, 17):
        made.append((ETHER, ether(0x0800, ip4(1, icmp(kind, 0), dest=V4[0])),
                     ()))
    return made + [(ETHER, ether(0x86DD, ip6(58, icmp(kind, 0), dest=V6[0])),
                    ()) for kind in (128, 129)]


def all_frames():
    return plain() + tagged() + fragments() + extensions() + others() + \
        broken() + truncated() + control()


def flow_frames():
    """Frames that only flow keys distinguish."""
    return errors() + ends()
