#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Filters and snapshots as objects: closing, errors, files, audits, merges, memory."""

import copy
import ctypes
import dataclasses
import errno
import gc
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import threading
import time

import arrow
from common import HASH_KEY, ROOT, epf, first_fault, main, plan, raises, tap, temp
from epf import _native

N = 5000
DAY = 86400 * 10**9


def filled(file, **more):
    """A snapshot of numbers in several epochs, and their ages."""
    path = pathlib.Path(temp(file))
    with epf.Filter(plan(window_keys=N, **more), time_ns=0) as seen:
        seen.insert(range(N // 2), time_ns=0)
        ages = seen.test(range(N), time_ns=0)
        seen.save(path, time_ns=0, wall_ns=10**18)
    return path, ages


PATH, AGES = filled("some.epf")


def methods(seen):
    """Every method of a filter, as a function."""
    return [lambda: seen.insert("a"), lambda: seen.test("a"), lambda: seen.test_and_insert("a"),
            lambda: seen.age("a"), lambda: seen.add("a"), lambda: "a" in seen, seen.rotate, seen.info,
            lambda: seen.save(temp("closed")), lambda: seen.restore(PATH)]


def closing():
    """a closed handle raises in every method; 'with' closes; closing again does nothing"""
    with epf.Filter(plan()) as seen:
        open_before = not seen.closed
    seen.close()
    snapshot = epf.Snapshot(PATH)
    snapshot.close()
    calls = methods(seen) + [seen.__enter__, lambda: snapshot.test(1), lambda: snapshot.age(1),
                             snapshot.info, lambda: snapshot.audit([1])]
    fault = first_fault(*(raises(ValueError, call, "is closed") for call in calls))
    return fault or (None if open_before and seen.closed and snapshot.closed else "closed")


def closing_in_use():
    """a thread closes what others use: their calls end, later ones raise"""
    seen, faults, begun = epf.Filter(plan()), [], threading.Semaphore(0)

    def work():
        try:
            while True:
                if len(seen.test(range(2000))) != 2000:
                    faults.append("short")
                begun.release()
        except ValueError as why:
            if "is closed" not in str(why):
                faults.append(str(why))
    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for _ in range(20):
        begun.acquire()
    seen.close()
    for worker in workers:
        worker.join()
    return "\n".join(faults) or None


def plans():
    """numbers and names out of range, and contradictions, are ValueError or TypeError"""
    Plan = epf.Plan
    calls = [(ValueError, Plan(), "window"), (ValueError, Plan(window_keys=-1), "window_keys is -1"),
             (ValueError, Plan(window_keys=2**64), "window_keys"),
             (TypeError, Plan(window_keys=1.5), "float"), (ValueError, Plan(window=-1, rate=1), "-1"),
             (ValueError, Plan(window=60), ""), (ValueError, Plan(window_keys=10, error=2), ""),
             (ValueError, Plan(window_keys=10, error=float("nan")), ""),
             (ValueError, Plan(window_keys=10, window=10, rate=1, ends="any"), "ends"),
             (ValueError, Plan(window_keys=10, kind="none"), ""),
             (ValueError, Plan(window_keys=10, kind="lanes\0"), "NUL"),
             (ValueError, Plan(window_keys=10, name="a b"), "name"),
             (ValueError, Plan(window_keys=10, hash_key=b"short"), "5 bytes"),
             (epf.Error, Plan(window_keys=10**6, max_bytes=1000), "")]
    faults = [raises(kind, lambda p=wanted: call(p), word)
              for kind, wanted, word in calls for call in (epf.plan_size, epf.Filter)]
    frozen = raises(dataclasses.FrozenInstanceError, lambda: setattr(Plan(), "kind", "ge"))
    return first_fault(*faults, frozen)


def errors():
    """an error has errno and the library's text, also as OSError and ValueError"""
    try:
        epf.Snapshot(temp("none.epf"))
    except OSError as why:
        if not isinstance(why, epf.Error) or why.errno != errno.ENOENT or "none.epf" not in why.strerror:
            return repr(why)
    seen = epf.Filter(plan(), time_ns=0)
    wrong = [lambda: seen.test("a", time_ns=-1), lambda: seen.test("a", time_ns=2**62),
             lambda: seen.insert("a", time_ns=2**64 - 1), lambda: seen.rotate(time_ns=2**61 + 1),
             lambda: seen.save("a\0b", time_ns=0), lambda: seen.save(temp("x"), wall_ns=-1)]
    garbage = pathlib.Path(temp("garbage"))
    garbage.write_bytes(os.urandom(5000))
    return first_fault(
        *(raises(ValueError, call) for call in wrong),
        raises(TypeError, lambda: seen.test("a", time_ns=1.0)),
        raises(epf.Error, lambda: seen.save(temp("no/x"), time_ns=0), "no/x"),
        raises(epf.Error, lambda: epf.Snapshot(garbage), f"[Errno {errno.EBADMSG}]"),
        raises(epf.Error, lambda: epf.Snapshot(temp(""))),
        raises(epf.ArgumentError, lambda: epf.Filter(epf.Plan()), f"[Errno {errno.EINVAL}]"),
        raises(TypeError, lambda: copy.deepcopy(seen)),
        None if issubclass(epf.ArgumentError, (epf.Error, ValueError)) else "classes")


def error_of_thread():
    """threads that fail at the same time each get their own text"""
    wrong = []

    def fail(i):
        for _ in range(300):
            fault = raises(epf.Error, lambda: epf.Snapshot(temp(f"none{i}")), f"none{i}")
            if fault:
                wrong.append(fault)
    workers = [threading.Thread(target=fail, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return wrong[0] if wrong else None


def snapshots():
    """a snapshot, mapped or copied, answers as its filter did; only the owner may read it"""
    for copied in False, True:
        with epf.Snapshot(PATH, copy=copied) as snapshot:
            info = snapshot.info()
            if snapshot.test(range(N)) != AGES or snapshot.age(7) != AGES[7] or N in snapshot:
                return "another answer"
            if (info.name, info.kind, info.keys, info.window_keys, info.inserts, info.wall_ns) != (
                    "libepf", "lanes", "text or bytes", N, N // 2, 10**18):
                return f"{info}"
    if len(set(AGES)) < 4:
        return f"ages: {set(AGES)}"
    path, _ = filled("named.epf", name="mine")
    named = epf.Snapshot(os.fsencode(path)).info().name
    mode = stat.S_IMODE(os.stat(PATH).st_mode)
    return None if (named, mode) == ("mine", 0o600) else f"{named}, {mode:o}"


def restores():
    """a filter goes on with a snapshot; what does not fit is refused if that is asked"""
    day = 86400 * 10**9
    for kind in epf.kinds():
        wanted = epf.Plan(window=7 * 86400, rate=0.01, error=1e-4, kind=kind)
        now, path = time.time_ns(), temp("old.epf")
        with epf.Filter(wanted, time_ns=0) as old, epf.Filter(plan(), time_ns=0) as seen:
            old.insert("a", time_ns=0)
            old.save(path, time_ns=0, wall_ns=now - 6 * day)
            seen.restore(path, elapsed=True)
            found = [seen.age("a") is not None, seen.age("a", time_ns=4 * day) is None]
            info = seen.info()
            old.save(path, time_ns=0, wall_ns=now - 8 * day)
            fault = first_fault(
                raises(epf.Error, lambda: seen.restore(path, elapsed=True), f"[Errno {errno.ESTALE}]"),
                raises(ValueError, lambda: epf.Filter(plan()).restore(path, same=True), "than the filter"))
            if fault or found != [True, True] or (info.kind, info.inserts) != (kind, 1):
                return f"{kind}: {fault}, {found}, {info}"
    return None


def aligned():
    """snapshots of aligned filters can be merged"""
    wanted, now = epf.Plan(window=7, rate=10, hash_key=HASH_KEY, align=True), 17 * 10**17
    for i in range(2):
        with epf.Filter(wanted, time_ns=now + i * 10**8) as seen:
            seen.insert(f"{i}", time_ns=now + 3 * 10**9)
            seen.save(temp(f"aligned{i}"), time_ns=now + 3 * 10**9 + i)
            if not seen.info().aligned:
                return "aligned"
    epf.merge([temp("aligned0"), temp("aligned1")], temp("both"))
    both = epf.Snapshot(temp("both"))
    return first_fault(None if "0" in both and "1" in both else "a key is lost",
                       raises(ValueError, lambda: epf.Filter(epf.Plan(window_keys=10, align=True)), "lanes"))


def audits():
    """an audit by every engine has the ages, bits, counts of single tests"""
    present = [i for i, age in enumerate(AGES) if age != epf.ABSENT]
    bits = sum(1 << i for i in present).to_bytes((N + 7) // 8, "little")
    snapshot = epf.Snapshot(PATH)
    for engine in (None,) + epf.engines():
        if engine == "cuda":
            continue
        got = snapshot.audit(range(N), engine=engine, threads=2, bitmap=True)
        if (got.keys, got.present, got.ages, got.bitmap) != (N, len(present), AGES, bits):
            return f"{engine}: another answer"
        if got.ages_of != tuple(AGES.count(age) for age in range(254)):
            return f"{engine}: counts"
        if got.engine not in epf.engines() or engine not in (None, got.engine):
            return f"{engine}: answered by {got.engine}"
    bare = snapshot.audit(range(N), ages=False)
    return None if (bare.ages, bare.bitmap, bare.present) == (None, None, len(present)) else "unasked"


def chunked_audits():
    """chunks of Arrow of any lengths have the bits of one array"""
    packed = b"".join(i.to_bytes(8, "little") for i in range(N))
    ends = [0, 3, 3, 11, 12, 700, 708, N]
    chunks = arrow.Chunked(*(arrow.Column(b"L", b - a, [None, packed], a)
                             for a, b in zip(ends, ends[1:])))
    snapshot, told = epf.Snapshot(PATH), []
    whole = snapshot.audit(packed, key_len=8, bitmap=True, engine="scalar")
    parts = snapshot.audit(chunks, bitmap=True, engine="scalar", progress=lambda *at: told.append(at))
    if whole != parts:
        return "another answer"
    wrong = [at for at in told if not 0 <= at[0] <= at[1] == N]
    return f"progress: {wrong}" if wrong or told != sorted(told) else None


def audit_options():
    """options of an audit that are wrong are refused"""
    snapshot = epf.Snapshot(PATH)
    return first_fault(
        raises(epf.Error, lambda: snapshot.audit([1], engine="steam"), "steam"),
        raises(ValueError, lambda: snapshot.audit([1], threads=-1), "threads"),
        raises(ValueError, lambda: snapshot.audit([1], threads=5000)),
        raises(ValueError, lambda: snapshot.audit([1, -1]), "key 1"))


def interrupted():
    """progress ends an audit by its return or an exception; so does Ctrl-C without it"""
    snapshot, data = epf.Snapshot(PATH), bytes(8 * 10**6)
    calls = []

    def fail(done, every):
        calls.append((done, every))
        raise KeyError("mine")

    def interrupt(_done, _every):
        signal.raise_signal(signal.SIGINT)
    fault = first_fault(
        raises(epf.Error, lambda: snapshot.audit(data, key_len=8, progress=lambda *_: True),
               f"[Errno {errno.ECANCELED}]"),
        raises(KeyError, lambda: snapshot.audit(data, key_len=8, progress=fail), "mine"),
        raises(KeyboardInterrupt, lambda: snapshot.audit(data, key_len=8, progress=interrupt)))
    return fault or (None if len(calls) == 1 and calls[0][1] == 10**6 else f"calls: {calls[:3]}")


def merges():
    """merge() holds the keys of all files, and refuses what does not fit"""
    paths = [temp(f"host{i}.epf") for i in range(3)]
    half = 10**18 // 87750000000001 * 87750000000001 + DAY // 2  # far from an aligned boundary
    for i, path in enumerate(paths):
        with epf.Filter(epf.Plan(window=86400 * 7, rate=0.1, hash_key=HASH_KEY), time_ns=DAY) as seen:
            seen.insert([f"{i}/{j}" for j in range(1000)], time_ns=DAY)
            seen.rotate(time_ns=DAY + 10**9)
            seen.save(path, time_ns=DAY + 10**9, wall_ns=half)
    out, told = temp("all.epf"), []
    merged = epf.merge(paths, out, loose=True, progress=lambda *at: told.append(at))
    keys = [f"{i}/{j}" for i in range(3) for j in range(1000)]
    if merged.inserts != 3000 or not 0 < merged.error < 1e-3 or epf.Snapshot(out).audit(keys).present != 3000:
        return f"{merged}"
    return first_fault(
        raises(epf.ArgumentError, lambda: epf.merge([], out), "nothing"),
        raises(TypeError, lambda: epf.merge(paths[0], out)),
        raises(ValueError, lambda: epf.merge([paths[0], PATH], temp("no.epf"))),
        raises(ValueError, lambda: epf.merge(paths, temp("no.epf")), "wall clock"),
        raises(epf.Error, lambda: epf.merge([temp("none")], temp("no.epf")), "none"),
        raises(KeyError, lambda: epf.merge(paths, temp("no.epf"), loose=True,
                                           progress=lambda *_: {}[1])),
        "a file is left" if os.path.exists(temp("no.epf")) else None)


def layout(compiled):
    """What sizeof and offsetof print, by @compiled or by cffi."""
    ffi, lines = _native.ffi, []
    for name in ("keys", "plan", "size", "info", "audit", "merge", "kernel_options", "restore"):
        struct = ffi.typeof(f"struct libepf_{name}")
        lines.append((f"sizeof(struct libepf_{name})", ffi.sizeof(struct)))
        lines += [(f"offsetof(struct libepf_{name}, {field})", at.offset)
                  for field, at in struct.fields]
    names = [name for name in dir(_native.lib) if name.startswith("LIBEPF_")]
    lines += [(name, getattr(_native.lib, name)) for name in names]
    if not compiled:
        return [str(value) for _, value in lines]
    source = "".join(f'printf("%llu\\n", (unsigned long long)({what}));\n' for what, _ in lines)
    pathlib.Path(temp("layout.c")).write_text(
        f"#include <libepf.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{source}}}\n",
        encoding="ascii")
    subprocess.run([compiled, f"-I{ROOT}/user/lib", temp("layout.c"), "-o", temp("layout")], check=True)
    return subprocess.run([temp("layout")], stdout=subprocess.PIPE, check=True,
                          encoding="ascii").stdout.split()


def header():
    """structs have the layout, and constants the values, that a C compiler gives them"""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if not compiler or not shutil.which(compiler):
        raise tap.Skip("no C compiler")
    ours, theirs = layout(None), layout(compiler)
    return None if ours == theirs and len(ours) > 70 else f"{ours}\n{theirs}"


def anonymous_bytes():
    """Memory of this process that is no file, in bytes."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as statm:
        _, resident, shared = statm.read().split()[:3]
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def every_call():
    """All that takes memory of the library, each with some hundred KiB, and its failures."""
    with epf.Filter(plan(window_keys=100000)) as seen:
        seen.insert(range(2000))
        seen.save(temp("leak.epf"))
    epf.Filter(plan(window_keys=100000)).add("not closed")
    epf.Filter(plan()).restore(temp("leak.epf"))
    raises(epf.Error, lambda: epf.Filter(plan()).restore(temp("garbage")))
    for copied in False, True:
        snapshot = epf.Snapshot(temp("leak.epf"), copy=copied)
        snapshot.audit(range(2000), bitmap=True)
        raises(ValueError, lambda: snapshot.audit([b""]))
    raises(epf.Error, lambda: epf.Snapshot(temp("garbage")))
    raises(epf.Error, lambda: epf.Filter(plan(error=2)))


def leaks():
    """300 filters and 600 snapshots leave less memory than eight of them take"""
    for _ in range(30):
        every_call()
    gc.collect()
    before = anonymous_bytes()
    for _ in range(300):
        every_call()
    gc.collect()
    one = epf.plan_size(plan(window_keys=100000)).bytes
    more = anonymous_bytes() - before
    return f"{more} bytes, {one} each" if more > 8 * one else None


main(closing, closing_in_use, plans, errors, error_of_thread, snapshots, restores, aligned, audits, chunked_audits,
     audit_options, interrupted, merges, header, leaks)
