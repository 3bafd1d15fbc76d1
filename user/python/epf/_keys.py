# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keys of every type that Python programs have, as arrays of the C library.

Memory that has the keys in a row stays where it is: NumPy and Arrow arrays, pandas columns of
numbers, maps of files. Only lists and the like are copied, because their keys lie apart.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, AbstractSet, Any, Iterator, Protocol, Sequence, Union

from epf import _device
from epf._native import ABSENT, KEY_MAX, check, ffi

if TYPE_CHECKING:
    import ctypes
    import mmap

    from numpy.typing import NDArray

    Buffer = Union[memoryview, mmap.mmap, ctypes.Array[Any]]

INT_BYTES = 8
# Items of these types have the same bytes whenever they are equal. The letters are those of the
# module struct; 's' and 'x' are fixed numbers of bytes, 'T' and '}' a struct of NumPy.
PLAIN_ITEMS = frozenset("bBhHiIlLqQnNcsxT}")
BYTE_ITEMS = frozenset("bBc")


class ArrowArray(Protocol):
    """An array or a column of Arrow, of any library that follows its PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """An array of Arrow in chunks, such as the column of a table."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Column(Protocol):
    """A Series or an Index of pandas."""

    def to_numpy(self, dtype: Any = None) -> Any: ...


OneKey = Union[bytes, bytearray, str, int]
PlainKeys = Union[OneKey, "Buffer", Sequence[Any], AbstractSet[Any], Iterator[Any]]
AnyKeys = Union[PlainKeys, ArrowArray, ArrowStream, Column, "NDArray[Any]"]


class Chunk:
    """Keys in a row. @owner keeps the memory alive, and a buffer's length unchanged."""

    def __init__(self, data: Any, n: int, size: int, lens: array[int] | None = None,
                 owner: Any = None) -> None:
        self.data, self.n, self.owner = data, n, owner
        self.lens = ffi.NULL if lens is None else ffi.from_buffer("uint16_t[]", lens)
        self.struct = ffi.new("struct libepf_keys *")
        self.struct.data, self.struct.lens = data, self.lens
        self.struct.n, self.struct.len = n, size


class Keys:
    """The keys of a call, and how its result is given."""

    def __init__(self, chunks: list[Chunk], numpy: bool = False) -> None:
        self.chunks = chunks
        self.n = sum(chunk.n for chunk in chunks)
        self.numpy = numpy

    def bytes_for(self, size: int) -> tuple[Any, Any]:
        """An array of @size bytes for results, and a pointer to it."""
        made: Any = bytearray(size)
        if self.numpy:
            import numpy

            made = numpy.zeros(size, numpy.uint8)
        return made, ffi.from_buffer("uint8_t[]", made, require_writable=True)

    def result(self, made: Any) -> Any:
        return made if self.numpy else bytes(made)


def check_size(size: int, i: int = 0) -> None:
    if not 1 <= size <= KEY_MAX:
        raise ValueError(f"key {i} has {size} bytes: a key has 1 to {KEY_MAX}")


def lens_of(sizes: list[int]) -> tuple[int, array[int] | None]:
    """The length of all keys and None, or 0 and the length of each."""
    least, most = min(sizes), max(sizes)
    if least < 1 or most > KEY_MAX:
        i = next(i for i, size in enumerate(sizes) if not 1 <= size <= KEY_MAX)
        check_size(sizes[i], i)
    return (most, None) if least == most else (0, array("H", sizes))


def no_key(key: Any, i: int) -> TypeError:
    return TypeError(f"key {i} is of type {type(key).__name__}: a key is bytes, str or int")


def encode(key: Any, i: int = 0) -> bytes:
    """The bytes of one key."""
    if isinstance(key, (bytes, bytearray)):
        return bytes(key)
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bool):
        raise no_key(key, i)
    if isinstance(key, int):
        if not 0 <= key < 1 << 8 * INT_BYTES:
            raise ValueError(f"key {i} is {key}: a number is 0 to 2**64 - 1")
        return key.to_bytes(INT_BYTES, "little")
    return encode_item(key, i)


def encode_item(key: Any, i: int) -> bytes:
    """The bytes of a number or a record of NumPy, or of a piece of a buffer."""
    try:
        view = memoryview(key)
    except TypeError:
        raise no_key(key, i) from None
    if view.ndim > 1 or (view.ndim == 1 and view.format not in BYTE_ITEMS):
        raise no_key(key, i)
    check_items(view)
    return view.tobytes()


def one(key: Any) -> Keys:
    """One key, and no array of keys."""
    data = encode(key)
    check_size(len(data))
    return Keys([Chunk(ffi.from_buffer(data), 1, len(data), owner=data)])


def items(keys: Iterable[Any]) -> Chunk:
    """Keys that lie apart: they are copied."""
    each = [key if type(key) is bytes else encode(key, i) for i, key in enumerate(keys)]
    if not each:
        return Chunk(ffi.NULL, 0, 0)
    size, lens = lens_of(list(map(len, each)))
    data = b"".join(each)
    return Chunk(ffi.from_buffer(data), len(each), size, lens, data)


def check_items(view: memoryview) -> None:
    if view.format.lstrip("@=<>!")[-1:] not in PLAIN_ITEMS:
        raise TypeError(f"items of format '{view.format}' are no keys: "
                        "keys are integers or fixed numbers of bytes")


def shape_of(view: memoryview, key_len: int | None) -> tuple[int, int]:
    """How many keys, and the bytes of each."""
    if key_len is not None:
        check_size(key_len)
        if view.itemsize != 1 or view.ndim != 1:
            raise TypeError("key_len is for bytes in a row")
        if view.nbytes % key_len:
            raise ValueError(f"{view.nbytes} bytes are no whole number of keys of {key_len}")
        return view.nbytes // key_len, key_len
    if view.ndim > 2:
        raise TypeError(f"an array of {view.ndim} dimensions: its rows are keys, so it has two")
    if view.ndim == 1 and view.format.lstrip("@=<>!") in BYTE_ITEMS:
        raise TypeError("bytes in a row: key_len has to tell the bytes of a key")
    shape = view.shape or (1,)
    return shape[0], view.itemsize * (shape[1] if view.ndim == 2 else 1)


def buffer(view: memoryview, key_len: int | None) -> Chunk:
    """Keys in a row: a number of bytes for each, or rows of two dimensions. They are not copied."""
    check_items(view)
    if not view.c_contiguous:
        raise ValueError("the keys do not lie in a row: numpy.ascontiguousarray() makes a copy that does")
    n, size = shape_of(view, key_len)
    if n:
        check_size(size)
    # @view keeps the memory. It must export no buffer itself: the garbage collector of CPython
    # crashes when it clears such a memoryview of a cycle, whose exporter is cleared later.
    return Chunk(ffi.cast("void *", ffi.from_buffer(view)), n, size, owner=view)


def numpy_array(keys: Any, key_len: int | None) -> Chunk:
    if keys.dtype.kind == "O":
        if keys.ndim != 1:
            raise TypeError("an array of objects has one dimension")
        return items(keys)
    if keys.dtype.kind in "mM":
        keys = keys.view("i8")
    return buffer(memoryview(keys), key_len)


def pandas_array(keys: Any) -> Any:
    """A column as a NumPy array, without a copy where pandas has one."""
    plain = getattr(keys.dtype, "numpy_dtype", None)
    # Integers that may be missing become objects, and so keys of another length, unless asked for.
    return keys.to_numpy() if plain is None else keys.to_numpy(dtype=plain)


def is_a(keys: Any, module: str, *names: str) -> bool:
    """Is @keys of a type of an optional module? It is only if somebody has imported that."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(keys, tuple(getattr(loaded, name) for name in names))


def keys_of(keys: Any, key_len: int | None = None) -> Keys:
    """The keys of an argument of any type."""
    if isinstance(keys, str) or (isinstance(keys, (bytes, bytearray, int)) and key_len is None):
        if key_len is not None:
            raise TypeError("key_len is for bytes in a row, not for str")
        return one(keys)
    if is_a(keys, "numpy", "ndarray"):
        return Keys([numpy_array(keys, key_len)], numpy=True)
    if is_a(keys, "pandas", "Series", "Index"):
        return Keys([numpy_array(pandas_array(keys), key_len)], numpy=True)
    if _device.is_device(keys):
        raise TypeError("keys in memory of a device: only Snapshot.test() and Snapshot.audit() "
                        "take them")
    if hasattr(keys, "__arrow_c_array__") or hasattr(keys, "__arrow_c_stream__"):
        from epf import _arrow

        return Keys(_arrow.chunks(keys))
    try:
        view = memoryview(keys)
    except TypeError:
        if key_len is not None:
            raise TypeError("key_len is for bytes in a row") from None
        return Keys([items(keys)])
    return Keys([buffer(view, key_len)])


def ask(keys: Keys, call: Any) -> Any:
    """Ages of all keys, by @call for each chunk, which gets the struct and where ages go."""
    ages, pointer = keys.bytes_for(keys.n)
    at = 0
    for chunk in keys.chunks:
        check(call(chunk.struct, pointer + at))
        at += chunk.n
    return keys.result(ages)


def first(ages: Any) -> int | None:
    """The age of the first key; None: it is absent."""
    age: int = ages[0]
    return None if age == ABSENT else age
