# SPDX-License-Identifier: GPL-2.0
"""A producer of Arrow arrays, written from the specification of its C data interface with ctypes,
so that tests need no library of Arrow. It counts what is released.
"""

import ctypes
import struct

POINTER, CHARS = ctypes.c_void_p, ctypes.c_char_p


class Schema(ctypes.Structure):
    _fields_ = [("format", CHARS), ("name", CHARS), ("metadata", CHARS), ("flags", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("children", POINTER), ("dictionary", POINTER),
                ("release", POINTER), ("private_data", POINTER)]


class Array(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64),
                ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("buffers", POINTER), ("children", POINTER),
                ("dictionary", POINTER), ("release", POINTER), ("private_data", POINTER)]


class Stream(ctypes.Structure):
    _fields_ = [("get_schema", POINTER), ("get_next", POINTER), ("get_last_error", POINTER),
                ("release", POINTER), ("private_data", POINTER)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [POINTER, CHARS, POINTER]
RELEASE = ctypes.CFUNCTYPE(None, POINTER)
FILL = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER)
TEXT = ctypes.CFUNCTYPE(POINTER, POINTER)
kept = []  # what C code points to


def keep(thing):
    kept.append(thing)
    return thing


class Column:
    """An array: @fmt is its type, @buffers are bytes or None, @offset where it begins in them."""

    def __init__(self, fmt, length, buffers, offset=0, nulls=0, dictionary=False):
        self.fmt, self.length, self.buffers = fmt, length, buffers
        self.offset, self.nulls, self.dictionary = offset, nulls, dictionary
        self.released = 0
        self.data = [keep(ctypes.create_string_buffer(b, max(len(b), 1))) if b is not None else None
                     for b in buffers]
        self.release_schema = keep(RELEASE(lambda at: self._release(at, Schema)))
        self.release_array = keep(RELEASE(lambda at: self._release(at, Array)))

    def address(self, i):
        """Of buffer @i."""
        return ctypes.addressof(self.data[i])

    def _release(self, address, kind):
        self.released += 1
        ctypes.cast(address, ctypes.POINTER(kind)).contents.release = None

    def fill_schema(self, schema):
        schema.format = keep(ctypes.c_char_p(self.fmt)).value
        schema.dictionary = ctypes.addressof(keep(Schema())) if self.dictionary else None
        schema.release = ctypes.cast(self.release_schema, POINTER)

    def fill(self, array):
        pointers = keep((POINTER * len(self.data))(*[d and ctypes.addressof(d) for d in self.data]))
        array.length, array.null_count, array.offset = self.length, self.nulls, self.offset
        array.n_buffers, array.buffers = len(self.data), ctypes.addressof(pointers)
        array.release = ctypes.cast(self.release_array, POINTER)

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = keep(Schema()), keep(Array())
        self.fill_schema(schema)
        self.fill(array)
        return (new_capsule(ctypes.addressof(schema), b"arrow_schema", None),
                new_capsule(ctypes.addressof(array), b"arrow_array", None))


class Chunked:
    """Arrays one after another, as a stream; @error: an errno after them."""

    def __init__(self, *columns, error=0):
        self.columns, self.error = columns, error
        self.stream, self.given = Stream(), 0
        self.calls = FILL(self._schema), FILL(self._next), TEXT(self._why)
        self.text = ctypes.create_string_buffer(b"the stream is broken")

    def _schema(self, _stream, out):
        self.columns[0].fill_schema(ctypes.cast(out, ctypes.POINTER(Schema)).contents)
        return 0

    def _next(self, _stream, out):
        array = ctypes.cast(out, ctypes.POINTER(Array)).contents
        if self.given < len(self.columns):
            self.columns[self.given].fill(array)
            self.given += 1
            return 0
        array.release = None
        return self.error

    def _why(self, _stream):
        return ctypes.addressof(self.text)

    def __arrow_c_stream__(self, requested_schema=None):
        self.given = 0
        for name, call in zip(("get_schema", "get_next", "get_last_error"), self.calls):
            setattr(self.stream, name, ctypes.cast(call, POINTER))
        return new_capsule(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def texts(keys, fmt=b"u", offset=0):
    """A column of strings: 'u' and 'z' have offsets of 32 bits, 'U' and 'Z' of 64."""
    letter = "i" if fmt in (b"u", b"z") else "q"
    ends = [0]
    for key in keys:
        ends.append(ends[-1] + len(key))
    return Column(fmt, len(keys) - offset, [None, struct.pack(f"={len(ends)}{letter}", *ends),
                                            b"".join(keys)], offset)
