# SPDX-License-Identifier: GPL-2.0
"""Hooks that judge the packets of one interface, and README's recipes for routers."""

import contextlib
import os
import re

import nf_hosts as nf
import reflex_hosts as hosts
import reflex_packets as packets
from nf_hosts import At, Routed, cross
from reflex_hosts import NAME, Filter, Holder, net


def in_from_a(frames):
    return cross(frames, False, hosts.mac(net.NS_B, net.B))


def out_from_c(frames):
    return cross(frames, True, hosts.mac(net.NS_B, nf.B1))


def interfaces():
    """--in and --out: only what crosses that interface is judged."""
    flow = packets.Flow(4, 17, 7, 53)
    other = net.B[:-1]  # the beginning of a name is another name
    cases = {("nf:prerouting:-310", "--in", net.B): "in",
             ("nf:postrouting:300", "--out", nf.B1): "in",
             ("nf:forward:0", "--in", nf.B1, "--out", net.B): "out",
             ("nf:forward:1", "--in", net.B, "--out", net.B): "neither",
             ("nf:forward:2", "--in", other): "neither"}
    got = {}
    with Routed(), Filter(), Holder(), contextlib.ExitStack() as all_of:
        hooks = {case: all_of.enter_context(At(case[0], *case[1:], "--key", "flow"))
                 for case in cases}
        in_from_a([flow.answer()])
        for case, hook in hooks.items():
            got[case] = "in" if hook.counts().get("absent") else "neither"
        out_from_c([flow.query()])
        for case, hook in hooks.items():
            if got[case] == "neither" and hook.counts().get("absent"):
                got[case] = "out"
        shown = hooks["nf:forward:0", "--in", nf.B1, "--out", net.B].status()["netfilter"]
    return net.unlike(judged=(got, cases), shown=((shown["in"], shown["out"]), (nf.B1, net.B)))


def warns():
    """Of learning what passes through, unless an interface is named."""
    got = []
    with Filter():
        for hook, *options in ("postrouting", "--learn"), ("forward", "--learn"), \
                ("postrouting", "--learn", "--out", net.B), ("output", "--learn"), ("forward",):
            done = net.epfctl("attach", "--hook", f"nf:{hook}:7", "--filter", NAME, *options)
            got.append("by --out" in done.stderr)
            net.epfctl("detach", "--hook", f"nf:{hook}:7")
    return net.unlike(warned=(got, [True, True, False, False, False]))


def places():
    """Priorities by nft's names are numbers in status, and detach takes either."""
    names = {"raw": -300, "raw-10": -310, "mangle+5": -145, "dstnat": -100, "filter-1": -1,
             "security:ip": "50:ip", "srcnat:ip6": "100:ip6"}
    got = {}
    with Filter():
        for name in names:
            with At(f"nf:prerouting:{name}", "--key", "flow") as on:
                got[name] = on.status()["hook"]
        for bad in "raw+", "raw5", "raw+-5", "rawish", "raw--5", "+5", "raw+2147483648", \
                "srcnat+2147483600":
            fault = net.refused(f"--hook 'nf:input:{bad}'", "attach", "--hook",
                                f"nf:input:{bad}", "--filter", NAME)
            if fault:
                return fault
    return net.unlike(places=(got, {k: f"nf:prerouting:{v}" for k, v in names.items()}))


def recipe(first):
    """The commands of README that contain @first, in B, whose interface to the outside is
    its end towards A."""
    with open(os.path.join(net.TOP, "README.md"), encoding="utf-8") as f:
        blocks = re.findall(r"(?:^    .*\n)+", f.read(), re.M)
    block = [b for b in blocks if first in b][0].replace("\\\n", " ")
    for line in block.splitlines():
        words = line.replace("sudo epfctl ", "").split("#")[0].split()
        net.epfctl(*[{"wan": net.B, "peers": NAME}.get(w, w) for w in words])


def from_outside(first, *ends):
    """README's recipe for routers: strangers ask a server behind B; nothing is learnt, and
    what nobody asked for is dropped. C asks, and is answered."""
    spoofed = [packets.Flow(4, 17, n, 53, (packets.B[4], bytes((198, 19, 0, n))))
               for n in range(100)]
    asked = [packets.Flow(4, 17, n, 53) for n in range(100, 120)]
    with Routed(), Filter(), Holder():
        recipe(first)
        try:
            came = len(in_from_a([f.query() for f in spoofed]))
            learnt = re.findall(r"\blearnt +\S+ +(\d+) packets", net.epfctl("status").stdout)
            unasked = len(in_from_a([f.answer() for f in asked]))
            out_from_c([f.query() for f in asked])
            answered = len(in_from_a([f.answer() for f in asked]))
        finally:
            for end in ends:
                net.epfctl("detach", *end)
    return net.unlike(came=(came, 100), learnt=(learnt, []), unasked=(unasked, 0),
                      answered=(answered, 20))
