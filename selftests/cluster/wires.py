# SPDX-License-Identifier: GPL-2.0
"""An interface of a host whose repeated packets are dropped cluster-wide: a veth pair in the
host's namespace. Frames go into one end, and a socket at the other end sees what passed.
"""

import json
import socket
import struct
import time

import host
import lan

ETH_P_ALL, SOL_PACKET, IGNORE_OUTGOING, SO_RCVBUFFORCE = 3, 263, 23, 33
IN, OUT = "t0", "d0"
BURST = 48  # fewer than a veth accepts at once


class Filtering(host.Host):
    """A host with such an interface."""

    def attach(self, *options):
        lan.run("ip", "link", "add", IN, "mtu", 9000, "type", "veth", "peer", "name", OUT, "mtu",
                9000)
        for dev in IN, OUT:
            with open(f"/proc/sys/net/ipv6/conf/{dev}/disable_ipv6", "w") as f:
                f.write("1")
            lan.run("ip", "link", "set", dev, "arp", "off", "up")
        lan.run(host.EPFCTL, "--backend", host.BACKEND, "attach", OUT, "--filter",
                host.filters(self.node.number)[0], "--cluster", self.cover.cluster,
                "--vlan-offload", "off", *options)
        self.rx, self.tx = self.packets(OUT, ETH_P_ALL), self.packets(IN, 0)
        self.fences = 0

    @staticmethod
    def packets(dev, protocol):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        sock.bind((dev, protocol))
        sock.settimeout(60)
        return sock

    def fence(self):
        """A frame that nobody has sent before."""
        self.fences += 1
        body = struct.pack(">QQ", self.fences, self.node.number) + bytes(32)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(body), 0, 0, 64, 17, 0,
                         bytes([127, 9, 0, 1]), bytes([127, 9, 0, 2]))
        udp = struct.pack(">HHHH", 9, 9, 8 + len(body), 0)
        return b"\2" + bytes(11) + b"\x08\x00" + ip + udp + body

    def burst(self, frames):
        for frame in frames:
            self.tx.send(frame)
        fence, passed = self.fence(), set()
        self.tx.send(fence)
        while True:
            frame = self.rx.recv(1 << 16)
            if frame == fence:
                return passed
            passed.add(frame)

    def forward(self, frames):
        """Send frames that differ. Return of each (passed, first, last, covered): whether it
        passed, the time before and after, and whether all hosts were covered for all of that
        time."""
        out = []
        for at in range(0, len(frames), BURST):
            some = frames[at:at + BURST]
            until, first = self.cover.until_ns(), time.monotonic_ns()
            passed = self.burst(some)
            last = time.monotonic_ns()
            out += [(f in passed, first, last, last < until - host.TICK_NS) for f in some]
        return out

    def counters(self):
        shown = json.loads(lan.run(host.EPFCTL, "--backend", host.BACKEND, "-j", "status", OUT).stdout)
        return {name: c["packets"] for name, c in shown["counters"].items() if c["packets"]}
