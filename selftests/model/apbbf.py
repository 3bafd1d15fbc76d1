#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the known answers of the kind apbbf to standard output.

Section 6 of the paper named in aged.py. The array at place p has n blocks of B
bits, a block b parts of B/b. The block of a digest is floor(word(digest, 2p) *
n / 2^64). Of x = word(digest, 2p + 1), the lowest log2(B/b) bits are the bit in
part 0, the next ones that in part 1, and so on.
"""

import aged
from hashes import word

# blocks, k, l, B, b
SHAPES = [(1, 1, 1, 64, 1), (3, 2, 3, 64, 4), (5, 2, 5, 64, 8),
          (1, 3, 5, 512, 4), (3, 2, 3, 512, 8), (2, 1, 7, 128, 2),
          (3, 3, 8, 256, 8), (7, 5, 30, 64, 16)]
STEPS = 600


def make(n, k, l, block, b):
    part = block // b

    def names(digest, p):
        start = (word(digest, 2 * p) * n >> 64) * block
        x = word(digest, 2 * p + 1)
        return {start + j * part + x // part ** j % part for j in range(b)}

    return aged.Filter(k, l, n * block, names)


def main():
    print(aged.HEAD.format("apbbf"))
    print(aged.table("apbbf",
                     "\tunsigned int nr_blocks, k, l, block_bits, bits;\n",
                     [aged.row(shape, make(*shape), seed, STEPS)
                      for seed, shape in enumerate(SHAPES, 1)]))


if __name__ == "__main__":
    main()
