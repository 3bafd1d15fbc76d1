#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The law of law.py, told by packets: hosts insert keys by frames that arrive at an interface with
`attach --cluster`, and ask by frames that other hosts have had. A frame that the program
passes as new says "absent, covered". With EPF_CLUSTER_BACKEND=module the filters and the
program are those of the module. EPF_CLUSTER_FAULTS=all: four hosts, every fault. Without it an agent
stands still and one is killed; law.py has the broker and cables, which the program does not see.
"""

import functools
import os
import select
import struct
import time

import cluster
import faults
import tap
import wires

SHORT = [faults.agent_killed]
NEW, UNKNOWN = "absent", ("uncovered", "overdue", "saturated")


def frame(key):
    """A UDP packet of its own flow for each key."""
    body = struct.pack(">Q", key)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(body), 0, 0, 64, 17, 0,
                     bytes([127, 9, 0, 1]), bytes([127, 9, 0, 2]))
    udp = struct.pack(">HHHH", 4096 + key % 4096, 9, 8 + len(body), 0)
    return bytes([2, *bytes(10), 1]) + b"\x08\x00" + ip + udp + body


class Asked(wires.Filtering):
    """A host that inserts and asks by frames."""

    def attach(self, *options):
        """Once the agent has pinned the map with its promise."""
        while self.running() and not os.path.exists(self.cover.path):
            select.select([], [], [], .02)
        super().attach(*options)

    def fence(self):
        """No IP packet, so no filter is asked."""
        self.fences += 1
        return b"\2" + bytes(11) + b"\x88\xb5" + struct.pack(">Q", self.fences) + bytes(40)

    def tell(self, keys):
        """Send a frame for each key. Return which passed, first, last: the time before and
        after."""
        out = []
        for at in range(0, len(keys), wires.BURST):
            some = keys[at:at + wires.BURST]
            first = time.monotonic_ns()
            passed = self.burst([frame(k) for k in some])
            last = time.monotonic_ns()
            out += [(k, frame(k) in passed, first, last) for k in some]
        return out

    def insert(self, keys):
        return [(key, first, last) for key, _, first, last in self.tell(keys)]

    def query(self, keys):
        """Return what tell() returns, and how many packets the program counted as what."""
        before = self.counters()
        told = self.tell(keys)
        after = self.counters()
        return told, {c: n - before.get(c, 0) for c, n in after.items()}


class Cluster(cluster.Cluster):
    """Its hosts ask by frames."""

    def query(self, count=24):
        for i, node in enumerate(self.hosts):
            node.begin("query", self.asked(i, count))
        wrong = [self.judge(i, *node.end()) for i, node in enumerate(self.hosts)]
        return next(filter(None, wrong), None)

    def judge(self, i, told, counted):
        """The program does not tell which of the frames that passed were new. So it is wrong if
        there were more than could be. What passed is inserted now."""
        passed, new = [t for t in told if t[1]], counted.get(NEW, 0)
        unknown = sum(counted.get(c, 0) for c in UNKNOWN)
        if len(passed) != new + unknown:
            return f"host {i}: {len(passed)} frames passed, counted as {counted}"
        wrong = [key for key, _, first, last in passed if self.oracle.contradicts(key, first, last)]
        for key, _, first, last in passed:
            self.oracle.insert(i, key, first, last)
        self.said["absent"] += new
        self.said["unknown"] += unknown
        self.said["present"] += len(told) - len(passed)
        self.said["foreign"] += sum(not t[1] and t[0] < 1 << 60 for t in told)
        if new > len(passed) - len(wrong):
            return f"host {i} says that {new} of {len(passed)} keys are absent and covered, and " \
                f"{len(wrong)} of them were inserted: {wrong}"
        return None


def known(c):
    """a frame that another host has had is dropped, others pass as new"""
    return c.until_covered() or c.until_answers(40)


def silent(c):
    """a host whose agent stands still inserts on: nobody says that its keys are absent"""
    with faults.agent_stopped(c) as expire:
        return c.go_on(lambda: not any(c.each("covered", of=expire)), "that promises expire") or \
            c.for_seconds(2 * c.lag)


def run(hosts, chosen):
    with Cluster(hosts, kind=Asked) as c:
        c.each("attach")
        cases = [(case.__doc__, functools.partial(case, c)) for case in (known, silent)]
        cases += [(f.__doc__, functools.partial(faults.endure, c, f)) for f in chosen]
        status = tap.run(tap.chosen(cases))
        print(f"# answers: {c.said}")
    return status


if __name__ == "__main__":
    cluster.require()
    LONG = os.environ.get("EPF_CLUSTER_FAULTS") == "all"
    raise SystemExit(run(4, faults.ALL) if LONG else run(3, SHORT))
