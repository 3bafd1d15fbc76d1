# SPDX-License-Identifier: GPL-2.0
"""What duplicate removal must do, from exact keys: sets and dictionaries, no
hashing. The rules are those of docs/DESIGN.md (guarded epochs, r = 7).
"""

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
        self.now = self.start = None

    def rotate(self):
        self.epochs = [set()] + self.epochs[:R]
        self.inserted = 0

    def tick(self, ns):
        """A clock that goes back stands still."""
        if self.now is None:
            self.now = self.start = ns
        self.now = max(self.now, ns)
        if not self.span:
            return
        over = (self.now - self.start) // self.span
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


def verdicts(window, packets, key_of=lambda packet: packet.data):
    """For each packet: is it a repeat? One without a key (None) is not."""
    out = []
    for p in packets:
        key = key_of(p)
        window.tick(p.ns)
        out.append(key is not None and window.seen(key))
    return out


def distances(packets):
    """Packets back to the last equal frame; None: the first of its kind."""
    last, out = {}, []
    for i, p in enumerate(packets):
        out.append(i - last[p.data] if p.data in last else None)
        last[p.data] = i
    return out


def editcap(packets, n):
    """What `editcap -D n` removes: an equal frame among the n-1 before."""
    return [d is not None and d < n for d in distances(packets)]


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
