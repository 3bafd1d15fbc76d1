#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Audits through the agent give the expected answers, in every format, with every engine,
from cached copies and piece by piece.
"""

import gzip
import json
import lzma
import os
import subprocess
import time

import agent as a
import tap

KEYS = 20011
MARK = 8008  # keys before the point where an audit resumes
files = None
agent = None


def done(answer):
    if not answer or "done" not in answer:
        return f"answered {answer}"
    return None


def column(keys, outputs=("bitmap", "ages"), on=None, **more):
    """Check the outputs. Return what is wrong, or None."""
    for name in outputs:
        open(files.path(name + ".out"), "w").close()
    message, fds = files.request(keys, outputs, **more)
    with a.Client(on or agent) as c:
        answer = c.audit(message, fds)
    files.close()
    if done(answer):
        return done(answer)
    present = sum(bin(b).count("1") for b in files.read("bitmap"))
    mark = answer["done"]["mark"]
    if mark["keys"] != KEYS or mark["present"] != present or \
            sum(mark["ages"]) != present:
        return f"mark {mark}, present should be {present}"
    return files.answered()


def records(keys, outputs=("bitmap", "ages"), **spec):
    return column(keys, outputs, records=spec)


def every_engine():
    for engine in agent.status()["engines"]:
        for threads in (1, 3):
            fault = column("digests", engine=engine, threads=threads)
            if fault:
                return f"{engine}, {threads} threads: {fault}"
    return None


def compressed():
    """The same records, by gzip and xz."""
    for name, pack in (("gz", gzip.compress), ("xz", lzma.compress)):
        with open(files.path("keys.csv." + name), "wb") as f:
            f.write(pack(files.read("keys.csv")))
        fault = records("keys.csv." + name, format="csv", header=True, fields="key")
        if fault:
            return f"{name}: {fault}"
    return None


def selected(absent):
    message, fds = files.request("keys.json", ("bitmap", "records"),
                                 records={"format": "json", "fields": "key"},
                                 absent=absent)
    with a.Client(agent) as c:
        answer = c.audit(message, fds)
    files.close()
    bitmap = files.read("bitmap")
    want = b"".join(
        line for i, line in enumerate(files.read("keys.json").splitlines(True))
        if bool(bitmap[i // 8] >> i % 8 & 1) != absent)
    if files.read("records.out") != want:
        return "the records are not those"
    return done(answer)


def warm():
    """A file is cached once it is old enough, and read again after a change."""
    hits = agent.status()["cache_hits"]
    fault = column("digests") or column("digests")
    if fault:
        return fault
    if agent.status()["cache_hits"] < hits + 2:
        return f"cache_hits {hits}, then {agent.status()['cache_hits']}"
    whole = files.read("digests")
    with open(files.path("digests"), "r+b") as f:
        f.write(bytes(8 * 64))
    fault = column("digests")
    with open(files.path("digests"), "r+b") as f:
        f.write(whole)
    if fault is None or "mark" not in fault and "bitmap" not in fault:
        return f"a changed column was not read again: {fault}"
    return column("digests")


def piecewise():
    """The cache has room for the snapshot, but not for the column."""
    room = 2 * os.path.getsize(files.path("snap")) + 4096
    with a.Agent(files.dir, "--memory", str(room), "--step", "1000",
                 name="small") as small:
        fault = column("digests", on=small) or column("column", on=small,
                                                      key_len=12)
        if fault:
            return fault
        if small.status()["cache_bytes"] > room:
            return "more copies than there is room for"
    return None


def too_large():
    with a.Agent(files.dir, "--memory", "8192", name="tiny") as tiny:
        message, fds = files.request()
        with a.Client(tiny) as c:
            answer = c.audit(message, fds)
    files.close()
    if answer.get("errno") != 95 or "memory" not in answer["error"]:
        return f"answered {answer}"
    return None


def too_large_drops_nothing():
    """A file that can never fit does not evict the copies of others."""
    a.sparse(files.dir, "large", 1 << 20)
    with a.Agent(files.dir, "--memory", "8M", name="full") as full:
        fault = column("digests", on=full)
        before = full.status()["cache_bytes"]
        message, fds = files.request()
        fds[1] = files.fd("large")
        with a.Client(full) as c:
            answer = c.audit(message, fds)
        files.close()
        after = full.status()["cache_bytes"]
    if fault or answer.get("errno") != 95:
        return fault or f"answered {answer}"
    return None if after == before else f"{before} bytes, then {after}"


def goes_on():
    """Resume from a checkpoint, with the bitmap up to there and garbage after it."""
    bitmap = files.read("bitmap")
    with open(files.path("ages"), "rb") as f:
        ages = f.read(KEYS)
    at = MARK
    counts = [ages[:at].count(age) for age in range(a.AGES)]
    message, fds = files.request(
        "digests", ("bitmap", "ages"),
        **{"from": {"keys": at, "present": sum(counts), "ages": counts,
                    "record_bytes": 0}})
    os.pwrite(fds[2], bitmap[:at // 8] + b"\xff" * 50, 0)
    os.pwrite(fds[3], ages[:at], 0)
    before = agent.status()
    with a.Client(agent) as c:
        answer = c.audit(message, fds)
    files.close()
    if done(answer):
        return done(answer)
    present = answer["done"]["mark"]["present"] - sum(counts)
    told = {name: agent.status()[name] - before[name]
            for name in ("keys_asked", "keys_present")}
    if told != {"keys_asked": KEYS - at, "keys_present": present}:
        return f"status counts {told}, {KEYS - at} were asked and {present} present"
    return files.answered()


def many_at_once():
    """30 connections, one audit each, all sent before any is answered."""
    clients = []
    for i in range(30):
        c = a.Client(agent)
        message, fds = files.request("digests", ())
        message["fds"].append("bitmap")
        fds.append(files.out(f"many{i}"))
        c.send(message, fds)
        files.close()
        clients.append(c)
    for i, c in enumerate(clients):
        fault = done(c.end())
        c.socket.close()
        if fault or files.read(f"many{i}") != files.read("bitmap"):
            return f"audit {i}: {fault}"
    return None


def several_on_one():
    with a.Client(agent) as c:
        for _ in range(5):
            message, fds = files.request("column", ("bitmap",), key_len=12)
            fault = done(c.audit(message, fds)) or files.answered()
            files.close()
            if fault:
                return fault
    return None


def by_tool():
    """epfctl audit with the agent and without it: the same files, and the same report
    except for who did it."""
    def run(*args):
        out = subprocess.run(
            [a.EPFCTL, "-j", "audit", *args, "--key-len", "12", "--bitmap",
             files.path("bitmap.out"), "--ages", files.path("ages.out"),
             files.path("snap"), files.path("column")], capture_output=True)
        if out.returncode == 2 or out.stderr:
            raise AssertionError(out)
        return json.loads(out.stdout), files.answered()
    mine, fault = run("--no-agent")
    theirs, other = run("--agent", agent.path)
    if fault or other:
        return fault or other
    done = mine.pop("work"), theirs.pop("work")
    if [d["by_agent"] for d in done] != [False, True]:
        return f"{done}"
    for report in (mine, theirs):  # fields that only a process with access to the lines can give
        report["asked"].pop("why")
        report["asked"].pop("fpr", None)
    differ = {k: (mine.get(k), theirs.get(k)) for k in mine.keys() | theirs.keys()
              if mine.get(k) != theirs.get(k)}
    return f"{differ}" if differ else None


def unsaid():
    """What a message cannot say is one line, and the longest that it can is done."""
    for how, why in ((["--format", "json", "--fields", "f" * 1023], None),
                     (["--format", "json", "--fields", "f" * 1024], b"too long for the agent"),
                     (["--format", "csv", "--header", "--fields", "\udcff"], b"names in UTF-8"),
                     (["--format", "csv", "--fields", "2", "--separator", "\udcff"], b"in ASCII"),
                     (["--format", "csv", "--fields", "2", "--joint", "\udcff"], b"in ASCII")):
        out = subprocess.run([a.EPFCTL, "audit", "--agent", agent.path, *how, files.path("snap"),
                              files.path("keys.json")], capture_output=True)
        if why and (out.returncode != 2 or out.stderr.count(b"\n") != 1 or why not in out.stderr) or \
                not why and out.returncode == 2:
            return f"{how}: {out}"
    return None


def above_limit():
    """The agent, too, says that a snapshot is above its limit, and nothing of its error: that
    depends on the hash key."""
    rows, full = files.path("full.csv"), files.path("full.epf")
    a.write(rows, b"".join(b"%d,k%d\n" % (1700000000 + i // 100, i) for i in range(20000)))
    as_csv = ["--format", "csv", "--fields", "2"]
    subprocess.run([a.EPFCTL, "build", "--force", full, "--time", "1h", "--rate", "1", *as_csv,
                    "--stamp", "1", rows], capture_output=True, check=True)
    with a.Agent(files.dir, name="full") as own:
        told = {}
        for how in (["--no-agent"], ["--agent", own.path]):
            out = subprocess.run([a.EPFCTL, "-j", "audit", *how, *as_csv, full, rows],
                                 capture_output=True)
            told[how[0]] = json.loads(out.stdout)["asked"]
            warned = [json.loads(line)["warning"] for line in out.stderr.splitlines()]
            if not told[how[0]]["saturated"] or len(warned) != 1 or \
                    "'full' is saturated" not in warned[0]:
                return f"{how}: {out}"
        if told["--no-agent"]["fpr"] < 2e-4 or "fpr" in told["--agent"]:
            return f"{told}"
        message, fds = files.request("column", ("bitmap",), key_len=12)
        fds[1] = files.fd("full.epf")
        with a.Client(own) as c:
            about = c.audit(message, fds)["about"]
    files.close()
    return None if about["saturated"] and about["fpr_ppt"] == 0 else f"{about}"


def without_agent():
    """No process listens on the socket: the tool reports it if the user named the socket."""
    out = subprocess.run([a.EPFCTL, "audit", "--agent", files.path("none"),
                          "--key-len", "12", files.path("snap"),
                          files.path("column")], capture_output=True)
    if out.returncode != 2 or out.stderr.count(b"\n") != 1:
        return f"{out}"
    return None


def without_cost():
    agent.settle()
    s = agent.status()
    if s["audits_failed"] or s["audits_cancelled"] or s["requests_refused"]:
        return f"status {s}"
    if s["keys_asked"] != KEYS * s["audits_done"] - MARK:
        return f"status {s}"
    return None


CASES = [
    ("a column of digests", lambda: column("digests")),
    ("a column of keys", lambda: column("column", key_len=12)),
    ("CSV by names", lambda: records("keys.csv", format="csv", header=True,
                                     fields="key")),
    ("CSV by number, told by its contents",
     lambda: records("keys.csv", format="csv", header=True, fields="2")),
    ("JSON", lambda: records("keys.json", format="json", fields="key")),
    ("compressed CSV", compressed),
    ("the records that are present", lambda: selected(False)),
    ("the records that are absent", lambda: selected(True)),
    ("every engine, by name", every_engine),
    ("copies are used again, and changes noticed", warm),
    ("a column that there is no room for is read in pieces", piecewise),
    ("a snapshot that there is no room for is one line", too_large),
    ("what can never fit drops no copies", too_large_drops_nothing),
    ("an audit goes on from a mark", goes_on),
    ("30 clients at once", many_at_once),
    ("five audits on one connection", several_on_one),
    ("epfctl audit, with the agent and without", by_tool),
    ("a snapshot above its limit", above_limit),
    ("epfctl audit of an agent that is not there", without_agent),
    ("what was counted is what was done", without_cost),
    ("epfctl audit of what no message says", unsaid),
]


def run(made):
    global files, agent
    files = made
    time.sleep(2.1)  # files that have just changed are not cached
    with a.Agent(files.dir) as agent:
        return tap.run(CASES)


if __name__ == "__main__":
    raise SystemExit(a.main(KEYS, run))
