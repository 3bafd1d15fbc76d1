#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Files of nfcapd, read by nfdump; and nfdumps that fail in every way.

usage: nfcapd.py [WORD]...: the cases with one of these functions' names
"""

import contextlib
import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

from common import *
import pcap
import tap
from tool import Skip, epfctl, real, tmp, DATA, EPFCTL, FETCHED

HEAD = b"\x0c\xa5\x02\0" + bytes(300)
LINE = "1700000000.250,  0.500,  10.0.0.1, 10.0.0.2,  7, 53,17   ,  1,  65"
ADVICE = "install it, or let"


def need():
    if not (shutil.which("nfpcapd") and shutil.which("nfdump")):
        raise Skip("no nfdump")


def made():
    """Files that nfpcapd makes of real traffic, in order of time."""
    need()
    path, folder = real(FETCHED, "real.pcap"), tmp("nf")
    if not os.path.exists(folder):
        os.mkdir(folder)
        subprocess.run(["nfpcapd", "-r", path, "-w", folder], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path, [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def content(path):
    with open(path, "rb") as f:
        return f.read()


def as_printed():
    """The records, keys and order of 'nfdump -o csv', from files, pipes and gzip."""
    _, files = made()
    data = content(files[0])
    text = subprocess.run(["nfdump", "-r", files[0], "-o", "csv"], check=True,
                          stdout=subprocess.PIPE).stdout
    want = read(text, "nfdump", "key=flow")
    packed = tmp("packed.gz")
    with open(packed, "wb") as f:
        f.write(gzip.compress(data))
    for what, source, form in (("file", open(files[0], "rb"), "auto"),
                               ("named", open(files[0], "rb"), "nfdump"),
                               ("pipe", data, "auto"),
                               ("packed", open(packed, "rb"), "auto"),
                               ("packed pipe", gzip.compress(data), "auto")):
        got = read(source, form, "key=flow")
        again = read(got.prologue + got.raw, "auto", "key=flow")
        fault = differ("error", (got.error, got.why), (0, "")) or \
            differ("digests", got.digests, want.digests) or \
            differ("format", got.format, "nfdump") or \
            differ("read again", again.digests, want.digests)
        if fault:
            return f"{what}: {fault}"
    return None


def times():
    """The window of a snapshot ends with the last packet, to the millisecond, whatever the
    zone; names and paths do not matter."""
    path, files = made()
    last = max(p.ns for p in pcap.load(path).packets)
    odd = [tmp(name) for name in ("-r", "a\nb", "a;b $(x)")]
    for name in odd:
        shutil.copy(files[-1], name)
    ran = epfctl("build", "-j", tmp("n.epf"), "--time", "1h", "--rate", "100", "--key", "flow",
                 *files[:-1], *odd, env=dict(os.environ, TZ="Asia/Tokyo"))
    if ran.returncode:
        return ran.stderr.decode()
    report = json.loads(ran.stdout)
    here = epfctl("audit", "-j", "--no-agent", tmp("n.epf"), odd[1])
    return differ("last", report["last_ns"], last // 10**6 * 10**6) or \
        differ("present", json.loads(here.stdout)["present_share"], 1.0)


def udp(at_ns, addr, port):
    """A packet between two addresses of either family."""
    packet = struct.pack(">HHHH", port, 9999, 8, 0)
    if len(addr) == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 28, 1, 0, 64, 17, 0)
    else:
        head = struct.pack(">IHBB", 6 << 28, 8, 17, 64)
    kind = b"\x08\0" if len(addr) == 4 else b"\x86\xdd"
    return pcap.Packet(at_ns, bytes(12) + kind + head + addr + addr[::-1] + packet)


def ends():
    """The stamp of a flow is its end; addresses of IPv6 are whole."""
    need()
    start, long = 1_700_000_000_123, bytes(range(0x20, 0x30))
    packets = [udp((start + 1000 * i) * 10**6, addr, 7) for i in range(11)
               for addr in (b"\x0a\1\2\3", long)]
    path = pcap.Capture(packets).save(tmp("e.pcap"))
    os.makedirs(tmp("e"), exist_ok=True)
    subprocess.run(["nfpcapd", "-r", path, "-w", tmp("e")], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    files = [os.path.join(tmp("e"), name) for name in os.listdir(tmp("e"))]
    ran = epfctl("build", "-j", tmp("e.epf"), "--time", "1h", "--rate", "100", "--key", "flow",
                 *files)
    if ran.returncode:
        return ran.stderr.decode()
    report = json.loads(ran.stdout)
    here = epfctl("audit", "-j", "--no-agent", tmp("e.epf"), path)
    return differ("flows", report["inserted"], 2) or \
        differ("ends", {report["first_ns"], report["last_ns"]}, {(start + 10000) * 10**6}) or \
        differ("present", json.loads(here.stdout)["present"], 22)


def cut():
    """What is cut off is one error, from nfdump; garbled files do no harm."""
    _, files = made()
    data = content(files[0])
    r = rng(5)
    for n in (40, 300, len(data) // 2, len(data) - 1):
        got = read(data[:n], "auto", "key=flow")
        if got.error != EBADMSG or "nfdump" not in got.why:
            return f"{n} bytes: {got.error} {got.why}"
    for _ in range(40 if os.environ.get("EPF_THOROUGH") else 4):
        bad = bytearray(data)
        for _ in range(4):
            bad[r.randrange(4, len(bad))] ^= 1 << r.randrange(8)
        read(bytes(bad), "auto", "key=flow", "skip-bad")
    return None


@contextlib.contextmanager
def fake(script):
    """An nfdump of our own in front of all others."""
    folder = tmp("bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "nfdump")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + script + "\n")
    os.chmod(path, 0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = folder + ":" + before
    try:
        yield path
    finally:
        os.environ["PATH"] = before


def lines(n):
    return f"yes '{LINE}' | head -n {n}"


def failing():
    """However it fails, that is one error behind the records that it printed."""
    cases = [
        ("exit 3", "exit status 3"),
        ("echo; echo 'one thing' >&2; echo two >&2; exit 1", "nfdump: one thing"),
        ("printf 'odd\\001\\n' >&2", "nfdump: odd?"),
        ("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 0", "nfdump: xxx"),
        ("kill -9 $$", "signal 9"),
        ("printf '1700000000,0,10.0.0.1,10'; exit 2", "exit status 2"),
    ]
    for script, why in cases:
        with fake(lines(5000) + "; " + script):
            got = read(HEAD, "auto", "key=flow")
        fault = differ("error", (got.error, why in got.why), (EBADMSG, True)) or \
            differ("records", got.records, 5000)
        if fault:
            return f"{script}: {got.why} {fault}"
    with fake("exit 0"):
        return differ("nothing", read(HEAD, "auto", "key=flow").records, 0)


def missing():
    """Without an nfdump, the advice, from every verb."""
    before = os.environ["PATH"]
    os.environ["PATH"] = tmp("nowhere")
    with open(tmp("head"), "wb") as f:
        f.write(HEAD)
    try:
        got = read(HEAD, "auto", "key=flow")
        ran = epfctl("build", tmp("x.epf"), "--time", "1h", "--rate", "9", tmp("head"))
    finally:
        os.environ["PATH"] = before
    return differ("reader", (got.error, ADVICE in got.why), (EBADMSG, True)) or \
        differ("build", (ran.returncode, ADVICE in ran.stderr.decode()), (2, True))


def confined():
    """It has no capabilities, nothing open beyond the standard three, bounded memory."""
    ask = "{ grep -E '^(CapEff|CapPrm|NoNewPrivs)' /proc/self/status; ls /proc/$$/fd; " \
        "ulimit -d; tr '\\0' '\\n' < /proc/$$/environ; } > " + tmp("said")
    fd = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(fd, True)
    with fake(ask):
        subprocess.run(command("auto", "key=flow"), input=HEAD, pass_fds=[fd], check=True,
                       stdout=subprocess.DEVNULL)
    os.close(fd)
    said = content(tmp("said")).decode().split()
    caps = [word for word in said if len(word) == 16]
    fds = [word for word in said if word.isdigit() and len(word) == 1]
    return differ("capabilities", caps, ["0" * 16] * 2) or \
        differ("no new privileges", said[said.index("NoNewPrivs:") + 1], "1") or \
        differ("memory", str((256 << 20) // 1024) in said, True) or \
        differ("locale", "LC_ALL=C" in said, True) or \
        differ("open", sorted(set(fds) - set("012")), [])


def gone(path):
    """Has the process whose number is in the file ended, and was it waited for?"""
    for _ in range(500):
        with contextlib.suppress(FileNotFoundError, ValueError):
            with open(path) as f:
                pid = int(f.read())
            return not os.path.exists(f"/proc/{pid}")
        time.sleep(.01)
    raise AssertionError("never started")


def stopped():
    """A reader that stops early ends it: at a bad line, at Ctrl-C, and while the file is copied
    for it, which needs no signal to interrupt a read."""
    mark = tmp("pid")
    begin = f"echo $$ > {mark}.new; mv {mark}.new {mark}; "
    with fake(begin + "echo bad; exec sleep 1000"):
        got = read(HEAD, "auto", "key=flow")
        fault = differ("bad line", (got.error, "line 2" in got.why), (EBADMSG, True)) or \
            differ("ended", gone(mark), True)
    os.unlink(mark)
    if fault:
        return fault
    with fake(begin):
        got = read(HEAD, "auto", "key=flow", "stop")
    fault = differ("copy", (got.error, got.why), (EINTR, "interrupted")) or \
        differ("started", os.path.exists(mark), False)
    if fault:
        return fault
    with open(tmp("head"), "wb") as f:
        f.write(HEAD)
    with fake(begin + lines(3) + "; exec sleep 1000"):
        ran = subprocess.Popen([EPFCTL, "build", tmp("s.epf"), "--time", "1h", "--rate", "9",
                                tmp("head")], stderr=subprocess.PIPE)
        while not os.path.exists(mark):
            time.sleep(.01)
        for _ in range(500):
            ran.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                ran.wait(.1)
                break
        said = ran.communicate()[1]
    return differ("exit", ran.returncode, 128 + signal.SIGINT) or \
        differ("one line", said, b"error: interrupted: nothing is written\n") or differ("ended", gone(mark), True) or \
        differ("no output", os.path.exists(tmp("s.epf")), False)


def much():
    """Any length of text takes the memory of a reader."""
    with fake(lines(200000)):
        got = read(HEAD, "auto", "key=flow", "quiet", memory=64 << 20)
    return differ("records", (got.records, got.error), (200000, 0))


CASES = [
    ("the records that 'nfdump -o csv' prints, from files, pipes and gzip", as_printed),
    ("times to the millisecond, in any zone; odd names", times),
    ("flows end when they end; IPv6", ends),
    ("files that are cut off or garbled", cut),
    ("an nfdump that fails, complains or is killed", failing),
    ("no nfdump: the advice", missing),
    ("no capabilities, no descriptors, bounded memory", confined),
    ("stopped early: it ends, and no process is left", stopped),
    ("long output in bounded memory", much),
]

if __name__ == "__main__":
    tap.main([case for case in CASES
              if case[1].__name__ in sys.argv[1:] or not sys.argv[1:]])
