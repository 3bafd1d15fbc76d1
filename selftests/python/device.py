#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Keys in memory of a device: a snapshot answers there what it answers for the same keys of the
host. The card is emulated; ../cuda/device_arrays.py has the arrays of CuPy and PyTorch.
"""

import ctypes
import os
import struct
import threading

from common import BUILD, epf, first_fault, main, plan, raises, tap, temp

LIBRARY = BUILD / "cuda/libepf_cuda_emu.so"
if not LIBRARY.exists():
    tap.skip_all("no emulated card")
os.environ["EPF_CUDA_LIBRARY"] = str(LIBRARY)
copy = ctypes.CDLL(str(LIBRARY)).cudaMemcpy
copy.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
memory = epf._device.Library(str(LIBRARY))
N = 1000
PACKED = struct.pack(f"={N}Q", *range(N))


def saved(kind="lanes"):
    """A snapshot in which the first half of the keys is present, at two ages."""
    with epf.Filter(plan(kind=kind), time_ns=0) as seen:
        seen.insert(range(250), time_ns=0)
        seen.rotate(time_ns=0)
        seen.insert(range(250, 500), time_ns=0)
        seen.save(temp(kind), time_ns=0)
    return epf.Snapshot(temp(kind))


class Made:
    """An array in memory of the device."""

    def __init__(self, shape=(N,), typestr="<u8"):
        self.memory = memory.memory(0, len(PACKED))
        copy(self.memory.address, PACKED, len(PACKED), 1)
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "version": 3,
                                         "data": (self.memory.address, False), "stream": None}


class Capsule(Made):
    """The same by DLPack alone."""

    def __init__(self, device=2):
        super().__init__()
        described = self.__dict__.pop("__cuda_array_interface__")
        self.shape = (ctypes.c_int64 * 1)(N)
        self.tensor = epf._device._Tensor(described["data"][0], device, 0, 1, 1, 64, 1, self.shape)
        self.device, self.stream = device, None

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, *, stream=None):
        self.stream = stream
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def same_ages():
    """ages are those of keys of the host: words, rows of bytes, DLPack"""
    with saved() as snapshot:
        want = snapshot.test(range(N))
        arrays = {"words": Made(), "rows": Made((N, 8), "|u1"), "DLPack": Capsule()}
        got = {name: memory.fetch(snapshot.test(array)) for name, array in arrays.items()}
        if arrays["DLPack"].stream != 1:
            return "DLPack is not told the stream"
        halves = memory.fetch(snapshot.test(Made((N * 2, 4), "|u1")))
        by_len = memory.fetch(snapshot.test(Made((N * 8,), "|u1"), key_len=4))
    if want.count(255) != 500 or len(set(want)) < 3:
        return f"poor keys: {set(want)}"
    wrong = [name for name, ages in got.items() if ages != want]
    return f"other ages: {wrong}" if wrong or halves != by_len else None


def audited():
    """an audit counts, and has a bitmap in words"""
    with saved() as snapshot:
        audit, want = snapshot.audit(Made(), bitmap=True), snapshot.audit(range(N), bitmap=True)
        bare = snapshot.audit(Made(), ages=False, engine="cuda")
    if (audit.keys, audit.present, audit.ages_of) != (N, want.present, want.ages_of):
        return f"{audit}"
    if audit.engine != "cuda" or bare.ages is not None or bare.bitmap is not None:
        return f"{audit} {bare}"
    described = audit.ages.__cuda_array_interface__
    if described["shape"] != (N,) or described["typestr"] != "|u1" or described["version"] != 3:
        return f"{described}"
    if memory.fetch(audit.bitmap)[:len(want.bitmap)] != want.bitmap:
        return "another bitmap"
    return None if memory.fetch(audit.ages) == want.ages else "other ages"


def many_threads():
    """threads ask one snapshot at a time"""
    faults = []
    with saved() as snapshot:
        want = snapshot.test(range(N))

        def asks():
            for _ in range(3):
                if memory.fetch(snapshot.test(Made())) != want:
                    faults.append("other ages")

        threads = [threading.Thread(target=asks) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return first_fault(*faults)


def refused():
    """what cannot be is refused: filters, other kinds and engines, arrays of the host"""
    host = ctypes.create_string_buffer(80)
    on_host = Made()
    on_host.__cuda_array_interface__["data"] = (ctypes.addressof(host), False)
    with saved() as snapshot, saved("ge") as other, epf.Filter(plan()) as seen:
        fault = first_fault(
            raises(TypeError, lambda: seen.test(Made()), "Snapshot.audit()"),
            raises(TypeError, lambda: seen.insert(Made()), "device"),
            raises(epf.Error, lambda: other.test(Made()), "kind lanes"),
            raises(ValueError, lambda: snapshot.audit(Made(), engine="scalar"), "scalar"),
            raises(epf.Error, lambda: snapshot.test(on_host), "not memory of a device"),
            raises(TypeError, lambda: snapshot.test(Made(typestr="<f8")), "<f8"))
    return fault or raises(ValueError, lambda: snapshot.test(Made()), "closed")


def without_library():
    """without the library the error tells what is missing"""
    os.environ["EPF_CUDA_LIBRARY"] = "/nonexistent.so"
    try:
        with saved() as snapshot:
            return raises(epf.Error, lambda: snapshot.test(Made()), "GPU library", "/nonexistent.so")
    finally:
        os.environ["EPF_CUDA_LIBRARY"] = str(LIBRARY)


main(same_ages, audited, many_threads, refused, without_library)
