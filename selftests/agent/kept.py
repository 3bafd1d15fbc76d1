#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A watched directory keeps so many results, and runs a program after each audit."""

import json
import os
import shutil
import subprocess
import tempfile

import agent as a
import tap
import watch
from watch import KEYS, put, wait, watching

files = None


def own_names(own):
    return sorted(os.listdir(own))


def retention():
    """The oldest results go first, and nothing else, whatever the directory holds: links,
    other users' files, directories, verdicts of other files. The verdict of a file that is
    there stays, so that it is not audited again."""
    def at(name):
        return os.path.join(own, name)
    with watching("key-len=12,ages") as (g, own):
        for i in range(5):
            put(own, f"f{i}")
            wait(own, f"f{i}")
            os.utime(at(f"f{i}.audit.json"), (1000 + i, 1000 + i))
    youngest = sum(os.path.getsize(at(f"f{i}.{end}")) for i in (3, 4)
                   for end in ("bitmap", "ages"))
    with watching(f"key-len=12,ages,keep-bytes={youngest + 100}", dir=own) as (g, own):
        g.wait_log(rb": results of 3 files removed")
        for i in range(3):
            if os.path.exists(at(f"f{i}.ages")) or not os.path.exists(at(f"f{i}.audit.json")):
                return f"by the start: {own_names(own)}"
            shutil.copy(at("f4.ages"), at(f"f{i}.ages"))
        os.symlink(files.path("column"), at("l.audit.json"))
        os.mkdir(at("d.audit.json"))
        a.write(at("v.audit.json"), b'{"file": "v"}')
        a.write(at("v.bitmap"), b"of another user")
        for name in ("v.audit.json", "v.bitmap"):
            os.chown(at(name), 4242, 4242)
        a.write(at("o.audit.json"), json.dumps({"file": "f4", "size": 1}).encode())
        a.write(at("o.bitmap"), b"not of the agent")
        os.link(at("f0.ages"), files.path("linked"))
        for name in ("o", "v"):
            os.utime(at(name + ".audit.json"), (1, 1))
        os.unlink(at("f1"))
        before = set(own_names(own))
        g.reload()
        g.wait_log(rb": results of 2 files removed")
        gone = before - set(own_names(own))
        os.unlink(files.path("linked"))
        if gone != {"f1.ages", "f1.audit.json", "f2.ages"}:
            return f"gone: {gone}"
    with watching("key-len=12,keep-time=1h", dir=own) as (g, own):
        g.wait_log(rb": results of [23] files removed")
        left = [n for n in own_names(own) if n.startswith("f") and n.endswith((".bitmap", ".ages"))]
        return None if not set(left) - {"f0.ages"} and os.path.exists(at("f4.audit.json")) and \
            os.path.exists(at("o.bitmap")) and os.path.exists(at("v.bitmap")) else f"{own_names(own)}"


def busy():
    """The old results of a file that is being audited again stay; those of another file go."""
    conf, own = files.path("kept.conf"), files.path("watched")
    section = f"[watch w]\ndir = {own}\nfilter = {files.path('snap')}\nkey-len = 12\n"
    a.write(conf, section)
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own)
    with a.Agent(files.dir, "--config", conf, "--step", "64", name="busy") as g:
        for name in "file", "other":
            put(own, name)
            wait(own, name)
        with open(os.path.join(own, "file"), "ab") as f:
            f.truncate(12 << 30)
        a.poll(lambda: ".epfagent.bitmap" in own_names(own))
        a.write(conf, section + "keep-bytes = 1\n")
        g.reload()
        g.wait_log(rb": results of . files removed")
        left = [name for name in own_names(own) if name.endswith(".bitmap")]
    return None if left == [".epfagent.bitmap", "file.bitmap"] else f"{left}"


HOOK = """#!/bin/sh
for last; do :; done
{ id -u; id -G; pwd; printf '%s\\n' "$#" "$1" "$last"; env | sort; ls /proc/self/fd; } > "${0%/*}/said.new"
mv "${0%/*}/said.new" "${0%/*}/said"
case $last in *fail*) exit 3;; *slow*) sleep 100 & sleep 100;; esac
"""


def hooks():
    """After each audit a program runs, without a shell, as another user, with nothing of the
    agent's; its failure is logged, and it is killed when its time is over."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        program, said = os.path.join(place, "hook"), os.path.join(place, "said")
        with open(program, "w") as f:
            f.write(HOOK)
        os.chmod(program, 0o755)

        def told():
            a.poll(lambda: os.path.exists(said))
            with open(said) as f:
                text = f.read()
            os.unlink(said)
            return text.split("\n")
        with watching(f"key-len=12,hook={program} $(id) *,user=nobody,hook-time=1s",
                      env={"SECRET": "x"}) as (g, own):
            put(own, "a;touch b $(id)")
            text = told()
            wanted = ["65534", "65534", "/", "3", "$(id)", f"{own}/a;touch b $(id).audit.json"]
            if text[:6] != wanted or any("SECRET" in line for line in text) or \
                    [x for x in text[6:] if x.isdigit() and int(x) > 3]:
                return f"{text}"
            put(own, "fails")
            told()
            g.wait_log(rb"fails: the hook failed: exit status 3")
            put(own, "slow")
            told()
            put(own, "next")
            g.wait_log(rb"slow: the hook was killed: its time is over")
            if not told()[5].endswith("/next.audit.json"):
                return "the next one"
        with watching("key-len=12,hook=/nonexistent") as (g, own):
            put(own, "x")
            g.wait_log(rb"x: the hook could not be started")
    for bad in ("hook=true", "user=nobody", "hook=/bin/true,user=nobody-there", "keep-bytes=x"):
        if refused(bad) is None:
            return f"{bad} is taken"
    return None


def refused(options):
    """The agent does not start with these. Return: what it says."""
    done = subprocess.run([a.AGENT, "--config", "/dev/null", "--socket", files.path("no"), "--watch",
                           f"{files.dir}=x:{options}"], capture_output=True, timeout=a.PATIENCE)
    return done.stderr if done.returncode == 2 else None


CASES = [
    ("results that are kept", retention),
    ("results of a file that is audited again", busy),
    ("a program after each audit", hooks),
]


def run(made):
    global files
    files = watch.files = made
    return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(KEYS, run))
