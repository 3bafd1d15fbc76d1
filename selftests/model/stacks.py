#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""stacks.py FILE [COUNT [SEED]]: frames of every protocol stack, sound, changed
and truncated, each with a packet key and the model's result.

A record is, little-endian and without gaps: struct epf_pkt_opts, length of the
frame (4 bytes), errno of the refusal, or EPF_CONTROL + enum epf_control, or 0
(4), digest (8), the frame. Records with the same options are consecutive.
"""

import errno
import random
import struct
import sys

import frames
from frames import be16, ether, ext, frag6, icmp, ip4, ip6, ports
from hashes import digest
from packets import CONVERSATION, ERRORS, ETHER, FIRST, FLOW, FRAME, IP, \
    NO_MAC, NO_VLAN, NONIP_FRAME, PACKET, PASS_CONTROL, PEER, PEER_PORT, \
    REVERSE, SLL, SLL2, VLAN, Control, Fragment, Malformed, NotIp, Truncated, \
    canonical

HASH_KEY = 0x0123456789ABCDEF, 0xFEDCBA9876543210  # also in xdp/stacks.c
REFUSALS = {Truncated: errno.ENODATA, Malformed: errno.EBADMSG,
            NotIp: errno.EPROTO, Fragment: errno.ENOMSG}
CONTROL = 4096  # EPF_CONTROL

# The keys, and how often each is used.
ASKED = [(key, ETHER, flags, most) for key, flags, most in (
    (FRAME, 0, 0), (FRAME, 0, 60), (PACKET, 0, 0), (PACKET, 0, 0),
    (PACKET, NO_MAC, 0), (PACKET, NO_VLAN, 0), (PACKET, NO_MAC | NO_VLAN, 38),
    (PACKET, 0, 70), (FLOW, 0, 0), (FLOW, 0, 0), (FLOW, 0, 0),
    (FLOW, NONIP_FRAME, 0), (FRAME, PASS_CONTROL, 0),
    (PACKET, PASS_CONTROL, 0), (PACKET, PASS_CONTROL, 0),
    (PACKET, PASS_CONTROL | NO_MAC | NO_VLAN, 0), (FLOW, PASS_CONTROL, 0),
    (FLOW, PASS_CONTROL, 0))]
ASKED += [(key, link, 0, 0) for key in (PACKET, FLOW)
          for link in (IP, SLL, SLL2)]
ASKED += [(key, link, flags, most) for key, link, flags, most in (
    (FLOW, ETHER, REVERSE | ERRORS, 0), (FLOW, ETHER, FIRST | VLAN, 0),
    (FLOW, IP, ERRORS | FIRST | PASS_CONTROL, 0),
    (CONVERSATION, ETHER, 0, 0), (CONVERSATION, IP, ERRORS, 0),
    (CONVERSATION, ETHER, ERRORS | FIRST | VLAN, 0),
    (PEER, ETHER, 0, 0), (PEER, ETHER, REVERSE | ERRORS | VLAN, 24 | 64 << 8),
    (PEER_PORT, ETHER, ERRORS, 0), (PEER_PORT, SLL, REVERSE, 8 | 65 << 8),
    (PEER_PORT, ETHER, REVERSE | ERRORS | FIRST | PASS_CONTROL, 0))]


class Stacks:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def some(self, n):
        return self.rng.randbytes(n)

    def one_in(self, n):
        return not self.rng.randrange(n)

    def error(self):
        """Return (protocol, bytes): an ICMP error about a packet, with a given part of it."""
        rng = self.rng
        six = self.one_in(2)
        _, carried = self.network6() if six else self.network4()
        if self.one_in(3):
            carried = carried[:rng.randrange(len(carried) + 1)]
        kind = rng.choice((1, 2, 3, 4) if six else (3, 4, 5, 11, 12))
        return 58 if six else 1, bytes([kind, 0]) + self.some(6) + carried

    def transport(self):
        """Return (protocol, bytes): with ports, with an id, and without."""
        rng = self.rng
        if self.one_in(8):
            return self.error()
        proto = rng.choice((6, 17, 17, 33, 132, 136, 1, 58, 47, 50, 59,
                            rng.randrange(256), rng.choice((2, 89, 112))))
        if proto in (1, 58):
            body = icmp(rng.choice((0, 3, 8, 11, 13, 18, 128, 129, 135,
                                    rng.randrange(129, 145))),
                        rng.randrange(3), rng.randrange(9))
        elif proto == 47:  # GRE, with or without key and checksum
            body = bytes([rng.choice((0, 0x20, 0xB0)), 0]) + \
                be16(rng.choice((0x0800, 0x86DD))) + self.some(12)
        elif proto == 17 and self.one_in(4):
            near = [p + d for p in (67, 546, 3784, 4784, 6784, 7784)
                    for d in (-1, 0, 1, 2)]
            body = ports(*rng.choice(((50000, rng.choice(near)),
                                      (rng.choice(near), 50000))), 8)
        else:
            body = ports(rng.randrange(40, 60), rng.randrange(4), 0) + \
                self.some(rng.choice((0, 4, 8, 16, 40)))
        return proto, body

    def network4(self):
        rng = self.rng
        proto, body = self.transport()
        options = b"\1" * (4 * rng.randrange(11)) if self.one_in(4) else b""
        flags = rng.choice((0, 0x4000, 0x4000, 0x8000, 0x2000, 0x2005, 0x0005,
                            0x1FFF)) if self.one_in(3) else 0x4000
        total = None
        if self.one_in(10):
            total = rng.choice((0, 19, 20, 21, 23, 24, 27, 40, 1500, 65535))
        dest = bytes([224, rng.randrange(2), rng.randrange(2), 5]) \
            if self.one_in(12) else frames.V4[1]
        return 0x0800, ip4(proto, body, rng.randrange(256), rng.randrange(5),
                           flags, options, total, None, rng.randrange(65536),
                           dest)

    def header(self, kind, following):
        """Return one extension header, with the number of the next."""
        rng = self.rng
        if kind == 44:
            return frag6(following, rng.choice((0, 0, 5)), rng.randrange(2),
                         rng.choice((0, 0xFF)))
        if kind == 51:
            units = rng.choice((1, 4, 4, 5))
            return bytes([following, units]) + self.some(4 * (units + 2) - 2)
        return ext(following, rng.choice((0, 0, 1, 3, 9)))

    def network6(self):
        rng = self.rng
        proto, body = self.transport()
        length = None
        if self.one_in(2):
            for _ in range(rng.choice((1, 1, 2, 3, 8, 9, 40))):
                kind = rng.choice((0, 43, 44, 51, 60, 60, 135, 139, 140))
                made = self.header(kind, proto)
                body, proto = made + body, kind
        if self.one_in(10):
            length = rng.choice((0, 0, 3, 4, 7, 8, 1500, 65535))
        dest = frames.group6(rng.choice((1, 2, 2, 5, 0x12)), 9) \
            if self.one_in(12) else frames.V6[1]
        return 0x86DD, ip6(proto, body, rng.randrange(256), length, dest=dest)

    def network(self):
        rng = self.rng
        if self.one_in(12):
            kind = rng.choice((0x0806, 0x88CC, 0x8847, 0x8864, 0x0026, 0x9100,
                               rng.randrange(65536)))
            return kind, self.some(rng.randrange(60))
        return self.network4() if self.one_in(2) else self.network6()

    def frame(self, link):
        rng = self.rng
        kind, rest = self.network()
        if self.one_in(5):
            rest += self.some(self.rng.randrange(1, 20))  # link padding
        if link == IP:
            return rest
        if link == SLL:
            return self.some(14) + be16(kind) + rest
        if link == SLL2:
            return be16(kind) + self.some(18) + rest
        tags = [(self.rng.choice((0x8100, 0x8100, 0x88A8, 0x9100)),
                 self.rng.randrange(65536))
                for _ in range(self.rng.choice((0, 0, 0, 0, 1, 1, 2, 4, 5)))]
        dest = frames.reserved(rng.randrange(32)) \
            if self.one_in(30) else frames.MACS[:6]
        return ether(kind, rest, tags, dest)

    def changed(self, octets):
        """Change bits, bytes, pieces, where most headers are."""
        rng = self.rng
        out = bytearray(octets)
        for _ in range(rng.choice((1, 1, 2, 5))):
            if not out:
                break
            at = rng.randrange(min(len(out), rng.choice((24, 80, 4000))))
            how = rng.randrange(4)
            if how == 0:
                out[at] ^= 1 << rng.randrange(8)
            elif how == 1:
                out[at] = rng.choice((0, 1, 0xFF, 0x45, 0x60, 44, 60))
            elif how == 2:
                out[at:at] = self.some(rng.randrange(1, 9))
            else:
                del out[at:at + rng.randrange(1, 9)]
        return bytes(out)

    def long(self):
        """For many buffers: headers that end far behind, or a long datagram."""
        rng = self.rng
        if self.one_in(3):
            kind, rest = self.network()
            return ether(kind, rest + self.some(rng.randrange(3400, 9000)))
        body = ports(rng.randrange(5), 7, 0) + self.some(rng.randrange(600))
        proto = 6
        # 54 bytes before; the transport header is near byte 3,520, 4,096, 7,616
        room = rng.choice((3520, 4096, 7616)) - 54 + 8 * rng.randrange(-2, 3)
        while room >= 8:
            units = min(room // 8, 256)
            body = ext(proto, units - 1) + body
            room -= 8 * units
            proto = 60
        return ether(0x86DD, ip6(proto, body))

    def any(self, link):
        if link == ETHER and self.one_in(60):
            return self.long()
        octets = self.frame(link)
        if self.one_in(3):
            octets = self.changed(octets)
        if self.one_in(6):
            octets = octets[:self.rng.randrange(len(octets) + 1)]
        return octets


def judge(asked, octets):
    key, link, flags, most = asked
    try:
        message = canonical(octets, key, link, flags, most)
    except Control as told:
        return CONTROL + told.number, 0
    except tuple(REFUSALS) as refusal:
        return REFUSALS[type(refusal)], 0
    return 0, digest(HASH_KEY, 0, message)


def again(octets, asked, rng):
    """Return a frame seen before, forwarded once more or not."""
    key, link = asked[:2]
    if key == PACKET and link == ETHER and octets[12:15] == b"\x08\0\x45" and \
            len(octets) > 26 and rng.randrange(2):
        return octets[:22] + bytes([octets[22] ^ 1]) + octets[23:]
    return octets


def group(stacks, asked, count):
    """Yield frames for one key; one in five repeats an earlier one."""
    seen = []
    # every length of one frame of each sort
    if asked[3] == 0:
        for link, octets, _ in frames.all_frames() + frames.flow_frames():
            if link == asked[1]:
                seen += [octets[:n] for n in range(len(octets) + 1)]
        stacks.rng.shuffle(seen)
        seen = seen[:max(count // 3, 1)]
    yield from seen
    while count > len(seen):
        if seen and stacks.one_in(5):
            yield again(stacks.rng.choice(seen), asked, stacks.rng)
            count -= 1
        else:
            seen.append(stacks.any(asked[1]))
            yield seen[-1]


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30000
    stacks = Stacks(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with open(sys.argv[1], "wb") as f:
        for asked in sorted(set(ASKED)):
            share = count * ASKED.count(asked) // len(ASKED)
            for octets in group(stacks, asked, share):
                err, value = judge(asked, octets)
                f.write(struct.pack("<BBHIIIQ", *asked, len(octets), err,
                                    value) + octets)


if __name__ == "__main__":
    main()
