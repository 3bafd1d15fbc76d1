# SPDX-License-Identifier: GPL-2.0
"""Namespaces of a test cluster. This process has a network namespace of its own with a
bridge; a Node is a child process with a network namespace, which is a port of the bridge,
and with a mount namespace, which has a BPF file system of its own. No namespace has a name,
so all of it disappears with the processes, however they end.
"""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import traceback

NEWNS, NEWNET, NEWTIME = 0x20000, 0x40000000, 0x80
MS_REC_PRIVATE, PR_SET_PDEATHSIG = 0x44000, 1
BRIDGE = "br0"
NET = "10.99.0"
libc = ctypes.CDLL(None, use_errno=True)
fork = multiprocessing.get_context("fork")


def check(ret, step):
    if ret < 0:
        raise OSError(ctypes.get_errno(), f"{step}: {os.strerror(ctypes.get_errno())}")


def run(*args, **how):
    """Run a program. Return the finished process; a failure is an exception."""
    done = subprocess.run(list(map(str, args)), capture_output=True, text=True, **how)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: exit {done.returncode}: "
                           f"{done.stdout}{done.stderr}".strip())
    return done


def die_with_parent():
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")


def shift_clocks(seconds):
    """A time namespace for the program that this process will execute: CLOCK_MONOTONIC and
    CLOCK_BOOTTIME are ahead of those of this machine."""
    check(libc.unshare(NEWTIME), "unshare")
    with open("/proc/self/timens_offsets", "w") as f:
        f.write(f"monotonic {seconds} 0\nboottime {seconds} 0\n")


def own_mounts():
    """A mount namespace whose mounts nobody else sees, with an empty BPF file system."""
    check(libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None), "mount --make-rprivate")
    check(libc.mount(b"bpf", b"/sys/fs/bpf", b"bpf", 0, None), "mount bpf")


def make():
    """Move this process into a new network namespace with a bridge. Call it once, before
    the first Node."""
    check(libc.unshare(NEWNS | NEWNET), "unshare")
    own_mounts()
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "addr", "add", f"{NET}.254/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


class Node:
    """A child process in namespaces of its own. ask() calls a method of @actor there, which
    is made by @make(self) in the child."""

    def __init__(self, number, make):
        self.number, self.address = number, f"{NET}.{number + 1}"
        self.port = f"p{number}"
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=self._serve, args=(theirs, make), daemon=True)
        self.process.start()
        theirs.close()
        self._answer()  # it is in its namespaces
        self._wire()

    def _wire(self):
        run("ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns",
            self.process.pid)
        run("ip", "link", "set", self.port, "master", BRIDGE, "up")
        self.ask("network_up", self.address)

    def _serve(self, pipe, make):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        die_with_parent()
        check(libc.unshare(NEWNS | NEWNET), "unshare")
        own_mounts()
        actor = make(self)
        pipe.send((True, None))
        while True:
            try:
                name, args = pipe.recv()
            except EOFError:
                return
            if name is None:
                actor.close()
                return
            try:
                pipe.send((True, getattr(actor, name)(*args)))
            except Exception:
                pipe.send((False, traceback.format_exc()))

    def _answer(self):
        good, value = self.pipe.recv()
        if not good:
            raise RuntimeError(f"node {self.number}: {value}")
        return value

    def begin(self, name, *args):
        """Start a call; end() waits for its result."""
        self.pipe.send((name, args))

    def end(self):
        return self._answer()

    def ask(self, name, *args):
        self.begin(name, *args)
        return self.end()

    def link(self, up):
        """Pull the cable, or plug it in."""
        run("ip", "link", "set", self.port, "up" if up else "down")

    def close(self):
        """The kernel removes the interfaces of a namespace some time after its last process, and
        the next node may have the same number: so the port goes first."""
        subprocess.run(["ip", "link", "del", self.port], capture_output=True)
        try:
            self.pipe.send((None, ()))
        except OSError:
            pass
        self.process.join(60)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Actor:
    """What every node can do."""

    def __init__(self, node):
        self.node = node

    def network_up(self, address):
        run("ip", "link", "set", "lo", "up")
        run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        # A cable of cable.py carries frames as they are.
        run("ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off", "gro", "off")
        run("ip", "link", "set", "eth0", "up")

    def run(self, *args):
        return run(*args).stdout

    @staticmethod
    def connections():
        """Addresses, state, bytes that wait to be sent and to be read, timers: all as the kernel tells."""
        lines = []
        for name in "tcp", "tcp6":
            with open(f"/proc/net/{name}") as f:
                lines += f.readlines()[1:]
        return [f"TCP {' '.join(line.split()[1:7])}" for line in lines]

    def close(self):
        """At the end, in the node."""
