# SPDX-License-Identifier: GPL-2.0
"""What admit.py and log_new.py share besides reflex_hosts.py: frames of many peers that
arrive at B in a fixed order, and the oracle's predictions.
"""

import socket
import struct

import reflex_hosts as hosts
import reflex_packets as packets
from reflex_hosts import ALL, BURST, net, raw
from reflex_packets import KIND, TCP, UDP, Flow

WAYS = ("plain", "options", "tagged", "twice", "first")
FOREVER = "1000000000/100000000"  # a limit that no test reaches
fences = 0


class Attached(net.Attached):
    def __init__(self, *options):
        super().__init__(*options, filter=hosts.NAME)

    def found(self):
        """Return packets by side and reason, or by reason, without zeros and fences."""
        def packets_of(tree):
            if "packets" in tree:
                return tree["packets"]
            return {k: v for k, t in tree.items() if (v := packets_of(t))}
        return packets_of(self.status()["counters"])


def attached(*options):
    return Attached("--no-dispatcher", *options)


def peer(n, version=4):
    """Return an address of A, by its number."""
    if version == 4:
        return socket.inet_pton(socket.AF_INET, f"198.18.{n >> 8}.{n & 255}")
    return socket.inet_pton(socket.AF_INET6, f"2001:db8:9:{n:x}::1")


def flow(n, port=0, version=None, proto=UDP):
    """Return what peer @n sends to B: every second peer uses IPv6."""
    version = version or (6 if n % 2 else 4)
    return Flow(version, proto, port, 53, (peer(n, version), packets.B[version]))


def frames(first, count=100, **how):
    return [flow(n, **how).answer() for n in range(first, first + count)]


def passed_by(kind):
    """Return a frame that no rule judges: control, or not IP."""
    if kind == "dhcp":
        body = struct.pack(">HHHH", 68, 67, 8, 0)
        return packets.ether(KIND[4], packets.ip4(UDP, body, peer(1), packets.B[4]),
                             False)
    arp = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 3) + bytes(20)
    return packets.ether(0x0806, arp, False)


def wrong(kind):
    body = struct.pack(">HHHH", 53, 1024, 8, 0)
    packet = packets.ip4(UDP, body, peer(2), packets.B[4],
                         ihl=4 if kind == "malformed" else None)
    return packets.ether(KIND[4], packet, False)[:None if kind == "malformed" else 30]


def fence():
    """Return a frame that certainly passes, because it has no known protocol."""
    global fences
    fences += 1
    return packets.ether(0x88B5, struct.pack(">I", fences) * 12, False)


def send_in(sent):
    """Send from A. Return: what B receives, in order."""
    out = []
    with raw(net.NS_A, net.A, 0) as tx, raw(net.NS_B, net.B, ALL) as rx:
        for at in range(0, len(sent), BURST):
            for frame in sent[at:at + BURST]:
                tx.send(frame)
            last = fence()
            tx.send(last)
            out += hosts.drain(rx, last)
    return out


def bursts(*lists):
    """Return the number of fences used."""
    return sum(-(-len(sent) // BURST) for sent in lists)


def mixture(rng, count=900, peers=200):
    """Return [(frame, what it is: a peer's number, or a reason)], some of each kind."""
    out = []
    for n in range(count):
        if n % 9 == 0:
            what = rng.choice(("dhcp", "not_ip"))
            out.append((passed_by(what), what))
        elif n % 9 == 1:
            what = rng.choice(("malformed", "truncated"))
            out.append((wrong(what), what))
        else:
            who = rng.randrange(peers)
            one = flow(who, rng.randrange(60000), proto=rng.choice((UDP, TCP)))
            out.append((one.answer(rng.choice(WAYS)), who))
    return out


def shown(frame):
    """Return it as packet sockets show it."""
    return packets.untagged(frame)
