# SPDX-License-Identifier: GPL-2.0
"""The recipes of README and of the manuals that drop by default, run as they stand there:
each on a host of its own, which then still has its stub resolver on lo, DHCP and a service.

The module is not needed: a match by -m epf is the same rule as a pinned program by -m bpf.
"""

import ctypes
import os
import re
import signal
import socket
import subprocess
import tempfile

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PAGES = ("README.md", "docs/epfctl.8.rst", "docs/epfagent.8.rst", "docs/epochfilter.conf.5.rst",
         "docs/FIREWALL.md", "docs/BPF.md", "docs/PROGRAMS.md", "docs/COMPARISON.md")
DROPS = re.compile(r"--else drop|-j DROP|policy drop")
CLONE_NEWNET = 0x40000000
US = {4: "10.53.0.1", 6: "fd00:53::1"}
THEM = {4: "10.53.0.2", 6: "fd00:53::2"}
STUB = {4: "127.0.0.53", 6: "::1"}
DHCP = {4: (67, 68), 6: (547, 546)}
DNS, SERVED, OPEN = 53, 443, 4500
libc = ctypes.CDLL(None, use_errno=True)


def commands(block):
    """What a reader types: in a manual the lines behind a prompt, and those that continue them."""
    lines, more = [], False
    prompts = re.search(r"^\s*[#$] ", block, re.M)
    for line in block.splitlines():
        text = line.strip()
        if not more and prompts and text[:2] not in ("# ", "$ "):
            continue  # what a command prints
        text = text if more or not prompts else text[2:]
        lines.append(text)
        begun = "\n".join(lines)
        more = text.endswith("\\") or \
            len(re.findall(r"^for ", begun, re.M)) > len(re.findall(r"^done", begun, re.M))
    return "\n".join(lines)


def pinned(text):
    """Rules with -m epf as the same ones with -m bpf."""
    pins = {}

    def pin(found):
        path = pins.setdefault(found.group(1, 2), f"/sys/fs/bpf/epf-recipe-{len(pins)}")
        return f"-m bpf --object-pinned {path}"

    text = re.sub(r"-m epf --name (\S+) (.*?)(?= -j|$)", pin,
                  text.replace("\\\n", ""), flags=re.M)
    made = "".join(f"epfctl pin {name} {path} {options}\n"
                   for (name, options), path in pins.items())
    create, rest = text.split("\n", 1)
    return f"{create}\n{made}{rest}"


def blocks():
    """Return [(page and line, commands)]. Those of a cluster need its agent."""
    out = []
    for page in PAGES:
        with open(os.path.join(TOP, page), encoding="utf-8") as f:
            text = f.read()
        for block in re.findall(r"(?:^(?: {4}|\t).*\n)+|^```sh\n(?:.*\n)*?```", text, re.M):
            typed = commands(re.sub("```(sh)?", "", block)).strip()
            if DROPS.search(typed) and "epf" in typed and "--cluster" not in typed:
                line = text[:text.index(block)].count("\n") + 1
                out.append((f"{page}, block at line {line}", typed))
    return out


def udp(family, address, port=0):
    s = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind((address, port))
    s.settimeout(3)
    return s


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


def join(dev, ends):
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", ends[4] + "/24", "dev", dev)
    run("ip", "addr", "add", ends[6] + "/64", "dev", dev, "nodad")
    run("ip", "link", "set", dev, "up")


class Host:
    """This process moves to a network namespace of its own, where @dev leads to a peer."""

    def __init__(self, dev):
        libc.unshare(CLONE_NEWNET)
        peer = os.open("/proc/self/ns/net", os.O_RDONLY)
        libc.unshare(CLONE_NEWNET)
        run("ip", "link", "add", dev, "type", "veth", "peer", "name", "peer", "netns",
            f"/proc/{os.getpid()}/fd/{peer}")
        join(dev, US)
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        libc.setns(peer, CLONE_NEWNET)
        join("peer", THEM)
        self.peer = {(f, port): udp(f, THEM[f], port)
                     for f in (4, 6) for port in (DNS, DHCP[f][0], 0)}
        libc.setns(own, CLONE_NEWNET)
        self.own = {(f, port): udp(f, US[f], port)
                    for f in (4, 6) for port in (DHCP[f][1], SERVED, OPEN)}
        self.stub = {f: udp(f, STUB[f], DNS) for f in (4, 6)}

    @staticmethod
    def asks(client, server, to):
        """Does @client get an answer?"""
        try:
            client.sendto(b"query", to)
            said, who = server.recvfrom(99)
            server.sendto(b"answer", who)
            return said == b"query" and client.recv(99) == b"answer"
        except (socket.timeout, PermissionError):
            return False

    def judge(self, f):
        """Return what is wrong with this family."""
        faults = []
        if not self.asks(udp(f, STUB[f]), self.stub[f], (STUB[f], DNS)):
            faults.append("no answer of the resolver on lo")
        if not self.asks(udp(f, US[f]), self.peer[f, DNS], (THEM[f], DNS)):
            faults.append("no answer of a server that was asked")
        if not self.asks(self.peer[f, 0], self.own[f, SERVED], (US[f], SERVED)):
            faults.append("the service at port 443 is closed")
        server, client = DHCP[f]
        if not self.asks(self.peer[f, server], self.own[f, client], (US[f], client)):
            faults.append("DHCP is cut off")
        self.peer[f, DNS].sendto(b"unasked", (US[f], OPEN))
        self.peer[f, DNS].sendto(b"later", (US[f], SERVED))  # dropped by some
        self.peer[f, 0].sendto(b"later", (US[f], SERVED))
        try:
            while self.own[f, SERVED].recvfrom(99)[1][1] == DNS:
                pass
            self.own[f, OPEN].settimeout(0.2)
            self.own[f, OPEN].recv(99)
            faults.append("what nobody asked for passes")
        except socket.timeout:
            pass
        return [f"IPv{f}: {what}" for what in faults]


def forked(work):
    """What @work() returns in a child process, as text; None: nothing."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            said = work()
        except BaseException as error:  # pylint: disable=broad-except
            said = [repr(error)]
        os.write(into, "; ".join(said).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as f:
        os.waitpid(child, 0)
        try:
            os.killpg(child, signal.SIGKILL)  # such as 'epfctl hold peers &'
        except ProcessLookupError:
            pass
        return f.read().decode() or None


def follow(text):
    dev = (re.search(r"\b(eth0|wan|ppp0)\b", text) or [None, "eth0"])[1]
    host = Host(dev)
    with tempfile.TemporaryFile() as log:
        script = 'sudo() { "$@"; }\n' + (pinned(text) if "-m epf" in text else text)
        done = subprocess.run(["bash", "-e", "-c", script], stdout=log, stderr=log, check=False,
                              stdin=subprocess.DEVNULL)
        log.seek(0)
        said = log.read().decode()
    faults = [f"exit {done.returncode}: {said}"] if done.returncode else []
    return faults + host.judge(4) + host.judge(6)


def clean():
    """Empty the BPF file system, which is the test's own, but for the kernel's own files."""
    for folder, _, names in os.walk("/sys/fs/bpf", topdown=False):
        for name in names:
            if not name.endswith(".debug"):
                os.unlink(os.path.join(folder, name))
        if folder != "/sys/fs/bpf":
            os.rmdir(folder)


def needs_hooks(text):
    if "--hook" in text and tuple(map(int, os.uname().release.split(".")[:2])) < (6, 4):
        raise tap.Skip("attach --hook needs Linux 6.4")


def try_block(text):
    """Later blocks of a page use the filter that an earlier one creates."""
    needs_hooks(text)
    created = set(re.findall(r"epfctl.* create (\S+)", text))
    for name in set(re.findall(r"--filter (\S+)", text)) - created:
        subprocess.run(["epfctl", "create", name, "--time", "30s", "--rate", "10k", "--rotate",
                        "kernel"], check=True, capture_output=True)
    try:
        return forked(lambda: follow(text))
    finally:
        clean()


def cases():
    return [(f"drops by default: {where}", lambda text=text: try_block(text))
            for where, text in blocks()]
