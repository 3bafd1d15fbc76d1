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

# Debian's package: that of Fedora, that of Arch. None: it is another package's there, or Debian's own.
NAMES = {
    "clang": ("clang", "clang"),
    "debhelper-compat": (None, None),
    "dh-python": (None, None),
    "dh-sequence-dkms": (None, None),
    "libbpf-dev": ("libbpf-devel", "libbpf"),
    "libcsv-dev": ("libcsv-devel", "libcsv"),
    "libfixbuf-dev": ("libfixbuf-devel", "libfixbuf"),
    "libinih-dev": ("inih-devel", "libinih"),
    "libisal-dev": ("isa-l-devel", "isa-l"),
    "libjansson-dev": ("jansson-devel", "jansson"),
    "liblzma-dev": ("xz-devel", "xz"),
    "libmicrohttpd-dev": ("libmicrohttpd-devel", "libmicrohttpd"),
    "libnats-dev": ("pkgconfig(libnats)", "cnats"),
    "libncurses-dev": ("ncurses-devel", "ncurses"),
    "libpcap-dev": ("libpcap-devel", "libpcap"),
    "libsystemd-dev": ("systemd-devel", "systemd"),
    "libwireshark-dev": ("wireshark-devel", "wireshark-cli"),
    "libxdp-dev": ("libxdp-devel", "libxdp"),
    "libxtables-dev": ("iptables-devel", "iptables"),
    "libxxhash-dev": ("xxhash-devel", "xxhash"),
    "libzstd-dev": ("libzstd-devel", "zstd"),
    "llvm": ("llvm", "llvm"),
    "mpi-default-dev": (None, None),  # people have an MPI of their own there
    "pkg-config": ("pkgconf", None),  # Arch's base-devel
    "python3": ("python3", None),
    "python3-cffi": ("python3-cffi", "python-cffi"),
    "python3-docutils": ("python3-docutils", "python-docutils"),
    "zlib1g-dev": ("zlib-devel", "zlib"),
}


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
