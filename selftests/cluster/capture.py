#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A real capture, split over four hosts, by flow as routers do it or at random, and each
packet repeated on another host. Repeats are dropped in the whole cluster: none is missed
that comes later than the lag, and no first packet is dropped but by the filters' error.
"""

import functools
import os
import sys
import zlib

import cluster
import host
import tap
import wires

sys.path.insert(0, os.path.join(host.ROOT, "selftests/model"))  # its packets, not those beside this file

import packets as model  # noqa: E402
import pcap  # noqa: E402

HOSTS = 4
PACKETS = int(os.environ.get("EPF_CLUSTER_PACKETS") or 1500)
AT_ONCE = 24  # packets of a host in a round
CAPTURE = os.path.join(host.BUILD, "data/real.pcap")


def frames_of(path, most):
    """Frames of a capture, without tags, with different keys."""
    found = {}
    for packet in pcap.load(path).packets:
        try:
            key = model.canonical(packet.data, model.PACKET, model.ETHER, model.PASS_CONTROL, 0)
        except (model.Truncated, model.Malformed, model.NotIp, model.Control):
            continue
        tagged = packet.data[12:14] in (b"\x81\x00", b"\x88\xa8")  # packet sockets strip tags
        if not tagged and len(packet.data) <= 9000:
            found.setdefault(key, packet.data)
        if len(found) == most:
            break
    return list(found.values())


def by_flow(frame, _):
    """The host of a flow, as routers with several ways choose it."""
    try:
        flow = model.flow_bytes(frame, model.ETHER)
    except (model.Truncated, model.Malformed, model.NotIp, model.Fragment):
        flow = frame
    return zlib.crc32(flow) % HOSTS


def sprayed(_, random):
    return random.randrange(HOSTS)


class Replay:
    """First packets and their repeats, which wait for a random time."""

    def __init__(self, c, frames, where):
        self.c, self.todo, self.where = c, frames[::-1], where
        self.waiting = [[] for _ in range(HOSTS)]  # (time, frame) by host
        self.first = {}  # by frame: (host, before, after)
        self.late, self.missed, self.dropped, self.false, self.firsts = [], [], 0, 0, 0
        self.unknown = 0

    def due(self, i, now):
        """The repeats whose time has come on host i."""
        out = [f for t, f in self.waiting[i] if t <= now][:AT_ONCE]
        gone = set(out)
        self.waiting[i] = [(t, f) for t, f in self.waiting[i] if f not in gone]
        return out

    def round(self, now):
        """The frames of a round by host."""
        out = [self.due(i, now) for i in range(HOSTS)]
        while self.todo and max(map(len, out)) < 2 * AT_ONCE:
            frame = self.todo.pop()
            out[self.where(frame, self.c.random)].append(frame)
        return out

    def judge(self, i, frame, passed, first, last, covered):
        if frame not in self.first:
            self.began(i, frame, passed, first, last)
            return
        other, before, after = self.first[frame]
        if not passed:
            self.dropped += 1
        elif not covered:
            self.unknown += 1
        else:
            self.missed.append((last - before) / 1e9)
            if after <= first - self.c.oracle.lag_ns and before > last - self.c.oracle.window_ns:
                self.late.append(f"host {i} passed what host {other} had seen "
                                 f"{(first - after) / 1e9:.3f} s before")

    def began(self, i, frame, passed, first, last):
        self.firsts += 1
        self.false += not passed
        self.first[frame] = i, first, last
        # Half of the repeats follow soon, to measure; the rest when all must know.
        random = self.c.random
        wait = self.c.lag * 1.1 if random.random() < .5 else random.choice((0, random.random() * .3))
        other = (i + 1 + random.randrange(HOSTS - 1)) % HOSTS
        self.waiting[other].append((last + wait * 1e9, frame))

    def step(self, now):
        self.forward(self.round(now))
        self.forward([self.due(i, cluster.time.monotonic_ns()) for i in range(HOSTS)])

    def forward(self, rounds):
        for node, frames in zip(self.c.hosts, rounds):
            node.begin("forward", frames)
        for i, (node, frames) in enumerate(zip(self.c.hosts, rounds)):
            for frame, told in zip(frames, node.end()):
                self.judge(i, frame, *told)

    def done(self):
        return not self.todo and not any(self.waiting)


def replay(c, frames, where):
    tap.may_fail(1e-8 * len(frames))  # above the filters' error
    run = Replay(c, frames, where)

    def step():
        run.step(cluster.time.monotonic_ns())
        return run.late or run.done()
    fault = c.go_on(lambda: c.covered(), "full coverage") or c.go_on(step, "the end")
    missed = sorted(run.missed)
    print(f"# {run.firsts} packets, {run.dropped} repeats dropped, {run.unknown} passed because "
          f"a host was missing, {len(missed)} missed" +
          (f", the last of them {missed[-1] * 1e3:.0f} ms after the first packet" if missed else ""))
    if not run.dropped:
        fault = fault or "no repeat was dropped"
    return fault or next(iter(run.late), None) or \
        (f"{run.false} first packets were dropped" if run.false else None)


def main():
    cluster.require()
    if not os.path.exists(CAPTURE):
        tap.skip_all(f"{CAPTURE} is missing: scripts/deps.sh --install test")
    frames = frames_of(CAPTURE, 2 * PACKETS)
    half = len(frames) // 2
    with cluster.Cluster(HOSTS, kind=wires.Filtering) as c:
        c.until_covered()
        c.each("attach")
        return tap.run(tap.chosen([
            ("split by flow: repeats on another host are dropped",
             functools.partial(replay, c, frames[:half], by_flow)),
            ("split at random: repeats on another host are dropped",
             functools.partial(replay, c, frames[half:], sprayed))]))


if __name__ == "__main__":
    raise SystemExit(main())
