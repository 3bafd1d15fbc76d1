# SPDX-License-Identifier: GPL-2.0
"""A bad cable: a process between the port of a node and the bridge that loses, delays,
doubles and reorders frames, and has a rate. It needs no qdisc of the kernel, which may
have none (netem).
"""

import heapq
import itertools
import select
import socket
import time

import lan
import tap

ETH_P_ALL, SOL_PACKET, IGNORE_OUTGOING = 3, 263, 23
QUEUE = 1000  # frames that wait in one direction


class Way:
    """One direction of a cable."""

    def __init__(self, out, random, loss=0, delay=0, rate=0, double=0, jitter=0):
        """@loss, @double: chances; @delay, @jitter: seconds; @rate: bits per second, 0: any."""
        self.out, self.random = out, random
        self.loss, self.delay, self.rate, self.double = loss, delay, rate, double
        self.jitter = jitter
        self.free, self.waiting = 0.0, 0

    def due(self, now, frame):
        """When the frame arrives; None: never. Frames with jitter overtake one another."""
        if self.waiting >= QUEUE or self.random.random() < self.loss:
            return None
        if self.rate:
            self.free = max(now, self.free) + len(frame) * 8 / self.rate
            now = self.free
        return now + self.delay + self.random.random() * self.jitter


def packets(dev):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    sock.bind((dev, ETH_P_ALL))
    sock.setblocking(False)
    return sock


def take(sock, way, queue, count):
    """Queue what has arrived at @sock for its way."""
    while True:
        try:
            frame = sock.recv(1 << 16)
        except (BlockingIOError, OSError):
            return
        for _ in range(1 + (way.random.random() < way.double)):
            due = way.due(time.monotonic(), frame)
            if due is not None:
                way.waiting += 1
                heapq.heappush(queue, (due, next(count), way, frame))


def deliver(queue):
    """Send what is due. Return the time until the next frame is; None: there is none."""
    while queue:
        wait = queue[0][0] - time.monotonic()
        if wait > 0:
            return wait
        way, frame = heapq.heappop(queue)[2:]
        way.waiting -= 1
        try:
            way.out.send(frame)
        except OSError:  # the interface is down
            pass
    return None


def carry(node_side, bridge_side, seed, **faults):
    """Carry frames between two interfaces, for ever."""
    lan.die_with_parent()
    a, b = packets(node_side), packets(bridge_side)
    random = tap.drawn(seed)
    ways = {a: Way(b, random, **faults), b: Way(a, random, **faults)}
    queue, count, wait = [], itertools.count(), None
    while True:
        for sock in select.select([a, b], [], [], wait)[0]:
            take(sock, ways[sock], queue, count)
        wait = deliver(queue)


class Bad:
    """The cable of a node is bad, until the end of a 'with'."""

    def __init__(self, node, **faults):
        self.node, self.faults = node, faults
        self.ours, self.theirs = f"q{node.number}", f"r{node.number}"

    def __enter__(self):
        lan.run("ip", "link", "add", self.ours, "type", "veth", "peer", "name", self.theirs)
        lan.run("ip", "link", "set", self.theirs, "master", lan.BRIDGE, "up")
        lan.run("ip", "link", "set", self.ours, "up")
        lan.run("ip", "link", "set", self.node.port, "nomaster")
        self.process = lan.fork.Process(
            target=carry, args=(self.node.port, self.ours, self.node.number), daemon=True,
            kwargs=self.faults)
        self.process.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()
        lan.run("ip", "link", "del", self.ours)
        lan.run("ip", "link", "set", self.node.port, "master", lan.BRIDGE)
