#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Filters of the kernel through Python: of pure BPF on this machine, of the module where it is
loaded. A backend that is not there is a skip.
"""

import errno
import os
import select

from common import HASH_KEY, epf, first_fault, main, raises, tap, temp

NAME = f"python_{os.getpid()}"
OTHER = NAME + "_2"
N = 20000
KEYS = range(N)
# All keys may come in one of the eight epochs.
PLAN = epf.Plan(window=60, rate=8 * N / 60, hash_key=HASH_KEY)


class Made:
    """A filter of a backend, which is destroyed at the end, or a skip."""

    def __init__(self, backend, name=NAME):
        self.backend, self.name = backend, name

    def __enter__(self):
        try:
            return epf.KernelFilter.create(self.name, PLAN, backend=self.backend, timer=True)
        except epf.Error as why:
            raise tap.Skip(why.strerror) from None

    def __exit__(self, *_):
        try:
            epf.KernelFilter.destroy(self.name, backend=self.backend, force=True)
        except epf.Error as why:
            if why.errno != errno.ENOENT:
                raise


def life(backend):
    """create, open by name, close, destroy; a name is taken once"""
    with Made(backend) as made:
        made.insert("a")
        made.close()
        with epf.KernelFilter(NAME) as again:
            if again.age("a") != 0:
                return "a key is lost"
        fault = first_fault(
            raises(epf.Error, lambda: epf.KernelFilter.create(NAME, PLAN, backend=backend),
                   f"[Errno {errno.EEXIST}]"),
            raises(ValueError, lambda: again.test("a"), "KernelFilter is closed"))
        epf.KernelFilter.destroy(NAME, backend=backend)
        return fault or first_fault(
            *(raises(epf.Error, call, f"[Errno {errno.ENOENT}]") for call in (
                lambda: epf.KernelFilter(NAME, backend=backend),
                lambda: epf.KernelFilter.destroy(NAME, backend=backend))))


def keys(backend):
    """insert, test, test_and_insert, add, in: keys inserted are found, others hardly"""
    with Made(backend) as seen:
        seen.insert(range(N // 2))
        ages = seen.test(KEYS)
        if max(ages[:N // 2]) >= epf.UNKNOWN or ages[N // 2:].count(epf.ABSENT) < N // 2 - 50:
            return "test"
        if list(seen.test_and_insert(KEYS)) != list(ages) or set(seen.test(KEYS)) != {0}:
            return "test_and_insert"
        new = [seen.add("a"), seen.add(b"a"), "a" in seen, "b" in seen, seen.age("b")]
        return None if new == [True, False, True, False, None] else f"{new}"


def state(backend):
    """info, save, restore, clear, a snapshot in memory"""
    with Made(backend) as seen:
        seen.insert(KEYS)
        info = seen.info()
        if (info.name, info.kind, info.bpf, info.inserts, info.window_ns) != (
                NAME, "lanes", backend == "bpf", N, 60 * 10**9):
            return f"{info}"
        seen.save(temp("kernel.epf"))
        with seen.snapshot() as memory, epf.Snapshot(temp("kernel.epf")) as file:
            if {memory.audit(KEYS).present, file.audit(KEYS).present} != {N}:
                return "a snapshot loses keys"
        seen.clear()
        cleared = seen.test(KEYS).count(epf.ABSENT)
        seen.restore(temp("kernel.epf"))
        left = seen.test(KEYS).count(epf.ABSENT)
        return None if cleared > N - 50 and left == 0 else f"{cleared}, {left}"


def changes(backend):
    """rotate, swap, the list, and a filter in memory that goes on with one of the kernel"""
    with Made(backend) as seen, Made(backend, OTHER) as other:
        seen.insert(["a"])
        seen.rotate(2)
        epf.KernelFilter.swap(NAME, OTHER, backend=backend)
        ages = [seen.age("a"), other.age("a")]
        epf.KernelFilter.swap(OTHER, NAME)
        ages += [seen.age("a"), other.age("a")]
        if ages != [None, 2, 2, None]:
            return f"{ages}"
        infos = [info for info in epf.kernel_filters(backend=backend) if info.name in (NAME, OTHER)]
        if len(infos) != 2 or seen.info().id not in {info.id for info in infos} or len(
                [info for info in epf.kernel_filters() if info.name == NAME]) != 1:
            return f"{infos}"
        seen.save(temp("over.epf"))
        memory = epf.Filter(epf.Plan(window_keys=3))
        memory.restore(temp("over.epf"))
        return first_fault(
            None if memory.age("a") == 2 else "memory",
            raises(epf.Error, lambda: epf.KernelFilter.swap(NAME, "none", backend=backend), "none"),
            raises(ValueError, lambda: seen.rotate(9)), raises(ValueError, lambda: seen.rotate(-1)))


def hold():
    """a hold ends epochs, by select and step; one at a time; a filter that is gone is told"""
    try:
        seen = epf.KernelFilter.create(NAME, epf.Plan(window_keys=700), backend="bpf")
    except epf.Error as why:
        raise tap.Skip(why.strerror) from None
    try:
        with epf.Hold(NAME) as held:
            wait = held.step()
            seen.insert(range(100))
            before, steps = seen.info().epoch, 0
            while seen.info().epoch == before and steps < 100:
                select.select([held], [], [], 5)
                held.step()
                steps += 1
            fault = first_fault(
                None if 0 < wait <= 0.25 and seen.age(1) == 1 else f"{wait}, {seen.age(1)}",
                raises(epf.Error, lambda: epf.Hold(NAME), f"[Errno {errno.EBUSY}]"))
        fault = fault or raises(ValueError, held.step, "Hold is closed")
        with epf.Hold(NAME) as held:
            epf.KernelFilter.destroy(NAME, backend="bpf", force=True)
            return fault or first_fault(
                raises(epf.Error, held.step, f"[Errno {errno.ENODEV}]"),
                raises(epf.Error, lambda: epf.Hold(NAME), f"[Errno {errno.ENOENT}]"))
    finally:
        Made("bpf").__exit__()


def refused():
    """names, backends and plans that are wrong are refused"""
    Kernel = epf.KernelFilter
    return first_fault(
        raises(ValueError, lambda: Kernel("a b")), raises(ValueError, lambda: Kernel("a\0b"), "NUL"),
        raises(ValueError, lambda: Kernel(NAME, backend="rust"), "'rust'"),
        raises(ValueError, lambda: Kernel.create(NAME, epf.Plan(), backend="bpf")),
        raises(epf.Error, lambda: Kernel(NAME)), raises(TypeError, lambda: Kernel(7)))


def backends():
    """Pure BPF runs natively in "make check"."""
    return ["bpf"] * ("EPF_VM" not in os.environ or "EPF_THOROUGH" in os.environ) + ["module"]


def cases():
    for backend in backends():
        for case in life, keys, state, changes:
            def run(case=case, backend=backend):
                return case(backend)
            run.__doc__ = f"{backend}: {case.__doc__}"
            yield run


main(*cases(), hold, refused)
