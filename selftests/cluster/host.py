# SPDX-License-Identifier: GPL-2.0
"""A host of a test cluster: a node with two filters, an agent, and a user of both filters
who asks as a packet program does.
"""

import contextlib
import ctypes
import errno
import glob
import json
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import lan

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
EPFCTL = os.environ.get("EPF_CTL", os.path.join(BUILD, "user/epfctl"))
AGENT = os.environ.get("EPF_AGENT", os.path.join(BUILD, "user/epfagent"))
LIBRARY = os.path.join(BUILD, "user/libepf.so.1")
PINS = "/sys/fs/bpf/epochfilter-cluster"
SYS_BPF, BPF_OBJ_GET, MAGIC = 321, 7, 0x3252564F43465045
BACKEND = os.environ.get("EPF_CLUSTER_BACKEND", "bpf")
TICK_NS = 10_000_000  # the programs' clock may be so late


def library():
    """The Python package of this tree, with its library; else ImportError."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(BUILD, "user/python"))
    ctypes.CDLL(LIBRARY)
    import epf
    return epf


def pinned_map(path):
    """A descriptor of the map that is pinned there."""
    name = ctypes.create_string_buffer(path.encode())
    attr = struct.pack("=QIII", ctypes.addressof(name), 0, 0, 0)
    fd = lan.libc.syscall(ctypes.c_long(SYS_BPF), BPF_OBJ_GET, attr, len(attr))
    lan.check(fd, path)
    return fd


class Cover:
    """The word that says until when "absent" of the filter of all is an answer."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.path = os.path.join(PINS, cluster.replace(".", ":"))
        self.map = None

    def open(self):
        fd = pinned_map(self.path)
        try:
            self.map = mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(fd)
        magic, = struct.unpack_from("=Q", self.map, 0)
        if magic != MAGIC:
            raise ValueError(f"{self.path}: magic {magic:#x}")

    def until_ns(self):
        """0 if there is no promise, or no map. An agent may have made another map."""
        until = self.word()
        if time.monotonic_ns() < until:
            return until
        try:
            self.open()
        except OSError:
            self.map = None
        return self.word()

    def word(self):
        return struct.unpack_from("=Q", self.map, 8)[0] if self.map else 0


def filters(number):
    """Names of the local filter and of the filter of all of a host. Those of the module have
    one namespace for all hosts."""
    return f"seen{number}", f"all{number}"


class Host(lan.Actor):
    """Runs in the node. @cluster: name of the cluster; @dir: a folder of the host alone."""

    def __init__(self, node, dir, cluster):
        super().__init__(node)
        os.makedirs(dir, exist_ok=True)
        self.dir, self.cover, self.agent = dir, Cover(cluster), None
        self.seen = self.all = None

    def path(self, name):
        return os.path.join(self.dir, name)

    def create(self, *options):
        """Make the filters, and open them."""
        for name in filters(self.node.number):
            lan.run(EPFCTL, "--backend", BACKEND, "create", name, *options)
        epf = library()
        self.seen, self.all = (epf.KernelFilter(name, backend=BACKEND)
                               for name in filters(self.node.number))
        self.unknown = epf.UNKNOWN
        self.nothing = epf.ABSENT

    def start(self, settings, env=None, clock_s=0):
        """Start the agent with this configuration and these variables, in a time namespace
        whose clocks are ahead by @clock_s. Return its process id."""
        with open(self.path("agent.conf"), "w") as f:
            f.write(f"socket = {self.path('sock')}\n{settings}")
        env = {**os.environ, "EPF_BACKEND": BACKEND, **(env or {})}

        def prepare():
            lan.die_with_parent()
            if clock_s:
                lan.shift_clocks(clock_s)
        with open(self.path("agent.log"), "ab") as log:
            self.agent = subprocess.Popen([AGENT, "--config", self.path("agent.conf")],
                                          stderr=log, env=env, preexec_fn=prepare)
        return self.agent.pid

    def signal(self, number):
        self.agent.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.agent.wait()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path("sock"))

    def close(self):
        """Filters of the module would outlive the node."""
        if self.agent:
            self.agent.kill()
            self.agent.wait()
        self.seen = self.all = None
        for name in filters(self.node.number):
            subprocess.run([EPFCTL, "--backend", BACKEND, "destroy", "--force", name],
                           capture_output=True)

    def log(self):
        with open(self.path("agent.log"), errors="replace") as f:
            return f.read()

    def message(self, request):
        """Ask the agent by its socket, on which an agent that begins does not listen yet."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(60)
            while s.connect_ex(self.path("sock")) in (errno.ENOENT, errno.ECONNREFUSED):
                if not self.running():
                    raise ConnectionError(f"no agent: {self.log()}")
                select.select([], [], [], 0.01)
            s.send(json.dumps(request).encode())
            return json.loads(s.recv(1 << 20))

    def running(self):
        return self.agent is not None and self.agent.poll() is None

    def threads(self):
        """What each thread of the agent does: name, state, ticks of CPU, and what it waits for."""
        if not self.running():
            return [f"the agent does not run: exit {self.agent and self.agent.returncode}"]
        out = []
        for task in glob.glob(f"/proc/{self.agent.pid}/task/*"):
            with contextlib.suppress(OSError):
                told = {}
                for name in "stat", "wchan", "syscall":
                    with open(os.path.join(task, name)) as f:
                        told[name] = f.read().strip()
                name, _, stat = told["stat"].rpartition(")")
                stat = stat.split()
                out.append(f"thread {name}) {stat[0]} {stat[11]}+{stat[12]} {told['wchan']} "
                           f"{told['syscall']}")
        return out

    def insert(self, keys):
        """Insert each key by itself. Return (key, before, after) of each."""
        out = []
        for key in keys:
            before = time.monotonic_ns()
            try:
                self.seen.add(key)
            except OSError as why:  # a stopped agent has the lock: nothing is inserted
                if why.errno != errno.ETIMEDOUT:
                    raise
            else:
                out.append((key, before, time.monotonic_ns()))
        return out

    def load(self, count):
        """Insert so many random keys, which no oracle knows."""
        self.seen.insert(os.urandom(8 * count), key_len=8)

    def covered(self):
        return time.monotonic_ns() < self.cover.until_ns()

    def query(self, keys):
        """Ask for each key as a packet program does: the cover first, then both filters.
        Return (key, verdict, first, last): "present", "absent" or "unknown" at some moment
        between the two. The keys are asked together."""
        until = self.cover.until_ns()
        first = time.monotonic_ns()
        local, all = self.seen.test(keys), self.all.test(keys)
        last = time.monotonic_ns()
        return [(key, self.verdict(l, a, first < until), first, last)
                for key, l, a in zip(keys, local, all)]

    def verdict(self, local, all, covered):
        ages = local, all
        if any(a not in (self.nothing, self.unknown) for a in ages):
            return "present"
        return "absent" if covered and self.unknown not in ages else "unknown"
