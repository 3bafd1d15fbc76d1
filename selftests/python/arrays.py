#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Keys of every type: equal keys have equal answers whatever holds them, arrays are not copied,
and what is no key is refused. Libraries that are not installed are skipped.
"""

import array
import ctypes
import gc
import ipaddress
import mmap
import random
import struct
import sys

import arrow
from common import epf, first_fault, main, optional, plan, raises, temp
from epf import _keys

N = 1000
DRAW = random.Random(3)
NUMBERS = [DRAW.randrange(2**63) for _ in range(N)]
PACKED = struct.pack(f"={N}Q", *NUMBERS)
EIGHTS = [PACKED[i:i + 8] for i in range(0, len(PACKED), 8)]
TEXTS = [f"host-{i}.example" + "x" * (i % 200) for i in range(N)]
BYTES = [text.encode() for text in TEXTS]


def asked(keys):
    """A filter in which every key has one of the ages, and half of them none."""
    seen = epf.Filter(plan(), time_ns=0)
    for i in range(5):
        seen.insert(keys[100 * i:100 * i + 100], time_ns=0)
        seen.rotate(time_ns=0)
    return seen, b"".join(bytes([5 - i]) * 100 for i in range(5)) + b"\xff" * 500


SEEN, WANT = asked(EIGHTS)
SEEN_TEXTS, WANT_TEXTS = asked(BYTES)


def same(seen, want, holders, kind):
    """A fault of the first of (name, keys, key_len) whose answers differ, or are of another type."""
    for name, keys, *key_len in holders:
        ages = seen.test(keys, key_len=key_len[0] if key_len else None, time_ns=0)
        if bytes(ages) != want:
            return f"{name}: {sum(a != b for a, b in zip(ages, want))} of {len(ages)} differ"
        if type(ages).__name__ != kind:
            return f"{name}: the ages are of type {type(ages).__name__}"
    return None


def mapped():
    with open(temp("mapped"), "wb") as out:
        out.write(PACKED)
    with open(temp("mapped"), "rb") as back:
        return mmap.mmap(back.fileno(), 0, prot=mmap.PROT_READ)


def lists():
    """bytes, numbers, buffers, maps of files: ages as bytes"""
    memory = memoryview(PACKED)
    return same(SEEN, WANT, [
        ("list of numbers", NUMBERS), ("tuple", tuple(EIGHTS)), ("generator", iter(NUMBERS)),
        ("mixed", [k if i % 2 else EIGHTS[i] for i, k in enumerate(NUMBERS)]),
        ("pieces", [memory[8 * i:8 * i + 8] for i in range(N)]),
        ("bytearrays", [bytearray(key) for key in EIGHTS]),
        ("bytes", PACKED, 8), ("bytearray", bytearray(PACKED), 8), ("memoryview", memory, 8),
        ("map", mapped(), 8), ("array of Q", array.array("Q", NUMBERS)),
        ("array of q", array.array("q", NUMBERS)), ("cast", memory.cast("Q")),
        ("two dimensions", memory.cast("B", (N, 8))),
        ("ctypes", (ctypes.c_uint64 * N)(*NUMBERS))], "bytes")


def texts():
    """str is its UTF-8, in lists of any lengths"""
    return same(SEEN_TEXTS, WANT_TEXTS, [
        ("str", TEXTS), ("dict", dict.fromkeys(TEXTS)), ("map", map(str, TEXTS)),
        ("str and bytes", [t if i % 3 else BYTES[i] for i, t in enumerate(TEXTS)])], "bytes")


def numpy_arrays():
    """NumPy arrays of numbers, bytes, records, rows: ages as a NumPy array"""
    np = optional("numpy")
    flat = np.array(NUMBERS, np.uint64)
    odd = np.frombuffer(b"\0" + PACKED, np.uint8, offset=1)
    return same(SEEN, WANT, [
        ("uint64", flat), ("int64", flat.astype(np.int64)), ("V8", flat.view("V8")),
        ("S8", flat.view("S8")), ("rows of bytes", flat.view(np.uint8).reshape(N, 8)),
        ("rows of words", flat.view(np.uint32).reshape(N, 2)), ("bytes", flat.view(np.uint8), 8),
        ("records", flat.view([("a", "<u4"), ("b", "<u4")])), ("times", flat.view("M8[ns]")),
        ("objects", np.array(NUMBERS, object)), ("not aligned", odd, 8),
        ("mapped", np.memmap(temp("npy"), np.uint64, "w+", shape=N).__iadd__(flat)),
        ("part", np.concatenate([flat[:3], flat])[3:])], "ndarray") or same(
        SEEN, WANT, [("list of NumPy's numbers", list(flat))], "bytes")


def numpy_texts():
    """arrays of bytes have keys of their item size; objects are str or bytes"""
    np = optional("numpy")
    padded = [text.ljust(300)[:256].encode() for text in TEXTS]
    seen, want = asked(padded)
    return same(seen, want, [("S256", np.array(padded))], "ndarray") or same(
        SEEN_TEXTS, WANT_TEXTS, [("objects", np.array(TEXTS, object))], "ndarray")


def pandas_columns():
    """columns of pandas: numbers, integers that may be missing, text, an index"""
    pd = optional("pandas")
    column = pd.Series(NUMBERS, dtype="uint64")
    frame = pd.DataFrame({"a": NUMBERS, "t": TEXTS})
    return same(SEEN, WANT, [
        ("uint64", column), ("UInt64", column.astype("UInt64")), ("index", pd.Index(column)),
        ("column of a table", frame["a"]), ("objects", column.astype(object))],
        "ndarray") or same(SEEN_TEXTS, WANT_TEXTS, [
            ("objects", frame["t"]), ("string", frame["t"].astype("string")),
            ("category", frame["t"].astype("category"))], "ndarray") or first_fault(
        raises(TypeError, lambda: SEEN.test(pd.Series(["a", None])), "key 1"),
        raises(ValueError, lambda: SEEN.test(pd.array([1, None], "Int64").to_numpy(dtype="i8"))),
        raises(ValueError, lambda: SEEN.test(pd.Series([1, None], dtype="UInt32")), "missing"),
        small(pd))


def small(pd):
    """Integers that may be missing keep their number of bytes."""
    seen = epf.Filter(plan())
    seen.insert(pd.Series([1, 2], dtype="UInt32"))
    return None if struct.pack("=I", 2) in seen and 2 not in seen else "UInt32"


def arrow_arrays():
    """Arrow: numbers, fixed-size binary, binary and text by offsets, parts, chunks"""
    fixed = [("numbers", arrow.Column(b"L", N, [None, PACKED])),
             ("w:8", arrow.Column(b"w:8", N, [None, PACKED])),
             ("part", arrow.Column(b"l", N, [None, b"\1" * 24 + PACKED], offset=3)),
             ("no null", arrow.Column(b"L", N, [b"\xff" * 125, PACKED], nulls=-1)),
             ("chunks", arrow.Chunked(arrow.Column(b"L", 3, [None, PACKED]),
                                      arrow.Column(b"L", 0, [None, None]),
                                      arrow.Column(b"L", N - 3, [None, PACKED], offset=3)))]
    text = [(fmt.decode(), arrow.texts(BYTES, fmt)) for fmt in (b"u", b"z", b"U", b"Z")]
    text += [("part", arrow.texts([b"before", b""] + BYTES, b"u", offset=2))]
    fault = same(SEEN, WANT, fixed, "bytes") or same(SEEN_TEXTS, WANT_TEXTS, text, "bytes")
    stream = fixed[-1][1]
    released = [column.released for column in stream.columns]
    return fault or (None if released == [2, 1, 1] else f"released: {released}")


def pyarrow_arrays():
    """arrays of pyarrow"""
    pa = optional("pyarrow")
    return same(SEEN, WANT, [("array", pa.array(NUMBERS, pa.uint64())),
                             ("chunks", pa.chunked_array([NUMBERS[:5], NUMBERS[5:]], pa.uint64()))],
                "bytes") or same(SEEN_TEXTS, WANT_TEXTS, [("text", pa.array(TEXTS))], "bytes")


def pointer(keys, key_len=None):
    (chunk,) = _keys.keys_of(keys, key_len).chunks
    return int(_keys.ffi.cast("uintptr_t", chunk.data))


def no_copies():
    """the library gets the memory of the array itself, also if it may not be written"""
    np = optional("numpy")
    held = array.array("Q", NUMBERS)
    readonly = np.array(NUMBERS, np.uint64)
    readonly.flags.writeable = False
    column, text = arrow.Column(b"L", N - 2, [None, PACKED], offset=2), arrow.texts(BYTES, offset=4)
    there = {
        "array": (pointer(held), held.buffer_info()[0]),
        "NumPy": (pointer(readonly), readonly.ctypes.data),
        "part": (pointer(readonly[7:]), readonly.ctypes.data + 56),
        "rows": (pointer(readonly.view("u1").reshape(N, 8)), readonly.ctypes.data),
        "times": (pointer(readonly.view("m8[s]")), readonly.ctypes.data),
        "Arrow": (pointer(column), column.address(1) + 16),
        "text of Arrow": (pointer(text), text.address(2) + sum(map(len, BYTES[:4])))}
    wrong = [name for name, (got, want) in there.items() if got != want]
    return f"copied: {wrong}" if wrong else None


def no_copies_pandas():
    """nor are columns of pandas copied"""
    pd, np = optional("pandas"), optional("numpy")
    data = np.array(NUMBERS, np.uint64)
    column = pd.Series(data, copy=False)
    return None if pointer(column) == data.ctypes.data else "copied"


def held_meanwhile():
    """a buffer cannot be resized while its keys are in use"""
    data = bytearray(PACKED)
    keys = _keys.keys_of(data, 8)
    fault = raises(BufferError, lambda: data.extend(b"more"))
    del keys
    data.extend(b"more")
    return fault


def garbage():
    """keys of a memoryview in a cycle are collected without an error"""
    told, hook = [], sys.unraisablehook
    sys.unraisablehook = told.append
    try:
        for holder in memoryview(PACKED), array.array("Q", NUMBERS), bytearray(PACKED):
            cycle = [_keys.keys_of(holder, 8 if len(holder) == len(PACKED) else None)]
            cycle += [cycle, holder]
            del cycle, holder
            gc.collect()
    finally:
        sys.unraisablehook = hook
    return str(told[0].exc_value) if told else None


def empty():
    """no keys: no ages, and no error"""
    np = optional("numpy")
    holders = [[], (), b"", array.array("Q"), np.zeros(0, np.uint64), np.zeros((0, 8), np.uint8),
               arrow.Column(b"L", 0, [None, None]), arrow.texts([])]
    for keys in holders:
        key_len = 8 if isinstance(keys, bytes) else None
        if len(SEEN.test(keys, key_len=key_len, time_ns=0)):
            return f"{keys!r}"
        SEEN.insert(keys, key_len=key_len, time_ns=0)
    return None


def refused():
    """what is no key is refused, with the place of the first one"""
    wrong = [(TypeError, 1.5, []), (TypeError, None, []), (TypeError, [1, None], ["key 1"]),
             (TypeError, ["a", 2.0], ["key 1", "float"]), (TypeError, [True], ["key 0"]),
             (TypeError, True, ["bool"]), (TypeError, [[1], [2]], ["key 0"]),
             (TypeError, [ipaddress.ip_address("::1")], ["IPv6Address"]),
             (TypeError, [array.array("Q", [1, 2])], ["key 0"]),
             (ValueError, -1, ["-1"]), (ValueError, [0, 2**64], ["key 1"]),
             (ValueError, b"", ["0 bytes"]), (ValueError, ["a", ""], ["key 1 has 0"]),
             (ValueError, b"x" * 257, ["257"]), (ValueError, [b"x" * 256, b"x" * 257], ["key 1"]),
             (ValueError, ["a", "b" * 70000], ["key 1 has 70000"]),
             (TypeError, memoryview(PACKED), ["key_len"]), (TypeError, array.array("d", [1]), ["'d'"]),
             (TypeError, memoryview(PACKED).cast("B", (10, 10, 80)), ["3 dimensions"]),
             (ValueError, memoryview(PACKED).cast("Q")[::2], ["ascontiguousarray"]),
             (ValueError, memoryview(PACKED).cast("B", (20, 400)), ["400"])]
    lengths = [(ValueError, PACKED, 7, "whole number"), (ValueError, PACKED, 0, "0"),
               (ValueError, bytes(257), 257, "257"), (TypeError, "text", 2, "str"),
               (TypeError, array.array("Q", [1]), 8, "key_len"), (TypeError, [b"ab"], 2, "key_len"),
               (TypeError, 5, 8, "key_len")]
    return first_fault(
        *(raises(kind, lambda k=keys: SEEN.test(k, time_ns=0), *words) for kind, keys, words in wrong),
        *(raises(kind, lambda k=keys, n=n: SEEN.test(k, key_len=n, time_ns=0), word)
          for kind, keys, n, word in lengths))


def refused_arrays():
    """arrays of other types, null, streams that fail are refused, and released"""
    np = optional("numpy")
    flat = np.array(NUMBERS, np.uint64)
    broken = arrow.Chunked(arrow.Column(b"L", 3, [None, PACKED]), error=5)
    wrong = [(TypeError, flat.astype(float), "'d'"), (TypeError, np.array(["a"]), "w"),
             (TypeError, np.array([True]), "?"), (ValueError, flat[::2], "ascontiguousarray"),
             (ValueError, flat.reshape(10, 100).T, "ascontiguousarray"),
             (TypeError, flat.view("u1"), "key_len"), (TypeError, flat.reshape(10, 10, 10), "3"),
             (TypeError, np.array([[1, 2]], object), "dimension"),
             (TypeError, arrow.Column(b"g", 1, [None, b"\0" * 8]), "'g'"),
             (TypeError, arrow.Column(b"+s", 1, [None]), "'+s'"),
             (TypeError, arrow.Column(b"i", 1, [None, b"\0" * 4], dictionary=True), "dictionary"),
             (ValueError, arrow.Column(b"L", 9, [b"\xff\x1b", PACKED], 2, nulls=1), "key 8 is null"),
             (ValueError, arrow.texts([b"a", b""]), "key 1 has 0"),
             (ValueError, arrow.texts([b"a", b"b" * 300]), "key 1 has 300"),
             (epf.Error, broken, "the stream is broken")]
    fault = first_fault(*(raises(kind, lambda k=keys: SEEN.test(k, time_ns=0), word)
                          for kind, keys, word in wrong))
    return fault or (None if broken.columns[0].released == 2 else "a broken stream is not released")


main(lists, texts, numpy_arrays, numpy_texts, pandas_columns, arrow_arrays, pyarrow_arrays, no_copies,
     no_copies_pandas, held_meanwhile, garbage, empty, refused, refused_arrays)
