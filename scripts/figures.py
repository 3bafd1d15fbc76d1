#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the tables of figures in README and docs with docs/figures.toml, which says of each figure where
it is from: a number of a table that the file lacks, or has otherwise, is a fault, and so is a table of numbers
that the file lacks.

usage: figures.py [TOP]: print the faults of the tree TOP, one a line
"""

import glob
import re
import sys
import tomllib

SOURCE = ("unit", "plan", "error", "command", "machine", "date")
KEPT = ("file", "command", "machine", "date")
NUMBER = re.compile(r"(?<![A-Za-z0-9])(?:\d(?:[\d,]*\d)?(?:\.\d+)*|\.\d+)(?:[e^]-?\d+)?")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read(path):
    """The tables of a document: each head, and its rows as lists of cells."""
    tables, head = {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("|"):
                head = None
            elif head is None:
                head = tuple(cells(line))
                tables[head] = []
            elif not set(line) <= set("|-: \n"):
                tables[head].append(cells(line))
    return tables


def numbers(table):
    """The rows with numbers, as in figures.toml: the first cell, and the numbers of all others."""
    found = (f"{first} | {' '.join(NUMBER.findall(' | '.join(others)))}".strip() for first, *others in table)
    return [row for row in found if not row.endswith("|")]


def is_figures(table):
    """Do most cells begin with a number?"""
    found = [bool(re.match(r"\W*\d", cell)) for _, *others in table for cell in others]
    return 2 * sum(found) > len(found)


def filled(tables):
    """Each table with what it takes from the one above, of the same file."""
    above = {}
    for table in tables:
        if "file" not in table:
            table = {key: above[key] for key in KEPT if key in above} | table
        yield table
        above = table


def faults(table, found):
    missing = [key for key in SOURCE if not table.get(key)]
    if missing:
        yield f"has no {', '.join(missing)} in figures.toml"
    if found is None:
        yield "is not there"
        return
    found, wanted = numbers(found), table["rows"].splitlines()
    if len(found) != len(wanted):
        yield f"has {len(found)} rows, figures.toml {len(wanted)}"
    for got, want in zip(found, wanted):
        if got != want:
            yield f"row '{got}'; figures.toml: '{want}'"


def main(top="."):
    with open(f"{top}/docs/figures.toml", "rb") as f:
        data = tomllib.load(f)
    paths = ("README.md", *sorted(glob.glob("docs/**/*.md", root_dir=top, recursive=True)))
    documents = {path: read(f"{top}/{path}") for path in paths}
    for table in filled(data["table"]):
        for fault in faults(table, documents[table["file"]].pop(tuple(cells(table["head"])), None)):
            print(f"{table['file']}: table '{table['head'][:40]}' {fault}")
    for path, head in data["others"]:
        documents[path].pop(tuple(cells(head)), None)
    for path, tables in documents.items():
        for head, table in tables.items():
            if is_figures(table):
                print(f"{path}: table '| {' | '.join(head)[:38]}' is not in figures.toml")


if __name__ == "__main__":
    main(*sys.argv[1:])
