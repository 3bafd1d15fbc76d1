#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the known answers of the kind chain to standard output.

The model follows the head of include/epf/chain.h, with epochs as the numbers of
the grid, without tags and without a scan: a table has, for each epoch, the set of
(line, position) pairs of model/lanes.py and a count of keys. Rates are
fractions.

The script is that of resizable.py; an owner that comes also scans. The state has the
words of every table and, for each epoch that counts, the youngest first, the
number of keys, and for each line with set positions its index and positions.
"""

from fractions import Fraction

import resizable
from lanes import RETAINED, Geometry

RATES = (1, 2, 20, 2, 80, 8, 1, 1)
GAPS = 4
PLACES = 8

# T, lines first, min, max, load, L, k
SHAPES = [(64000, 64, 64, 1 << 12, 160, 1, 5),
          (64000, 128, 64, 256, 96, 2, 8),
          (100003, 64, 64, 1 << 20, 400, 4, 20),
          (7777, 512, 128, 512, 64, 1, 6),
          (1 << 40, 64, 64, 128, 16, 2, 12),
          (640, 64, 64, 1 << 11, 1024, 4, 16)]


class Table:
    def __init__(self, lines, parts, k, epoch):
        self.geometry = Geometry(lines, parts, k)
        self.lines, self.last = lines, epoch
        self.pairs, self.keys = {}, {}

    def insert(self, digest, epoch):
        self.pairs.setdefault(epoch, set()).update(
            self.geometry.pairs(digest))
        self.keys[epoch] = self.keys.get(epoch, 0) + 1
        self.last = epoch

    def ages(self, digest, now):
        pairs = self.geometry.pairs(digest)
        return [now - e for e, held in self.pairs.items()
                if now - e < RETAINED and pairs <= held]


class Filter:
    unit = 8  # words of a line

    def __init__(self, span, first, least, most, load, parts, k):
        self.first, self.least, self.most = first, least, most
        self.load, self.parts, self.k = load, parts, k
        self.period = -(-span // 7)
        self.part = self.period // 16
        self.now = self.number = 0
        self.tables, self.spare = [], None
        self.came = {}  # keys of each epoch, 0 where there were none
        self.times = []
        self.quiet = []
        self.marks = [(0, 0), (0, 0)]  # (time, keys before), the older first

    def start(self):
        self.add(self.plan())

    def budget(self, lines):
        return lines * self.load // 1024

    def full(self):
        t = self.tables[0]
        return t.keys.get(self.number, 0) >= self.budget(t.lines)

    def rate(self):
        """Return the rate in keys per ns."""
        begin = self.number * self.period
        when, had = self.marks[0]
        keys, ns = len(self.times) - had, self.now - when
        if keys < 32:
            keys, ns = self.came.get(self.number, 0), self.now - begin
        before = self.came.get(self.number - 1, 0)
        if keys < 32 and before:
            keys, ns = keys + before, ns + self.period
        return Fraction(keys, max(ns, self.part, 1))

    def fitting(self, rate):
        lines = self.least
        while lines < self.most and \
                self.budget(lines) < Fraction(5, 4) * rate * self.period:
            lines *= 2
        return lines

    def rising(self):
        t, rate = self.tables[0], self.rate()
        room = self.budget(t.lines) - t.keys.get(self.number, 0)
        left = (self.number + 1) * self.period - self.now
        return self.full() or rate * self.period > self.budget(t.lines) \
            or rate * left > room

    def low(self):
        return len(self.quiet) >= RETAINED and \
            self.tables[0].lines > self.least and not self.rising()

    def due(self):
        return self.full() or self.low()

    def soon(self):
        return self.rising() or self.low()

    def plan(self):
        if self.spare or len(self.tables) == PLACES:
            return 0
        if not self.tables:
            return self.first
        if self.low():
            return self.fitting(Fraction(max(self.quiet), self.period))
        times = 4 if len(self.tables) > 1 else 2
        return min(self.most, max(self.fitting(self.rate()),
                                  times * self.tables[0].lines))

    def switch(self):
        self.tables.insert(0, Table(self.spare, self.parts, self.k,
                                    self.number))
        self.spare, self.quiet = None, []

    def settle(self):
        if not self.spare or not self.tables:
            return
        smaller = self.spare < self.tables[0].lines
        if self.low() if smaller else self.full():
            self.switch()

    def end_epoch(self):
        keys = self.came.get(self.number, 0)
        if keys and 4 * keys >= self.budget(self.tables[0].lines):
            self.quiet = []
        elif keys:
            self.quiet.append(keys)

    def tick(self, ns=0):
        self.now += ns
        number = self.now // self.period
        if number != self.number:
            self.end_epoch()
            self.number = number
        old = self.now - self.marks[1][0]
        if old >= self.part:
            mark = (self.now, len(self.times))
            self.marks = [self.marks[1] if old < 2 * self.part else mark,
                          mark]
        self.settle()

    def add(self, lines):
        self.spare, self.wanted = lines, self.number
        if not self.tables:
            self.switch()
        self.settle()

    def useless(self):
        if not self.spare:
            return False
        if self.spare < self.tables[0].lines:
            return True
        if self.rising():
            self.wanted = self.number
            return self.fitting(self.rate()) > self.spare
        return self.low() or self.number - self.wanted >= 2

    def expired(self):
        if self.useless():
            lines, self.spare = self.spare, None
            return lines
        if len(self.tables) > 1 and \
                self.number - self.tables[-1].last >= RETAINED:
            return self.tables.pop().lines
        return 0

    def insert(self, digest):
        self.tables[0].insert(digest, self.number)
        self.came[self.number] = self.came.get(self.number, 0) + 1
        self.times.append(self.now)
        self.tick()

    def age(self, digest):
        ages = [a for t in self.tables for a in t.ages(digest, self.number)]
        return min(ages, default=None)

    def state(self):
        for t in self.tables:
            yield self.unit * t.lines
            for age in range(RETAINED):
                epoch = self.number - age
                yield t.keys.get(epoch, 0)
                masks = {}
                for line, position in t.pairs.get(epoch, ()):
                    masks[line] = masks.get(line, 0) | 1 << position
                for line in sorted(masks):
                    yield line
                    yield masks[line]


if __name__ == "__main__":
    resizable.write("chain", Filter, SHAPES, RATES, GAPS)
