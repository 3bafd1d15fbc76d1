#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Judge the demo: what came out, packet by packet, against an exact oracle.

The oracle knows the canonical bytes of every packet (the Python model, which
shares nothing with the C) and remembers all of them: no hashing, no window of
its own. Of each packet sent it says

  first   never sent before: must pass; dropped is a false positive
  repeat  sent before, within the last WINDOW insertions: must be dropped
  old     sent before, but longer ago: may pass, may be dropped
  none    truncated or malformed: must pass

Every frame that passed is matched to one that was sent, in order, and the
counters of the XDP program must agree with that; so a frame that the receiver
lost cannot be taken for one that was dropped.

usage: judge.py MADE_JSON STREAM OUT_DIRECTORY PLAN_JSON COST_JSON
Exit status: 0 as promised, 1 not.
"""

import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", d) for d in ("dedup", "model")]

import oracle  # noqa: E402
import packets as model  # noqa: E402
import pcap  # noqa: E402

DOUBT = 1e-6  # chance that a sound filter is called unsound
CONFIDENCE = 0.95
REMEMBERED = 8  # epochs


def kinds(packets, window):
    """Of each packet its kind, and the distances of the repeats."""
    last, inserted = {}, 0
    out, distances = [], []
    for p in packets:
        try:
            key = model.canonical(p.data, model.PACKET, model.ETHER, 0, 0)
        except (model.Truncated, model.Malformed):
            out.append("none")
            continue
        back = inserted - last[key] if key in last else None
        if back is None:
            out.append("first")
        elif back <= window:
            out.append("repeat")
            distances.append(back)
        else:
            out.append("old")
        last[key] = inserted
        inserted += 1
    return out, distances


def most_explained(trials, rate):
    """The least x with P(more than x of @trials) < DOUBT."""
    term = math.exp(trials * math.log1p(-rate))
    left, x = 1.0 - term, 0
    while left >= DOUBT:
        term *= (trials - x) / (x + 1) * rate / (1 - rate)
        left -= term
        x += 1
    return x


def at_most(found, trials):
    """Upper end of the rate at CONFIDENCE (Clopper and Pearson), by halving.
    """
    if not trials:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        term = total = math.exp(trials * math.log1p(-rate))
        for x in range(found):
            term *= (trials - x) / (x + 1) * rate / (1 - rate)
            total += term
        low, high = (rate, high) if total > 1 - CONFIDENCE else (low, rate)
    return high


def load(path):
    with open(path) as f:
        return json.load(f)


class Run:
    """What is known of the run; @faults says what is wrong with it."""

    def __init__(self, made, stream, out, plan, cost):
        self.made, self.plan, self.cost = map(load, (made, plan, cost))
        self.sent = pcap.load(stream).packets
        self.show = load(f"{out}/show.json")
        self.lru = load(f"{out}/lru.json")
        status = load(f"{out}/status.json")
        self.counters = {name: c["packets"]
                         for name, c in status["counters"].items()}
        self.window = self.show["window_inserts"]
        self.kinds, self.distances = kinds(self.sent, self.window)
        self.faults = []
        self.compare(pcap.load(f"{out}/received.pcap").packets)

    def compare(self, received):
        try:
            gone = oracle.align([p.data for p in self.sent],
                                [p.data for p in received])
        except ValueError as e:
            sys.exit(f"the receiver got frames that nobody sent, or lost "
                     f"the order: {e}")
        tally = {(kind, was): 0 for kind in ("first", "repeat", "old", "none")
                 for was in (True, False)}
        for pair in zip(self.kinds, gone):
            tally[pair] += 1
        self.dropped = sum(gone)
        self.missed = tally["repeat", False]
        self.false = tally["first", True]
        self.broken = tally["none", True]
        self.old_dropped = tally["old", True]
        self.firsts = self.kinds.count("first")
        self.repeats = self.kinds.count("repeat")
        self.olds = self.kinds.count("old")
        self.nones = self.kinds.count("none")
        self.allowed = most_explained(self.firsts, self.plan["predicted_fpr"])
        self.check(len(self.sent) - self.dropped)

    def check(self, passed):
        seen = sum(self.counters.values())
        xdp = self.counters["recent"]
        if seen != len(self.sent):
            self.faults.append(f"the XDP program saw {seen} of "
                               f"{len(self.sent)} packets: some were lost "
                               "before it")
        if xdp != self.dropped:
            self.faults.append(f"the XDP program dropped {xdp}, but "
                               f"{self.dropped} did not come out ({passed} "
                               "did): some were lost behind it")
        if self.missed:
            self.faults.append(f"{self.missed} repeats were missed")
        if self.broken:
            self.faults.append(f"{self.broken} truncated or malformed "
                               "packets were dropped")
        if self.false > self.allowed:
            self.faults.append(f"{self.false} false drops: the budget "
                               f"explains {self.allowed} at most")


def line(name, value, note=""):
    print(f"  {name:<26}{value:>12}{'   ' if note else ''}{note}")


def count(n):
    return f"{n:,}"


def rate(r):
    return f"{r:.3g}" if r else "0"


def size(n):
    return f"{n / 1024:,.1f} KiB" if n < 1 << 20 else f"{n / 2**20:,.2f} MiB"


def print_traffic(run):
    made = run.made
    print("\nTraffic")
    line("packets sent", count(len(run.sent)),
         f"{count(made['taken'])} of the capture, each twice; "
         f"{count(made['routed'])} copies with TTL - 1")
    line("unique", count(run.firsts + run.nones))
    line("repeats", count(run.repeats),
         f"inside the window of {count(run.window)}, "
         f"{count(min(run.distances, default=0))} to "
         f"{count(max(run.distances, default=0))} packets apart")
    if made["unfit"]:
        line("left out", count(made["unfit"]),
             "of the capture: too short or too long for the pair")
    if run.olds:
        line("older repeats", count(run.olds),
             f"beyond the window; {count(run.old_dropped)} dropped")


def print_verdict(run):
    print("\nDuplicate removal in XDP")
    line("dropped", count(run.dropped),
         f"the program counts {count(run.counters['recent'])}")
    line("passed", count(len(run.sent) - run.dropped),
         "captured behind the program and compared byte by byte")
    line("MISSED REPEATS", count(run.missed))
    line("false drops", count(run.false),
         f"the budget explains up to {run.allowed} "
         f"(binomial, {count(run.firsts)} trials, p < {DOUBT:g})")
    line("error predicted", rate(run.plan["predicted_fpr"]),
         "at the worst phase")
    line("error measured", rate(run.false / max(run.firsts, 1)),
         f"below {at_most(run.false, run.firsts):.2g} with "
         f"{CONFIDENCE:.0%} confidence; the kernel's own estimate at the end: "
         f"{rate(run.show['fpr'])}")


def print_memory(run):
    ours, lru = run.show["memory_bytes"], run.lru["bytes_memlock"]
    print("\nMemory")
    line("this filter", size(ours), f"{run.show['lines']} lines of 64 bytes, "
         f"{run.show['lines_per_key']} a key")
    line("LRU hash map", size(lru),
         f"{count(run.lru['max_entries'])} entries of 16 + 8 bytes: "
         f"{lru / ours:.1f} times as much")


def print_ns(run):
    """Measured on this machine; see cost.c."""
    cost = run.cost
    print(f"\n{'Nanoseconds of a packet of 64 bytes':<36}{'memory':>14}"
          f"{'new':>10}{'repeat':>10}")
    for row in cost["ns"]:
        mine = row["subject"] == "filter"
        bytes_used = run.show["memory_bytes"] if mine else row["bytes"]
        print(f"  {row['what']:<34}{size(bytes_used) if bytes_used else '':>14}"
              f"{row['new']:>10.0f}{row['repeat']:>10.0f}")
        if mine and row["found"] < cost["packets"]:
            run.faults.append(f"of {cost['packets']} repeats that were timed "
                              f"{row['found']} were found")


def print_cost(run):
    """Also with fewer lines a key, which is what memory can be spent on."""
    of = {f["subject"]: f for f in run.cost["figures"]
          if f["key"] == "packet" and f["bytes"] == 64}
    memory = run.cost["memory_bytes"]
    used = run.show["lines_per_key"]
    rows = [("null", "a program that only counts", "")]
    for lines in 4, 2, 1:
        name = f"ours L={lines}"
        what = "this filter" if lines == used else \
            f"the same with {lines} line{'s' * (lines > 1)} a key"
        rows.append((name, what, size(memory[name])))
    rows.append(("lru", "LRU hash map, FNV-1a, no secret",
                 size(run.lru["bytes_memlock"])))
    print(f"\n{'Instructions of a packet of 64 bytes':<36}{'memory':>14}"
          f"{'new':>10}{'repeat':>10}")
    for subject, what, bytes_used in rows:
        print(f"  {what:<34}{bytes_used:>14}{of[subject]['new']:>10.0f}"
              f"{of[subject]['repeat']:>10.0f}")


def main():
    run = Run(*sys.argv[1:])
    print_traffic(run)
    print_verdict(run)
    print_memory(run)
    (print_ns if "ns" in run.cost else print_cost)(run)
    print()
    for fault in run.faults:
        print(f"FAILED: {fault}")
    if not run.faults:
        print(f"PASSED: every repeat was dropped, and {run.false} other "
              "packets")
    return 1 if run.faults else 0


if __name__ == "__main__":
    sys.exit(main())
