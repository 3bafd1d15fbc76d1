#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the rule "names tell the file": a static function whose name another file of the same program uses for a
function of its own is prefixed with its file, so that a profile, a backtrace or a probe names one function.

usage: names.py    prints "FILE NAME: OTHER-FILE..." for each that breaks it; exit 1 if any does
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
LIBEPF = ("user/libepf", "user/ebpf")
SHARED = (*LIBEPF, "user/common", "user/records", "user/jobs", "user/metrics")
PROGRAMS = {
    "the module": ("kmod",),
    "epfctl": ("user/epfctl", *SHARED, "user/cluster/cover_map.c"),
    "epfmpi": ("user/epfmpi", "user/epfctl", *SHARED),
    "epfagent": ("user/epfagent", "user/cluster", *SHARED),
    "libepf.so": ("user/lib", *LIBEPF),
}
ATTRIBUTE = re.compile(r"__attribute__\(\([^()]*(\([^()]*\))?[^()]*\)\)")
# A definition as clang-format lays it out: its head begins a line, and "{" is a line of its own.
COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/', re.S)
FUNCTION = re.compile(r"^(static )?[a-z_](?:[^\n;(){}=]*[ *])?(\w+)\((?:[^\n;]*[^\n;]\n)(?:[ \t][^\n;]*\n)*\{$", re.M)


def functions(path):
    """The functions that a file defines: is each static?"""
    text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), path.read_text())
    return {m[2]: bool(m[1]) for m in FUNCTION.finditer(ATTRIBUTE.sub("", text))}


def files(places, top=TOP):
    for place in places:
        path = top / place
        yield from [path] if path.is_file() else sorted(path.rglob("*.c"))


def prefixed(path, name):
    return name.startswith(path.stem.removeprefix("cmd_") + "_")


def clashes(top=TOP):
    """The files of each static function of which another file of a program has one of the same name, by file and name."""
    found = {}
    for places in PROGRAMS.values():
        where = {}
        for path in files(places, top):
            for name, static in functions(path).items():
                where.setdefault(name, []).append((path, static))
        for name, owners in where.items():
            bare = [path for path, _ in owners if not prefixed(path, name)] or [path for path, _ in owners]
            for path, static in owners:
                if static and len(owners) > 1 and path in bare:
                    others = found.setdefault((str(path.relative_to(top)), name), set())
                    others.update(str(p.relative_to(top)) for p, _ in owners if p != path)
    return found


if __name__ == "__main__":
    bad = clashes()
    for (path, name), others in sorted(bad.items()):
        print(f"{path} {name}: {' '.join(sorted(others))}")
    sys.exit(bool(bad))
