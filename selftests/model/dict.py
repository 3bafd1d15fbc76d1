#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Known answers of kind dict, selftests/core/dict_vectors.h, to standard output.

Naor and Yogev, "Tight Bounds for Sliding Bloom Filters", section 2: the hash of a
key to [M] is stored with the generation of its last insertion, while that
generation is in the window. The dictionary here is a Python dict per bucket;
entries that leave the window are removed at once, and generations are counted
without limit.

A bucket of the first table holds as many fingerprints as fit: of 512 or 1024
bits two marks take tag_bits + 1 each, every slot one, every cell rem_bits +
tag_bits + 1. A bucket of the backyard has as many slots as cells and what is
left over, and its remainders are longer by the least number of bits for which
it has twice M places. A fingerprint whose bucket is full goes to the emptier of
its two buckets there, and its own bucket records the generation of the last one
that went. If both are full too, the bucket records that likewise, and then holds
every key.
"""

from fractions import Fraction
from math import floor

import epochs
from hashes import word

SHAPES = [  # buckets, yard, c, tag, rem, slots, lines, seed, operations
    (3, 1, 2, 2, 12, 50, 2, 1, 500), (7, 2, 4, 3, 1, 9, 1, 2, 700),
    (4, 1, 6, 3, 20, 11, 1, 3, 900), (6, 2, 9, 4, 37, 10, 1, 4, 900),
    (6, 1, 14, 4, 40, 3, 1, 5, 900), (4, 2, 31, 6, 30, 12, 1, 6, 900),
    (1 << 12, 3, 3, 8, 8, 64, 2, 7, 500),
]


def digits(digest, *radix):
    """Return digits of a mixed radix of the digest as a fraction of 2^64."""
    part, out = Fraction(digest, 2**64), []
    for n in radix:
        part *= n
        out.append(floor(part))
        part -= out[-1]
    return out


class Dictionary:
    def __init__(self, buckets, yard, c, tag, rem, slots, lines):
        self.c, self.now, self.counted = c, 0, c + 1
        room = 512 * lines - 2 * (tag + 1)
        self.cells = (room - slots) // (rem + tag + 1)
        self.radix = (buckets, slots, 2**rem)
        while True:
            cells = room // (rem + tag + 2)
            slots2 = room - cells * (rem + tag + 1)
            if yard * slots2 * 2**rem >= 2 * buckets * slots * self.radix[2]:
                break
            rem += 1
        self.yard_cells, self.yard_radix = cells, (yard, slots2, 2**rem)
        self.tables = {}, {}  # bucket: {(slot, remainder): generation}
        self.spilt, self.passes = {}, {}  # bucket: generation

    def live(self, bucket):
        """Drop entries that have left the window."""
        for key in [k for k, g in bucket.items()
                    if self.now - g >= self.counted]:
            del bucket[key]
        return bucket

    def places(self, digest):
        """Return bucket and rest in the first table; both buckets of the
        backyard, and the rest there."""
        home, *rest = digits(digest, *self.radix)
        one, *far = digits(word(digest, 1), *self.yard_radix)
        two, = digits(word(digest, 2), self.yard_radix[0])
        near = self.live(self.tables[0].setdefault(home, {}))
        yard = [self.live(self.tables[1].setdefault(j, {}))
                for j in (one, two)]
        return home, near, tuple(rest), yard, tuple(far)

    def insert(self, digest):
        home, near, rest, yard, far = self.places(digest)
        full = len(near) == self.cells
        if rest in near or not full and home not in self.live(self.spilt):
            near[rest] = self.now
            return
        found = [b for b in yard if far in b]
        if not found and not full:
            near[rest] = self.now
            return
        best = found[0] if found else min(yard, key=len)
        if found or len(best) < self.yard_cells:
            best[far] = self.spilt[home] = self.now
        else:
            self.passes[home] = self.now

    def age(self, digest):
        home, near, rest, yard, far = self.places(digest)
        last = [near.get(rest), self.live(self.passes).get(home)]
        best = max((g for g in last if g is not None), default=None)
        spilt = self.live(self.spilt).get(home)
        if spilt is not None and (best is None or spilt > best):
            best = max([b[far] for b in yard if far in b] +
                       [best] * (best is not None), default=None)
        return None if best is None else self.now - best

    def retire(self):
        self.counted = self.c

    def begin(self):
        self.now += 1
        self.counted = self.c + 1


def main():
    print(epochs.HEAD.format("dict"))
    print("static const struct {\n\tunsigned int buckets, yard, generations, "
          "tag, rem, slots, lines;\n\tunsigned int cells, yard_slots, "
          "yard_cells, yard_rem;\n\tunsigned int seed, steps;\n"
          "\tconst char *answers;\n} dict_scripts[] = {")
    for *shape, seed, steps in SHAPES:
        f = Dictionary(*shape)
        derived = (f.cells, f.yard_radix[1], f.yard_cells,
                   f.yard_radix[2].bit_length() - 1)
        print("\t{ " + ", ".join(map(str, (*shape, *derived))) +
              f", {seed}, {steps},")
        print(epochs.string(epochs.answers(f, seed, steps)) + " },")
    print("};")


main()
