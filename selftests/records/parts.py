#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Parts of files of lines: together they are the file, each record once, in its order."""

import gzip
import tempfile

from common import *
import tap

FILES = 120 // STRIDE


def cuts(r, size, most=6):
    """Offsets at which a file is cut, from 0 to its size, where it has one byte at least."""
    return sorted({0, max(size, 1), *(r.randrange(size + 1) for _ in range(r.randrange(1, most)))})


def parts(f, form, options, at):
    """What readrec says of each part."""
    for i, begin in enumerate(at[:-1]):
        f.seek(0)
        yield read(f, form, f"part={begin}-{at[i + 1]}", *options)


def compare(data, form, options, at):
    """Return a fault of the parts of a file."""
    with tempfile.TemporaryFile() as f:
        f.write(data)
        f.flush()
        f.seek(0)
        whole, got = read(f, form, *options), list(parts(f, form, options, at))
    pairs = [pair for g in got for pair in g.pairs]
    total = [sum(getattr(g, what) for g in got) for what in ("records", "keyless", "bad")]
    errors = [(g.error, g.why) for g in got if g.error]
    if whole.error:
        return differ("error", errors[:1], [(whole.error, whole.why)])
    return differ("records", pairs, whole.pairs) or \
        differ("prologue", {g.prologue for g in got}, {whole.prologue}) or \
        differ("counts", total, [whole.records, whole.keyless, whole.bad]) or \
        differ("error", errors, [])


def line(r, form):
    if r.random() < .1:
        return r.choice([b"", b"x" * r.randrange(9000)])
    key = b"%d" % r.randrange(1000)
    return {"text": key, "csv": b'a,%s,"b"' % key, "json": b'{"key": "%s", "x": []}' % key}[form]


SPECS = {"text": ("csv", ["header"]), "csv": ("csv", ["fields=2", "header", "skip-bad"]),
         "json": ("json", ["fields=key", "skip-bad"])}


def lines():
    r = tap.drawn(1)
    for i in range(FILES):
        kind = r.choice(list(SPECS))
        form, options = SPECS[kind]
        data = b"".join(line(r, kind) + r.choice([b"\n", b"\r\n"]) for _ in range(r.randrange(60)))
        data = r.choice([b"", b"\xef\xbb\xbf"]) + (b"k,key\n" if kind != "json" else b"") + data
        if r.random() < .3:
            data = data[:-1]
        fault = compare(data, form, options, cuts(r, len(data)))
        if fault:
            return f"file {i}, {kind}: {fault}"
    return None


def everywhere():
    data = b"a,key\n\n1,2\r\n\n3,4\n5,6"
    return first(compare(data, "csv", ["fields=key", "header"], [0, at, len(data)])
                 for at in range(1, len(data)))


def one_by_one():
    data = b"k\n" + b"".join(b"%d\n" % i for i in range(12))
    return compare(data, "csv", ["header"], list(range(len(data) + 1)))


def quotes():
    """A quote or a carriage return in a line matters to no other."""
    r = tap.drawn(2)
    for i in range(FILES):
        weights = r.choice([[9, 9, 0, 1, 9, 0], [9, 9, 2, 2, 9, 1], [5, 5, 5, 0, 5, 0]])
        data = b"".join(r.choices([b"a", b",", b'"', b"\r\n", b"\n", b"\r"], weights, k=r.randrange(200)))
        fault = compare(data, "csv", ["fields=1", "skip-bad"], cuts(r, len(data)))
        if fault:
            return f"file {i}: {fault}\n{data}"
    return None


def numbered():
    good, bad = b'{"a":"x"}\n\n', b'{"a":1.5}\n'
    data = good * 30 + bad + good * 30
    long = b"a\n" * 99 + b"b" * (LINE_MAX + 2) + b"\n"
    return compare(data, "json", ["fields=a"], [0, 100, len(data)]) or \
        compare(data, "json", ["fields=a"], [0, len(data) - 5, len(data)]) or \
        compare(long, "csv", ["fields=1", "skip-bad"], [0, 100, len(long)])


def long_lines():
    long = (b"y" * (LINE_MAX - 1) + b"\n") * 3
    return compare(b"a\n" + long + b"b\n", "csv", ["fields=1", "skip-bad"],
                   [0, 1, 5, LINE_MAX, 3 * LINE_MAX, 3 * LINE_MAX + 4])


def refused():
    packed, nfdump = gzip.compress(b"a\n" * 99), b"ts,te,td,sa,da,sp,dp,pr\n" * 9
    for data, form, options in (packed, "csv", []), (nfdump, "nfdump", ["key=flow"]), \
            (b"a,b\n" * 9, "csv", ["fields=1", "multiline"]):
        with tempfile.TemporaryFile() as f:
            f.write(data)
            f.flush()
            f.seek(0)
            got = read(f, form, "part=8-20", *options)
        if got.error != EINVAL or "in parts" not in got.why:
            return f"{form}: {got.error} {got.why}"
    return None


CASES = [
    (f"{FILES} random files of lines, CSV and JSON, cut anywhere", lines),
    ("a small file, cut at each byte", everywhere),
    ("parts of a byte", one_by_one),
    (f"{FILES} random files of quotes and ends of lines", quotes),
    ("a bad line has its number in the file, one that is too long also where they are skipped", numbered),
    ("lines of 1 MiB", long_lines),
    ("compressed files, other formats and records of several lines are not read in parts", refused),
]

if __name__ == "__main__":
    tap.main(tap.chosen(CASES))
