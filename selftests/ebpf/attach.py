#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Pure BPF filters on an interface of this machine: a veth pair between two network
namespaces, each packet sent twice, compared with an exact oracle. The holder is killed and
restarted, and nothing is left behind. In a guest only the parts that depend on the kernel
run, unless EPF_THOROUGH is set.
"""

import ctypes
import functools
import json
import os
import shutil
import signal
import socket
import struct
import sys
import time

os.environ["EPF_NS"] = f"epf-bpf-{os.getpid()}"
os.environ["EPF_DEV"] = f"epft{os.getpid()}"
os.environ["EPF_BACKEND"] = "bpf"
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../xdp"))

import net  # noqa: E402
import netns  # noqa: E402
import stage  # noqa: E402
import tap  # noqa: E402
import traffic  # noqa: E402

SO_RCVMARK, SO_MARK, MARK = 75, 36, 0xef00
SO_RCVBUFFORCE, ROOM = 33, 1 << 26
ALL, IP = 3, 0x0800
BURST = 64  # fewer than a veth accepts at once
NAME, SECOND = f"epftest-{os.getpid()}", f"epftest-2-{os.getpid()}"
TWIN = f"epft{os.getpid()}x"
TUN = f"epft{os.getpid()}t"
fences = 0


def sweep():
    """Remove whatever a failed case has left."""
    net.epfctl("detach", net.B, check=False)
    for name in NAME, SECOND, net.B:
        net.run(net.EPFCTL, "destroy", "--force", name, check=False)


def socket_in(ns, dev, protocol):
    """A packet socket on @dev of another namespace."""
    with netns.entered(ns):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVMARK, 1)
        sock.bind((dev, protocol))
    sock.settimeout(60)
    return sock


def mark_of(control):
    return sum(int.from_bytes(data[:4], sys.byteorder)
               for _, what, data in control if what == SO_MARK)


def until(sock, fence):
    """Return (frame, mark) of all that arrived before @fence."""
    out = []
    while True:
        frame, control = sock.recvmsg(2048, 64)[:2]
        if frame == fence:
            return out
        out.append((frame, mark_of(control)))


def through(frames, protocol=ALL):
    """Send; return (frame, mark) of what arrives. After each burst a new frame shows that
    all frames before it have arrived.
"""
    global fences
    out = []
    with socket_in(net.NS_A, net.A, 0) as tx, \
            socket_in(net.NS_B, net.B, protocol) as rx:
        for at in range(0, len(frames), BURST):
            for frame in frames[at:at + BURST]:
                tx.send(frame)
            fences += 1
            fence = traffic.udp_frame(1 << 24 | fences)
            tx.send(fence)
            out += until(rx, fence)
    return out


def bursts(frames):
    return -(-len(frames) // BURST)


def arrived(got, want):
    """For unlike(): return what arrived and what should have, in a few words. The order is
    the kernel's: before 6.12 receive offloads exchange neighbours behind native XDP on veth
    (seen on 6.1.176).
"""
    if sorted(frame for frame, _ in got) == sorted(want):
        return "as wanted", "as wanted"
    return f"{len(got)} frames", f"{len(want)} frames, others"


def doubled(frames):
    return [f for f in frames for _ in range(2)]


def plain(first, count=300):
    return [traffic.udp_frame(n) for n in range(first, first + count)]


def mixed(seed):
    """Return frames of all sorts, each twice; without tags, which packet sockets strip."""
    return doubled([f for f in traffic.traffic(seed)
                    if f[12:14] not in (b"\x81\x00", b"\x88\xa8")])


def Holder():
    return stage.Holder(NAME)


class Filter(net.Filter):
    def __init__(self, *options, name=NAME):
        super().__init__(*options, name=name)


def attached(*options):
    return net.Attached(*options, filter=NAME)


def pins():
    try:
        names = os.listdir(net.PINS)
    except FileNotFoundError:  # it goes with the last pin
        return []
    return [d for d in names
            if d.startswith("@" + net.B) or d in (NAME, SECOND, net.B)]


def left():
    """Return all of our objects."""
    xdp = net.in_b("ip", "link", "show", net.B).stdout.count("xdp")
    shown = net.epfctl("status", net.B, check=False).returncode
    return pins() + xdp * ["program"] + (shown != 1) * ["status"]


def nothing_left():
    there = left()
    return f"left behind: {there}" if there else None


def counted(want, sent):
    """Return the expected counters, including the fences."""
    want = dict(want)
    want["absent"] = want.get("absent", 0) + bursts(sent)
    return want


def repeats(*options, action="drop", seed=1):
    """Every packet twice, of every sort, against the oracle."""
    frames = mixed(seed)
    want = traffic.outcomes(frames, *traffic.KEYS["packet"][1])
    passed = [f for f, w in zip(frames, want) if action != "drop" or w != "recent"]
    tap.may_fail(1e-12)
    with Filter(), Holder(), attached("--action", action, *options) as on:
        got = through(frames)
        counters = on.counters()
    if traffic.tally(want).get("recent", 0) < 500:
        return "the test has too few repeats"
    return net.unlike(counters=(counters, counted(traffic.tally(want), frames)),
                      passed=arrived(got, passed))


def by_key(frames, mode, options, oracle):
    """Check one choice of key with an empty filter, and return what is wrong."""
    want = traffic.outcomes(frames, *oracle)
    passed = [f for f, w in zip(frames, want) if w != "recent"]
    if traffic.tally(want).get("recent", 0) < 100:
        return "the test has too few repeats"
    with attached("--mode", mode, "--no-dispatcher", *options) as on:
        got = through(frames)
        counters = on.counters()
    return net.unlike(counters=(counters, counted(traffic.tally(want), frames)),
                      passed=arrived(got, passed))


def keys(mode, names=tuple(traffic.KEYS)):
    """Choices of key, on some of the packets."""
    frames = mixed(3)[:400]
    tap.may_fail(1e-12)
    with Filter(), Holder():
        for key in names:
            fault = by_key(frames, mode, *traffic.KEYS[key])
            if fault:
                return f"{key}: {fault}"
            net.epfctl("clear", NAME)


def marks_refused():
    """Before Linux 6.6 there is no hook for the program that sets marks."""
    with Filter():
        return net.refused("Linux 6.6 is needed", "attach", net.B, "--filter", NAME,
                       "--action", "mark", "--no-dispatcher") or \
            net.unlike(pins=(pins(), [NAME]))


class Earlier:
    """Another program at tc ingress that sets a mark, before ours."""

    def __init__(self):
        path, self.pin = os.path.join(net.BUILD, "selftests/ebpf/reflex_other.bpf.o"), \
            f"/sys/fs/bpf/{NAME}-other"
        net.run("bpftool", "prog", "load", path, self.pin, "type", "classifier")
        here = ctypes.create_string_buffer(self.pin.encode() + b"\0")
        prog = self.bpf(7, struct.pack("=QII", ctypes.addressof(here), 0, 0))
        dev = json.loads(net.in_b("ip", "-j", "link", "show", net.B).stdout)[0]["ifindex"]
        with netns.entered(net.NS_B):
            self.link = self.bpf(28, struct.pack("=IIII", prog, dev, 46, 0))
        os.close(prog)

    @staticmethod
    def bpf(cmd, attr):
        nr = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.syscall(nr, cmd, ctypes.create_string_buffer(attr, len(attr)),
                          len(attr))
        if fd < 0:
            raise OSError(ctypes.get_errno(), "bpf")
        return fd

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self.link)
        os.unlink(self.pin)


def foreign_bits():
    """With a mask only its bits are written; bits set by other programs stay."""
    frames, theirs = doubled(plain(0)), 0x82000007
    with Filter(), Holder(), Earlier(), attached(
            "--action", "mark", "--no-dispatcher", "--mark", "0x1000000/0x3000007") as on:
        got, s = through(frames, IP), on.status()
    want = [(f, 0x81000000 if i & 1 else theirs) for i, f in enumerate(frames)]
    with Filter():
        fault = net.refused("VALUE/MASK", "attach", net.B, "--filter", NAME, "--action", "mark",
                        "--mark", "0x1000000/0x3000003")
    return fault or net.unlike(
        told=((s["mark"], s["mark_mask"]), (0x1000000, 0x3000007)),
        marks=(got == want, True))


def marks(*options):
    """Repeats, and only they, have the mark; the window does not advance meanwhile."""
    frames = doubled(plain(0))
    with Filter(), Holder(), \
            attached("--action", "mark", "--no-dispatcher", *options) as on:
        got = through(frames, IP)
        counters = on.counters()
    want = [(f, MARK * (i & 1)) for i, f in enumerate(frames)]
    return net.unlike(
        counters=(counters, counted({"absent": 300, "recent": 300}, frames)),
        marks=(got == want, True))


def knows():
    return net.run(net.EPFCTL, "test", NAME, "probe",
                   check=False).returncode == 0


def holder_killed():
    """Without a holder repeats pass and are counted; the next holder continues with the
    keys inserted meanwhile.
"""
    with Filter(), attached() as on:
        with Holder():
            net.run(net.EPFCTL, "insert", NAME, "probe")
            first = through(doubled(plain(0)))
        if not net.eventually(lambda: not knows()):
            return "without a holder it knows for ever"
        second = through(doubled(plain(1000)))
        held = on.status()["held"]
        with Holder():
            third = through(plain(0) + plain(1000))
        counters = on.counters()
    return net.unlike(
        first=arrived(first, plain(0)), held=(held, False),
        second=arrived(second, doubled(plain(1000))),
        third=arrived(third, []),
        counters=(counters, {"absent": 600 + 3 * bursts(doubled(plain(0))),
                             "recent": 900, "overdue": 300}))


def never_held():
    """attach says what to do, and packets pass."""
    with Filter():
        said = net.epfctl("attach", net.B, "--filter", NAME).stdout
        try:
            got = through(doubled(plain(0)))
        finally:
            net.epfctl("detach", net.B)
    return net.unlike(lines=(said.count("\n"), 2),
                      advice=(f"epfctl hold {NAME}" in said, True),
                      passed=arrived(got, doubled(plain(0))))


def destroyed():
    net.run(net.EPFCTL, "create", NAME, "-W", 100000, "-b", "1e-9", "--rotate", "process")
    with Holder(), attached() as on:
        through(plain(0))
        net.epfctl("destroy", "--force", NAME)
        got = through(plain(0, 64))
        counters = on.counters()
        named = on.status().get("filter")
    want = {"absent": 300 + bursts(plain(0)), "no_filter": 65}
    return net.unlike(passed=arrived(got, plain(0, 64)), named=(named, None),
                      counters=(counters, want))


def swapped():
    """A program continues with the contents swapped in under its filter's name."""
    with Filter(), Filter(name=SECOND), Holder(), attached() as on:
        through(doubled(plain(0)))
        net.epfctl("swap", NAME, SECOND)
        net.run(net.EPFCTL, "insert", NAME, "probe")
        if not net.eventually(knows):
            return "the holder does not take over what was swapped in"
        got = through(doubled(plain(0)))
        counters = on.counters()
    want = {"absent": 600 + 2 * bursts(doubled(plain(0))), "recent": 600}
    return net.unlike(passed=arrived(got, plain(0)),
                      counters=(counters, want))


def holder_of(name):
    """The process that `attach` has started, or None."""
    want = f"epfctl\0hold\0{name}\0".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read() == want:
                    return int(pid)
        except OSError:
            pass
    return None


def default(*options):
    """Without --filter a filter is created and, if asked, held; detach removes all of it."""
    said = net.epfctl("attach", net.B, "--rotate", "process", *options).stdout
    holder = holder_of(net.B)
    got = through(doubled(plain(0)))
    there = pins()
    hashed = json.loads(net.epfctl("-j", "show", net.B).stdout)["hash"]
    net.epfctl("detach", net.B)
    return net.unlike(told=(f"kill {holder}" in said, True), hash=(hashed, "nh"),
                      pins=(len(there), 2),
                      passed=arrived(got, plain(0))) or \
        net.unlike(holder=(holder_of(net.B), None))


def default_shared():
    """A filter that another interface uses stays and works."""
    net.in_b("ip", "link", "add", TWIN, "type", "veth", "peer", "name",
             TWIN + "1")
    net.vlan_offload(False, TWIN)
    net.epfctl("attach", TWIN, "--rotate", "process")
    net.epfctl("attach", net.B, "--filter", TWIN)
    done = net.epfctl("detach", TWIN)
    got = through(doubled(plain(0)))
    holder = holder_of(TWIN)
    net.epfctl("detach", net.B)
    if holder:
        os.kill(holder, signal.SIGTERM)
    net.run(net.EPFCTL, "destroy", "--force", TWIN)
    net.in_b("ip", "link", "del", TWIN)
    return net.unlike(told=("stay, because other" in done.stderr, True),
                      holder=(holder is not None, True),
                      passed=arrived(got, plain(0)))


def real_time():
    return "PREEMPT_RT" in os.uname().version


def timer_refused():
    """A kernel without suitable timers is named before anything is made."""
    timer = "--rotate", "kernel"
    return net.refused("PREEMPT_RT", "create", NAME, "-W", 1000, *timer) or \
        net.refused("PREEMPT_RT", "attach", net.B, *timer)


def default_timed():
    """The same without a process, where the kernel has such timers."""
    if real_time():
        return timer_refused()
    said = net.epfctl("attach", net.B).stdout
    holder = holder_of(net.B)
    net.epfctl("insert", net.B, "probe")
    while net.epfctl("test", net.B, "probe", check=False).returncode:
        time.sleep(0.02)  # until the timer first fires
        net.epfctl("insert", net.B, "probe")
    got = through(doubled(plain(0)))
    fault = net.refused("the kernel ends", "attach", net.B, "--rotate", "process")
    net.epfctl("detach", net.B)
    return fault or \
        net.unlike(told=("the kernel ends its epochs" in said, True),
                   holder=(holder, None),
                   passed=arrived(got, plain(0)))


def default_refused():
    """A failed attachment leaves neither filter nor holder."""
    net.vlan_offload(True)
    fault = net.refused("VLAN", "attach", net.B)
    net.vlan_offload(False)
    return fault or net.refused("no interface", "attach", "nope0") or \
        net.unlike(holder=(holder_of(net.B), None))


def destroy_refused():
    """An attached filter without a holder stays and continues."""
    with Filter(), attached() as on:
        fault = net.refused(f"'{net.B}'", "destroy", NAME)
        through(plain(0))
        counters = on.counters()
    return fault or net.unlike(
        counters=(counters, {"absent": 300 + bursts(plain(0))}))


def twice():
    with Filter(), attached():
        return net.refused("already", "attach", net.B, "--filter", NAME)


def no_ethernet():
    """Where packets begin with the IP header no kind of attachment would judge any."""
    kinds = ([], ["--key", "flow", "--mirror"], ["--action", "mark"],
             ["--admit", "0/1", "--new-rate", "0", "--if-unknown", "drop"], ["--log-new"],
             ["--reflexive", "--match", "udp", "--else", "accept"])
    net.in_b("ip", "tuntap", "add", "dev", TUN, "mode", "tun")
    try:
        with Filter():
            faults = [net.refused("no Ethernet headers", "attach", TUN, "--filter", NAME,
                                  *kind) for kind in kinds]
        faults.append(net.refused("no Ethernet headers", "attach", TUN))  # makes no filter
        faults.append(net.run(net.EPFCTL, "list", "--names").stdout.count(TUN) or None)
    finally:
        net.in_b("ip", "link", "del", TUN)
    return next(filter(None, faults), None)


def doctor(what):
    checks = json.loads(net.epfctl("-j", "doctor", check=False).stdout)["checks"]
    return [c for c in checks if c["check"] == what][0]


def lose_pins():
    """Return the program of ours on the interface, whose pins are removed."""
    prog = json.loads(net.epfctl("-j", "status", net.B).stdout)["program"]
    for where in os.listdir(net.PINS):
        if where.startswith("@" + net.B):
            shutil.rmtree(os.path.join(net.PINS, where))
    return prog


def in_dispatcher():
    """The same inside libxdp's dispatcher, where it is removed by its number."""
    with Filter():
        net.epfctl("attach", net.B, "--filter", NAME)
        well, prog = doctor("attachments"), lose_pins()
        main = json.loads(net.in_b("ip", "-j", "-d", "link", "show", net.B).stdout)[0]["xdp"]
        lost = doctor("attachments")
        if main["prog"]["id"] == prog or not shutil.which("xdp-loader"):
            net.in_b("ip", "link", "set", "dev", net.B, "xdp", "off")
        else:
            net.in_b("xdp-loader", "unload", net.B, "--id", str(prog))
    if main["prog"]["id"] == prog:
        raise tap.Skip("no dispatcher: this kernel or libxdp has none")
    return net.unlike(
        well=(well["ok"], True), after=(doctor("attachments")["ok"], True),
        lost=((lost["ok"], f"program {prog} in the dispatcher of {net.B}" in lost["state"],
               f"'xdp-loader unload {net.B} --id {prog}'" in lost.get("remedy", "")),
              (False, True, True)))


def in_the_way():
    """A program of ours without pins: attach names it, and doctor does; also one that went
    with its interface, or by others' hands. Another network namespace hides neither."""
    named = f"'{net.B}' already has an XDP program"
    before = doctor("attachments")
    with Filter():
        with attached("--no-dispatcher") as on:
            prog = on.status()["program"]
            well, jit = doctor("attachments"), doctor("BPF JIT")
            elsewhere = [c for c in json.loads(
                net.run(net.EPFCTL, "-j", "doctor", check=False).stdout)["checks"]
                if c["check"] == "attachments"][0]
            net.in_b("ip", "link", "set", "dev", net.B, "xdp", "off")
            off = doctor("attachments")
        net.epfctl("attach", net.B, "--filter", NAME, "--no-dispatcher")
        prog = lose_pins()
        fault = net.refused(f"one can be attached: program {prog} 'xdp_dedup' of epfctl", "attach",
                            net.B, "--filter", NAME, "--no-dispatcher") or \
            net.refused(f"program {prog} 'xdp_dedup' of epfctl", "attach", net.B, "--filter", NAME)
        lost = doctor("attachments")
        net.in_b("ip", "link", "set", "dev", net.B, "xdp", "off")
    return fault or net.unlike(
        before=((before["ok"], net.B in before["state"]), (True, False)),
        well=((well["ok"], f"{net.B}" in well["state"], "@" in well["state"]), (True, True, False)),
        elsewhere=(f"{net.B} in another network namespace" in elsewhere["state"], True),
        off=((off["ok"], f"epfctl detach {net.B}'" in off.get("remedy", "")), (False, True)),
        lost=((lost["ok"], f"program {prog} on {net.B}" in lost["state"]), (False, True)),
        jit=((jit["ok"], "interpreted" in jit["state"]), (True, False)))


def foreign():
    """The program of others that has the interface, its link and its pin."""
    pin = f"/sys/fs/bpf/{NAME}-link"
    code = struct.pack("=BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)
    insns, gpl = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    prog = Earlier.bpf(5, struct.pack("=IIQQIIQII16s", 6, 2, ctypes.addressof(insns),
                                      ctypes.addressof(gpl), 0, 0, 0, 0, 0, b"others"))
    dev = json.loads(net.in_b("ip", "-j", "link", "show", net.B).stdout)[0]["ifindex"]
    with netns.entered(net.NS_B):
        link = Earlier.bpf(28, struct.pack("=IIII", prog, dev, 37, 0))
    here = ctypes.create_string_buffer(pin.encode())
    Earlier.bpf(6, struct.pack("=QII", ctypes.addressof(here), link, 0))
    try:
        with Filter():
            return net.refused(f" 'others', link ", "attach", net.B, "--filter", NAME) or \
                net.refused(f", pinned at {pin}: ", "attach", net.B, "--filter", NAME,
                            "--no-dispatcher")
    finally:
        os.unlink(pin)
        os.close(link)
        os.close(prog)


def kernel():
    """Return the kernel's version, such as (6, 12)."""
    return tuple(map(int, os.uname().release.split(".")[:2]))


def of_kernel():
    """Cases that may differ between kernels; bpf/digest tests all keys there."""
    some = "frame", "packet without MACs and tags", "flow"
    out = [("keys, native", functools.partial(keys, "native", some)),
           ("drop, generic", functools.partial(repeats, "--mode", "generic")),
           ("doctor: our program without pins in a dispatcher", in_dispatcher)]
    if real_time():
        out.append(("epochs ended by the kernel: refused", timer_refused))
    if kernel() < (6, 6):
        return out + [("mark: refused", marks_refused)]
    return out + [("mark, native", functools.partial(marks, "--mode", "native"))]


def cases():
    of = functools.partial
    if os.environ.get("EPF_VM") and not os.environ.get("EPF_THOROUGH"):
        return of_kernel()
    out = [("every key, native", of(keys, "native"))]
    for mode in "native", "generic":
        for how in [], ["--no-dispatcher"]:
            out.append((f"drop, {mode} {' '.join(how)}".strip(),
                        of(repeats, "--mode", mode, *how)))
        out += [
            (f"count, {mode}", of(repeats, "--mode", mode, action="count",
                                  seed=2)),
            (f"mark, {mode}", of(marks, "--mode", mode) if kernel() >= (6, 6)
             else marks_refused),
        ]
    if kernel() >= (6, 6):
        out.append(("mark: bits of others stay", foreign_bits))
    return out + [
        ("the holder is killed, and the next one begins", holder_killed),
        ("no process ever held it", never_held),
        ("destroyed by force: everything passes", destroyed),
        ("swap under a program", swapped),
        ("without --filter", default),
        ("without --filter, generic", of(default, "--mode", "generic",
                                         "--no-dispatcher")),
        ("without --filter, epochs ended by the kernel", default_timed),
        ("a filter that was made stays where another one uses it",
         default_shared),
        ("without --filter, refused: nothing is left", default_refused),
        ("refused: attached already", twice),
        ("refused: no Ethernet headers", no_ethernet),
        ("refused, and doctor: our program without pins", in_the_way),
        ("doctor: our program without pins in a dispatcher", in_dispatcher),
        ("refused: a program of others", foreign),
        ("destroy is refused while it is attached", destroy_refused),
    ]


if __name__ == "__main__":
    stage.main(cases, [functools.partial(stage.require, NAME)], sweep, nothing_left)
