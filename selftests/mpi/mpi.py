#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""epfmpi answers as epfctl does, byte for byte: for any number of ranks and any cut of the
input, after ranks were killed and answers were damaged. Each case runs with the first MPI
that is installed; with the second one only those that depend on it most, unless with
EPF_THOROUGH."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "dedup"))

import tap
from job import (
    BUILD, COLUMN, ENV, FORMATS, KEYLESS, KINDS, LINE_FORMATS, MARK, UNIT, UNITS,
    differ, epf, expected, expected_lines, home, mpi, program, right)

LINE_MAX = 1 << 20  # bytes


def columns(kind):
    """keys of a column, by 1 to 8 ranks, in units of two sizes"""
    expected()
    for ranks, unit in (1, 8), (2, UNIT), (3, 1 << 20), (8, 40):
        words = [*COLUMN[:-1], str(unit if unit > 64 else unit * 512)]
        right(mpi(kind, ranks, "audit", *words, "-b", "got.b", "-a", "got.a", "snap", "digests"))
        fault = differ(("got.b", "want.b"), ("got.a", "want.a"))
        if fault:
            return f"{ranks} ranks, {words}: {fault}"
    return None


def copies(kind):
    """four ranks as one node, as two and as four, with both kinds of copies"""
    expected()
    for node in 1, 2, 4:
        for copy in "own", "shared":
            right(mpi(kind, 4, "audit", *COLUMN, "--copy", copy, "-b", "got.b", "-a", "got.a",
                      "snap", "digests", node=node))
            fault = differ(("got.b", "want.b"), ("got.a", "want.a"))
            if fault:
                return f"nodes of {node}, {copy}: {fault}"
    return None


def chosen(kind):
    """ranks have copies of their own if those take a quarter of the free memory at most"""
    expected()
    lines = (home / "snap").stat().st_size
    meminfo = home / "meminfo"
    for ranks, free, words, want in [
            (2, 12 * lines, [], "rank"), (2, 7 * lines, [], "node"), (3, 7 * lines, ["--copy", "own"], "rank"),
            (1, 0, [], "rank"), (2, None, [], "node"), (2, 12 * lines, ["--copy", "shared"], "node")]:
        meminfo.write_text("MemTotal: 1 kB\n" + (f"MemAvailable: {free // 1024} kB\n" if free is not None else ""))
        told = json.loads(right(mpi(kind, ranks, "-j", "audit", *COLUMN, *words, "-b", "got.b",
                                    "snap", "digests", meminfo=meminfo)))
        if f"one copy for each {want}" not in told["work"]["why"]:
            return f"{ranks} ranks, {free} bytes are free, {words}: {told['work']['why']}"
    return None


def names(kind):
    """version, help and errors name epfmpi"""
    for words, said in [(["--version"], "epfmpi "), (["--help"], "'epfmpi VERB --help'"),
                        (["audit", "--help"], "usage: epfmpi audit"),
                        (["audit", "--copy", "two", "a", "b"], "--copy 'two' is none of auto"),
                        (["audi"], "did you mean 'audit'"), (["zzzzzzzz"], "'epfmpi --help'")]:
        done = mpi(kind, 1, *words)
        if said not in done.stdout + done.stderr or "epfctl " in done.stdout:
            return f"{words}: {done.stdout}{done.stderr}"
    return None


def records(kind):
    """records of three formats, each file by one rank, and their records"""
    expected()
    for name, words in FORMATS.items():
        right(mpi(kind, 2, "audit", *words, "--absent", *sum(
            (["-b", f"{i}.b", "-a", f"{i}.a", "-o", f"{i}.o"] for i in range(2)), []),
            "snap", f"keys.{name}", f"keys.{name}"))
        fault = differ(*((f"{i}.{what}", f"want.{name}.{what}") for i in range(2) for what in "bao"))
        if fault:
            return f"{name}: {fault}"
    return None


def lines_differ(what):
    return differ(*((f"got.{end}", f"want.lines.{what}.{end}") for end in "bao"))


def lines(kind):
    """one file of lines, by 1 to 8 ranks, in units of a few lines and of many"""
    expected_lines()
    formats, shapes = list(LINE_FORMATS.items()), [(1, 8), (3, 16), (2, 160), (8, 40)]
    for i in range(len(formats) * (4 if os.environ.get("EPF_THOROUGH") else 1)):
        what, words = formats[i % 4]
        ranks, unit = shapes[i % 4 - i // 4]
        right(mpi(kind, ranks, "audit", *words, "--skip-bad", "--unit", str(unit), "-b", "got.b", "-a", "got.a",
                  "-o", "got.o", "lines.epf", f"lines.{what}"))
        fault = lines_differ(what)
        if fault:
            return f"{ranks} ranks, units of {unit}, {what}: {fault}"
    return None


def lines_die(kind):
    """a rank that dies half-way through a write of a unit of lines, or of what is joined: --resume does the rest"""
    expected_lines()
    words = ["-j", "audit", *LINE_FORMATS["csv"], "--skip-bad", "--unit", "80", "-b", "got.b", "-a", "got.a",
             "-o", "got.o", "lines.epf", "lines.csv"]
    units = -(-(home / "lines.csv").stat().st_size // (80 * 64))
    for die, whole in (4, False), (3 * units, True):
        done = mpi(kind, 1, *words, die=f"write:{die}")
        if not done.returncode or not (home / "got.b.resume.parts").exists():
            return f"write {die}: nothing was killed"
        told = json.loads(right(mpi(kind, 2, *words, "--resume")))
        fault = lines_differ("csv")
        if fault or (told["work"]["resumed_at"] == told["keys"]) != whole:
            return f"write {die}: {fault}, resumed {told['work']['resumed_at']} of {told['keys']}"
    return None


def lines_damage(kind):
    """damaged answers of lines are found, and marks of units of another size are none"""
    expected_lines()
    words = ["-j", "audit", *LINE_FORMATS["json"], "--skip-bad", "-b", "got.b", "-a", "got.a", "-o", "got.o"]
    unit = (home / "lines.json").stat().st_size // 64 // 16 * 8 + 8
    for what, spoil, again, want in [
            ("nothing", lambda: None, unit, "all"),
            ("a bit of unit 0", lambda: flip(home / "got.b.resume.parts", 3), unit, "some"),
            ("an age of unit 1", lambda: flip(home / "got.a.resume.parts", unit * 64 + 3), unit, "some"),
            ("a byte of the records of unit 1",
             lambda: flip(home / "got.o.resume.parts", unit * 64 + LINE_MAX + 3), unit, "some"),
            ("the records", lambda: os.truncate(home / "got.o.resume.parts", 100), unit, "none"),
            ("the size of units", lambda: None, 2 * unit, "none")]:
        done = mpi(kind, 1, *words, "--unit", str(unit), "lines.epf", "lines.json", die="unit:3")
        if not done.returncode:
            return "nothing was killed"
        spoil()
        told = json.loads(right(mpi(kind, 2, *words, "--unit", str(again), "--resume", "lines.epf", "lines.json")))
        resumed, keys = told["work"]["resumed_at"], told["keys"]
        fault = lines_differ("json")
        if fault or want != ("all" if resumed == keys else "some" if resumed else "none"):
            return f"{what}: {fault}, resumed {resumed} of {keys}"
    return None


def lines_report(kind):
    """of one file of lines the report is that of epfctl, too; a bad line has its number, and units before it stay"""
    expected_lines()
    words = ["-j", "audit", *LINE_FORMATS["json"], "-b", "got.b"]
    told = json.loads(right(mpi(kind, 2, *words, "--skip-bad", "--unit", "40", "lines.epf", "lines.json")))
    want = json.loads(epf(*words, "--no-agent", "--skip-bad", "lines.epf", "lines.json"))
    for report in told, want:
        report.pop("work")
        report["asked"].pop("why")
    if told != want:
        return f"{told}\n{want}"
    (home / "bad.json").write_text('{"key": "a"}\n' * 999 + "[\n" + '{"key": "a"}\n' * 999)
    said = [done.stderr for done in (
        mpi(kind, 2, *words[1:], "--unit", "8", "lines.epf", "bad.json"),
        subprocess.run([BUILD / "user/epfctl", *words[1:], "--no-agent", "lines.epf", "bad.json"],
                       cwd=home, capture_output=True, text=True))]
    left = sorted(home.glob("got.*"))
    for path in left:
        path.unlink()
    return None if all("bad.json: line 1000: not JSON" in text for text in said) and \
        home / "got.b.resume.marks" in left else f"{said}, left: {left}"


def lines_across(kind):
    """CSV whose quoted fields have ends of lines is one unit"""
    expected_lines()
    (home / "across").write_text('"k3\n",x\n' * 500 + "k3,x\n" * 500)
    words = ["audit", "-F", "csv", "--multiline", "--fields", "1", "-a"]
    epf(*words, "across.a", "-b", "across.b", "--no-agent", "lines.epf", "across")
    right(mpi(kind, 2, *words, "got.a", "-b", "got.b", "--unit", "8", "lines.epf", "across"))
    return differ(("got.a", "across.a"), ("got.b", "across.b"))


def reports(kind):
    """the report is that of epfctl, but for the work"""
    expected()
    words = ["-j", "audit", *COLUMN, "-b", "got.b", "snap", "digests"]
    told = json.loads(right(mpi(kind, 2, *words)))
    want = json.loads(epf("-j", "audit", "--no-agent", *COLUMN, "-b", "got.b", "snap", "digests"))
    for report in told, want:
        report.pop("work")
        report["asked"].pop("why")
    return None if told == want else f"{told}\n{want}"


def resumes(kind):
    """a rank that dies, taking a unit or half-way through a write: --resume answers the rest"""
    expected()
    words = ["-j", "audit", *COLUMN, "-b", "got.b", "-a", "got.a"]
    for die, copy in ("unit:2", "own"), ("write:4", "shared"):
        done = mpi(kind, 2, *words, "--copy", copy, "snap", "digests", die=die)
        if not done.returncode:
            return f"{die}: nothing was killed"
        refused = mpi(kind, 2, *words, "snap", "digests")
        if not refused.returncode or "interrupted audit: repeat the command with --resume" not in refused.stderr:
            return f"{die}, without --resume: {refused.stderr}"
        right(mpi(kind, 3, *words, "--resume", "snap", "digests"))
        fault = differ(("got.b", "want.b"), ("got.a", "want.a"))
        if fault:
            return f"{die}: {fault}"
    return None


def last_first(kind):
    """Leave all units answered but the last. Return the names of the unfinished files."""
    for name in home.glob("got.*"):
        name.unlink()
    done = mpi(kind, 1, "audit", *COLUMN, "-b", "got.b", "-a", "got.a", "snap", "digests",
               die=f"unit:{UNITS}")
    if not done.returncode:
        raise AssertionError("nothing was killed")
    return {what: home / f"got.{what}" for what in
            ("b.partial", "a.partial", "b.resume", "b.resume.marks")}


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def damage(kind):
    """damaged answers and marks are found, and their units repeated, no others"""
    expected()
    answered = (UNITS - 1) * UNIT
    for what, spoil, lost in [
            ("nothing", lambda f: None, 0),
            ("a bit of unit 2", lambda f: flip(f["b.partial"], 2 * UNIT // 8 + 5), 1),
            ("an age of unit 3", lambda f: flip(f["a.partial"], 3 * UNIT + 5), 1),
            ("the mark of unit 4", lambda f: flip(f["b.resume.marks"], 4 * MARK + KEYLESS), 1),
            ("the end of the ages", lambda f: os.truncate(f["a.partial"], answered - 1), 1),
            ("all marks", lambda f: f["b.resume.marks"].write_bytes(b""), UNITS - 1)]:
        spoil(last_first(kind))
        told = json.loads(right(mpi(kind, 2, "-j", "audit", *COLUMN, "-b", "got.b", "-a", "got.a",
                                    "--resume", "snap", "digests")))
        fault = differ(("got.b", "want.b"), ("got.a", "want.a"))
        if fault or told["work"]["resumed_at"] != answered - lost * UNIT:
            return f"{what}: {fault}, resumed {told['work']['resumed_at']} of {answered}"
    return None


def others(kind):
    """--resume refuses what belongs to another audit"""
    expected()
    files = last_first(kind)
    done = mpi(kind, 1, "audit", *COLUMN, "-b", "got.b", "-a", "got.a", "--resume", "snap.frame", "digests")
    for path in files.values():
        path.unlink()
    return None if done.returncode and "another snapshot" in done.stderr else done.stderr


def torn(kind):
    """keys that another program truncates meanwhile: an error, and no answers under their name"""
    expected()
    expected_lines()
    for words, keys in [(COLUMN, "digests"), ([*LINE_FORMATS["csv"], "--skip-bad"], "lines.csv")]:
        whole = (home / keys).read_bytes()
        done = mpi(kind, 1, "audit", *words, "--any-keys", "--unit", "64", "-b", "got.b", "lines.epf", keys, torn=keys)
        (home / keys).write_bytes(whole)
        left = sorted(p.name for p in home.glob("got.b*"))
        for name in left:
            (home / name).unlink()
        if not done.returncode or "got.b" in left or f"{keys}: truncated" not in done.stderr:
            return f"{keys}: exit {done.returncode}, {left}, {done.stderr}"
    return None


def merges(kind):
    """snapshots of seven hosts, in chunks, by 1 to 8 ranks"""
    names = [f"host{i}" for i in range(7)]
    for i, name in enumerate(names):
        subprocess.run([BUILD / "selftests/cli/mkhost", home / name, f"id={i + 1}", "lines=40000",
                        "keys=900", f"epoch={1000 + 37 * i}", f"ago={1100 * i}"], check=True)
    want = json.loads(epf("-j", "merge", "-o", "want", *names))
    want.pop("file")
    for ranks in 1, 2, 8:
        told = json.loads(right(mpi(kind, ranks, "-j", "merge", "-o", "got", *names)))
        told.pop("file")
        if differ(("got", "want")) or told != want:
            return f"{ranks} ranks: {differ(('got', 'want'))}\n{told}\n{want}"
        (home / "got").unlink()
    return None


def elsewhere(kind):
    """a rank that sees another file under a name says so, and nothing is written"""
    expected()
    there = home / "there"
    there.mkdir(exist_ok=True)
    (there / "digests").write_bytes((home / "digests").read_bytes()[:-8])
    shutil.copy(home / "digests", there / "more")
    shutil.copy(home / "digests", home / "more")
    moved = 'case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 1) cd there;; esac; exec "$@"'
    done = subprocess.run(
        [f"mpirun.{kind}", "-n", "2", "sh", "-c", moved, "-", program(kind), "audit", *COLUMN, "-b",
         home / "x", "-b", home / "y", home / "snap", "digests", "more"],
        cwd=home, env=ENV, capture_output=True, text=True, timeout=300)
    return None if done.returncode and "rank 1: digests has 800016 bytes here and 800024 in rank 0" in \
        done.stderr and not (home / "x").exists() else f"{done}"


def refuses(kind):
    """what is wrong is said once, in one line, and nothing is left"""
    expected()
    shutil.copy(home / "host0", home / "short")
    os.truncate(home / "short", 5000)
    (home / "bad").write_text("[\n" * 999)
    (home / "theirs.partial").write_text("theirs")
    before = sorted(home.iterdir())
    for words, said in [
            (["audit", *COLUMN, "snap", "digests"], "needs a --bitmap FILE"),
            (["audit", *COLUMN, "-b", "x", "snap", "none"], "none: No such file"),
            (["audit", *COLUMN, "-b", "x", "short", "digests"], "short "),
            (["audit", "--digests", "-F", "column", "--unit", "12", "-b", "x", "snap", "digests"], "multiple of 8"),
            (["audit", *COLUMN, "-b", "x", "--probe", "9", "snap", "digests"], "use epfctl"),
            (["audit", *FORMATS["csv"], "-b", "x", "-o", "-", "snap", "keys.csv"], "need a regular file"),
            (["audit", "--digests", "-b", "x", "-a", "y", "snap", "digests"], "digests: "),
            (["audit", "-F", "json", "-b", "x", "-a", "y", "-o", "z", "--unit", "8", "host0", "bad"], "bad: line 1: not JSON"),
            (["audit", *COLUMN, "-b", "x", "-a", "theirs", "snap", "digests"], "theirs.partial exists"),
            (["create", "x"], "does not run under MPI"),
            (["merge", "-o", "x", "host0", "host0"], "same snapshot"),
            (["merge", "-o", "x", "host0", "host1", "short"], "short "),
            (["merge", "-o", "none/x", "host0", "host1"], "none/x")]:
        done = mpi(kind, 1 if "bad" in words else 3, *words)
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        if not done.returncode or len(lines) != 1 or said not in lines[0]:
            return f"{words}: exit {done.returncode}, {lines}, {done.stderr}"
    left = sorted(set(home.iterdir()) - set(before))
    (home / "theirs.partial").unlink()
    return f"left: {left}" if left else None


def main():
    if not KINDS:
        tap.skip_all("no MPI is installed: scripts/deps.sh test")
    cases = [(f"{kind}: {case.__doc__.splitlines()[0]}", functools.partial(case, kind))
             for kind in KINDS
             for case in (columns, copies, chosen, merges, resumes, damage, records, lines, lines_die, lines_damage,
                          lines_report, lines_across, reports, others, torn, elsewhere, refuses, names)
             if kind == KINDS[0] or case in (columns, copies, merges) or os.environ.get("EPF_THOROUGH")]
    try:
        tap.main(tap.chosen(cases))
    finally:
        shutil.rmtree(home)


main()
