#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""epfctl dedup --inner, --mask, --ignore and -d: each verdict compared with that of the model
(selftests/model/views.py), and with editcap's where it has the option. Also --after,
--before, and output that does not wait.
"""

import datetime
import functools
import os
import subprocess
import threading
import time

import oracle
import pcap
import tap
import test_modes as modes
import tool
from test_modes import frames, model

import views

WINDOW = 300
NO_KEY = model.Truncated, model.Malformed, model.NotIp, model.Fragment


# carriers: the bytes that IP carries, or an Ethernet frame's type and bytes

def gre(rng, kind, payload, number=False):
    """GRE with any of its options; @number: with a sequence number."""
    has_sum, has_key = rng.random() < .5, rng.random() < .5
    first = has_sum << 7 | has_key << 5 | number << 4
    words = has_sum + has_key + number
    return bytes([first, 0]) + frames.be16(kind) + rng.randbytes(4 * words) + payload


def vxlan(rng, payload):
    return frames.be16(rng.randint(1024, 65535)) + frames.be16(4789) + \
        frames.be16(16 + len(payload)) + b"\0\0" + b"\x08\0\0\0" + rng.randbytes(4) + payload


def labels(rng, payload):
    stack = [bytearray(rng.randbytes(4)) for _ in range(rng.randint(1, 4))]
    for label in stack:
        label[2] &= 0xFE
    stack[-1][2] |= 1
    return b"".join(map(bytes, stack)) + payload


def erspan3(rng, payload):
    more = rng.randint(0, 1)
    return rng.randbytes(11) + bytes([rng.randbytes(1)[0] & 0xFE | more]) + \
        rng.randbytes(8 * more) + payload


def carriers(rng, data, link):
    """[(protocol of IP, or None for MPLS below Ethernet, bytes)]"""
    if link == model.ETHER:
        word = b"\0" + rng.randbytes(3)
        return [(17, vxlan(rng, data)), (47, gre(rng, 0x6558, data)),
                (47, gre(rng, 0x88BE, data)),
                (47, gre(rng, 0x88BE, rng.randbytes(8) + data, True)),
                (47, gre(rng, 0x22EB, erspan3(rng, data), True)),
                (47, gre(rng, 0x8847, labels(rng, word + data))),
                (None, labels(rng, word + data))]
    out = [(None, labels(rng, data)), (47, gre(rng, 0x8848, labels(rng, data)))]
    kind = {4: 0x0800, 6: 0x86DD}.get(data[0] >> 4 if data else 0)
    return out + [(47, gre(rng, kind, data))] if kind else out


def wrap(rng, data, link):
    """An Ethernet frame that carries the packet."""
    proto, payload = rng.choice(carriers(rng, data, link))
    tags = [(0x8100, rng.randint(1, 4094))] * rng.randint(0, 2)
    if proto is None:
        return frames.ether(rng.choice((0x8847, 0x8848)), payload, tags)
    if rng.random() < .5:
        chain = frames.ext(proto) if rng.random() < .3 else b""
        packet = frames.ip6(60 if chain else proto, chain + payload, rng.randint(1, 255))
        return frames.ether(0x86DD, packet, tags)
    packet = frames.ip4(proto, payload, rng.randint(1, 255), rng.randint(0, 65535),
                        options=bytes(4 * rng.randint(0, 2)))
    return frames.ether(0x0800, packet + bytes(rng.randint(0, 1) * 6), tags)


def spoilt(rng, frame):
    """A frame with one byte changed, or cut."""
    if rng.random() < .5 or not frame:
        return frame[:rng.randint(0, len(frame))]
    at = rng.randrange(min(len(frame), 80))
    return frame[:at] + rng.randbytes(1) + frame[at + 1:]


def tunnels(count=6000):
    """Packets in up to three carriers, again in others, some of them damaged."""
    rng = tap.drawn(11)
    pool = [(f, k) for k, f, _ in frames.all_frames() if k in (model.ETHER, model.IP)]
    pool = rng.sample(pool, min(len(pool), 120))
    out = []
    for i in range(count):
        data, link = rng.choice(pool)
        for _ in range(rng.randint(0 if link == model.ETHER else 1, 3)):
            data, link = wrap(rng, data, link), model.ETHER
        if rng.random() < .3:
            data = spoilt(rng, data)
        out.append(pcap.Packet((10**9 + i) * 1000, data, len(data) + rng.choice((0, 0, 4))))
    return pcap.Capture(out)


def too_deep():
    """One carrier more than the tool leaves out, and more labels than a stack may have."""
    rng = tap.drawn(12)
    data = frames.ether(0x0800, frames.ip4(6, frames.ports(1, 2)))
    out = []
    for depth in range(12):
        out += [data] * 2
        data = frames.ether(0x0800, frames.ip4(47, gre(rng, 0x6558, data)))
    for nr in range(14, 19):
        stack = bytes(4) * (nr - 1) + b"\0\0\x01\0"
        out += [frames.ether(0x8847, stack + frames.ip4(6, frames.ports(nr, 2)))] * 2
        out += [frames.ether(0x0800, frames.ip4(6, frames.ports(nr, 2)))]
    return pcap.Capture(pcap.Packet(i * 1000, f) for i, f in enumerate(out))


# TCP

OPTION_LISTS = b"", bytes([1] * 4), bytes(range(12)), bytes(range(1, 13)), bytes(40)


def tcp(rng, vary, payload):
    """A segment whose ports and data are drawn from @rng, and what can be masked from @vary.
    """
    options = vary.choice(OPTION_LISTS)
    size = 20 + len(options)
    if rng.random() < .1:  # below five words, or beyond the datagram
        size = rng.choice((16, 60))
    return frames.be16(rng.randint(1, 3)) + frames.be16(80) + \
        vary.choice((b"\0\0\0\1\0\0\0\2", b"\0\0\0\3\0\0\0\4")) + \
        bytes([size << 2 & 0xF0 | 5, 0x18]) + b"\4\0" + vary.choice((b"\1\2", b"\3\4")) + \
        b"\0\0" + options + payload


def one_tcp(rng, vary):
    """(EtherType, datagram)"""
    segment = tcp(rng, vary, rng.choice((b"", b"data", b"data" * 9)))
    tos = vary.choice((0, 0, 0x28, 0xB9))
    if rng.random() < .5:
        chain = frames.ext(6) if rng.random() < .3 else b""
        ip = frames.ip6(60 if chain else 6, chain + segment)
        return 0x86DD, bytes([ip[0] | tos >> 4, ip[1] | tos << 4 & 0xFF]) + ip[2:]
    flags = rng.choice((0x4000, 0x4000, 0x2000, 0x0010))
    ip = frames.ip4(6, segment, flags=flags, sums=vary.randint(1, 2), ident=1)
    return 0x0800, ip[:1] + bytes([tos]) + ip[2:]


def segments(count=6000):
    """Segments that differ in what can be masked, and sometimes in more."""
    rng = tap.drawn(13)
    pool = []
    for i in range(60):
        pool += [frames.ether(*one_tcp(tap.drawn(i), rng)) for _ in range(6)]
    pool += [f[:n] for f in pool[:20] for n in range(14, len(f), 7)]
    out = []
    for i in range(count):
        data = rng.choice(pool) + b"\xa5" * rng.choice((0, 0, 6))
        out.append(pcap.Packet((10**9 + i) * 1000, data, len(data) + rng.choice((0, 0, 4))))
    return pcap.Capture(out)


def tails():
    """Frames of all lengths, each next to longer ones that end with it."""
    rng = tap.drawn(14)
    tail = rng.randbytes(40)
    data = [rng.randbytes(rng.choice((0, 20))) + tail[:rng.randint(1, 40)] for _ in range(900)]
    return pcap.Capture(pcap.Packet(i * 1000, d) for i, d in enumerate(data))


# the model's verdict

def key_of(how, key, flags=0, max_bytes=0):
    """@how: {"inner", "masks", "ignore"}"""
    def of(packet):
        view = packet.data, packet.length, model.ETHER
        whole = True
        if how.get("inner"):
            view, _ = views.inner(view)
        if how.get("masks"):
            view = views.masked(view, how["masks"])
        if how.get("ignore"):
            view, whole = views.without(view, how["ignore"])
        data, length, link = view
        try:
            return modes.whole_key(pcap.Packet(0, data, length), link, key, flags,
                                   max_bytes), whole
        except NO_KEY:
            return None
    return of


def by_view(make, how, options, key, *rest):
    """The table removes exactly what is near; the filter what its epochs have."""
    capture = make()
    path = capture.save(tool.tmp("views.pcap"))
    of = key_of(how, key, *rest)
    want = oracle.near(capture.packets, WINDOW, key_of=of)
    out, report = tool.dedup(path, "-D", WINDOW, *options)
    if not any(want):
        return "nothing to remove: the test tests nothing"
    fault = modes.first_difference(oracle.align(capture.packets, out.packets), want)
    if fault:
        return f"table: {fault}"
    left = sum(views.inner((p.data, p.length, model.ETHER))[1] for p in capture.packets) \
        if how.get("inner") else 0
    if report["packets"]["inner"] != left:
        return f"outer headers left out of {report['packets']['inner']}, not {left}"
    return by_view_filter(path, capture, of, options)


@tap.twice
def by_view_filter(path, capture, of, options):
    want = oracle.verdicts(oracle.Window(packets=WINDOW), capture.packets, of)
    out, _ = tool.filtered(path, "-D", WINDOW, *options)
    fault = modes.first_difference(oracle.align(capture.packets, out.packets), want)
    return f"filter: {fault}" if fault else None


# editcap

def ignore_as_editcap(find, n):
    """To the packet, but for frames that are no longer than what is ignored: editcap
    compares those with the rest of others.
    """
    path = find()
    packets = pcap.load(path).packets
    if any(len(p.data) <= n or len(p.data) != p.length for p in packets):
        raise tap.Skip("it has frames that are cut or short")
    ours, _ = tool.dedup(path, "-D", 50, "-I", n)
    theirs = tool.editcap(path, "-I", n, "-D", 51)
    return None if ours.packets == theirs.packets else \
        f"{len(ours.packets)} packets, editcap keeps {len(theirs.packets)}"


def short_window(find):
    path = find()
    want, _ = tool.dedup(path, "-D", "5")
    out, report = tool.dedup(path, "-d")
    return None if out.packets == want.packets else "not as -D 5"


# time stamps, and pipes

def stamped(count=3000):
    """Time stamps that go forth and back by seconds, and repeats within and across them."""
    rng = tap.drawn(15)
    ns, out = 1_700_000_000 * 10**9, []
    for i in range(count):
        ns += rng.randint(-10**9, 2 * 10**9)
        out.append(pcap.Packet(ns // 1000 * 1000, b"%030d" % rng.randint(0, 200)))
    return pcap.Capture(out)


def iso(ns):
    at = datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ns % 10**9:09d}Z"


def between(after, before, *options):
    """What is outside is neither written nor remembered. @after, @before: packet numbers."""
    capture = stamped()
    path = capture.save(tool.tmp("stamped.pcap"))
    low = capture.packets[after].ns if after is not None else 0
    high = capture.packets[before].ns if before is not None else 1 << 63
    inside = [p for p in capture.packets if low <= p.ns < high]
    if not 0 < len(inside) < len(capture.packets):
        return "all or nothing is inside: the test tests nothing"
    limits = ("-A", iso(low)) * (after is not None) + \
        ("--before", f"{high / 10**9:.9f}") * (before is not None)
    if before is not None and abs(int(float(limits[-1]) * 10**9) - high) > 1000:
        return "the time is not exact"
    want, _ = tool.dedup(pcap.Capture(inside).save(tool.tmp("inside.pcap")), *options)
    out, report = tool.dedup(path, *limits, *options)
    if report["packets"]["outside"] != len(capture.packets) - len(inside):
        return f"{report['packets']['outside']} are outside"
    if report["packets"]["read"] != len(inside):
        return f"{report['packets']['read']} are read"
    return None if out.packets == want.packets else "not as from what is inside"


def prompt(save):
    """Each packet comes out of a pipe before the next one goes in."""
    count = 5
    whole = open(save(pcap.Capture(pcap.Packet(10**18, b"%040d" % i) for i in range(count))),
                 "rb").read()
    ends = [whole.index(b"%040d" % i) + 40 for i in range(count)] + [len(whole)]
    ends = [end + -end % 4 + 4 for end in ends[:-1]] + ends[-1:] if whole[0] == 10 else ends
    got, at = b"", 0
    with subprocess.Popen([tool.EPFCTL, "dedup", "-d", "-", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        killer = threading.Timer(120, run.kill)
        killer.start()
        for i, end in enumerate(ends[:-1]):
            run.stdin.write(whole[at:end])
            run.stdin.flush()
            at = end
            while b"%040d" % i not in got:
                some = os.read(run.stdout.fileno(), 1 << 16)
                if not some:
                    return f"packet {i} does not come out"
                got += some
        run.stdin.write(whole[at:])
        run.stdin.close()
        got += run.stdout.read()
        killer.cancel()
    with open(tool.tmp("prompt.pcap"), "wb") as f:
        f.write(got)
    return None if run.returncode == 0 and len(got) >= len(whole) else "the end is missing"


def reader_gone():
    """Nobody reads the output any more: soon a packet ends it, with the input still open."""
    path = pcap.Capture([pcap.Packet(10**18, b"%040d" % 1)]).save(tool.tmp("gone.pcap"))
    with open(path, "rb") as f:
        whole = f.read()
    with subprocess.Popen([tool.EPFCTL, "dedup", "-d", "--action", "count", "-", "-"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, bufsize=0) as run:
        killer = threading.Timer(60, run.kill)
        killer.start()
        run.stdin.write(whole)
        os.read(run.stdout.fileno(), 1)
        run.stdout.close()
        try:
            while run.poll() is None:
                time.sleep(.02)  # it is idle between packets
                run.stdin.write(whole[24:])
        except BrokenPipeError:
            pass
        why = run.stderr.read()
        killer.cancel()
    return None if run.returncode == 2 and b"Broken pipe" in why else f"{run.returncode}: {why}"


REFUSED = [
    (("--after", "yesterday"), "not a time such as"),
    (("--before", "-1"), "not a time such as"),
    (("-A", "2026-03-01T12:00:00Z", "-B", "2026-03-01T12:00:00Z"), "--before must be later"),
    (("--ignore", "14", "--key", "packet"), "--ignore goes with --key frame"),
    (("--nonip", "frame", "--key", "packet"), "--nonip frame goes with --key flow only"),
    (("--no-mac", "--key", "frame"), "--no-mac goes with --key packet only"),
    (("--no-vlan", "--key", "flow"), "--no-vlan goes with --key packet only"),
    (("--bytes", "64", "--key", "flow"), "--bytes goes with --key frame and packet only"),
    (("--prefix", "24", "--key", "flow"), "--prefix goes with --key peer and peer-port only"),
    (("--reverse", "--key", "packet"), "--reverse does not go with --key frame"),
    (("--errors", "--key", "packet"), "--errors does not go with --key frame"),
    (("--fragments", "pass", "--key", "packet"), "--fragments pass does not go with --key frame"),
    (("--zone", "3", "--key", "packet"), "--zone does not go with --key frame"),
    (("--scope", "iface", "--key", "packet"), "--scope does not go with --key frame"),
    (("--zone", "3", "--scope", "mark", "--key", "flow"), "--zone and --scope mark exclude"),
    (("--reverse", "--key", "conversation"), "--reverse does not go with --key conversation"),
    (("--fragments", "pass", "--key", "peer"), "--fragments pass does not go with --key peer"),
    (("--nonip", "frame", "--reverse", "--key", "flow"), "--nonip frame does not go with"),
    (("--mask", "tos", "--key", "flow"), "--mask goes with --key frame and packet"),
    (("--mask", "ttl"), "not a list of tos, seq, options"),
    (("--mask", "tos,"), "not a list of tos, seq, options"),
    (("--mask", ""), "not a list of tos, seq, options"),
    (("--ignore", "65536"), "--ignore"),
    (("--ignore", "-1"), "--ignore"),
    (("-d", "-w", "1"), "-D and -w exclude each other"),
]


def refused():
    path = pcap.Capture([pcap.Packet(0, bytes(60))]).save(tool.tmp("one.pcap"))
    for options, why in REFUSED:
        run = tool.epfctl("dedup", *options, path, tool.tmp("out.pcap"))
        if run.returncode != 2 or why not in run.stderr.decode():
            return f"{options}: {run.returncode}, {run.stderr.decode()}"
    return None


def cases():
    bind = functools.partial
    inner = {"inner": True}
    every = views.TOS | views.SEQ | views.OPTIONS
    out = []
    for make in tunnels, too_deep:
        for options, *key in ((("--key", "frame"), model.FRAME),
                              (("--key", "packet", "--no-mac"), model.PACKET, model.NO_MAC),
                              (("--key", "flow"), model.FLOW)):
            out.append((f"{make.__name__}: --inner {' '.join(options)}",
                        bind(by_view, make, inner, ("--inner", *options), *key)))
    for name, masks in (("tos", views.TOS), ("seq", views.SEQ), ("options", views.OPTIONS),
                        ("tos,seq,options", every)):
        for key in "frame", "packet":
            number = {"frame": model.FRAME, "packet": model.PACKET}[key]
            out.append((f"segments: --mask {name} --key {key}",
                        bind(by_view, segments, {"masks": masks},
                             ("--mask", name, "--key", key), number)))
    out += [("tunnels: --inner --mask tos,options",
             bind(by_view, tunnels, {"inner": True, "masks": views.TOS | views.OPTIONS},
                  ("--inner", "--mask", "tos", "--mask", "options", "--key", "packet"),
                  model.PACKET)),
            ("tunnels: --ignore 14",
             bind(by_view, tunnels, {"ignore": 14}, ("--ignore", "14"), model.FRAME)),
            ("tails: --ignore 20",
             bind(by_view, tails, {"ignore": 20}, ("--ignore", "20"), model.FRAME)),
            ("tunnels: --inner --ignore 20 --bytes 30",
             bind(by_view, tunnels, {"inner": True, "ignore": 20},
                  ("--inner", "-I", "20", "--bytes", "30"), model.FRAME, 0, 30)),
            ("--after", bind(between, 1000, None)),
            ("--before", bind(between, None, 2000)),
            ("--after, --before, by time", bind(between, 700, 2500, "-w", "60")),
            ("--after, --before, filter", bind(between, 700, 2500, "--filter", "-w", "60")),
            ("pcap through a pipe, packet by packet",
             bind(prompt, lambda c: c.save(tool.tmp("p.pcap")))),
            ("pcapng through a pipe, packet by packet",
             bind(prompt, lambda c: c.save_ng(tool.tmp("p.pcapng"), 9))),
            ("a reader of the output that goes away", reader_gone),
            ("-d is -D 5", bind(short_window, lambda: tunnels(500).save(tool.tmp("d.pcap")))),
            ("what does not go together is refused", refused)]
    out += [(f"{name} -I 26: what editcap removes",
             bind(ignore_as_editcap, bind(tool.real, folder, name), 26))
            for folder, name in tool.REAL]
    return out


if __name__ == "__main__":
    tool.need_epfctl()
    tap.main(tap.chosen(cases()))
