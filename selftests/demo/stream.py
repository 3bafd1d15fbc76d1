#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make the demo's traffic: a capture with every packet twice.

The copy follows its packet at a random distance, such that never more than
WINDOW packets lie between. One copy in four has been through a router: TTL or
hop limit one less, the IPv4 checksum put right. Prints what was made as JSON.

usage: stream.py PCAP OUTPUT WINDOW MAX_PACKETS(0: all) SEED
"""

import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", d) for d in ("dedup", "model")]

import pcap  # noqa: E402
import packets as model  # noqa: E402

ETH_MIN, MTU_MAX = 14, 9000
SPREAD = 0.45  # of the window: twice as many packets lie between, below 1


def load(path, most):
    """(frames, packets of the file, packets that no Ethernet carries)"""
    capture = pcap.load(path)
    if capture.link != pcap.EN10MB:
        sys.exit("demo: this is no capture of Ethernet (link type "
                 f"{capture.link}), so it cannot be sent on one")
    frames = [p.data for p in capture.packets
              if ETH_MIN <= len(p.data) <= MTU_MAX + ETH_MIN]
    unfit = len(capture.packets) - len(frames)
    return frames[:most] if most else frames, len(capture.packets), unfit


def checksum(header):
    """RFC 791, of a header whose checksum field is zero."""
    total = sum(int.from_bytes(header[i:i + 2], "big")
                for i in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF).to_bytes(2, "big")


def routed(frame):
    """As a router would pass it on, or None: not IP, malformed, expired."""
    try:
        _, _, kind, rest = model.link_layer(frame, model.ETHER)
        ip = model.network_layer(kind, rest)
    except (model.Truncated, model.Malformed, model.NotIp):
        return None
    head, ip_bytes = frame[:len(frame) - len(rest)], bytearray(rest)
    at = 8 if ip.version == 4 else 7
    if ip_bytes[at] == 0:
        return None
    ip_bytes[at] -= 1
    if ip.version == 4:
        length = (ip_bytes[0] & 15) * 4
        ip_bytes[10:12] = b"\0\0"
        ip_bytes[10:12] = checksum(ip_bytes[:length])
    return head + bytes(ip_bytes)


def double(frames, window, rng):
    """[frame], and how many copies were routed."""
    spread = max(1, int(window * SPREAD))
    slots, changed = [], 0
    for i, frame in enumerate(frames):
        slots.append((i, 0, frame))
        copy = routed(frame) if rng.random() < 0.25 else None
        changed += copy is not None
        slots.append((i + rng.randint(0, spread - 1), 1 + rng.random(),
                      copy or frame))
    slots.sort(key=lambda slot: slot[:2])
    return [frame for _, _, frame in slots], changed


def main():
    path, out, window, most, seed = sys.argv[1:]
    try:
        frames, of, unfit = load(path, int(most))
    except (OSError, ValueError) as e:
        sys.exit(f"demo: cannot read {path}: {e}")
    if not frames:
        sys.exit("demo: the capture has no packet that fits an Ethernet")
    sent, changed = double(frames, int(window), random.Random(int(seed)))
    pcap.Capture([pcap.Packet(0, f) for f in sent]).save(out)
    json.dump({"captured": of, "unfit": unfit, "taken": len(frames),
               "sent": len(sent), "routed": changed,
               "mtu": max(1500, max(map(len, frames)) - ETH_MIN)}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
