# SPDX-License-Identifier: GPL-2.0
"""The lanes filter as sets: no tags, no words, no atomics.

An epoch is a set of (line, position). A key is present in an epoch if every
one of its pairs is in that epoch's set. Eight epochs are kept (guarded epochs,
Alpay and Sarioglu 2026, Algorithm 1, with r = 7), and the oldest is dropped
when a new one begins.

docs/theory/lanes.md defines lines and positions of a key. A key that names no
position in a line tests that line's tag, which sets do not have: such keys
are refused here.
"""

from hashes import M64

RETAINED = 8
LIVE = 7
FIRST_EPOCH = 8
POSITIONS = 62
FIELD = 6  # bits; of its 64 values those from 62 on name no position
COUNT, TIME, EITHER, BOTH = range(4)

# Steele and Vigna, Software: Practice and Experience 52, 2022
A = 0xD1342543DE82EF95


def word(digest, i):
    return digest * A**i & M64


def fold(w):
    return w ^ w // 2**32


def fields(w, n):
    """Return the lowest n fields of a word."""
    return [fold(w) // 2**(FIELD * i) % 2**FIELD for i in range(n)]


class Geometry:
    def __init__(self, nr_lines, parts, k):
        assert parts in (1, 2, 4) and nr_lines % parts == 0 == k % parts
        self.nr_lines, self.parts, self.k = nr_lines, parts, k
        self.part_lines = nr_lines // parts
        self.n = k // parts
        assert 1 <= self.n <= 15 and self.part_lines <= 1 << 29

    def line(self, digest, part):
        high = word(digest, part) // 2**32
        return part * self.part_lines + high * self.part_lines // 2**32

    def fields(self, digest, part):
        first = min(self.n, 5)
        return fields(word(digest, part), first) + \
            fields(word(digest, 4 + part), self.n - first)

    def positions(self, digest, part):
        return {f for f in self.fields(digest, part) if f < POSITIONS}

    def mask(self, digest, part):
        return sum(1 << p for p in self.positions(digest, part))

    def pairs(self, digest):
        named = [self.positions(digest, j) for j in range(self.parts)]
        assert all(named)
        return {(self.line(digest, j), p) for j, of in enumerate(named)
                for p in of}


class Filter:
    """A window over guarded epochs.

    An epoch that is due ends before the next operation; the caller says when by
    calling advance().
    """

    def __init__(self, geometry, mode, first_seen, inserts, ns):
        self.geometry, self.mode, self.first_seen = geometry, mode, first_seen
        self.length = -(-inserts // LIVE)
        self.span = -(-ns // LIVE)
        self.now = 0
        self.number = FIRST_EPOCH
        self.epochs = [set()]  # newest first
        self.counts = [0]
        self.starts = [0]

    def rotate(self):
        self.number += 1
        self.epochs = ([set()] + self.epochs)[:RETAINED]
        self.counts = ([0] + self.counts)[:RETAINED]
        self.starts = ([self.now] + self.starts)[:RETAINED]

    def advance(self, ns):
        self.now += ns
        full = self.counts[0] >= self.length
        old = self.now - self.starts[0] >= self.span
        if {COUNT: full, TIME: old, EITHER: full or old,
                BOTH: full and old}[self.mode]:
            self.rotate()

    def age(self, digest):
        """Epochs since the key was last inserted, or None."""
        pairs = self.geometry.pairs(digest)
        for age, held in enumerate(self.epochs):
            if pairs <= held:
                return age
        return None

    def insert(self, digest):
        self.epochs[0] |= self.geometry.pairs(digest)
        self.counts[0] += 1

    def test_and_insert(self, digest):
        age = self.age(digest)
        if age is None or not self.first_seen:
            self.insert(digest)
        return age

    def covered_inserts(self):
        return sum(self.counts)

    def covered_ns(self):
        return self.now - self.starts[-1]
