#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Limits of the tool at their exact values: each is taken, and one more is one error that names
the limit. selftests/limits says where the other limits are tried.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from own import EPFCTL, good, tap  # noqa: E402

STAMPED = ("-F", "csv", "--fields", "1", "--stamp")
dir = None


def path(name):
    return os.path.join(dir, name)


def keys(text, name):
    with open(path(name), "wb") as f:
        f.write(text)


def audit(*options, name="few", files=1):
    return ["audit", path("snap"), *[path(name)] * files, "--no-agent", "-F", "csv", *options]


def csv(fields):
    return audit("--fields", ",".join(map(str, range(1, fields + 1))), name="wide")


def build_to(name):
    return ["build", path(name), "-T", "70s", "--rate", "50", *STAMPED]


def stamps(fields):
    return [*build_to("out"), ",".join(map(str, range(2, fields + 2))), "--stamp-format", "%Y%m%d%H",
            path("stamped")]


def long_line(n):
    """A line of n bytes, its end included."""
    keys(b"k," + b"x" * (n - 3) + b"\n", "long")
    return audit("--fields", "1", name="long")


def deep(n):
    """The wanted member lies behind one that is n deep."""
    keys(b'{"a":' + b"[" * (n - 1) + b"]" * (n - 1) + b',"k":"x"}\n', "deep")
    return audit("-F", "json", "--fields", "k", name="deep")


def merge(n):
    return ["merge", "-o", path("all"), "--loose", *[path(f"s{i}") for i in range(n)]]


def build(n):
    return [*build_to("out"), "2", *[path("timed")] * n]


def lists(n):
    return ["test", "--snapshot", path("snap"), *["-f", path("few")] * n]


def one(option, args):
    """A command of which the number is an option's value."""
    return lambda n: [*args, option, str(n)]


DEDUP = ("dedup", "-D", "10")
PLAN = ("plan", "-T", "1m")
# limit, its value, the command with a number, what one more is told
LIMITS = (
    ("AUDIT_KEYS_MAX", 64, lambda n: audit(files=n), "one argument too many"),
    ("BUILD_FILES_MAX", 64, build, "one argument too many"),
    ("KEY_FILES_MAX", 64, lists, "more than 64 files"),
    ("EPF_MERGE_MAX", 256, merge, "more than the 256"),
    ("EPF_AUDIT_THREADS_MAX", 1024, lambda n: audit("--threads", str(n)), "at most 1024"),
    ("UNIT_MAX", 1 << 40, lambda n: audit("--unit", str(n), "--fields", "1"), "at most 1099511627776"),
    ("REC_FIELDS_MAX", 16, csv, "more than 16"),
    ("REC_STAMP_MAX", 4, stamps, "more than 4"),
    ("REC_LINE_MAX", 1 << 20, long_line, "longer than"),
    ("DEPTH_MAX", 2048, deep, "JSON"),
    ("IGNORE_MAX", 0xffff, lambda n: [*DEDUP, "--ignore", str(n), path("pcap"), path("o.pcap")],
     "at most 65535"),
    ("PLAN_CLUSTER_HOSTS_MAX", 1024, one("--cluster", [*PLAN, "--rate", "10"]), "at most 1024"),
    ("PLAN_CLUSTER_RATE_MAX", 10_000_000, one("--rate", [*PLAN, "--cluster", "2"]), "1e+07"),
)


def run(args):
    return subprocess.run([EPFCTL, *args], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)


def limit(most, command, why):
    def judge():
        done = [run(command(n)) for n in (most, most + 1)]
        if done[0].returncode > 1 or "error" in done[0].stderr:
            return f"{most}: {done[0].returncode} {done[0].stderr}"
        said = done[1].stderr
        if done[1].returncode != 2 or not said.startswith("error: ") or why not in said:
            return f"{most + 1}: {done[1].returncode} {said}"
        return None
    return judge


def prepare():
    keys(b"a\nb\n", "few")
    keys(b",".join([b"a"] * 20) + b"\n", "wide")
    keys(b"a,1700000000\n", "timed")
    keys(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1), "pcap")
    keys(b"k,2026,11,29,16,0\n", "stamped")
    good(*build_to("snap"), "2", path("timed"))
    for i in range(257):
        keys(b"b%d,1700000000\n" % i, "timed")
        good("build", path(f"s{i}"), "--like", path("snap"), *STAMPED, "2", path("timed"))


def main():
    global dir
    if not os.access(EPFCTL, os.X_OK):
        tap.skip_all("epfctl is not built")
    dir = tempfile.mkdtemp()
    try:
        prepare()
        return tap.run(tap.chosen([(f"{name}: {most} is taken, one more is not",
                                    limit(most, command, why))
                                   for name, most, command, why in LIMITS]))
    finally:
        shutil.rmtree(dir)


if __name__ == "__main__":
    sys.exit(main())
