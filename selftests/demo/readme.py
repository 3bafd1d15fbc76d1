# SPDX-License-Identifier: GPL-2.0
"""README's commands, pasted block by block in README's order on one host without the module.

Left out: what builds and installs, changes users, or needs a cluster.
"""

import contextlib
import gzip
import os
import re
import shutil
import struct
import subprocess
import tempfile

import default_drop
from default_drop import SERVED, THEM, TOP, US, run

ELSEWHERE = re.compile(r"^(sudo )?make |usermod|/dev/epochfilter|--cluster|^include/uapi")
MODULE_ONLY = "--kind ge"
LOG = b'192.0.2.7 - - [29/Nov/2026:14:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'
DIGEST = 0x0123456789abcdef


def blocks():
    """Return [(line, commands)]."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        text = f.read()
    return [(text[:found.start()].count("\n") + 1, re.sub("^    ", "", found[0], flags=re.M))
            for found in re.finditer(r"(?:^ {4}.*\n)+", text, re.M)
            if not ELSEWHERE.search(re.sub("^    ", "", found[0]))]


def wanted_files():
    """What the commands read, in the current directory."""
    packet = struct.pack("<IIII", 1, 0, 60, 60) + bytes(range(60))
    head = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    for name, data in (("in.pcap", head + 2 * packet), ("today.log.zst", LOG),
                       ("access.log.1.gz", gzip.compress(LOG)),
                       ("flows.csv", b"addr,n\n192.0.2.7,1\n192.0.2.8,2\n"),
                       ("digests.bin", struct.pack("<QQ", DIGEST, 1))):
        with open(name, "wb") as f:
            f.write(data)
    os.mkdir("shared")
    with open(os.open("flows.key", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("0123456789abcdef" * 2)


def here(text):
    """The commands with places of this test."""
    return text.replace("/shared/", "shared/").replace("/etc/epochfilter/", "") \
        .replace("/usr/local/share/epochfilter", TOP + "/bpf") \
        .replace("/usr/local/include/epochfilter",
                 f"{TOP}/bpf -I{TOP}/include -I{TOP}/include/uapi")


class Reader:
    """Pastes the blocks, and sends packets from the other end of eth0."""

    def __init__(self):
        self.host = default_drop.Host("eth0")
        for dev in "eth1", "wan":
            run("ip", "link", "add", dev, "type", "veth", "peer", "name", dev + "-peer")
            run("ip", "link", "set", dev, "up")

    def heard(self, *texts):
        """Send these to the port that is served. Return those that come."""
        served, came = self.host.own[6, SERVED], []
        for text in (*texts, b"the last"):
            self.host.peer[6, 0].sendto(text, (US[6], SERVED))
        while not came or came[-1] != b"the last":
            came.append(served.recv(99))
        return came[:-1]

    def repeats(self):
        return None if self.heard(b"twice", b"twice") == [b"twice"] else "a repeat is not dropped"

    def answers(self):
        dns = self.host.peer[6, 53]
        if not self.host.asks(default_drop.udp(6, US[6]), dns, (THEM[6], 53)):
            return "an answer does not come"
        dns.sendto(b"unasked", (US[6], SERVED))
        return "what nobody asked for passes" if self.heard() else None

    def admitted(self):
        return None if self.heard(b"seen") == [b"seen"] else "a packet below the rate is dropped"

    def one_each(self):
        """A packet that is not IPv4 passes, and later than those before it."""
        served = self.host.own[4, SERVED]
        for text in b"first", b"second":
            self.host.peer[4, 0].sendto(text, (US[4], SERVED))
        self.heard()
        served.setblocking(False)
        came = []
        with contextlib.suppress(BlockingIOError):
            while True:
                came.append(served.recv(99))
        return None if came == [b"first"] else f"of one sender came {came}"

    def digest(self):
        run("epfctl", "insert", "seen", "--digest", f"{DIGEST:016x}")

    def paste(self, text):
        """Return the exit status and what was printed."""
        script = 'sudo() { "$@"; }\n' + here(text)
        done = subprocess.run(["timeout", "30", "bash", "-e", "-c", script], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout


# How a block is known, and: before the line that contains this, or at the block's end, this
# happens to the host; what the block prints.
STEPS = {
    "create repeats": (" status ", Reader.repeats, r"\brecent +drop +1 packets"),
    "attach eth1": ("", None, "eth1: .* drop, "),
    "dedup in.pcap": ("", None, " 1 removed"),
    "create seen ": ("", None, "seen within the hour"),
    "create sent": ("", None, "object-pinned /sys/fs/bpf/sent-in"),
    "save seen": (" save ", Reader.digest, "(?s)present +1 of 2 keys.*present +1 of 2 keys"),
    "build day.epf": ("", None, "(?s)192.0.2.7 present.*present +1 of 1 keys"),
    "create flows": ("", None, "merged 1 snapshots"),
    "plan --window": ("", None, "needs? the module|without the module"),
    "create peers": (" status ", Reader.answers, r"(?s)\brecent +pass +1 .*\babsent +drop +1 "),
    "attach wan": ("", None, "wan: .*reflexive"),
    "attach --hook": ("", None, "nf:prerouting:-310: "),
    "create known": ("", Reader.admitted, "eth0: .*admit"),
    "create logged": (" log ", Reader.admitted, ""),
    "create senders": ("", Reader.one_each, ""),
    "detach eth0": ("", None, ""),
}


def follow(reader, text):
    """Return what is wrong with a block."""
    place, act, said = next((step for first, step in STEPS.items() if first in text),
                            ("", None, "a row of STEPS for this block"))
    lines = text.splitlines(keepends=True)
    cut = next((i for i, line in enumerate(lines) if place and place in line), len(lines))
    faults, printed = [], ""
    for part in "".join(lines[:cut]), None, "".join(lines[cut:]):
        if part is None:
            try:
                faults += [fault for fault in [act and act(reader)] if fault]
            except OSError as error:
                faults.append(f"a packet does not come: {error}")
        elif part:
            status, out = reader.paste(part)
            printed += out
            if status != (2 if MODULE_ONLY in part else 0):
                faults.append("a command does not end" if status == 124 else f"exit {status}")
    if not re.search(said, printed):
        faults.append(f"'{said}' is not printed")
    if faults:
        faults.append(printed)
    return faults


def in_order():
    """Paste all blocks."""
    os.chdir(tempfile.mkdtemp())
    try:
        wanted_files()
        reader, faults = Reader(), []
        for line, text in blocks():
            if "clang" in text and not (shutil.which("clang") and shutil.which("bpftool")):
                continue
            faults += [f"line {line}: {fault}" for fault in follow(reader, text)]
        with open("flows.json", encoding="utf-8") as f:
            if not f.read():
                faults.append("no flow is logged")
        return faults
    finally:
        shutil.rmtree(os.getcwd())


def case():
    default_drop.needs_hooks("--hook")
    try:
        return default_drop.forked(in_order)
    finally:
        default_drop.clean()
