#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Packages that were cross-built (scripts/deb_cross.sh): what is in them, and their tool, which
runs under emulation. For arch.sh, which says which architecture: EPF_ARCH.
"""

import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build")
sys.path.insert(0, os.path.join(HERE, "..", "dedup"))

import tap  # noqa: E402

ARCH = os.environ.get("EPF_ARCH", "")
DEBS = os.path.join(BUILD, "deb")
PACKAGES = {"epochfilter": ARCH, "libepf1": ARCH, "libepf-dev": ARCH,
            "epochfilter-dkms": "all", "python3-epf": "all"}
MACHINES = {"arm64": ("<", 183), "s390x": (">", 22)}  # order of bytes, e_machine
EM_BPF = 247
MAGIC = b"\x7fELF\x02"


def package(name):
    found, = glob.glob(f"{DEBS}/{name}_*.deb")
    return found


def field(name, what):
    return subprocess.run(["dpkg-deb", "-f", package(name), what], check=True,
                          capture_output=True, text=True).stdout.strip()


def unpack(to):
    for name in PACKAGES:
        subprocess.run(["dpkg-deb", "-x", package(name), to], check=True)


def elf(data, at=0):
    """Return byte order, machine and offset of the section headers of the object at @at."""
    order = "<" if data[at + 5] == 1 else ">"
    machine, = struct.unpack_from(order + "H", data, at + 18)
    return order, machine, struct.unpack_from(order + "Q", data, at + 40)[0]


def bpf_objects(path):
    """Return the byte orders of the BPF objects with sections in a program."""
    with open(path, "rb") as f:
        data = f.read()
    at, orders = data.find(MAGIC, 1), []
    while at > 0:
        order, machine, sections = elf(data, at)
        if machine == EM_BPF and sections:
            orders.append(order)
        at = data.find(MAGIC, at + 1)
    return orders


def control():
    """Return the architectures of each package of debian/control that is cross-built."""
    with open(os.path.join(HERE, "..", "..", "debian", "control"), encoding="utf-8") as f:
        parts = [dict(re.findall(r"^([A-Z][A-Za-z-]*): (.*)$", part, re.M)) for part in f.read().split("\n\n")]
    return {part["Package"]: part["Architecture"].split() for part in parts
            if "Package" in part and "Build-Profiles" not in part}


def complete():
    """All packages but those with a profile: CUDA's, and those whose build needs cannot be cross-installed."""
    wanted = {name for name, of in control().items() if ARCH in of or of == ["all"]}
    built = {os.path.basename(path).split("_")[0] for path in glob.glob(f"{DEBS}/*.deb")}
    built = {name for name in built if not name.endswith("-dbgsym")}
    return None if wanted == built == set(PACKAGES) else f"{built}, of {wanted}"


def architectures():
    got = {name: field(name, "Architecture") for name in PACKAGES}
    return None if got == PACKAGES else f"{got}"


def machines():
    """Everything that runs is of this architecture."""
    programs = []
    for folder, _, names in os.walk(ROOT):
        for path in (os.path.join(folder, name) for name in names):
            with open(path, "rb") as f:
                data = f.read(64)
            if data.startswith(MAGIC):
                programs.append(os.path.basename(path))
                if elf(data)[:2] != MACHINES[ARCH]:
                    return f"{path}: {elf(data)}"
    want = {"epfctl", "epfagent", "libepf.so.1", "libxt_epf.so"}
    return None if want <= set(programs) else f"{programs}"


def carries_bpf():
    got = bpf_objects(f"{ROOT}/usr/bin/epfctl")
    want = bpf_objects(f"{BUILD}/user/epfctl")
    return None if len(got) > 10 and got == want and set(got) == {MACHINES[ARCH][0]} else \
        f"{got}, in the build {want}"


def depends():
    """The libraries of this architecture were found, also those of live clusters."""
    got = field("epochfilter", "Depends")
    names = re.findall(r"(?:^|, )([^ ,]+)", got)
    missing = [lib for lib in ("libc6", "libbpf1", "libisal", "libnats") if not any(n.startswith(lib) for n in names)]
    return f"no {missing} in: {got}" if missing else None


def epfctl(at, *args):
    done = subprocess.run([at, *args], check=True, capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=LIBRARIES))
    return done.stdout


def runs():
    """The packaged tool says what the one of the build says."""
    for args in (["--help"], ["plan", "-W", "1000000", "-b", "1e-4"], ["plan", "-W", "5000", "--kind", "ge"]):
        got, want = (epfctl(at, *args) for at in (f"{ROOT}/usr/bin/epfctl", f"{BUILD}/user/epfctl"))
        if not got or got != want:
            return f"{args}: {got}"
    return None


def has_modules():
    missing = [name for name in ("Kbuild", "dkms.conf", "kmod/main.c", "include/epf/lanes.h")
               if not glob.glob(f"{ROOT}/usr/src/epochfilter-*/{name}")]
    return f"{missing}" if missing else None


CASES = [
    ("all packages that are cross-built", complete),
    ("packages of this architecture, and of all", architectures),
    ("programs and libraries are of it", machines),
    ("the tool carries the BPF objects, in its byte order", carries_bpf),
    ("they depend on what they link", depends),
    ("the tool runs", runs),
    ("DKMS gets the source of the modules", has_modules),
]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as ROOT:
        unpack(ROOT)
        LIBRARIES, = glob.glob(f"{ROOT}/usr/lib/*-linux-gnu")
        sys.exit(tap.run(CASES))
