#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Arrays on a device, of CuPy, PyTorch, and made up, have the core's ages in a filter, without a
copy to the host. Libraries that are not installed are skipped.

With EPF_CUDA_CARD=1 on a card, else under emulation. It needs no cffi: the module of the package
epf that reads arrays is loaded alone.
"""

import ctypes
import importlib.util
import os
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD") or ROOT / "build")
CARD = os.environ.get("EPF_CUDA_CARD")
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "selftests/dedup")]

import tap

spec = importlib.util.spec_from_file_location("epf_device", ROOT / "user/python/epf/_device.py")
device = importlib.util.module_from_spec(spec)
sys.modules["epf_device"] = device
spec.loader.exec_module(device)

KEYS = 1000000 if CARD else 2000
EPOCH, PARTS, FIELDS = 43, 2, 4
LIBRARY = BUILD / ("cuda/libepf_cuda.so" if CARD else "cuda/libepf_cuda_emu.so")
CORE = BUILD / "selftests/cuda/answers.so"
if not LIBRARY.exists() or not CORE.exists():
    tap.skip_all("not built")
DRAW = random.Random(5)


class Lines(ctypes.Structure):
    """struct libepf_lines"""

    _fields_ = [("size", ctypes.c_uint32), ("parts", ctypes.c_uint32), ("fields", ctypes.c_uint32),
                ("hash", ctypes.c_uint32), ("key", ctypes.c_uint64 * 2), ("data", ctypes.c_void_p),
                ("nr", ctypes.c_uint64), ("epoch", ctypes.c_uint64)]


NR = max(KEYS // 100, 64) // PARTS * PARTS
# Every third bit of a lane is set, and some lanes are stale.
WORDS = DRAW.randbytes(NR * 64)
MEMORY = ctypes.create_string_buffer(
    bytes(a | b for a, b in zip(WORDS, DRAW.randbytes(NR * 64))), NR * 64)
LINES = Lines(ctypes.sizeof(Lines), PARTS, FIELDS, 0, (ctypes.c_uint64 * 2)(3, 4),
              ctypes.addressof(MEMORY), NR, EPOCH)
PACKED = DRAW.randbytes(KEYS * 8)
core = ctypes.CDLL(str(CORE))


def want(data, size):
    """The core's ages of keys of @size bytes."""
    ages = ctypes.create_string_buffer(len(data) // size)
    core.core_ages(ctypes.byref(LINES), data, ctypes.c_uint64(len(data) // size),
                   ctypes.c_uint32(size), ages)
    return ages.raw


library = device.Library(str(LIBRARY))
there = device.Lines(library, ctypes.addressof(LINES))


def asked(keys, size, key_len=None):
    """A fault if the ages or the bitmap of an array with the bytes PACKED differ from the core's."""
    column = device.column_of(keys, key_len)
    answer = there.ask(column)
    expected = want(PACKED[:column.n * column.key_len], size)
    got, bits = library.fetch(answer.ages), library.fetch(answer.bitmap)
    if there.counts(answer) != tuple(map(expected.count, range(8))):
        return "the counts differ"
    if column.key_len != size or got != expected:
        return f"{sum(a != b for a, b in zip(got, expected))} of {column.n} ages differ"
    if any((bits[i // 8] >> i % 8 & 1) != (age != 255) for i, age in enumerate(expected)):
        return "the bitmap differs"
    if not {255} < set(expected):
        return f"poor keys: ages {set(expected)}"
    return None


def optional(name):
    try:
        return __import__(name)
    except ImportError:
        raise tap.Skip(f"no {name}") from None


class Made:
    """An array that is made up: memory of the device with the bytes PACKED."""

    def __init__(self, shape, typestr="<u8", **more):
        self.memory = library.memory(0, len(PACKED))
        address = self.memory.address
        copy = library.lib.cudaMemcpy
        copy.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
        copy(address, PACKED, len(PACKED), 1)
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "version": 3,
                                         "data": (address, False), **more}


def made_up():
    """an array that is made up: words, rows of bytes, bytes"""
    if CARD:
        raise tap.Skip("the emulation's")
    return asked(Made((KEYS,)), 8) or asked(Made((KEYS // 2, 16), "|u1"), 16) or asked(
        Made((KEYS * 8,), "|u1", strides=(1,), stream=1), 4, 4)


def cupy_arrays():
    """arrays of CuPy: words, rows of bytes, a stream of their own"""
    cp = optional("cupy")
    np = optional("numpy")
    words = np.frombuffer(PACKED, np.uint64)
    with cp.cuda.Stream(non_blocking=True):
        fault = asked(cp.asarray(words) + cp.uint64(0), 8)
    array = cp.asarray(words)
    fault = fault or asked(array, 8) or asked(array.view(cp.uint8).reshape(KEYS // 2, 16), 16)
    if fault:
        return fault
    ages = there.ask(device.column_of(array)).ages
    same = cp.asnumpy(cp.asarray(ages)).tobytes() == want(PACKED, 8)
    return None if same else "CuPy sees other ages"


def torch_tensors():
    """tensors of PyTorch, by both protocols"""
    torch = optional("torch")
    np = optional("numpy")
    if CARD and not torch.cuda.is_available():
        raise tap.Skip("torch without CUDA")
    tensor = torch.from_numpy(np.frombuffer(PACKED, np.int64).copy()).cuda()
    fault = asked(tensor, 8) or asked(OnlyDlpack(tensor), 8) or asked(
        tensor.view(torch.uint8).reshape(KEYS // 2, 16), 16)
    if fault:
        return fault
    ages = there.ask(device.column_of(tensor)).ages
    seen = torch.as_tensor(ages, device="cuda").cpu().numpy().tobytes()
    return None if seen == want(PACKED, 8) else "PyTorch sees other ages"


class OnlyDlpack:
    """An array without __cuda_array_interface__."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def raises(kind, call, word):
    try:
        call()
    except kind as raised:
        return None if word in str(raised) else f"not '{word}' in '{raised}'"
    return f"{word}: nothing was raised"


def refused():
    """what is no key is refused"""
    def of(*shape, typestr="<u8", **more):
        return lambda: device.column_of(Fake({"shape": shape, "typestr": typestr,
                                              "data": (4096, False), **more}))

    host = ctypes.create_string_buffer(64)
    on_host = Fake({"shape": (8,), "typestr": "<u8", "data": (ctypes.addressof(host), False)})
    return raises(TypeError, of(8, typestr="<f8"), "<f8") or raises(
        TypeError, of(8, typestr=">u8"), ">u8") or raises(
        ValueError, of(8, strides=(16,)), "contiguous") or raises(
        TypeError, of(2, 2, 2), "dimensions") or raises(
        TypeError, of(8, typestr="|u1"), "key_len") or raises(
        ValueError, of(2, 257, typestr="|u1"), "257") or raises(
        TypeError, of(8, mask=on_host), "masked") or raises(
        OSError, lambda: there.ask(device.column_of(on_host)), "not memory of a device")


class Fake:
    def __init__(self, described):
        self.__cuda_array_interface__ = described


def empty():
    """no keys, no ages"""
    column = device.column_of(Fake({"shape": (0,), "typestr": "<u8", "data": (0, False)}))
    return None if len(there.ask(column).ages) == 0 else "ages of no keys"


tap.main([(case.__doc__.splitlines()[0], case)
          for case in (made_up, cupy_arrays, torch_tensors, refused, empty)])
