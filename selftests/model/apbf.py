#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the known answers of the kind apbf to standard output.

Section 5 of the paper named in aged.py. The array at place p has m bits; its
hash function is floor(word(digest, p) * m / 2^64). Arrays begin at words.
"""

import aged
from hashes import word

SHAPES = [(64, 1, 1), (64, 3, 2), (100, 4, 3), (257, 7, 5), (193, 2, 9),
          (1000, 10, 7), (640, 5, 33)]
STEPS = 700


def make(m, k, l):
    return aged.Filter(k, l, m, lambda d, p: {word(d, p) * m >> 64})


def main():
    print(aged.HEAD.format("apbf"))
    print(aged.table("apbf",
                     "\tunsigned long long slice_bits;\n\tunsigned int k, l;\n",
                     [aged.row(shape, make(*shape), seed, STEPS)
                      for seed, shape in enumerate(SHAPES, 1)]))


if __name__ == "__main__":
    main()
