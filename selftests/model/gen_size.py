#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write predicted error rates, selftests/core/size_vectors.h, to standard
output.

Inclusion-exclusion with 80 digits. A key names u distinct positions with its n
fields; 62 of the 64 values of a field name a position each. Another key has no field
that names one of i given positions with probability ((64 - i) / 64)^n, so a Poisson
number of keys sets all u with probability

    sum over i of (-1)^i C(u, i) exp(-load (1 - ((64 - i) / 64)^n))
"""

from decimal import Decimal, getcontext
from fractions import Fraction
from math import comb

import lanes

getcontext().prec = 80

HEAD = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* Generated: python3 selftests/model/gen_size.py > selftests/core/size_vectors.h */
/* clang-format off */
static const struct {
	unsigned long long nr_lines;
	unsigned int lines_per_key;
	unsigned int bits_per_key;
	double keys; /* of each epoch */
	double fpr;
} size_vectors[] = {"""


def decimal(fraction):
    return Decimal(fraction.numerator) / fraction.denominator


def distinct(n):
    """Return the probabilities of 0 .. n distinct positions."""
    chance = [Fraction(1)]
    for _ in range(n):
        new = [Fraction(lanes.POSITIONS - u, 64) for u in range(len(chance))]
        found = [c * p for c, p in zip(chance, new)]
        chance = [c - f + g for c, f, g in
                  zip(chance + [0], found + [0], [0] + found)]
    return chance


def covered(n, load):
    """Return, by u, the probability that the keys of a line name all of u positions."""
    row = []
    for u in range(n + 1):
        total = Decimal(0)
        for i in range(u + 1):
            missed = Fraction(64 - i, 64)**n
            total += (-1)**i * comb(u, i) * \
                (-load * decimal(1 - missed)).exp()
        row.append(total)
    return row


def rate(nr_lines, parts, k, keys):
    """A key has the same positions in all epochs, so hits of two epochs come
    together: inclusion and exclusion over sets of i epochs.
    """
    g = lanes.Geometry(nr_lines, parts, k)
    row = covered(g.n, Decimal(keys) / g.part_lines)
    every = [sum(decimal(c) * p**i for c, p in zip(distinct(g.n), row))**parts
             for i in range(lanes.RETAINED + 1)]
    return sum((-1)**(i + 1) * comb(lanes.RETAINED, i) * every[i]
               for i in range(1, lanes.RETAINED + 1))


def main():
    print(HEAD)
    for parts in (1, 2, 4):
        for n in (1, 2, 4, 5, 6, 8, 11, 15):
            for load in (1, 40, 400, 3000, 60000):
                shape = 4096, parts, n * parts, load * 10
                print("\t{ %d, %d, %d, %d, %.17g }," % (*shape, rate(*shape)))
    print("};")


main()
