# SPDX-License-Identifier: GPL-2.0
"""What duplicate removal must do, from exact keys: sets and dictionaries, no
hashing. The rules are those of docs/DESIGN.md (guarded epochs, r = 7).
"""

import bisect

R = 7


def ceil_div(a, b):
    return -(-a // b)


class Window:
    """Epochs as sets. Exactly what the filter does, save its false positives:
    an epoch ends after ceil(W/7) insertions, or every ceil(T/7) ns from the
    first packet on; eight are remembered.
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
        """Time does not go back."""
        if not self.span:
            return
        self.start = ns if self.start is None else self.start
        over = (ns - self.start) // self.span
        for _ in range(min(over, R + 1)):
            self.rotate()
        self.start += over * self.span

    def seen(self, key):
        """Was it there? And take it in."""
        there = any(key in epoch for epoch in self.epochs)
        if there and self.first_seen:
            return True
        self.epochs[0].add(key)
        self.inserted += 1
        if self.length and self.inserted >= self.length:
            self.rotate()
        return there


class Clock:
    """The time that packets have for a window of epochs of @span ns.

    A stamp that goes back has the latest time before it. One that is more than
    eight epochs ahead jumps: unless the next packet is nearer to it than to the
    time before, it has that time, too. A first packet more than eight epochs
    ahead of the second has the time of that one.

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
    """A frame is what was captured of it, and its length on the wire."""
    return packet.data, packet.length


def verdicts(window, packets, key_of=frame):
    """For each packet: is it a repeat? One without a key (None) is not, nor one
    that jumps.
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
    """For each packet: is there one before it with the same key, whose place is
    @apart from its own at most? Places are numbers of packets, or @place's.
    With @first_seen only of those that were kept.
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
    """Packets back to the last equal frame; None: the first of its kind."""
    last, out = {}, []
    for i, p in enumerate(packets):
        key = key_of(p)
        out.append(i - last[key] if key in last else None)
        last[key] = i
    return out


def editcap(packets, n):
    """What `editcap -D n` removes: one with equal captured bytes among the n-1
    before, whatever their lengths on the wire.
    """
    back = distances(packets, lambda packet: packet.data)
    return [d is not None and d < n for d in back]


def align(packets, kept):
    """Which of @packets are missing from @kept, which must be a part of them,
    in order.
    """
    missing, at = [], 0
    for p in packets:
        here = at < len(kept) and kept[at] == p
        missing.append(not here)
        at += here
    if at != len(kept):
        raise ValueError("the output is not a part of the input, in order")
    return missing
