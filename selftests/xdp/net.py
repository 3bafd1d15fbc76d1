# SPDX-License-Identifier: GPL-2.0
"""What the XDP suites share: two network namespaces, a veth pair between them, and epfctl.
Frames are sent into A and looked up on interface B; what B's namespace receives is
captured.
"""

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "selftests", d) for d in ("dedup", "model")]

import netns  # noqa: E402
import pcap  # noqa: E402
import tap  # noqa: E402

BUILD = os.path.join(TOP, "build")
BUILT = os.path.join(BUILD, "selftests/xdp")
EPFCTL = os.environ.get("EPF_CTL", os.path.join(BUILD, "user/epfctl"))
MODULE = os.environ.get("EPF_KO", os.path.join(BUILD, "kmod/epochfilter.ko"))
NS = os.environ.get("EPF_NS", "epf")
DEV = os.environ.get("EPF_DEV", "epf")
NS_A, NS_B, A, B = NS + "-a", NS + "-b", DEV + "a0", DEV + "b0"
PINS = "/sys/fs/bpf/epochfilter"
FILTER = "xdp-test"

TMP = tempfile.mkdtemp(prefix="epf-xdp-")
atexit.register(shutil.rmtree, TMP, ignore_errors=True)


def tmp(name):
    return os.path.join(TMP, name)


def run(*args, check=True, ns=None, **how):
    how.setdefault("timeout", 3000)
    with netns.entered(ns) if ns else contextlib.nullcontext():
        done = subprocess.run(list(map(str, args)), capture_output=True, text=True,
                              **how)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: exit "
                           f"{done.returncode}: {done.stderr.strip()}")
    return done


def inside(ns):
    """`ip netns exec` would hide /sys/fs/bpf."""
    return ["nsenter", f"--net=/run/netns/{ns}"]


def in_b(*args, **how):
    return run(*args, ns=NS_B, **how)


def epfctl(*args, ns=NS_B, **how):
    return run(EPFCTL, *args, ns=ns, **how)


def refused(text, *args, **how):
    """Return None if epfctl fails with one line that contains @text; else what it does."""
    done = epfctl(*args, check=False, **how)
    lines = done.stderr.splitlines()
    if done.returncode != 2 or done.stdout or len(lines) != 1 or \
            not lines[0].startswith("error: ") or text not in lines[0]:
        return f"{args}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return None


def require():
    """Skip everything unless this can run; load the module."""
    why = ""
    if os.geteuid():
        why = "needs root"
    elif not os.path.exists(EPFCTL):
        why = f"{EPFCTL} is not built"
    elif not os.path.exists(os.path.join(BUILT, "pcapsend")):
        why = f"{BUILT} is not built"
    elif not os.path.isdir("/sys/module/epochfilter"):
        if not os.environ.get("EPF_VM"):
            why = "the module is not loaded, and this is no VM"
        elif run("insmod", MODULE, check=False).returncode:
            why = "the module does not load"
    if why:
        tap.skip_all(why)


def batch(*lines, ns=None, force=()):
    """Run these commands of ip in one process, because a guest starts processes slowly."""
    return run("ip", *force, "-b", "-", *(["-n", ns] if ns else []), input="\n".join(lines),
               check=not force)


def forget_net():
    batch(f"netns del {NS_A}", f"netns del {NS_B}", force=["-force"])


def sysctl(ns, **settings):
    """Write files below /proc/sys/net, which are those of the thread's namespace."""
    with netns.entered(ns):
        for name, value in settings.items():
            with open(f"/proc/sys/net/{name}", "w", encoding="ascii") as file:
                file.write(str(value))


def make_net(mtu=1500):
    """No protocol speaks on the pair by itself, so every packet is from the test."""
    run("modprobe", "veth", check=False)
    forget_net()
    atexit.register(forget_net)
    batch(f"netns add {NS_A}", f"netns add {NS_B}")
    for ns in NS_A, NS_B:
        sysctl(ns, **{f"ipv6/conf/{dev}/disable_ipv6": 1 for dev in ("all", "default")})
    batch(f"link add {A} mtu {mtu} type veth peer name {B} mtu {mtu} netns {NS_B}",
          f"link set {A} arp off up", ns=NS_A)
    batch(f"link set {B} arp off up", ns=NS_B)
    vlan_offload(False)


def vlan_offload(on, dev=B):
    in_b("ethtool", "-K", dev, "rx-vlan-hw-parse", "on" if on else "off",
         "rx-vlan-stag-hw-parse", "on" if on else "off")


def vlan_offloads(dev=B):
    """Return which of the two offloads are on."""
    lines = in_b("ethtool", "-k", dev).stdout.splitlines()
    return [name for name in ("rx-vlan-offload", "rx-vlan-stag-hw-parse")
            if any(l.strip().startswith(f"{name}: on") for l in lines)]


def set_mtu(mtu):
    run("ip", "-n", NS_B, "link", "set", B, "mtu", mtu)
    run("ip", "-n", NS_A, "link", "set", A, "mtu", mtu)


def send(frames, per_s=20000):
    path = pcap.Capture([pcap.Packet(0, f) for f in frames]).save(
        tmp("send.pcap"))
    done = run(os.path.join(BUILT, "pcapsend"), "-r", per_s, A, path, ns=NS_A)
    if int(done.stdout.split()[0]) != len(frames):
        raise RuntimeError(f"sent {done.stdout} of {len(frames)}")


class Capturing:
    """Capture what B receives while the block runs; the frames are in @frames afterwards."""

    def __init__(self, dev=B):
        self.dev, self.frames = dev, None

    def __enter__(self):
        self.receiver = subprocess.Popen(
            [*inside(NS_B), os.path.join(BUILT, "pcaprecv"), self.dev,
             tmp("recv.pcap")], stdout=subprocess.PIPE, text=True)
        if self.receiver.stdout.readline() != "ready\n":
            raise RuntimeError("pcaprecv does not listen")
        return self

    def __exit__(self, *error):
        time.sleep(0.3)  # softirqs finish the packets sent
        self.receiver.terminate()
        tail = self.receiver.communicate(timeout=600)[0]
        if self.receiver.returncode:
            raise RuntimeError(f"pcaprecv lost frames: {tail}")
        self.frames = [p.data for p in pcap.load(tmp("recv.pcap")).packets]


def through(frames, **how):
    """Send frames; return those that come out."""
    with Capturing() as got:
        send(frames, **how)
    return got.frames




def shaped(lines, *window):
    """Options for a window of an error of 1e-9, and the number of lines that epfctl plan gives
    for it: in a guest, sizing a filter takes longer than the rest of its creation.
    """
    return *window, "--lines", lines, "--lines-per-key", 4, "--bits-per-key", 24, "-b", "1e-9"


SHAPE = shaped(16240, "-W", 100000)


class Filter:
    def __init__(self, *options, name=FILTER):
        self.name = name
        self.options = options or SHAPE

    def __enter__(self):
        epfctl("create", self.name, *self.options,
               *([] if "--rotate" in self.options else ["--rotate", "process"]))
        return self

    def __exit__(self, *error):
        run(EPFCTL, "destroy", "--force" if error[0] else "--", self.name)


class Attached:
    def __init__(self, *options, dev=B, filter=FILTER, ns=NS_B):
        self.options, self.dev, self.filter = options, dev, filter
        self.ns = ns

    def __enter__(self):
        epfctl("attach", self.dev, "--filter", self.filter, *self.options,
               ns=self.ns)
        return self

    def __exit__(self, *error):
        epfctl("detach", self.dev, ns=self.ns)

    def status(self):
        return json.loads(epfctl("-j", "status", self.dev, ns=self.ns,
                                 check=False).stdout)

    def counters(self):
        """Return packets by outcome, without zeros."""
        return {name: c["packets"] for name, c in
                self.status()["counters"].items() if c["packets"]}

    def bytes(self):
        return {name: c["bytes"] for name, c in
                self.status()["counters"].items() if c["packets"]}


def eventually(good, seconds=600):
    """The kernel frees programs and maps a moment later. Most of the time it is not asked:
    the machine may be emulated, and others need it.
    """
    now = time.monotonic()
    end = now + seconds
    while now < end:
        if good():
            return True
        time.sleep(max(0.05, 2 * (time.monotonic() - now)))
        now = time.monotonic()
    return False


def unlike(**pairs):
    """unlike(dropped=(got, wanted)): return a text about the first that differ, or None.
"""
    for name, (got, wanted) in pairs.items():
        if got != wanted:
            return f"{name}: {got}, wanted {wanted}"
    return None
