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
KEPT = ("file", "command", "machine", "date")
NUMBER = re.compile(r"(?<![A-Za-z0-9])(?:\d(?:[\d,]*\d)?(?:\.\d+)*|\.\d+)(?:[e^]-?\d+)?")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def numbers(line):
    """The first cell, and the numbers of all others, as a row of figures.toml."""
    first, *others = cells(line)
    return f"{first} | {' '.join(NUMBER.findall(' | '.join(others)))}".strip()


def rows(lines, head):
    """The rows with numbers of the table below a head, or None."""
    at = next((i for i, line in enumerate(lines) if line.startswith("|") and cells(line) == cells(head)), None)
    if at is None:
        return None
    found = []
    for line in lines[at + 2:]:
        if not line.startswith("|"):
            break
        found.append(numbers(line))
    return [row for row in found if not row.endswith("|")]


def filled(tables):
    """Each table with what it takes from the one above, of the same file."""
    above = {}
    for table in tables:
        if "file" not in table:
            table = {key: above[key] for key in KEPT if key in above} | table
        yield table
        above = table


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
    wanted = table["rows"].splitlines()
    if len(found) != len(wanted):
        yield f"{name} has {len(found)} rows, figures.toml {len(wanted)}"
    for got, want in zip(found, wanted):
        if got != want:
            yield f"{name}, row '{got}'; figures.toml: '{want}'"


def main(top="."):
    with open(f"{top}/docs/figures.toml", "rb") as f:
        tables = tomllib.load(f)["table"]
    for table in filled(tables):
        for fault in faults(table, top):
            print(fault)


if __name__ == "__main__":
    main(*sys.argv[1:])
