# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Arrays of Arrow, by the PyCapsule interface that its libraries share.

https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html. The keys stay in the
memory of the library that made them, which is released after the call.
"""

from __future__ import annotations

import ctypes
from operator import sub
from typing import Any

from epf._keys import Chunk, lens_of
from epf._native import Error, ffi, text_of

FIXED = {"c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "l": 8, "L": 8}
# Bytes of an offset, and its letter for memoryview.cast().
OFFSETS = {"z": (4, "i"), "u": (4, "i"), "Z": (8, "q"), "U": (8, "q")}

_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _unwrap(capsule: object, name: str) -> Any:
    """The struct in a capsule, which keeps owning it."""
    address = _pointer_in(capsule, name.encode())
    return ffi.cast(f"struct {_STRUCTS[name]} *", address)


_STRUCTS = {"arrow_schema": "ArrowSchema", "arrow_array": "ArrowArray",
            "arrow_array_stream": "ArrowArrayStream"}


def _release(struct: Any) -> None:
    if struct.release:
        struct.release(struct)


def _owned(struct: str) -> Any:
    """A struct to be filled, which is released when nobody has it any more."""
    return ffi.gc(ffi.new(f"struct {struct} *"), _release)


def chunks(keys: Any) -> list[Chunk]:
    """The chunks of an array or a stream of Arrow."""
    if hasattr(keys, "__arrow_c_array__"):
        schema, made = keys.__arrow_c_array__()
        one = _chunk(_unwrap(schema, "arrow_schema"), _unwrap(made, "arrow_array"), 0, (schema, made))
        return [one]
    capsule = keys.__arrow_c_stream__()
    return _stream(_unwrap(capsule, "arrow_array_stream"))


def _stream(stream: Any) -> list[Chunk]:
    schema = _owned("ArrowSchema")
    found: list[Chunk] = []
    n = 0
    _check(stream, stream.get_schema(stream, schema))
    while True:
        made = _owned("ArrowArray")
        _check(stream, stream.get_next(stream, made))
        if not made.release:
            return found
        found.append(_chunk(schema, made, n, made))
        n += found[-1].n


def _check(stream: Any, error: int) -> None:
    if error:
        why = stream.get_last_error(stream)
        raise Error(error, text_of(why) if why else "a stream of Arrow failed")


def _chunk(schema: Any, made: Any, first: int, owner: Any) -> Chunk:
    """One array; its keys are numbers @first and up of those of the call."""
    kind = text_of(schema.format)
    if schema.dictionary:
        raise TypeError("a dictionary of Arrow: cast it to the type of its values")
    size = int(kind[2:]) if kind.startswith("w:") else FIXED.get(kind, 0)
    if not size and kind not in OFFSETS:
        raise TypeError(f"an array of Arrow of format '{kind}': keys are integers, (large) binary, "
                        "fixed-size binary or (large) string")
    _check_nulls(made, first)
    if not made.length:
        return Chunk(ffi.NULL, 0, 0, owner=owner)
    if size:
        data = ffi.cast("char *", made.buffers[1]) + made.offset * size
        return Chunk(data, made.length, size, owner=owner)
    return _of_lengths(made, *OFFSETS[kind], owner)


def _of_lengths(made: Any, size: int, letter: str, owner: Any) -> Chunk:
    start = ffi.cast("char *", made.buffers[1]) + made.offset * size
    offsets = memoryview(ffi.buffer(start, (made.length + 1) * size)).cast(letter)
    same, lens = lens_of(list(map(sub, offsets[1:], offsets[:-1])))
    data = ffi.cast("char *", made.buffers[2]) + offsets[0]
    return Chunk(data, made.length, same, lens, owner)


def _check_nulls(made: Any, first: int) -> None:
    """Null is no key."""
    if not made.null_count or not made.buffers[0]:
        return
    raw = ffi.buffer(made.buffers[0], (made.offset + made.length + 7) // 8)
    valid = int.from_bytes(raw, "little") >> made.offset
    null = ~valid & (1 << made.length) - 1
    if null:
        raise ValueError(f"key {first + (null & -null).bit_length() - 1} is null")
