#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What this kernel delivers to a socket is judged by its ports, whatever headers lie before
them. Datagrams behind random chains of IPv6 extension headers, behind IPv4 options, in
fragments, and with headers that contradict one another, are sent to two sockets: one has
asked, the other has not. Without a rule the kernel says which of them it delivers. With a
rule that drops, the socket that has asked gets these, and the other gets none, at each place
where a rule may stand. Only what hides its ports is malformed although this kernel delivers
it: more than four VLAN tags, and a first fragment that ends before the ports (RFC 7112
forbids it). Likewise no socket is told an ICMP error about what it has not sent, whatever
the packet looks like that the error carries. The setup is that of reflex_hosts.py.
"""

import contextlib
import functools
import json
import os
import select
import shutil
import socket
import struct

import reflex_hosts as hosts
import reflex_packets as packets
import stage
from nf_hosts import At
from reflex_hosts import A4, A6, B4, B6, Attached, Filter, Holder, net, tap, udp

COUNT = 400
ASKED, UNASKED, FENCE, DNS = 4001, 4000, 4002, 53
HOP_BY_HOP, ROUTING, FRAGMENT, AH, DESTINATION, UDP = 0, 43, 44, 51, 60, 17
RULE = ("--else", "drop", "--if-unknown", "accept", "--fragments", "pass")
SAME = ("--key", "flow", "--reverse", "--errors", "--match", "udp:sport=53")
ADDRESS = {4: (A4, B4), 6: (A6, B6)}


def ends(version):
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    return [socket.inet_pton(family, a) for a in ADDRESS[version]]


def options(rng, units):
    """Options that fill 6 + 8 @units bytes: padding, and one of an unknown type that is
    skipped (RFC 8200, 4.2).
    """
    return b"\x01\x04" + bytes(4) if not units else \
        bytes([0x1E, 4 + 8 * units]) + rng.randbytes(4 + 8 * units)


def header(rng, kind, following):
    if kind == FRAGMENT:  # atomic: the whole datagram
        return struct.pack(">BBHI", following, rng.choice((0, 255)), rng.choice((0, 6)),
                           rng.getrandbits(32))
    if kind == AH:
        return bytes([following, 4]) + bytes(22)
    units = rng.choice((0, 0, 0, 1, 2))
    if kind == ROUTING:  # no segment is left
        return bytes([following, units, rng.choice((0, 253)), 0]) + bytes(4 + 8 * units)
    return bytes([following, units]) + options(rng, units)


def chain(rng, proto, body):
    """Return (next header, bytes): 0 to 40 headers before @body. Linux takes hop-by-hop
    options only as the first header, and one fragment header.
    """
    count = rng.choice((0, 1, 2, 3, 7, 8, 9, 10, 16, 39, 40, rng.randrange(41)))
    kinds = rng.choices((DESTINATION, ROUTING, AH), (70, 30, 0.2), k=count)
    if count and rng.random() < 0.4:
        kinds[0] = HOP_BY_HOP
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        if count:
            kinds[rng.randrange(count)] = FRAGMENT
    for kind in kinds[::-1]:
        proto, body = kind, header(rng, kind, proto) + body
    return proto, body


def spoiled(rng, octets):
    """Change a byte of the headers, or none."""
    if octets and rng.random() < 0.15:
        at = rng.randrange(len(octets))
        octets = octets[:at] + bytes([rng.choice((0, 1, 2, 4, 43, 44, 60, 255))]) + \
            octets[at + 1:]
    return octets


def datagram(version, port, text):
    """UDP from the server to @port, with a checksum."""
    a, b = ends(version)
    data = text.encode().ljust(48, b".")
    udp_ = struct.pack(">HHHH", DNS, port, 8 + len(data), 0) + data
    pseudo = a + b + struct.pack(">II" if version == 6 else ">HH",
                                 *((len(udp_), UDP) if version == 6 else (UDP, len(udp_))))
    return udp_[:6] + struct.pack(">H", packets.checksum(pseudo + udp_) or 0xFFFF) + udp_[8:]


def pieces(rng, version, proto, body):
    """Cut @body in two at a multiple of 8: [(offset, more, bytes)]; whole: [(0, 0, body)]."""
    if rng.random() < 0.75 or len(body) < 24:
        return [(0, 0, body)]
    at = 8 * rng.randrange(1, len(body) // 8)
    parts = [(0, 1, body[:at]), (at // 8, 0, body[at:])]
    return parts if rng.random() < 0.8 else parts[::-1]


def six(rng, port, text):
    """Return the frames of one datagram, and whether its ports are in the first piece."""
    a, b = ends(6)
    body = datagram(6, port, text)
    proto, whole = chain(rng, UDP, body)
    whole = spoiled(rng, whole[:-len(body)]) + body
    parts, ident, out = pieces(rng, 6, proto, whole), rng.getrandbits(32), []
    for offset, more, part in parts:
        following, octets = proto, part
        if len(parts) > 1:
            octets = struct.pack(">BBHI", proto, 0, offset << 3 | more, ident) + part
            following = FRAGMENT
        length = len(octets) if rng.random() < 0.97 else rng.choice((0, 7, 8, len(octets) - 1))
        out.append(packets.ip6(following, octets, a, b)[:4] + struct.pack(">H", length) +
                   packets.ip6(following, octets, a, b)[6:])
    shown = min(parts)[2] if len(parts) > 1 else whole
    return [packets.ether(0x86DD, p, False, tags(rng)) for p in out], \
        len(shown) > len(whole) - len(body)


def four(rng, port, text):
    a, b = ends(4)
    body = datagram(4, port, text)
    known = b"\x01" * (4 * rng.choice((0, 0, 1, 5, 10)))
    ident, out = rng.getrandbits(16), []
    for offset, more, part in pieces(rng, 4, UDP, body):
        ihl = rng.choice((4, 5, 6, 15)) if rng.random() < 0.05 else None
        packet = packets.ip4(UDP, part, a, b, more << 13 | offset, known, ihl=ihl)
        packet = packet[:4] + struct.pack(">H", ident) + packet[6:10] + bytes(2) + packet[12:]
        head = 4 * (packet[0] & 15)
        packet = packet[:10] + struct.pack(">H", packets.checksum(packet[:head])) + packet[12:]
        out.append(packets.ether(0x0800, packet, False, tags(rng)))
    return out, True


def tags(rng):
    """Priority tags: VLAN 0 is no VLAN, so the interface itself receives them."""
    return [(0x8100, 5 << 13)] * rng.choice((1, 4, 5, 6)) if rng.random() < 0.06 else ()


def drawn():
    """Return [(number, port, frames)], each datagram for both sockets, and the numbers of
    those whose ports are not hidden.
    """
    rng, out, plain = tap.drawn(5), [], set()
    for n in range(COUNT):
        for port in UNASKED, ASKED:
            state = rng.getstate() if port == UNASKED else state
            rng.setstate(state)  # the same headers for both
            frames, shown = (four if n % 5 == 0 else six)(rng, port, str(n))
            out.append((n, port, frames))
        if shown and all(f[12:28].count(b"\x81\x00") < 4 for f in frames):
            plain.add(n)
    return out, plain


def received(sock):
    """Return the numbers of the datagrams that have come."""
    out = set()
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            out.add(int(sock.recv(2048).rstrip(b".")))
    return out


def ask(sock, server, address):
    """Send a query until one arrives: an address may have just been given."""
    for _ in range(60):
        sock.sendto(b"query", (address, DNS))
        if select.select([server], [], [], 1)[0]:
            server.recv(99)
            return
    raise TimeoutError("no query arrives")


def served(datagrams):
    """Send the datagrams. Return what came: ({numbers, asked}, {numbers, unasked})."""
    with contextlib.ExitStack() as stack:
        def opened(ns, address, port):
            sock = stack.enter_context(udp(ns, address, port))
            sock.setsockopt(socket.SOL_SOCKET, hosts.SO_RCVBUFFORCE, 1 << 24)
            return sock

        of = {p: [opened(net.NS_B, a, p) for a in (B4, B6)] for p in (ASKED, UNASKED, FENCE)}
        servers = [opened(net.NS_A, a, DNS) for a in (A4, A6)]
        fences = [opened(net.NS_A, a, 9999) for a in (A4, A6)]
        for sock, server, address in zip(of[ASKED], servers, (A4, A6)):
            ask(sock, server, address)
        with hosts.raw(net.NS_A, net.A, 0) as tx:
            for n, _, frames in datagrams:
                for frame in frames:
                    tx.send(frame)
                if n % 16 == 0:
                    for sock, fence, to in zip(of[FENCE], fences, (B4, B6)):
                        fence.sendto(b"fence", (to, FENCE))
                        sock.recv(99)
            for sock, fence, to in zip(of[FENCE], fences, (B4, B6)):
                fence.sendto(b"fence", (to, FENCE))
                sock.recv(99)
        return tuple(received(of[p][0]) | received(of[p][1]) for p in (ASKED, UNASKED))


def error(rng, version, port):
    """Return an ICMP error about a datagram from @port, whose headers may be wrong: Linux
    looks at few of them.
    """
    a, b = ends(version)
    sent = struct.pack(">HHHH", port, DNS, 24, 0) + bytes(16)
    if version == 4:
        length = rng.choice((None, None, 0, 19, 65535))
        body = struct.pack(">BBHI", 3, 3, 0, 0) + \
            packets.ip4(UDP, sent, b, a, rng.choice((0, 0, 0x2000, 5)), length=length)
        body = body[:2] + struct.pack(">H", packets.checksum(body)) + body[4:]
        return packets.ether(0x0800, packets.ip4(1, body, a, b), False)
    proto, octets = chain(rng, UDP, sent)
    length = rng.choice((len(octets), len(octets), 0, 7, 65535))
    body = struct.pack(">BBHIIHBB", 1, 4, 0, 0, 6 << 28, length, proto, 64) + b + a + octets
    total = packets.checksum(a + b + struct.pack(">II", len(body), 58) + body)
    return packets.ether(0x86DD, packets.ip6(58, body[:2] + struct.pack(">H", total) + body[4:],
                                             a, b), False)


def struck():
    """Return the numbers of the connected sockets, which have sent nothing, that get an
    error.
    """
    rng, out = tap.drawn(6), set()
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(udp(net.NS_B, (B4, B6)[n % 2], 6000 + n))
                 for n in range(120)]
        last = stack.enter_context(udp(net.NS_B, B4, FENCE))
        fence = stack.enter_context(udp(net.NS_A, A4, 9999))
        with hosts.raw(net.NS_A, net.A, 0) as tx:
            for n, sock in enumerate(socks):
                sock.connect(((A4, A6)[n % 2], DNS))
                tx.send(error(rng, (4, 6)[n % 2], 6000 + n))
        fence.sendto(b"fence", (B4, FENCE))
        last.recv(99)
        for n, sock in enumerate(socks):
            if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                out.add(n)
    return out


@contextlib.contextmanager
def interface(*how):
    with Attached(*how, match=["--match", "udp:sport=53"], what=RULE) as on:
        yield lambda: on.side("ask")


@contextlib.contextmanager
def hook(name):
    if hosts.kernel() < (6, 4):
        raise tap.Skip("Linux 6.4 is needed")
    with At("nf:output:300", "--key", "flow", "--learn", "--match", "udp:dport=53"), \
            At(name, *SAME, *RULE) as on:
        yield on.counts


def iptables(*args):
    for program in "iptables", "ip6tables":
        net.in_b(program, *args)


@contextlib.contextmanager
def pin():
    """Rules of iptables; the chain lets in nothing else, but the fences."""
    if not shutil.which("ip6tables"):
        raise tap.Skip("needs iptables")
    path = f"/sys/fs/bpf/delivered-{os.getpid()}-"
    net.epfctl("pin", hosts.NAME, path + "learn", "--key", "flow", "--learn")
    net.epfctl("pin", hosts.NAME, path + "ask", "--key", "flow", "--reverse", "--errors",
               "--frags", "accept", "--recent", "--unknown", "accept")
    try:
        iptables("-A", "OUTPUT", "-p", "udp", "-m", "bpf", "--object-pinned", path + "learn")
        iptables("-A", "INPUT", "-m", "bpf", "--object-pinned", path + "ask", "-j", "ACCEPT")
        iptables("-A", "INPUT", "-p", "udp", "--sport", "9999", "-j", "ACCEPT")
        iptables("-A", "INPUT", "-j", "DROP")
        yield lambda: {r: c["packets"] for r, c in json.loads(
            net.epfctl("-j", "status", path + "ask").stdout)["counters"].items()
            if c["packets"]}
    finally:
        iptables("-F")
        for what in "learn", "ask":
            net.epfctl("detach", path + what)


@functools.cache
def without():
    """Which datagrams this kernel delivers."""
    datagrams, plain = drawn()
    asked, unasked = served(datagrams)
    print(f"# of {COUNT} datagrams for each socket this kernel delivers {len(asked)}")
    if asked != unasked:
        raise RuntimeError(f"the sockets differ: {sorted(asked ^ unasked)}")
    if not COUNT / 3 < len(asked) < COUNT:
        raise RuntimeError(f"{len(asked)} of {COUNT} delivered: the test has too few of some")
    return datagrams, asked, plain


def law(place):
    datagrams, delivered, plain = without()
    tap.may_fail(1e-6)
    with Filter(), Holder(), place() as counts:
        asked, unasked = served(datagrams)
        reasons = counts()
    print(f"# {len(unasked)} unasked, {len(asked)} of {len(delivered)} asked; {reasons}")
    return net.unlike(unasked=(len(unasked), 0), lost=(sorted(delivered & plain - asked), []),
                      more=(sorted(asked - delivered), []))


def errors(place):
    told = struck()
    with Filter(), Holder(), place():
        unasked = struck()
    print(f"# of 120 errors this kernel delivers {len(told)}, with the rule {len(unasked)}")
    return net.unlike(told=(len(told) > 40, True), unasked=(sorted(unasked), []))


def cases():
    of = functools.partial
    places = [("XDP", of(interface, "--no-dispatcher")), ("tc", of(interface, "--ask", "tc")),
              ("the prerouting hook", of(hook, "nf:prerouting:-310")),
              ("the input hook", of(hook, "nf:input:-10")), ("iptables with a pin", pin)]
    return [(f"{name}: {what}", of(case, place)) for name, place in places
            for what, case in (("datagrams", law), ("ICMP errors", errors))]


if __name__ == "__main__":
    stage.main(cases, [hosts.require], hosts.sweep, hosts.nothing_left)
