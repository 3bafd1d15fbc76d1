# SPDX-License-Identifier: GPL-2.0
"""Guarded epochs as sets, and the known answers of the kinds made of them.

Alpay and Sarioglu, "Guarded Epoch Bloom Filters for Sliding-Window
Membership", 2026, Algorithm 1. An epoch is the set of positions that its keys
have set; a key is present in an epoch that has all of the key's positions. There
are the current epoch and the r before it. The oldest one is dropped when it is
retired, at the latest when a new one begins.

Script of the known answers: operation i = 0, 1, ... is drawn from
x = word(seed, 8 + i). x mod 64 selects it: 0: retire; 1: retire and begin an
epoch; 2 to 25: test; else insert. The key is
word(seed, 4096 + (x div 64) mod KEYS). The result of a test is one character:
'.' absent, else the age in base 36.
"""

import textwrap

from hashes import word

KEYS = 97
AGES = "0123456789abcdefghijklmnopqrstuvwxyz"

HEAD = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* Generated: python3 selftests/model/{0}.py > selftests/core/{0}_vectors.h
 * The script of operations is told in selftests/model/epochs.py.
 */
/* clang-format off */"""


class Filter:
    def __init__(self, r, names):
        """names(digest): the set of positions that a key sets."""
        self.r, self.names = r, names
        self.epochs = [set()]  # newest first

    def insert(self, digest):
        self.epochs[0] |= self.names(digest)

    def age(self, digest):
        want = self.names(digest)
        for age, held in enumerate(self.epochs):
            if want <= held:
                return age
        return None

    def retire(self):
        self.epochs = self.epochs[:self.r]

    def begin(self):
        self.retire()
        self.epochs.insert(0, set())


def answers(f, seed, steps):
    out = []
    for i in range(steps):
        x = word(seed, 8 + i)
        key = word(seed, 4096 + x // 64 % KEYS)
        if x % 64 == 0:
            f.retire()
        elif x % 64 == 1:
            f.begin()
        elif x % 64 < 26:
            age = f.age(key)
            out.append("." if age is None else AGES[age])
        else:
            f.insert(key)
    return "".join(out)


def string(text):
    """Return C text, broken into lines."""
    return "\n".join(f'\t  "{part}"' for part in textwrap.wrap(text, 64))


def wrap(text):
    return textwrap.fill(text, 76, initial_indent="\t",
                         subsequent_indent="\t  ", break_long_words=False)
