#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""attach --reflexive on a capture of real traffic, in both directions and in its order, and
on the same traffic in other forms: with VLAN tags, as IPv6, fragmented, and with ICMP
errors between. The reference model predicts the outcome of each packet.
"""

import functools
import os
import struct
import sys

import reflex_hosts as hosts
from reflex_hosts import Attached, Filter, Holder, arrived, net, tap
import reflex_packets as packets
import stage

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model"))
import packets as model  # noqa: E402

CAPTURE = os.path.join(net.BUILD, "data/real.pcap")
FRAMES = 62781 if os.environ.get("EPF_THOROUGH") else 6000
INSIDE = bytes.fromhex("08002734f2dc")  # MAC address of the host that sends most of it
OUTSIDE = bytes.fromhex("080027f3331f")
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
NOBODY = bytes.fromhex("02000000000102000000000a")  # so that no stack answers any of it
DROP = ["--match", "any", "--else", "drop", "--if-unknown", "accept", "--fragments", "pass"]


def frames_of(path, most):
    """Return (frame, sent) of an Ethernet capture, for the frames between the two hosts
    that fit."""
    with open(path, "rb") as f:
        data = f.read()
    at, out = 24, []
    while at + 16 <= len(data) and len(out) < most:
        length = struct.unpack("<I", data[at + 8:at + 12])[0]
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        if frame[6:12] in (INSIDE, OUTSIDE) and length <= 1500:
            out.append((NOBODY + frame[12:], frame[6:12] == INSIDE))
    return out


def carries(frame):
    """Return (protocol, payload) of an IPv4 packet that is not fragmented, or None."""
    if frame[12:15] != b"\x08\x00\x45" or model.be(frame[20:22]) & 0x3FFF:
        return None
    return frame[23], frame[34:14 + model.be(frame[16:18])]


def spoofed(frame, rng):
    """Return the frame with another source port or address."""
    at = rng.choice((29, 35)) if carries(frame) else 0
    return frame[:at] + bytes([frame[at] ^ rng.randrange(1, 256)]) + frame[at + 1:]


def tagged(frame, _):
    return frame[:12] + b"\x88\xa8\x00\x07\x81\x00\x20\x09" + frame[12:]


def mapped(address):
    return bytes.fromhex("20010db8000600000000ffff") + address


def as_ip6(frame, _):
    found = carries(frame)
    if not found or found[0] == 1:
        return frame
    return frame[:12] + b"\x86\xdd" + packets.ip6(*found, mapped(frame[26:30]),
                                                mapped(frame[30:34]))


def fragments(frame):
    """Split into two fragments, if there are enough bytes: the first one has the ports."""
    found = carries(frame)
    if not found or len(found[1]) < 40:
        return [frame]
    ends, (proto, payload) = (frame[26:30], frame[30:34]), found
    return [frame[:14] + packets.ip4(proto, payload[:32], *ends, flags=0x2000),
            frame[:14] + packets.ip4(proto, payload[32:], *ends, flags=32 // 8)]


def error_about(frame):
    """Return what a router on the way sends back, from an address that no flow has."""
    body = b"\x03\x01\0\0" + bytes(4) + frame[14:14 + 28]
    return frame[:14] + packets.ip4(1, body, bytes([203, 0, 113, 9]), frame[26:30])


def traffic(rng, change=None, fragmented=False, errors=False):
    """The capture, with every fourth packet from outside repeated from another source."""
    for frame, sent in frames_of(CAPTURE, FRAMES):
        mine = [(frame, sent)]
        if not sent and not rng.randrange(4):
            mine.append((spoofed(frame, rng), False))
        if errors and carries(frame) and not rng.randrange(4):
            mine += [(error_about(f), not s) for f, s in mine]
        for f, s in mine:
            for part in fragments(f) if fragmented else [f]:
                yield change(part, rng) if change else part, s


def protocol_of(frame):
    ip = model.network_layer(*model.link_layer(frame, model.ETHER)[2:])
    ip.walk(False)
    return ip.proto


def matched(frame, flags):
    """Return the reason why there is no key, or None; as with --match any."""
    try:
        flow = model.flow_of(frame, model.FLOW, model.ETHER, flags)
    except model.NotIp:
        return "other"
    except model.Fragment:
        return "fragment" if protocol_of(frame) in model.PORT_PROTOS else "other"
    except model.Truncated:
        return "truncated"
    except model.Malformed:
        return "malformed"
    return None if flow.proto in model.PORT_PROTOS else "other"


KEYS = {"flow": (model.FLOW, model.REVERSE, 0),
        "conversation": (model.CONVERSATION, 0, 0),
        "peer-port": (model.PEER_PORT, 0, model.REVERSE),
        "peer": (model.PEER, 0, model.REVERSE)}  # what the lookup uses, what the insertion uses


class Oracle:
    """Exact: the set of keys that were sent."""

    def __init__(self, key):
        self.key, *self.flags = KEYS[key]
        self.keys = set()
        self.reasons = {"learn": {}, "ask": {}}

    def judge(self, frame, sent):
        flags = self.flags[sent] | (0 if sent else model.ERRORS)
        reason = matched(frame, flags | model.FIRST)
        if self.key != model.PEER:
            flags |= model.FIRST
        if not reason:
            key = model.flow_bytes(frame, model.ETHER, self.key, flags)
            reason = "learnt" if sent else "recent" if key in self.keys else "absent"
            if sent:
                self.keys.add(key)
        side = self.reasons["learn" if sent else "ask"]
        side[reason] = side.get(reason, 0) + 1
        return reason != "absent"


class Wire:
    """Both ends of the pair. Frames sent by one side have arrived before the other side
    sends."""

    def __init__(self, protocol):
        self.protocol = protocol

    def __enter__(self):
        ends = (net.NS_A, net.A), (net.NS_B, net.B)
        self.tx = [hosts.raw(*end, 0) for end in ends]
        self.rx = [hosts.raw(*end, self.protocol) for end in ends]
        for sock in self.rx:
            sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.fences = [0, 0]
        return self

    def __exit__(self, *error):
        for sock in self.tx + self.rx:
            sock.close()

    def carry(self, frames, sent):
        for frame in frames:
            self.tx[sent].send(frame)
        last = hosts.fence(sent, self.protocol)
        self.tx[sent].send(last)
        self.fences[sent] += 1
        return hosts.drain(self.rx[not sent], last)


def runs(stream):
    """Group (frames, sent) by direction, each group of consecutive frames up to a burst."""
    mine, way = [], None
    for frame, sent in stream:
        if mine and (sent != way or len(mine) == hosts.BURST):
            yield mine, way
            mine = []
        mine.append(frame)
        way = sent
    if mine:
        yield mine, way


def seen(frame, protocol):
    return protocol == hosts.ALL or model.be(frame[12:14]) == protocol


def replayed(least, *options, protocol=hosts.ALL, key="flow", **how):
    """@least: at least that many packets have the named reasons. Sockets of @protocol see
    packets that are passed; those of all protocols see them before tc ingress.
"""
    if not os.path.exists(CAPTURE):
        raise tap.Skip("no real.pcap: scripts/deps.sh fetches it")
    oracle, got, want = Oracle(key), [], []
    tap.may_fail(1e-6)
    options = ("--key", key) + options
    with Filter(), Holder(), Attached(*options, what=DROP, match=[]) as on, \
            Wire(protocol) as wire:
        for frames, sent in runs(traffic(tap.drawn(1), **how)):
            pass_on = [f for f in frames if oracle.judge(f, sent) or sent]
            arrive = wire.carry(frames, sent)
            if not sent:
                got += arrive
                want += [packets.untagged(f) for f in pass_on if seen(f, protocol)]
        sides = on.side("learn"), on.side("ask")
    for side, fences in zip(("ask", "learn"), wire.fences):
        of = oracle.reasons[side]
        of["other"] = of.get("other", 0) + fences
    few = [r for r, n in least.items() if oracle.reasons["ask"].get(r, 0) < n]
    return net.unlike(few=(few, []), learn=(sides[0], oracle.reasons["learn"]),
                      ask=(sides[1], oracle.reasons["ask"]),
                      passed=arrived(got, want))


def cases():
    of = functools.partial
    plain = {"recent": 1000, "absent": 100, "other": 10}
    return [("as it is", of(replayed, plain, "--no-dispatcher")),
            ("as it is, at tc", of(replayed, plain, "--ask", "tc", protocol=hosts.IP)),
            ("behind two VLAN tags", of(replayed, plain, "--no-dispatcher", change=tagged)),
            ("as IPv6", of(replayed, plain, "--no-dispatcher", change=as_ip6)),
            ("fragmented", of(replayed, {**plain, "fragment": 100}, "--no-dispatcher",
                              fragmented=True)),
            ("with ICMP errors", of(replayed, plain, "--no-dispatcher", errors=True)),
            ("by conversation", of(replayed, plain, key="conversation", errors=True)),
            ("by address and port", of(replayed, plain, key="peer-port", errors=True)),
            ("by address", of(replayed, plain, key="peer", errors=True)),
            ("with all of it", of(replayed, {**plain, "fragment": 100}, change=tagged,
                                  fragmented=True, errors=True))]


if __name__ == "__main__":
    stage.main(cases, [hosts.require], hosts.sweep, hosts.nothing_left, one_cpu=False)
