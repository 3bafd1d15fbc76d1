#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""attach --reflexive where packets change or take another path between a process and the
interface: NAT for hosts behind, a VRF, a bridge, VLAN devices. Real sockets send queries,
and get the answers and nothing else.
"""

import contextlib
import functools
import os
import shutil
import struct

import reflex_hosts as hosts
import stage
from reflex import Echo, attached
from reflex_hosts import A4, A6, B4, B6, Filter, Holder, net, tap, udp

QUERIES, SPOOFED = 100, 50
BEHIND = net.NS_B + "-c"
INNER, OUTER = net.DEV + "i", net.DEV + "o"
VLAN = ("198.51.100.1", "198.51.100.2")


def ip(ns, *args):
    return net.run("ip", "-n", ns, *args)


def settle(ns, name, value):
    net.run(*net.inside(ns), "sh", "-c", f"echo {value} > /proc/sys/net/{name}")


@contextlib.contextmanager
def nat():
    """A host behind B, whose packets have B's address when they leave."""
    if not shutil.which("nft"):
        raise tap.Skip("needs nftables")
    net.run("ip", "netns", "add", BEHIND)
    try:
        ip(net.NS_B, "link", "add", OUTER, "type", "veth", "peer", INNER, "netns", BEHIND)
        ip(net.NS_B, "addr", "add", "10.9.0.1/24", "dev", OUTER)
        ip(net.NS_B, "link", "set", OUTER, "up")
        ip(BEHIND, "addr", "add", "10.9.0.2/24", "dev", INNER)
        ip(BEHIND, "link", "set", INNER, "up")
        ip(BEHIND, "route", "add", "default", "via", "10.9.0.1")
        settle(net.NS_B, "ipv4/ip_forward", 1)
        net.in_b("nft", f"add table ip way; add chain ip way out {{ type nat hook postrouting "
                 f"priority srcnat; }}; add rule ip way out oifname {net.B} masquerade")
        yield {"ns": BEHIND, "ends": [("10.9.0.2", A4)]}
    finally:
        net.in_b("nft", "delete table ip way", check=False)
        net.in_b("ip", "link", "del", OUTER, check=False)  # the namespace's end would remove it later
        net.run("ip", "netns", "del", BEHIND)


def again(dev):
    """Restore the addresses that an interface has lost by joining another one."""
    settle(net.NS_B, f"ipv6/conf/{dev}/disable_ipv6", 0)
    for address in B4 + "/24", B6 + "/64":
        net.in_b("ip", "addr", "replace", address, "dev", dev, "nodad")
    for address in A4, A6:
        net.in_b("ip", "neigh", "replace", address, "lladdr", hosts.mac(net.NS_A, net.A),
                 "dev", dev, "nud", "permanent")


@contextlib.contextmanager
def above(dev, *kind):
    """B's interface is part of @dev during the block."""
    try:
        net.in_b("ip", "link", "add", dev, *kind)
        settle(net.NS_B, f"ipv6/conf/{dev}/addr_gen_mode", 1)
    except RuntimeError as why:
        raise tap.Skip(f"no {' '.join(kind[1:])} here") from why
    try:
        net.in_b("ip", "link", "set", dev, "up")
        net.in_b("ip", "link", "set", net.B, "master", dev)
        yield
    finally:
        net.in_b("ip", "link", "del", dev)
        again(net.B)


@contextlib.contextmanager
def vrf():
    with above("way7", "type", "vrf", "table", "7"):
        again(net.B)
        yield {"ends": [(B4, A4), (B6, A6)], "bound": "way7"}


@contextlib.contextmanager
def bridge(*options):
    with above("way8", "type", "bridge", *options):
        net.in_b("ip", "addr", "flush", "dev", net.B, "scope", "global")
        net.in_b("ip", "link", "set", "way8", "address", hosts.mac(net.NS_B, net.B))
        again("way8")
        yield {"ends": [(B4, A4), (B6, A6)]}


@contextlib.contextmanager
def vlan():
    """VLAN 9 over both interfaces."""
    ends = (net.NS_A, net.A, VLAN[0]), (net.NS_B, net.B, VLAN[1])
    try:
        for ns, dev, address in ends:
            try:
                ip(ns, "link", "add", "link", dev, "name", "way9", "type", "vlan", "id", "9")
            except RuntimeError as why:
                raise tap.Skip("no vlan here") from why
            ip(ns, "addr", "add", address + "/24", "dev", "way9")
            ip(ns, "link", "set", "way9", "up")
        for (ns, _, _), (other, _, address) in zip(ends, ends[::-1]):
            ip(ns, "neigh", "replace", address, "lladdr", hosts.mac(other, "way9"), "dev",
               "way9", "nud", "permanent")
        yield {"ends": [VLAN[::-1]]}
    finally:
        for ns, _, _ in ends:
            net.run("ip", "-n", ns, "link", "del", "way9", check=False)


def answered(ns, address, server, device):
    """Ask from many ports. Return the number of answers."""
    count = 0
    for n in range(QUERIES):
        with udp(ns, address, device=device) as sock:
            sock.sendto(struct.pack(">I", n), (server, 53))
            count += sock.recv(2048) == struct.pack(">I", n)
    return count


def spoof(server, victim):
    """Send from a port that was asked, and from an address, to a socket that has asked
    nothing."""
    with udp(net.NS_A, server, 123) as sock:
        for _ in range(SPOOFED):
            sock.sendto(b"spoofed", (victim, 5000))


def over(way, *options):
    with way() as of, Filter(), Holder(), attached(*options) as on:
        ends, bound = of["ends"], of.get("bound")
        with Echo(*(server for _, server in ends)):
            got = [answered(of.get("ns", net.NS_B), *end, bound) for end in ends]
        for own, server in ends:
            spoof(server, own if "ns" not in of else B4)
        net.eventually(lambda: on.side("ask").get("absent", 0) >= len(ends) * SPOOFED,
                       hosts.PATIENCE)  # softirqs may run later, and on other CPUs
        counters = on.side("ask")
    return net.unlike(answered=(got, len(ends) * [QUERIES]),
                      recent=(counters.get("recent"), len(ends) * QUERIES),
                      absent=(counters.get("absent"), len(ends) * SPOOFED))


def cases():
    of = functools.partial
    ways = [("NAT", nat), ("a bridge", bridge), ("a VRF", vrf),
            ("a bridge that filters VLANs", of(bridge, "vlan_filtering", "1")),
            ("VLAN devices", vlan)]
    hooks = [(), ("--ask", "tc")]
    if os.environ.get("EPF_VM") and not os.environ.get("EPF_THOROUGH"):
        ways, hooks = ways[2:], hooks[:1]  # the others are tested natively
    return [(f"{name}{', tc' * bool(options)}", of(over, way, *options))
            for name, way in ways for options in hooks]


if __name__ == "__main__":
    stage.main(cases, [hosts.require], hosts.sweep, hosts.nothing_left, one_cpu=False)
