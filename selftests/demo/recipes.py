#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The recipes of docs/FIREWALL.md, run as they stand there.

This process has a network namespace of its own, whose eth0 leads to a peer's, and
/sys/fs/bpf for itself; all of it goes when it ends.
"""

import ctypes
import os
import re
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(TOP, "selftests/dedup"))

import tap  # noqa: E402

BUILT = os.path.join(TOP, "build/user")
PAGE = os.path.join(TOP, "docs/FIREWALL.md")
CLONE_NEWNET = 0x40000000
CLIENT, SERVER, STRANGER = "10.53.0.1", "10.53.0.2", "10.53.0.3"
DNS, OPEN, OTHER = 53, 4500, 4000

os.environ["PATH"] = ":".join([BUILT, os.environ["PATH"], "/usr/sbin", "/sbin"])
os.environ["EPF_BACKEND"] = "bpf"
libc = ctypes.CDLL(None, use_errno=True)


def skip(why):
    print(f"TAP version 13\n1..0 # SKIP {why}")
    sys.exit(4)


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, **how)


def block(recipe, name):
    """The commands below the line "@name:" of a recipe."""
    with open(PAGE) as f:
        page = f.read()
    section = page.split(f"\n## {recipe}\n")[1].split("\n## ")[0]
    return re.search(rf"\n{name}:\n\n```sh\n(.*?)```", section, re.S)[1]


def follow(recipe, name):
    """(fault, what the commands said)"""
    done = run("bash", "-eu", "-c", block(recipe, name), timeout=60)
    said = done.stdout + done.stderr
    return f"exit {done.returncode}: {said}" if done.returncode else None, said


def own_namespaces():
    """Start again in new ones."""
    if os.geteuid():
        skip("needs root")
    if not os.path.exists(os.path.join(BUILT, "epfctl")):
        skip("needs epfctl: make user")
    if "EPF_RECIPES" not in os.environ:
        os.environ["EPF_RECIPES"] = "1"
        if run("unshare", "--mount", "--net", "true").returncode:
            skip("no namespaces here")
        os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable,
                              os.path.abspath(__file__), *sys.argv[1:]])


def must(command):
    done = run(*command.split())
    if done.returncode:
        skip(f"{command}: {done.stderr.strip()}")


def udp(address, port=0):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    s.settimeout(5)
    return s


def make_net():
    """The peer's sockets: a DNS server, and a stranger at two ports."""
    must("mount -t bpf bpf /sys/fs/bpf")
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    if libc.unshare(CLONE_NEWNET):
        skip("no network namespaces here")
    peer = os.open("/proc/self/ns/net", os.O_RDONLY)
    libc.setns(own, CLONE_NEWNET)
    must(f"ip link add eth0 type veth peer name eth0 netns /proc/{os.getpid()}/fd/{peer}")
    must(f"ip addr add {CLIENT}/24 dev eth0")
    must("ip link set eth0 up")
    libc.setns(peer, CLONE_NEWNET)
    for address in SERVER, STRANGER:
        must(f"ip addr add {address}/24 dev eth0")
    must("ip link set eth0 up")
    sockets = udp(SERVER, DNS), udp(STRANGER, DNS), udp(STRANGER, OTHER)
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
        self.server, self.stranger, self.other = make_net()
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
        fault, _ = follow("Reflexive UDP", "End")
        left = run("epfctl", "list", "--names").stdout + \
            run("tc", "filter", "show", "dev", "eth0", "egress").stdout
        link = run("ip", "link", "show", "eth0").stdout
        if left or "xdp" in link:
            fault = fault or f"left behind: {left}{link}"
        return fault or self.strange(True)


def drawn():
    done = run(os.path.join(TOP, "scripts/pictures.py"), "--check")
    return done.stderr if done.returncode else None


def main():
    own_namespaces()
    r = Reflexive()
    tap.main([
        ("the page's pictures are those that the program draws", drawn),
        ("without the rule what nobody asked for passes",
         lambda: r.strange(True)),
        ("reflexive UDP: start", r.start),
        ("an answer passes", r.answered),
        ("what nobody asked for does not, and the open port is open",
         lambda: r.strange(False)),
        ("look: both are counted", r.look),
        ("end: all passes, nothing is left", r.end),
    ])


if __name__ == "__main__":
    main()
