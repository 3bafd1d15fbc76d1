#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the tables of figures in README and docs with docs/figures.toml, which says of each figure where
it is from: a number of a table that the file lacks, or has otherwise, is a fault.

usage: figures.py [TOP]: print the faults of the tree TOP, one a line
"""

import re
import sys
import tomllib

SOURCE = ("unit", "plan", "error", "command", "machine", "date")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?|\.\d+(?:e-?\d+)?")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def numbers(line):
    """The first cell, and the numbers of all others."""
    first, *others = cells(line)
    return [first, *NUMBER.findall(" | ".join(others))]


def rows(lines, head):
    """The rows of the table below a head, or None."""
    at = next((i for i, line in enumerate(lines) if line.startswith("|") and cells(line) == cells(head)), None)
    if at is None:
        return None
    found = []
    for line in lines[at + 2:]:
        if not line.startswith("|"):
            break
        found.append(numbers(line))
    return found


def faults(table, top):
    name = f"{table['file']}: table '{table['head'][:40]}'"
    missing = [key for key in SOURCE if not table.get(key)]
    if missing:
        yield f"{name} has no {', '.join(missing)} in figures.toml"
    with open(f"{top}/{table['file']}", encoding="utf-8") as f:
        found = rows(f.read().splitlines(), table["head"])
    if found is None:
        yield f"{name} is not there"
        return
    if len(found) != len(table["rows"]):
        yield f"{name} has {len(found)} rows, figures.toml {len(table['rows'])}"
    for got, want in zip(found, table["rows"]):
        if got != want:
            yield f"{name}, row '{got[0]}': {' '.join(got[1:])}; figures.toml: {' '.join(want)}"


def main(top="."):
    with open(f"{top}/docs/figures.toml", "rb") as f:
        tables = tomllib.load(f)["table"]
    for table in tables:
        for fault in faults(table, top):
            print(fault)


if __name__ == "__main__":
    main(*sys.argv[1:])
