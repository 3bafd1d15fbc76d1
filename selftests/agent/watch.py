#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A watched directory: each finished file is audited once, and its result, written beside
it, is complete or missing whenever the agent is killed.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess

import agent as a
import tap

KEYS = 3001
KILLS = 60  # most calls of one round
LINKS = 131072  # twice as many as a watch remembers
files = None


@contextlib.contextmanager
def watching(options="key-len=12,ages", target=None, *args, env=None,
             dir=None, name="w"):
    """A running agent that watches a folder, and the folder."""
    target = target or files.path("snap")
    own = dir or files.path("watched")
    if not dir:
        shutil.rmtree(own, ignore_errors=True)
        os.mkdir(own)
    option = f"{own}={target}" + (f":{options}" if options else "")
    with a.Agent(files.dir, "--watch", option, *args, env=env, name=name) as g:
        yield g, own


def put(own, name, source="column"):
    """Write a file into the folder."""
    a.write(os.path.join(own, name), files.read(source))


def verdict(own, name):
    try:
        with open(os.path.join(own, name + ".audit.json")) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def wait(own, name):
    a.poll(lambda: verdict(own, name))
    return verdict(own, name)


def content(own, name):
    with open(os.path.join(own, name), "rb") as f:
        return f.read()


def whole(own, name):
    """Is the result for a file with keys known to be present as expected?"""
    v = verdict(own, name)
    bitmap, ages = content(own, name + ".bitmap"), content(own, name + ".ages")
    if bitmap != files.read("bitmap") or ages != files.read("ages"):
        return f"{name}: another answer"
    if v["done"]["mark"]["keys"] != KEYS or v["asked"]["epoch"] != 40 or \
            v["size"] != os.stat(os.path.join(own, name)).st_size:
        return f"{name}: verdict {v}"
    return None


def strays(own, names):
    """Return, as text, what exists besides the files and their results; None: nothing."""
    good = set(names)
    for name in names:
        good |= {name + end for end in (".bitmap", ".ages", ".audit.json")}
    left = sorted(set(os.listdir(own)) - good)
    return f"there is {left}" if left else None


def comes():
    """Files written, moved in, and there from the start."""
    own = files.path("watched")
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own)
    put(own, "before")
    with watching(dir=own) as (g, own):
        put(own, "written")
        shutil.copy(files.path("column"), files.path("elsewhere"))
        os.rename(files.path("elsewhere"), os.path.join(own, "moved"))
        names = ["before", "written", "moved"]
        for name in names:
            wait(own, name)
        g.settle()
        if g.status()["files_done"] != 3:
            return f"status {g.status()}"
        fault = next(filter(None, (whole(own, n) for n in names)), None)
        return fault or strays(own, names)


def no_input():
    """Links, pipes, folders, hidden files and result files are ignored; of files with
    several names, one name is audited."""
    with watching() as (g, own):
        os.symlink(files.path("column"), os.path.join(own, "link"))
        os.mkfifo(os.path.join(own, "pipe"))
        os.mkdir(os.path.join(own, "folder"))
        for name in (".hidden", "x.bitmap", "x.ages", "x.records",
                     "x.audit.json", "n" * 250):
            put(own, name)
        put(own, "last")
        wait(own, "last")
        g.reload()
        put(own, "again")
        wait(own, "again")
        g.settle()
        if g.status()["files_done"] != 2:
            return f"status {g.status()}"
        made = [n for n in os.listdir(own) if n.endswith(".audit.json")]
        return None if len(made) == 3 else f"{made}"


def written_elsewhere():
    """The last writer opened the file by a link in another directory, so its close is no
    event of this one. The kernel also reports a close before it drops the writer, which
    gives the same situation.
"""
    with watching() as (g, own):
        name, link = os.path.join(own, "linked"), files.path("link")

        def of_now():  # an old verdict is removed before the new one appears
            v = verdict(own, "linked")
            return v and v["size"] == os.stat(name).st_size

        with contextlib.suppress(FileNotFoundError):
            os.unlink(link)
        put(own, "linked")
        wait(own, "linked")
        os.link(name, link)
        with open(link, "r+b") as writer:
            put(own, "linked", "column")
            with open(name, "ab") as f:
                f.write(files.read("column")[:12])
            put(own, "other")
            wait(own, "other")
            g.settle()
            if of_now():
                return "audited while it was written"
            writer.flush()
        a.poll(of_now)
        os.unlink(link)
        return None


def still_written():
    """A file that a process has open for writing is not finished."""
    own = files.path("watched")
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own)
    column = files.read("column")
    with open(os.path.join(own, "slow"), "wb") as f:
        f.write(column[:12])
        f.flush()
        with watching(dir=own) as (g, own):
            put(own, "other")
            wait(own, "other")
            g.settle()
            if verdict(own, "slow"):
                return "audited before it was finished"
            f.write(column[12:])
            f.close()
            wait(own, "slow")
    return whole(own, "slow")


def once():
    """A file is not audited again by another agent, or after a reload, but when it changes."""
    with watching() as (g, own):
        put(own, "file")
        wait(own, "file")
    first = os.stat(os.path.join(own, "file.audit.json")).st_mtime_ns
    with watching(dir=own) as (g, own):
        put(own, "other")
        wait(own, "other")
        g.settle()
        if g.status()["files_done"] != 1 or first != \
                os.stat(os.path.join(own, "file.audit.json")).st_mtime_ns:
            return "audited twice"
        a.write(os.path.join(own, "file"), files.read("column")[:120])
        a.poll(lambda: (verdict(own, "file") or {}).get("size") == 120)
        if content(own, "file.bitmap") != \
                bytes([files.read("bitmap")[0],
                       files.read("bitmap")[1] & 3]):
            return "another answer"
    return None


def stopped(process):
    with open(f"/proc/{process.pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0] == "T"


def overflowed():
    """More events than the kernel queues while the agent is stopped: the files that the
    lost events were about, also in another directory, are found by reading both directories
    again."""
    with open("/proc/sys/fs/inotify/max_queued_events") as f:
        most = int(f.read())
    other = files.path("other")
    shutil.rmtree(other, ignore_errors=True)
    os.mkdir(other)
    with watching("key-len=12,ages", None, "--watch",
                  f"{other}={files.path('snap')}:key-len=12,ages") as (g, own):
        put(own, "early")
        wait(own, "early")
        g.process.send_signal(signal.SIGSTOP)
        try:
            a.poll(lambda: stopped(g.process))
            for n in range(most + 1):
                with open(os.path.join(own, f".{n % 2}"), "wb"):
                    pass
            put(own, "late")
            put(other, "late")
        finally:
            g.process.send_signal(signal.SIGCONT)
        wait(own, "late")
        wait(other, "late")
        return whole(own, "late") or whole(other, "late")


def failing():
    """A verdict of one line, and no results, not even older ones."""
    with watching() as (g, own):
        put(own, "file")
        wait(own, "file")
        a.write(os.path.join(own, "file"), b"x" * 13)
        a.poll(lambda: "error" in (verdict(own, "file") or {}))
        v = verdict(own, "file")
        if v["errno"] != 74 or "\n" in v["error"] or \
                sorted(os.listdir(own)) != ["file", "file.audit.json"]:
            return f"verdict {v}, {os.listdir(own)}"
    with watching(dir=own) as (g, own):
        put(own, "other")
        wait(own, "other")
        g.settle()
        if g.status()["files_done"] != 1:
            return "tried again"
        put(own, "file")
        a.poll(lambda: "done" in (verdict(own, "file") or {}))
        return whole(own, "file")


@contextlib.contextmanager
def small_disk(pages):
    """A folder with room for the column and so many pages, and a function that makes more
    room."""
    if os.geteuid():
        raise tap.Skip("needs root to mount a file system")
    own = files.path("small")
    os.makedirs(own, exist_ok=True)
    page = os.sysconf("SC_PAGE_SIZE")
    size = -(-len(files.read("column")) // page) * page + pages * page

    def mount(*args):
        return subprocess.run(["mount", *args, own], capture_output=True).returncode
    if mount("-t", "tmpfs", "-o", f"size={size}", "none"):
        raise tap.Skip("no file system can be mounted here")
    try:
        yield own, lambda: mount("-o", "remount,size=1M")
    finally:
        subprocess.run(["umount", "-l", own], check=True)


FULL = os.strerror(errno.ENOSPC)


def full_for_parts():
    """There is room for one of two parts: the verdict says which part did not fit, and why.
    When there is room and the file comes again, it is audited."""
    with small_disk(1) as (own, more_room), watching(dir=own) as (g, own):
        put(own, "file")
        v = wait(own, "file")
        left = sorted(os.listdir(own))
        if v.get("error") != f"cannot write the ages: {FULL}" or \
                v["errno"] != errno.ENOSPC:
            return f"verdict {v}"
        if left != ["file", "file.audit.json"]:
            return f"there is {left}"
        g.wait_log(rf"^warning: {own}/file: \S+: cannot write the ages: "
                   rf"{FULL}$".encode())
        more_room()
        put(own, "file")
        a.poll(lambda: "done" in (verdict(own, "file") or {}))
        return whole(own, "file")


def full_for_verdicts():
    """No room at all: the log says so, and nothing is left. When there is room, the file is
    audited without further action."""
    with small_disk(0) as (own, more_room), watching(dir=own) as (g, own):
        put(own, "file")
        g.wait_log(rf"^warning: {own}/file: \S+: cannot write the result: {FULL}$".encode())
        a.poll(lambda: os.listdir(own) == ["file"])
        more_room()
        wait(own, "file")
        return whole(own, "file")


def many_names():
    """More files than may wait at once, nearly all of them ignored: those to be audited are
    found wherever they are, and clients are answered meanwhile."""
    own = files.path("watched")
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own)
    good = [f"file{i}" for i in range(8)]
    for name in good[:4]:
        put(own, name)
    for i in range(LINKS):
        os.symlink("nowhere", os.path.join(own, f"link{i}"))
    for name in good[4:]:
        put(own, name)
    with watching(dir=own) as (g, own):
        g.status()
        for name in good:
            wait(own, name)
        g.settle()
    shutil.rmtree(own)
    return None


def stuck_verdict():
    """An old verdict that cannot be removed: no new parts appear beside it. When it can be
    removed, the file is audited."""
    own = files.path("watched")
    shutil.rmtree(own, ignore_errors=True)
    os.makedirs(os.path.join(own, "file.audit.json"))
    put(own, "file.bitmap")
    with watching(dir=own) as (g, own):
        put(own, "file")
        g.wait_log(rb"file: \S+: cannot write the result: ")
        if content(own, "file.bitmap") != files.read("column") or \
                len(os.listdir(own)) != 3:
            return f"{os.listdir(own)}"
        os.rmdir(os.path.join(own, "file.audit.json"))
        wait(own, "file")
    return whole(own, "file")


def no_target():
    with watching(target="/no/such/snapshot") as (g, own):
        put(own, "file")
        v = wait(own, "file")
        if v.get("errno") != 2:
            return f"verdict {v}"
    return strays(own, ["file"])


def with_records():
    with watching("format=csv,header,records,fields=key") as (g, own):
        put(own, "keys", "keys.csv")
        v = wait(own, "keys")
    if v["done"]["mark"]["keys"] != KEYS:
        return f"verdict {v}"
    rows = content(own, "keys.records").splitlines()
    return None if len(rows) == v["done"]["mark"]["present"] + 1 else \
        f"{len(rows)} rows"


def fragments():
    """A capture with the first fragment of an IPv4 datagram and the second."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for flags in (0x2000, 0x0002):
        frame = bytes(12) + b"\x08\0\x45\0" + struct.pack(
            ">HHHBBH", 36, 7, flags, 64, 17, 0) + bytes(range(24))
        out += struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame
    return out


def by_nfdump():
    """A file of nfcapd: nfdump prints it."""
    if not shutil.which("nfpcapd"):
        raise tap.Skip("no nfdump")
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for port in range(1, 8):
        frame = bytes(12) + b"\x08\0\x45\0" + struct.pack(
            ">HHHBBHIIHHHH", 28, 7, 0, 64, 17, 0, 1, 2, port, 53, 8, 0)
        out += struct.pack("<IIII", 1700000000, 0, len(frame), len(frame)) + frame
    a.write(files.path("flows.pcap"), out)
    flows = files.path("flows")
    os.makedirs(flows, exist_ok=True)
    subprocess.run(["nfpcapd", "-r", files.path("flows.pcap"), "-w", flows], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with watching("format=nfdump,key=flow") as (g, own):
        a.write(os.path.join(own, "f"), files.read(os.path.join("flows", min(os.listdir(flows)))))
        v = wait(own, "f")
    return None if "done" in v and v["done"]["mark"]["keys"] == 7 else f"verdict {v}"


def by_wiretap():
    """Captures in a format of Wireshark: detected, and their records that are not packets
    counted."""
    there = os.path.join(a.BUILD, "user/epf-wiretap")
    if not os.access(there, os.X_OK):
        raise tap.Skip("epf-wiretap is not built: no libwireshark-dev")
    frame = bytes(12) + b"\x08\0\x45\0" + struct.pack(">HHHBBH", 28, 7, 0, 64, 17, 0) + bytes(16)
    snoop = b"snoop\0\0\0" + struct.pack(">II", 2, 4)
    erf = b""
    for i in range(3):
        data = frame[:-1] + bytes([i])
        snoop += struct.pack(">IIIIII", len(data), len(data), 24 + len(data), 0, 1, 0) + data
        erf += struct.pack("<Q", 1 << 32) + struct.pack(
            ">BBHHH", 2, 4, 18 + len(data), 0, len(data)) + bytes(2) + data
    erf += 2 * (struct.pack("<Q", 1 << 32) + struct.pack(">BBHHH", 27, 4, 32, 0, 16) + bytes(16))
    for options, data, left_out in (("format=auto,key=frame", snoop, 0), ("format=pcap,key=frame", erf, 2)):
        with watching(options, env={"EPF_WIRETAP": there}) as (g, own):
            a.write(os.path.join(own, "f"), data)
            v = wait(own, "f")
            ran = subprocess.run([a.EPFCTL, "audit", "-j", "--agent", g.path, "--key", "frame",
                                  "--format", "pcap" if left_out else "auto", files.path("snap"),
                                  os.path.join(own, "f")], capture_output=True, check=False)
        if "done" not in v or (v["done"]["mark"]["keys"], v["done"]["left_out"]) != (3, left_out):
            return f"{options}: verdict {v}"
        if ran.returncode or json.loads(ran.stdout)["left_out"] != left_out or \
                (b"not packets are left out" in ran.stderr) != bool(left_out):
            return f"{options}: {ran}"
    return None


def packet_keys():
    """The key of packets as in epfctl: without its ports a fragment has no key."""
    for options, keys in (("key=peer-port,prefix=24/64,reverse,errors", 2),
                          ("key=peer-port,fragments=pass,scope=vlan", 1),
                          ("key=conversation,fragments=id,zone=7", 2)):
        with watching(f"format=pcap,{options}") as (g, own):
            a.write(os.path.join(own, "f"), fragments())
            v = wait(own, "f")
        if "done" not in v or v["done"]["mark"]["keys"] != keys:
            return f"{options}: verdict {v}"
    for options, why in (("key=flow,prefix=24", "--prefix goes with"),
                         ("scope=iface", "packets do not have this here"),
                         ("zone=65536", "--zone '65536'"),
                         ("reverse=1", "unknown option or value"),
                         ("key", "unknown option")):
        run = subprocess.run([a.AGENT, "--watch", f"/tmp=x:{options}"],
                             capture_output=True, text=True)
        if not run.returncode or why not in run.stderr:
            return f"{options}: {run}"
    return None


def changes_meanwhile():
    """The file is replaced again and again while it is audited."""
    with watching("key-len=12,ages", None, "--step", "64") as (g, own):
        for i in range(200):
            put(own, "file", "column" if i % 2 else "digests")
            shutil.copy(files.path("column"), files.path("new"))
            os.rename(files.path("new"), os.path.join(own, "file"))
        put(own, "last")
        wait(own, "last")
        a.poll(lambda: (verdict(own, "file") or {}).get("inode") ==
               os.stat(os.path.join(own, "file")).st_ino)
        g.settle()

        def all_told_of():  # an event that came late may have started one more audit
            told = [line for line in g.text().splitlines() if own.encode() in line]
            return g.status()["files_done"] == sum(b"changed during the audit" not in line for line in told)
        a.poll(all_told_of)
    return whole(own, "file") or strays(own, ["file", "last"])


def changes_silently():
    """The file gets another time during its audit, and there is no event of that."""
    with watching("key-len=12,ages", None, "--step", "64") as (g, own):
        put(own, "file")
        while b"changed during the audit" not in g.text():
            os.utime(os.path.join(own, "file"))
            if verdict(own, "file"):
                os.unlink(os.path.join(own, "file.audit.json"))
                put(own, "file")
        wait(own, "file")
        g.settle()
    return whole(own, "file") or strays(own, ["file"])


def no_data_there():
    with a.Agent(files.dir, "--watch", f"/proc/self={files.path('snap')}",
                 name="proc") as g:
        text = g.text()
    return None if b"/proc/self: the agent does not support this file system" in text else f"{text}"


def one_agent():
    with watching() as (g, own):
        other = a.Agent(files.dir, "--watch", f"{own}={files.path('snap')}",
                        name="second")
        with other:
            if b"another agent is watching it" not in other.text():
                return f"it said {other.text()}"
    return None


def reload_watches():
    """SIGHUP adds a directory, by a section of its own, and removes one of one line."""
    one, two = files.path("one"), files.path("two")
    for dir in (one, two):
        shutil.rmtree(dir, ignore_errors=True)
        os.mkdir(dir)
    conf = files.path("watch.conf")

    def watch(dir):
        snap = files.path("snap")
        a.write(conf, f"watch = {dir}={snap}:key-len=12,ages\n" if dir == one else
                f"# in its own section\n[watch two]\n  dir = {dir}\n  filter = {snap}\n"
                "  key-len = 12\n  ages = yes\n")
    watch(one)
    with a.Agent(files.dir, "--config", conf, name="r") as g:
        put(one, "a")
        wait(one, "a")
        watch(two)
        put(two, "b")
        g.process.send_signal(signal.SIGHUP)
        wait(two, "b")
        put(one, "late")
        put(two, "c")
        wait(two, "c")
        g.settle()
        if verdict(one, "late"):
            return "still watched"
        with watching(dir=one, name="second") as (other, _):
            if b"another agent is watching it" in other.text():
                return "still held"
            wait(one, "late")
    return whole(one, "a") or whole(two, "b") or whole(two, "c")


def replaced():
    """Another directory in its place, and none, each with SIGHUP."""
    with watching() as (g, own):
        put(own, "a")
        wait(own, "a")
        os.rename(own, files.path("away"))
        g.reload(rb"watched: No such file")
        os.mkdir(own)
        put(own, "b")
        g.process.send_signal(signal.SIGHUP)
        wait(own, "b")
        put(own, "c")
        wait(own, "c")
        put(files.path("away"), "late")
        g.settle()
        late = verdict(files.path("away"), "late")
    shutil.rmtree(files.path("away"))
    if late:
        return "what was moved away is still watched"
    return whole(own, "b") or whole(own, "c") or strays(own, ["b", "c"])


def check_all(own, names):
    """All results are complete at any time."""
    for name in names:
        v = verdict(own, name)
        if v and (v["size"] == os.stat(os.path.join(own, name)).st_size):
            fault = whole(own, name)
            if fault:
                return fault
    return None


def renewed(own):
    """Is the old result replaced, and complete? The verdict is read once: the agent removes
    an old one before it writes the new one."""
    return ((verdict(own, "a") or {}).get("size", 0) > 1 and
            not strays(own, ["a"]))


def killed_at(point, own):
    """Kill the agent before the point-th call that changes something. Return: was it
    killed?"""
    died = files.path("died")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(died)
    env = {"LD_PRELOAD": os.path.join(a.BIN, "die.so"), "EPF_DIE": str(point),
           "EPF_DIED": died}
    with contextlib.suppress(AssertionError):
        with watching("key-len=12,ages", None, "--step", "512", env=env,
                      dir=own, name="k") as (g, own):
            a.poll(lambda: g.process.poll() is not None or renewed(own))
            g.stop()
    return os.path.exists(died)


def old_whole(own):
    """Where the old verdict remains, the old parts remain."""
    if (verdict(own, "a") or {}).get("size") != 1:
        return None
    parts = content(own, "a.bitmap"), content(own, "a.ages")
    return None if parts == (b"old", b"old") else "an old verdict of new parts"


def killed_everywhere():
    """Kill at each call of an agent that audits a file which had a result for older
    contents."""
    own = files.path("watched")
    for point in range(1, KILLS):
        shutil.rmtree(own, ignore_errors=True)
        os.mkdir(own)
        put(own, "a")
        for end, data in (("bitmap", b"old"), ("ages", b"old"),
                          ("audit.json", b'{"size": 1, "mtime_ns": 1, '
                                         b'"inode": 1}')):
            a.write(os.path.join(own, "a." + end), data)
        if not killed_at(point, own):
            return None if point > 20 else f"only {point - 1} calls"
        fault = check_all(own, ["a"]) or old_whole(own)
        if fault:
            return f"killed before call {point}: {fault}"
        with watching(dir=own, name="n") as (g, own):
            a.poll(lambda: "done" in (verdict(own, "a") or {}) and
                   not strays(own, ["a"]))
        fault = whole(own, "a")
        if fault:
            return f"after being killed before call {point}: {fault}"
    return f"more than {KILLS} calls"


def killed_anywhen():
    """Again and again, at random moments, while files arrive."""
    r = tap.drawn(3)
    own = files.path("watched")
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own)
    names = []
    for i in range(25):
        with watching("key-len=12,ages", None, "--step", "64", dir=own,
                      name="k") as (g, own):
            for _ in range(r.randrange(4)):
                names.append(f"file{len(names)}")
                put(own, names[-1])
            a.select.select([], [], [], r.random() / 20)
            g.stop(signal.SIGKILL)
        fault = check_all(own, names)
        if fault:
            return fault
    with watching(dir=own, name="n") as (g, own):
        a.poll(lambda: all(verdict(own, n) for n in names))
        g.settle()
    fault = check_all(own, names)
    return fault or strays(own, names)


def stops():
    """SIGTERM during an audit leaves nothing partial."""
    own = files.path("watched")
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own)
    a.sparse(own, "sparse", 1 << 40)  # too large to end before the agent is stopped
    with watching("", None, "--step", "4096", "--memory", "16M",
                  dir=own) as (g, own):
        a.poll(lambda: ".epfagent.bitmap" in os.listdir(own))
        status = g.stop()
    left = sorted(os.listdir(own))
    return None if not status and left == ["sparse"] else f"{status}, {left}"


def modes():
    """Results are private to the agent, unless a mode and a group are set."""
    gid = 65533 if not os.getuid() else os.getgid()
    faults = []
    for option, want in (("", (0o600, None)), (f",mode=644,group={gid}", (0o644, gid))):
        with watching("key-len=12,ages" + option) as (g, own):
            put(own, "x")
            wait(own, "x")
            for end in (".bitmap", ".ages", ".audit.json"):
                st = os.stat(os.path.join(own, "x" + end))
                got = stat.S_IMODE(st.st_mode), st.st_gid if want[1] else None
                if got != want:
                    faults.append(f"{option} {end}: {got}")
    return "\n".join(faults) or None


def quoted():
    """Paths with separator characters, escaped by a backslash."""
    own, snap = files.path("a=b:c\\d"), files.path("s:n=p\\q")
    os.makedirs(own, exist_ok=True)
    shutil.copy(files.path("snap"), snap)

    def quote(path):
        return re.sub(r"([\\=:])", r"\\\1", path)
    with a.Agent(files.dir, "--watch", f"{quote(own)}={quote(snap)}:key-len=12,ages",
                 name="q") as g:
        put(own, "x")
        wait(own, "x")
        watches = g.status()["watches"]
    fault = whole(own, "x")
    shutil.rmtree(own)
    return fault or (None if watches == [{"dir": own, "filter": snap}] else f"{watches}")


def logged():
    """Log lines have priorities; each file is logged by its name, each failure by its
    reason."""
    own = files.path("logged")
    os.makedirs(own, exist_ok=True)
    put(own, "good")
    a.write(os.path.join(own, "bad"), b"x" * 13)
    with open(files.path("j.log"), "wb") as f:  # file of the agent's log, made before the agent
        st = os.fstat(f.fileno())
    snap = files.path("snap")
    g = a.Agent(files.dir, "--watch", f"{own}={snap}:key-len=12,ages",
                env={"JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"}, name="j")
    try:
        g.wait_log(rb"^<6>epfagent ")
        wait(own, "good")
        why = wait(own, "bad")["error"]
    finally:
        g.stop()
    text = g.text().decode()
    shutil.rmtree(own)
    for line in (rf"<6>{own}/good: {snap}: {KEYS} keys, \d+ present, by \w+",
                 rf"<4>warning: {own}/bad: {snap}: {re.escape(why)}"):
        if not re.search(f"^{line}$", text, re.M):
            return f"no {line} in {text}"
    if why == os.strerror(22) or "user -1" in text or "user 4294967295" in text:
        return text
    other = [line for line in text.splitlines() if not re.match("<[346]>", line)]
    return f"{other}" if other else None


CASES = [
    ("files that are written, moved there, or there already", comes),
    ("what is no input", no_input),
    ("a file that is still being written waits", still_written),
    ("the end of a writer that is no event", written_elsewhere),
    ("once, and again when it has changed", once),
    ("more events than the kernel keeps", overflowed),
    ("a file that fails is a verdict, until it changes", failing),
    ("a disk too full for the results: a verdict says so", full_for_parts),
    ("a disk too full for the verdict: the log says so", full_for_verdicts),
    ("131,072 names in a directory", many_names),
    ("a verdict that cannot be removed", stuck_verdict),
    ("a target that is not there is a verdict", no_target),
    ("records and their rows", with_records),
    ("files of nfcapd", by_nfdump),
    ("captures in Wireshark's formats", by_wiretap),
    ("captures by any key of packets", packet_keys),
    ("permissions and group of results", modes),
    ("paths with '=', ':' and a backslash", quoted),
    ("what the log says of files, with priorities", logged),
    ("a file that changes while it is audited", changes_meanwhile),
    ("a file whose change is no event", changes_silently),
    ("one agent has a directory", one_agent),
    ("a directory where files are no data", no_data_there),
    ("directories come and go with SIGHUP", reload_watches),
    ("a directory that is removed and replaced", replaced),
    ("killed before each of its calls", killed_everywhere),
    ("killed at 25 random moments", killed_anywhen),
    ("stopped under way: nothing is left", stops),
]


def run(made):
    global files
    files = made
    return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(KEYS, run))
