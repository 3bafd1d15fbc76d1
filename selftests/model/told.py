#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the status of filters at unusual moments, selftests/core/told_vectors.h, to
standard output: the coverage before the window is full and after a pause, the fill
of each epoch with one, two and four lines per key, and its error.

An epoch ends with the insertion that fills it. Set positions are counted; the
error of an epoch is the product over the parts of the mean probability that a key hits
a line of it: each of its n fields names one of the s positions set there, or none,
((s + 2) / 64)^n, and 0 if s is 0.
"""

import collections
from fractions import Fraction

import hashes
import lanes

HEAD = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* Generated: python3 selftests/model/told.py > selftests/core/told_vectors.h */
/* clang-format off */
#define TOLD_START %dULL /* ns */
#define TOLD_KEY { %#xULL, %#xULL }
#define TOLD_ROWS %d /* of each shape */

static const struct {
	unsigned int nr_lines, parts, k, inserts;
} told_shapes[] = {"""

ROW = """\
};

/* First @inserts keys are inserted, @dt ns after the row before, and then the epoch
 * ends if @rotate. An epoch that is not there is all zeros.
 */
static const struct {
	unsigned int inserts, dt, rotate;
	unsigned long long epoch, covered_inserts, covered_ns;
	double fpr;
	struct {
		unsigned long long inserts, age_ns, set;
		double fpr;
	} of[8];
} told_rows[] = {"""

KEY = 0x5EED, 0x70_1D
START = 10**15 + 7
ROWS = 26
# lines, parts, k, W
SHAPES = [(64, 1, 5, 70), (96, 2, 8, 64), (128, 4, 12, 33), (68, 4, 24, 7)]


class Told(lanes.Filter):
    def __init__(self, shape):
        lines, parts, k, window = shape
        super().__init__(lanes.Geometry(lines, parts, k), lanes.COUNT, 0,
                         window, 0)
        self.now = START
        self.starts = [START]

    def error(self, held):
        g = self.geometry
        chance = Fraction(1)
        for part in range(g.parts):
            full = collections.Counter(
                line for line, _ in held if line // g.part_lines == part)
            hits = sum(Fraction(s + 2, 64)**g.n for s in full.values())
            chance *= hits / g.part_lines
        return chance

    def row(self):
        epochs = list(zip(self.counts, self.starts, self.epochs))
        errors = [self.error(held) for held in self.epochs]
        none = Fraction(1)
        for e in errors:
            none *= 1 - e
        of = ["{%d, %d, %d, %.12g}" % (n, self.now - start, len(held), e)
              for (n, start, held), e in zip(epochs, errors)]
        return "%d, %d, %d, %.12g, {%s}" % (
            self.number, self.covered_inserts(), self.covered_ns(), 1 - none,
            ",\n\t    ".join(of))


def rows(shape, seed):
    f = Told(shape)
    key = 0
    for n in range(ROWS):
        inserts = 0 if n == 0 else hashes.word(seed, 2 * n + 1) % (2 * f.length)
        rotate = int(n % 9 == 4)
        dt = hashes.word(seed, 2 * n + 2) % 10**9 if n % 3 else 0
        f.now += dt
        for _ in range(inserts):
            f.insert(hashes.digest(KEY, 0, key.to_bytes(4, "little")))
            key += 1
            f.advance(0)
        if rotate:
            f.rotate()
        yield "\t{%d, %d, %d, %s}," % (inserts, dt, rotate, f.row())


def main():
    print(HEAD % (START, *KEY, ROWS))
    for shape in SHAPES:
        print("\t{ %d, %d, %d, %d }," % shape)
    print(ROW)
    for i, shape in enumerate(SHAPES):
        print("\n".join(rows(shape, 100 + i)))
    print("};")


main()
