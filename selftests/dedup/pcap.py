# SPDX-License-Identifier: GPL-2.0
"""Capture files: the pcap savefile format, both byte orders, us and ns; and
pcapng, to write only (IETF draft-ietf-opsawg-pcapng).
"""

import struct

EN10MB, RAW, SLL, IPV4, IPV6, SLL2 = 1, 101, 113, 228, 229, 276
USER0 = 147  # "private use": no program interprets the contents
MAGIC_US, MAGIC_NS = 0xA1B2C3D4, 0xA1B23C4D


class Packet:
    """A packet: @ns since 1970, @data as captured, @length on the wire."""

    __slots__ = "ns", "data", "length"

    def __init__(self, ns, data, length=None):
        self.ns, self.data = ns, data
        self.length = len(data) if length is None else length

    def __eq__(self, other):
        return (self.ns, self.data, self.length) == \
            (other.ns, other.data, other.length)


class Capture:
    def __init__(self, packets=(), link=EN10MB, nano=False, snaplen=262144):
        self.packets = list(packets)
        self.link, self.nano, self.snaplen = link, nano, snaplen

    def save(self, path, order="<"):
        tick = 1 if self.nano else 1000
        with open(path, "wb") as f:
            f.write(struct.pack(order + "IHHiIII",
                                MAGIC_NS if self.nano else MAGIC_US, 2, 4, 0,
                                0, self.snaplen, self.link))
            for p in self.packets:
                f.write(struct.pack(order + "IIII", p.ns // 10**9,
                                    p.ns % 10**9 // tick, len(p.data),
                                    p.length) + p.data)
        return path

    def save_ng(self, path, tsresol=None, order="<"):
        """@tsresol: stamps in units of 10^-tsresol s, or 2^-(tsresol - 128) s;
        None: no option, which means 6.
        """
        resol = 6 if tsresol is None else tsresol
        ticks = 2 ** (resol - 128) if resol & 128 else 10 ** resol
        option = b"" if tsresol is None else \
            struct.pack(order + "HHBxxx", 9, 1, tsresol) + bytes(4)
        with open(path, "wb") as f:
            f.write(block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0,
                                                  -1), order))
            f.write(block(1, struct.pack(order + "HHI", self.link, 0, self.snaplen) +
                          option, order))
            for p in self.packets:
                stamp = p.ns * ticks // 10**9
                f.write(block(6, struct.pack(order + "IIIII", 0, stamp >> 32,
                                             stamp & 0xFFFFFFFF, len(p.data),
                                             p.length) + p.data, order))
        return path


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    order = "<" if raw[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") \
        else ">"
    magic, _, _, _, _, snaplen, link = struct.unpack_from(order + "IHHiIII",
                                                          raw)
    if magic not in (MAGIC_US, MAGIC_NS):
        raise ValueError(f"{path} is not pcap")
    got = Capture((), link, magic == MAGIC_NS, snaplen)
    tick = 1 if got.nano else 1000
    at = 24
    while at < len(raw):
        sec, frac, captured, length = struct.unpack_from(order + "IIII", raw,
                                                         at)
        data = raw[at + 16:at + 16 + captured]
        if len(data) < captured:
            raise ValueError(f"{path} is cut off")
        got.packets.append(Packet(sec * 10**9 + frac * tick, data, length))
        at += 16 + captured
    return got
