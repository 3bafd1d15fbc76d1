# SPDX-License-Identifier: GPL-2.0
"""Age-partitioned filters as sets, and the known answers of the kinds made so.

Shtul, Baquero and Almeida, "Age-Partitioned Bloom Filters", 2020, section 5.1:
slice i is the array at place (i - shifts) mod (k + l), each array has its own
hash function, add sets slices 0 .. k-1, and query(e) is true if there is a j,
0 <= j <= l, with e in all of the slices j .. j+k-1. The result is the least j.
Between retire and advance the oldest slice does not count.

Script of the known answers: that of epochs.py, but to retire again is to sweep and
advance. At the end all words of memory are folded: value = word(value + w, 1),
from 0.
"""

import textwrap

from epochs import answers
from hashes import M64, word

HEAD = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* Generated: python3 selftests/model/{0}.py > selftests/core/{0}_vectors.h
 * The script of operations is told in selftests/model/aged.py.
 */
/* clang-format off */"""


class Filter:
    def __init__(self, k, l, bits, names):
        """bits: size of one array; names(digest, place): the set of its bits."""
        self.k, self.l, self.bits, self.names = k, l, bits, names
        self.arrays = [set() for _ in range(k + l)]
        self.shifts, self.retired = 0, False

    def place(self, i):
        return (i - self.shifts) % (self.k + self.l)

    def insert(self, digest):
        for i in range(self.k):
            self.arrays[self.place(i)] |= self.names(digest, self.place(i))

    def age(self, digest):
        for j in range(self.l + 1 - self.retired):
            places = map(self.place, range(j, j + self.k))
            if all(self.names(digest, p) <= self.arrays[p] for p in places):
                return j
        return None

    def retire(self):
        if self.retired:
            self.begin()
        else:
            self.retired = True

    def begin(self):
        self.arrays[self.place(self.k + self.l - 1)] = set()
        self.shifts, self.retired = self.shifts + 1, False

    def memory(self):
        words = []
        for held in self.arrays:
            array = sum(1 << b for b in held)
            words += [array >> at & M64 for at in range(0, self.bits, 64)]
        return words + [0] * (-len(words) % 8)


def fold(words):
    value = 0
    for w in words:
        value = word((value + w) & M64, 1)
    return value


def row(shape, f, seed, steps):
    text = textwrap.wrap(answers(f, seed, steps), 64)
    return "\t{ %s, %d, %d, 0x%xULL,\n\t  %s },\n" % (
        ", ".join(map(str, shape)), seed, steps, fold(f.memory()),
        "\n\t  ".join('"%s"' % line for line in text))


def table(name, fields, rows):
    return ("static const struct {\n%s"
            "\tunsigned int seed, steps;\n\tunsigned long long memory;\n"
            "\tconst char *answers;\n} %s_scripts[] = {\n%s};" %
            (fields, name, "".join(rows)))
