#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the tables of figures in README and docs from docs/figures.toml, which records where each figure is from.
A table is found by its head. {name} in its rows is a value that stands in several places.

usage: figures.py [--write] [TOP]: without --write print the tables of the tree TOP that would change. In any
case print the other faults: tables that are not there or have no source, tables of numbers that figures.toml lacks,
and sentences that do not quote figures as figures.toml has them
"""

import glob
import itertools
import re
import sys
import tomllib

SOURCE = ("unit", "plan", "error", "command", "machine", "date")
KEPT = ("file", "command", "machine", "date")
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)


def is_figures(table):
    """Do most cells behind the first column begin with a number?"""
    cells = [cell for row in table.splitlines()[2:] for cell in row.strip("|").split("|")[1:]]
    return 2 * sum(bool(re.match(r"\W*\d", cell)) for cell in cells) > len(cells)


def filled(tables):
    """Each table with what it takes from the one above, of the same file."""
    above = {}
    for table in tables:
        if "file" not in table:
            table = {key: above[key] for key in KEPT if key in above} | table
        yield table
        above = table


def main(*args):
    write = "--write" in args
    top = [arg for arg in args if arg != "--write"] or ["."]
    with open(f"{top[0]}/docs/figures.toml", "rb") as f:
        data = tomllib.load(f)
    wanted = {(path, head): None for path, head in data["others"]}

    def valued(text):
        return re.sub(r"\{(\w+)\}", lambda name: data["values"][name[1]], text)

    def fault(path, head, text):
        print(f"{path}: table '{head[:40]}' {text}")

    for table in filled(data["table"]):
        path, head = table["file"], table["head"]
        wanted[path, head] = f"{head}\n|{'---|' * (head.count('|') - 1)}\n{valued(table['rows'])}"
        missing = [key for key in SOURCE if not table.get(key)]
        if missing:
            fault(path, head, f"has no {', '.join(missing)} in figures.toml")
    for path in ("README.md", *sorted(glob.glob("docs/**/*.md", root_dir=top[0], recursive=True))):
        def table_of(found):
            found, key = found[0], (path, found[0].split("\n")[0])
            if key not in wanted and is_figures(found):
                fault(*key, "is not in figures.toml")
            table = wanted.pop(key, None) or found
            if table != found and not write:
                rows = itertools.zip_longest(table.splitlines(), found.splitlines(), fillvalue="no row")
                fault(*key, "would be written as '%s', and has '%s'" % next(row for row in rows if row[0] != row[1]))
            return table

        with open(f"{top[0]}/{path}", encoding="utf-8") as f:
            text = f.read()
        for quote in (valued(quote) for of, quote in data["quotes"] if of == path):
            if quote not in " ".join(text.split()):
                print(f"{path}: by figures.toml it has '{quote}'")
        after = TABLE.sub(table_of, text)
        if write and after != text:
            with open(f"{top[0]}/{path}", "w", encoding="utf-8") as f:
                f.write(after)
    for key in wanted:
        fault(*key, "of figures.toml is not there")


if __name__ == "__main__":
    main(*sys.argv[1:])
