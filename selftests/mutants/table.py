#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The tables of mutants, selftests/mutants/*.table: read, checked, listed, applied.

usage: table.py rows GROUP       the rows of a group, for run
       table.py list [PATTERN]   what is broken, where, and which test must fail
       table.py check            does each edit still change its file? (make style)
       table.py apply ID FILE    the edit of one mutant, made in FILE
       table.py files GROUP      NAME:FILE of each mutant that EPF_THOROUGH has tried
       table.py merge GROUP DIR  all edits of a group, one after another, each file in DIR

EPF_MUTANTS names another folder with tables. A table is stanzas of "key: value" lines, with an empty line between them. A value is
literal to the end of its line, so an edit needs no quoting. A stanza begins with

  group   defaults for the stanzas below it; the value names the script that runs them. Where
          the group above has the same name, its values hold on unless there are others
  whole   the same without a mutation (or with a harmless edit): the test must pass
  mutant  one mutation: the test must fail. The value is "ID: what is broken, one sentence".
          The id is unique, SUITE/NAME

"thorough whole" and "thorough mutant" are tried with EPF_THOROUGH only. It continues with

  file      the files that are edited, paths in the tree; also for the stanzas that follow in
            the group, up to the next one that names a file
  edit      a sed script
  build     the builder and its arguments: function build_NAME in build_SUITE.sh; or
            "makefile": the Makefile of the suite has it, and the script tries it itself
  tree      what the builder needs a copy of; the edits are made in the copy
  test      the program that must fail, as "make check T=" has it, and its arguments
  case      a further argument, with blanks; may be repeated
  claim     an extended regular expression: a line that the test prints when it fails
            (^not ok); or "crash": it is killed by SIGSEGV or SIGBUS
  needs     what it takes, each word a function need_WORD in lib.sh or build_SUITE.sh;
            those of a mutant are added to those of its group
"""

import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TABLES = os.environ.get("EPF_MUTANTS", HERE)
STARTS = ("group", "whole", "mutant", "thorough whole", "thorough mutant")
KEYS = ("file", "edit", "build", "tree", "test", "case", "claim", "needs")
ROW = ("kind", "id", "what", "thorough", "file", "edit", "build", "tree", "test", "case",
       "claim", "needs")


class Wrong(Exception):
    """An invalid table, with the place of the error."""


def stanzas(path):
    """Yield (place, [(key, value)]) for each stanza."""
    now, place = [], None
    with open(path, encoding="utf-8") as file:
        for nr, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("#"):
                continue
            if not line:
                if now:
                    yield place, now
                now = []
                continue
            key, colon, value = line.partition(": ")
            if not colon or key not in STARTS + KEYS:
                raise Wrong(f"{path}:{nr}: no 'key: value': {line}")
            if (key in STARTS) == bool(now):
                raise Wrong(f"{path}:{nr}: a stanza begins with one of {', '.join(STARTS)}")
            if not now:
                place = f"{path}:{nr}"
            now.append((key, value))
    if now:
        yield place, now


def row_of(place, lines, group):
    """Return the row of a stanza: its own values, else those of its group."""
    row = dict(group)
    thorough, _, kind = lines[0][0].rpartition(" ")
    ident, _, what = lines[0][1].partition(": ")
    row.update(kind=kind, id=ident, place=place)
    own = {}
    if what:
        own["what"] = what
    if thorough:
        own["thorough"] = "yes"
    for key, value in lines[1:]:
        if key == "case":
            own.setdefault(key, []).append(value)
        elif key in own:
            raise Wrong(f"{place}: {key} twice")
        else:
            own[key] = value
    if "needs" in own and "needs" in group and row["kind"] != "group":
        own["needs"] = group["needs"] + " " + own["needs"]
    row.update(own)
    if row["kind"] == "whole":
        row.setdefault("what", "Built likewise, without a mutation, it passes.")
    return row


def read():
    """Return all rows of all tables, in order."""
    rows = []
    for path in sorted(glob.glob(os.path.join(TABLES, "*.table"))):
        group = None
        for place, lines in stanzas(path):
            if lines[0][0] == "group":
                again = group and group["group"] == lines[0][1]
                group = row_of(place, lines, group if again else {})
                group["group"] = lines[0][1]
            elif group is None:
                raise Wrong(f"{place}: no group yet")
            else:
                rows.append(row_of(place, lines, group))
                if "file" in rows[-1]:
                    group["file"] = rows[-1]["file"]
    return rows


def sed(edit, path):
    """Return the text of a file and the result of the edit; an error of sed is a Wrong."""
    with open(path, "rb") as file:
        text = file.read()
    done = subprocess.run(["sed", edit], input=text, capture_output=True, check=False)
    if done.returncode:
        raise Wrong(done.stderr.decode().strip())
    return text, done.stdout


# ---- check

def named(pattern, *folders):
    """Is there a shell function of that name?"""
    return any(re.search(rf"^{pattern}\(\)", open(path, encoding="utf-8").read(), re.M)
               for folder in folders for path in glob.glob(folder))


def program_is_there(test):
    name = test.split()[0]
    return glob.glob(os.path.join(TOP, "selftests", name + ".*")) or \
        os.path.exists(os.path.join(TOP, name))


def faults_of_names(row):
    suite = row["group"].split("/")[0]
    shell = [f"{HERE}/lib.sh", f"{HERE}/build_{suite}.sh"]
    for key in ("what", "build", "test") + (("file",) if row["kind"] == "mutant" else ()):
        if not row.get(key):
            yield f"no {key}"
    if not row.get("file") and not row.get("tree"):
        yield "nothing to copy: no file, no tree"
    if row["kind"] == "mutant" and not row.get("edit") and "-D" not in row.get("build", ""):
        yield "no edit, nor a -D for the builder"
    if row["kind"] == "mutant" and not re.fullmatch(rf"{suite}/[a-z0-9][a-z0-9_.-]*", row["id"]):
        yield f"the id is not {suite}/NAME"
    if not os.path.exists(f"{TOP}/selftests/{row['group']}.sh"):
        yield f"no script selftests/{row['group']}.sh"
    if row.get("test") and not program_is_there(row["test"]):
        yield f"no test {row['test'].split()[0]} in selftests/"
    if row.get("build") not in (None, "makefile") and not named("build_" + row["build"].split()[0], *shell):
        yield f"no function build_{row['build'].split()[0]}"
    for need in row.get("needs", "").split():
        if not named("need_" + need.split("=")[0], *shell):
            yield f"no function need_{need.split('=')[0]}"


def faults_of_edit(row):
    for name in row.get("file", "").split() if row.get("edit") else ():
        path = os.path.join(TOP, name)
        if not os.path.exists(path):
            yield f"no file {name}"
            continue
        try:
            before, after = sed(row["edit"], path)
        except Wrong as why:
            yield f"{name}: {why}: {row['edit']}"
            continue
        if before == after:
            yield f"the edit changes nothing in {name}: {row['edit']}"


def check():
    rows = read()
    nr, seen = 0, {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        edits = list(pool.map(lambda row: list(faults_of_edit(row)), rows))
    for row, of_edit in zip(rows, edits):
        faults = list(faults_of_names(row)) + of_edit
        if row["id"] in seen:
            faults.append(f"the id is also at {seen[row['id']]}")
        seen[row["id"]] = row["place"]
        for fault in faults:
            nr += 1
            print(f"{os.path.relpath(row['place'], TOP)}: {row['id']}: {fault}")
    if not any(row["kind"] == "mutant" for row in rows):
        print(f"{TABLES}: no mutants")
        nr += 1
    return nr


# ---- the other commands

def rows_of(group):
    rows = [row for row in read() if row["group"] == group]
    for row in rows:
        values = [row.get(key, "") for key in ROW]
        print("\x1f".join("\x1e".join(v) if isinstance(v, list) else v for v in values))
    if not rows:
        raise Wrong(f"no group '{group}' in {TABLES}/*.table")


def show(pattern="*"):
    rows = [row for row in read() if fnmatch.fnmatch(row["id"], pattern)]
    for row in rows:
        if row["kind"] != "mutant":
            continue
        thorough = " (with EPF_THOROUGH)" if row.get("thorough") else ""
        case = "".join(f" '{c}'" for c in row.get("case", []))
        print(f"{row['id']}: {row['what']}\n"
              f"\t{row['file']}: {row.get('edit') or 'built by ' + row['build']}\n"
              f"\tmust fail: {row['test']}{case}{thorough}; run by {row['group']}")
    groups = {}
    for row in rows:
        if row["kind"] == "mutant":
            of = groups.setdefault(row["group"], [0, 0])
            of[0] += not row.get("thorough")
            of[1] += 1
    print(f"\n{'group':26} {'check':>6} {'thorough':>9}")
    for group, (plain, all_of_it) in sorted(groups.items()):
        print(f"{group:26} {plain:6} {all_of_it:9}")
    print(f"{'all':26} {sum(g[0] for g in groups.values()):6} "
          f"{sum(g[1] for g in groups.values()):9}")
    explore(pattern)


def explore(pattern):
    """The explorer's variants are named in its own program."""
    if not fnmatch.fnmatch("explore/", pattern):
        return
    program = os.path.join(os.environ.get("BUILD", os.path.join(TOP, "build")),
                           "selftests/explore/explore")
    print("\nvariants of the explorer, in selftests/explore/cases.c:")
    if os.path.exists(program):
        text = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
        print(text.stdout.rpartition("\n\n")[2], end="")
    else:
        print("  make -C selftests/explore, for explore --list")


def edit_in_place(row, path):
    before, after = sed(row["edit"], path)
    if before == after:
        raise Wrong(f"{row['id']}: the edit changes nothing in {path}: {row['edit']}")
    with open(path, "wb") as file:
        file.write(after)


def apply(ident, path):
    for row in read():
        if row["id"] == ident:
            return edit_in_place(row, path)
    raise Wrong(f"no mutant '{ident}'")


def files(group):
    for row in read():
        if row["group"] == group and (os.environ.get("EPF_THOROUGH") or not row.get("thorough")):
            print(f"{row['id'].split('/')[1]}:{row['file']}")


def merge(group, folder):
    rows = [row for row in read() if row["group"] == group and row.get("edit")]
    for name in {name for row in rows for name in row["file"].split()}:
        path = os.path.join(folder, os.path.basename(name))
        shutil.copyfile(os.path.join(TOP, name), path)
        for row in rows:
            if name in row["file"].split():
                edit_in_place(row, path)


def main():
    commands = {"rows": rows_of, "list": show, "check": check, "apply": apply,
                "files": files, "merge": merge}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    try:
        sys.exit(1 if commands[sys.argv[1]](*sys.argv[2:]) else 0)
    except (Wrong, OSError) as why:
        sys.exit(f"table.py: {why}")


main()
