#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`epfctl attach --hook` on this machine, in the setup of nf_hosts.py. B is the firewall:
it forwards, bridges, or is itself the host. Raw packets of every kind that a rule
distinguishes cross it, and an oracle that knows each packet predicts its counters and its
verdict at each hook; then real sockets. In a guest only the parts that depend on the kernel
run, unless EPF_THOROUGH is set.
"""

import collections
import contextlib
import functools
import os
import re
import signal
import socket
import struct

import nf_hosts as nf
import nf_recipe
import reflex as reflexive
import reflex_hosts as hosts
import reflex_packets as packets
import reflex_spoilt as spoilt
import stage
import bpfobjects
from nf_hosts import At, Bridged, Counted, Foreign, InVrf, Local, Routed, cross, same
from nf_recipe import in_from_a, out_from_c
from reflex_hosts import NAME, TWIN, Filter, Holder, arrived, bursts, kernel, net, tap

THOROUGH = bool(os.environ.get("EPF_THOROUGH"))
ANSWERS = ("--key", "flow", "--reverse", "--errors", "--match", "udp:sport=53,123,443,448")
QUERIES = ("--key", "flow", "--learn", "--match", "udp:dport=53,123,443,448")
DROP = ("--else", "drop", "--if-unknown", "accept", "--fragments", "pass")
HOOKS = ("prerouting", "input", "forward", "output", "postrouting")
packets.WAYS = ("plain", "options", "first")  # without tags, which belong to the link


def bridged_in(frames):
    return cross(frames, False, hosts.mac(nf.NS_C, nf.C))


def bridged_out(frames):
    return cross(frames, True, hosts.mac(net.NS_A, net.A))


# Reasons common to both hooks, because neither finds ports; other reasons belong to one.
BOTH = ("fragment", "malformed", "truncated")


def else_where(frame, reason):
    """An ICMP error itself has no ports; only the hook that looks up asks for what it carries."""
    error = frame[12:14] == b"\x08\x00" and frame[23] == packets.ICMP
    return reason if reason in BOTH and not error else "other"


def mixed():
    """Return ([(frame out, reason)], [(frame in, reason)]), those that reach a hook."""
    sent, asked = packets.mixture(tap.drawn(2), packets.dns)
    return [[(f, r) for f, r in some if nf.reaches_hooks(f)] for some in (sent, asked)]


def tally(*lists, other=0):
    want = collections.Counter(r for some in lists for r in some)
    want["other"] += other
    return {r: n for r, n in want.items() if n}


def oracle(learn, ask, way=Routed, go_out=out_from_c, go_in=in_from_a, times=1,
           what=DROP, rule=None):
    """Half of the flows cross B outwards, then answers of all kinds arrive for all. The
    hook that looks up comes first, in both directions; it sees packets that it passes
    @times.
"""
    rule = rule or reflexive.verdicts()
    sent, asked = mixed()
    tap.may_fail(1e-6)
    with way(), Filter(), Holder(), At(learn, *QUERIES) as learns, \
            At(ask, *ANSWERS, *what) as asks:
        out = go_out([f for f, _ in sent])
        got = go_in([f for f, _ in asked])
        counts = learns.counts(), asks.counts()
    passed = [(f, r) for f, r in asked if reflexive.passes(r, rule)]
    left = [(f, r) for f, r in sent if reflexive.passes(else_where(f, r), rule)]
    fences = bursts(sent) + bursts(asked)
    learnt = tally([r for _, r in left], [else_where(*p) for p in passed], other=fences)
    found = tally([r for _, r in asked], [else_where(*p) for p in sent], other=fences)
    for reason in "recent", "absent", "fragment", "other":
        if found[reason] < 5:
            return f"the test has too few of {reason}"
    return net.unlike(
        learn=(counts[0], learnt),
        ask=(counts[1], {r: n * times if reflexive.passes(r, rule) else n
                         for r, n in found.items()}),
        out=arrived(out, [same(f[14:]) for f, _ in left]),
        passed=arrived(got, [same(f[14:]) for f, _ in passed]))


def settles(count, want):
    net.eventually(lambda: count() == want, 5)
    return count()


def local(learn="nf:output:300", ask="nf:input:-310"):
    """B is the host: packets it sends are inserted, and packets for it are looked up."""
    sent, asked = mixed()
    asked = [(f, r) for f, r in asked if not nf.reassembled(f)]
    tap.may_fail(1e-6)
    with Local(), Filter(), Holder(), At(learn, *QUERIES) as learns, \
            At(ask, *ANSWERS, *DROP) as asks, Counted("input", 100) as count:
        nf.send_local([f for f, _ in sent])
        learnt = learns.counts()
        before = count.packets()
        with hosts.raw(net.NS_A, net.A, 0) as tx:
            for frame, _ in asked:
                tx.send(frame)
        found = tally([r for _, r in asked])
        passed = sum(n for r, n in found.items() if reflexive.passes(r, reflexive.verdicts()))
        came = settles(lambda: count.packets() - before, passed)
        counts = asks.counts()
    return net.unlike(learn=(learnt, tally([r for _, r in sent])),
                      ask=(counts, found), came=(came, passed))


def families():
    """A hook of one family does not see the other one."""
    queries, answers = reflexive.flows(0)
    fault = None
    for family, version in ("ip", 4), ("ip6", 6):
        with Routed(), Filter(), Holder(), \
                At(f"nf:prerouting:-310:{family}", *ANSWERS, *DROP) as asks:
            got = in_from_a(answers)
            counts, shown = asks.counts(), asks.status()["families"]
        others = [same(f[14:]) for f in answers if f[14] >> 4 != version]
        want = {"absent": len(answers) // 2}
        if version == 4:
            want["other"] = bursts(answers)  # the fences
        fault = fault or net.unlike(passed=arrived(got, others), counts=(counts, want),
                                    families=(shown, [family]))
    return fault or net.unlike(queries=(len(queries), 200))


def everything():
    """Without --match every packet with a key is judged, even one without ports."""
    src, dst = packets.A[4], packets.B[4]
    made = [packets.ether(0x0800, packets.ip4(p, bytes(16), src, dst), False)
            for p in (packets.GRE, packets.IPIP, 17, 6, 132, 99)]
    back = [packets.ether(0x0800, packets.ip4(p, bytes(16), dst, src), True)
            for p in (packets.GRE, packets.IPIP, 17, 6, 132, 99)]
    with Routed(), Filter(), Holder(), \
            At("nf:postrouting:300", "--key", "peer", "--reverse", "--learn"), \
            At("nf:prerouting:-310", "--key", "peer", "--else", "accept") as peers, \
            At("nf:prerouting:-309", "--key", "flow", "--else", "accept") as flows:
        in_from_a(made)
        first = peers.counts()
        out_from_c(back)
        in_from_a(made)
        counts = peers.counts(), flows.counts()
    # A's packets give the inserting hook C as a peer, and C's packets A
    n = len(made) + 1
    return net.unlike(first=(first, {"absent": n}),
                      peers=(counts[0], {"absent": n, "recent": 2 * n}),
                      flows=(counts[1], {"absent": 3 * n}))


def controls():
    """Control packets pass and are not learnt, by their destination, also where a rule matches
    all packets; with --no-control they are judged like all others.
    """
    kind, like = packets.controls(False)
    seen = []
    for match in ("--match", "udp"), ("--match", "udp", "--no-control"), (), ("--no-control",):
        with Local(), Filter(), Holder(), \
                At("nf:prerouting:-310", "--key", "flow", *match, *DROP) as asks, \
                At("nf:prerouting:-311", "--key", "flow", "--learn",
                   *match) as learns, hosts.raw(net.NS_A, net.A, 0) as tx:
            for frame in kind + like:
                tx.send(frame)
            settles(lambda: sum(asks.counts().values()), len(kind + like))
            seen.append([packets.control_of(asks.counts()), packets.control_of(learns.counts()),
                         learns.counts().get("learnt", 0)])
    n = len(kind)
    return net.unlike(counts=(seen, 2 * [[n, n, len(like)], [0, 0, n + len(like)]]))


def key(name, recent, learn=(), ask=()):
    """Which packets that resemble an answer are one, by that key."""
    fault = None
    for version in 4, 6:
        query, asked = packets.neighbours(version)
        tap.may_fail(1e-8)
        with Routed(), Filter(), Holder(), \
                At("nf:postrouting:300", "--key", name, "--learn", "--match",
                   "udp:dport=53,123", *learn), \
                At("nf:prerouting:-310", "--key", name, "--errors", "--match",
                   "udp:sport=53,123", *ask, *DROP) as on:
            out_from_c([query.query()])
            for what, frame in asked.items():
                if what == "tagged":
                    continue
                before = on.counts().get("recent", 0)
                in_from_a([frame])
                is_recent = on.counts().get("recent", 0) > before
                if is_recent != (what in recent):
                    fault = fault or f"IPv{version}: {what}: recent {is_recent}"
    return fault


def unknown(reason, verdict, spoil):
    """@spoil() makes the filter unable to answer: inserted keys have @verdict, and others
    are certainly absent, unless there is no filter at all.
"""
    known, other = reflexive.flows(0), reflexive.flows(1000)
    what = ("--else", "drop", "--if-unknown", verdict, "--fragments", "drop")
    with Routed(), spoil() as ruin, At("nf:postrouting:300", *QUERIES) as learns, \
            At("nf:prerouting:-310", *ANSWERS, *what) as asks:
        out_from_c(known[0])
        before = asks.counts()
        ruin()
        got = in_from_a(known[1] + other[1])
        counts = asks.counts()
        out_from_c(other[0])
        learnt = learns.counts()
    gone = reason == "no_filter"
    want = {reason: 400 if gone else 200, "absent": 0 if gone else 200,
            "other": before["other"] + bursts(known[1] + other[1])}
    asked = known[1] + other[1] if gone else known[1]
    return net.unlike(
        passed=arrived(got, [same(f[14:]) for f in asked] if verdict == "accept" else []),
        counts=(counts, {k: v for k, v in want.items() if v}),
        learnt=((learnt.get("learnt"), learnt.get("no_filter", 0)),
                (200, 200) if gone else (400, 0)))


def reload():
    """Swap and restore: a program continues with the contents under the name."""
    first, second = reflexive.flows(0), reflexive.flows(1000)
    with Routed(), Filter(), Filter(name=TWIN), Holder(NAME, TWIN), \
            At("nf:postrouting:300", *QUERIES), \
            At("nf:prerouting:-310", *ANSWERS, *DROP):
        def passed(frames):
            return arrived(in_from_a(frames), [same(f[14:]) for f in frames])[0]

        def dropped(frames):
            return len(in_from_a(frames))

        out_from_c(first[0])
        net.epfctl("save", NAME, net.tmp("one.epf"))
        net.epfctl("swap", NAME, TWIN)
        swapped = dropped(first[1])
        out_from_c(second[0])
        other = passed(second[1])
        net.epfctl("restore", NAME, net.tmp("one.epf"))
        restored, lost = passed(first[1]), dropped(second[1])
        net.epfctl("swap", NAME, TWIN)
        back = passed(first[1])
    return net.unlike(
        swapped=(swapped, 0), other=(other, "as wanted"),
        restored=(restored, "as wanted"), lost=(lost, 0),
        back=(back, "as wanted"))


class HostC:
    """C has its address, and B as its router."""

    def __enter__(self):
        net.run("ip", "-n", nf.NS_C, "addr", "add", nf.C4 + "/32", "dev", nf.C)
        net.run("ip", "-n", nf.NS_C, "route", "add", "default", "dev", nf.C)
        net.run("ip", "-n", nf.NS_C, "neigh", "replace", hosts.A4, "lladdr",
                hosts.mac(net.NS_B, nf.B1), "dev", nf.C, "nud", "permanent")
        return self

    def __exit__(self, *error):
        net.run("ip", "-n", nf.NS_C, "addr", "del", nf.C4 + "/32", "dev", nf.C)


def nat():
    """A hook after source NAT sees the new addresses, one before it those of the host; on
    the way back too, and a key inserted by one is not found by the other.
"""
    made = nf.in_b("nft", f"table ip epf_nat {{\nchain c {{\ntype nat hook postrouting "
                   f"priority 100; oifname {net.B} snat to {hosts.B4}\n}}\n}}", check=False)
    if made.returncode:
        raise tap.Skip("no NAT by nft here")
    count = 50
    asks = ("--key", "flow", "--reverse", "--match", "udp:sport=53")
    learns = ("--key", "flow", "--learn", "--match", "udp:dport=53")
    hooks = {}
    try:
        with Routed(), HostC(), Filter(), Filter(name=TWIN), Holder(NAME, TWIN), \
                At("nf:postrouting:300", *learns), \
                At("nf:postrouting:50", *learns, filter=TWIN), \
                At("nf:prerouting:-310", *asks, *DROP) as hooks["new, outside"], \
                At("nf:prerouting:-309", *asks, filter=TWIN) as hooks["old, outside"], \
                At("nf:prerouting:-50", *asks) as hooks["new, inside"], \
                At("nf:prerouting:-49", *asks, *DROP, filter=TWIN) as \
                hooks["old, inside"], reflexive.Echo(hosts.A4):
            answered = 0
            for n in range(count):
                with hosts.udp(nf.NS_C, nf.C4) as sock:
                    sock.sendto(struct.pack(">I", n), (hosts.A4, 53))
                    answered += sock.recv(2048) == struct.pack(">I", n)
            counts = {name: h.counts() for name, h in hooks.items()}
            shown = net.epfctl("status", check=False).stdout  # those of other users may be
# unreadable
    finally:
        nf.in_b("nft", "delete", "table", "ip", "epf_nat")
    for c in counts.values():
        c.pop("other", None)
    return net.unlike(
        answered=(answered, count), counts=(counts, {
            "new, outside": {"recent": count}, "old, outside": {"absent": count},
            "new, inside": {"absent": count}, "old, inside": {"recent": count}}),
        hooks=(len(re.findall("^nf:[^@\\n]*: filter rfx", shown, re.M)), 6))


def race():
    """B sends from process context while softirqs of the same CPU look up a flood: each
    packet is inserted and counted, and each answer is found.
"""
    ports, remotes = (20000, 20) if THOROUGH else (10000, 10)
    spoofed = [packets.Flow(4, 17, 50000 + n, 65000).answer() for n in range(256)]
    tap.may_fail(1e-6)
    with Local(), Filter("--time", "1h", "--rate", "1k", "-b", "1e-9"), Holder(), \
            At("nf:output:300", "--key", "flow", "--learn", "--match",
               "udp:dport=1-64999") as learns, \
            At("nf:input:-310", "--key", "flow", "--reverse", "--match", "udp",
               "--no-control", *DROP) as asks:  # some of the ports are BFD's
        flood = os.fork()
        if not flood:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            with hosts.raw(net.NS_A, net.A, 0) as tx:
                while True:
                    for n, frame in enumerate(spoofed):
                        tx.send(frame)
                        if n % 4 == 0:
                            os.sched_yield()
        try:
            for port in range(1024, 1024 + ports):
                with hosts.udp(net.NS_B, nf.C4, port) as sock:
                    for remote in range(1, remotes + 1):
                        sock.sendto(b"query", (nf.A4, remote))
                os.sched_yield()
        finally:
            os.kill(flood, signal.SIGTERM)
            os.waitpid(flood, 0)
        learnt, before = learns.counts(), asks.counts()
        ends = packets.A[4], packets.B[4]
        with hosts.raw(net.NS_A, net.A, 0) as tx:
            for n in range(ports):
                for remote in range(1, remotes + 1):
                    tx.send(packets.Flow(4, 17, n, remote, ends).answer())
        total = ports * remotes
        settles(lambda: asks.counts().get("recent", 0), total)
        after = asks.counts()
    return net.unlike(
        learnt=(learnt["learnt"], total), recent=(after.get("recent"), total),
        absent=(after["absent"], before["absent"]),
        flood=(before["absent"] > total / 20, True))


def timed():
    """The same with a BPF timer that ends epochs, which waits for programs at hooks."""
    if "PREEMPT_RT" in os.uname().version:
        raise tap.Skip("a PREEMPT_RT kernel")
    return sockets(Filter("--time", "1s", "--rate", "100k", "-b", "1e-9", "--rotate",
                          "kernel"), contextlib.nullcontext())


def sockets(made=None, holder=None):
    """Real queries are answered, and a real socket gets nothing else."""
    with made or Filter(), holder or Holder(), At("nf:output:300", *QUERIES), \
            At("nf:input:-310", *ANSWERS, *DROP) as asks, \
            reflexive.Echo(hosts.A4, hosts.A6):
        four = reflexive.queries(hosts.B4, hosts.A4, 100)
        six = reflexive.queries(hosts.B6, hosts.A6, 100)
        with hosts.udp(net.NS_B, hosts.B4, 5000) as victim, \
                hosts.udp(net.NS_A, hosts.A4, 123) as ntp, \
                hosts.udp(net.NS_A, hosts.A4, 9999) as elsewhere:
            for _ in range(50):
                ntp.sendto(b"spoofed", (hosts.B4, 5000))
            elsewhere.sendto(b"not matched", (hosts.B4, 5000))
            got = victim.recv(2048)
        counts = asks.counts()
    return net.unlike(answered=((four, six), (100, 100)), got=(got, b"not matched"),
                      counts=(counts, {"recent": 200, "absent": 50, "other": 1}))


def unreachable():
    """ICMP errors that a real stack sends about a packet pass, and the socket gets them;
    forged ones do not pass.
"""
    said = []
    with Filter(), Holder(), At("nf:output:300", "--learn", "--match", "udp") as learns, \
            At("nf:input:-310", "--reverse", "--errors", "--match", "udp", *DROP) as asks:
        for here, there in (hosts.B4, hosts.A4), (hosts.B6, hosts.A6):
            with hosts.udp(net.NS_B, here) as sock:
                sock.connect((there, 4242))
                sock.send(b"anybody?")
                try:
                    sock.recv(2048)
                    said.append("an answer")
                except OSError as error:
                    said.append(type(error).__name__)
        learnt = learns.counts()["learnt"]
        spoofed = packets.Flow(4, 17, 7, 53).error()
        with Local(), hosts.raw(net.NS_A, net.A, 0) as tx:
            tx.send(spoofed)
            settles(lambda: asks.counts().get("absent", 0), 1)
        counts = asks.counts()
    return net.unlike(said=(said, 2 * ["ConnectionRefusedError"]), learnt=(learnt, 2),
                      recent=(counts.get("recent"), 2),
                      absent=(counts.get("absent"), 1))


def as_what(hook, frame, cross_b=out_from_c):
    """Return the reason under which @hook counts @frame, which crosses B."""
    before = hook.counts()
    cross_b([frame])
    after = hook.counts()
    return [r for r in after if r != "other" and after[r] > before.get(r, 0)][0]


def rotate(epochs):
    net.epfctl("rotate", NAME, "-n", epochs)


FLOW = packets.Flow(4, 17, 7, 53)
OFTEN = ("-W", 1000000, "-b", "1e-9")  # epochs end by explicit rotation only


def ages():
    """--within: a key is recent for that many epochs, and no longer."""
    seen = {}
    with Routed(), Filter(*OFTEN), Holder(), At("nf:postrouting:300", *QUERIES):
        for within in 1, 2, 7:
            out_from_c([FLOW.query()])
            with At("nf:forward:0", *ANSWERS, "--within", within) as asks:
                seen[within] = []
                for _ in range(9):
                    seen[within].append(as_what(asks, FLOW.answer(), in_from_a))
                    rotate(1)
    want = {k: ["recent"] * (k + 1) + ["older"] * (7 - k) + ["absent"] for k in seen}
    return net.unlike(ages=(seen, want))


def durations():
    """A duration in --within is rounded up to epochs, of which 70s have seven."""
    got = {}
    with Filter("--time", "70s", "--rate", "100", "-b", "1e-9"):
        for text in "1ns", "10s", "10001ms", "70s":
            with At("nf:forward:0", *ANSWERS, "--within", text) as on:
                got[text] = on.status()["netfilter"]["within_epochs"]
        fault = refused("remembers only 70", *ANSWERS, "--within", "71s") or \
            refused("too small", *ANSWERS, "--within", "0")
    with Filter():  # whose seven epochs are 3600 s, so 515 s is not a whole number of them
        with At("nf:forward:0", *ANSWERS, "--within", "515s") as on:
            got["515s"] = on.status()["netfilter"]["within_epochs"]
    with Filter(*OFTEN):
        fault = fault or refused("by insertions", *ANSWERS, "--within", "1s")
    return fault or net.unlike(epochs=(got, {
        "1ns": 1, "10s": 1, "10001ms": 2, "70s": 7, "515s": 2}))


def learning():
    """--learn combined with other options."""
    learn = ("--key", "flow", "--learn", "--match", "udp:dport=53")
    cases = {
        (): ["learnt", "learnt", "learnt"],
        ("--if-new",): ["learnt", "known", "learnt"],  # inserted five and eight epochs ago
        ("--else", "accept"): ["absent", "recent", "recent"],
        ("--else", "accept", "--if-new"): ["absent", "recent", "absent"],
        ("--within", "4", "--else", "accept"): ["absent", "older", "recent"],
    }
    got, fault = {}, None
    for options in cases:
        with Routed(), Filter(*OFTEN), Holder(), \
                At("nf:postrouting:300", *learn, *options) as on:
            got[options] = []
            for epochs in 5, 3, 1:
                got[options].append(as_what(on, FLOW.query()))
                rotate(epochs)
        fault = fault or nf.nothing_left()
    return net.unlike(**{"counted " + " ".join(o): (got[o], w)
                         for o, w in cases.items()}) or fault


def both():
    """A hook that looks up and inserts answers from before the insertion, and may drop
    either."""
    match = ("--key", "flow", "--learn", "--match", "udp:dport=53", "--if-unknown",
             "accept", "--fragments", "pass")
    passed = {}
    for what in ("--else", "drop"), ("--if-recent", "drop"):
        with Routed(), Filter(), Holder(), At("nf:prerouting:-310", *match, *what):
            passed[what[0]] = [len(out_from_c([FLOW.query()])) for _ in range(3)]
    return net.unlike(passed=(passed, {"--else": [0, 1, 1], "--if-recent": [1, 0, 0]})) \


def scopes():
    """The mark and the interface of a packet, if they are part of the key."""
    got = {}
    with Local(), Filter(*OFTEN), Holder():
        for scope in "mark", "iface":
            with At("nf:output:300", "--key", "flow", "--learn", "--if-new", "--scope",
                    scope, "--match", "udp:dport=53") as on, \
                    hosts.udp(net.NS_B, nf.C4, 4000) as sock:
                for mark in 5, 6, 5:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
                    sock.sendto(b"query", (nf.A4, 53))
                got[scope] = {k: n for k, n in on.counts().items() if k != "other"}
    return net.unlike(counts=(got, {"mark": {"learnt": 2, "known": 1},
                                    "iface": {"learnt": 1, "known": 2}}))


def zones():
    """A key inserted in a zone is found in that zone only, at hooks and on an interface."""
    queries, answers = reflexive.flows(0)
    with Routed(), Filter(), Holder():
        with At("nf:postrouting:300", *QUERIES, "--zone", 7) as on:
            out_from_c(queries)
            shown = on.status()["key"]["zone"]
        asks = {"7": ("--zone", 7), "8": ("--zone", 8), "none": ()}
        with contextlib.ExitStack() as all_of:
            hooks = {name: all_of.enter_context(At(f"nf:prerouting:{n - 310}", *ANSWERS, *zone))
                     for n, (name, zone) in enumerate(asks.items())}
            in_from_a(answers)
            got = {name: h.counts().get("recent", 0) for name, h in hooks.items()}
        with hosts.Attached("--zone", "7") as there:
            hosts.send_in(answers)
            beside_hooks = there.side("ask").get("recent", 0)
        fault = refused("exclude each other", *ANSWERS, "--zone", 7, "--scope", "mark")
    return fault or net.unlike(recent=(got, {"7": 200, "8": 0, "none": 0}), beside=(
        (beside_hooks, shown), (200, 7)))


def beside():
    """Other users' rules and programs at the hook stay: nft rules, a BPF program."""
    query = FLOW.query()
    with Routed(), Filter(), Holder(), Counted("forward", 0) as behind, \
            Foreign(0, -305) as foreign:
        with At("nf:prerouting:-310", *ANSWERS, *DROP), At("nf:forward:-1", *QUERIES), \
                Counted("prerouting", -310) as same_prio:  # a priority that nft may share
            rules = nf.in_b("nft", "list", "ruleset").stdout
            out_from_c([query])
            fault = refused_at("nf:prerouting:-305", "is taken", *ANSWERS) or \
                refused_at("nf:forward:0", "is taken", *ANSWERS)
            shared = same_prio.packets()
            after = nf.in_b("nft", "list", "ruleset").stdout
        out_from_c([query])
        counts = shared, behind.packets()
        there = foreign.there()
    plain = [re.sub("packets [0-9]* bytes [0-9]*", "", text) for text in (rules, after)]
    return fault or net.unlike(rules=(plain[1], plain[0]), counts=(counts, (2, 4)),
                               foreign=(there, True))


def refused_at(hook, text, *args):
    return net.refused(text, "attach", "--hook", hook, "--filter", NAME, *args)


def refused(text, *args):
    return refused_at("nf:prerouting:-310", text, *args)


def refusals():
    """One line for each names what is missing or invalid, and nothing is attached."""
    drop = ["--else", "drop"]
    told_of = "only the module can set marks"
    with Filter():
        if not hosts.MODULE:
            fault = refused(told_of, "--else", "mark=1/1") or \
                refused(told_of, "--if-recent", "mark=1/1")
            if fault:
                return fault
        for hook in ("prerouting:0", "nf:ingress:0", "nf:input", "nf:input:", "nf:input:x",
                     "nf:input:0:bridge", "nf:input:2147483648", "nf:input:0x10", "nf:"):
            fault = refused_at(hook, f"--hook '{hook}'")
            if fault:
                return fault
        for hook in "nf:input:2147483647", "nf:input:-2147483648":
            fault = refused_at(hook, "keeps priorities")
            if fault:
                return fault
        for text, args in [
                ("must be drop, accept", ["--else", "mark=4/3"]),
                ("needs --if-unknown", drop),
                ("needs --fragments", drop + ["--if-unknown", "drop"]),
                ("uses no ports", ["--key", "peer", "--fragments", "drop"]),
                ("need a lookup", ["--learn", "--if-unknown", "drop"]),
                ("need a lookup", ["--learn", "--within", "3"]),
                ("--if-new goes with", ["--if-new"]),
                ("no interface is chosen", ["--out", net.B]), ("not the name", ["--in", "a/b"]),
                ("not the name", ["--in", ""]), ("not the name", ["--in", "\u00e9"]), ("not the name", ["--in", 16 * "a"]),
                ("not both", ["--match", "udp:sport=1", "--match", "udp:dport=2"]),
                ("needs --key flow", ["--key", "packet"]),
                ("do not have this here", ["--scope", "vlan"]),
                ("too large", ["--within", "8"]),
                ("--reflexive", ["--reflexive"]), ("--reflexive", ["--ask", "tc"]),
                ("--mode", ["--mode", "native"]), ("--action", ["--action", "count"]),
                ("needs --if-unknown", ["--if-recent", "drop"])]:
            fault = refused(text, *args)
            if fault:
                return fault
        with At("nf:prerouting:-310", *ANSWERS):
            fault = refused("already", *ANSWERS)
            done = net.run(net.EPFCTL, "destroy", NAME, check=False)
            if done.returncode != 2 or "nf:prerouting:-310" not in done.stderr:
                return f"destroy: exit {done.returncode}: {done.stderr}"
        done = net.epfctl("attach", net.B, "--filter", NAME, "--learn", check=False)
        gone = net.epfctl("detach", "--hook", net.B, check=False)
        never = net.epfctl("detach", "nf:input:7", check=False)
        return fault or net.unlike(
            interface=((done.returncode, "with --hook only" in done.stderr), (2, True)),
            gone=((gone.returncode, "--hook '" in gone.stderr), (2, True)),
            never=((never.returncode, "nothing is attached at" in never.stderr), (2, True)),
            pins=(nf.pins(), [] if hosts.MODULE else [NAME]))


def told():
    """The rule is shown as it was given, under the name of the hook."""
    with Filter(), At("nf:postrouting:-7:ip", "--key", "peer-port", "--prefix", "24,48",
                      "--match", "tcp:dport=80", "--match", "udp:dport=443,53", "--learn",
                      "--if-recent", "drop", "--within", "3", "--if-unknown", "accept",
                      "--fragments", "drop") as on:
        s, shown = on.status(), net.epfctl("status", "nf:postrouting:-7:ip").stdout
        all_of = net.epfctl("status", check=False).stdout
        done, held = net.epfctl("destroy", NAME, check=False), hosts.users()
    return net.unlike(
        destroy=((done.returncode, f"detach {on.hook}'" in done.stderr), (2, True)),
        held=(held, int(hosts.MODULE)),
        backend=(s["backend"], "module" if hosts.MODULE else "bpf"),
        line=(shown.split(", program")[0],
              f"nf:postrouting:-7:ip: filter {NAME}{hosts.BACKEND}, key peer-port --prefix "
              "24,48 --learn --match tcp:dport=80 --match udp:dport=53,443 --if-recent "
              "drop --within 3 --else accept --if-unknown accept --fragments drop"),
        rule=(s["netfilter"], {
            "asks": True, "learns": True, "if_new": False, "no_control": False,
            "within_epochs": 3,
            "match": ["tcp:dport=80", "udp:dport=53,443"], "if_recent": "drop",
            "else": "accept", "if_unknown": "accept", "if_malformed": "drop",
            "fragments": "drop"}),
        hook=((s["hook"], s["filter"], s["attached"]), (on.hook, NAME, True)),
        listed=(all_of.count(f"{on.hook}: filter {NAME}"), 1))


def far():
    """A hook is shown, and detached, from another network namespace too, even if the hook's
    namespace has lost its name.
"""
    lost = net.NS + "-lost"
    with Filter():
        net.run("ip", "netns", "add", lost)
        net.epfctl("attach", "--hook", "nf:input:5", "--filter", NAME, *ANSWERS, ns=lost)
        name = f"nf:input:5@{os.stat(f'/run/netns/{lost}').st_ino}"
        net.run("ip", "netns", "del", lost)
        shown = net.run(net.EPFCTL, "status", name)
        done = net.run(net.EPFCTL, "detach", "--hook", name)
        after = net.run(net.EPFCTL, "status", name, check=False)
    return net.unlike(shown=("another network namespace" in shown.stdout, True),
                      done=(done.returncode, 0), after=(after.returncode, 1))


def without_perfmon():
    """One line names the missing capability."""
    with Filter():
        done = net.run(*net.inside(net.NS_B), "setpriv", "--inh-caps=-all",
                       "--bounding-set=-all,+bpf,+net_admin", net.EPFCTL, "attach", "--hook",
                       "nf:input:0", "--filter", NAME, check=False)
        return net.unlike(
            lines=(len(done.stderr.splitlines()), 1), code=(done.returncode, 2),
            named=("needs CAP_PERFMON on Linux" in done.stderr, True),
            pins=(nf.pins(), [NAME]))


def marks():
    """The kernel does not let a program write to a packet here, so other programs set no
    marks."""
    try:
        # r1 = ctx->skb; r0 = 0; *(u32 *)(r1 + 0) = r0; return
        nf.load(b"".join(struct.pack("=BBhi", *i) for i in (
            (0x79, 0x11, 8, 0), (0xB7, 0, 0, 0), (0x63, 0x01, 0, 0), (0x95, 0, 0, 0))))
    except PermissionError:
        return None
    return "the kernel took a program that writes to the socket buffer"


def ours():
    """Programs, maps and links that only these attachments have."""
    count = collections.Counter(bpfobjects.names(bpfobjects.PROG, bpfobjects.MAP))
    count["link"] = bpfobjects.link_types().count(bpfobjects.LINK_NETFILTER)
    return {n: count[n] for n in ("nf_look", "nf_rule", "epf_counts", "epf_held", "link")}


def cycles():
    """Attached and detached repeatedly at each hook, nothing is left."""
    count = 200 if THOROUGH else 20
    before = ours()
    with Filter():
        for n in range(count):
            family = ("", ":ip", ":ip6")[n % 3]
            with At(f"nf:{HOOKS[n % 5]}:{n - 100}{family}", *ANSWERS):
                pass
    if not net.eventually(lambda: all(n <= before[k] for k, n in ours().items()),
                          hosts.PATIENCE):
        return f"left behind: {ours()}, before {before}"


def too_old():
    """Below Linux 6.4 one line names that version."""
    with Filter():
        return refused("needs Linux 6.4", *ANSWERS) or \
            net.unlike(pins=(nf.pins(), [NAME]))


def of_kernel():
    """Cases that may differ between kernels."""
    of = functools.partial
    return [("prerouting and postrouting: each packet by the oracle",
             of(oracle, "nf:postrouting:300", "nf:prerouting:-310")),
            ("input and output: each packet by the oracle", local),
            ("a VRF: each packet by the oracle",
             of(oracle, "nf:postrouting:300", "nf:prerouting:-310", way=InVrf, times=2)),
            ("a bridge: each packet by the oracle",
             of(oracle, "nf:postrouting:300", "nf:prerouting:-310", way=Bridged,
                go_out=bridged_out, go_in=bridged_in)),
            ("sockets", sockets), ("NAT", nat), ("no marks", marks), ("refused", refusals),
            ("attached and detached, nothing is left", cycles)]


def of_module():
    """Cases that may differ from pure BPF filters."""
    of = functools.partial
    return [("prerouting and postrouting: each packet by the oracle",
             of(oracle, "nf:postrouting:300", "nf:prerouting:-310")),
            ("no_filter: drop", of(unknown, "no_filter", "drop", spoilt.Destroyed)),
            ("asking and learning at once", both)] + reflexive.KERNELS * [
                ("scopes", scopes), ("the rule is shown as it was given", told)]


def cases():
    of = functools.partial
    if kernel() < (6, 4):
        return [("refused below Linux 6.4", too_old)]
    if os.environ.get("EPF_VM") and not THOROUGH:
        return of_kernel()
    out = [("forward: each packet by the oracle",
            of(oracle, "nf:forward:10", "nf:forward:-10")),
           ("postrouting: each packet by the oracle, everything dropped",
            of(oracle, "nf:postrouting:-1", "nf:postrouting:-2",
               what=("--else", "drop", "--if-unknown", "drop", "--fragments", "drop"),
               rule=reflexive.verdicts("drop", "drop", "drop"))),
           ("each packet by the oracle, everything passed",
            of(oracle, "nf:postrouting:300", "nf:prerouting:-310",
               what=("--else", "accept"), rule=reflexive.verdicts("accept")))]
    for reason, spoil in spoilt.ways():
        for verdict in "drop", "accept":
            out.append((f"{reason}: {verdict}", of(unknown, reason, verdict, spoil)))
    same_packets = {"answer", "error", "first"}
    return of_kernel() + out + [
        ("one interface", nf_recipe.interfaces), ("learning from any side warns", nf_recipe.warns),
        ("places by the names of nft", nf_recipe.places),
        ("README's router: a flood from outside inserts nothing",
         of(nf_recipe.from_outside, "attach wan", [net.B])),
        ("README's hooks: a flood from outside inserts nothing",
         of(nf_recipe.from_outside, "--out wan", ["--hook", "nf:prerouting:-310"],
            ["--hook", "nf:postrouting:300"])),
        ("one family", families), ("without --match", everything),
        ("key flow", of(key, "flow", same_packets, ask=("--reverse",))),
        ("key conversation", of(key, "conversation", same_packets)),
        ("key peer-port", of(key, "peer-port", same_packets | {"port"},
                             learn=("--reverse",))),
        ("key peer of a prefix", of(key, "peer", same_packets | {"port", "remote", "near"},
                                    learn=("--reverse", "--prefix", "24,56"),
                                    ask=("--prefix", "24,56"))),
        ("swap and restore under the programs", reload),
        ("sends from process context are never lost to a flood on the same CPU", race),
        ("ICMP errors of a real stack", unreachable),
        ("control packets", controls),
        ("within so many epochs", ages), ("within a duration", durations),
        ("learning", learning), ("asking and learning at once", both),
        ("scopes", scopes), ("zones", zones), ("what others have stays", beside),
        ("the rule is shown as it was given", told),
        ("from another network namespace", far),
    ] + ([] if hosts.MODULE else  # which ends epochs itself
         [("sockets, epochs ended by the kernel", timed),
          ("without CAP_PERFMON", without_perfmon)])


if __name__ == "__main__":
    stage.main(cases, [hosts.require, nf.make_c, nf.drop_pins], nf.sweep, nf.nothing_left)
