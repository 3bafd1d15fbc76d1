# SPDX-License-Identifier: GPL-2.0
"""What the tests of records share: the reader under test, and keys and digests computed
without it.
"""

import os
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", d) for d in ("model", "dedup")]

import hashes  # noqa: E402
import packets  # noqa: E402
import tap  # noqa: E402

KEY = (0x0123456789ABCDEF, 0xFEDCBA9876543210)
BUILD = os.path.join(os.environ.get("BUILD") or
                     os.path.join(HERE, "..", "..", "build"),
                     "selftests", "records")
READREC = os.environ.get("READREC") or os.path.join(BUILD, "readrec")
# Of cases that are alike every STRIDE-th is tried: a sanitized reader takes long to start.
STRIDE = 4 if "sanitized" in READREC and not os.environ.get("EPF_THOROUGH") else 1
EINTR, EINVAL, EBADMSG, EOPNOTSUPP = 4, 22, 74, 95
LINE_MAX = 1 << 20


class Got:
    """The output of readrec: @pairs of digest and raw bytes, @records, @keyless, @bad, @bytes
    and @spanning counted, @calls of rec_next(), @error its number or 0, @why its text.
"""

    def __init__(self, out, status):
        self.pairs, self.error, self.why = [], 0, ""
        self.records = self.keyless = self.bad = self.bytes = self.spanning = self.calls = 0
        self.format, self.prologue, self.status = "", b"", status
        for line in out.decode("latin-1").splitlines():
            self.take(*line.split(" ", 1))

    def take(self, word, rest):
        if word == "format":
            self.format = rest
        elif word == "prologue":
            self.prologue = bytes.fromhex(rest)
        elif word == "count":
            self.records, self.keyless, self.bad, self.bytes, self.spanning = \
                map(int, rest.split())
        elif word == "calls":
            self.calls = int(rest)
        elif word == "error":
            number, self.why = rest.split(" ", 1)
            self.error = int(number)
        else:
            self.pairs.append((int(word, 16), bytes.fromhex(rest)))

    @property
    def digests(self):
        return [digest for digest, _ in self.pairs]

    @property
    def raw(self):
        return b"".join(raw for _, raw in self.pairs)


def command(form, *options):
    return [READREC, "%x,%x" % KEY, form, *options]


def read(data, form, *options, memory=None):
    """Read bytes through a pipe, or an open file, with at most @memory bytes of memory, except where
    the limit would be that of sanitizers or of QEMU, which reserve more.
    """
    how = {"input": data} if isinstance(data, bytes) else {"stdin": data}
    if memory and "sanitized" not in READREC and "EPF_QEMU" not in os.environ:
        how["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                       (memory, memory))
    ran = subprocess.run(command(form, *options), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=300, **how)
    if ran.returncode not in (0, 1) or ran.stderr:
        raise AssertionError(f"readrec ended with {ran.returncode}: "
                             f"{ran.stdout[-300:]} {ran.stderr[-3000:]}")
    got = Got(ran.stdout, ran.returncode)
    if (got.status == 1) != bool(got.error):
        raise AssertionError("status and error differ")
    return got


_known = {}


def digest(key):
    if key not in _known:
        _known[key] = hashes.digest(KEY, False, key)
    return _known[key]


def differ(what, got, want):
    """Return None if equal, else a text."""
    if got == want:
        return None
    return f"{what}:\ngot  {str(got)[:400]}\nwant {str(want)[:400]}"


def expect(got, keys, error=0, keyless=None, bad=None):
    """Return the first fault of @got, which must have @keys and those counts."""
    return differ("digests", got.digests, [digest(k) for k in keys]) or \
        differ("error", (got.error, got.why) if got.error != error else error,
               error) or \
        (keyless is not None and differ("keyless", got.keyless, keyless)) or \
        (bad is not None and differ("bad", got.bad, bad)) or \
        differ("records", got.records, len(keys))


def first(faults):
    """Return the first fault of an iteration, with its place."""
    for i, fault in enumerate(faults):
        if fault:
            return f"case {i}: {fault}"
    return None


def flow_key(version, proto, four, src, dst):
    """The canonical bytes, from the description and not from the code."""
    return bytes([version, proto]) + four + src + dst


def rng(seed):
    return tap.drawn(seed)


__all__ = [name for name in dir() if not name.startswith("_")]
