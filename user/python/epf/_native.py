# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The C library: loading it, its errors, its numbers."""

from __future__ import annotations

import errno
import os
from operator import index
from typing import Any

from epf._cffi import ffi as ffi

SONAME = "libepf.so.1"

try:
    lib: Any = ffi.dlopen(SONAME)
except OSError as why:
    raise ImportError(f"{why}: epf needs the C library of Debian's package libepf1") from why

ABSENT: int = lib.LIBEPF_AGE_ABSENT
UNKNOWN: int = lib.LIBEPF_AGE_UNKNOWN
KEY_MAX: int = lib.LIBEPF_KEY_MAX


class Error(OSError):
    """A call of the library failed: ``errno``, and in ``strerror`` its line of text."""


class ArgumentError(Error, ValueError):
    """An argument is out of its range, or arguments contradict each other (``EINVAL``)."""


def check(result: int) -> int:
    """@result, unless it is a negative errno."""
    if result < 0:
        text = ffi.string(lib.libepf_error()).decode(errors="replace")
        raise (ArgumentError if -result == errno.EINVAL else Error)(-result, text)
    return result


def text_of(pointer: Any) -> str:
    """The text of a char pointer or array of the library."""
    text: bytes = ffi.string(pointer)
    return text.decode()


def path_of(path: str | bytes | os.PathLike[Any]) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("a path has a NUL byte")
    return name


def name_of(name: str) -> bytes:
    """A name for the library, which checks its characters but ends it at a NUL byte."""
    if "\0" in name:
        raise ValueError("a name has a NUL byte")
    return name.encode()


def unsigned(what: str, value: int, most: int = 2**64 - 1) -> int:
    """@value if it is an integer from 0 to @most."""
    number = index(value)
    if not 0 <= number <= most:
        raise ValueError(f"{what} is {number}, out of 0 to {most}")
    return number


def time_of(time_ns: int | None, default: int) -> int:
    """A time for the library."""
    if time_ns is None:
        return default
    return unsigned("time_ns", time_ns, lib.LIBEPF_TIME_MAX)


def options(struct: str) -> Any:
    """A struct of zeros that begins with its size."""
    made = ffi.new(f"struct {struct} *")
    made.size = ffi.sizeof(made[0])
    return made


class Progress:
    """A Python function as the library's @progress.

    It is installed even without a function: it lets signals of Python, such as Ctrl-C, end a
    long call. An exception ends the call too, and rejoin() raises it again.
    """

    def __init__(self, signature: str, call: Any) -> None:
        self.raised: BaseException | None = None
        self.call = call
        self.pointer = ffi.callback(signature, self._step, error=1, onerror=self._keep)

    def _step(self, _context: Any, done: int, everything: int) -> int:
        return 1 if self.call is not None and self.call(done, everything) else 0

    def _keep(self, _kind: Any, raised: BaseException, _trace: Any) -> None:
        self.raised = raised

    def rejoin(self, result: int) -> int:
        """End the use of the pointer. No reference to this object or to the exception stays."""
        raised, self.raised, self.pointer = self.raised, None, None
        try:
            if raised is not None:
                raise raised
        finally:
            del raised
        return check(result)
