#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the known answers of the kind tlbf to standard output.

"Time-limited Bloom Filter", section 6, with slices as sets that each keep their
own count and time, in a list from the youngest; numbers in brackets are the
paper's equations. What comes beside the paper is told in include/epf/tlbf.h.

Script: operation i = 0, 1, ... is drawn from x = word(seed, 8 + i). Time goes
on by x >> 32 mod (2 * (T div 64) div RATES[8 i div steps] + 1); if x mod 256 is
255 by (x >> 60) * (T div 8) more. If x div 64 mod 4 is not 0 or the seed is a
multiple of 3, the owner comes: it takes back what expired, then, if a slice is
due, with an odd seed soon, hands over what is planned. Then x mod 64 below 8:
test, else insert, of the key word(seed, 4096 + (x div 256) mod KEYS). A test
gives a character as in aged.py. Folded as there: of every slice taken back and
handed over its words; at the end time, and of every slice its words, keys,
function and memory.
"""

import textwrap
from fractions import Fraction
from math import ceil, floor, log

from aged import AGES
from hashes import M64, word

KEYS = 97
RATES = (1, 2, 10, 1, 40, 4, 1, 1)

# T, words first, min, max, k, l, keep, timed
SHAPES = [(64000, 4, 1, 64, 3, 4, 7, 0), (64000, 4, 1, 64, 3, 4, 3, 1),
          (100003, 2, 1, 9, 5, 3, 6, 1), (7777, 8, 2, 99, 4, 9, 13, 0),
          (1 << 40, 1, 1, 1 << 32, 1, 2, 1, 1),
          (64000, 9, 3, 300, 8, 7, 8, 1)]
STEPS = 2400


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
    def __init__(self, span, first, least, most, k, l, keep, timed):
        self.span, self.k, self.keep, self.timed = span, k, keep, timed
        self.first, self.least, self.most = first, least, most
        self.period = span // l
        self.slices, self.spare = [], None
        self.now = self.taken = self.u = 0

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
        """Of the samples that end now and begin with a slice of the last T/l
        the shortest that suffices, or the longest."""
        least = self.period // 64
        recent = [(self.taken - s.since, self.age_of(s)) for s in self.slices
                  if self.age_of(s) <= self.period]
        enough = [(g, t) for g, t in recent if g >= 32 and t >= least]
        g, t = (enough or recent[-1:])[0]
        return g, max(t, least)

    def wanted(self, goal, more):
        """(7) by going through the next k generations: those of the young
        slices that are still filled limit each."""
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


class Fold:
    value = 0

    def add(self, w):
        self.value = word((self.value + w) & M64, 1)


def play(shape, seed, steps):
    f, fold, out = Filter(*shape), Fold(), []
    span = shape[0]
    for _ in range(f.keep):
        f.add(f.plan())
    for i in range(steps):
        x = word(seed, 8 + i)
        f.now += (x >> 32) % (2 * (span // 64) // RATES[8 * i // steps] + 1)
        if x % 256 == 255:
            f.now += (x >> 60) * (span // 8)
        if x // 64 % 4 or seed % 3 == 0:
            come(f, fold, seed)
        key = word(seed, 4096 + x // 256 % KEYS)
        if x % 64 < 8:
            age = f.age(key)
            out.append("." if age is None else AGES[min(age, 35)])
        else:
            f.settle()
            f.insert(key)
    end(f, fold)
    return "".join(out), fold.value


def come(f, fold, seed):
    while True:
        words = f.expired()
        if not words:
            break
        fold.add(words)
    if f.soon() if seed % 2 else f.due():
        words = f.plan()
        if words:
            fold.add(words)
            f.add(words)


def end(f, fold):
    fold.add(f.now)
    for s in f.slices:
        for w in (s.words, s.keys, s.fn):
            fold.add(w)
        array = sum(1 << b for b in s.bits)
        for at in range(0, 64 * s.words, 64):
            fold.add(array >> at & M64)


HEAD = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* Generated: python3 selftests/model/tlbf.py > selftests/core/tlbf_vectors.h
 * The script of operations is told there.
 */
static const struct {
	struct epf_tlbf_shape shape;
	unsigned int seed, steps;
	unsigned long long fold;
	const char *answers;
} tlbf_scripts[] = {"""


def row(shape, seed):
    text, fold = play(shape, seed, STEPS)
    return "\t{ { %s },\n\t  %d, %d, 0x%xULL,\n\t  %s }," % (
        ", ".join(map(str, shape)), seed, STEPS, fold,
        "\n\t  ".join('"%s"' % line for line in textwrap.wrap(text, 64)))


def main():
    print(HEAD)
    for seed, shape in enumerate(SHAPES, 1):
        print(row(shape, seed))
    print("};")


if __name__ == "__main__":
    main()
