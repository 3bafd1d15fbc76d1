#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`epfctl attach --reflexive` on this machine, in the setup of reflex_hosts.py. B is the
protected host, A the world. Raw frames of every kind that the rule distinguishes go out of B
and in from A, and an oracle that knows each frame predicts its outcome; then real sockets.
In a guest only the parts that depend on the kernel run, unless EPF_THOROUGH is set. With
EPF_REFLEX_BACKEND=module it tests filters of the module, which need no holder.
"""

import collections
import functools
import json
import os
import select
import signal
import socket
import struct

import reflex_hosts as hosts
import reflex_packets as packets
import reflex_spoilt as spoilt
import stage
import bpfobjects
from reflex_hosts import (A4, A6, ALL, B4, B6, DNS, DROP, IP, IP6, NAME, PATIENCE, TWIN,
                          Attached, Filter, Holder, arrived, bursts, counted, in_ns,
                          kernel, net, pins, raw, send_in, send_out, tap,
                          two_capabilities, udp)
from reflex_zones import zones

SO_RCVMARK, SO_MARK = 75, 36
SAME = {"answer", "tagged", "error", "first"}
THOROUGH = bool(os.environ.get("EPF_THOROUGH"))
KERNELS = bool(os.environ.get("EPF_KERNELS"))  # make check-kernels
FEW = 4 if os.environ.get("EPF_VM") and not KERNELS else 24


def attached(*options, **how):
    return Attached(*options, **how)


def seen(frames, protocol):
    """Return which of the passed @frames a socket of @protocol receives. Whether a socket
    of one protocol gets tagged packets depends on the kernel.
"""
    if protocol == ALL:
        return [packets.untagged(f) for f in frames]
    return [f for f in frames if f[12:14] == struct.pack(">H", protocol) and
            b"tagged" not in f and b"twice" not in f]


# What the rules of the tests do for each reason, if it is not "accept".
def verdicts(absent="drop", unknown="accept", fragments="pass", malformed=None):
    out = dict.fromkeys(("saturated", "overdue", "no_filter", "error"), unknown)
    out.update(absent=absent, fragment=fragments)
    out.update(dict.fromkeys(("truncated", "malformed"), malformed or absent))
    return out


def passes(reason, rule):
    return rule.get(reason, "accept") != "drop"


def oracle(*options, what=DROP, rule=None, protocol=ALL, match=DNS,
           known=packets.dns):
    """Half of the flows send a query, then answers of all kinds arrive for all of them."""
    rule = rule or verdicts()
    sent, asked = packets.mixture(tap.drawn(1), known)
    tap.may_fail(1e-6)
    with Filter(), Holder(), attached(*options, what=what, match=match) as on:
        send_out([f for f, _ in sent])
        got = send_in([f for f, _ in asked], protocol)
        learnt, counters = on.side("learn"), on.side("ask")
    if protocol != ALL:
        got = seen(got, protocol)
    want = seen([f for f, r in asked if passes(r, rule)], protocol)
    reasons = collections.Counter(r for _, r in asked)
    for reason in "recent", "absent", "fragment", "truncated", "malformed", "other":
        if reasons[reason] < 5:
            return f"the test has too few of {reason}"
    return net.unlike(learn=(learnt, counted([r for _, r in sent], sent)),
                      ask=(counters, counted([r for _, r in asked], asked)),
                      passed=arrived(got, want))


def flows(first, count=200):
    """Return plain ones of DNS, half of IPv6: (queries, answers)."""
    made = [packets.Flow(6 if n % 2 else 4, 17, n, 53)
            for n in range(first, first + count)]
    return [f.query() for f in made], [f.answer() for f in made]


def locked():
    """A kind of filter whose operations exclude one another."""
    known, other = flows(0), flows(1000)
    with Filter("--kind", "dict", "--time", "1h", "--rate", "1", "-b", "1e-6"), \
            attached() as on:
        send_out(known[0])
        got = send_in(known[1] + other[1])
        counters = on.side("ask")
    return net.unlike(passed=arrived(got, known[1]),
                      counters=(counters, {"recent": 200, "absent": 200,
                                           "other": bursts(known[1] + other[1])}))


def paged():
    """Packets whose headers are not in one piece are inserted, and packets that are cut
    short are recognized as such.
"""
    out, back = flows(0, packets.RING - 1)
    with Filter(), Holder(), attached() as on:
        with raw(net.NS_B, net.B, 0) as tx, raw(net.NS_A, net.A, ALL) as rx:
            last = hosts.fence(True)
            packets.send_from_ring(tx, out + [last])
            hosts.drain(rx, last)
        got = send_in(back)
        learnt = on.side("learn")
        send_out([f[:30] for f in out[:5]])
        cut = on.side("learn").get("truncated")
    return net.unlike(learnt=(learnt, {"learnt": len(out), "other": 1}),
                      passed=arrived(got, back), cut=(cut, 5))


def key(name, recent, *options):
    """Which packets that resemble an answer are one, by that key."""
    fault = None
    for version in 4, 6:
        query, asked = packets.neighbours(version)
        tap.may_fail(1e-8)
        with Filter(), Holder(), attached("--key", name, *options) as on:
            send_out([query.query()])
            for what, frame in asked.items():
                before = on.side("ask").get("recent", 0)
                send_in([frame])
                is_recent = on.side("ask").get("recent", 0) > before
                if is_recent != (what in recent):
                    fault = fault or f"IPv{version}: {what}: recent {is_recent}"
    return fault


OFTEN = ("-W", 1000000, "-b", "1e-9")  # epochs end by explicit rotation only


def judged(on, before, frame, protocol):
    """Return the counter of the incoming @frame, whether it is passed, and the counters
    after it. They were @before.
    """
    got = send_in([frame], protocol)
    after = on.side("ask")
    return [r for r in after if r != "other" and after[r] > before.get(r, 0)] + \
        [got == [frame]], after


def ages_of(within, *options, filter_options=OFTEN, until=9):
    """Return the outcome of answers, IPv4 and IPv6, to one query as epochs end."""
    both = [(packets.Flow(4, 17, 7, 53), IP), (packets.Flow(6, 17, 7, 53), IP6)]
    seen = [[], []]
    with Filter(*filter_options), Holder(), \
            attached("--within", within, *options) as on:
        send_out([flow.query() for flow, _ in both])
        counters = on.side("ask")
        for _ in range(until):
            for of, (flow, protocol) in zip(seen, both):
                how, counters = judged(on, counters, flow.answer(), protocol)
                of.append(how)
            net.epfctl("rotate", NAME, "-n", 1)
    return seen


def ages(*options, within=(1, 2, 6, 7)):
    """--within: an answer is recent for that many epochs, and no longer. One to an older
    query has the verdict of --else.
    """
    got = {n: ages_of(n, *options) for n in within}
    want = {n: 2 * [[["recent", True]] * (n + 1) + [["older", False]] * (7 - n) +
                    [["absent", False]]] for n in got}
    return net.unlike(ages=(got, want))


def ages_locked():
    """The same for other kinds, which have more epochs in a window than lanes."""
    kind = ("--kind", "ge", "-W", 1000000, "-b", "1e-6")
    got = ages_of(2, filter_options=kind, until=4)
    want = 2 * [[["recent", True]] * 3 + [["older", False]]]
    with Filter(*kind):
        fault = refused("by insertions", "--reflexive", *DNS, *DROP, "--within", "1s") \
            or refused("at most 253", "--reflexive", *DNS, *DROP, "--within", "254")
    return fault or net.unlike(ages=(got, want))


def durations():
    """A duration in --within is rounded up to epochs, of which 70s have seven, and shown as
    it was given.
"""
    got = {}
    rule = ["--reflexive", *DNS, *DROP, "--within"]
    for options in ("--time", "70s", "--rate", "100"), \
            ("--time", "70s", "--rate", "100", "--window", 1000, "--mode", "both"):
        with Filter(*options, "-b", "1e-9"):
            for text in "1ns", "10s", "10001ms", "60s", "60000001us", "70s":
                with attached("--within", text) as on:
                    s = on.status()["reflexive"]
                    line = net.epfctl("status", net.B).stdout
                    got[text] = s["within_epochs"], s["within_ns"], \
                        f" --within {text} --else " in line
            fault = refused("remembers only 70", *rule, "70001ms") or \
                net.unlike(epochs=(got, {
                    "1ns": (1, 1, True), "10s": (1, 10**10, True),
                    "10001ms": (2, 10001 * 10**6, True), "60s": (6, 6 * 10**10, True),
                    "60000001us": (7, 60000001000, True), "70s": (7, 7 * 10**10, True)}))
            if fault:
                return fault
    with Filter(*OFTEN):
        fault = refused("by insertions", *rule, "1s")
        for text, bad in ("too small", "0"), ("too small", "0s"), ("not a number", "-1"), \
                ("too large", "8"), ("not a number", "often"), ("not a number", ""), \
                ("too large", "99999999999999999999"), ("no unit", "1.5"), \
                ("not a number", "10 apples"), ("not a number", "-1s"):
            fault = fault or refused(text, *rule, bad)
        with attached("--within", 3) as on:
            s = on.status()["reflexive"]
            line = net.epfctl("status", net.B).stdout
    return fault or net.unlike(
        given=((s["within_epochs"], s.get("within_ns"), " --within 3 --else " in line),
               (3, None, True)))


def reload(*options):
    """Swap and restore: a program continues with the contents under the name."""
    first, second = flows(0), flows(1000)
    with Filter(), Filter(name=TWIN), Holder(NAME, TWIN), \
            attached(*options) as on:
        send_out(first[0])
        net.epfctl("save", NAME, net.tmp("one.epf"))
        net.epfctl("swap", NAME, TWIN)
        swapped = send_in(first[1])
        send_out(second[0])
        other = send_in(second[1])
        net.epfctl("restore", NAME, net.tmp("one.epf"))
        restored = send_in(first[1]), send_in(second[1])
        net.epfctl("swap", NAME, TWIN)
        back = send_in(first[1])
        counters = on.side("ask")
    n = bursts(first[0])
    return net.unlike(
        swapped=arrived(swapped, []), other=arrived(other, second[1]),
        restored=arrived(restored[0], first[1]),
        lost=arrived(restored[1], []), back=arrived(back, first[1]),
        counters=(counters, {"recent": 600, "absent": 400, "other": 5 * n}))


def unknown_case(reason, verdict, spoil):
    """@spoil() makes the filter unable to answer: inserted keys have @verdict, and others
    are certainly absent, unless there is no filter at all.
"""
    known, other = flows(0), flows(1000)
    what = ["--else", "drop", "--if-unknown", verdict, "--fragments", "drop"]
    with spoil() as ruin, attached(what=what) as on:
        send_out(known[0])
        ruin()
        got = send_in(known[1] + other[1])
        send_out(other[0])
        counters, learnt = on.side("ask"), on.side("learn")
    gone = reason == "no_filter"
    n = bursts(known[0])
    want = {reason: 400 if gone else 200, "absent": 0 if gone else 200,
            "other": bursts(known[1] + other[1])}
    taught = {"learnt": 200 if gone else 400, "no_filter": 200 if gone else 0,
              "other": 2 * n}
    asked = known[1] + other[1] if gone else known[1]
    return net.unlike(
        passed=arrived(got, asked if verdict == "accept" else []),
        counters=(counters, {k: v for k, v in want.items() if v}),
        learnt=(learnt, {k: v for k, v in taught.items() if v}))


def controls(*options):
    """Control packets pass and are not learnt, by their destination; with --no-control they
    are judged like all others.
    """
    kind, like = packets.controls(False)
    seen = []
    for more in (), ("--no-control",):
        with Filter(), Holder(), attached(*options, *more, match=["--match", "udp"]) as on:
            send_out(packets.controls(True)[0])
            got = send_in(kind + like, IP if options else ALL)
            ask, learn = on.side("ask"), on.side("learn")
            seen.append((len(got), packets.control_of(ask), ask.get("absent", 0),
                         packets.control_of(learn), learn.get("learnt", 0)))
    n, passed = len(kind), 4 if options else len(kind)
    return net.unlike(control=(seen[0], (passed, n, len(like), n, 0)),
                      judged=(seen[1], (0, 0, n + len(like), 0, n)))


class Echo:
    """UDP servers in A that answer every datagram, and also send one answer to a socket
    that did not ask."""

    def __init__(self, *addresses, port=53):
        socks = [udp(net.NS_A, a, port) for a in addresses]
        self.pid = os.fork()
        if not self.pid:
            try:
                self.serve(socks)
            finally:
                os._exit(1)
        for sock in socks:
            sock.close()

    @staticmethod
    def serve(socks):
        while True:
            for sock in select.select(socks, [], [])[0]:
                data, who = sock.recvfrom(2048)
                sock.sendto(data, who)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def queries(address, server, count):
    """Ask from @count ports. Return the number of answers."""
    answered = 0
    for n in range(count):
        with udp(net.NS_B, address) as sock:
            sock.settimeout(PATIENCE)
            sock.sendto(struct.pack(">I", n), (server, 53))
            try:
                answered += sock.recv(2048) == struct.pack(">I", n)
            except socket.timeout:
                pass
    return answered


def sockets(*options):
    """Real queries are answered, and a real socket gets nothing else, except packets that
    do not match.
"""
    with Filter(), Holder(), attached(*options) as on, Echo(A4, A6):
        four, six = queries(B4, A4, 100), queries(B6, A6, 100)
        with udp(net.NS_B, B4, 5000) as victim, udp(net.NS_A, A4, 123) as ntp, \
                udp(net.NS_A, A4, 9999) as else_where:
            for _ in range(50):
                ntp.sendto(b"spoofed", (B4, 5000))
            else_where.sendto(b"not matched", (B4, 5000))
            got = victim.recv(2048)
        counters = on.side("ask")
    return net.unlike(answered=((four, six), (100, 100)), got=(got, b"not matched"),
                      recent=(counters.get("recent"), 200),
                      absent=(counters.get("absent"), 50))


def unreachable(*options):
    """ICMP errors that a real stack sends about a packet pass, and the socket gets them;
    forged ones do not pass.
"""
    told = []
    with Filter(), Holder(), attached(*options, match=["--match", "udp"]) as on:
        for here, there in (B4, A4), (B6, A6):
            with udp(net.NS_B, here) as sock:
                sock.connect((there, 4242))
                sock.settimeout(PATIENCE)
                sock.send(b"anybody?")
                try:
                    sock.recv(2048)
                    told.append("an answer")
                except OSError as error:
                    told.append(type(error).__name__)
        counters = on.side("ask")
    return net.unlike(told=(told, 2 * ["ConnectionRefusedError"]),
                      recent=(counters.get("recent"), 2))


def tcp(*options):
    """Connections from here work, with packets as large as the stack makes them, and
    connections from there fail.
"""
    data = os.urandom(1 << 16)
    rule = ["--match", "tcp"]
    with Filter(), Holder(), attached(*options, match=rule) as on:
        with udp(net.NS_A, A4, 8080, socket.SOCK_STREAM) as server, \
                udp(net.NS_B, B4, 0, socket.SOCK_STREAM) as client:
            server.listen()
            client.connect((A4, 8080))
            peer = server.accept()[0]
            with peer:
                got = b""
                for _ in range(16):
                    client.sendall(data)
                    got = b""
                    while len(got) < len(data):
                        got += peer.recv(1 << 16)
        with udp(net.NS_B, B4, 8080, socket.SOCK_STREAM) as server, \
                udp(net.NS_A, A4, 0, socket.SOCK_STREAM) as client:
            server.listen()
            client.settimeout(0.5)
            try:
                client.connect((B4, 8080))
                inside = True
            except socket.timeout:
                inside = False
        counters, learnt = on.side("ask"), on.status()["counters"]["learn"]["learnt"]
    return net.unlike(
        same=(got == data, True), inside=(inside, False),
        large=(learnt["bytes"] > 3000 * learnt["packets"], True),
        dropped=(counters.get("absent", 0) > 0, True),
        unread=(sorted(counters), ["absent", "recent"]))


def big_tcp(*options):
    """With packets longer than an IPv4 header can state (Linux 6.3): they are inserted,
    although the header says 0.
"""
    if kernel() < (6, 3):
        raise tap.Skip("Linux 6.3 is needed")
    data = os.urandom(1 << 22)
    with Filter(), Holder(), attached(*options, match=["--match", "tcp"]) as on, \
            udp(net.NS_A, A4, 8080, socket.SOCK_STREAM) as server, \
            udp(net.NS_B, B4, 0, socket.SOCK_STREAM) as client:
        in_ns(net.NS_B, lambda: packets.gso_ipv4_max(net.B, 200000))
        try:
            for sock in server, client:
                for way in socket.SO_RCVBUF, socket.SO_SNDBUF:
                    sock.setsockopt(socket.SOL_SOCKET, way, 1 << 24)
            server.listen()
            client.connect((A4, 8080))
            peer = server.accept()[0]
            with peer:
                sender = os.fork()
                if not sender:
                    client.sendall(8 * data)
                    os._exit(0)
                left_over = 8 * len(data)
                while left_over:
                    left_over -= len(peer.recv(1 << 20))
                os.waitpid(sender, 0)
        finally:
            in_ns(net.NS_B, lambda: packets.gso_ipv4_max(net.B, 65536))
        learnt = on.status()["counters"]["learn"]
    return net.unlike(
        malformed=(learnt["malformed"]["packets"], 0),
        large=(learnt["learnt"]["bytes"] > 80000 * learnt["learnt"]["packets"], True))


def race(*options):
    """Queries from process context while softirqs of the same CPU judge a flood: no answer
    is dropped, and none of the flood passes.
    """
    count = 20000 if not os.environ.get("EPF_VM") else 2000 if KERNELS or THOROUGH else 400
    with Filter("--time", "1h", "--rate", "1k", "-b", "1e-9"), Holder(), \
            attached(*options) as on, Echo(A4):
        spoofed = [packets.Flow(4, 17, 50000 + n, 53).answer() for n in range(256)]
        flood = os.fork()
        if not flood:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            with raw(net.NS_A, net.A, 0) as tx:
                while True:
                    for n, frame in enumerate(spoofed):
                        tx.send(frame)
                        if n % 4 == 0:
                            os.sched_yield()
        try:
            answered = queries(B4, A4, count)
        finally:
            os.kill(flood, signal.SIGTERM)
            os.waitpid(flood, 0)
        counters, learnt = on.side("ask"), on.side("learn")
    return net.unlike(answered=(answered, count), recent=(counters["recent"], count),
                      learnt=(learnt["learnt"], count),
                      flood=(counters.get("absent", 0) > count / 10, True),
                      reasons=(sorted(counters), ["absent", "recent"]))


def others_filter(hook, prio, handle=1):
    """Another user's program, as a filter."""
    path = os.path.join(net.BUILD, "selftests/ebpf/reflex_other.bpf.o")
    net.in_b("tc", "filter", "add", "dev", net.B, hook, "prio", prio, "handle", handle, "bpf",
             "da", "obj", path, "sec", "tc")


def marks(*options):
    """A packet that answers no query is passed with a mark, of which only the bits of the
    mask are set: another program's bits stay.
"""
    what = ["--else", "mark=0x1000000/0x3000000", "--ask", "tc"]
    known, other = packets.sockets(A4, B4)
    net.in_b("tc", "qdisc", "add", "dev", net.B, "clsact")
    try:
        others_filter("ingress", 1)
        with Filter(), Holder(), attached(*options, what=what) as on, \
                udp(net.NS_B, B4, 5000) as sock:
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVMARK, 1)
            send_out([known.query()])
            send_in([known.answer(), other.answer()], IP)
            got = []
            for _ in range(2):
                _, control = sock.recvmsg(2048, 64)[:2]
                got += [struct.unpack("I", d[:4])[0] for _, k, d in control
                        if k == SO_MARK]
            counters = on.side("ask")
        mine = "clsact" in net.in_b("tc", "qdisc", "show", "dev", net.B).stdout
    finally:
        net.in_b("tc", "qdisc", "del", "dev", net.B, "clsact")
    return net.unlike(marks=(got, [0x82000007, 0x81000007]), kept=(mine, True),
                      # an answer, and the reply of A's stack to the query
                      counters=(counters, {"recent": 2, "absent": 1, "other": 1})) \


def beside(*options):
    """A filter that another user put into the qdisc keeps the qdisc, whoever made it."""
    with Filter():
        with attached("--clsact", *options):
            others_filter("egress", 7)
        shown = net.in_b("tc", "filter", "show", "dev", net.B, "egress").stdout
        net.in_b("tc", "qdisc", "del", "dev", net.B, "clsact")
    return net.unlike(theirs=("reflex_other" in shown, True),
                      ours=("reflex_learn" in shown, False))


def half(replaced):
    """If the inserting program was removed, status says so, and detach removes the rest; but not
    what another user has put at the program's place since.
"""
    with Filter():
        net.epfctl("attach", net.B, "--filter", NAME, "--reflexive", *DNS, *DROP,
                   "--clsact")
        net.in_b("tc", "qdisc", "del", "dev", net.B, "clsact")
        if replaced:
            net.in_b("tc", "qdisc", "add", "dev", net.B, "clsact")
            others_filter("egress", 60000, "0x657066")
        shown = net.epfctl("status", net.B, check=False)
        told = json.loads(net.epfctl("-j", "status", net.B, check=False).stdout)
        net.epfctl("detach", net.B)
        kept = net.in_b("tc", "filter", "show", "dev", net.B, "egress", check=False).stdout
        if replaced:
            net.in_b("tc", "qdisc", "del", "dev", net.B, "clsact")
    return net.unlike(code=(shown.returncode, 1),
                      warned=("the learning program is gone" in shown.stdout, True),
                      theirs=("reflex_other" in kept, replaced),
                      sides=((told["reflexive"]["ask"]["attached"],
                              told["reflexive"]["learn"]["attached"]),
                             (True, False)))


def elsewhere():
    """Detached from another network namespace: the program that looks up then passes
    everything. A dispatcher would stay pinned, with a program that calls the module, which
    then could not be unloaded.
"""
    known = flows(0)
    with Filter(), Holder():
        net.epfctl("attach", net.B, "--filter", NAME, "--reflexive", *DNS, *DROP,
                   "--no-dispatcher")
        shown = net.epfctl("status", ns=None, check=False).stdout
        name = [l.split(":")[0] for l in shown.splitlines()
                if l.startswith(net.B + "@")]
        done = net.epfctl("detach", *name, ns=None)
        got = send_in(known[1])
        net.in_b("ip", "link", "set", net.B, "xdp", "off", check=False)
    return net.unlike(named=(len(name), 1), warned=("another" in done.stderr, True),
                      passed=arrived(got, known[1]))


def ours():
    """Programs and maps that only these attachments have."""
    counts = collections.Counter(bpfobjects.names(bpfobjects.PROG, bpfobjects.MAP))
    return {n: counts[n] for n in ("reflex_learn", "reflex_ask", "epf_rule",
                                   "epf_counts", "epf_held")}


def often():
    """Return how often, with EPF_THOROUGH: an emulated guest takes a second each time."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return 200 if "QEMU TCG" in file.read() else 10000


def memory():
    """Return KiB that the kernel cannot reclaim, of its allocators."""
    with open("/proc/meminfo", encoding="ascii") as file:
        sizes = dict(line.split(":") for line in file)
    return sum(int(sizes[what].split()[0]) for what in ("SUnreclaim", "VmallocUsed", "Percpu"))


def cycles(*options):
    """Attached and detached repeatedly, nothing is left; in a guest, where nothing else
    runs, no memory either, if there are enough cycles to detect a KiB per cycle.
    """
    count = int(os.environ.get("EPF_CYCLES", often() if THOROUGH else FEW))
    first, sizes = count // 10 if os.environ.get("EPF_VM") and count >= 1000 else -1, []
    kinds = [["--no-dispatcher"], ["--ask", "tc"], ["--clsact", "--no-dispatcher"],
             ["--ask", "tc", "--clsact"], []]
    before, held = ours(), set()
    with Filter():
        for n in range(count):
            with attached(*kinds[n % len(kinds)]):
                held.add(hosts.users())
            held.add(-hosts.users())
            if first >= 0 and n in (first, count - 1):
                sizes.append(memory())
    if held != ({0, 1} if hosts.MODULE else {0}):
        return f"references: {held}"
    if not net.eventually(lambda: all(n <= before[k] for k, n in ours().items()), PATIENCE):
        return f"left behind: {ours()}, before {before}"
    if sizes:
        print(f"# after {first + 1} {sizes[0]} KiB, after {count} {sizes[1]} KiB")
        if sizes[1] - sizes[0] >= count - first:
            return f"memory is left behind: {sizes} KiB"


def refused(text, *args):
    return net.refused(text, "attach", net.B, "--filter", NAME, *args)


def refusals():
    """One line for each names what is missing or invalid, and nothing is attached."""
    on = ["--reflexive"]
    with Filter():
        for text, args in [
                ("needs --match", on + DROP),
                ("needs --else", on + DNS),
                ("--if-unknown", on + DNS + ["--else", "drop"]),
                ("--fragments", on + DNS + ["--else", "drop", "--if-unknown", "drop"]),
                ("--ask tc", on + DNS + ["--else", "mark=1/1"]),
                ("must be drop, accept", on + DNS + ["--else", "mark=4/3"]),
                ("--if-malformed", on + DNS + DROP + ["--if-malformed", "maybe"]),
                ("--ask tc", on + DNS + DROP + ["--if-malformed", "mark=1/1"]),
                ("--reflexive only", ["--if-malformed", "drop"]),
                ("--reflexive only", ["--no-control"]),
                ("--match 'udp:dport", on + ["--match", "udp:dport=53"]),
                ("--match", on + ["--match", "udp:sport=53,"]),
                ("--match", on + ["--match", "udp:sport=70000"]),
                ("--match", on + ["--match", "icmp"]),
                ("--key flow", on + DNS + DROP + ["--key", "packet"]),
                ("--action", on + DNS + DROP + ["--action", "count"]),
                ("--mode", on + DNS + DROP + ["--ask", "tc", "--mode", "native"]),
                ("--key flow", on + DNS + DROP + ["--reverse"]),
                ("--key flow", on + DNS + DROP + ["--scope", "vlan"]),
                ("--zone '65536'", on + DNS + DROP + ["--zone", "65536"]),
                ("--zone '-1'", on + DNS + DROP + ["--zone", "-1"]),
                ("--zone ''", on + DNS + DROP + ["--zone", ""]),
                ("--zone '1.5'", on + DNS + DROP + ["--zone", "1.5"]),
                ("--zone 'dmz'", on + DNS + DROP + ["--zone", "dmz"]),
                ("--zone does not go", ["--key", "packet", "--zone", "1"]),
                ("--reflexive only", ["--within", "3"]),
                ("do not go with --admit", ["--admit", "1", "--within", "3"]),
                ("not pass or drop", on + DNS + DROP[:4] + ["--fragments", "id"]),
                ("--reflexive only", DNS),
                ("--reflexive only", ["--else", "drop"])]:
            fault = refused(text, *args)
            if fault:
                return fault
        net.in_b("ip", "tuntap", "add", "dev", "tun9", "mode", "tun")
        done = net.epfctl("attach", "tun9", "--filter", NAME, *on, *DNS, *DROP,
                          check=False)
        net.in_b("ip", "link", "del", "tun9")
        if done.returncode != 2 or "no Ethernet" not in done.stderr:
            return f"tun: exit {done.returncode}: {done.stderr}"
        with attached():
            fault = refused("already", *on, *DNS, *DROP)
        return fault or net.unlike(pins=(pins(), [] if hosts.MODULE else [NAME]))


def told():
    """status shows the rule that was given."""
    match = ["--match", "any:sport=7", "--match", "udp:sport=443,53,1000-1010",
             "--match", "tcp"]
    with Filter(), attached(match=match) as on:
        s = on.status()
    return net.unlike(
        match=(s["reflexive"]["match"],
               ["any:sport=7", "tcp", "udp:sport=7,53,443,1000-1010"]),
        rule=([s["reflexive"][k] for k in ("else", "if_unknown", "if_malformed", "fragments")],
              ["drop", "accept", "drop", "pass"]), action=(s["action"], "reflexive"),
        key=(s["key"]["key"], "flow"),
        backend=(s["backend"], "module" if hosts.MODULE else "bpf"),
        held=(s.get("held"), None if hosts.MODULE else False))


def with_two(*options, **how):
    """Other forms of the programs are loaded then."""
    if hosts.MODULE:
        raise tap.Skip("the programs for filters of the module have one form only")
    if kernel() < (6, 18):
        raise tap.Skip("Linux 6.18 is needed, else CAP_PERFMON")
    with two_capabilities():
        return oracle(*options, **how)


def of_kernel():
    """Cases that may differ between kernels."""
    of = functools.partial
    return [("XDP: each packet by the oracle", of(oracle, "--no-dispatcher")),
            ("tc: each packet by the oracle", of(oracle, "--ask", "tc", protocol=IP)),
            ("clsact: each packet by the oracle",
             of(oracle, "--ask", "tc", "--clsact", protocol=IP6)),
            ("XDP with two capabilities: each packet by the oracle",
             of(with_two, "--no-dispatcher")),
            ("tc with two capabilities", of(with_two, "--ask", "tc", protocol=IP)),
            ("sockets", sockets),
            ("attached and detached, nothing is left", cycles)]


STOCK = (6, 12)


def of_module():
    """What may differ from filters that are pure BPF, but not from kernel to kernel. Keys, zones
    and epochs at tc are of the program and not of the filter: with EPF_KERNELS.
"""
    of, some = functools.partial, (1, 2, 6, 7) if KERNELS else (2,)
    out = [("saturated: drop", of(unknown_case, "saturated", "drop", spoilt.Saturated)),
           ("no_filter: drop", of(unknown_case, "no_filter", "drop", spoilt.Destroyed)),
           ("swap and restore under the programs", reload),
           ("learning is never lost to a flood on the same CPU", race),
           ("headers that lie in pages", paged),
           ("a locked kind", locked),
           ("answers within so many epochs", of(ages, within=some)),
           ("a locked kind, within so many epochs", ages_locked),
           ("detached from another network namespace", elsewhere),
           ("the rule is shown as it was given", told)]
    return out + KERNELS * [
        ("no_filter: accept", of(unknown_case, "no_filter", "accept", spoilt.Destroyed)),
        ("key peer", of(key, "peer", SAME | {"port", "remote"})),
        ("answers within so many epochs, tc", of(ages, "--ask", "tc", within=some)),
        ("zones", of(zones, flows(0)))]


def cases():
    of = functools.partial
    if os.environ.get("EPF_VM") and not THOROUGH:
        return [c for c in of_kernel() if KERNELS or "clsact" not in c[0]] + \
            (of_module() if hosts.MODULE and kernel() == STOCK else [])
    out = [("each packet by the oracle, dispatcher", oracle),
           ("each packet by the oracle, generic",
            of(oracle, "--mode", "generic", "--no-dispatcher")),
           ("each packet by the oracle, all that has ports",
            of(oracle, match=["--match", "any"], known=packets.any_port)),
           ("each packet by the oracle, everything dropped",
            of(oracle, what=["--else", "drop", "--if-unknown", "drop",
                             "--fragments", "drop"],
               rule=verdicts("drop", "drop", "drop"))),
           ("each packet by the oracle, malformed ones passed",
            of(oracle, what=[*DROP, "--if-malformed", "pass"],
               rule=verdicts(malformed="pass"))),
           ("each packet by the oracle, everything passed",
            of(oracle, what=["--else", "accept"], rule=verdicts("accept")))]
    for reason, spoil in spoilt.ways():
        for verdict in "drop", "accept":
            out.append((f"{reason}: {verdict}",
                        of(unknown_case, reason, verdict, spoil)))
    return of_kernel() + out + [
        ("swap and restore under the programs", reload),
        ("sockets, tc", of(sockets, "--ask", "tc")),
        ("ICMP errors of a real stack", unreachable),
        ("control packets", controls),
        ("control packets, tc", of(controls, "--ask", "tc")),
        ("key flow", of(key, "flow", SAME)),
        ("key conversation", of(key, "conversation", SAME)),
        ("key peer-port", of(key, "peer-port", SAME | {"port"})),
        ("key peer", of(key, "peer", SAME | {"port", "remote"})),
        ("key peer of a prefix", of(key, "peer", SAME | {"port", "remote", "near"},
                                    "--prefix", "24,56")),
        ("TCP from here, none from there", tcp),
        ("TCP likewise, tc", of(tcp, "--ask", "tc")),
        ("TCP in packets of more than 65,535 bytes", big_tcp),
        ("headers that lie in pages", paged),
        ("answers within so many epochs", ages),
        ("answers within so many epochs, tc", of(ages, "--ask", "tc")),
        ("answers within a duration", durations),
        ("learning is never lost to a flood on the same CPU", race),
        ("learning is never lost, tc", of(race, "--ask", "tc")),
        ("zones", of(zones, flows(0))), ("zones, tc", of(zones, flows(0), "--ask", "tc")),
        ("marks leave other bits alone", of(marks, "--clsact")),
        ("the qdisc of others stays", beside),
        ("what is left of half an attachment", of(half, False)),
        ("a program of another at its place", of(half, True)),
        ("detached from another network namespace", elsewhere),
        ("the rule is shown as it was given", told),
        ("refused", refusals),
    ]


if __name__ == "__main__":
    stage.main(cases, [hosts.require], hosts.sweep, hosts.nothing_left)
