# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keys in memory of a CUDA device, by __cuda_array_interface__ or DLPack, and answers there.

The arrays of CuPy, PyTorch, Numba, cuDF have one of the two. Nothing is copied to the host. This
module needs neither cffi nor the rest of the package.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import threading
import weakref
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from math import prod
from typing import Any, Callable, Protocol

SONAME = "libepf_cuda.so.1"
KEY_MAX = 256
COUNTS = 8  # ages
LEGACY = 1  # the default stream, as both protocols number it


class DeviceKeys(Protocol):
    """An array in memory of a device. Those with DLPack alone have no type here."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Column:
    """Keys in a row on a device. @owner keeps the memory alive."""

    address: int
    n: int
    key_len: int
    stream: int
    owner: Any


class DeviceArray:
    """Bytes on a device, which `cupy.asarray()` and `torch.as_tensor()` take without a copy.

    They are written in the stream that the keys came with, in order with later work there.
    """

    def __init__(self, address: int, size: int, device: int, stream: int,
                 release: Callable[..., Any], owner: Any) -> None:
        self.address, self.size, self.device, self.stream = address, size, device, stream
        self._owner = owner  # of the keys, which the stream may not have read yet
        weakref.finalize(self, release, device, address)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address, False),
                "version": 3, "strides": None, "stream": self.stream}

    def __len__(self) -> int:
        return self.size


# ---- keys ----

def is_device(keys: Any) -> bool:
    """Does a device have the memory of these keys?"""
    if hasattr(keys, "__cuda_array_interface__"):
        return True
    kind = getattr(keys, "__dlpack_device__", None)
    return kind is not None and int(kind()[0]) in (DL_CUDA, DL_MANAGED)


def column_of(keys: Any, key_len: int | None = None) -> Column:
    """The keys of an array on a device."""
    described = getattr(keys, "__cuda_array_interface__", None)
    # Without a stream, as PyTorch has it, only DLPack waits for the one that writes the keys.
    if described is not None and ("stream" in described or not hasattr(keys, "__dlpack__")):
        return _of_interface(described, keys, key_len)
    return _of_dlpack(keys, key_len)


def _shaped(shape: tuple[int, ...], item: int, strides: tuple[int, ...] | None,
            key_len: int | None) -> tuple[int, int]:
    """The number of keys and their length, of an array with @strides in bytes."""
    step = item
    want: list[int] = []
    for size in reversed(shape):
        want.insert(0, step)
        step *= size
    if strides is not None and prod(shape) and any(
            have != need for have, need, size in zip(strides, want, shape) if size > 1):
        raise ValueError("keys do not lie in a row: pass a contiguous copy")
    if len(shape) not in (1, 2):
        raise TypeError(f"an array of keys has 1 or 2 dimensions, not {len(shape)}")
    n, size = shape[0], item * (shape[1] if len(shape) == 2 else 1)
    if key_len is not None:
        if len(shape) != 1 or item != 1:
            raise TypeError("key_len is for arrays of bytes")
        if key_len < 1 or n % key_len:
            raise ValueError(f"{n} bytes are no whole number of keys of {key_len}")
        n, size = n // key_len, key_len
    elif len(shape) == 1 and item == 1:
        raise TypeError("an array of bytes needs key_len")
    if not 1 <= size <= KEY_MAX:
        raise ValueError(f"keys have {size} bytes: a key has 1 to {KEY_MAX}")
    return n, size


def _of_interface(described: dict[str, Any], owner: Any, key_len: int | None) -> Column:
    kind = described["typestr"]
    if kind[1] not in "iuVSmM" or kind[0] == ">":
        raise TypeError(f"items of type '{kind}' are no keys")
    if described.get("mask") is not None:
        raise TypeError("a masked array of keys: fill or drop what is missing")
    n, size = _shaped(described["shape"], int(kind[2:]), described.get("strides"), key_len)
    return Column(described["data"][0], n, size, described.get("stream") or LEGACY, owner)


# ---- DLPack: https://dmlc.github.io/dlpack/latest/c_api.html ----

DL_CUDA, DL_MANAGED = 2, 13
DL_INT, DL_UINT = 0, 1


class _Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int), ("device_id", c_int),
                ("ndim", c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", POINTER(ctypes.c_int64)),
                ("strides", POINTER(ctypes.c_int64)), ("byte_offset", c_uint64)]


def _of_dlpack(keys: Any, key_len: int | None) -> Column:
    """The capsule keeps the memory alive and frees it, because nobody consumes it."""
    capsule = keys.__dlpack__(stream=LEGACY)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    if tensor.code not in (DL_INT, DL_UINT) or tensor.lanes != 1 or tensor.bits % 8:
        raise TypeError(f"items of DLPack type {tensor.code} are no keys")
    item = tensor.bits // 8
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(item * s for s in tensor.strides[:tensor.ndim]) if tensor.strides else None
    n, size = _shaped(shape, item, strides, key_len)
    return Column((tensor.data or 0) + tensor.byte_offset, n, size, LEGACY, capsule)


# ---- the library ----

class _Query(Structure):
    """struct libepf_cuda_query"""

    _fields_ = [("size", c_uint32), ("device", ctypes.c_int32), ("keys", c_void_p), ("n", c_uint64),
                ("key_len", c_uint32), ("reserved", c_uint32), ("bitmap", c_void_p),
                ("ages", c_void_p), ("count", c_void_p), ("stream", c_void_p)]


class Library:
    """libepf_cuda; @error makes an exception of a negative errno and a line of text."""

    def __init__(self, path: str, error: Callable[[int, str], Exception] = OSError) -> None:
        lib = ctypes.CDLL(path)
        lib.libepf_cuda_error.restype = c_char_p
        lib.libepf_cuda_load.argtypes = [c_void_p, POINTER(c_int), c_uint32, POINTER(c_void_p)]
        lib.libepf_cuda_free.argtypes = [c_void_p]
        lib.libepf_cuda_free.restype = None
        lib.libepf_cuda_query.argtypes = [c_void_p, POINTER(_Query)]
        lib.libepf_cuda_alloc.argtypes = [c_int, c_size_t, POINTER(c_void_p)]
        lib.libepf_cuda_fetch.argtypes = [c_int, c_void_p, c_void_p, c_void_p, c_size_t]
        lib.libepf_cuda_device.argtypes = [c_void_p]
        lib.libepf_cuda_release.argtypes = [c_int, c_void_p]
        lib.libepf_cuda_release.restype = None
        self.lib, self.error = lib, error

    def check(self, result: int) -> int:
        if result < 0:
            raise self.error(-result, self.lib.libepf_cuda_error().decode(errors="replace"))
        return result

    def memory(self, device: int, size: int, stream: int = LEGACY, owner: Any = None) -> DeviceArray:
        """Zeros on a device."""
        made = c_void_p()
        self.check(self.lib.libepf_cuda_alloc(device, max(size, 1), byref(made)))
        return DeviceArray(made.value or 0, size, device, stream, self.lib.libepf_cuda_release, owner)

    def fetch(self, array: DeviceArray) -> bytes:
        """The bytes of an array, once its stream has written them."""
        to = ctypes.create_string_buffer(array.size)
        self.check(self.lib.libepf_cuda_fetch(array.device, array.stream, to, array.address,
                                              array.size))
        return to.raw


def library(error: Callable[[int, str], Exception]) -> Library:
    """The library; EPF_CUDA_LIBRARY names another, for tests."""
    try:
        return Library(os.environ.get("EPF_CUDA_LIBRARY") or SONAME, error)
    except OSError as why:
        raise error(errno.ENODEV, f"keys in memory of a device need the GPU library: {why}") \
            from why


@dataclass(frozen=True)
class Answer:
    """Ages, bits in words of 32, and eight counts of 64 bits, on the device of the keys."""

    ages: DeviceArray
    bitmap: DeviceArray
    counts: DeviceArray


class Lines:
    """The lines of a filter, on every device that was asked.

    lines: address of a struct libepf_lines; @owner keeps its memory.
    """

    def __init__(self, library: Library, lines: int, owner: Any = None) -> None:
        self.library, self.lines, self.owner = library, lines, owner
        self._on: dict[int, c_void_p] = {}
        self._lock = threading.Lock()

    def _filter(self, device: int) -> c_void_p:
        with self._lock:
            if device not in self._on:
                made = c_void_p()
                self.library.check(self.library.lib.libepf_cuda_load(
                    self.lines, byref(c_int(device)), 1, byref(made)))
                weakref.finalize(self, self.library.lib.libepf_cuda_free, made)
                self._on[device] = made
            return self._on[device]

    def ask(self, keys: Column) -> Answer:
        """Put a query into the stream of the keys."""
        device = self.library.check(self.library.lib.libepf_cuda_device(keys.address)) \
            if keys.n else 0
        ages, bitmap, counts = (self.library.memory(device, size, keys.stream, keys.owner) for size
                                in (keys.n, (keys.n + 31) // 32 * 4, COUNTS * 8))
        query = _Query(ctypes.sizeof(_Query), device, keys.address, keys.n, keys.key_len, 0,
                       bitmap.address, ages.address, counts.address, keys.stream)
        if keys.n:
            self.library.check(
                self.library.lib.libepf_cuda_query(self._filter(device), byref(query)))
        return Answer(ages, bitmap, counts)

    def counts(self, answer: Answer) -> tuple[int, ...]:
        """How many keys are present at each age. Waits for the answer."""
        return struct.unpack(f"={COUNTS}Q", self.library.fetch(answer.counts))
