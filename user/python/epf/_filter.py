# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Filters in the memory of the program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

from epf import _keys
from epf._handle import Asked
from epf._keys import AnyKeys, ArrowArray, ArrowStream, Column, OneKey, PlainKeys
from epf._native import UNKNOWN, check, ffi, lib, options, path_of, time_of, unsigned
from epf._plan import Info, Plan, info_by

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Filter(Asked):
    """A filter in the memory of the program.

    >>> with Filter(Plan(window=600, rate=1000, error=1e-6)) as seen:
    ...     [seen.add(line) for line in ("a", "b", "a")]
    [True, True, False]

    A filter that is made without time_ns goes by CLOCK_MONOTONIC. One that is made with it goes by
    the program's own time in ns, 0 to 2**61, which each method takes. Default: the time of the
    latest call. A time before that counts as that one. A filter keeps to its clock: time_ns is an
    `ArgumentError` for one that was made without it.

    >>> hour = 3600 * 10**9
    >>> replay = Filter(Plan(window=3600, rate=1, error=1e-6), time_ns=0)
    >>> replay.insert(["old"], time_ns=0)
    >>> replay.age("old", time_ns=hour // 2), replay.age("old", time_ns=3 * hour)
    (3, None)

    Keys are bytes, str (its UTF-8), integers (eight bytes, little-endian), and arrays and lists
    of them. Threads may share a filter; their calls take turns.
    """

    def __init__(self, plan: Plan, *, time_ns: int | None = None) -> None:
        struct, _texts = plan._struct()
        made = ffi.new("struct libepf_filter **")
        # For the library 0, as any time in the past, is the time of the latest call.
        self._default: int = lib.LIBEPF_NOW if time_ns is None else 0
        check(lib.libepf_filter_new(struct, time_of(time_ns, self._default), made))
        self._held = ffi.gc(made[0], lib.libepf_filter_free)

    def insert(self, keys: AnyKeys, *, key_len: int | None = None,
               time_ns: int | None = None) -> None:
        """Insert keys. Each counts, whether it is present or not.

        The call that finds an epoch over ends it, which takes a time in proportion to the memory.
        """
        held, time = self._pointer(), time_of(time_ns, self._default)
        for chunk in _keys.keys_of(keys, key_len).chunks:
            check(lib.libepf_filter_insert(held, chunk.struct, time))

    def _test(self, keys: _keys.Keys, time_ns: int | None = None) -> Any:
        held, time = self._pointer(), time_of(time_ns, self._default)
        return _keys.ask(keys, lambda struct, ages: lib.libepf_filter_test(held, struct, time, ages))

    def _test_and_insert(self, keys: _keys.Keys, time_ns: int | None) -> Any:
        held, time = self._pointer(), time_of(time_ns, self._default)
        return _keys.ask(keys, lambda struct, ages: lib.libepf_filter_test_and_insert(
            held, struct, time, ages))

    @overload
    def test(self, keys: NDArray[Any], *, key_len: int | None = ...,
             time_ns: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test(self, keys: ArrowArray | ArrowStream, *, key_len: int | None = ...,
             time_ns: int | None = ...) -> bytes: ...
    @overload
    def test(self, keys: Column, *, key_len: int | None = ...,
             time_ns: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test(self, keys: PlainKeys, *, key_len: int | None = ...,
             time_ns: int | None = ...) -> bytes: ...

    def test(self, keys: Any, *, key_len: int | None = None, time_ns: int | None = None) -> Any:
        """The age of each key in epochs, a byte for each key.

        `ABSENT` (255): the key is certainly not in the window. `UNKNOWN` (254): the key is found,
        but the error of the filter is above its limit. The result is a NumPy array for keys of
        NumPy and pandas, else bytes.

        >>> seen = Filter(Plan(window_keys=1000, error=1e-6))
        >>> seen.insert([b"a", b"b"])
        >>> list(seen.test([b"a", b"c"]))
        [0, 255]
        """
        return self._test(_keys.keys_of(keys, key_len), time_ns)

    @overload
    def test_and_insert(self, keys: NDArray[Any], *, key_len: int | None = ...,
                        time_ns: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test_and_insert(self, keys: ArrowArray | ArrowStream, *, key_len: int | None = ...,
                        time_ns: int | None = ...) -> bytes: ...
    @overload
    def test_and_insert(self, keys: Column, *, key_len: int | None = ...,
                        time_ns: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test_and_insert(self, keys: PlainKeys, *, key_len: int | None = ...,
                        time_ns: int | None = ...) -> bytes: ...

    def test_and_insert(self, keys: Any, *, key_len: int | None = None,
                        time_ns: int | None = None) -> Any:
        """Test each key, then insert it. A key that is there twice is present the second time.

        >>> list(Filter(Plan(window_keys=1000, error=1e-6)).test_and_insert([7, 8, 7]))
        [255, 255, 0]
        """
        return self._test_and_insert(_keys.keys_of(keys, key_len), time_ns)

    def age(self, key: OneKey, *, time_ns: int | None = None) -> int | None:
        """The age of one key in epochs, `UNKNOWN`, or None: it is absent."""
        return _keys.first(self._test(_keys.one(key), time_ns))

    def add(self, key: OneKey, *, time_ns: int | None = None) -> bool:
        """Insert one key. Was it new: absent, or unknown?"""
        age = _keys.first(self._test_and_insert(_keys.one(key), time_ns))
        return age is None or age == UNKNOWN

    def rotate(self, *, time_ns: int | None = None) -> None:
        """End the current epoch now. The window becomes shorter by one."""
        check(lib.libepf_filter_rotate(self._pointer(), time_of(time_ns, self._default)))

    def info(self, *, time_ns: int | None = None) -> Info:
        """Parameters and state."""
        held, time = self._pointer(), time_of(time_ns, self._default)
        return info_by(lambda info: lib.libepf_filter_info(held, time, info))

    def save(self, path: str | bytes | os.PathLike[Any], *, time_ns: int | None = None,
             wall_ns: int | None = None) -> None:
        """Write a snapshot file; `Snapshot` reads it.

        path: replaced when the new file is complete. Only the owner may read it, because it
            contains the hash key.
        wall_ns: the moment of time_ns, in ns since 1970. Default: the system's clock or, of an
            aligned filter, time_ns.
        """
        wall = lib.LIBEPF_NOW if wall_ns is None else unsigned("wall_ns", wall_ns)
        check(lib.libepf_filter_save(self._pointer(), path_of(path), time_of(time_ns, self._default), wall))

    def restore(self, path: str | bytes | os.PathLike[Any], *, time_ns: int | None = None,
                same: bool = False, elapsed: bool = False) -> None:
        """Replace the contents by those of a snapshot file. After an error the old ones stay.

        The filter keeps its name and takes all else from the file: kind, window, error, hash key,
        and the number of insertions.

        same: refuse a snapshot of another plan, with `ArgumentError`.
        elapsed: the time since the file was saved, by the system's clock, counts for the window. If
            the window is over, the error has ``errno.ESTALE``. Without it, time goes on as if the
            file had been saved at time_ns.

        >>> import tempfile
        >>> plan = Plan(window=600, rate=1000)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Filter(plan) as before:
        ...         before.insert(["a"])
        ...         before.save(folder + "/seen.epf")
        ...     again = Filter(plan)
        ...     again.restore(folder + "/seen.epf", same=True, elapsed=True)
        >>> "a" in again, "b" in again
        (True, False)
        """
        wanted = options("libepf_restore")
        wanted.flags = (lib.LIBEPF_RESTORE_SAME if same else 0) | (
            lib.LIBEPF_RESTORE_ELAPSED if elapsed else 0)
        check(lib.libepf_filter_restore(self._pointer(), path_of(path), time_of(time_ns, self._default),
                                        wanted))
