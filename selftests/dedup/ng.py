# SPDX-License-Identifier: GPL-2.0
"""Write and read pcapng, block by block, in either byte order (IETF
draft-ietf-opsawg-pcapng). Written independently of the product.
"""

import struct

import pcap

SECTION, INTERFACE, OLD, SIMPLE, NAMES, STATS, PACKET = \
    0x0A0D0D0A, 1, 2, 3, 4, 5, 6
COMMENT, TSRESOL, TSOFFSET = 1, 9, 14

# A datagram; the same as an Ethernet frame, and as libpcap's "any" device has it.
IP4 = bytes.fromhex("450000200001000040110000c0000201c00002020001000200080000") \
    + b"text"
ETHER = bytes(range(12)) + b"\x08\x00"
SLL = struct.pack(">HHH8sH", 0, 1, 6, bytes(8), 0x0800)


def pad(data):
    return data + bytes(-len(data) % 4)


class Writer:
    """@order: byte order of the blocks that follow, "<" or ">"."""

    def __init__(self, order="<"):
        self.order = order

    def block(self, kind, body):
        body = pad(body)
        size = struct.pack(self.order + "I", len(body) + 12)
        return struct.pack(self.order + "I", kind) + size + body + size

    def options(self, *pairs):
        out = b"".join(struct.pack(self.order + "HH", code, len(value)) +
                       pad(value) for code, value in pairs)
        return out + bytes(4) if pairs else b""

    def section(self, *options, length=-1):
        return self.block(SECTION, struct.pack(self.order + "IHHq", 0x1A2B3C4D,
                                               1, 0, length) +
                          self.options(*options))

    def interface(self, link, *options, snaplen=0):
        return self.block(INTERFACE, struct.pack(self.order + "HHI", link, 0,
                                                 snaplen) +
                          self.options(*options))

    def packet(self, iface, stamp, data, *options, length=None, old=False):
        head = struct.pack(self.order + ("HH" if old else "I"),
                           *((iface, 7) if old else (iface,)))
        return self.block(OLD if old else PACKET, head + struct.pack(
            self.order + "IIII", stamp >> 32, stamp & 0xFFFFFFFF, len(data),
            len(data) if length is None else length) + pad(data) +
            self.options(*options))

    def simple(self, data, length=None):
        return self.block(SIMPLE, struct.pack(
            self.order + "I", len(data) if length is None else length) + data)


def everything(order):
    """Return (bytes, numbers of the second packets): two sections, five interfaces, and
    three kinds of packets, each twice, with everything that may stand between them.
"""
    w = Writer(order)
    parts = [w.section((COMMENT, b"of the section"), (0x8001, b"unknown"),
                       length=1000),
             w.interface(pcap.EN10MB, (2, b"eth0"), (TSRESOL, b"\x09")),
             w.interface(pcap.RAW, (2, b"tun0"), (COMMENT, b"a tunnel")),
             w.interface(pcap.EN10MB, (TSRESOL, bytes([128 + 20])),
                         (TSOFFSET, struct.pack(order + "q", 77)),
                         snaplen=40)]
    again = []

    def twice(one, other=None):
        parts.append(one)
        again.append(len(parts))
        parts.append(other or one)

    twice(w.packet(0, 10**18, ETHER + IP4, (COMMENT, b"the first")),
          w.packet(2, 5 << 20, ETHER + IP4, (COMMENT, b"the second")))
    parts.append(w.block(0xBAD, struct.pack(order + "I", 32473) + b"custom"))
    twice(w.packet(1, 10**15, IP4 + b"x", length=1500))
    parts.append(w.block(NAMES, struct.pack(order + "HH", 1, 9) +
                         b"\x01\x02\x03\x04abc\0" + bytes(7)))
    twice(w.packet(1, 10**15, IP4 + b"old", (2, bytes(4)), old=True))
    twice(w.simple(b"s" * 99), w.simple(b"s" * 99))
    parts += [w.block(0xBEEF, b"of a kind that nobody knows"),
              w.block(STATS, struct.pack(order + "III", 0, 0, 5))]
    v = Writer("<" if order == ">" else ">")
    parts += [v.section(), v.interface(pcap.SLL, snaplen=60),
              v.interface(pcap.USER0)]
    twice(v.packet(0, 10**15, SLL + IP4), v.packet(0, 0, SLL + IP4))
    twice(v.packet(1, 10**15, b"of no kind"))
    twice(v.simple(b"short" * 12, length=1000))
    parts.append(v.packet(1, 3, b""))
    return parts, again


class Block:
    """@kind, @raw: the block as stored. Packets also have @link, @data, @length on the
    wire, @ns (None: no stamp, or one outside of 64 bits), @options.
"""

    def __init__(self, kind, raw):
        self.kind, self.raw = kind, raw
        self.link = self.data = self.length = self.ns = None
        self.options = {}


def ns_of(stamp, resol, offset):
    ticks = 2 ** (resol & 127) if resol & 128 else 10 ** resol
    ns = stamp * 10**9 // ticks + offset * 10**9
    return ns if 0 <= ns < 2**64 else None


def options_of(order, body):
    out, at = {}, 0
    while at + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, at)
        if not code:
            break
        out[code] = body[at + 4:at + 4 + size]
        at += 4 + size + -size % 4
    return out


def interface_of(order, body):
    link, _, snaplen = struct.unpack_from(order + "HHI", body)
    options = options_of(order, body[8:])
    resol = options[TSRESOL][0] if TSRESOL in options else 6
    offset = struct.unpack(order + "q", options[TSOFFSET])[0] \
        if TSOFFSET in options else 0
    return link, snaplen, resol, offset


def describe(block, order, body, faces):
    if block.kind == SIMPLE:
        block.link, snaplen = faces[0][:2]
        length, = struct.unpack_from(order + "I", body)
        block.length = length
        block.data = body[4:4 + min(length, snaplen or length)]
        return
    iface, = struct.unpack_from(order + ("H" if block.kind == OLD else "I"),
                                body)
    high, low, captured, block.length = struct.unpack_from(order + "IIII", body,
                                                           4)
    block.link, _, resol, offset = faces[iface]
    block.data = body[20:20 + captured]
    block.ns = ns_of(high << 32 | low, resol, offset)
    block.options = options_of(order, body[20 + captured + -captured % 4:])


def save_numbered(path, packets):
    """Packets of pcap.py, each with its number as a comment, so that equal packets can be
    told apart.
"""
    w = Writer()
    with open(path, "wb") as f:
        f.write(w.section() + w.interface(pcap.EN10MB, (TSRESOL, b"\x09")))
        for i, p in enumerate(packets):
            f.write(w.packet(0, p.ns, p.data, (COMMENT, b"%d" % i),
                             length=p.length))
    return path


def numbers(path):
    return [int(b.options[COMMENT]) for b in load(path) if b.data is not None]


def order_of(section):
    return "<" if section[8:12] == b"\x4d\x3c\x2b\x1a" else ">"


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    out, at, order, faces = [], 0, "<", []
    while at < len(raw):
        if raw[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = order_of(raw[at:])
            faces = []
        kind, size = struct.unpack_from(order + "II", raw, at)
        if struct.unpack_from(order + "I", raw, at + size - 4)[0] != size:
            raise ValueError(f"{path}: two lengths at {at}")
        block = Block(kind, raw[at:at + size])
        body = block.raw[8:-4]
        if kind == INTERFACE:
            faces.append(interface_of(order, body))
        elif kind in (OLD, SIMPLE, PACKET):
            describe(block, order, body, faces)
        out.append(block)
        at += size
    return out
