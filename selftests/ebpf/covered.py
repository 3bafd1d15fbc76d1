#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`epfctl attach --cluster` on this machine, in the setup of reflex_hosts.py: what another host
has seen is in the filter of all, and the cover map says whether that is all there is. Each
kind of attachment tells the same three sorts of packets apart. With EPF_REFLEX_BACKEND=module
it tests filters of the module.
"""

import functools
import itertools
import json
import os
import re
import time

import ingress_hosts as ingress
import nf_hosts
import reflex
import reflex_hosts as hosts
import stage
from reflex_hosts import NAME, TWIN, Filter, Holder, net

COVER = os.path.join(net.BUILD, "selftests/ebpf/cover")
CLUSTER = f"rfx-{os.getpid()}.web"
FOREVER = 2 ** 64 - 1
LASTS_S = 5
BLOCKS = itertools.count(0, 1000)
ONES = itertools.cycle(range(900)) # a window is over when they come again
HOOK = "nf:prerouting:-310"
DNS = ["--match", "udp:sport=53", "--if-unknown", "accept", "--fragments", "pass"]
ABOVE = ["--admit", "0", "--new-rate", "0", "--key", "flow"]


def cover(*args, **how):
    return net.run(COVER, *args, **how)


class Cluster:
    """The local filter NAME and the filter of all TWIN, with one key; the cover is there. The
    filters are young, so the window is short: in nanoseconds.
    """

    def __init__(self, window="1", lasts="1h"):
        self.window, self.lasts = window, lasts

    def __enter__(self):
        key = net.tmp("key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                  encoding="ascii") as file:
            file.write("00112233445566778899aabbccddeeff\n")
        shape = net.shaped(58456, "--time", self.lasts, "--rate", "100", "--key-file",
                           key)
        self.parts = [Filter(*shape), Filter(*shape, name=TWIN), Holder(NAME, TWIN)]
        for part in self.parts:
            part.__enter__()
        cover("make", CLUSTER, NAME, TWIN, self.window)
        return self

    def __exit__(self, *error):
        cover("remove", CLUSTER, check=False)
        for part in self.parts[::-1]:
            part.__exit__(*error)


def attached(*options, filter=NAME):
    return net.Attached(*options, filter=filter)


def joined(*options):
    return attached("--cluster", CLUSTER, *options)


def own(tree):
    """Return packets by reason, without zeros, fences and sides."""
    out = {}
    for name, value in tree.items():
        if "packets" not in value:
            out.update(own(value))
        elif value["packets"] and name not in ("not_ip", "other", "fragment"):
            out[name] = value["packets"]
    return out


def added(before, after):
    return {k: n for k, v in after.items() if (n := v - before.get(k, 0))}


def run_in(on, frames):
    """Return the frames that arrive, and what they are counted as."""
    before = own(on.status()["counters"])
    got = ingress.send_in(frames)
    return got, added(before, own(on.status()["counters"]))


def judged(on, seen, new, expected):
    """Packets that another host has seen, and new ones, with the cover and without it."""
    half, told, before = len(new) // 2, {}, own(on.status()["counters"])
    for when, until, frames in (("seen", FOREVER, seen), ("covered", None, new[:half]),
                                ("expired", 1, new[half:]), ("seen, uncovered", 0, seen)):
        if until is not None:
            cover("promise", CLUSTER, until)
        ingress.send_in(frames)
        after = own(on.status()["counters"])
        told[when], before = added(before, after), after
    count = {"seen": len(seen), "covered": half, "expired": half,
             "seen, uncovered": len(seen)}
    return net.unlike(**{when: (told[when], {what: count[when]})
                         for when, what in expected.items()})


def dedup(*options):
    """A repeat of another host's packet is dropped; a new packet is new only if covered. What
    was seen is then in no filter of this host: only test and insert.
    """
    seen, new = ingress.frames(0), ingress.frames(1000)
    with Cluster():
        with attached("--no-dispatcher", filter=TWIN):
            ingress.send_in(seen)
        with joined(*options) as on:
            return judged(on, seen, new, {"seen": "recent", "covered": "absent",
                                          "expired": "uncovered",
                                          "seen, uncovered": "recent"})


def reflexive(*options):
    """An answer to what another host has sent is recent."""
    known, other = reflex.flows(0), reflex.flows(1000)
    rule = ["--reflexive", "--else", "drop", *DNS, *options]
    with Cluster():
        with attached(*rule, filter=TWIN):
            hosts.send_out(known[0])
        with joined(*rule) as on:
            return judged(on, known[1], other[1], {"seen": "recent", "covered": "absent",
                                                   "expired": "uncovered",
                                                   "seen, uncovered": "recent"})


def hook():
    """The same at a netfilter hook."""
    known, other = reflex.flows(0), reflex.flows(1000)
    with Cluster():
        with attached("--reflexive", "--else", "drop", *DNS, filter=TWIN):
            hosts.send_out(known[0])
        with nf_hosts.At(HOOK, "--cluster", CLUSTER, "--reverse", "--else", "drop",
                         *DNS) as on:
            return judged(on, known[1], other[1], {"seen": "recent", "covered": "absent",
                                                   "expired": "uncovered",
                                                   "seen, uncovered": "recent"})


def admit(unknown):
    """Above the rate a source that another host knows passes."""
    seen, new = ingress.frames(0), ingress.frames(1000)
    rule = [*ABOVE, "--if-unknown", unknown]
    with Cluster():
        with attached("--admit", ingress.FOREVER, "--new-rate", "0", "--key", "flow",
                      "--if-unknown", "drop", filter=TWIN):
            ingress.send_in(seen)
        with joined("--no-dispatcher", *rule) as on:
            fault = judged(on, seen, new, {"seen": "recent", "covered": "left_out",
                                           "expired": "uncovered",
                                           "seen, uncovered": "recent"})
            got = len(run_in(on, ingress.frames(3000))[0])
        return fault or net.unlike(passed=(got, 100 if unknown == "accept" else 0))


def log_new():
    """A flow that another host has seen has no record here; without a cover it has one, and is
    counted apart."""
    seen, new = ingress.frames(0), ingress.frames(1000)
    with Cluster():
        with attached("--log-new", "--key", "flow", filter=TWIN):
            ingress.send_in(seen)
        with joined("--log-new", "--key", "flow") as on:
            return judged(on, seen, new, {"seen": "recent", "covered": "absent",
                                          "expired": "uncovered",
                                          "seen, uncovered": "recent"})


def loses(on, event):
    """Frames enter the local filter, and @event may take them. Return what they then count as,
    and what others count as when the filters are old enough again; None: this took too long.
    """
    block = next(BLOCKS)
    known = ingress.frames(block, 50)
    while "absent" not in run_in(on, ingress.frames(block + 50 + next(ONES), 1))[1]:
        time.sleep(0.1)
    began = time.monotonic()
    first = run_in(on, known)[1]
    event()
    second = run_in(on, known)[1]
    return (first, second) if time.monotonic() - began < LASTS_S else None


def lost():
    """Nobody looks after the filters, and the promise stands. A packet of a window ago is never new
    after somebody has cleared or swapped one of the filters: it is a repeat, or not known.
    """
    swap = functools.partial(net.epfctl, "swap")
    events = {
        "none": lambda: None,
        "clear": lambda: net.epfctl("clear", NAME),
        "clear all": lambda: (net.epfctl("clear", TWIN), net.epfctl("clear", NAME)),
        "swap twice": lambda: (net.epfctl("clear", NAME), swap(NAME, TWIN), swap(NAME, TWIN)),
        "swap": lambda: swap(NAME, TWIN), # the last, since a cover of pure BPF is over then
    }
    seen = {}
    with Cluster(str(LASTS_S * 10**9), f"{LASTS_S}s"):
        cover("promise", CLUSTER, FOREVER)
        with joined("--no-dispatcher") as on:
            for name, event in events.items():
                while (told := loses(on, event)) is None:
                    pass
                seen[name] = told
    return net.unlike(none=(seen.pop("none"), ({"absent": 50}, {"recent": 50})),
                      **{name: (told, ({"absent": 50}, {told_as(told[1]): 50}))
                         for name, told in seen.items()})


def told_as(counts):
    """One of the two that are allowed."""
    return "recent" if "recent" in counts else "uncovered"


def declared(text):
    """What apply has to do for this text, and its errors."""
    path = net.tmp("declared.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    done = net.epfctl("apply", "--dry-run", "--replace", path, check=False)
    return done.stdout.split(":", maxsplit=1)[0], done.stderr


def shown():
    """status, export and JSON tell the cluster, and whether it covers; export's options attach
    the same.
    """
    with Cluster():
        cover("promise", CLUSTER, FOREVER)
        with joined("--no-dispatcher") as on:
            covered = on.status()["cluster"]
            text = net.epfctl("export", net.B).stdout
            same = declared(text)
            differs = declared(text.replace(f"cluster = {CLUSTER}\n", ""))
            cover("promise", CLUSTER, 0)
            open_text = net.epfctl("status", net.B).stdout
            in_use = net.refused(f"is attached to '{net.B}'", "destroy", TWIN)
            cover("remove", CLUSTER)
            gone = on.status()["cluster"]["state"]
            cover("make", CLUSTER, NAME, TWIN, "1")
            other = on.status()["cluster"]["state"]
            cover("promise", CLUSTER, FOREVER)
            still = run_in(on, ingress.frames(0))[1]
        with joined("--no-dispatcher") as on:
            again = run_in(on, ingress.frames(1000))[1]
        ids = json.loads(net.epfctl("-j", "show", TWIN).stdout)["id"]
    return in_use or net.unlike(
        covered=(covered, {"name": CLUSTER, "all_id": ids, "state": "covered"}),
        exported=(re.findall(r"^cluster *= *(.*)$", text, re.M), [CLUSTER]),
        declared=(same, ("nothing to do", "")), without=(differs == same, False),
        told=(f"cluster '{CLUSTER}': data of a host are missing" in open_text, True),
        gone=((gone, other), ("gone", "replaced")), still=(still, {"uncovered": 100}),
        again=(again, {"absent": 100}))


def refusals():
    """Each error is one line, and nothing is left behind."""
    refused = net.refused
    base = "attach", net.B, "--filter", NAME
    drops = "--else", "drop", *DNS
    with Cluster(), Filter(name=TWIN + "x"):
        fault = refused("is epfagent running, with [cluster none]", *base, "--cluster", "none") or \
            refused("not the name of a cluster", *base, "--cluster", "a/b") or \
            refused(f"publishes the filter '{NAME}', not '{TWIN}x'", "attach", net.B,
                    "--filter", TWIN + "x", "--cluster", CLUSTER) or \
            refused("--cluster needs --filter", "attach", net.B, "--cluster", CLUSTER) or \
            refused("--within does not go with --cluster", *base, "--cluster", CLUSTER,
                    "--reflexive", "--within", "1", *drops) or \
            refused("--cluster goes with a lookup only", "attach", "--hook", HOOK,
                    "--filter", NAME, "--cluster", CLUSTER, "--learn")
        net.epfctl("destroy", "--force", TWIN)
        fault = fault or refused(f"'{TWIN}', the filter of all of cluster '{CLUSTER}', is gone",
                                 *base, "--cluster", CLUSTER)
        net.epfctl("create", TWIN, "-W", 1000, "--rotate", "process")
        fault = fault or refused("different hash keys or kinds", *base, "--cluster", CLUSTER)
        same = cover("make", CLUSTER + "2", NAME, NAME, check=False)
    return fault or net.unlike(same=(same.returncode, 1))


def native_only():
    """Cases of the tool, and constants of programs: the same with filters of the module."""
    of = functools.partial
    return [("duplicates, generic, without a dispatcher",
             of(dedup, "--mode", "generic", "--no-dispatcher")),
            ("--admit, unknown accepted", of(admit, "accept")), ("refused", refusals)]


def cases():
    of = functools.partial
    out = [("duplicates", dedup), ("nobody notices that a filter lost its contents", lost)]
    if not hosts.MODULE or hosts.kernel() >= (6, 9):
        out += [("--reflexive", reflexive),
                ("--reflexive, asked at tc", of(reflexive, "--ask", "tc")),
                ("--admit, unknown dropped", of(admit, "drop")), ("--log-new", log_new),
                ("shown, exported and attached again", shown)]
        if hosts.kernel() >= (6, 4):
            out.append(("--hook", hook))
    in_part = hosts.MODULE and not (reflex.THOROUGH or reflex.KERNELS)
    return out if in_part else out + native_only()


def sweep():
    cover("remove", CLUSTER, check=False)
    nf_hosts.sweep()


if __name__ == "__main__":
    if not os.path.exists(COVER):
        hosts.tap.skip_all("build/selftests/ebpf/cover is not built")
    stage.main(cases, [hosts.require], sweep,
               lambda: hosts.nothing_left() or nf_hosts.nothing_left())
