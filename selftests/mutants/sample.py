#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Draws edits of one line and tries whether a test notices them.

usage: sample.py SEED N [PATH]...   N edits of these files (those of the last ten commits); SEED chooses them
       sample.py check              does each file have its programs in ./suites? (make style)

An edit moves a bound, turns a comparison, swaps arguments or drops a statement, but none that gives memory or a
file back, since only sanitizers notice that. It is made in the working tree, which
must have no changes in that file, and is taken back. One line for each edit:

  found        a program fails, which passes without the edit
  survived     all programs of ./suites that can run here pass
  equivalent   all objects that are built again are the same
  skipped      it does not compile, or none of its programs can run here

The exit status is 0 if at most one in eight of those found or survived has survived.
"""

import fnmatch
import functools
import glob
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
FOLDERS = ("user", "include", "bpf", "kmod")
SOURCES = (".c", ".h", ".py")
DRAWN = (".c", ".h")
LIMIT_S, FACTOR = 60, 6  # a program may take so long, or so many times as long as without an edit
ONE_IN = 8

VALUE = r"[\w.\[\]]+(?:->[\w.\[\]]+)*"
TURNS = (("bound", " < ", " <= "), ("bound", " <= ", " < "), ("bound", " > ", " >= "), ("bound", " >= ", " > "),
         ("bound", " + 1", ""), ("bound", " - 1", ""),
         ("comparison", " == ", " != "), ("comparison", " != ", " == "),
         ("comparison", " && ", " || "), ("comparison", " || ", " && "), ("comparison", "if (!", "if ("),
         ("comparison", "return !", "return "), ("dropped", " |= ", " = "), ("dropped", " += ", " = "))
ARGUMENTS = re.compile(rf"\((&?{VALUE}), (&?{VALUE})(?=[,)])")
RELEASE = re.compile(r"\b(?:free|close|fclose|json_decref|\w*Free\w*|\w+_(?:free|close|destroy|unref))\(")
STATEMENT = re.compile(rf"^\t+(?:\*?{VALUE} (?:[-+|&^]|<<|>>)?= .*|\*?{VALUE}(?:\+\+|--)|{VALUE}\(.*\)|break|continue);$")


def git(*words):
    return subprocess.run(("git", "-C", TOP) + words, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]


# ---- the programs of a file

@functools.lru_cache
def suites():
    with open(os.path.join(HERE, "suites"), encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and line[0] != "#"]


def programs_of(path):
    return next((row[1:] for row in suites() if fnmatch.fnmatch(path, row[0])), [])


@functools.lru_cache
def tests():
    return [line.split()[0] for line in subprocess.run(
        [os.path.join(TOP, "selftests/tests.sh")], check=True, capture_output=True, text=True).stdout.splitlines()]


def check():
    faults = [f"no programs for {path}" for path in git("ls-files", *FOLDERS)
              if path.endswith(SOURCES) and not programs_of(path)]
    faults += [f"no program {name}" for name in sorted({name for row in suites() for name in row[1:]})
               if not fnmatch.filter(tests(), name)]
    faults += [f"no file {row[0]}" for row in suites() if not glob.glob(os.path.join(TOP, row[0]))]
    for fault in faults:
        print(f"selftests/mutants/suites: {fault}")
    return not faults


# ---- the edits

def code_of(line):
    """Return the line with texts and comments masked, so that offsets stay."""
    for pattern in (r'"(?:\\.|[^"\\])*"', r"'(?:\\.|[^'\\])*'", r"/\*.*?(?:\*/|$)", r"//.*"):
        line = re.sub(pattern, lambda m: "\1" * len(m[0]), line)
    return line


def edits_of(path):
    """Yield (kind, path, line number, new line) of each edit in a file."""
    in_comment, before = False, ""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        for nr, line in enumerate(file.read().split("\n")):
            code = code_of(line)
            if in_comment or line.startswith("#") or before.endswith("\\"):
                in_comment = in_comment and "*/" not in line
                before = line
                continue
            in_comment = "/*" in line and "*/" not in line
            before = line
            for kind, old, new in TURNS:
                at = code.find(old)
                while at >= 0:
                    yield kind, path, nr, line[:at] + new + line[at + len(old):]
                    at = code.find(old, at + 1)
            if code.startswith("\t"):
                for m in ARGUMENTS.finditer(code):
                    if m[1] != m[2]:
                        yield "swapped", path, nr, f"{line[:m.start()]}({m[2]}, {m[1]}{line[m.end():]}"
            if STATEMENT.match(code) and not RELEASE.search(code):
                yield "dropped", path, nr, re.match(r"\t+", line)[0] + ";"


def write(path, text):
    """Write a source, later than what was built of it."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    now = time.time()
    os.utime(path, (now, now))


# ---- building and running

def run(name, limit):
    """Return ("passed", "failed", "skipped" or "not built", seconds). Sanitized programs are not built."""
    began = time.monotonic()
    done = subprocess.run([os.path.join(TOP, "selftests/check.sh"), "only", name], capture_output=True, text=True, check=False, errors="replace",
                          env={**os.environ, "EPF_TIMEOUT": str(int(limit)), "EPF_SEED": "0", "FAST": "y"})
    took = time.monotonic() - began
    totals = re.findall(r"^(\d+) passed, (\d+) failed, \d+ skipped$", done.stdout, re.M)
    if not totals:
        return "not built", took
    passed, failed = map(int, totals[-1])
    return "failed" if failed else "passed" if passed else "skipped", took


def digest(path):
    """Return the hash of an object without its lines and types."""
    with tempfile.TemporaryDirectory() as folder:  # where it fails, objcopy removes its output
        bare = os.path.join(folder, "bare")
        if subprocess.run(["objcopy", "--strip-debug", "-R", ".note.gnu.build-id", path, bare],
                          capture_output=True, check=False).returncode:
            return os.urandom(8)
        with open(bare, "rb") as file:
            return hashlib.sha256(file.read()).digest()


def objects_of(path):
    """Yield what is built of a source, by the compiler's list of prerequisites."""
    names = "|".join({re.escape(path), re.escape(path.removeprefix("user/"))})
    for name in glob.glob(f"{BUILD}/**/*.d", recursive=True):
        built = name[:-2] + ".o" if os.path.exists(name[:-2] + ".o") else name[:-2]
        if os.path.isdir(name):  # of a guest's system
            continue
        with open(name, encoding="utf-8", errors="replace") as file:
            if os.path.isfile(built) and re.search(rf"[ /](?:{names})[:\s]", file.read()):
                yield built


class Sample:
    """Edits and what became of them."""

    def __init__(self, edits):
        self.edits = edits
        self.base, self.same, self.counts = {}, {}, {}

    def baseline(self):
        """Run each program without an edit, and remember what was built."""
        for name in dict.fromkeys(name for edit in self.edits for name in programs_of(edit[1])):
            self.base[name] = run(name, 3000)
            if self.base[name][0] != "passed":
                print(f"# {name}: {self.base[name][0]} without an edit: does not count", flush=True)
        for path in {edit[1] for edit in self.edits}:
            for built in objects_of(path):
                self.same[built] = digest(built)
                self.same.setdefault(path, []).append(built)

    def equivalent(self, path, began):
        again = [built for built in self.same.get(path, []) if os.path.getmtime(built) >= began]
        return again and all(digest(built) == self.same[built] for built in again)

    def verdict(self, path, began):
        ran = []
        for name in programs_of(path):
            state, took = self.base[name]
            if state != "passed":
                continue
            state, _ = run(name, max(LIMIT_S, FACTOR * took))
            if state == "not built":
                return "skipped", "does not compile"
            if state == "failed":
                return "found", name
            if state == "passed":
                ran.append(name)
            if path.endswith(".c") and self.equivalent(path, began):
                break
        if self.equivalent(path, began):
            return "equivalent", ""
        return ("survived", " ".join(ran)) if ran else ("skipped", "no program can run here")

    def attempt(self, edit):
        kind, path, nr, line = edit
        at = os.path.join(TOP, path)
        with open(at, encoding="utf-8") as file:
            text = file.read()
        lines = text.split("\n")
        old, lines[nr] = lines[nr], line
        try:
            write(at, "\n".join(lines))
            verdict, by = self.verdict(path, time.time() - 2)
        finally:
            write(at, text)
        self.counts[verdict] = self.counts.get(verdict, 0) + 1
        print(f"{verdict}: {path}:{nr + 1}: {kind}: {old.strip()} -> {line.strip()}{': ' if by else ''}{by}", flush=True)

    def totals(self):
        found, survived = self.counts.get("found", 0), self.counts.get("survived", 0)
        print(f"{found} found, {survived} survived, {self.counts.get('equivalent', 0)} equivalent, "
              f"{self.counts.get('skipped', 0)} skipped")
        return survived * ONE_IN <= found + survived


def files_of(paths):
    paths = [os.path.relpath(path, TOP) for path in paths]
    names = git("ls-files", *paths) if paths else git("diff", "--name-only", "--diff-filter=d", "HEAD~10", "HEAD")
    changed = git("diff", "--name-only", "HEAD")
    names = [name for name in names if name.endswith(DRAWN) and programs_of(name)]
    for name in names:
        if name in changed:
            sys.exit(f"sample.py: {name} has changes that are not committed; commit them first")
    return names


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if sys.argv[1:] == ["check"]:
        sys.exit(0 if check() else 1)
    if len(sys.argv) < 3 or not sys.argv[1].isdigit() or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    edits = [edit for name in files_of(sys.argv[3:]) for edit in edits_of(name)]
    sample = Sample(random.Random(int(sys.argv[1])).sample(edits, min(int(sys.argv[2]), len(edits))))
    sample.baseline()
    for edit in sample.edits:
        sample.attempt(edit)
    sys.exit(0 if sample.totals() else 1)


main()
