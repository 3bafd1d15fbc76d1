# SPDX-License-Identifier: GPL-2.0
"""The lanes filter as sets: no tags, no words, no atomics.

An epoch is a set of (line, position). A key is present in an epoch when every
one of its pairs is in that epoch's set; eight epochs are kept (guarded epochs,
Alpay and Sarioglu 2026, Algorithm 1, with r = 7), the oldest being dropped
when a new one begins.
"""

from fractions import Fraction
from math import floor

from hashes import word

RETAINED = 8
LIVE = 7
FIRST_EPOCH = 8
POSITIONS = 62
COUNT, TIME, EITHER, BOTH = range(4)


class Geometry:
    def __init__(self, nr_lines, parts, k):
        assert nr_lines % parts == 0 and parts <= k <= 15 * parts
        self.nr_lines, self.parts, self.k = nr_lines, parts, k
        self.part_lines = nr_lines // parts

    def bits(self, part):
        """k split evenly, what is left over to the first parts."""
        return len(range(part, self.k, self.parts))

    def line(self, digest, part):
        share = Fraction(word(digest, 4 * part), 1 << 64)
        return part * self.part_lines + floor(share * self.part_lines)

    def positions(self, digest, part):
        """Floyd's sample of distinct positions, from two fractions."""
        taken = set()
        want = self.bits(part)
        for i in range(want):
            if i % 8 == 0:
                x = Fraction(word(digest, 4 * part + 1 + i // 8), 1 << 64)
            top = POSITIONS - want + i
            pick = floor(x * (top + 1))
            x = x * (top + 1) - pick
            taken.add(top if pick in taken else pick)
        assert len(taken) == want and max(taken) < POSITIONS
        return taken

    def mask(self, digest, part):
        return sum(1 << p for p in self.positions(digest, part))

    def pairs(self, digest):
        return {(self.line(digest, j), p) for j in range(self.parts)
                for p in self.positions(digest, j)}


class Filter:
    """A window over guarded epochs.

    An epoch that has come to its end is ended before the next operation; the
    caller says when that is by calling advance().
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
