# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a filter has to do, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from epf._native import check, ffi, lib, name_of, options, text_of, unsigned

HASH_KEY_BYTES = 16


def ns_of(window: timedelta | float) -> int:
    """A duration in ns; numbers are seconds."""
    if isinstance(window, timedelta):
        return (window.days * 86400 + window.seconds) * 10**9 + window.microseconds * 1000
    return round(window * 10**9)


@dataclass(frozen=True)
class Plan:
    """What a filter has to do. At least one of the two windows is given.

    >>> Plan(window=timedelta(minutes=10), rate=1000, error=1e-6) == Plan(window=timedelta(0, 600),
    ...      rate=1000, error=1e-6)
    True

    window_keys: remember the last so many insertions.
    window: remember the insertions of this time, a timedelta or seconds.
    rate: insertions a second that `window` is sized for; needed with it, except with
        ``ends="either"``.
    error: share of absent keys that may be found at the worst moment, 1e-9 to 0.5. Default: 1e-4.
    kind: one of `kinds()`. Default: "lanes".
    first_seen: a repeat does not restart the window of its key.
    ends: with both windows, an epoch ends with the first of two boundaries ("either": the error is
        bounded, and a key may leave before one of the windows is over) or with the last ("both").
    limit: above this error, which more keys than planned cause, the filter does not know whether
        a key that it finds was inserted. Default: twice the error; 1: it always claims to know.
    slack: keys may stay at most this share of the window after they have left it.
    max_bytes: limit for the memory: what is planned, and what a kind that grows takes later
        (default: half of the RAM), above which its error grows instead.
    name: of the filter in snapshots. A filter of the kernel has the name that it is created with.
    hash_key: 16 bytes. Whoever knows them can make false positives. Snapshots that are to be merged
        need the same. Default: random.
    align: of kind lanes with `window` alone: epochs end by the wall clock, so that snapshots of
        several hosts can be merged. A time that the program gives is then ns since 1970.
    """

    window_keys: int | None = None
    window: timedelta | float | None = None
    rate: float | None = None
    error: float | None = None
    kind: str | None = None
    first_seen: bool = False
    ends: Literal["either", "both"] | None = None
    limit: float | None = None
    slack: float | None = None
    max_bytes: int | None = None
    name: str | None = None
    hash_key: bytes | None = None
    align: bool = False

    def _flags(self) -> int:
        if self.ends not in (None, "either", "both"):
            raise ValueError(f"ends is {self.ends!r}: it is 'either' or 'both'")
        ends = {None: 0, "either": lib.LIBEPF_EITHER, "both": lib.LIBEPF_BOTH}
        flags: int = ends[self.ends] | (lib.LIBEPF_FIRST_SEEN if self.first_seen else 0) | (
            lib.LIBEPF_ALIGN if self.align else 0)
        return flags

    def _window_ns(self) -> int:
        return 0 if self.window is None else unsigned("window, in ns,", ns_of(self.window))

    def _struct(self) -> tuple[Any, list[Any]]:
        """The struct of the library, and the texts that it points to."""
        plan, texts = options("libepf_plan"), []
        plan.flags = self._flags()
        plan.window_keys = unsigned("window_keys", self.window_keys or 0)
        plan.window_ns = self._window_ns()
        plan.max_bytes = unsigned("max_bytes", self.max_bytes or 0)
        for number in ("rate", "error", "limit", "slack"):
            setattr(plan, number, getattr(self, number) or 0)
        for text in ("kind", "name"):
            if getattr(self, text) is not None:
                texts.append(ffi.new("char[]", name_of(getattr(self, text))))
                setattr(plan, text, texts[-1])
        if self.hash_key is not None:
            if len(self.hash_key) != HASH_KEY_BYTES:
                raise ValueError(f"hash_key has {len(self.hash_key)} bytes, not {HASH_KEY_BYTES}")
            texts.append(ffi.new("unsigned char[]", self.hash_key))
            plan.hash_key = texts[-1]
        return plan, texts


@dataclass(frozen=True)
class Size:
    """What a plan takes.

    epochs: complete epochs in the window.
    bytes: memory.
    error: predicted share of absent keys that are found, at the worst moment.
    slack: how long a key stays after the window at most, as a share of it.
    """

    epochs: int
    bytes: int
    error: float
    slack: float


def plan_size(plan: Plan) -> Size:
    """What a filter would take; none is made.

    >>> size = plan_size(Plan(window_keys=1_000_000, error=1e-4))
    >>> size.epochs, size.bytes >> 20, size.error <= 1e-4
    (7, 3, True)
    """
    struct, _texts = plan._struct()
    size = options("libepf_size")
    check(lib.libepf_plan_size(struct, size))
    return Size(size.epochs, size.bytes, size.error, size.slack)


def _names(function: Any) -> tuple[str, ...]:
    names: list[str] = []
    while function(len(names)):
        names.append(text_of(function(len(names))))
    return tuple(names)


def kinds() -> tuple[str, ...]:
    """The kinds of filters; the first is the default.

    >>> kinds()[0]
    'lanes'
    """
    return _names(lib.libepf_kind)


def engines() -> tuple[str, ...]:
    """The engines of audits that this machine can run, slowest first."""
    return _names(lib.libepf_engine)


def version() -> str:
    """The version of the library."""
    return text_of(lib.libepf_version())


@dataclass(frozen=True)
class Info:
    """A filter or a snapshot.

    saturated: the error is above the limit.
    bpf: it is in the kernel, and pure BPF.
    first_seen: a repeat does not restart the window of its key.
    name, kind: its name and its kind.
    keys: what its keys are made of, as a phrase: "text or bytes".
    window_keys: as planned; 0: a window of time alone.
    window_ns: as planned; 0: a window of insertions alone.
    error: error for which it was sized.
    limit: see `Plan`.
    estimate: error now; of a snapshot, when it was saved.
    epochs: complete epochs in the window.
    epoch: number of the current epoch; they begin with 8.
    memory_bytes: memory.
    covered_keys: the last so many insertions are all remembered.
    covered_ns: all insertions of the last so many ns are remembered. This and the counters below
        are 0 for a snapshot, except `inserts`.
    inserts: insertions since creation.
    hits: answers "present".
    misses: answers "absent" and "unknown".
    unknown: answers "unknown".
    rotations: epochs ended.
    wall_ns: of a snapshot: ns since 1970 when it was saved; else 0.
    id: number of a filter of the kernel, unique in its backend; else 0.
    aligned: epochs end by the wall clock; not told of snapshots.
    jumps: of a `Filter` with the program's own time: calls that came a window or more after the
        call before, so that all keys left at once; else 0.
    """

    saturated: bool
    bpf: bool
    first_seen: bool
    name: str
    kind: str
    keys: str
    window_keys: int
    window_ns: int
    error: float
    limit: float
    estimate: float
    epochs: int
    epoch: int
    memory_bytes: int
    covered_keys: int
    covered_ns: int
    inserts: int
    hits: int
    misses: int
    unknown: int
    rotations: int
    wall_ns: int
    id: int
    aligned: bool
    jumps: int


_FLAGS = {"saturated": "LIBEPF_INFO_SATURATED", "bpf": "LIBEPF_INFO_BPF",
          "first_seen": "LIBEPF_INFO_FIRST_SEEN", "aligned": "LIBEPF_INFO_ALIGNED"}


def info_by(call: Any) -> Info:
    """The Info that @call fills in."""
    info = options("libepf_info")
    check(call(info))
    return info_of(info)


def info_of(info: Any) -> Info:
    """The Info of the library's struct."""
    values: dict[str, Any] = {name: bool(info.flags & getattr(lib, flag)) for name, flag in _FLAGS.items()}
    for name in Info.__dataclass_fields__.keys() - _FLAGS.keys():
        value = getattr(info, name)
        values[name] = text_of(value) if name in ("name", "kind", "keys") else value
    return Info(**values)
