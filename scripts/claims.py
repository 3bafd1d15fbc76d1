#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check docs/CLAIMS.md: every claim names a test that exists; and selftests/limits: so does every limit.

usage: claims.py [--list] [LEDGER]

In a table whose header begins with "claim", each row has the claim, the tests that show it,
and the change that makes them fail. Tests are names in backquotes as "make check T=" takes
them; a name without its suite, or with a "*", counts if it matches a test; "make TARGET"
counts too. "make check" runs every test that selftests/tests.sh lists; a program that
cannot run is a failure, or a skip with a reason.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent


def rows(text):
    """Yield (line number, claim, tests, mutants) for each row of the ledger."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
            continue
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[0].lower() in ("claim", "what is claimed"):
            inside = True
        elif inside and not set(line) <= set("|-: "):
            yield number, *(cells + ["", ""])[:3]


def names(cell):
    """Return the quoted words that may name a test."""
    for quoted in re.findall(r"`([^`]+)`", cell):
        if quoted.startswith("make "):
            yield " ".join(quoted.split()[:2])
            continue
        word = quoted.split()[0].removeprefix("selftests/")
        yield re.sub(r"\.(sh|py|c)$", "", word).rstrip("/")


def targets():
    """Return "make TARGET" for each target of the front door."""
    front = (TOP / "Makefile").read_text(encoding="utf-8")
    return {f"make {t}" for t in re.findall(r"^([a-z-]+):", front, re.M)}


def listing():
    """Return what selftests/tests.sh prints, or the file EPF_TESTS that has it: making the list takes
    more than all else here."""
    if os.environ.get("EPF_TESTS"):
        return pathlib.Path(os.environ["EPF_TESTS"]).read_text(encoding="utf-8")
    return subprocess.run([TOP / "selftests" / "tests.sh"], check=True, capture_output=True, text=True).stdout


def known(name, tests):
    """Tell whether a suite, a test, a pattern that matches a test, or a target has that
    name."""
    return name in tests or any(fnmatch.fnmatch(test, name) or fnmatch.fnmatch(test, f"*/{name}") or
               test.startswith(f"{name}/") for test in tests)


LIMIT = re.compile(r"^#[ \t]*define[ \t]+((?:\w+_)?(?:MAX|MIN)(?:_\w+)?)\b(?!\()|^\t(\w+_MAX) =", re.M)


def limits(tests):
    """Yield what is wrong with selftests/limits."""
    table = pathlib.Path(os.environ.get("EPF_LIMITS", TOP / "selftests" / "limits"))
    rows = dict(line.split(maxsplit=1) for line in table.read_text(encoding="utf-8").splitlines()
                if line and line[0] != "#")
    used = set()
    for file in sorted(f for folder in ("include", "kmod", "bpf", "user") for f in (TOP / folder).rglob("*.[ch]")):
        if "selftest" in file.parts:
            continue
        for found in LIMIT.finditer(file.read_text(encoding="utf-8")):
            name, where = found[1] or found[2], file.relative_to(TOP)
            row = next((r for r in (f"{where}:{name}", name) if r in rows), None)
            used.add(row)
            if not row:
                yield f"{where}: {name}: no row in selftests/limits says which test has its exact value"
    for row, test in rows.items():
        if row not in used:
            yield f"selftests/limits: {row}: there is no such limit"
        elif test not in tests and not test.startswith("- "):
            yield f"selftests/limits: {row}: there is no test {test}"


def main():
    args = [a for a in sys.argv[1:] if a != "--list"]
    ledger = pathlib.Path(args[0]) if args else TOP / "docs" / "CLAIMS.md"
    listed = listing()
    tests = {line.split()[0] for line in listed.splitlines()} | targets()
    claims = without = 0
    for number, claim, shown, _ in rows(ledger.read_text(encoding="utf-8")):
        claims += 1
        found = [n for n in names(shown) if known(n, tests)]
        if "--list" in sys.argv:
            print(f"{', '.join(found) or '-':40} {claim}")
        if not found:
            without += 1
            print(f"claims: {ledger.name}:{number}: no test that exists: {claim[:80]}")
    faults = [] if args else list(limits(tests))
    for fault in faults:
        print(f"claims: {fault}")
    print(f"claims: {claims} claims, {without} without a test")
    return 1 if without or faults or not claims else 0


if __name__ == "__main__":
    sys.exit(main())
