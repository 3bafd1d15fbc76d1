#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Known answers of kind gebl, selftests/core/gebl_vectors.h, to standard output.

Divide 2^64 into as many equal parts as there are blocks: the block of a key is the
number of the part with word 0 of its stream. Offsets in the block: distinct ones
by Floyd's sample, five from each of the words 1, 2, ..., or h1 + i h2 modulo the
block, where h1 and h2 are the words 1 and 2.
"""

from fractions import Fraction
from math import floor

import epochs
from hashes import word

DISTINCT, DOUBLE = range(2)
SHAPES = [  # blocks, B, r, k, offsets, seed, operations
    (1, 64, 2, 2, DISTINCT, 11, 400), (3, 64, 7, 5, DISTINCT, 12, 700),
    (2, 128, 8, 11, DISTINCT, 13, 700), (1, 512, 31, 20, DISTINCT, 14, 900),
    (3, 256, 8, 9, DOUBLE, 15, 700), (5, 64, 4, 3, DOUBLE, 16, 700),
    (1, 512, 16, 20, DOUBLE, 17, 900),
]


def floyd(digest, size, k):
    taken = set()
    for i in range(k):
        if i % 5 == 0:
            x = Fraction(word(digest, 1 + i // 5), 2**64)
        top = size - k + i
        pick = floor(x * (top + 1))
        x = x * (top + 1) - pick
        taken.add(top if pick in taken else pick)
    assert len(taken) == k and max(taken) < size
    return taken


def progression(digest, size, k):
    h1, h2 = word(digest, 1), word(digest, 2)
    return {(h1 + i * h2) % size for i in range(k)}


def names(digest, blocks, size, k, offsets):
    block = floor(Fraction(word(digest, 0), 2**64) * blocks)
    inside = (floyd, progression)[offsets](digest, size, k)
    return {block * size + at for at in inside}


def main():
    print(epochs.HEAD.format("gebl"))
    print("static const struct {\n\tunsigned long long digest, mask[8];\n"
          "\tunsigned int block_bits, bits, offsets;\n} gebl_masks[] = {")
    for _, size, _, k, offsets, seed, _ in SHAPES:
        digest = word(seed, 5)
        mask = sum(1 << at for at in names(digest, 1, size, k, offsets))
        row = ", ".join(hex(mask >> 64 * i & 2**64 - 1)
                        for i in range(size // 64))
        print(epochs.wrap(f"{{ 0x{digest:x}ULL, {{ {row} }}, {size}, {k}, "
                          f"{offsets} }},"))
    print("};\n\nstatic const struct {\n\tunsigned long long blocks;\n"
          "\tunsigned int block_bits, epochs, bits, offsets, seed, steps;\n"
          "\tconst char *answers;\n} gebl_scripts[] = {")
    for shape in SHAPES:
        blocks, size, r, k, offsets, seed, steps = shape
        f = epochs.Filter(r, lambda d: names(d, blocks, size, k, offsets))
        print("\t{ " + ", ".join(map(str, shape)) + ",")
        print(epochs.string(epochs.answers(f, seed, steps)) + " },")
    print("};")


main()
