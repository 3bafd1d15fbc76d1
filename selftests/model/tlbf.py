#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the known answers of the kind tlbf to standard output.

"Time-limited Bloom Filter", section 6, with slices as sets that each have their
own count and time, in a list from the youngest; numbers in brackets are the
paper's equations. include/epf/tlbf.h describes the additions to the paper.

The script is that of resizable.py. The state has the words, keys, function and memory
of every slice.
"""

from fractions import Fraction
from math import ceil, floor, log

import resizable
from hashes import M64, word

RATES = (1, 2, 10, 1, 40, 4, 1, 1)
GAPS = 8

# T, words first, min, max, k, l, keep, timed
SHAPES = [(64000, 4, 1, 64, 3, 4, 7, 0), (64000, 4, 1, 64, 3, 4, 3, 1),
          (100003, 2, 1, 9, 5, 3, 6, 1), (7777, 8, 2, 99, 4, 9, 13, 0),
          (1 << 40, 1, 1, 1 << 32, 1, 2, 1, 1),
          (64000, 9, 3, 300, 8, 7, 8, 1)]


class Slice:
    def __init__(self, words, fn):
        self.words, self.fn, self.bits = words, fn, set()
        self.keys, self.time = 0, 0
        self.begin, self.since = 0, 0

    def capacity(self):
        return floor(64 * self.words * log(2))

    def bit(self, digest):
        return word(digest, self.fn) * 64 * self.words >> 64

    def room(self, more=0):
        return max(0, self.capacity() - self.keys - more)


class Filter:
    unit = 1

    def __init__(self, span, first, least, most, k, l, keep, timed):
        self.span, self.k, self.keep, self.timed = span, k, keep, timed
        self.first, self.least, self.most = first, least, most
        self.period = span // l
        self.slices, self.spare = [], None
        self.now = self.taken = self.u = 0

    def start(self):
        for _ in range(self.keep):
            self.add(self.plan())

    def tick(self, ns):
        self.now += ns

    @property
    def got(self):
        return self.taken - self.slices[0].since

    def age_of(self, s):
        return self.now - s.begin

    def due(self):
        if self.timed and self.got and \
                self.age_of(self.slices[0]) >= self.period:
            return True
        return self.got >= self.u

    def soon(self):
        if self.timed and self.got and \
                self.age_of(self.slices[0]) >= self.period // 2:
            return True
        return 2 * self.got >= self.u

    def goal(self):  # (6)
        got, lasted = self.got, self.age_of(self.slices[0])
        if self.timed and lasted > self.period:
            lasted = max(self.period,
                         self.slices[0].time - self.slices[0].begin)
        elif self.timed:
            got, lasted = self.sample()
        return ceil(Fraction(got * self.period, max(lasted, 1)))

    def sample(self):
        """Return, of the samples that end now and begin with a slice of the last
        T/l, the shortest that suffices, or the longest."""
        least = self.period // 64
        recent = [(self.taken - s.since, self.age_of(s)) for s in self.slices
                  if self.age_of(s) <= self.period]
        enough = [(g, t) for g, t in recent if g >= 32 and t >= least]
        g, t = (enough or recent[-1:])[0]
        return g, max(t, least)

    def wanted(self, goal, more):
        """(7), by going through the next k generations: the young slices that are
        still being filled limit each."""
        total = Fraction(0)
        for past in range(self.k):
            limits = [Fraction(s.room(more) - total, self.k - past - j)
                      for j, s in enumerate(self.slices[:self.k - 1 - past], 1)]
            total += max(Fraction(0), min(limits + [Fraction(goal)]))
        return total

    def plan(self):
        if self.spare or len(self.slices) == 256:
            return 0
        if len(self.slices) < self.keep:
            return self.first
        if not self.got:
            return self.slices[0].words
        goal, more = self.goal(), 0
        if not self.due():
            more = self.u - self.got
            if self.timed:
                more = min(more, max(0, goal - self.got))
        c = self.wanted(goal, more)
        if self.timed and self.got > self.u:
            c = self.k * goal
        bits = ceil(c / log(2))  # (8)
        return min(max(ceil(bits / 64), self.least), self.most)

    def shift(self):
        fn = (self.slices[0].fn + 1) % self.k if self.slices else 0
        self.slices.insert(0, Slice(self.spare, fn))
        self.slices[0].begin, self.slices[0].since = self.now, self.taken
        self.spare = None
        self.u = max(1, min(ceil(Fraction(s.room(), self.k - i))  # (4), (5)
                            for i, s in enumerate(self.slices[:self.k])))

    def settle(self):
        if self.spare and self.due():
            self.shift()

    def add(self, words):
        self.spare = words
        if len(self.slices) < self.keep:
            self.shift()
        self.settle()

    def insert(self, digest):
        self.settle()
        if self.timed and not self.got and \
                self.age_of(self.slices[0]) > self.period:
            self.slices[0].begin = self.now
        for s in self.slices[:self.k]:
            s.bits.add(s.bit(digest))
            s.keys, s.time = s.keys + 1, self.now
        self.taken += 1
        self.settle()

    def expired(self):  # (3)
        if len(self.slices) > self.keep and \
                self.slices[-1].time < self.now - self.span:
            return self.slices.pop().words
        return 0

    def age(self, digest):
        hit = [s.time >= self.now - self.span and s.bit(digest) in s.bits
               for s in self.slices]
        for j in range(len(hit) - self.k + 1):
            if all(hit[j:j + self.k]):
                return j
        return None

    def state(self):
        for s in self.slices:
            yield from (s.words, s.keys, s.fn)
            array = sum(1 << b for b in s.bits)
            for at in range(0, 64 * s.words, 64):
                yield array >> at & M64


if __name__ == "__main__":
    resizable.write("tlbf", Filter, SHAPES, RATES, GAPS)
