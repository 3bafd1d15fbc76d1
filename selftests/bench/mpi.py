#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Audits by 1, 2 and 4 ranks, with both kinds of copies, beside 'epfctl audit' on the same
CPUs: time of whole commands, whose start and end count too. A report; ratios of medians,
commands in turn. CPU time says more on a busy machine, but has the time for which ranks wait
for the last one, since MPI waits without sleeping.

usage: mpi.py [RUNS]     (default 5)
Environment: KEYS, digests of the column (default 200 million); TIMES, how often a command audits it
(default 1; with more the start of MPI counts less); CPUS, that all may use; COPIES (default "own shared")."""

import array
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
USER = pathlib.Path(os.environ.get("BUILD") or TOP / "build") / "user"
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
KEYS = int(os.environ.get("KEYS") or 200_000_000)
TIMES = int(os.environ.get("TIMES") or 1)
COPIES = (os.environ.get("COPIES") or "own shared").split()
CPUS = os.environ.get("CPUS") or ",".join(map(str, sorted(os.sched_getaffinity(0))))
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPI = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n"]
AUDIT = ["--digests", "-F", "column", *sum((["-b", f"bits{i}"] for i in range(TIMES)), []), "snap",
         *["digests"] * TIMES]


def make(home):
    """A snapshot of 64 MiB, and digests, the first 4 million of which it holds."""
    rng = random.Random(1)
    with open(home / "digests", "wb") as column, open(home / "inside", "w", encoding="ascii") as inside:
        for at in range(0, KEYS, 1 << 20):
            column.write(rng.randbytes(8 * min(1 << 20, KEYS - at)))
        column.flush()
        with open(home / "digests", "rb") as first:
            words = array.array("Q", first.read(8 * min(KEYS, 4_000_000)))
        inside.writelines(f"{1_700_000_000 + i // 2000},{word:016x}\n" for i, word in enumerate(words))
    subprocess.run([USER / "epfctl", "build", "snap", "--time", "1h", "--rate", "5k", "-F", "csv", "--stamp", "1",
                    "--stamp-format", "s", "--fields", "2", "--digests", "inside"],
                   cwd=home, check=True, stdout=subprocess.DEVNULL)


def seconds(command, home):
    """Wall-clock and CPU seconds of a command."""
    before, start = os.times(), time.monotonic()
    subprocess.run(command, cwd=home, env=ENV, check=True, stdout=subprocess.DEVNULL)
    after, end = os.times(), time.monotonic()
    return end - start, sum(after[2:4]) - sum(before[2:4])


def main():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        home = pathlib.Path(name)
        make(home)
        commands = {"epfctl audit": [USER / "epfctl", "audit", "--no-agent", *AUDIT]}
        for copy in COPIES:
            for ranks in 1, 2, 4:
                commands[f"epfmpi, {ranks} ranks, {copy}"] = [
                    *MPI, str(ranks), USER / "mpi/epfmpi", "audit", "--copy", copy, *AUDIT]
        taken = {what: [] for what in commands}
        for _ in range(RUNS):
            for what, command in commands.items():
                taken[what].append(seconds(["taskset", "-c", CPUS, *command], home))
        print(f"{KEYS:,} digests {TIMES} times, CPUs {CPUS}, {RUNS} runs; efficiency beside epfctl, by the clock and by CPU time")
        median = {what: [statistics.median(column) for column in zip(*times)] for what, times in taken.items()}
        base = median["epfctl audit"]
        for what, (wall, cpu) in median.items():
            print(f"{what:24} {wall:8.3f} s {cpu:8.3f} s of CPU {KEYS * TIMES / wall / 1e6:6.0f} M keys/s "
                  f"{base[0] / wall:6.2f} {base[1] / cpu:6.2f}")


main()
