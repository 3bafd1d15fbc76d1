#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write predicted error rates, selftests/core/size_vectors.h, to standard
output.

Inclusion-exclusion with 80 digits: a key leaves i given positions of 62 alone
with chance C(62-i, k) / C(62, k), so all of k positions are set by a Poisson
number of keys with chance

    sum over i of (-1)^i C(k, i) exp(-load (1 - C(62-i, k) / C(62, k)))
"""

from decimal import Decimal, getcontext
from math import comb

import lanes

getcontext().prec = 80

HEAD = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* Generated: python3 selftests/model/gen_size.py > selftests/core/size_vectors.h */
static const struct {
	unsigned long long nr_lines;
	unsigned int lines_per_key;
	unsigned int bits_per_key;
	double keys; /* of each epoch */
	double fpr;
} size_vectors[] = {"""


def covered(k, load):
    total = Decimal(0)
    for i in range(k + 1):
        alone = Decimal(comb(lanes.POSITIONS - i, k)) / comb(lanes.POSITIONS,
                                                             k)
        total += (-1) ** i * comb(k, i) * (-load * (1 - alone)).exp()
    return total


def rate(nr_lines, parts, k, keys):
    g = lanes.Geometry(nr_lines, parts, k)
    load = Decimal(keys) / g.part_lines
    every = Decimal(1)
    for j in range(parts):
        every *= covered(g.bits(j), load)
    return 1 - (1 - every) ** lanes.RETAINED


def main():
    print(HEAD)
    for parts in (1, 2, 4):
        for k in (1, 2, 5, 8, 11, 15):
            k = k * parts - (parts > 1 and k > 1)
            for load in (1, 40, 400, 3000, 60000):
                shape = 4096, parts, k, load * 10
                print("\t{ %d, %d, %d, %d, %.17g }," % (*shape, rate(*shape)))
    print("};")


main()
