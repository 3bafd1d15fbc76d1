#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`epfctl attach --admit`, `--log-new` and `--hook` with filters of the module, in one guest:
the cases of admit.py, log_new.py and nf.py that may differ from pure BPF filters; with
EPF_THOROUGH all.
"""

import json

import admit
import log_new
import nf
import nf_hosts
import reflex
import reflex_hosts as hosts
import stage

FRONTS = (("--admit", admit), ("--log-new", log_new), ("--hook", nf))


def marks():
    """The module sets only the bits of a mask, and a rule of nft decides by them; a packet
    with another verdict keeps its mark.
"""
    nf_hosts.in_b(
        "nft", "table inet epf_mark { counter whole { }; counter strange { }; "
        "chain first { type filter hook prerouting priority -400; "
        "meta mark set 0x83000007; }; "
        "chain then { type filter hook forward priority 0; "
        "meta mark { 0x81000007, 0x82000007, 0x83000007 } counter name whole; "
        "meta mark != { 0x81000007, 0x82000007, 0x83000007 } counter name strange; "
        "meta mark and 0x3000000 == 0x1000000 drop; }; }")
    known, other = reflex.flows(0), reflex.flows(1000)
    what = ("--if-recent", "mark=0x2000000/0x3000000", "--else", "mark=0x1000000/0x3000000")
    try:
        with nf_hosts.Routed(), hosts.Filter(), \
                nf_hosts.At("nf:postrouting:300", *nf.QUERIES), \
                nf_hosts.At("nf:prerouting:-310", *nf.ANSWERS, *what) as asks:
            nf.out_from_c(known[0])
            got = nf.in_from_a(known[1] + other[1])
            counts, rule = asks.counts(), asks.status()
        listed = json.loads(nf_hosts.in_b("nft", "-j", "list", "counters", "table",
                                          "inet", "epf_mark").stdout)["nftables"]
    finally:
        nf_hosts.in_b("nft", "delete", "table", "inet", "epf_mark")
    seen = {c["counter"]["name"]: c["counter"]["packets"] for c in listed if "counter" in c}
    fences = hosts.bursts(known[0]) + hosts.bursts(known[1] + other[1])
    return hosts.net.unlike(
        passed=hosts.arrived(got, [nf_hosts.same(f[14:]) for f in known[1]]),
        marks=(seen, {"whole": 600 + fences, "strange": 0}),
        counts=((counts["recent"], counts["absent"]), (200, 200)),
        verdicts=([rule["counters"][r]["verdict"] for r in ("recent", "absent", "other")],
                  ["mark", "mark", "pass"]),
        told=((rule["netfilter"]["if_recent"], rule["netfilter"]["else"]),
              ("mark=0x2000000/0x3000000", "mark=0x1000000/0x3000000")))


def cases():
    return [(f"{name}, {what}", case) for name, program in FRONTS
            for what, case in (program.cases() if reflex.THOROUGH else
                               program.of_module())] + \
        [("marks leave other bits alone, and nft decides", marks)]


if __name__ == "__main__":
    stage.main(cases, [hosts.require, nf_hosts.make_c, nf_hosts.drop_pins], nf_hosts.sweep,
               lambda: hosts.nothing_left() or nf_hosts.nothing_left(), retry="a socket may wait for long")
