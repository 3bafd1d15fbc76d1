# SPDX-License-Identifier: GPL-2.0
"""The known answers of the resizable kinds.

Script: operation i = 0, 1, ... is drawn from x = word(seed, 8 + i). Time advances
by x >> 32 mod (2 * (T div 64) div rates[8 i div STEPS] + 1); if x mod 256 is
255 by (x >> 60) * (T div gaps) more. If x div 64 mod 4 is not 0 or the seed is a
multiple of 3, the owner comes: it takes back expired memory and then, if memory is
due (with an odd seed: due soon), provides the planned amount. Then follows a test
if x mod 64 is below 8, else an insertion, of the key
word(seed, 4096 + (x div 256) mod KEYS). A test gives a character as in aged.py.
These are folded as there: the words of all memory taken back and provided; at the
end the time and the result of the kind's state().

A filter has tick(ns): time advances; start(): it takes its first memory; due()
and soon(); plan(), add(n) and expired() for memory in units of .unit words, 0:
none; insert(digest), age(digest); .now and state().
"""

import textwrap

from aged import fold
from epochs import AGES
from hashes import word

KEYS = 97
STEPS = 2400

HEAD = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* Generated: python3 selftests/model/{0}.py > selftests/core/{0}_vectors.h
 * The script of operations is told there.
 */
/* clang-format off */
static const struct {{
	struct epf_{0}_shape shape;
	unsigned int seed, steps;
	unsigned long long fold;
	const char *answers;
}} {0}_scripts[] = {{"""


def come(f, early):
    """Return the words of memory taken back and provided."""
    moved = []
    while n := f.expired():
        moved.append(f.unit * n)
    n = f.plan() if (f.soon() if early else f.due()) else 0
    if n:
        moved.append(f.unit * n)
        f.add(n)
    return moved


def play(f, span, seed, rates, gaps):
    moved, out = [], []
    f.start()
    for i in range(STEPS):
        x = word(seed, 8 + i)
        ns = (x >> 32) % (2 * (span // 64) // rates[8 * i // STEPS] + 1)
        if x % 256 == 255:
            ns += (x >> 60) * (span // gaps)
        f.tick(ns)
        if x // 64 % 4 or seed % 3 == 0:
            moved += come(f, seed % 2)
        key = word(seed, 4096 + x // 256 % KEYS)
        if x % 64 < 8:
            age = f.age(key)
            out.append("." if age is None else AGES[min(age, 35)])
        else:
            f.insert(key)
    return "".join(out), fold([*moved, f.now, *f.state()])


def write(name, kind, shapes, rates, gaps):
    """kind: class of the filter; its shape begins with T."""
    print(HEAD.format(name))
    for seed, shape in enumerate(shapes, 1):
        text, value = play(kind(*shape), shape[0], seed, rates, gaps)
        print("\t{ { %s },\n\t  %d, %d, 0x%xULL,\n\t  %s }," % (
            ", ".join(map(str, shape)), seed, STEPS, value,
            "\n\t  ".join('"%s"' % s for s in textwrap.wrap(text, 64))))
    print("};")
