#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The recipes of docs/FIREWALL.md, run as they stand there.

This process has a network namespace of its own, whose eth0 leads to a peer's, and
/sys/fs/bpf for itself; all of it goes when it ends.
"""

import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(TOP, "selftests/dedup"))

sys.path.append(HERE)
import default_drop  # noqa: E402
import readme  # noqa: E402
import tap  # noqa: E402

BUILT = os.path.join(TOP, "build/user")
PAGE = os.path.join(TOP, "docs/FIREWALL.md")
CLONE_NEWNET = 0x40000000
CLIENT, SERVER, STRANGER = "10.53.0.1", "10.53.0.2", "10.53.0.3"
DNS, OPEN, OTHER = 53, 4500, 4000
NEW_RATE, NEW_BURST = 100, 10  # of the recipe
FLOWS, PACKETS = 20, 3

os.environ["PATH"] = ":".join([BUILT, os.environ["PATH"], "/usr/sbin", "/sbin"])
os.environ["EPF_BACKEND"] = "bpf"
libc = ctypes.CDLL(None, use_errno=True)


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, **how)


def block(recipe, name):
    """The commands below the line "@name:" of a recipe."""
    with open(PAGE) as f:
        page = f.read()
    section = page.split(f"\n## {recipe}\n")[1].split("\n## ")[0]
    return re.search(rf"\n{name}:\n\n```sh\n(.*?)```", section, re.S)[1]


def follow(recipe, name, where=None):
    """(fault, what the commands said)"""
    done = run("bash", "-eu", "-c", block(recipe, name), timeout=60, cwd=where)
    said = done.stdout + done.stderr
    return f"exit {done.returncode}: {said}" if done.returncode else None, said


def own_namespaces():
    """Start again in new ones."""
    if os.geteuid():
        tap.skip_all("needs root")
    if not os.path.exists(os.path.join(BUILT, "epfctl")):
        tap.skip_all("needs epfctl: make user")
    if "EPF_RECIPES" not in os.environ:
        os.environ["EPF_RECIPES"] = "1"
        if run("unshare", "--mount", "--net", "true").returncode:
            tap.skip_all("no namespaces here")
        os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable,
                              os.path.abspath(__file__), *sys.argv[1:]])


def must(command):
    done = run(*command.split())
    if done.returncode:
        tap.skip_all(f"{command}: {done.stderr.strip()}")


def udp(address, port=0):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    s.settimeout(5)
    return s


def make_net():
    """The peer's sockets: a DNS server, a stranger at two ports, and one for whole frames."""
    must("mount -t bpf bpf /sys/fs/bpf")
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    if libc.unshare(CLONE_NEWNET):
        tap.skip_all("no network namespaces here")
    peer = os.open("/proc/self/ns/net", os.O_RDONLY)
    libc.setns(own, CLONE_NEWNET)
    must(f"ip link add eth0 type veth peer name eth0 netns /proc/{os.getpid()}/fd/{peer}")
    must(f"ip addr add {CLIENT}/24 dev eth0")
    must("ip link set eth0 up")
    libc.setns(peer, CLONE_NEWNET)
    for address in SERVER, STRANGER:
        must(f"ip addr add {address}/24 dev eth0")
    must("ip link set eth0 up")
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    frames.bind(("eth0", 0))
    sockets = udp(SERVER, DNS), udp(STRANGER, DNS), udp(STRANGER, OTHER), frames
    libc.setns(own, CLONE_NEWNET)
    return sockets


def hears(sock, what):
    try:
        return sock.recv(512) == what
    except socket.timeout:
        return False


class Reflexive:
    """The client, which asks from one socket and is open at another port."""

    def __init__(self):
        self.server, self.stranger, self.other, self.frames = make_net()
        self.client, self.open = udp(CLIENT), udp(CLIENT, OPEN)

    def answered(self):
        self.client.sendto(b"query", (SERVER, DNS))
        if not hears(self.server, b"query"):
            return "the query does not leave"
        self.server.sendto(b"answer", self.client.getsockname())
        return None if hears(self.client, b"answer") else "no answer came"

    def strange(self, passes):
        """A veth keeps the order: if the later packet, which is not looked at,
        is the first that comes, the strange one was dropped."""
        self.stranger.sendto(b"strange", (CLIENT, OPEN))
        self.other.sendto(b"other", (CLIENT, OPEN))
        if passes and not hears(self.open, b"strange"):
            return "what nobody asked for does not come even without the rule"
        return None if hears(self.open, b"other") else \
            "what nobody asked for passed, or the open port is closed"

    @staticmethod
    def start():
        return follow("Reflexive UDP", "Start")[0]

    @staticmethod
    def look():
        fault, said = follow("Reflexive UDP", "Look")
        for word in "recent", "absent":
            if not fault and not re.search(rf"\b{word}\b.*\b1\b", said):
                fault = f"not one packet is {word}: {said}"
        return fault

    def end(self):
        return ended("Reflexive UDP") or self.strange(True)


def ended(recipe):
    fault, _ = follow(recipe, "End")
    left = run("epfctl", "list", "--names").stdout + \
        run("tc", "filter", "show", "dev", "eth0", "egress").stdout
    link = run("ip", "link", "show", "eth0").stdout
    if left or "xdp" in link:
        fault = fault or f"left behind: {left}{link}"
    return fault


def counters():
    return json.loads(run("epfctl", "-j", "status", "eth0").stdout)["counters"]


class Flood:
    """A process that sends from forged addresses, as fast as it can, until it is ended."""

    def __init__(self, sock):
        link = json.loads(run("ip", "-j", "link", "show", "eth0").stdout)[0]
        to = bytes.fromhex(link["address"].replace(":", ""))
        self.head = to + bytes.fromhex("020000000001 0800 4500001c 0007 0000 4011 0000")
        self.tail = socket.inet_aton(CLIENT) + struct.pack(">HHHH", 9, 9, 8, 0)
        self.sock = sock

    def __enter__(self):
        self.pid = os.fork()
        if not self.pid:
            try:
                self.send()
            finally:
                os._exit(1)
        return self

    def send(self):
        n = 0
        while True:
            n = (n + 1) % 0x1000000
            try:
                self.sock.send(self.head + struct.pack(">I", 0x0B000000 + n) + self.tail)
            except OSError:  # no room
                pass

    def __exit__(self, *error):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Admit:
    """Whoever was there before the flood is served all the time."""

    def __init__(self, net):
        self.net = net

    def start(self):
        self.began = time.monotonic()
        fault = follow("Admit the seen under attack", "Start")[0]
        self.net.server.sendto(b"seen", (CLIENT, OPEN))
        return fault or (None if hears(self.net.open, b"seen") else "it did not come")

    def served(self, times):
        """A packet may be lost where the flood leaves no room, before it is looked at. Of
        one who is not known hardly any would come: all of the flood are after the tokens.
        """
        heard = set()
        for n in range(times):
            self.net.server.sendto(b"%d" % n, (CLIENT, OPEN))
            self.net.open.settimeout(0.1 if n + 1 < times else 2)
            try:
                heard.add(self.net.open.recv(512))
            except socket.timeout:
                pass
        return None if len(heard) > times / 2 else \
            f"{len(heard)} of {times} packets of one who is known came"

    def under_attack(self):
        """The rate is above what the recipe admits, if this machine sends so much."""
        with Flood(self.net.frames):
            last = time.monotonic() + 30
            while not counters()["above"]["left_out"]["packets"]:
                if time.monotonic() > last:
                    raise tap.Skip("less than 50,000 packets a second are sent here")
            fault = self.served(200)
            above = counters()["above"]
        most = NEW_BURST + NEW_RATE * (time.monotonic() - self.began)
        if above["absent"]["packets"] > most:
            fault = fault or f"more than {most:.0f} new ones passed: {above}"
        return fault

    @staticmethod
    def look():
        fault, said = follow("Admit the seen under attack", "Look")
        return fault or (None if re.search(r"\bnew\b", said) else said)


class Log:
    """Each flow has one record."""

    def __init__(self, net):
        self.net = net
        self.ports = set()
        self.kept = []

    def send(self):
        """To new ports, none of which comes again. The last packet is heard, so all were
        looked at.
        """
        socks = [udp(CLIENT, 0) for _ in range(FLOWS)]
        for _ in range(PACKETS):
            for sock in socks:
                self.net.other.sendto(b"packet", sock.getsockname())
        self.ports = {sock.getsockname()[1] for sock in socks}
        silent = [s for s in socks for _ in range(PACKETS) if not hears(s, b"packet")]
        self.kept += socks
        return "a packet did not pass" if silent else None

    def start(self):
        return follow("Log each flow once", "Start")[0] or self.send()

    def read(self):
        fault, said = follow("Log each flow once", "Read")
        ports = [json.loads(line)["destination_port"] for line in said.splitlines()]
        if not fault and sorted(ports) != sorted(self.ports):
            fault = f"records of ports {ports}, packets of {sorted(self.ports)}"
        return fault

    def read_ipfix(self):
        if not fixbuf():
            raise tap.Skip("epfctl is built without libfixbuf")
        with tempfile.TemporaryDirectory() as tmp:
            fault = self.send() or follow("Log each flow once", "Read as IPFIX", tmp)[0]
            if fault:
                return fault
            with open(os.path.join(tmp, "flows.ipfix"), "rb") as f:
                data = f.read()
        missing = [p for p in self.ports if struct.pack(">H", p) not in data]
        return f"no record of ports {missing}" if missing else None


def fixbuf():
    return "libfixbuf" in run("ldd", os.path.join(BUILT, "epfctl")).stdout


def drawn():
    done = run(os.path.join(TOP, "scripts/pictures.py"), "--check")
    return done.stderr if done.returncode else None


def main():
    own_namespaces()
    r = Reflexive()
    admit, log = Admit(r), Log(r)
    tap.main([
        ("the page's pictures are those that the program draws", drawn),
        ("without the rule unsolicited packets pass",
         lambda: r.strange(True)),
        ("reflexive UDP: start", r.start),
        ("an answer passes", r.answered),
        ("unsolicited packets do not, and the open port is open",
         lambda: r.strange(False)),
        ("look: both are counted", r.look),
        ("end: all passes, nothing is left", r.end),
        ("admit the seen: start, a host is seen", admit.start),
        ("in a flood it is served, and new ones up to the rate", admit.under_attack),
        ("look: what passed is counted", admit.look),
        ("end: nothing is left", lambda: ended("Admit the seen under attack")),
        ("log once: start, all packets pass", log.start),
        ("read: a record of each flow, and no other", log.read),
        ("read as IPFIX", log.read_ipfix),
        ("end: nothing is left", lambda: ended("Log each flow once")),
        *default_drop.cases(),
        ("README's commands do in its order what they say", readme.case),
    ])


if __name__ == "__main__":
    main()
