# SPDX-License-Identifier: GPL-2.0
"""What reflex.py uses: a veth pair between two network namespaces, each with addresses that
the other one knows, a pure BPF filter (with EPF_REFLEX_BACKEND=module one of the module),
and frames in and out.
"""

import collections
import contextlib
import json
import os
import shlex
import socket
import struct
import sys
import tempfile

os.environ["EPF_NS"] = f"epf-rfx-{os.getpid()}"
os.environ["EPF_DEV"] = f"r{os.getpid()}"
os.environ["EPF_BACKEND"] = os.environ.get("EPF_REFLEX_BACKEND", "bpf")
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../xdp"))

import net  # noqa: E402
import netns  # noqa: E402
import tap  # noqa: E402, F401
import reflex_packets as packets  # noqa: E402
import stage  # noqa: E402

MODULE = os.environ["EPF_BACKEND"] == "module"
BACKEND = "" if MODULE else " (pure BPF)"  # as status shows it
NAME = f"rfx-{os.getpid()}"
TWIN = NAME + "-2"
SO_RCVBUFFORCE = 33
ALL, IP, IP6 = 3, 0x0800, 0x86DD
DNS = ["--match", "udp:sport=53,123,443,448"]
DROP = ["--else", "drop", "--if-unknown", "accept", "--fragments", "pass"]
A4, B4, A6, B6 = "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"
BURST = 64
PATIENCE = int(os.environ.get("EPF_PATIENCE", 60))
fences = 0


def kernel():
    """Return the kernel's version, such as (6, 12)."""
    return tuple(map(int, os.uname().release.split(".")[:2]))


@contextlib.contextmanager
def two_capabilities():
    """epfctl has CAP_BPF and CAP_NET_ADMIN only."""
    whole = net.EPFCTL
    with tempfile.TemporaryDirectory() as tmp:
        net.EPFCTL = os.path.join(tmp, "epfctl")
        with open(net.EPFCTL, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexec setpriv --inh-caps=-all --bounding-set="
                    f"-all,+bpf,+net_admin {shlex.quote(whole)} \"$@\"\n")
        os.chmod(net.EPFCTL, 0o700)
        try:
            yield
        finally:
            net.EPFCTL = whole


def mac(ns, dev):
    return json.loads(net.run("ip", "-n", ns, "-j", "link", "show",
                              dev).stdout)[0]["address"]


def make_hosts():
    """Addresses and neighbours. No host sends packets by itself: no ARP, no IPv6 duplicate
    address detection, no router discovery; and no group reports, since a device without
    multicast joins none when forwarding is switched.
    """
    ends, macs = ((net.NS_A, net.A, A4, A6), (net.NS_B, net.B, B4, B6)), {}
    for ns, dev, _, _ in ends:
        net.batch(f"link set {dev} multicast off", ns=ns)
        six_of = f"ipv6/conf/{dev}/"
        net.sysctl(ns, **{"ipv4/conf/all/rp_filter": 0, "ipv4/icmp_ratelimit": 0,
                          six_of + "addr_gen_mode": 1, six_of + "router_solicitations": 0,
                          six_of + "disable_ipv6": 0})
        macs[dev] = mac(ns, dev)
    for (ns, dev, four, six), (_, peer, *addresses) in zip(ends, ends[::-1]):
        net.batch(f"addr add {four}/24 dev {dev}", f"addr add {six}/64 dev {dev} nodad",
                  *(f"neigh replace {address} lladdr {macs[peer]} dev {dev} nud permanent"
                    for address in addresses), ns=ns)


def require():
    stage.require(NAME, make_hosts)
    packets.MAC_B = bytes.fromhex(mac(net.NS_B, net.B).replace(":", ""))
    packets.MAC_A = bytes.fromhex(mac(net.NS_A, net.A).replace(":", ""))


def sweep():
    """Remove whatever a failed case has left."""
    net.epfctl("detach", net.B, check=False)
    for name in NAME, TWIN:
        net.run(net.EPFCTL, "destroy", "--force", name, check=False)


def in_ns(ns, make):
    """@make() while this thread is in another network namespace."""
    with netns.entered(ns):
        return make()


def raw(ns, dev, protocol):
    sock = in_ns(ns, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    sock.bind((dev, protocol))
    sock.settimeout(PATIENCE)
    return sock


def udp(ns, address, port=0, kind=socket.SOCK_DGRAM, device=None):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = in_ns(ns, lambda: socket.socket(family, kind))
    if device:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    sock.settimeout(PATIENCE)
    return sock


def Holder(*names):
    """A holder of the filter, or of these. Filters of the module need none."""
    return stage.Holder(*([] if MODULE else names or [NAME]))


def users():
    """Return references to the filter, of programs and descriptors; pure BPF counts none."""
    return json.loads(net.epfctl("-j", "show", NAME).stdout).get("users", 0)


class Filter(net.Filter):
    """With a window in time that is longer than any case."""

    def __init__(self, *options, name=NAME):
        super().__init__(*options or net.shaped(58456, "--time", "1h", "--rate", "100"),
                         name=name)


class Attached(net.Attached):
    def __init__(self, *options, match=None, what=None):
        super().__init__("--reflexive", *(match or DNS), *(what or DROP),
                         *options, filter=NAME)

    def side(self, side):
        """Return packets by reason, without zeros."""
        return {name: c["packets"]
                for name, c in self.status()["counters"][side].items()
                if c["packets"]}


def fence(from_b, protocol=ALL):
    """Return a frame that certainly passes, because its protocol has no ports."""
    global fences
    fences += 1
    kind, make, version = (IP6, packets.ip6, 6) if protocol == IP6 else \
        (IP, packets.ip4, 4)
    body = make(253, struct.pack(">I", fences) * 4, packets.A[version],
                packets.B[version])
    return packets.ether(kind, body, to_a=from_b)


def drain(sock, last):
    out = []
    while True:
        got = sock.recv(65536)
        if got == last:
            return out
        out.append(got)


def send_out(frames):
    """Send from B. Wait until A has received all frames."""
    with raw(net.NS_B, net.B, 0) as tx, raw(net.NS_A, net.A, ALL) as rx:
        for at in range(0, len(frames), BURST):
            for frame in frames[at:at + BURST]:
                tx.send(frame)
            last = fence(True)
            tx.send(last)
            drain(rx, last)


def send_in(frames, protocol=ALL):
    """Send from A. Return: what B receives. Sockets of all protocols see all frames, before
    tc ingress; those of one protocol do not.
"""
    out = []
    with raw(net.NS_A, net.A, 0) as tx, raw(net.NS_B, net.B, protocol) as rx:
        for at in range(0, len(frames), BURST):
            for frame in frames[at:at + BURST]:
                tx.send(frame)
            last = fence(False, protocol)
            tx.send(last)
            out += drain(rx, last)
    return out


def bursts(frames):
    return -(-len(frames) // BURST)


def pins():
    try:
        return [d for d in os.listdir(net.PINS)
                if d.startswith("@" + net.B) or d in (NAME, TWIN)]
    except FileNotFoundError:  # it goes with the last pin
        return []


def left():
    """Return all of our objects."""
    link = net.in_b("ip", "link", "show", net.B).stdout
    qdisc = net.in_b("tc", "qdisc", "show", "dev", net.B).stdout
    shown = net.epfctl("status", net.B, check=False).returncode
    return pins() + ("xdp" in link) * ["program"] + \
        ("clsact" in qdisc) * ["qdisc"] + (shown != 1) * ["status"]


def nothing_left():
    there = left()
    return f"left behind: {there}" if there else None


def counted(reasons, frames):
    """Return the expected counters, including the fences."""
    want = dict(collections.Counter(reasons))
    want["other"] = want.get("other", 0) + bursts(frames)
    return want


def arrived(got, want):
    got, want = sorted(got), sorted(want)
    if got == want:
        return "as wanted", "as wanted"
    return f"{len(got)} frames", f"{len(want)} frames, others"
