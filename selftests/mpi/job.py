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
# left out, format, bitmap, ages, records, resumed
KEYLESS = 8 * (2 + 255 + 1)
MARK = KEYLESS + 9 * 8
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm_rsh_agent": "",
       "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
COLUMN = ["--digests", "-F", "column", "--unit", str(UNIT)]
LINES = 3000
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


def line_of(key, kind):
    """Line @key of a file of lines: some have no key, or are bad, or empty, or are longer than a unit."""
    if key % 41 == 0:
        return {"csv": ",\n", "quoted": '"","x"\r\n', "json": "{}\n", "text": "\n"}[kind]
    if key % 97 == 0:
        return {"csv": "1\n", "quoted": 'a"b,c\n' if key % 2 else 'a"b"c,d\n', "json": "[\n", "text": "x" * 999 + "\n"}[kind]
    if key % 103 == 0:
        return "\n"
    long = "z" * (700 if key % 211 == 0 else key % 30)
    return {"csv": f"{key},k{key},{long}\n", "quoted": f'"{key},""","k{key}",{long}\r\n',
            "json": f'{{"key": "k{key}", "x": "{long}"}}\n', "text": f"k{key}\n"}[kind]


LINE_FORMATS = {"csv": ["-F", "csv", "--header", "--fields", "key"], "quoted": ["-F", "csv", "--fields", "2"],
                "json": ["--fields", "key"], "text": ["-F", "csv"]}


@functools.cache
def expected_lines():
    """Files of lines, a snapshot that has some of their keys, and the answers of epfctl."""
    (home / "some").write_text("".join(f"{1_700_000_000 + key // 99},k{key}\n" for key in range(0, LINES, 3)))
    epf("build", "lines.epf", "--time", "1h", "--rate", "1k", "-F", "csv", "--stamp", "1", "--stamp-format", "s",
        "--fields", "2", "some")
    for kind, words in LINE_FORMATS.items():
        text = "".join(line_of(key, kind) for key in range(LINES))
        text = ("n,key,more\n" if kind == "csv" else "") + (text.rstrip() if kind == "json" else text)
        (home / f"lines.{kind}").write_text(text, newline="")
        epf("audit", "--no-agent", *words, "--skip-bad", "-b", f"want.lines.{kind}.b", "-a", f"want.lines.{kind}.a",
            "-o", f"want.lines.{kind}.o", "lines.epf", f"lines.{kind}")


def differ(*pairs):
    """Which files of the pairs differ, and what an audit has left beside them."""
    bad = [got for got, want in pairs
           if not (home / got).exists() or (home / got).read_bytes() != (home / want).read_bytes()]
    bad += [p.name for p in home.iterdir() if ".partial" in p.name or ".resume" in p.name]
    return f"wrong or left: {bad}" if bad else None
