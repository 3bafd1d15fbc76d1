#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make two of the counts by age in an audit's state too large by 2^63 each, so that their
sum is unchanged; the checksum is valid.

usage: forge_state.py FILE
"""

import ctypes
import ctypes.util
import struct
import sys

xxh3 = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0").XXH3_64bits
xxh3.restype, xxh3.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)


def checksum(words):
    zero = struct.pack(f"<{len(words)}Q", *words[:-1], 0)
    return xxh3(zero, len(zero))


with open(sys.argv[1], "r+b") as f:
    data = f.read()
    words = list(struct.unpack(f"<{len(data) // 8}Q", data))
    assert checksum(words) == words[-1]
    first = next(i for i in range(2, len(words) - 255)
                 if words[i - 2] >= words[i - 1] == sum(words[i:i + 255]) > 0)
    words[first] += 1 << 63
    words[first + 1] += 1 << 63
    words[-1] = checksum(words)
    f.seek(0)
    f.write(struct.pack(f"<{len(words)}Q", *words))
