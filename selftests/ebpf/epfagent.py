#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The agent and pure BPF filters: it ends the epochs of filters without another holder, of
new ones and of those whose holder died; it audits them, and its metrics include them. Runs
in its own BPF file system, so that no other filter of the machine is touched.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "selftests", d) for d in ("agent", "dedup")]

import agent as a  # noqa: E402
import bpffs
import tap  # noqa: E402

PINS = "/sys/fs/bpf/epochfilter"
KEYS = 1000
ABSENT = 10000  # at most one false positive in 100 such keys is expected
os.environ["EPF_BACKEND"] = "bpf"
dir = None


def epfctl(*args, check=True, **more):
    return subprocess.run([a.EPFCTL, *args], check=check, capture_output=True,
                          text=True, **more)


def lines(first, nr):
    return "".join(f"{i}\n" for i in range(first, first + nr))


def insert(name, first, nr):
    epfctl("insert", name, "-", input=lines(first, nr))


def verdicts(name, first, nr, verdict):
    out = epfctl("test", name, "-", input=lines(first, nr), check=False).stdout
    return out.count(" " + verdict)


def knows(name):
    """Does a process end its epochs? Key 1 has been inserted."""
    return verdicts(name, 1, 1, "present") == 1


def lost(name):
    n = verdicts(name, 1, KEYS, "present")
    return None if n == KEYS else f"{KEYS - n} of {KEYS} keys are lost"


@contextlib.contextmanager
def made(*names):
    """Make filters with KEYS keys, which are removed at the end."""
    try:
        for name in names:
            epfctl("create", name, "--window", "100000", "--rotate", "process")
            insert(name, 1, KEYS)
        yield
    finally:
        for name in names:
            epfctl("destroy", name, "--force", check=False)


def started(*args, **more):
    return a.Agent(dir, *args, **more)


def notices_new():
    with started() as agent, made("n.1"):
        a.poll(lambda: knows("n.1"))
        agent.wait_log(rb"^filter 'n\.1': this agent ends its epochs$")
        return lost("n.1")


def may_be_destroyed():
    """A filter that is destroyed and made again is held again."""
    with started(), made("d"):
        a.poll(lambda: knows("d"))
        refused = epfctl("hold", "d", check=False)
        if refused.returncode != 2 or "held by another" not in refused.stderr:
            return f"a second holder: {refused}"
        epfctl("destroy", "d")
        epfctl("create", "d", "--window", "1000", "--rotate", "process")
        insert("d", 1, 1)
        a.poll(lambda: knows("d"))
    return None


def takes_over():
    with made("t"):
        holder = subprocess.Popen([a.EPFCTL, "hold", "t"], stdout=subprocess.PIPE)
        try:
            holder.stdout.readline()
            a.poll(lambda: knows("t"))
            with started() as agent:
                agent.wait_log(rb"^filter 't': another process already ends its epochs$")
                holder.kill()
                agent.wait_log(rb"^filter 't': this agent ends its epochs$")
                a.poll(lambda: knows("t"))
                return lost("t")
        finally:
            holder.kill()
            holder.wait()


def goes_on():
    """The agent is killed: soon the filter answers "unknown", no key is lost, and the next
    holder continues."""
    with made("k"):
        with started() as agent:
            a.poll(lambda: knows("k"))
            agent.stop(signal.SIGKILL)
        a.poll(lambda: not knows("k"))
        n = verdicts("k", 1, KEYS, "unknown")
        if n != KEYS:
            return f"{n} of {KEYS} keys are not known"
        with started():
            a.poll(lambda: knows("k"))
            return lost("k")


def ends_epochs():
    """The last 100000 keys are present, and keys two windows older are not."""
    with started(), made("e"):
        a.poll(lambda: knows("e"))
        insert("e", 1000000, 300000)
        n = verdicts("e", 1200000, 100000, "present")
        if n != 100000:
            return f"{100000 - n} keys of the window are lost"
        n = verdicts("e", 1, KEYS, "present")
        return f"{n} keys are there after two windows" if n > 10 else None


def ends():
    """Ended by SIGTERM, the agent releases its filters."""
    with made("q"):
        with started() as agent:
            a.poll(lambda: knows("q"))
            status = agent.stop()
        if status:
            return f"exit status {status}"
        fd = os.open(f"{PINS}/q/rotator", os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(fd)
    return None


def chosen():
    """hold = NAME: only that filter; no: none."""
    with made("c1", "c2"):
        with started("--hold", "c1"):
            a.poll(lambda: knows("c1"))
            if knows("c2"):
                return "a filter is held that was not asked for"
        with started("--hold", "c1", "--hold", "no") as agent:
            if agent.stop() or b"'c1'" in agent.text():
                return f"it said {agent.text()!r}"
    return None


def alone_late():
    """A filter that another process keeps locked is reported once, delays no other, and
    continues afterwards."""
    said = rb"^warning: filter 'l1': .*is stuck$"
    with started() as agent, made("l1", "l2"):
        a.poll(lambda: knows("l1") and knows("l2"))
        fd = os.open(f"{PINS}/l1", os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            agent.wait_log(said)
            fault = None if knows("l2") else "the other one is late"
        finally:
            os.close(fd)
        a.poll(lambda: knows("l1"))
        if len(re.findall(said, agent.text(), re.M)) != 1:
            return f"it said {agent.text()!r}"
        return fault or lost("l1")


def not_allowed():
    """Without access to the BPF file system the agent runs, and reports it once."""
    tool, place = os.path.join(dir, "tool"), os.path.join(dir, "others")
    with open(tool, "w") as f:
        f.write(f'#!/bin/sh\nexec setpriv --reuid 65534 --clear-groups "{a.AGENT}" "$@"\n')
    os.chmod(tool, 0o755)
    os.mkdir(place)
    os.chown(place, 65534, 65534)
    was, a.AGENT = a.AGENT, tool
    try:
        with made("p"), a.Agent(place) as agent:
            agent.wait_log(rb"^warning: cannot look for pure BPF filters: Permission denied")
            return None if agent.stop() == 0 else "it does not end"
    finally:
        a.AGENT = was


def audit(*args):
    """Return the answers about the keys and what was asked, and where they were computed."""
    bits, ages = os.path.join(dir, "bits"), os.path.join(dir, "ages")
    out = epfctl("-j", "audit", *args, "--format", "csv", "--bitmap", bits,
                 "--ages", ages, "au", os.path.join(dir, "keys"), check=False)
    if out.returncode == 2:
        raise AssertionError(out)
    report = json.loads(out.stdout)
    asked = report["asked"]["filter"], report["asked"]["epoch"], report["asked"]["as_of_ns"] > 0, \
        [(age["keys"], "began_ago_ns" in age) for age in report["ages"]]
    with open(bits, "rb") as b, open(ages, "rb") as g:
        return (report["keys"], report["present"], asked, b.read(), g.read()), report["work"]


def audited():
    with open(os.path.join(dir, "keys"), "w") as f:
        f.write(lines(1, KEYS + ABSENT))
    with started() as agent, made("au"):
        a.poll(lambda: knows("au"))
        theirs, work = audit("--agent", agent.path)
        if not work["by_agent"]:
            return "the agent did not do it"
        for place in ("copy", "live"):
            mine, _ = audit("--no-agent", "--place", place)
            if mine != theirs:
                return f"{place}: {mine[:3]}, the agent: {theirs[:3]}"
        if not KEYS <= theirs[1] <= KEYS + ABSENT // 100:
            return f"{theirs[1]} keys are present"
    return None


def listed():
    """Of 257 filters, here without maps, 256 are listed."""
    places = [os.path.join(PINS, f"{i:031}") for i in range(257)]

    def names():
        return [f["name"] for f in agent.status()["filters"]]

    def make(place):
        for part in "rotator", "table":
            os.makedirs(os.path.join(place, part))
    try:
        with started() as agent:
            for place in places[:256]:
                make(place)
            a.poll(lambda: len(names()) == 256)
            make(places[256])
            a.poll(lambda: os.path.basename(places[256]) in names())  # the newest one is the first
            return None if len(names()) == 256 else f"{len(names())} are listed"
    finally:
        for place in filter(os.path.exists, places):
            shutil.rmtree(place)


def not_mirrored():
    said = rb"^warning: mirror of 'm': the filter is pure BPF and has no journal"
    with made("m"), started("--mirror", "m") as agent:
        agent.wait_log(said)
        a.poll(lambda: knows("m"))
        return None if len(re.findall(said, agent.text(), re.M)) == 1 else \
            f"it said {agent.text()!r}"


def collected(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


def in_metrics():
    path = os.path.join(dir, "metrics")
    sample = f'epochfilter_inserts_total{{filter="x",kind="lanes",backend="bpf"}} {KEYS}\n'
    with made("x"), started("--metrics", path):
        a.poll(lambda: knows("x"))
        text = collected(path)
        for want in (sample, "epochfilter_up 0\n", "epochfilter_readable 1\n",
                     "epochfilter_agent_filters_held 1\n"):
            if want not in text:
                return f"{want!r} is not in {text}"
        if sample not in epfctl("metrics", "--text").stdout:
            return "epfctl metrics has it not"
    return None


def in_metrics_overdue():
    """Return the verdicts given while no process ended epochs, apart from those of
    saturation."""
    sample = f'epochfilter_overdue_total{{filter="x",kind="lanes",backend="bpf"}} '
    with made("x"):
        want = verdicts("x", 1, KEYS, "unknown")
        text = epfctl("metrics").stdout
        shown = json.loads(epfctl("-j", "show", "x").stdout)["stats"]
    if not want or f"{sample}{want}\n" not in text:
        return f"{want} not known; {text}"
    if shown.get("overdue") != want or shown["failed_open"] != want:
        return f"{want} not known; show has {shown}"
    return None


def doctor():
    report = json.loads(epfctl("-j", "doctor").stdout)
    return next(c for c in report["checks"] if c["check"] == "holders")


def told():
    """doctor, list and show name the holder."""
    with made("v"):
        nobody, rows = doctor(), epfctl("list").stdout
        if nobody["ok"] or nobody["remedy"] != "run 'epfctl hold v', or start epfagent":
            return f"{nobody}"
        if not re.search(r" v +lanes .* bpf$", rows, re.M) or \
                "nobody ends its epochs" not in epfctl("show", "v").stdout:
            return rows + epfctl("show", "v").stdout
        with started() as agent:
            a.poll(lambda: knows("v"))
            held, show = doctor(), json.loads(epfctl("-j", "show", "v").stdout)
            if held["state"] != f"v by epfagent ({agent.pid})":
                return f"{held}"
    return None if (show["backend"], show["held"]) == ("bpf", True) else f"{show}"


CASES = [
    ("a new filter is noticed", notices_new),
    ("it has epochs that end", ends_epochs),
    ("it may be destroyed, and made again", may_be_destroyed),
    ("of a holder that is killed it is taken over, and nothing is lost", takes_over),
    ("the agent is killed: not known, and the next goes on", goes_on),
    ("at SIGTERM it releases its filters", ends),
    ("only those that are asked for", chosen),
    ("one that is locked makes no other late", alone_late),
    ("where BPF is not allowed the agent runs", not_allowed),
    ("an audit by the agent is that by epfctl", audited),
    ("256 filters are listed, not 257", listed),
    ("a mirror is refused in one line", not_mirrored),
    ("its numbers are collected", in_metrics),
    ("verdicts without a holder are counted apart", in_metrics_overdue),
    ("the holder is named", told),
]


def main():
    global dir
    if os.geteuid() != 0:
        tap.skip_all("needs root")
    if not os.access(a.AGENT, os.X_OK):
        tap.skip_all("epfagent is not built")
    bpffs.own()
    made_one = epfctl("create", "some", "--window", "1000", check=False)
    if made_one.returncode:
        tap.skip_all(f"no BPF here: {made_one.stderr.strip()}")
    epfctl("destroy", "some")
    with a.folder() as dir:
        return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(main())
