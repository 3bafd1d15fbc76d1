# SPDX-License-Identifier: GPL-2.0
"""What tests of epfmpi share: keys, the answers of epfctl to compare with, jobs."""

import functools
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD") or HERE.parent.parent / "build")
EPFCTL = BUILD / "user/epfctl"
OUT = BUILD / "selftests/mpi"
KINDS = [kind for kind in ("openmpi", "mpich") if (OUT / kind / "epfmpi").exists()]
KEYS = 100_003
UNIT = 8192
UNITS = -(-KEYS // UNIT)
# struct audit_mark with its sum: keys, those present, by age, bytes of records; keyless, bad,
# left out, format, bitmap, ages, resumed
KEYLESS = 8 * (2 + 255 + 1)
MARK = KEYLESS + 8 * 8
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm_rsh_agent": "",
       "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
COLUMN = ["--digests", "-F", "column", "--unit", str(UNIT)]
FORMATS = {"csv": ["-F", "csv", "--fields", "2"], "json": ["-F", "json", "--fields", "key"],
           "pcap": ["-F", "pcap"]}
home = pathlib.Path(tempfile.mkdtemp(prefix="epf-mpi-"))


def program(kind):
    return os.environ.get("EPF_MPI") or OUT / kind / "epfmpi"


def mpi(kind, ranks, *words, **changed):
    """Run epfmpi, with what die.c changes: die, node, meminfo. Return the finished process."""
    env = dict(ENV)
    if changed:
        env.update({f"EPF_{name.upper()}": str(value) for name, value in changed.items()},
                   LD_PRELOAD=str(OUT / kind / "die.so"))
    return subprocess.run([f"mpirun.{kind}", "-n", str(ranks), program(kind), *words],
                          cwd=home, env=env, capture_output=True, text=True, timeout=300)


def right(done):
    if done.returncode:
        raise AssertionError(f"exit {done.returncode}: {done.args}\n{done.stdout}{done.stderr}")
    return done.stdout


def epf(*words):
    return right(subprocess.run([EPFCTL, *words], cwd=home, capture_output=True, text=True))


@functools.cache
def expected():
    """The answers of epfctl, by the words that follow "audit"."""
    subprocess.run([BUILD / "selftests/agent/mkaudit", home, str(KEYS)], check=True)
    epf("audit", "--no-agent", *COLUMN[:3], "-b", "want.b", "-a", "want.a", "snap", "digests")
    for name, words in FORMATS.items():
        epf("audit", "--no-agent", *words, "-b", f"want.{name}.b", "-a", f"want.{name}.a", "-o",
            f"want.{name}.o", "--absent", "snap", f"keys.{name}")


def differ(*pairs):
    """Which files of the pairs differ, and what an audit has left beside them."""
    bad = [got for got, want in pairs
           if not (home / got).exists() or (home / got).read_bytes() != (home / want).read_bytes()]
    bad += [p.name for p in home.iterdir() if ".partial" in p.name or ".resume" in p.name]
    return f"wrong or left: {bad}" if bad else None
