#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Packets through a veth pair with duplicate removal, against an exact oracle:
every repeat is dropped (counted, marked), no other packet is, every counter is
exact, in the driver and behind it, in one buffer and in many.
"""

import functools
import json
import os
import socket
import struct

import net
import netns
import tap
import frames as model_frames
import packets as model
import pcap
import tool

THOROUGH = os.environ.get("EPF_THOROUGH")
SO_RCVMARK, SO_MARK = 75, 36
FOREIGN = os.path.join(net.BUILT, "foreign.bpf.o")
TC_MARK = os.path.join(net.BUILD, "bpf/tc_mark.bpf.o")

PASS = model.PASS_CONTROL
KEYS = {
    "frame": (["--key", "frame", "--mirror"], (model.FRAME, 0, 0)),
    "first 40 bytes": (["--key", "frame", "--bytes", "40", "--mirror"],
                       (model.FRAME, 0, 40)),
    "packet": ([], (model.PACKET, PASS, 0)),
    "packet, mirror": (["--key", "packet", "--mirror"], (model.PACKET, 0, 0)),
    "packet without MACs and tags": (
        ["--key", "packet", "--no-mac", "--no-vlan"],
        (model.PACKET, PASS | model.NO_MAC | model.NO_VLAN, 0)),
    "flow": (["--key", "flow"], (model.FLOW, PASS, 0)),
    "flow, others by frame": (
        ["--key", "flow", "--nonip", "frame", "--mirror"],
        (model.FLOW, model.NONIP_FRAME, 0)),
    "conversation, in a zone": (
        ["--key", "conversation", "--errors", "--zone", "9"],
        (model.CONVERSATION, PASS | model.ERRORS | model.ZONE, 9 << 16)),
    "peer and port": (
        ["--key", "peer-port", "--prefix", "24,64", "--errors", "--fragments",
         "pass", "--scope", "vlan,iface"],
        (model.PEER_PORT, PASS | model.ERRORS | model.FIRST | model.VLAN |
         model.IFACE, 24 | 64 << 8)),
}


def same_but_forwarded(frame):
    """Change TTL and checksum as a router does; untagged IPv4 only."""
    if frame[12:14] != b"\x08\x00" or len(frame) < 34:
        return frame
    return frame[:22] + bytes([frame[22] - 1 & 255]) + frame[23:24] + \
        b"\xab\xcd" + frame[26:]


def odd_frames():
    """Return the packet vectors that fit into Ethernet."""
    out = []
    for link, frame, cuts in model_frames.all_frames() + \
            model_frames.flow_frames():
        if link != model.ETHER:
            continue
        out += [frame[:n] for n in cuts or [len(frame)]]
    return [f for f in out if 14 <= len(f) <= 1514]


def udp_frame(n, size=64):
    body = struct.pack(">HH", 8 + size, 0) + struct.pack(">I", n) * (size // 4)
    return model_frames.ether(0x0800, model_frames.ip4(
        17, model_frames.ports(1024 + n % 60000, 53, 0) + body))


def traffic(seed, size=None):
    """Return about 2,000 frames: unusual and plain ones, repeated at random, and all
    control packets, twice.
"""
    rng = tap.drawn(seed)
    sizes = size or (lambda: rng.choice((18, 64, 300, 1400)))
    pool = odd_frames() + [udp_frame(n, sizes()) for n in range(500)]
    out = [rng.choice(pool) for _ in range(1500)]
    out += 2 * [f for _, f, _ in model_frames.control() if 14 <= len(f)]
    rng.shuffle(out)
    return [same_but_forwarded(f) if rng.random() < .25 else f for f in out]


def outcomes(frames, key, flags, max_bytes):
    """Return the expected outcome of each frame."""
    seen, out = set(), []
    for f in frames:
        try:
            k = model.canonical(f, key, model.ETHER, flags, max_bytes)
        except model.Truncated:
            out.append("truncated")
        except model.Malformed:
            out.append("malformed")
        except model.NotIp:
            out.append("not_ip")
        except model.Fragment:
            out.append("fragment")
        except model.Control as told:
            out.append(told.name)
        else:
            out.append("recent" if k in seen else "absent")
            seen.add(k)
    return out


def tally(names, weights=None):
    out = {}
    for i, name in enumerate(names):
        out[name] = out.get(name, 0) + (weights[i] if weights else 1)
    return out


def stack_drops(frame):
    """A tag too short to be stripped; the kernel needs six bytes."""
    return frame[12:14] in (b"\x81\x00", b"\x88\xa8") and len(frame) < 20


def check(frames, want, attach_options, drops=True):
    # 4,000 keys in an epoch of 14,286: all four lines match by chance with probability
    # 1e-16
    tap.may_fail(1e-12)
    with net.Filter(), net.Attached(*attach_options) as on:
        got = net.through(frames)
        counters, octets = on.counters(), on.bytes()
    passed = [f for f, what in zip(frames, want)
              if not (drops and what == "recent") and not stack_drops(f)]
    return net.unlike(
        counters=(counters, tally(want)),
        bytes=(octets, tally(want, [len(f) for f in frames])),
        passed=(len(got), len(passed)),
        frames=(got == passed, True))


def key_case(mode, key, seed):
    options, oracle = KEYS[key]
    frames = traffic(seed)
    want = outcomes(frames, *oracle)
    if tally(want).get("recent", 0) < 200:
        return "the test has too few repeats"
    if oracle[1] & PASS and not set(model.Control.NAMES) <= set(want):
        return "the test has not every control packet"
    return check(frames, want, ["--mode", mode, *options])


def real_case(folder, name, key):
    """The first frames of a real capture, and a quarter of them a second time."""
    capture = pcap.load(tool.real(folder, name))
    if capture.link != pcap.EN10MB:
        raise tap.Skip(f"{name} is not of Ethernet")
    rng = tap.drawn(11)
    frames = []
    for p in capture.packets[:4000 if THOROUGH else 1500]:
        if 14 <= len(p.data) <= 1514:
            frames.append(p.data)
        if frames and rng.random() < .25:
            again = frames[-rng.randint(1, min(len(frames), 500))]
            frames.append(same_but_forwarded(again) if rng.random() < .25
                          else again)
    options, oracle = KEYS[key]
    return check(frames, outcomes(frames, *oracle), options)


def count_case(mode, *how):
    frames = traffic(7)
    return check(frames, outcomes(frames, model.FRAME, PASS, 0),
                 ["--mode", mode, "--key", "frame", "--action", "count", *how], drops=False)


def plain_case(mode):
    frames = traffic(8)
    return check(frames, outcomes(frames, model.PACKET, PASS, 0),
                 ["--mode", mode, "--no-dispatcher"])


def jumbo_case(mode, *how):
    """Frames of several buffers that differ only in their last bytes."""
    frames = [udp_frame(0, 8000)[:-1] + bytes([n % 50]) for n in range(200)]
    frames += [udp_frame(n % 40, n % 40 * 200) for n in range(200)]
    net.set_mtu(9000)
    try:
        return check(frames, outcomes(frames, model.PACKET, PASS, 0),
                     ["--mode", mode, *how])
    finally:
        net.set_mtu(1500)


class Marks:
    """A UDP socket in B that sees the mark of the packets it receives."""

    ADDRESS = "192.0.2.9"

    def __init__(self):
        link = json.loads(net.in_b("ip", "-j", "link", "show",
                                   net.B).stdout)[0]
        self.mac = bytes.fromhex(link["address"].replace(":", ""))
        net.in_b("ip", "addr", "add", self.ADDRESS + "/24", "dev", net.B)
        with netns.entered(net.NS_B):
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((self.ADDRESS, 53))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVMARK, 1)
        self.sock.setblocking(False)

    def frame(self, n):
        """Return a UDP packet to the socket, with valid checksums."""
        data = struct.pack(">I", n)
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(data), n, 0, 64,
                           17, 0, bytes([192, 0, 2, 8]), bytes([192, 0, 2, 9]))
        total = sum(struct.unpack(">10H", head))
        total = ~(total + (total >> 16)) & 0xFFFF
        head = head[:10] + struct.pack(">H", total) + head[12:]
        udp = struct.pack(">HHHH", 1000, 53, 8 + len(data), 0)
        return self.mac + model_frames.MACS[6:] + b"\x08\x00" + head + udp + \
            data

    def received(self):
        """Return (number, mark) of each packet."""
        out = []
        while True:
            try:
                data, control = self.sock.recvmsg(64, 64)[:2]
            except BlockingIOError:
                return out
            mark = [struct.unpack("I", d)[0] for level, kind, d in control
                    if (level, kind) == (socket.SOL_SOCKET, SO_MARK)]
            out.append((struct.unpack(">I", data)[0], (mark or [0])[0]))

    def close(self):
        self.sock.close()
        net.in_b("ip", "addr", "flush", "dev", net.B)


def mark_case(mode, base, *how):
    """New packets are unmarked; repeats are marked with their age: 0, then 3."""
    marks = Marks()
    first, old = base or 0xef00, (base or 0xef00) + 3
    options = ["--mode", mode, "--action", "mark", *how]
    if base:
        options += ["--mark", hex(base)]
    try:
        with net.Filter(), net.Attached(*options) as on:
            net.send([marks.frame(n) for n in (1, 2, 1)])
            net.epfctl("rotate", net.FILTER, "--count", 3)
            net.send([marks.frame(n) for n in (2, 3, 2)])
            net.eventually(lambda: sum(on.counters().values()) == 6)
            got, counters = marks.received(), on.counters()
    finally:
        marks.close()
    return net.unlike(
        marks=(got, [(1, 0), (2, 0), (1, first), (2, old), (3, 0),
                     (2, first)]),
        counters=(counters, {"absent": 3, "recent": 3}))


def foreign_case():
    """Metadata of another program is no mark, although it is as long."""
    marks, pinned = Marks(), "/sys/fs/bpf/epf_test_mark"
    try:
        net.in_b("ip", "link", "set", net.B, "xdp", "obj", FOREIGN, "sec",
                 "xdp")
        net.run("bpftool", "prog", "load", TC_MARK, pinned, "type",
                "classifier")
        net.in_b("tc", "qdisc", "add", "dev", net.B, "clsact")
        net.in_b("tc", "filter", "add", "dev", net.B, "ingress", "bpf", "da",
                 "object-pinned", pinned)
        net.send([marks.frame(n) for n in range(3)])
        got = []
        net.eventually(lambda: got.extend(marks.received()) or len(got) == 3)
    finally:
        net.in_b("tc", "qdisc", "del", "dev", net.B, "clsact", check=False)
        net.in_b("ip", "link", "set", net.B, "xdp", "off", check=False)
        if os.path.exists(pinned):
            os.unlink(pinned)
        marks.close()
    return net.unlike(marks=(got, [(0, 0), (1, 0), (2, 0)]))


def mark_passes_all(mode):
    frames = traffic(9)
    want = outcomes(frames, model.FLOW, PASS, 0)
    return check(frames, want, ["--mode", mode, "--key", "flow", "--action",
                                "mark", "--no-dispatcher"], drops=False)


def saturated_case():
    """Ten times the rate it was sized for: above its limit the filter lets everything pass,
    and drops repeats again when the flood has left. Its window does not end before it is
    rotated explicitly.
"""
    flood = [udp_frame(n) for n in range(10000)]
    again = [udp_frame(n) for n in range(20000, 20020)]
    tap.may_fail(1e-7)  # each of these: below 1e-9, with 19 of 143 in the epoch
    shape = ("--time", "1h", "--rate", 1000 / 3600, "-b", "1e-4")

    def saturated():
        return "SATURATED" in net.epfctl("show", net.FILTER).stdout

    with net.Filter(*shape), net.Attached() as on:
        net.send(flood)
        if not net.eventually(saturated):
            return "the filter does not become saturated"
        before = on.counters()
        got = net.through(flood[-500:])
        after = on.counters()
        net.epfctl("rotate", net.FILTER, "--count", 8)
        if not net.eventually(lambda: not saturated()):
            return "the filter does not recover"
        back = net.through(again + again)
    failed_open = after.get("saturated", 0) - before.get("saturated", 0)
    return net.unlike(
        passed=(len(got), 500), saturated=(failed_open > 0, True),
        recent=(after.get("recent"), before.get("recent")),
        all=(sum(after.values()), 10500), recovered=(back == again, True))


def first_seen_case():
    """Two filters with a window of 70: with --first-seen a key is forgotten a window after
    it was first seen, else never while it keeps coming. If no process has time to end
    epochs meanwhile, it may stay longer: then send more.
"""
    tap.may_fail(1e-6)  # 300 keys; a time in fail-open mode is not counted

    def forgotten(*how):
        """Return how often a key that came 300 times was new again; with --first-seen it
        comes up to 300 times as often until it was.
"""
        with net.Filter("-W", 70, "-b", "1e-9", "--limit", "never", *how), \
                net.Attached() as on:
            for turn in range(20 if how else 1):
                net.send([udp_frame(0) if n % 2 else
                          udp_frame(1 + turn * 600 + n) for n in range(600)],
                         per_s=200)
                all = (turn + 1) * 600
                net.eventually(lambda: sum(on.counters().values()) == all)
                again = all // 2 - 1 - on.counters()["recent"]
                if again:
                    break
        return again
    return net.unlike(refresh=(forgotten(), 0),
                      first_seen=(forgotten("--first-seen") > 0, True))


def keys_of(mode):
    """What the program does with a key depends neither on the key nor on the mode, and
    ebpf/attach tries every key natively: in part here.
"""
    if THOROUGH:
        return KEYS
    return ["packet"] if mode == "generic" else \
        ["frame", "packet", "packet without MACs and tags", "peer and port"]


def ways_of(mode):
    """With and without a dispatcher, in one buffer and in many: each in one mode, or in both."""
    of, bare = functools.partial, "--no-dispatcher"
    native = [("marked, all passed", of(mark_passes_all, mode)),
              ("without a dispatcher", of(plain_case, mode)),
              ("many buffers", of(jumbo_case, mode))]
    generic = [("many buffers, without a dispatcher", of(jumbo_case, mode, bare))]
    return native + generic if THOROUGH else native if mode == "native" else generic


def cases():
    of, out = functools.partial, []
    for mode in "native", "generic":
        out += [(f"{mode}: {key}: repeats dropped, nothing else", of(key_case, mode, key, seed))
                for seed, key in enumerate(keys_of(mode))]
        out += [(f"{mode}: {name}", case) for name, case in [
            ("repeats counted, all passed", of(count_case, mode)),
            ("the mark tells the age", of(mark_case, mode, 0, "--no-dispatcher")),
            *ways_of(mode)]]
    for folder, name in tool.REAL:
        for key in ("frame", "packet", "flow") if THOROUGH else ("packet",):
            out.append((f"{name}: {key}", of(real_case, folder, name, key)))
    return out + [
        ("the first mark is as asked for",
         of(mark_case, "native", 0x100, "--no-dispatcher")),
        ("metadata of others is no mark", foreign_case),
        ("a saturated filter fails open, and recovers", saturated_case),
        ("refresh and first-seen", first_seen_case),
    ]


if __name__ == "__main__":
    net.require()
    net.make_net()
    tap.main(cases())
