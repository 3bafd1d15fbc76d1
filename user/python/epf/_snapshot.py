# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Snapshots: files with the contents of a filter. Tests, audits, merges."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Generic, Iterable, TypeVar, overload

from epf import _device, _keys
from epf._handle import Asked
from epf._keys import ArrowArray, ArrowStream, Column, PlainKeys
from epf._native import (ArgumentError, Error, Progress, check, ffi, lib, name_of, options, path_of,
                         text_of, unsigned)
from epf._plan import Info, info_by

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Result = TypeVar("Result")
Told = Callable[[int, int], Any]


@dataclass(frozen=True)
class Audit(Generic[Result]):
    """The answer of an audit.

    keys: how many keys were looked up.
    present: how many of them are present.
    engine: which engine has answered.
    ages: of each key, as `Snapshot.test()` has them; None if they were not wanted.
    bitmap: bit i % 8 of byte i // 8 is set if key i is present; None if it was not wanted. A
        `DeviceArray` for keys in memory of a device.
    ages_of: how many keys are present at each age.
    """

    keys: int
    present: int
    engine: str
    ages: Result | None
    bitmap: bytes | None
    ages_of: tuple[int, ...]


class _Wanted:
    """Options of an audit, and its results chunk by chunk."""

    def __init__(self, threads: int, engine: str | None, bitmap: bool, progress: Told | None,
                 keys: int) -> None:
        self.threads = unsigned("threads", threads, 2**32 - 1)
        self.engine = ffi.NULL if engine is None else ffi.new("char[]", name_of(engine))
        self.bits = bytearray((keys + 7) // 8) if bitmap else None
        self.progress, self.keys = progress, keys
        self.ages_of = ffi.new("uint64_t[]", lib.LIBEPF_AGES)
        self.counts = [0] * int(lib.LIBEPF_AGES)
        self.done = self.present = 0
        self.used = ""

    def _told(self, done: int, _of: int) -> Any:
        return self.progress(self.done + done, self.keys) if self.progress is not None else None

    def _add_bits(self, bits: Any, n: int) -> None:
        """The bits of a chunk go behind those of the chunks before it."""
        if self.bits is None:
            return
        first, shift = divmod(self.done, 8)
        moved = (int.from_bytes(ffi.buffer(bits), "little") << shift).to_bytes(
            (n + shift + 7) // 8, "little")
        if moved:
            self.bits[first] |= moved[0]
            self.bits[first + 1:first + len(moved)] = moved[1:]

    def run(self, held: Any, chunk: _keys.Chunk, ages: Any) -> None:
        bits = ffi.new("uint8_t[]", (chunk.n + 7) // 8) if self.bits is not None else ffi.NULL
        step = Progress("int(void *, uint64_t, uint64_t)", self._told)
        audit = options("libepf_audit")
        audit.threads, audit.engine, audit.bitmap = self.threads, self.engine, bits
        audit.ages, audit.ages_of, audit.progress = ages, self.ages_of, step.pointer
        step.rejoin(lib.libepf_snapshot_audit(held, chunk.struct, audit))
        self._add_bits(bits, chunk.n)
        self.counts = [a + b for a, b in zip(self.counts, self.ages_of)]
        self.present += audit.present
        self.done += chunk.n
        self.used = text_of(audit.used) if audit.used else self.used


class Snapshot(Asked):
    """A snapshot file, which is checked when it is opened.

    >>> import tempfile
    >>> from epf import Filter, Plan
    >>> folder = tempfile.TemporaryDirectory()
    >>> seen = Filter(Plan(window_keys=1000, error=1e-6))
    >>> seen.insert(range(500))
    >>> seen.save(folder.name + "/seen.epf")
    >>> with Snapshot(folder.name + "/seen.epf") as snapshot:
    ...     7 in snapshot, snapshot.audit(range(1000)).present
    (True, 500)
    >>> folder.cleanup()

    copy: copy the file into memory, which answers many keys faster. Without it a file of kind
        lanes stays mapped: if another program truncates it, this one gets SIGBUS.
    """

    def __init__(self, path: str | bytes | os.PathLike[Any], *, copy: bool = False) -> None:
        made = ffi.new("struct libepf_snapshot **")
        check(lib.libepf_snapshot_open(path_of(path), lib.LIBEPF_SNAPSHOT_COPY if copy else 0, made))
        self._held = ffi.gc(made[0], lib.libepf_snapshot_close)

    @classmethod
    def _of(cls, pointer: Any) -> Snapshot:
        new = cls.__new__(cls)
        new._held = ffi.gc(pointer, lib.libepf_snapshot_close)
        return new

    _there: _device.Lines | None = None

    def close(self) -> None:
        super().close()
        self._there = None

    def _on_device(self) -> _device.Lines:
        """The lines for devices; they are copied there by the first question."""
        held, there = self._pointer(), self._there
        if there is None:
            lines = options("libepf_lines")
            check(lib.libepf_snapshot_lines(held, lines))
            there = _device.Lines(_device.library(Error), int(ffi.cast("uintptr_t", lines)),
                                  (held, lines))
            self._there = there
        return there

    @overload
    def test(self, keys: NDArray[Any], *, key_len: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test(self, keys: ArrowArray | ArrowStream, *, key_len: int | None = ...) -> bytes: ...
    @overload
    def test(self, keys: Column, *, key_len: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test(self, keys: PlainKeys, *, key_len: int | None = ...) -> bytes: ...
    @overload
    def test(self, keys: _device.DeviceKeys, *,
             key_len: int | None = ...) -> _device.DeviceArray: ...

    def test(self, keys: Any, *, key_len: int | None = None) -> Any:
        """The age of each key in epochs, a byte for each key, as `Filter.test()`: `UNKNOWN` for
        what is found in a snapshot above its limit.

        Keys in memory of a CUDA device are answered there, in the stream that wrote them, and the
        result is a `DeviceArray`. They get ages also above the limit: see `info().saturated`.
        """
        if _device.is_device(keys):
            return self._on_device().ask(_device.column_of(keys, key_len)).ages
        return super().test(keys, key_len=key_len)

    def _audit_there(self, keys: Any, key_len: int | None, ages: bool, bitmap: bool) -> Any:
        there, column = self._on_device(), _device.column_of(keys, key_len)
        answer = there.ask(column)
        counts = there.counts(answer)
        bits: Any = answer.bitmap if bitmap else None
        return Audit(column.n, sum(counts), "cuda", answer.ages if ages else None, bits,
                     counts + (0,) * (lib.LIBEPF_AGES - len(counts)))

    def _test(self, keys: _keys.Keys, time_ns: int | None = None) -> Any:
        held = self._pointer()
        return _keys.ask(keys, lambda struct, ages: lib.libepf_snapshot_test(held, struct, ages))

    def info(self) -> Info:
        """Parameters and state."""
        held = self._pointer()
        return info_by(lambda info: lib.libepf_snapshot_info(held, info))

    @overload
    def audit(self, keys: NDArray[Any], *, key_len: int | None = ..., threads: int = ...,
              engine: str | None = ..., ages: bool = ..., bitmap: bool = ...,
              progress: Told | None = ...) -> Audit[NDArray[np.uint8]]: ...
    @overload
    def audit(self, keys: ArrowArray | ArrowStream, *, key_len: int | None = ..., threads: int = ...,
              engine: str | None = ..., ages: bool = ..., bitmap: bool = ...,
              progress: Told | None = ...) -> Audit[bytes]: ...
    @overload
    def audit(self, keys: Column, *, key_len: int | None = ..., threads: int = ...,
              engine: str | None = ..., ages: bool = ..., bitmap: bool = ...,
              progress: Told | None = ...) -> Audit[NDArray[np.uint8]]: ...
    @overload
    def audit(self, keys: _device.DeviceKeys, *, key_len: int | None = ..., threads: int = ...,
              engine: str | None = ..., ages: bool = ..., bitmap: bool = ...,
              progress: Told | None = ...) -> Audit[_device.DeviceArray]: ...
    @overload
    def audit(self, keys: PlainKeys, *, key_len: int | None = ..., threads: int = ...,
              engine: str | None = ..., ages: bool = ..., bitmap: bool = ...,
              progress: Told | None = ...) -> Audit[bytes]: ...

    def audit(self, keys: Any, *, key_len: int | None = None, threads: int = 0,
              engine: str | None = None, ages: bool = True, bitmap: bool = False,
              progress: Told | None = None) -> Any:
        """Look up many keys, with all CPUs and vector units. Keys of one length are fastest. They get
        ages also above the limit: see `info().saturated`.

        threads: most threads. Default: one for each CPU.
        engine: one of `engines()`. Default: the fastest for this snapshot and so many keys.
        ages, bitmap: are they wanted?
        progress: called in this thread now and then with the keys done and all keys. If it
            returns something true, the audit ends with `Error` (ECANCELED).

        Keys in memory of a CUDA device are answered there: ages and bitmap are of type
        `DeviceArray`, the bitmap in words of 32 bits; threads and progress are not used.
        """
        if _device.is_device(keys):
            if engine not in (None, "cuda"):
                raise ValueError(f"engine {engine} does not take keys in memory of a device")
            return self._audit_there(keys, key_len, ages, bitmap)
        held, every = self._pointer(), _keys.keys_of(keys, key_len)
        wanted = _Wanted(threads, engine, bitmap, progress, every.n)
        made, pointer = every.bytes_for(every.n) if ages else (None, None)
        for chunk in every.chunks:
            wanted.run(held, chunk, ffi.NULL if pointer is None else pointer + wanted.done)
        return Audit(every.n, wanted.present, wanted.used, every.result(made) if ages else None,
                     None if wanted.bits is None else bytes(wanted.bits), tuple(wanted.counts))


@dataclass(frozen=True)
class Merged:
    """What a merge has made.

    error: share of absent keys that the result finds.
    inserts: insertions of all files.
    """

    error: float
    inserts: int


def merge(paths: Iterable[str | bytes | os.PathLike[Any]], out: str | bytes | os.PathLike[Any], *,
          loose: bool = False, limit: float | None = None, progress: Told | None = None) -> Merged:
    """Write one snapshot that holds the keys of several.

    paths: snapshots of kind lanes, of the same plan with a window of time alone, with the same
        hash key; at most 256.
    out: as for `Filter.save()`; not one of `paths`.
    loose: accept epochs that did not end by the wall clock; keys then stay up to one epoch longer.
    limit: limit of the result. Default: that of the first file.
    progress: as in `Snapshot.audit()`, in bytes.
    """
    if isinstance(paths, (str, bytes)):
        raise TypeError("paths is a list of paths")
    names = [ffi.new("char[]", path_of(path)) for path in paths]
    if not names:
        raise ArgumentError(errno.EINVAL, "nothing to merge")
    step = Progress("int(void *, uint64_t, uint64_t)", progress)
    wanted = options("libepf_merge")
    wanted.flags = lib.LIBEPF_MERGE_LOOSE if loose else 0
    wanted.limit, wanted.progress = limit or 0, step.pointer
    step.rejoin(lib.libepf_merge(ffi.new("char *[]", names), len(names), path_of(out), wanted))
    return Merged(wanted.error, wanted.inserts)
