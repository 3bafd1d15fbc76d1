#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The recipes for Fedora and Arch name what debian/control names, under the names that it has
there: nobody has built on Fedora or Arch, where a library that is not named would be a feature
that is missing without a word.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "selftests" / "dedup"))

import tap

# Debian's own, and what people have otherwise there: an MPI, Arch's base-devel.
OWN = {"debhelper-compat": (None, None), "dh-python": (None, None), "dh-sequence-dkms": (None, None),
       "mpi-default-dev": (None, None), "pkg-config": ("pkgconf", None), "python3": ("python3", None)}
ROWS = [line.split() for line in (TOP / "scripts/packages").read_text().splitlines() if line[:1] != "#"]
NAMES = {row[0]: (row[1], row[2]) for row in ROWS} | OWN


def debian(text):
    """The packages of Build-Depends."""
    listed = re.search(r"^Build-Depends:\n((?: .*\n)+)", text, re.M)[1]
    return [re.match(r"[a-z0-9.+-]+", part.strip())[0] for part in listed.split(",") if part.strip()]


def fedora(text):
    return set(" ".join(re.findall(r"^BuildRequires: (.*)$", text, re.M)).split())


def arch(text):
    """What makepkg asks for, and what is asked for where it is installed."""
    return set(re.search(r"^makedepends=\(([^)]*)\)", text, re.M)[1].split()) | \
        set(" ".join(re.findall(r"depends\+=\(([^)]*)\)", text)).split())


def read(name):
    return (TOP / name).read_text()


def misses(control, spec, pkgbuild):
    """What a recipe does not name, and what this table does not know."""
    named, faults = (fedora(spec), arch(pkgbuild)), []
    for package in debian(control):
        if package not in NAMES:
            faults.append(f"{package}: its names on Fedora and Arch are not in the table")
            continue
        faults += [f"{package}: {where} does not name {name}" for where, name, all_ in
                   zip(("the spec", "PKGBUILD"), NAMES[package], named) if name and name not in all_]
    return faults


SOURCES = ("debian/control", "packaging/epochfilter.spec.in", "packaging/PKGBUILD.in")


def named():
    return "\n".join(misses(*map(read, SOURCES))) or None


def noticed():
    """A library that is taken out of a recipe, or added to Debian's list alone, is noticed."""
    control, spec, pkgbuild = map(read, SOURCES)
    broken = [(control, spec.replace(" isa-l-devel", ""), pkgbuild),
              (control, spec.replace("pkgconfig(libnats)", "none"), pkgbuild),
              (control, spec, pkgbuild.replace(" isa-l jansson", " jansson").replace("cnats isa-l", "cnats")),
              (control, spec, pkgbuild.replace("cnats isa-l)", "isa-l)")),
              (control.replace(" libcsv-dev,", " libcsv-dev,\n libnew-dev,"), spec, pkgbuild)]
    return "\n".join(f"edit {i} is not noticed" for i, texts in enumerate(broken)
                     if len(misses(*texts)) != 1) or None


if __name__ == "__main__":
    tap.main([("the recipes name what debian/control names", named), (noticed.__doc__, noticed)])
