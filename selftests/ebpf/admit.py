#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`epfctl attach --admit` on this machine, in the setup of reflex_hosts.py. A sends frames
of many peers to B, and an oracle that knows which peers were seen predicts the outcome of
each, below the rate, above it, and at the transition. No rate here needs a clock: RATE 0
never refills, and tests below the rate use one that cannot be reached. With
EPF_REFLEX_BACKEND=module it tests filters of the module (fronts.py).
"""

import collections
import errno
import functools
import os
import time

import ingress_hosts as ingress
import reflex
import reflex_hosts as hosts
import reflex_spoilt as spoilt
import stage
import bpfobjects
from ingress_hosts import FOREVER, attached, bursts, flow, frames, send_in
from reflex_hosts import NAME, TWIN, Filter, Holder, arrived, net, raw, tap

DROP, ACCEPT = ["--if-unknown", "drop"], ["--if-unknown", "accept"]
PROGRAMS = "xdp_admit", "epf_rule", "epf_counts", "epf_shared", "epf_held"


def admit(rate, new_rate="0", unknown=DROP):
    return ["--admit", rate, "--new-rate", new_rate, *unknown]


BELOW = admit(FOREVER)


class Oracle:
    """The known peers, and the rest of the burst and of the tokens."""

    def __init__(self, known=(), burst=0, tokens=0, drops=True):
        self.known, self.burst, self.tokens = set(known), burst, tokens
        self.drops, self.found = drops, collections.defaultdict(collections.Counter)

    def judge(self, what):
        """Judge a peer's number, or a reason. Return: is it passed?"""
        if what in ("dhcp", "not_ip"):
            self.count("above" if self.burst < 0 else "below", what)
            return True
        self.burst -= 1
        above = self.burst < 0
        if isinstance(what, str):
            self.count("above" if above else "below", what)
            return not (above and self.drops)
        reason = "recent" if what in self.known else "absent"
        if above and reason == "absent":
            if not self.tokens:
                reason = "left_out"
            self.tokens -= bool(self.tokens)
        if reason == "absent":
            self.known.add(what)
        self.count("above" if above else "below", reason)
        return reason != "left_out"

    def count(self, side, reason):
        self.found[side][reason] += 1


def told(on, sent, oracle):
    """Return the counters without the fences, and the expected ones. Fences are on the side
    of the rate at that moment.
"""
    found = on.found()
    fences = sum(s.get("not_ip", 0) for s in found.values()) - \
        sum(s["not_ip"] for s in oracle.found.values())
    for side in found, oracle.found:
        for reasons in side.values():
            reasons.pop("not_ip", None)
    want = {side: {k: v for k, v in reasons.items() if v}
            for side, reasons in oracle.found.items()}
    return (({k: v for k, v in found.items() if v}, fences),
            ({k: v for k, v in want.items() if v}, bursts(sent)))


def oracle(*options, known=0, burst=0, tokens=0, unknown=DROP, malformed="drop"):
    """Peers below @known are inserted first; then frames of all kinds arrive."""
    mixed = ingress.mixture(tap.drawn(1))
    seen = frames(0, known)
    model = Oracle(range(known), burst, tokens, malformed == "drop")
    if malformed != "drop":
        options += "--if-malformed", malformed
    rate = FOREVER if burst > 1000 else f"0/{burst}"
    tap.may_fail(1e-6)
    with Filter(), Holder():
        with attached(*BELOW):
            learnt = send_in(seen)
        with attached(*admit(rate, f"0/{tokens}", unknown), *options) as on:
            got = send_in([f for f, _ in mixed])
            want = [ingress.shown(f) for f, what in mixed if model.judge(what)]
            counters = told(on, mixed, model)
    return net.unlike(learnt=arrived(learnt, seen), counters=counters,
                      in_order=(got == want, True), passed=arrived(got, want))


def tokens():
    """As many peers as there are tokens get in, and stay; an attack adds no other."""
    first, second = frames(0, 30), frames(1000, 500)
    with Filter(), Holder():
        with attached(*admit("0", "0/30")) as on:
            got = send_in(first), send_in(second), send_in(first), send_in(second)
            counters = on.found()["above"]
        with attached(*BELOW) as on:
            send_in(first + second)
            known = on.found()["below"]
    return net.unlike(
        first=arrived(got[0], first), second=arrived(got[1], []),
        again=arrived(got[2], first), still=arrived(got[3], []),
        counters=((counters["absent"], counters["recent"], counters["left_out"]),
                  (30, 30, 1000)),
        inserted=((known["recent"], known["absent"]), (30, 500)))


def clock():
    """With time the level falls and tokens are added: single packets are below a rate of
    one at once, and have a token each.
"""
    def spaced(count):
        got = []
        for n in range(count):
            time.sleep(0.05)
            got += send_in(frames(n, 1))
        return len(got)
    with Filter(), Holder():
        with attached(*admit("1000000000/1")) as on:
            below = spaced(8)
            sides = sorted(k for k, v in on.found().items() if v.get("absent"))
    with Filter(), Holder(), attached(*admit("0", "1000/1")) as on:
        tokens_of = spaced(8), on.found()["above"]["absent"]
    return net.unlike(below=((below, sides), (8, ["below"])),
                      tokens=(tokens_of, (8, 8)))


def key(name, recent, *options):
    """Which packets that resemble a known one are known, by that key."""
    fault = None
    for version in 4, 6:
        asked = hosts.packets.neighbours(version)[1]
        tap.may_fail(1e-8)
        with Filter(), Holder():
            with attached(*BELOW, "--key", name, *options):
                send_in([asked["answer"]])
            for what, frame in asked.items():
                with attached(*admit("0"), "--key", name, *options):
                    if bool(send_in([frame])) != (what in recent):
                        fault = fault or f"IPv{version}: {what}"
    return fault


def unknown_case(reason, verdict, spoil):
    """@spoil() makes the filter unable to answer: known peers have @verdict above the rate,
    and others are certainly absent, unless there is no filter at all.
"""
    known, other = frames(0, 200), frames(1000, 200)
    gone = reason == "no_filter"
    with spoil() as ruin:
        with attached(*BELOW):
            send_in(known)
        with attached(*admit("0", unknown=["--if-unknown", verdict])) as on:
            ruin()
            got = send_in(known + other), send_in([ingress.passed_by("dhcp")])
            counters = on.found()["above"]
    asked = known + other if gone else known
    want = {reason: 400 if gone else 200, "left_out": 0 if gone else 200, "dhcp": 1,
            "not_ip": bursts(known + other) + 1}
    return net.unlike(
        passed=arrived(got[0], asked if verdict == "accept" else []),
        control=(len(got[1]), 1),
        counters=(counters, {k: v for k, v in want.items() if v}))


def ill_below():
    """Below the rate all packets pass, and status reports that the filter cannot answer."""
    known = frames(0, 100)
    with spoilt.Killed() as ruin, attached(*BELOW) as on:
        first = send_in(known)
        ruin()
        second = send_in(known)
        counters = on.found()["below"]
        shown = net.epfctl("status", net.B).stdout
    return net.unlike(first=arrived(first, known), second=arrived(second, known),
                      counters=((counters["absent"], counters["overdue"]), (100, 100)),
                      warned=("it does not know" in shown, True))


def reload():
    """Swap and restore: the program continues with the contents under the name."""
    one, two = frames(0, 100), frames(1000, 100)
    with Filter(), Filter(name=TWIN), Holder(NAME, TWIN):
        with attached(*BELOW):
            send_in(one)
        with attached(*admit("0", "0/100")):
            net.epfctl("save", NAME, net.tmp("one.epf"))
            net.epfctl("swap", NAME, TWIN)
            other = send_in(two), send_in(one), send_in(two)
            net.epfctl("restore", NAME, net.tmp("one.epf"))
            restored = send_in(one), send_in(two)
            net.epfctl("swap", NAME, TWIN)
            back = send_in(one)
    return net.unlike(
        new=arrived(other[0], two), lost=arrived(other[1], []),
        recent=arrived(other[2], two), restored=arrived(restored[0], one),
        gone=arrived(restored[1], []), back=arrived(back, one))


def flood(cpu, first, count):
    """Send from that CPU. Frames for which the interface has no room are sent again."""
    os.sched_setaffinity(0, {cpu})
    with raw(net.NS_A, net.A, 0) as tx:
        for n in range(count):
            frame = flow(first + n % 100).answer()
            while True:
                try:
                    tx.send(frame)
                    break
                except OSError as error:
                    if error.errno != errno.ENOBUFS:
                        raise
                    time.sleep(0.001)


def sender(*what):
    """Start a process that does so."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        flood(*what)
        code = 0
    finally:
        os._exit(code)


def several_cpus():
    """Each packet is counted once, and no two CPUs take the same token."""
    cpus = sorted(CPUS)
    count = 5000
    with Filter(), Holder(), attached(*admit("0/3", "0/20")) as on:
        for pid in [sender(c, 1000 * (n + 1), count) for n, c in enumerate(cpus)]:
            if os.waitpid(pid, 0)[1]:
                return "a sender failed"
        total = count * len(cpus)
        if not net.eventually(lambda: summed(on.found()) >= total, hosts.PATIENCE):
            return f"{summed(on.found())} packets of {total}"
        counters = on.found()
    return net.unlike(all=(summed(counters), total),
                      below=(sum(counters["below"].values()), 3),
                      tokens=(counters["above"]["absent"], 20))


def summed(counters):
    return sum(n for side in counters.values() for n in side.values())


def ours(names=PROGRAMS):
    counts = collections.Counter(bpfobjects.names(bpfobjects.PROG, bpfobjects.MAP))
    return {n: counts[n] for n in names}


def cycles():
    """Attached and detached repeatedly, nothing is left."""
    return come_and_go(BELOW, PROGRAMS)


def come_and_go(options, names):
    """An attachment holds a filter of the module by one reference."""
    count = 200 if reflex.THOROUGH else 16
    before, held = ours(names), set()
    with Filter():
        for n in range(count):
            with ingress.Attached(*options, *([], ["--no-dispatcher"])[n % 2]):
                held.add(hosts.users())
            held.add(-hosts.users())
    if held != ({0, 1} if hosts.MODULE else {0}):
        return f"references: {held}"
    if not net.eventually(lambda: all(n <= before[k] for k, n in ours(names).items()),
                          hosts.PATIENCE):
        return f"left behind: {ours(names)}, before {before}"


def elsewhere():
    """Detached from another network namespace: the program then passes everything."""
    sent = frames(0, 50)
    with Filter(), Holder():
        net.epfctl("attach", net.B, "--filter", NAME, "--no-dispatcher", *admit("0"))
        shown = net.epfctl("status", ns=None, check=False).stdout
        name = [l.split(":")[0] for l in shown.splitlines()
                if l.startswith(net.B + "@")]
        before = send_in(sent)
        done = net.epfctl("detach", *name, ns=None)
        got = send_in(sent)
        net.in_b("ip", "link", "set", net.B, "xdp", "off", check=False)
    return net.unlike(named=(len(name), 1), before=arrived(before, []),
                      warned=("another" in done.stderr, True),
                      passed=arrived(got, sent))


def refused(text, *args, name=NAME):
    return net.refused(text, "attach", net.B, *(["--filter", name] if name else []), *args)


def refusals():
    """One line for each names what is missing or invalid, and nothing is attached."""
    some = admit("1k")
    with Filter():
        for text, args in [
                ("--admit needs --new-rate", ["--admit", "5"]),
                ("--if-unknown", ["--admit", "5", "--new-rate", "0"]),
                ("not drop or accept", admit("5", "0", ["--if-unknown", "mark=1/1"])),
                ("--admit 'x'", admit("x")), ("--admit '5/'", admit("5/")),
                ("--admit '5/0'", admit("5/0")), ("--admit '/5'", admit("/5")),
                ("--admit", admit("2G")), ("--new-rate", admit("5", "-1")),
                ("--new-rate", admit("5", "1/1e9")),
                ("--new-rate goes with --admit", ["--new-rate", "5"]),
                ("--key flow", some + ["--key", "packet"]),
                ("--key flow", some + ["--key", "frame"]),
                ("--nonip frame", some + ["--key", "flow", "--nonip", "frame"]),
                ("--scope vlan", some + ["--scope", "vlan"]),
                ("--action", some + ["--action", "count"]),
                ("--mirror", some + ["--mirror"]),
                ("--reflexive", some + ["--match", "udp"]),
                ("--reflexive", some + ["--reflexive"])]:
            fault = refused(text, *args)
            if fault:
                return fault
        fault = refused("--admit needs --filter", *some, name=None)
        with attached(*some):
            fault = fault or refused("an attachment by --admit already", *some)
            fault = fault or refused("already", "--action", "count", "--no-vlan")
        return fault or net.unlike(pins=(hosts.pins(), [] if hosts.MODULE else [NAME]))


def shown():
    """status shows the rule that was given, and destroy says where the filter is attached.
"""
    with Filter(), attached(*admit("100k", "50/7", ACCEPT), "--prefix", "24,56") as on:
        s, text = on.status(), net.epfctl("status", net.B).stdout
        done, held = net.epfctl("destroy", NAME, check=False), hosts.users()
    return net.unlike(
        rates=(s["rates"], {"all": {"rate": 100000, "burst": 10000},
                            "new": {"rate": 50, "burst": 7}, "if_unknown": "accept",
                            "if_malformed": "drop"}),
        held=(held, int(hosts.MODULE)),
        destroy=((done.returncode, f"detach {net.B}'" in done.stderr), (2, True)),
        action=(s["action"], "admit"), key=(s["key"]["key"], "peer"),
        backend=(s["backend"], "module" if hosts.MODULE else "bpf"),
        text=("key peer --prefix 24,56 --admit 100000/10000 --new-rate 50/7 "
              "--if-unknown accept, admit" in text, True))


def of_kernel():
    """Cases that may differ between kernels."""
    return [("above the rate: each packet by the oracle",
             functools.partial(oracle, known=100, tokens=20)),
            ("with time the level falls and tokens come", clock),
            ("each packet is counted once, on several CPUs", several_cpus),
            ("attached and detached, nothing is left", cycles)]


def of_module():
    """Cases that may differ from pure BPF filters."""
    return [("above the rate: each packet by the oracle",
             functools.partial(oracle, known=100, tokens=20)),
            ("no_filter: drop",
             functools.partial(unknown_case, "no_filter", "drop", spoilt.Destroyed))] + \
        reflex.KERNELS * [("the rule is shown as it was given", shown)]


def cases():
    of = functools.partial
    if os.environ.get("EPF_VM") and not reflex.THOROUGH:
        return of_kernel()
    out = [("below the rate: each packet by the oracle",
            of(oracle, known=100, burst=10 ** 9)),
           ("the rate is exceeded: each packet by the oracle", of(oracle, burst=3)),
           ("above the rate, unknown accepted: each packet by the oracle",
            of(oracle, known=100, tokens=5, unknown=ACCEPT)),
           ("above the rate, malformed passed: each packet by the oracle",
            of(oracle, known=100, tokens=5, malformed="pass")),
           ("above the rate, generic: each packet by the oracle",
            of(oracle, "--mode", "generic", known=100, tokens=20))]
    for reason, spoil in spoilt.ways():
        for verdict in "drop", "accept":
            out.append((f"{reason}: {verdict}",
                        of(unknown_case, reason, verdict, spoil)))
    same = {"answer", "tagged", "first"}
    return of_kernel() + out + [
        ("as many peers as there are tokens get in, and stay", tokens),
        ("key peer", of(key, "peer", same | {"port", "remote"})),
        ("key peer of a prefix", of(key, "peer", same | {"port", "remote", "near"},
                                    "--prefix", "24,56")),
        ("key flow", of(key, "flow", same - {"first"})),
        ("key flow, fragments by the first", of(key, "flow", same, "--fragments", "pass")),
        ("swap and restore under the program", reload),
        ("detached from another network namespace", elsewhere),
        ("the rule is shown as it was given", shown),
        ("refused", refusals),
    ] + ([] if hosts.MODULE else  # which is never overdue
         [("a filter that does not know, below the rate", ill_below)])


CPUS = os.sched_getaffinity(0)  # before stage.ahead() leaves one

if __name__ == "__main__":
    stage.main(cases, [hosts.require], hosts.sweep, hosts.nothing_left)
