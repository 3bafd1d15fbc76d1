# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Named filters in the kernel, of the module or of pure BPF."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator, Literal, overload

from epf import _keys
from epf._handle import Asked, Handle
from epf._keys import AnyKeys, ArrowArray, ArrowStream, Column, OneKey, PlainKeys
from epf._native import UNKNOWN, check, ffi, lib, name_of, options, path_of, unsigned
from epf._plan import Info, Plan, info_by, info_of
from epf._snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Backend = Literal["any", "module", "bpf"]


def _backend(name: str) -> int:
    names = {"any": lib.LIBEPF_BACKEND_ANY, "module": lib.LIBEPF_BACKEND_MODULE,
             "bpf": lib.LIBEPF_BACKEND_BPF}
    if name not in names:
        raise ValueError(f"backend is {name!r}: it is 'any', 'module' or 'bpf'")
    number: int = names[name]
    return number


class KernelFilter(Asked):
    """A named filter in the kernel, which epfctl, BPF programs and firewall rules share.

    ``KernelFilter("seen")`` opens an existing filter by its name or, if no filter has that name,
    by its id. ``KernelFilter.create()`` makes one. Closing leaves it in the kernel, and
    ``KernelFilter.destroy()`` removes it. The kernel's clock applies.

    backend: "module", "bpf", or "any": the first that has the name.
    """

    def __init__(self, name: str, *, backend: Backend = "any") -> None:
        made = ffi.new("struct libepf_kernel **")
        check(lib.libepf_kernel_open(name_of(name), _backend(backend), made))
        self._held = ffi.gc(made[0], lib.libepf_kernel_close)

    @classmethod
    def create(cls, name: str, plan: Plan, *, backend: Backend = "any", timer: bool = False,
               align: bool = False) -> KernelFilter:
        """Make a filter, which outlives the program, and open it.

        backend: "any" is the module where it is loaded, else pure BPF, which has kind lanes only.
        timer: of pure BPF: a timer of the kernel ends epochs. Without it the filter knows nothing
            until a `Hold`, 'epfctl hold' or epfagent ends its epochs.
        align: epochs end by the wall clock, for merge(), as with `Plan`; not with a timer.
        """
        struct, _texts = plan._struct()
        wanted = options("libepf_kernel_options")
        wanted.backend = _backend(backend)
        wanted.flags = (lib.LIBEPF_KERNEL_TIMER if timer else 0) | (
            lib.LIBEPF_KERNEL_ALIGN if align else 0)
        made = ffi.new("struct libepf_kernel **")
        check(lib.libepf_kernel_create(name_of(name), struct, wanted, made))
        new = cls.__new__(cls)
        new._held = ffi.gc(made[0], lib.libepf_kernel_close)
        return new

    @staticmethod
    def destroy(name: str, *, backend: Backend = "any", force: bool = False) -> None:
        """Remove a filter from the kernel, with `force` also one that is in use."""
        check(lib.libepf_kernel_destroy(name_of(name), _backend(backend), force))

    @staticmethod
    def swap(a: str, b: str, *, backend: Backend = "any") -> None:
        """Two filters of one backend exchange their contents, parameters and counters at once.

        Each keeps its name and its users. So a filter that was filled aside takes the place of
        one that is in use.
        """
        check(lib.libepf_kernel_swap(name_of(a), name_of(b), _backend(backend)))

    def insert(self, keys: AnyKeys, *, key_len: int | None = None) -> None:
        """Insert keys; each counts. After an error some may be inserted."""
        held = self._pointer()
        for chunk in _keys.keys_of(keys, key_len).chunks:
            check(lib.libepf_kernel_insert(held, chunk.struct))

    def _test(self, keys: _keys.Keys, time_ns: int | None = None) -> Any:
        held = self._pointer()
        return _keys.ask(keys, lambda struct, ages: lib.libepf_kernel_test(held, struct, ages))

    def _test_and_insert(self, keys: _keys.Keys) -> Any:
        held = self._pointer()
        return _keys.ask(keys, lambda struct, ages: lib.libepf_kernel_test_and_insert(
            held, struct, ages))

    @overload
    def test_and_insert(self, keys: NDArray[Any], *,
                        key_len: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test_and_insert(self, keys: ArrowArray | ArrowStream, *,
                        key_len: int | None = ...) -> bytes: ...
    @overload
    def test_and_insert(self, keys: Column, *, key_len: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test_and_insert(self, keys: PlainKeys, *, key_len: int | None = ...) -> bytes: ...

    def test_and_insert(self, keys: Any, *, key_len: int | None = None) -> Any:
        """Test each key, then insert it. A key that is there twice is present the second time."""
        return self._test_and_insert(_keys.keys_of(keys, key_len))

    def add(self, key: OneKey) -> bool:
        """Insert one key. Was it new: absent, or unknown?"""
        age = _keys.first(self._test_and_insert(_keys.one(key)))
        return age is None or age == UNKNOWN

    def info(self) -> Info:
        """Parameters and state."""
        held = self._pointer()
        return info_by(lambda info: lib.libepf_kernel_info(held, info))

    def rotate(self, epochs: int = 1) -> None:
        """End this many epochs now, 1 to 8. Each makes the window shorter by one."""
        check(lib.libepf_kernel_rotate(self._pointer(), unsigned("epochs", epochs, 2**32 - 1)))

    def clear(self) -> None:
        """Forget all keys."""
        check(lib.libepf_kernel_clear(self._pointer()))

    def save(self, path: str | bytes | os.PathLike[Any]) -> None:
        """Write a snapshot file, as `Filter.save()`; the filter goes on working meanwhile."""
        check(lib.libepf_kernel_save(self._pointer(), path_of(path)))

    def restore(self, path: str | bytes | os.PathLike[Any]) -> None:
        """Replace the contents by those of a snapshot file. After an error the old ones stay."""
        check(lib.libepf_kernel_restore(self._pointer(), path_of(path)))

    def snapshot(self) -> Snapshot:
        """A snapshot in memory; the filter goes on working meanwhile."""
        made = ffi.new("struct libepf_snapshot **")
        check(lib.libepf_snapshot_take(self._pointer(), made))
        return Snapshot._of(made[0])


def kernel_filters(*, backend: Backend = "any") -> Iterator[Info]:
    """The filters of the kernel, one after the other; "any": of both backends.

    >>> try:
    ...     names = [info.name for info in kernel_filters()]
    ... except OSError:
    ...     pass    # neither the module nor the right to use BPF

    One that is destroyed before its turn is left out. After an error the iterator is over.
    """
    made = ffi.new("struct libepf_list **")
    check(lib.libepf_list_open(_backend(backend), made))
    held = ffi.gc(made[0], lib.libepf_list_close)

    def infos() -> Iterator[Info]:
        info = options("libepf_info")
        while check(lib.libepf_list_next(held, info)):
            yield info_of(info)
    return infos()


class Hold(Handle):
    """This program ends the epochs of a filter that is pure BPF and has no timer.

    Without a holder such a filter forgets nothing, and soon does not know. One process at a time
    holds a filter; another one gets an error with ``errno.EBUSY``. ``close()``, or the end of the
    program, however it ends, lets the filter go.

    The program makes the steps. A hold has a ``fileno()``, which is readable when one is due, so
    that select, selectors and asyncio take it::

        with epf.Hold("seen") as hold:
            while True:
                hold.step()
                select.select([hold], [], [])

        loop.add_reader(hold, hold.step)    # asyncio
    """

    def __init__(self, name: str) -> None:
        made = ffi.new("struct libepf_hold **")
        check(lib.libepf_hold_open(name_of(name), made))
        self._held = ffi.gc(made[0], lib.libepf_hold_close)

    def fileno(self) -> int:
        """A descriptor that is readable when a step is due; it belongs to the hold."""
        return check(lib.libepf_hold_fd(self._pointer()))

    def step(self) -> float:
        """Do what is due. Return: seconds until the next step is due, at most 0.25.

        The error has ``errno.ENODEV`` if the filter was destroyed.
        """
        wait_ns = ffi.new("uint64_t *")
        check(lib.libepf_hold_step(self._pointer(), wait_ns))
        return float(wait_ns[0]) / 1e9
