#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many instructions does one round of a kernel's loop take?

usage: instructions.py CUBIN...

The cubins are made by "nvcc -cubin -arch=sm_90". The script needs neither a card nor
nvdisasm. It prints a line for each kernel that has a loop, with these columns:

  round   instructions of the longest loop, including those of branches not taken
  inner   how many of them are in inner loops, which may run several times
  loads   loads of 16 bytes in the loop: quarters of lines
  late    how many of these come after the first left shift; nvcc makes masks with
          left shifts

A loop extends from the target of a conditional backward branch to the branch. An
instruction has 16 bytes. The script decodes these fields, as nvcc 13.0 encodes them for
sm_90 (found by comparing code with the output of nvdisasm):

  bits 0-11           operation
  bits 12-14          predicate; 7: none
  bits 34-81, 16-23   of a branch: signed distance, in units of 4 bytes, from the next
                      instruction
  bits 73-75          of a load: size; 6: 16 bytes
  bit 76              of a shift: to the right
"""

import struct
import subprocess
import sys

BRANCH, LOAD, SHIFT = 0x947, 0x981, 0x219
ALWAYS, SIZE_16 = 7, 6
BYTES = 16
SM_90 = 90
TEXT = ".text."


def architecture(elf):
    """The number of sm_NUMBER: bits 8 to 15 of e_flags."""
    return struct.unpack_from("<I", elf, 0x30)[0] >> 8 & 0xFF


def sections(elf):
    """Yield name and content of each section of the 64-bit little-endian @elf."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    _, n, names = struct.unpack_from("<HHH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", elf, table + 64 * i) for i in range(n)]
    start = heads[names][4]
    for name, _, _, _, offset, size in heads:
        end = elf.index(b"\0", start + name)
        yield elf[start + name:end].decode(), elf[offset:offset + size]


def operation(word):
    return word & 0xFFF


def conditional(word):
    return word >> 12 & 7 != ALWAYS


def distance(word):
    """Return the instructions from the one after a branch to its target."""
    units = (word >> 34 & (1 << 48) - 1) << 8 | word >> 16 & 0xFF
    return (units - (units >> 55 << 56)) * 4 // BYTES


def is_line_load(word):
    return operation(word) == LOAD and word >> 73 & 7 == SIZE_16


def is_left_shift(word):
    return operation(word) == SHIFT and not word >> 76 & 1


def loops(words):
    """Return the first and last instruction of each loop."""
    return [(i + 1 + distance(w), i) for i, w in enumerate(words)
            if operation(w) == BRANCH and conditional(w) and distance(w) < 0]


def measure(words):
    """Return the columns for the longest loop; None: there is no loop."""
    found = loops(words)
    if not found:
        return None
    first, last = max(found, key=lambda loop: loop[1] - loop[0])
    inside = {i for a, b in found if a >= first and b < last for i in range(a, b + 1)}
    body = words[first:last + 1]
    shifts = [i for i, w in enumerate(body) if is_left_shift(w)]
    loads = [i for i, w in enumerate(body) if is_line_load(w)]
    late = [i for i in loads if shifts and i > shifts[0]]
    return len(body), len(inside), len(loads), len(late)


def short(names):
    """Return the names of kernels without parameters and blanks: query<1,5,true>."""
    said = subprocess.run(["c++filt"], input="\n".join(names), text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    return [line.removeprefix("void ").split("(")[0].replace(" ", "")
            for line in said.splitlines()]


def kernels(path):
    """Yield name and instructions of each kernel in the cubin @path."""
    with open(path, "rb") as f:
        elf = f.read()
    if elf[:4] != b"\x7fELF" or architecture(elf) != SM_90:
        sys.exit(f"error: {path} is no cubin for sm_90; make it with nvcc -cubin -arch=sm_90")
    code = {n.removeprefix(TEXT): c for n, c in sections(elf) if n.startswith(TEXT)}
    for name, text in sorted(zip(short(code), code.values())):
        yield name, [int.from_bytes(text[i:i + BYTES], "little")
                     for i in range(0, len(text), BYTES)]


def main(paths):
    if not paths:
        sys.exit(__doc__)
    print(f"{'kernel':22} {'round':>6} {'inner':>6} {'loads':>6} {'late':>6}")
    for path in paths:
        for name, words in kernels(path):
            row = measure(words)
            if row:
                print(f"{name:22}", *(f"{n:6}" for n in row))


if __name__ == "__main__":
    main(sys.argv[1:])
