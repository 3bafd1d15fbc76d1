# SPDX-License-Identifier: GPL-2.0
"""The expected result of duplicate removal, from exact keys: sets and dictionaries, no
hashing. The rules are those of docs/DESIGN.md (guarded epochs, r = 7).
"""

import bisect

R = 7


def ceil_div(a, b):
    return -(-a // b)


class Window:
    """Epochs as sets. This is exactly what the filter does, apart from its false positives:
    an epoch ends after ceil(W/7) insertions, or every ceil(T/7) ns from the first packet
    on; eight are remembered.
"""

    def __init__(self, packets=0, ns=0, first_seen=False):
        self.length, self.span = ceil_div(packets, R), ceil_div(ns, R)
        self.first_seen = first_seen
        self.epochs = [set()]  # newest first
        self.inserted = 0
        self.start = None

    def rotate(self):
        self.epochs = [set()] + self.epochs[:R]
        self.inserted = 0

    def tick(self, ns):
        """Time does not go backwards."""
        if not self.span:
            return
        self.start = ns if self.start is None else self.start
        over = (ns - self.start) // self.span
        for _ in range(min(over, R + 1)):
            self.rotate()
        self.start += over * self.span

    def seen(self, key):
        """Tell whether the key was present, and insert it."""
        there = any(key in epoch for epoch in self.epochs)
        if there and self.first_seen:
            return True
        self.epochs[0].add(key)
        self.inserted += 1
        if self.length and self.inserted >= self.length:
            self.rotate()
        return there


class Clock:
    """The time assigned to each packet, for a window of epochs of @span ns.

    A packet whose stamp goes back gets the latest earlier time. A stamp more than eight
    epochs ahead is a jump: unless the next packet is nearer to it than to the time before,
    the packet gets the time before, too. A first packet more than eight epochs ahead of the
    second gets the time of the second.

    @times: for each packet (does it jump?, its time)
    @back: steps back in ns
    @ahead: packets whose stamp is too far ahead
"""

    def __init__(self, packets, span):
        stamps = [p.ns for p in packets]
        reach = 8 * span
        self.times, self.back, self.ahead = [], [], 0
        if not stamps:
            return
        now = stamps[0]
        if len(stamps) > 1 and now - stamps[1] > reach:
            stamps[0] = now = stamps[1]
            self.ahead += 1
        for here, after in zip(stamps, stamps[1:] + [None]):
            jumps = here - now > reach
            if jumps and after is not None and \
                    (after < now or here - after > after - now):
                self.ahead += 1
            elif here < now:
                self.back.append(now - here)
            else:
                now = here
            self.times.append((jumps, now))


def frame(packet):
    """A frame is its captured bytes, and its length on the wire."""
    return packet.data, packet.length


def verdicts(window, packets, key_of=frame):
    """Return, for each packet, whether it is a repeat. A packet without a key (None) is
    not, nor is one whose stamp jumps.
"""
    out = []
    times = Clock(packets, window.span).times if window.span else \
        [(False, 0)] * len(packets)
    for p, (jumps, ns) in zip(packets, times):
        key = key_of(p)
        window.tick(ns)
        out.append(key is not None and window.seen(key) and not jumps)
    return out


def near(packets, apart, first_seen=False, place=None, key_of=frame):
    """Return, for each packet, whether an earlier one with the same key is at most @apart
    away. Places are packet numbers, or those given by @place. With @first_seen only packets
    that were kept count.
"""
    past, out = {}, []
    for i, p in enumerate(packets):
        at, key = place(p) if place else i, key_of(p)
        mine = past.setdefault(key, [])
        there = bisect.bisect_left(mine, at - apart)
        repeat = key is not None and there < len(mine) and \
            mine[there] <= at + apart
        if not (repeat and first_seen):
            bisect.insort(mine, at)
        out.append(repeat)
    return out


def distances(packets, key_of=frame):
    """Return, for each packet, the distance back to the last equal frame; None: it is the
    first."""
    last, out = {}, []
    for i, p in enumerate(packets):
        key = key_of(p)
        out.append(i - last[key] if key in last else None)
        last[key] = i
    return out


def editcap(packets, n):
    """Return what `editcap -D n` removes: packets with captured bytes equal to one of the
    n-1 before, whatever their lengths on the wire.
"""
    back = distances(packets, lambda packet: packet.data)
    return [d is not None and d < n for d in back]


def align(packets, kept):
    """Return which of @packets are missing from @kept, which must be a subsequence of them.
"""
    missing, at = [], 0
    for p in packets:
        here = at < len(kept) and kept[at] == p
        missing.append(not here)
        at += here
    if at != len(kept):
        raise ValueError("the output is not a part of the input, in order")
    return missing
