#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Known answers of kind ge, selftests/core/ge_vectors.h, to standard output.

Divide 2^64 into s parts of equal size. Position i of a key is the number of the
part with h1 + i h2, where h1 and h2 are words 0 and 1 of the digest's stream, and
h2 is made odd.
"""

from fractions import Fraction
from math import floor

import epochs
from hashes import word

SHAPES = [  # s, r, k, seed, operations
    (64, 2, 1, 1, 400), (300, 4, 3, 2, 700), (1000, 7, 9, 3, 700),
    (640, 8, 5, 4, 700), (257, 15, 2, 5, 900), (512, 16, 4, 6, 900),
    (1021, 31, 64, 7, 900),
]
WIDE = [(1 << 40, 5), ((1 << 40) - 7, 4)]  # s, k: positions only


def positions(digest, s, k):
    h1, h2 = word(digest, 0), word(digest, 1)
    h2 += h2 % 2 == 0
    return [floor(Fraction((h1 + i * h2) % 2**64, 2**64) * s)
            for i in range(k)]


def main():
    print(epochs.HEAD.format("ge"))
    print("static const struct {\n\tunsigned long long segment_bits, digest, "
          "at[5];\n\tunsigned int k;\n} ge_positions[] = {")
    for s, k in WIDE + [row[:3:2] for row in SHAPES[1:5]]:
        digest = word(s, 3)
        at = ", ".join(map(str, positions(digest, s, min(k, 5))))
        print(f"\t{{ {s}, 0x{digest:x}ULL,\n\t  {{ {at} }}, {min(k, 5)} }},")
    print("};\n\nstatic const struct {\n\tunsigned long long segment_bits;\n"
          "\tunsigned int epochs, bits, seed, steps;\n\tconst char *answers;\n"
          "} ge_scripts[] = {")
    for s, r, k, seed, steps in SHAPES:
        f = epochs.Filter(r, lambda d: set(positions(d, s, k)))
        print(f"\t{{ {s}, {r}, {k}, {seed}, {steps},")
        print(epochs.string(epochs.answers(f, seed, steps)) + " },")
    print("};")


main()
