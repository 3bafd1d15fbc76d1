#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Flows of nfdump and IPFIX, and captures: their keys are those of the packets, as
selftests/model computes them.

usage: flows.py [FUNCTION]...
"""

import os
import shutil
import socket
import struct
import subprocess
import tempfile

from common import *
import frames
import pcap
import tap

DATA = os.path.join(BUILD, "..", "..", "data")
ICMP = {4: 1, 6: 58}
PORTS = set(packets.PORT_PROTOS)
NFDUMP = "ts,te,td,sa,da,sp,dp,pr,flg\n"


class Flow:
    """What an exporter would report about a frame."""

    def __init__(self, frame, link):
        _, _, kind, rest = packets.link_layer(frame, link)
        ip = packets.network_layer(kind, rest)
        ip.walk()
        self.version, self.proto = ip.version, ip.proto
        self.source, self.dest = ip.source, ip.dest
        self.fragment = ip.fragment is not None
        self.four = packets.Flow(ip, packets.FLOW, False).four.ljust(4, b"\0")
        self.key = packets.flow_bytes(frame, link)

    @property
    def icmp(self):
        return self.proto == ICMP[self.version]

    @property
    def keyless(self):
        """No record has the identifier, or ports of zero."""
        with_id = packets.ICMP4_WITH_ID if self.version == 4 else \
            packets.ICMP6_WITH_ID
        return self.icmp and self.four[0] in with_id or \
            self.proto in PORTS and self.four == bytes(4)

    @property
    def ports(self):
        return struct.unpack(">HH", self.four)

    def addresses(self):
        family = socket.AF_INET if self.version == 4 else socket.AF_INET6
        return [socket.inet_ntop(family, a) for a in (self.source, self.dest)]

    def nfdump(self, proto=None, dot=False):
        a, b = self.ports
        if self.icmp:
            a, b = 0, f"{self.four[0]}.{self.four[1]}" if dot else a
        source, dest = self.addresses()
        return f"t,t,0,{source},{dest},{a},{b},{proto or self.proto},.\n"

    def mkipfix(self, how):
        a, b = (0, 0) if self.icmp else self.ports
        kind, code = self.four[:2] if self.icmp else (0, 0)
        source, dest = self.addresses()
        how = how if self.icmp else "-"
        return f"{self.version} {self.proto} {a} {b} {kind} {code} " \
               f"{source} {dest} {how}\n"


def model_flows():
    """Return the flows of all packet vectors, except fragments."""
    flows = []
    for link, frame, _ in frames.all_frames():
        try:
            flow = Flow(frame, link)
        except (packets.Truncated, packets.Malformed, packets.NotIp):
            continue
        if not flow.fragment:
            flows.append(flow)
    for version, proto, four in [(4, p, b"\1\2\3\4") for p in range(256)] + \
            [(6, p, b"\5\6\7\x08") for p in range(256)] + \
            [(v, ICMP[v], bytes([k, k % 7, 0, 0])) for k in range(256)
             for v in (4, 6)]:
        flow = Flow.__new__(Flow)
        flow.version, flow.proto, flow.fragment = version, proto, False
        flow.source, flow.dest = frames.V4 if version == 4 else frames.V6
        flow.four = four if proto in PORTS else \
            four[:2] + bytes(2) if flow.icmp else bytes(4)
        flow.key = flow_key(version, proto, flow.four, flow.source, flow.dest)
        flows.append(flow)
    return flows


def expect_flows(got, flows, bad=0):
    keys = [f.key for f in flows if not f.keyless]
    return expect(got, keys, 0, len(flows) - len(keys), bad)


def nfdump_model():
    flows = model_flows()
    for dot in (False, True):
        text = NFDUMP + "".join(f.nfdump(dot=dot) for f in flows)
        fault = expect_flows(read(text.encode(), "auto", "key=flow"), flows)
        if fault:
            return fault
    return None


MADE = [  # from flows: name, key, flags, prefix
    ("flow", packets.FLOW, packets.REVERSE, 0),
    ("conversation", packets.CONVERSATION, 0, 0),
    ("peer", packets.PEER, 0, 24 | 64 << 8),
    ("peer-port", packets.PEER_PORT, packets.REVERSE | packets.ERRORS, 0)]


def made_key(frame, link, flow, key, flags, most):
    """The keys of a packet's record; None: the record lacks a field that they need."""
    errors = packets.ICMP4_ERRORS if flow.version == 4 else packets.ICMP6_ERRORS
    whole = key in (packets.FLOW, packets.CONVERSATION)
    if key != packets.PEER and flow.proto in PORTS and flow.four == bytes(4) or \
            flow.icmp and (whole and flow.keyless or
                           flags & packets.ERRORS and flow.four[0] in errors):
        return None
    return packets.flow_bytes(frame, link, key, flags, most)


def nfdump_made():
    """Records have the same peers and conversations as their packets."""
    some = []
    for link, frame, cuts in frames.all_frames() + frames.flow_frames():
        try:
            flow = Flow(frame, link)
        except (packets.Truncated, packets.Malformed, packets.NotIp):
            continue
        if not flow.fragment:
            some.append((frame, link, flow))
    text = NFDUMP + "".join(flow.nfdump() for _, _, flow in some)
    for name, *asked in MADE:
        keys = [made_key(*one, *asked) for one in some]
        told = [k for k in keys if k is not None]
        got = read(text.encode(), "nfdump", f"key={name}", f"flags={asked[1]}",
                   f"most={asked[2]}")
        fault = expect(got, told, 0, len(keys) - len(told), 0)
        if fault:
            return f"{name}: {fault}"
    got = read(text.encode(), "nfdump", "key=flow", f"flags={packets.VLAN}")
    return differ("with VLANs", got.error, EINVAL)


def nfdump_variants():
    """Names of columns and protocols, line ends, concatenated outputs; a quote."""
    long = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets\n"
    tail = "Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n1,2,3,4,5,6\n"
    text = NFDUMP + "t,t,0,192.0.2.1,192.0.2.2,1,2,TCP  ,.\n" + tail + \
        long + "t,0,UDP,::1,3,::2,4,7\r\n\nt,0,ICMP6,::1,0,::2,1.4,7\n" + tail + \
        NFDUMP + "No matching flows\n" + tail + \
        NFDUMP + "t,\"t,0,192.0.2.1,192.0.2.2,0,0,GRE,.,,,,more\n" \
        "t,t,0,192.0.2.1,192.0.2.2,0,0,TCP,.\n" \
        "t,t,0,192.0.2.1,192.0.2.2,0,2048,ICMP,.\n"
    v4 = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
    v6 = bytes(15) + b"\1", bytes(15) + b"\2"
    keys = [flow_key(4, 6, b"\0\1\0\2", *v4), flow_key(6, 17, b"\0\3\0\4", *v6),
            flow_key(6, 58, b"\1\4\0\0", *v6), flow_key(4, 47, bytes(4), *v4)]
    got = read(text.encode(), "auto", "key=flow")
    return expect(got, keys, 0, 2, 0) or \
        differ("prologue", got.prologue, NFDUMP.encode()) or \
        expect(read(got.prologue + got.raw.replace(got.pairs[1][1], b"")
                    .replace(got.pairs[2][1], b""), "auto", "key=flow"),
               [keys[0], keys[3]])


def nfdump_bad():
    good = "t,t,0,192.0.2.1,192.0.2.2,1,2,6,.\n"
    bad = ["t,t,0,192.0.2.1\n", good.replace(".2.1", ".2.256"),
           good.replace("192.0.2.2", "::1"), good.replace("6", "256"),
           good.replace(",6,", ",TCPX,"), good.replace(",6,", ",,"),
           good.replace(",1,2,", ",65536,2,"), good.replace(",1,2,", ",1,-2,"),
           good.replace(",1,2,", ",1,2x,"), good.replace(",1,2,6", ",0,256.1,1"),
           good.replace(",1,2,6", ",0,3.256,1"), good.replace(",1,2,6", ",0,,1"),
           good.replace("192.0.2.1", "2001:d..00:1"), good.replace("6", "IDPR"),
           good.replace("6,", "6\r")]
    for line in bad:
        got = read((NFDUMP + good + line).encode(), "nfdump", "key=flow")
        if got.error != EBADMSG or got.records != 1 or "line 3" not in got.why:
            return f"{line}: {got.error} {got.why}"
    got = read((NFDUMP + "".join(bad) + good).encode(), "nfdump", "key=flow",
               "skip-bad")
    return differ("passed over", (got.bad, got.records), (len(bad), 1)) or \
        differ("no header", read(good.encode(), "nfdump", "key=flow").error,
               EBADMSG)


def capture_flows(path):
    """Return the keys of the flows that nfpcapd would see; it reassembles fragments."""
    keys, skip = set(), set()
    for p in pcap.load(path).packets:
        try:
            flow = Flow(p.data, packets.ETHER)
        except (packets.Truncated, packets.Malformed, packets.NotIp):
            continue
        if flow.fragment:
            skip.add((flow.source, flow.dest))
        elif not flow.keyless:
            keys.add(flow.key)
    return {k for k in keys if (k[6:10], k[10:14]) not in skip}


def real_nfdump():
    """The records that nfpcapd and nfdump make of real traffic have the keys of its
    packets."""
    path = os.path.join(DATA, "real.pcap")
    if not (shutil.which("nfpcapd") and shutil.which("nfdump")):
        raise tap.Skip("no nfdump")
    if not os.path.exists(path):
        raise tap.Skip("no real.pcap: scripts/deps.sh fetches it")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["nfpcapd", "-r", path, "-w", folder], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = subprocess.run(["nfdump", "-R", folder, "-o", "csv"], check=True,
                              stdout=subprocess.PIPE).stdout
    got = read(text, "auto", "key=flow")
    want = {digest(k) for k in capture_flows(path)}
    here = read(open(path, "rb"), "auto", "key=flow")
    print(f"# {got.records} records of {len(want)} flows")
    return differ("error", (got.error, got.bad), (0, 0)) or \
        differ("flows", sorted(set(got.digests)), sorted(want)) or \
        differ("packets", want <= set(here.digests), True)


def mkipfix(flows, how):
    text = "".join(f.mkipfix(how) for f in flows).encode()
    return subprocess.run([os.path.join(BUILD, "mkipfix")], input=text,
                          check=True, stdout=subprocess.PIPE).stdout


def ipfix_libfixbuf():
    if not os.path.exists(os.path.join(BUILD, "mkipfix")):
        raise tap.Skip("no libfixbuf-dev")
    flows = model_flows()
    for how in ("own", "two", "port"):
        data = mkipfix(flows, how)
        got = read(data, "auto", "key=flow")
        again = read(got.prologue + got.raw, "auto", "key=flow")
        fault = expect_flows(got, flows) or \
            differ("bytes", got.bytes, len(data)) or \
            differ("format", again.format, "nfdump") or \
            differ("as text", again.digests, got.digests)
        if fault:
            return f"{how}: {fault}"
    return None


def message(*sets, domain=1, length=None, version=10):
    body = b"".join(sets)
    length = 16 + len(body) if length is None else length
    return struct.pack(">HHIII", version, length, 1700000000, 0, domain) + body


def a_set(number, body, length=None):
    return struct.pack(">HH", number, 4 + len(body) if length is None
                       else length) + body


def template(number, *elements, kind=2, scope=None):
    """Return a template. Elements are (number, length) or (number, length, enterprise)."""
    body = struct.pack(">HH", number, len(elements))
    body += b"" if scope is None else struct.pack(">H", scope)
    for e in elements:
        body += struct.pack(">HH", e[0] | (0x8000 if len(e) > 2 else 0), e[1])
        body += struct.pack(">I", e[2]) if len(e) > 2 else b""
    return a_set(kind, body)


PLAIN = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1)]
V4 = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
V6 = frames.V6


def plain(a=1000, b=80, proto=6):
    return V4[0] + V4[1] + struct.pack(">HHB", a, b, proto)


def plain_key(a=1000, b=80, proto=6):
    return flow_key(4, proto, struct.pack(">HH", a, b), *V4)


def mixed(v4, v6, proto=17):
    return v4[0] + v4[1] + v6[0] + v6[1] + b"\0\7\0\x08" + bytes([proto])


# (messages, keys, keyless, bad)
BOTH = [(8, 4), (12, 4), (27, 16), (28, 16), (7, 2), (11, 2), (4, 1)]
NONE = (bytes(4), bytes(4)), (bytes(16), bytes(16))
IPFIX = [
    ([message(template(256, *PLAIN), a_set(256, plain() + plain(2)))],
     [plain_key(), plain_key(2)], 0, 0),
    # ports of a protocol without ports; an address of only the other direction
    ([message(template(256, *PLAIN), a_set(256, plain(1, 2, 47))),
      message(template(256, (8, 4, 29305), *PLAIN[1:]), a_set(256, plain()))],
     [flow_key(4, 47, bytes(4), *V4)], 1, 0),
    # a template for each domain, and a replacement
    ([message(template(256, *PLAIN), domain=1),
      message(template(256, *PLAIN[::-1]), domain=2),
      message(a_set(256, plain()), domain=1),
      message(a_set(256, b"\6" + b"\0\x50" + b"\3\xe8" + V4[1] + V4[0]),
              domain=2),
      message(template(256, *PLAIN[::-1]), domain=1),
      message(a_set(256, b"\6" + b"\0\x50" + b"\3\xe8" + V4[1] + V4[0]))],
     [plain_key()] * 3, 0, 0),
    # padding of a set, an options template and its data, an unknown element
    ([message(template(300, (8, 4), (149, 4), kind=3, scope=1),
              a_set(300, b"12345678"), template(256, *PLAIN),
              a_set(256, plain() + b"\0\0"))], [plain_key()], 0, 0),
    ([message(template(256, (999, 3, 32473), (32000, 2), *PLAIN)),
      message(a_set(256, b"abcde" + plain()))], [plain_key()], 0, 0),
    # variable length, short and long form
    ([message(template(256, (82, 0xFFFF), *PLAIN)),
      message(a_set(256, b"\3eth" + plain() +
                    b"\xff\1\0" + b"x" * 256 + plain(5)))],
     [plain_key(), plain_key(5)], 0, 0),
    # an element twice: the first counts; reverse elements do not count
    ([message(template(256, *PLAIN, (11, 2), (7, 2, 29305), (8, 4, 29305))),
      message(a_set(256, plain() + b"\0\1" + b"\0\2" + b"abcd"))],
     [plain_key()], 0, 0),
    # integers of fewer bytes
    ([message(template(256, (8, 4), (12, 4), (7, 1), (11, 1), (4, 1))),
      message(a_set(256, V4[0] + V4[1] + b"\1\2\6"))], [plain_key(1, 2)], 0, 0),
    # both kinds of addresses
    ([message(template(256, *BOTH), a_set(256, mixed(V4, NONE[1]) +
                                          mixed(NONE[0], V6) + mixed(V4, V6)))],
     [flow_key(4, 17, b"\0\7\0\x08", *V4), flow_key(6, 17, b"\0\7\0\x08", *V6),
      flow_key(4, 17, b"\0\7\0\x08", *V4)], 0, 0),
    # fields that the key needs are missing; an address of another length
    ([message(template(256, (8, 4), (12, 4)), template(257, (8, 4), (4, 1)),
              template(258, *PLAIN[:2], (4, 1)), template(259, (8, 16), *PLAIN[1:]),
              a_set(256, bytes(8)), a_set(257, bytes(5)),
              a_set(258, V4[0] + V4[1] + b"\6" + V4[0] + V4[1] + b"\x2f"),
              a_set(259, bytes(12) + plain()))],
     [flow_key(4, 47, bytes(4), *V4)], 4, 0),
    # ICMP: an element, two, the port, nothing
    ([message(template(256, *PLAIN[:2], (4, 1), (32, 2)),
              template(257, *PLAIN[:2], (4, 1), (176, 1), (177, 1)),
              template(258, *PLAIN[:2], (4, 1), (11, 2)),
              template(259, *PLAIN[:2], (4, 1)),
              template(260, (27, 16), (28, 16), (4, 1), (139, 2)),
              a_set(256, V4[0] + V4[1] + b"\1\3\4"),
              a_set(257, V4[0] + V4[1] + b"\1\3\4"),
              a_set(258, V4[0] + V4[1] + b"\1\3\4"),
              a_set(259, V4[0] + V4[1] + b"\1"),
              a_set(260, V6[0] + V6[1] + b"\x3a\1\4"),
              a_set(256, V4[0] + V4[1] + b"\1\x08\0"))],
     [flow_key(4, 1, b"\3\4\0\0", *V4)] * 3 +
     [flow_key(6, 58, b"\1\4\0\0", *V6)], 2, 0),
    # no data, no set
    ([message(), message(template(256, *PLAIN)), message(a_set(256, b""))],
     [], 0, 0),
    # data without a template, before it arrives, and after it is withdrawn
    ([message(a_set(256, plain())), message(template(256, *PLAIN)),
      message(a_set(256, plain())), message(a_set(2, b"\1\0\0\0")),
      message(a_set(256, plain(3)))], [plain_key()], 0, 2),
    # sets with wrong lengths
    ([message(template(256, *PLAIN)), message(a_set(256, plain(), 3)),
      message(a_set(256, plain(), 0)), message(a_set(256, plain(), 99)),
      message(a_set(256, plain()) + b"\1\0"), message(a_set(255, plain())),
      message(a_set(0, plain())), message(a_set(4, plain())),
      message(a_set(256, plain(9)))], [plain_key(9)], 0, 7),
    # invalid templates
    ([message(a_set(2, struct.pack(">HH", 255, 1) + b"\0\x08\0\4")),
      message(a_set(2, struct.pack(">HH", 256, 9) + b"\0\x08\0\4")),
      message(a_set(2, struct.pack(">HHHH", 256, 1, 0x8008, 4))),
      message(template(256, *PLAIN)), message(a_set(256, plain()))],
     [plain_key()], 0, None),
    # templates and withdrawals in one set; all withdrawn; padding
    ([message(template(256, *PLAIN)),
      message(a_set(2, template(257, *PLAIN)[4:] + b"\1\0\0\0")),
      message(template(300, (149, 4), (8, 4), kind=3, scope=1)),
      message(template(258, *PLAIN)), message(a_set(2, b"\0\2\0\0")),
      message(a_set(300, bytes(8))), message(a_set(258, plain())),
      message(a_set(2, template(259, *PLAIN)[4:] + bytes(8)),
              a_set(259, plain(4)))], [plain_key(4)], 0, 2),
    # all withdrawn in one domain, and of one kind
    ([message(template(256, *PLAIN), template(257, *PLAIN), domain=1),
      message(template(256, *PLAIN), domain=2),
      message(template(300, (149, 4), (8, 4), kind=3, scope=1), domain=2),
      message(a_set(2, b"\0\2\0\0"), domain=1),
      message(a_set(256, plain(1)), domain=1),
      message(a_set(257, plain(2)), domain=1),
      message(a_set(256, plain(3)), domain=2),
      message(a_set(3, b"\0\3\0\0"), domain=2),
      message(a_set(256, plain(4)), domain=2),
      message(a_set(300, bytes(8)), domain=2),
      message(template(256, *PLAIN), domain=1),
      message(a_set(256, plain(5)), domain=1)],
     [plain_key(3), plain_key(4), plain_key(5)], 0, 3),
    # variable length that exceeds the set
    ([message(template(256, (82, 0xFFFF), *PLAIN)),
      message(a_set(256, b"\x28" + plain())),
      message(a_set(256, b"\xff\xff\xff" + plain())),
      message(a_set(256, b"\0" + plain()))], [plain_key()], 0, None),
]


def ipfix_by_hand():
    for i, (messages, keys, keyless, bad) in enumerate(IPFIX):
        got = read(b"".join(messages), "ipfix", "key=flow", "skip-bad")
        fault = expect(got, keys, 0, keyless, bad)
        if fault:
            return f"case {i}: {fault}"
        hard = read(b"".join(messages), "ipfix", "key=flow")
        if bool(got.bad) != (hard.error == EBADMSG):
            return f"case {i}: {hard.error} {hard.why}"
    return None


def ipfix_changing():
    """Templates that change all the time, in two domains."""
    r = rng(3)
    known, messages, keys = {}, [], []
    for i in range(3000):
        place = (r.randrange(2), 256 + r.randrange(3))
        sets = []
        if place not in known or r.random() < .3:
            known[place] = r.sample(PLAIN, 5) if r.random() < .7 else \
                r.sample(PLAIN + [(82, 0xFFFF), (1, 8), (2, 3)], 8)
            sets = [template(place[1], *known[place])]
            if r.random() < .2:
                sets.insert(0, a_set(2, struct.pack(">HH", place[1], 0)))
        values = {8: V4[0], 12: V4[1], 7: struct.pack(">H", i + 1),
                  11: b"\0\x50", 4: b"\6", 1: bytes(8), 2: b"abc",
                  82: bytes([i % 9]) + b"n" * (i % 9)}
        sets.append(a_set(place[1], b"".join(values[e] for e, _ in
                                             known[place])))
        messages.append(message(*sets, domain=place[0]))
        keys.append(plain_key(i + 1))
    return expect(read(b"".join(messages), "ipfix", "key=flow"), keys, 0, 0, 0)


def ipfix_no_message():
    """Errors after which reading cannot continue, with skip-bad or without."""
    good = message(template(256, *PLAIN), a_set(256, plain()))
    for tail in (message(version=9), message(length=15), message(length=0),
                 message(length=17), good[:-1], good[:1], b"x" * 40):
        got = read(good + tail, "ipfix", "key=flow", "skip-bad")
        fault = expect(got, [plain_key()], EBADMSG, 0, 0)
        if fault or "message 2" not in got.why:
            return f"{tail}: {fault} {got.why}"
    return None


def ipfix_bounds():
    """The most that a file can make the reader remember: templates, unknown elements,
    domains."""
    wide = [(1 + i % 400, 4) for i in range(1024)]
    many = [message(template(256 + i, *wide)) for i in range(80)]
    again = [message(template(256, *wide)) for i in range(80)]
    odd = [message(template(256, *[(1 + i % 30000, 4, 40000 + n)
                                   for i in range(1000)])) for n in range(12)]
    none = [message(template(256, *PLAIN), domain=i) for i in range(2, 256)] + \
        [message(a_set(2, b"\0\2\0\0" * 16000))] * 100
    domains = [message(domain=i) for i in range(257)]

    def fields(nr):
        """So many fields, where a template counts as 8 more: 16 of 1,008, one, and that of end."""
        return [message(template(256 + i, *wide[:1008])) for i in range(16)] + \
            [message(template(300, *wide[:nr - 16 * (1008 + 8) - 8 - len(PLAIN) - 8]))]

    def elements(nr):
        return [message(template(256, *[(1 + i, 4, 40000) for i in range(n, min(n + 1000, nr))]))
                for n in range(0, nr, 1000)]
    end = [message(template(999, *PLAIN), a_set(999, plain()), domain=1)]
    small = [message(*[template(256 + i + j, (8, 4)) for j in range(1000)])
             for i in range(0, 2000, 1000)]
    for what, messages, error in (("templates", many, EBADMSG),
                                  ("small templates", small, EBADMSG),
                                  ("one template", again, 0),
                                  ("elements", odd, EBADMSG),
                                  ("all withdrawn, and again", none, 0),
                                  ("16384 fields", fields(1 << 14), 0),
                                  ("16385 fields", fields((1 << 14) + 1), EBADMSG),
                                  ("4096 elements", elements(4096), 0),
                                  ("4097 elements", elements(4097), EBADMSG),
                                  ("256 domains", domains[:256], 0),
                                  ("domains", domains, EBADMSG)):
        got = read(b"".join(messages + end), "ipfix", "key=flow", "skip-bad")
        fault = expect(got, [] if error else [plain_key()], error)
        if fault:
            return f"{what}: {fault}"
    return None


def template_bounds():
    """The limits of a template's fields and of equal fields, each of at least a byte."""
    end = [message(template(999, *PLAIN), a_set(999, plain()), domain=1)]
    wide = [(1 + i % 400, 4) for i in range(1025)]
    for what, fields, bad in (("1024 fields", wide[:1024], 0),
                              ("one more", wide, 1),
                              ("16 equal ones", [(210, 4)] * 16, 0),
                              ("of one enterprise, and of another",
                               [(210, 4, 7), (210, 4, 8)] * 16, 0),
                              ("one more", [(210, 4)] * 17, 1),
                              ("16000", [(210, 4)] * 16000, 1),
                              ("a field of no bytes", PLAIN + [(210, 0)], 1)):
        got = read(b"".join([message(template(256, *fields))] + end), "ipfix",
                   "key=flow", "skip-bad")
        fault = expect(got, [plain_key()], 0, 0, bad)
        if fault:
            return f"{what}: {fault}"
    return None


def hostile():
    """Yield (what, format, bytes): files that are cheap to make and expensive to read, per
    byte or per key."""
    equal = message(*[template(256 + i, *[(201 + j % 64, 4)
                                          for j in range(1000)])
                      for i in range(16)])
    narrow = message(template(256, *[(201 + i % 64, 1) for i in range(1000)]))
    record = message(a_set(256, bytes(1000) * 60))
    section = pcap.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    one = pcap.block(1, struct.pack("<HHI", 1, 0, 1 << 18))
    unknown = pcap.block(0xBAD, bytes(1 << 16))
    return [
        ("templates defined again and again", "ipfix", equal * 8),
        ("records of many fields", "ipfix", narrow + record * 40),
        ("blocks that are no packets", "pcap",
         section + one + unknown * 100 + pcap.block(0xBAD, b"") * 100000),
        ("empty lines", "json", b"\n" * (4 << 20)),
        ("lines without the member", "json", b'{"a":1}\n' * (1 << 19)),
        ("blank lines of CSV", "csv", b",,\n" * (1 << 20)),
    ]


def bounded_calls():
    """Every call returns soon: it does its limit of work and at most one more template,
    record or packet. readrec checks each call."""
    for what, form, data in hostile():
        options = ["key=flow"] if form in ("ipfix", "pcap") else ["fields=1"]
        got = read(data, form, *options, "quiet", "skip-bad")
        if got.error:
            return f"{what}: {got.why}"
        if got.calls < len(data) // (1 << 20):
            return f"{what}: read in {got.calls} calls"
        if "again" in what and got.calls < 128 * 64000 // (1 << 19):
            return f"{what}: 128 templates in {got.calls} calls"
    return None


def model_packets():
    """Yield (link type of the file, packets) of the packet vectors."""
    links = {packets.ETHER: pcap.EN10MB, packets.IP: pcap.RAW,
             packets.SLL: pcap.SLL, packets.SLL2: pcap.SLL2}
    for link, number in links.items():
        yield link, number, [pcap.Packet(10 ** 18 + i * 1001, frame)
                             for i, (at, frame, _) in
                             enumerate(frames.all_frames())
                             if at == link and frame]


def keys_of(some, key, link):
    keys = []
    for p in some:
        try:
            keys.append(packets.canonical(p.data, key, link, 0, 0))
        except (packets.Truncated, packets.Malformed, packets.NotIp):
            pass
    return keys


def captures():
    """Every frame of the model, as pcap in both byte orders and as pcapng; what is written
    from them is a capture of the same packets.
"""
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "in"), os.path.join(folder, "out")
        for link, number, some in model_packets():
            capture = pcap.Capture(some, number, nano=True)
            for save in (lambda: capture.save(path),
                         lambda: capture.save(path, ">"),
                         lambda: capture.save_ng(path, 9)):
                save()
                for name, key in (("frame", 0), ("packet", 1), ("flow", 2)):
                    keys = keys_of(some, key, link)
                    got = read(open(path, "rb"), "auto", f"key={name}")
                    fault = expect(got, keys, 0, len(some) - len(keys))
                    if fault:
                        return f"link {link}, {name}: {fault}"
                    if got.bytes != os.path.getsize(path):
                        return f"{got.bytes} bytes"
                    with open(out, "wb") as f:
                        f.write(got.prologue + got.raw)
                    if name == "frame" and \
                            pcap.load(out).packets != some:
                        return f"link {link}: another capture"
    return None


def precisions():
    """What is written from a capture has its unit, of microseconds or nanoseconds."""
    some = [pcap.Packet(10 ** 18 + i * 10 ** 9, b"x" * (60 + i)) for i in range(3)]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "in"), os.path.join(folder, "out")
        for order in "<>":
            ways = [(nano, pcap.Capture(some, nano=nano).save, [order])
                    for nano in (False, True)]
            ways += [(nano, pcap.Capture(some).save_ng, [resol, order])
                     for resol, nano in ((None, False), (6, False), (7, True), (0x80 | 19, False),
                                         (0x80 | 20, True))]
            for nano, save, how in ways:
                save(path, *how)
                got = read(open(path, "rb"), "pcap", "key=frame")
                with open(out, "wb") as f:
                    f.write(got.prologue + got.raw)
                made = pcap.load(out)
                faults.append(differ(how, (made.nano, made.packets), (nano, some)))
    return first(faults)


def odd_captures():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in")
        some = [pcap.Packet(i, b"x" * (i + 1)) for i in range(3)]
        pcap.Capture(some, pcap.USER0).save(path)
        flow = read(open(path, "rb"), "pcap", "key=flow")
        frame = read(open(path, "rb"), "pcap", "key=frame")
        big = [pcap.Packet(i, bytes([i]) * 200000) for i in range(40)]
        pcap.Capture(big).save(path)
        wide = read(open(path, "rb"), "pcap", "key=frame")
        long = [pcap.Packet(i, b"y" * 60 + bytes([i]) * 40) for i in range(9)]
        cut = []
        for order in "<>":
            pcap.Capture(long, snaplen=50).save(path, order)
            cut += [expect(read(open(path, "rb"), "pcap", "key=frame", *how),
                           [p.data for p in long]) for how in ((), ("drip",))]
    return first(cut) or \
        differ("snap length", struct.unpack_from("<I", wide.prologue, 16), (262144,)) or \
        differ("flows of another link", flow.error, EINVAL) or \
        expect(frame, [p.data for p in some]) or \
        differ("packets of 200000 bytes", wide.records, 40) or \
        differ("empty", read(b"", "pcap", "key=frame").error, EBADMSG) or \
        differ("text", read(b"a,b,c,d,e,f,g\n" * 9, "pcap", "key=frame").error,
               EBADMSG)


def mostly_keyless():
    """More packets without a key than are read at once, between others."""
    number, some = [(n, s) for _, n, s in model_packets()][0]
    arp = [pcap.Packet(0, bytes(12) + b"\x08\x06" + bytes(size))
           for size in [1486] * 9000 + [0] * 200000]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in")
        pcap.Capture(arp + some + arp + some, number).save(path)
        got = read(open(path, "rb"), "pcap", "key=flow")
    keys = keys_of(some, 2, packets.ETHER)
    return expect(got, keys * 2, 0, 2 * (len(arp) + len(some) - len(keys)))


def many_interfaces():
    """Interfaces, of which libpcap keeps 65536 per section at most."""
    number, some = [(n, s) for _, n, s in model_packets()][0]
    keys = keys_of(some, 0, packets.ETHER)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in")
        pcap.Capture(some, number).save_ng(path)
        whole = open(path, "rb").read()
    section = pcap.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    one = pcap.block(1, struct.pack("<HHI", number, 0, 1 << 18))
    big_section = struct.pack(">IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1,
                              28)
    big_one = struct.pack(">IIHHII", 1, 20, number, 0, 1 << 18, 20)
    for data, want in ((whole + section + one * 65536 + whole, keys * 2),
                       (whole + section + one * 65537, None),
                       (big_section + big_one * 65536, []),
                       (big_section + big_one * 65537, None)):
        got = read(data, "pcap", "key=frame")
        faults.append(expect(got, want) if want is not None else
                      differ("error", (got.error, "interfaces" in got.why),
                             (EBADMSG, True)))
    return next((f"case {i}: {f}" for i, f in enumerate(faults) if f), None)


def without_packets():
    """Of sections and interfaces without a packet, up to 2 MiB wait, less the piece that is read
    next. A piece may begin with the packet before them, and another end with the one behind.
    """
    number, some = [(n, s) for _, n, s in model_packets()][0]
    keys = keys_of(some, 0, packets.ETHER)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in")
        pcap.Capture(some, number).save_ng(path)
        whole = open(path, "rb").read()
    one = pcap.block(1, struct.pack("<HHIHH", number, 0, 1 << 18, 1, 65532) + bytes(65536))
    least, most = (((2 << 20) + more * (64 << 10)) // len(one) for more in (-2, 3))
    got = read(whole + one * most + whole, "pcap", "key=frame")
    return expect(read(whole + one * least + whole, "pcap", "key=frame"), keys * 2) or \
        expect(got, keys, EBADMSG) or differ("why", "more than 2 MiB" in got.why, True)


def odd_blocks():
    """Blocks that are not packets, between packets: skipped if valid, of any length and
    number, and cut at any place of a read."""
    number, some = [(n, s) for _, n, s in model_packets()][0]
    some = some[:40]
    keys = keys_of(some, 0, packets.ETHER)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in")
        pcap.Capture(some, number).save_ng(path)
        whole = open(path, "rb").read()
    odd = b"".join(pcap.block(0xBAD + n, bytes(4 * n)) for n in range(9))
    bad = bytearray(pcap.block(0xBAD, bytes(100)))
    bad[-1] ^= 1
    short = bytearray(pcap.block(0xBAD, b""))
    short[-1] ^= 1
    faults = []
    for fill in range(0, 1 << 16, 997):
        data = whole + pcap.block(5, bytes(fill * 4)) + odd + whole
        faults.append(expect(read(data, "pcap", "key=frame"), keys * 2))
    for tail, text in ((bytes(bad), "two lengths of a block differ"),
                       (bytes(short), "two lengths of a block differ"),
                       (pcap.block(0xBAD, bytes(1 << 16))[:-1], "truncated"),
                       (odd[:7], "truncated"),
                       (struct.pack("<III", 0xBAD, 13, 13), "multiple of 4"),
                       (struct.pack("<III", 0xBAD, 8, 8), "pcapng"),
                       (pcap.block(6, bytes(1 << 20)), "longer than 1 MiB")):
        got = read(whole + tail, "pcap", "key=frame")
        faults.append(expect(got, keys, EBADMSG))
        faults.append(differ("why", text in got.why or got.why, True))
    late = whole[:28] + pcap.block(0xBAD, bytes(1 << 20)) * 65 + whole[28:]
    got = read(late, "pcap", "key=frame")
    faults.append(expect(got, [], EBADMSG))
    return first(faults)


def cut_files():
    """(format, bytes, complete units of it)"""
    some = [p for _, _, p in model_packets()][0][:3]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in")
        for save in (lambda c: c.save(path), lambda c: c.save_ng(path)):
            save(pcap.Capture(some))
            yield "pcap", open(path, "rb").read(), "key=frame"
    flows = model_flows()[:3]
    yield "ipfix", b"".join(IPFIX[1][0]), "key=flow"
    yield "nfdump", (NFDUMP + "".join(f.nfdump() for f in flows)).encode(), \
        "key=flow"


def cut_anywhere():
    """A prefix of the records, an error if a unit is cut, and no crash."""
    step = 7 if "sanitized" in READREC else 1
    for form, data, key in cut_files():
        whole = read(data, form, key)
        if not whole.pairs:
            return f"{form}: {whole.why}"
        for n in range(1, len(data), step):
            got = read(data[:n], form, key, "skip-bad")
            if got.digests != whole.digests[:got.records]:
                last = got.digests[:-1] == whole.digests[:got.records - 1]
                if form != "nfdump" or not last:
                    return f"{form}, {n} bytes: {got.digests}"
            if n in (1, len(data) - 1) and form != "nfdump" and not got.error:
                return f"{form}, {n} bytes: no error"
    return None


CASES = [
    ("nfdump: the keys of packets, all protocols", nfdump_model),
    ("nfdump: peers, conversations, the reverse", nfdump_made),
    ("nfdump: columns, protocols, summaries", nfdump_variants),
    ("nfdump: lines that are no flows", nfdump_bad),
    ("nfdump's own output of real traffic", real_nfdump),
    ("IPFIX by libfixbuf: the keys of packets", ipfix_libfixbuf),
    ("IPFIX by hand, sound and not", ipfix_by_hand),
    ("IPFIX: templates that change", ipfix_changing),
    ("IPFIX: what is no message", ipfix_no_message),
    ("IPFIX: what a file makes us remember", ipfix_bounds),
    ("IPFIX: how many fields a template has", template_bounds),
    ("files that are dear to read: many short calls", bounded_calls),
    ("captures: the keys of packets", captures),
    ("captures: microseconds stay so, and nanoseconds", precisions),
    ("captures of other links, of large packets, none", odd_captures),
    ("a capture of packets most of which have no key", mostly_keyless),
    ("captures of many interfaces", many_interfaces),
    ("captures of long interfaces without a packet", without_packets),
    ("captures with blocks that are no packets", odd_blocks),
    ("files cut off anywhere", cut_anywhere),
]

if __name__ == "__main__":
    tap.main([case for case in CASES
              if case[1].__name__ in sys.argv[1:] or not sys.argv[1:]])
