#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How many lines of each parser do the seeds and the corpus reach? Each file of reach.table has
a floor, so a target that loses its way fails here.

usage: reach.py [doc]   doc: print the table of docs/TESTING.md

It counts what is reached without new inputs, hence the same in each run.
"""

import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(os.environ.get("BUILD", os.path.join(TOP, "build")), "selftests/fuzz")
sys.path.insert(0, os.path.join(HERE, "../dedup"))

import tap

FLOOR = 80


def rows():
    """Yield (file below user/, floor, targets, reason) of the table."""
    with open(os.path.join(HERE, "reach.table"), encoding="ascii") as f:
        for line in f:
            words = line.split(None, 3)
            if words and words[0] != "#":
                path, floor, targets = words[:3]
                reason = words[3].strip() if len(words) > 3 else ""
                assert int(floor) >= FLOOR or reason, f"{path}: a lower floor has a reason"
                yield path, int(floor), targets, reason


def tool(name):
    """Return the path of an LLVM program that fits the compiler."""
    clang = os.environ.get("CLANG", "clang")
    if not shutil.which(clang):
        return None
    said = subprocess.run([clang, "-print-prog-name=" + name], stdout=subprocess.PIPE,
                          text=True, check=True)
    return shutil.which(said.stdout.strip())


def built():
    seeds = os.path.join(OUT, "seeds")
    return [t for t in sorted(os.listdir(seeds)) if os.path.exists(os.path.join(OUT, t))
            and t != "made"] if os.path.isdir(seeds) else []


def replay(target, folder):
    """Run seeds and corpus of a target. Return its profile."""
    profile = os.path.join(folder, target + ".profraw")
    inputs = [d for d in (os.path.join(OUT, "seeds", target), os.path.join(HERE, "corpus", target))
              if os.path.isdir(d)]
    env = dict(os.environ, LLVM_PROFILE_FILE=profile, TMPDIR=folder)
    ran = subprocess.run([os.path.join(OUT, target), "-runs=0", "-rss_limit_mb=4096", *inputs],
                         env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if ran.returncode:
        raise AssertionError(f"{target}: {ran.stderr.decode(errors='replace')[-2000:]}")
    return profile


def small_folder():
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


@functools.cache
def reached():
    """Return {file below user/: (lines reached, lines)} of all targets together."""
    targets = built()
    with small_folder() as folder:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            profiles = list(pool.map(lambda t: replay(t, folder), targets))
        merged = os.path.join(folder, "merged")
        subprocess.run([tool("llvm-profdata"), "merge", "-sparse", *profiles, "-o", merged],
                       check=True)
        objects = [word for t in targets for word in ("-object", os.path.join(OUT, t))]
        told = subprocess.run([tool("llvm-cov"), "export", "-summary-only",
                               "-instr-profile", merged, *objects[1:]],
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    user = os.path.join(TOP, "user") + os.sep
    return {f["filename"][len(user):]: (f["summary"]["lines"]["covered"],
                                        f["summary"]["lines"]["count"])
            for f in json.loads(told.stdout)["data"][0]["files"]
            if f["filename"].startswith(user)}


def percent(path):
    covered, lines = reached().get(path, (0, 0))
    return 100 * covered // lines if lines else 0


def case(path, floor, targets):
    """Return the test of one file."""
    def judge():
        missing = set(targets.split(",")) - set(built())
        if missing:
            raise tap.Skip(f"not built here: {', '.join(sorted(missing))}")
        got = percent(path)
        print(f"# {path}: {got} % of its lines")
        return None if got >= floor else f"{path}: {got} % of its lines, less than {floor} %"
    return f"{path}: at least {floor} % of its lines, by {targets}", judge


def all_named():
    """Each reader of records has a row; one that comes must get one."""
    named = {path for path, *_ in rows()}
    there = {os.path.relpath(p, os.path.join(TOP, "user"))
             for p in glob.glob(os.path.join(TOP, "user/records/*.c"))}
    lost = sorted(there - named)
    return f"no row in reach.table: {', '.join(lost)}" if lost else None


def doc():
    lines = ["| file of `user/` | targets | reached | floor |", "|---|---|---|---|"]
    for path, floor, targets, reason in rows():
        lines.append(f"| `{path}` | {targets.replace(',', ', ')} | {percent(path)} % | "
                     f"{floor} %{': ' + reason if reason else ''} |")
    return lines


def main():
    if not built() or not tool("llvm-profdata") or not tool("llvm-cov"):
        tap.skip_all("clang, its fuzzer runtime (libclang-rt-dev) or llvm is missing")
    if sys.argv[1:] == ["doc"]:
        print("\n".join(doc()))
        return
    tap.main([("each reader of records has a floor", all_named)] +
             [case(*row[:3]) for row in rows()])


if __name__ == "__main__":
    main()
