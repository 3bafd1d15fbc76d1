#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""iptables rules that use a pinned program (epfctl pin) of a pure BPF filter, on this
machine's kernel: their verdicts, whatever happens to filter and holder; keys equal to the
core's; no insertion lost for packets that a process sends; and what status shows.
"""

import json
import os
import signal
import subprocess
import sys
import time

PID = os.getpid()
os.environ["EPF_NS"] = f"epf-bpf-{PID}"
os.environ["EPF_BACKEND"] = "bpf"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../xt"))

import rules  # noqa: E402
import sweep as killed  # noqa: E402
import tap  # noqa: E402
import xt  # noqa: E402
from rules import A, B, ADDRESS, EPFCTL, run  # noqa: E402
from xt import unlike  # noqa: E402

NAME = f"epftest-pin-{PID}"
RECORDS = "/sys/fs/bpf/epochfilter"
ASK = "--key flow --reverse --errors --recent --unknown"


def path(what):
    return f"/sys/fs/bpf/epftest-{what}-{PID}"


def require():
    if os.geteuid():
        tap.skip_all("needs root")
    if not os.path.exists(EPFCTL):
        tap.skip_all("needs epfctl: make user")
    killed.main()
    for name in "nft_compat", "veth", "xt_bpf":
        run("modprobe", name, check=False)
    try:
        with Filter():
            rules.make_net()
    except (RuntimeError, OSError) as why:
        tap.skip_all(f"no filters or namespaces here: {str(why).strip()}")
    if not front_ends():
        tap.skip_all("no iptables that works here")


class Filter(rules.Filter):
    """With a process that ends its epochs, unless @held is false."""

    def __init__(self, *options, held=True, name=NAME):
        super().__init__(name, *options)
        self.held, self.holder = held, None

    def __enter__(self):
        super().__enter__()
        if self.held:
            self.holder = subprocess.Popen(
                [EPFCTL, "hold", self.name], stdout=subprocess.PIPE, text=True)
            self.holder.stdout.readline()
        return self

    def let_go(self):
        if self.holder:
            self.holder.send_signal(signal.SIGTERM)
            self.holder.communicate(timeout=60)
        self.holder = None

    def __exit__(self, *error):
        self.let_go()
        run(EPFCTL, "destroy", "--force", self.name, check=False)


class Pins:
    """Programs of a filter, by name; removed at the end."""

    def __init__(self, name=NAME, **options):
        self.name, self.options = name, options

    def __enter__(self):
        try:
            for what, options in self.options.items():
                told = json.loads(run(EPFCTL, "-j", "pin", self.name, path(what),
                                      *options.split()).stdout)
                if told["match"] != f"-m bpf --object-pinned {path(what)}":
                    raise RuntimeError(f"epfctl pin: {told}")
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def rules(self, program, *rules_):
        """Each is (chain, program, rest of the rule)."""
        return rules.Rules(program, *(
            f"{chain} -m bpf --object-pinned {path(what)} {rest}"
            for chain, what, rest in rules_))

    def __exit__(self, *error):
        for what in self.options:
            if os.path.exists(path(what)):
                os.unlink(path(what))


def status(what, code=0):
    """Return what status shows of a pin, as JSON."""
    done = run(EPFCTL, "-j", "status", path(what), check=False)
    if done.returncode != code:
        raise RuntimeError(f"status {what}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def counted(what):
    """Return packets by reason."""
    return {name: c["packets"] for name, c in status(what)["counters"].items()
            if c["packets"]}


def listed():
    """Return our pins, as status without an operand lists them."""
    return [o["pin"] for o in json.loads(run(EPFCTL, "-j", "status", check=False).stdout)
            if o.get("pin", "").endswith(f"-{PID}")]


def records(program):
    """Return the remaining records of a program."""
    return [name for name in os.listdir(RECORDS) if name == f"@@pin:{program}"] \
        if os.path.exists(RECORDS) else []


def front_ends():
    found = rules.front_ends()
    return [end for end in found if end[0].endswith("-nft")] or found


def answered(program, version, verdict, between=None, early=False, reason=None):
    """Send a query, do what happens meanwhile, and send the answer: is it let in? Also
    unsolicited packets. @reason: at least one packet is counted under it.
"""
    with Pins(learn="--key flow --learn", ask=f"{ASK} {verdict}") as pins, \
            pins.rules(program, ("OUTPUT -p udp", "learn", ""),
                       ("INPUT -p udp", "ask", "-j ACCEPT")) as table, \
            rules.udp(A, version, 53) as server, rules.udp(A, version, 54) as stranger, \
            rules.udp(B, version, 4000) as client:
        table.add("INPUT -p udp -j DROP")
        me, it = ADDRESS[B, version], ADDRESS[A, version]
        if early:
            server.sendto(b"early", (me, 4000))
            if rules.got(client):
                return "early"
        client.sendto(b"query", (it, 53))
        if rules.got(server) != b"query":
            return "no query"
        if between:
            between()
        server.sendto(b"answer", (me, 4000))
        answer = rules.got(client)
        stranger.sendto(b"spoofed", (me, 4000))
        if rules.got(client) and not between:
            return "spoofed"
        return answer if not reason or counted("ask").get(reason) else counted("ask")


def reflexive(program, version):
    with Filter():
        return unlike(answer=(answered(program, version, "drop", early=True), b"answer"))


def unknown(verdict, how):
    """A packet that the filter cannot answer for gets the given verdict."""
    program, version = front_ends()[0]
    with Filter("--time", "700s", "--rate", 1, "-b", "1e-6", held=how != "never held") as f:
        between = {
            "no_filter": lambda: run(EPFCTL, "destroy", "--force", NAME),
            "never held": lambda: None,
            "saturated": lambda: run(EPFCTL, "insert", NAME, *range(5000)),
        }[how]
        if how == "no_filter":
            f.let_go()
        reason = "overdue" if how == "never held" else how
        got = answered(program, version, verdict, between, reason=reason)
    return unlike(answer=(got, b"answer" if verdict == "accept" else None))


def in_part():
    """Is this a guest of "make check", which asks what only its kernel can change?"""
    return os.environ.get("EPF_VM") and not os.environ.get("EPF_THOROUGH") and \
        not os.environ.get("EPF_KERNELS")


def insertions(peers):
    """Return those of the filter, and what the rule counted: of one moment, since the namespaces' own
    packets come at any time.
"""
    before = None
    while True:
        inserts, reasons = peers.show()["stats"]["inserts"], counted("learn")
        if before == (inserts, reasons):
            return inserts, reasons
        before = inserts, reasons


def parity():
    """Keys are those of the model, also from pages."""
    short, long = xt.traffic()
    for what, kind in list(xt.KINDS.items())[::2 if in_part() else 1]:
        with Filter() as peers, \
                Pins(learn=f"--key {what} --learn") as pins, \
                pins.rules("iptables-nft", ("raw:PREROUTING", "learn", "")), \
                pins.rules("ip6tables-nft", ("raw:PREROUTING", "learn", "")):
            xt.send_all(short, long)
            keys, told = xt.expected(short + long, *kind)
            there = peers.present(sorted(keys))
            inserts, reasons = insertions(peers)
        extra = inserts - told["learnt"]
        more = {k: reasons.get(k, 0) - v for k, v in told.items() if k != "rules"}
        if there != len(keys) or more.pop("learnt") != extra or any(more.values()) or \
                not 0 <= extra < 20:
            return f"{what}: {there} of {len(keys)} keys, {extra} insertions more, " \
                   f"{reasons}, wanted {told}"
    return None


def matched(what):
    """Return packets and bytes for which the match held, as iptables counts them."""
    told = [c for c in status(what)["counters"].values() if c["verdict"] == "match"]
    return [sum(c[unit] for c in told) for unit in ("packets", "bytes")]


def asks():
    """learn restarts the window, learn-new does not; within counts epochs."""
    program, version = front_ends()[0]
    once, ages = f"{NAME[:-len(str(PID))]}o-{PID}", {}
    with Filter("-W", 700), Filter("-W", 700, name=once), \
            Pins(a="--key flow --new --learn --unknown drop"), \
            Pins(once, b="--key flow --new --learn-new --unknown drop",
                 c="--key flow --recent --within 1 --unknown drop") as pins, \
            pins.rules(program, *(("OUTPUT -p udp --dport 53", what, "") for what in "abc")), \
            rules.udp(B, version, 4000) as client:
        for _ in range(4):
            client.sendto(b"query", (ADDRESS[A, version], 53))
            for name in NAME, once:
                run(EPFCTL, "rotate", name)
        text = run(program, "-L", "OUTPUT", "-v", "-n", "-x", ns=B).stdout
        reasons = [counted(what) for what in "abc"]
        sums = [matched(what) for what in "abc"]
        key = xt.flow(version, 17, ADDRESS[B, version], ADDRESS[A, version], 4000, 53)
        for name in NAME, once:
            ages[name] = run(EPFCTL, "test", name, "--format", "hex", key.hex(),
                             check=False).stdout.split()[-1]
    hits = [[int(word) for word in line.split()[:2]]
            for line in text.splitlines() if " pinned " in line]
    return unlike(hits=([n for n, _ in hits], [1, 1, 2]),
                  ages=(list(ages.values()), ["1", "4"]),
                  reasons=(reasons, [{"recent": 3, "absent": 1}] * 2 +
                           [{"recent": 2, "absent": 2}]), sums=(sums, hits))


def saved():
    """iptables-save and iptables-restore."""
    program = front_ends()[0][0]
    with Filter(), Pins(ask=f"{ASK} accept") as pins, \
            pins.rules(program, ("INPUT -p udp", "ask", "-j ACCEPT")):
        first = [l for l in run(f"{program}-save", ns=B).stdout.splitlines()
                 if not l.startswith("#")]
        run(program, "-F", ns=B)
        run(f"{program}-restore", ns=B, input="\n".join(first) + "\n")
        second = [l for l in run(f"{program}-save", ns=B).stdout.splitlines()
                  if not l.startswith("#")]
    return unlike(restored=(second, first), has=(path("ask") in "".join(first), True))


def wrong():
    """Contradictory rules and missing objects are reported in one line."""
    cases = [
        ("--key flow", "--recent, --new or --learn"),
        ("--key packet --learn", "--key must be flow"),
        ("--key flow --recent", "--unknown accept (recent) or drop (new)"),
        ("--key flow --recent --new --unknown drop", "one of them"),
        ("--key flow --learn-new", "--learn-new goes with"),
        ("--key flow --learn --within 2", "go with --recent or --new"),
        ("--key flow --learn --if-malformed drop", "go with --recent or --new"),
        ("--key flow --recent --unknown drop --if-malformed id", "not pass or drop"),
        ("--key flow --recent --within 255 --unknown drop", "too large"),
        ("--key conversation --reverse --learn", "both directions"),
        ("--key flow --zone 65536 --learn", "--zone '65536'"),
        ("--key peer --frags drop --learn", "uses no ports"),
        ("--key flow --frags maybe --learn", "not accept or drop"),
    ]
    with Filter(held=False):
        for text, says in cases:
            done = run(EPFCTL, "pin", NAME, path("wrong"), *text.split(), check=False)
            if done.returncode != 2 or done.stderr.count("\n") != 1 or \
                    says not in done.stderr or os.path.exists(path("wrong")):
                return f"{text}: exit {done.returncode}, {done.stderr}"
        with Pins(twice="--key flow --learn", most="--key flow --recent --within 254 --unknown drop"):
            most = status("most")["rule"]["within_epochs"]
            again = run(EPFCTL, "pin", NAME, path("twice"), "--key", "flow", "--learn",
                        check=False)
        off = run(EPFCTL, "pin", NAME, "/tmp/epftest", "--key", "flow", "--learn",
                  check=False)
    none = run(EPFCTL, "pin", NAME, path("wrong"), "--key", "flow", "--learn", check=False)
    return unlike(again=("already exists" in again.stderr, True), most=(most, 254),
                  off=("not in a BPF file system" in off.stderr, True),
                  none=("there is no filter" in none.stderr, True))


RULES = {
    "plain": "flow --learn",
    "all": "peer-port --prefix 24,64 --reverse --errors --frags accept --new --within 3 "
           "--learn-new --unknown drop --if-malformed pass",
    "both": "conversation --frags drop --recent --learn --unknown accept",
}


def told():
    """status shows the rule that was given, in text and in JSON."""
    with Filter(), Pins(**{what: f"--key {rule}" for what, rule in RULES.items()}):
        text = run(EPFCTL, "status", check=False).stdout
        for what, rule in RULES.items():
            one = run(EPFCTL, "status", path(what)).stdout
            line = f"{path(what)}: filter {NAME} (pure BPF), key {rule}, program "
            if not one.startswith(line) or one not in text:
                return f"{what}: {one}, wanted {line}; all: {text}"
        o, names = status("all"), listed()
        far = os.path.relpath(path("all"))
        near = run(EPFCTL, "-j", "status", far).stdout
    return unlike(
        pin=((o["pin"], o["attached"]), (path("all"), True)),
        filter=((o["filter"], o["backend"], o["held"]), (NAME, "bpf", True)),
        key=((o["key"]["key"], o["key"]["prefix"], o["key"]["reverse"], o["key"]["errors"]),
             ("peer-port", [24, 64], True, True)),
        rule=(o["rule"], {"ask": "new", "within_epochs": 3, "learn": "new",
                          "unknown": "drop", "if_malformed": "pass", "frags": "accept"}),
        verdicts=({k: c["verdict"] for k, c in o["counters"].items()}, dict(
            {k: "match" for k in ("absent", "saturated", "overdue", "no_filter", "error")},
            recent="no-match", fragment="no-match", truncated="no-match",
            malformed="no-match")),
        all=(sorted(names), sorted(map(path, RULES))), near=(json.loads(near), o))


def removed():
    """A pin that was removed or replaced is not listed; its record is removed with the next
    change."""
    shown = []
    with Filter():
        for n in range(4):
            with Pins(gone="--key flow --learn"):
                program = status("gone")["program"]
                shown.append(records(program))
            shown.append(listed())  # removed by rm
            with Pins(next="--key flow --learn"):
                shown.append((records(program), len(listed())))
                next_ = status("next")["program"]
                done = run(EPFCTL, "detach", path("next"))
                shown.append((os.path.exists(path("next")), records(next_), done.stderr))
        absent = run(EPFCTL, "-j", "status", path("gone"), check=False)
        with Pins(other="--key flow --learn"):
            os.rename(path("other"), path("moved"))
            moved = listed(), run(EPFCTL, "status", path("moved"), check=False).returncode
            os.unlink(path("moved"))
        off = run(EPFCTL, "detach", path("gone"), check=False)
    left = [name for name in os.listdir(os.path.dirname(RECORDS))
            if name.endswith(f"-{PID}")]
    return unlike(
        shown=([shown[i::4] for i in range(1, 4)],
               [[[]] * 4, [([], 1)] * 4, [(False, [], "")] * 4]),
        made=([len(s) for s in shown[::4]], [1] * 4),
        absent=((absent.returncode, json.loads(absent.stdout)),
                (1, {"pin": path("gone"), "attached": False})),
        moved=(moved, ([], 1)), off=((off.returncode, off.stderr.count("\n"),
                                      "no program is pinned" in off.stderr), (2, 1, True)),
        left=(left, []))


def refused():
    """destroy fails in one line that names the pin and what to do."""
    done = run(EPFCTL, "destroy", NAME, check=False)
    return done.returncode == 2 and done.stderr.count("\n") == 1 and \
        f"pinned at {path('ask')}" in done.stderr and \
        f"'epfctl detach {path('ask')}'" in done.stderr and "--force" in done.stderr


def holds():
    """A pin holds its filter across swaps; a removed pin does not, and the remaining rule
    gives the stated verdict.
"""
    program, version = front_ends()[0]
    seen, twin = {}, f"{NAME[:-len(str(PID))]}o-{PID}"
    with Filter(held=False), Filter(held=False, name=twin), \
            Pins(ask=f"{ASK} accept") as pins, \
            pins.rules(program, ("INPUT -p udp", "ask", "-j ACCEPT")) as table, \
            rules.udp(A, version, 53) as server, rules.udp(B, version, 4000) as client:
        table.add("INPUT -p udp -j DROP")
        seen["pinned"] = refused()
        run(EPFCTL, "swap", NAME, twin)
        seen["swapped"] = refused()
        seen["twin"] = not run(EPFCTL, "destroy", twin, check=False).returncode
        run(EPFCTL, "detach", path("ask"))
        seen["let go"] = not run(EPFCTL, "destroy", NAME, check=False).returncode
        server.sendto(b"any", (ADDRESS[B, version], 4000))
        seen["unknown"] = rules.got(client) == b"any"
    with Filter(held=False), Pins(ask=f"{ASK} accept"):
        seen["again"] = refused()
        os.unlink(path("ask"))
        seen["rm"] = not run(EPFCTL, "destroy", NAME, check=False).returncode
    with Filter(held=False), Pins(ask=f"{ASK} accept"):
        seen["forced"] = not run(EPFCTL, "destroy", NAME, "--force", check=False).returncode
        seen["gone"] = "(gone)" in run(EPFCTL, "status", path("ask")).stdout
        with Filter(held=False):
            seen["new"] = not run(EPFCTL, "destroy", NAME, check=False).returncode
    return unlike(seen=([what for what, is_ in seen.items() if not is_], []))


def race():
    """Packets that a process sends are all inserted, whatever softirqs of its CPU insert."""
    nr = 6000 if os.environ.get("EPF_THOROUGH") else 3000
    with Filter("-W", 10000000, "-b", "1e-9") as peers, \
            Pins(learn="--key flow --learn") as pins, \
            pins.rules("iptables-nft", ("OUTPUT -p udp", "learn", ""),
                       ("raw:PREROUTING -p udp", "learn", "")):
        there = peers.present(xt.sent_under_flood(nr))
        inserts = peers.show()["stats"]["inserts"]
    print(f"# {nr} sent, some {inserts - nr} of the flood")
    return unlike(learnt=(there, nr), flooded=(inserts > nr + nr // 20, True))


def of_kernel():
    """What a kernel can change: how rules reach the program, and what it is handed."""
    for end in front_ends():
        yield f"{end[0]}: answers come in, nothing else", xt.of(reflexive, *end)
    yield "no_filter: --unknown drop", xt.of(unknown, "drop", "no_filter")
    yield "keys are those of the model, in pages too", parity
    yield "learning is never lost to a softirq of the same CPU", race


def cases():
    if in_part():
        yield from of_kernel()
        return
    for end in front_ends():
        yield f"{end[0]}: answers come in, nothing else", xt.of(reflexive, *end)
    for how in "no_filter", "never held", "saturated":
        for verdict in "accept", "drop":
            yield f"{how}: --unknown {verdict}", xt.of(unknown, verdict, how)
    yield "keys are those of the model, in pages too", parity
    yield "recent, new, learn, learn-new, within", asks
    yield "saved and restored", saved
    yield "errors are one line", wrong
    yield "status tells the rule as it was given", told
    yield "a pin that was removed is forgotten", removed
    yield "a pin holds its filter", holds
    yield "learning is never lost to a softirq of the same CPU", race


if __name__ == "__main__":
    require()
    tap.main(tap.chosen(list(cases())), retry="sockets")
