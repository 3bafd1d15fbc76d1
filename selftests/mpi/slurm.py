#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""epfmpi as a job of Slurm, on a cluster of one node that this test starts: answers are those
of epfctl, also after a rank was killed. With EPF_THOROUGH, since it is one more way to start
the same ranks."""

import functools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "dedup"))

import tap
from job import COLUMN, ENV, KINDS, OUT, differ, epf, expected, home, program, right

# How each MPI learns its ranks from Slurm.
WIRE = {"openmpi": "pmix", "mpich": "pmi2"}
NODE = socket.gethostname().split(".")[0]
CONF = """
ClusterName=epf
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={daemon}
AuthInfo=socket={at}/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={node} NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes={node} Default=YES
"""


def free_ports(n):
    socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [sock.getsockname()[1] for sock in socks]
    for sock in socks:
        sock.close()
    return ports


class Cluster:
    """Slurm's daemons, below one directory. Munge tells them who sends a message."""

    def __init__(self, at):
        self.at = at
        for name in "state", "spool":
            (at / name).mkdir(parents=True)
        at.chmod(0o755)
        control, daemon = free_ports(2)
        conf = at / "slurm.conf"
        conf.write_text(CONF.format(at=at, node=NODE, control=control, daemon=daemon))
        (at / "key").write_bytes(os.urandom(1024))
        (at / "key").chmod(0o400)
        self.env = {**ENV, "SLURM_CONF": str(conf)}
        self.daemons = []

    def __enter__(self):
        self.start("munged", "--foreground", "--force", f"--key-file={self.at}/key",
                   f"--socket={self.at}/munge.sock", f"--pid-file={self.at}/munged.pid",
                   f"--seed-file={self.at}/seed")
        self.until(lambda: (self.at / "munge.sock").exists())
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        self.until(lambda: "idle" in self.call("sinfo", "-h").stdout)
        return self

    def __exit__(self, *unused):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()

    def start(self, *words):
        with open(self.at / f"{words[0]}.log", "w", encoding="utf-8") as log:
            self.daemons.append(subprocess.Popen(words, env=self.env, stdout=log, stderr=log))

    def call(self, *words):
        return subprocess.run(words, cwd=home, env=self.env, capture_output=True, text=True, timeout=300)

    def until(self, reached):
        for _ in range(600):
            if reached():
                return
            time.sleep(0.1)
        logs = "".join(path.read_text() for path in self.at.glob("*.log"))
        raise AssertionError(f"Slurm does not start:\n{logs[-4000:]}")

    def job(self, kind, ranks, *words, die=None):
        """Run epfmpi as a job. Return the finished srun."""
        with_die = [f"--export=ALL,EPF_DIE={die},LD_PRELOAD={OUT / kind / 'die.so'}"] if die else []
        return self.call("srun", "-n", str(ranks), "--overcommit", "--kill-on-bad-exit=1", *with_die,
                         f"--mpi={WIRE[kind]}", program(kind), *words)


def audits(cluster, kind):
    """an audit by 1 to 4 tasks"""
    for ranks in 1, 2, 4:
        right(cluster.job(kind, ranks, "audit", *COLUMN, "-b", "got.b", "-a", "got.a", "snap", "digests"))
        fault = differ(("got.b", "want.b"), ("got.a", "want.a"))
        if fault:
            return f"{ranks} tasks: {fault}"
    return None


def resumes(cluster, kind):
    """a task that dies in a unit ends the job, and --resume answers the rest"""
    words = ["audit", *COLUMN, "-b", "got.b", "-a", "got.a"]
    done = cluster.job(kind, 2, *words, "snap", "digests", die="unit:3")
    if not done.returncode or not list(home.glob("got.b.resume*")):
        return f"exit {done.returncode}, {list(home.iterdir())}, {done.stderr}"
    right(cluster.job(kind, 3, *words, "--resume", "snap", "digests"))
    return differ(("got.b", "want.b"), ("got.a", "want.a"))


def merges(cluster, kind):
    """a merge by three tasks"""
    names = [f"host{i}" for i in range(4)]
    for i, name in enumerate(names):
        subprocess.run([OUT.parent / "cli/mkhost", home / name, f"id={i + 1}", "lines=4000", "keys=900",
                        f"epoch={1000 + 37 * i}", f"ago={1100 * i}"], check=True)
    want = json.loads(epf("-j", "merge", "-o", "want", *names))
    told = json.loads(right(cluster.job(kind, 3, "-j", "merge", "-o", "got", *names)))
    for report in want, told:
        report.pop("file")
    return differ(("got", "want")) or (None if told == want else f"{told}\n{want}")


def main():
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun") if not shutil.which(name)]
    if not os.environ.get("EPF_THOROUGH"):
        tap.skip_all("with EPF_THOROUGH only")
    if missing or not KINDS or os.geteuid():
        tap.skip_all(f"needs root, MPI, and {' '.join(missing)}: scripts/deps.sh debug")
    try:
        expected()
        with Cluster(home / "slurm") as cluster:
            tap.main(tap.chosen([(f"{kind}: {case.__doc__}", functools.partial(case, cluster, kind))
                                 for kind in KINDS for case in (audits, resumes, merges)]))
    finally:
        shutil.rmtree(home)


main()
