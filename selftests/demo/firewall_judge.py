#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Judge the firewall demo: a table of what firewall_run.py measured.

One firewall keeps the promise or not: every answer is delivered, the open port
is open, of the unsolicited packets no more passed than BUDGET explains, and at
twice its plan every answer is delivered still. The harness is judged as well:
what it sends has to arrive.

usage: firewall_judge.py [--json] [--instructions] DIRECTORY PROMISE BUDGET SUBJECT...

  --instructions  it was measured where a nanosecond is an instruction: vm/run.sh --icount

What took longer than flows are remembered was not measured: no firewall has to know them.

Exit status: 0 as promised, 1 not, 2 not measured, or the harness is at fault.
"""

import json
import os
import re
import statistics
import sys

from judge import count, most_explained

BASE, PEER = "dropping", "nft"
NAMES = {
    "none": "no firewall",
    "stateless": "nft, port 53 dropped",
    "conntrack": "conntrack, port open",
    "conntrack_notrack": "the same, port notrack",
    "conntrack_drop": "conntrack, default drop",
    "nft": "nft set filled by output",
    "nft_ingress": "the same, at ingress",
    "ipset": "ipset, SET --add-set",
    "recent": "xt_recent",
    "ours": "epochfilter, reflexive",
    "ours_tc": "the same, asked at tc",
    "ours_mark": "the same, nft decides",
    "ours_hook": "netfilter hooks",
    "ours_iptables": "iptables, -m bpf",
    "ours_match": "iptables, -m epf",
}
GOAL_NS, GOAL_MEMORY = 1 / 2, 1 / 10  # of the nft set's


def load(path):
    try:
        with open(path) as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def passed(flood):
    return flood["strangers"] + flood["deaf"]


def late(part):
    """Why it was not measured, or None."""
    if part.get("took", 0) <= part.get("remembers", 0):
        return None
    return (f"not measured: the answers came {part['took']:.1f} s after the first query, "
            f"and flows are remembered for {part['remembers']:.0f} s")


def figures(directory, name, base):
    """What the table says of a firewall; @base: (open, unsolicited) ns."""
    ask, more = (load(f"{directory}/{name}.{part}") for part in ("ask", "load"))
    if "absent" in ask:
        return {"absent": ask["absent"]}
    if late(ask):
        return {"late": late(ask)}
    row = {"queries": ask["queries"], "replies": ask["replies"],
           "sources": ask["open"]["packets"],
           "open_passed": passed(ask["open"]),
           "unsolicited_passed": passed(ask["unsolicited"]),
           "open_ns": median(ask["open"]) - base[0],
           "unsolicited_ns": median(ask["unsolicited"]) - base[1]}
    if late(more):
        row["late"] = late(more)
    elif more:
        row["twice"] = {"sent": 2 * more["planned"], "left": more["left"],
                        "replies": passed(more["replies"]),
                        "others": more["unsolicited"]["packets"],
                        "unsolicited_passed": passed(more["unsolicited"]),
                        "unsolicited_ns": median(more["unsolicited"]) - base[1]}
    if more:
        row["planned"] = more["planned"]
        row["entry_bytes"] = entry_bytes(more)
    return row


def entry_bytes(more):
    """By what the firewall says, or else by the kernel's slabs; None: too few
    were kept to tell."""
    said = more.get("state", "")
    if said.startswith("{"):
        return json.loads(said)["memory_bytes"] / more["planned"]
    size = re.search(r"Size in memory: (\d+)", said)
    entries = re.search(r"Number of entries: (\d+)", said)
    if size and entries and int(entries[1]):
        return int(size[1]) / int(entries[1])
    return more["entry_bytes"] or None


def median(flood):
    return statistics.median(flood["ns"])


def broken(directory, names):
    """What the harness did not do as it should."""
    for name in names:
        ask, more = (load(f"{directory}/{name}.{part}")
                     for part in ("ask", "load"))
        for flood in (*ask.values(), *more.values()):
            if isinstance(flood, dict) and flood["came"] != flood["packets"]:
                yield (f"{name}: {flood['came']} of {flood['packets']} "
                       "packets came to the client")
        if name == "none" and (ask["open"]["deaf"] != ask["open"]["packets"] or
                               ask["unsolicited"]["strangers"] !=
                               ask["unsolicited"]["packets"]):
            yield "none: without a firewall not all packets passed"


def faults(row, budget):
    """How a firewall breaks the promise."""
    if "absent" in row:
        yield f"it cannot run: {row['absent']}"
        return
    if "replies" not in row:
        return
    if row["replies"] != row["queries"]:
        yield f"{row['replies']} of {row['queries']} answers were delivered"
    if row["open_passed"] != row["sources"]:
        yield (f"{row['open_passed']} of {row['sources']} packets passed to "
               "the open port")
    most = most_explained(row["sources"], budget)
    if row["unsolicited_passed"] > most:
        yield (f"{row['unsolicited_passed']} unsolicited packets passed, the "
               f"budget explains {most}")
    twice = row.get("twice")
    if twice and twice["replies"] != twice["sent"]:
        yield (f"at twice the plan {twice['replies']} of {twice['sent']} "
               "answers were delivered")


def cell(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def print_table(rows, instructions):
    some = next((row for row in rows.values() if "replies" in row), None)
    cost = "instr." if instructions else "ns"
    print(f"\n{'':26}{'answers':>9}{'unsolicited':>13}{cost + ' a packet':>17}"
          f"{'bytes':>8}{'MiB as':>9}{'at twice the plan:':>26}")
    queries = "of " + count(some["queries"]) if some else ""
    print(f"{'':26}{queries:>9}{'passed':>13}"
          f"{'open':>9}{'unsol.':>8}{'a flow':>8}{'planned':>9}"
          f"{'answers':>10}{'unsol.':>9}{cost:>7}")
    for name, row in rows.items():
        if "absent" in row:
            print(f"  {NAMES[name]:<24} cannot run: {row['absent']}")
            continue
        if "replies" not in row:
            print(f"  {NAMES[name]:<24} {row['late']}")
            continue
        twice, size = row.get("twice", {}), row.get("entry_bytes")
        total = size and size * row["planned"] / 2**20
        print(f"  {NAMES[name]:<24}{row['replies']:>9}"
              f"{count(row['unsolicited_passed']):>13}{row['open_ns']:>9.0f}"
              f"{row['unsolicited_ns']:>8.0f}{cell(size, 1):>8}"
              f"{cell(total, 1):>9}{cell(twice.get('replies')):>10}"
              f"{cell(twice.get('unsolicited_passed')):>9}"
              f"{cell(twice.get('unsolicited_ns')):>7}")
    for name, row in rows.items():
        if "late" in row and "replies" in row:
            print(f"{NAMES[name]}, at twice the plan: {row['late']}")
    if some:
        print_notes(rows, some, instructions)


def print_notes(rows, some, instructions):
    planned = next((r for r in rows.values() if "twice" in r), None)
    cost = "instr.: instructions of an emulated CPU" if instructions \
        else "ns: CPU time"
    print(f"""
Unsolicited: {count(some['sources'])} packets from source port 53 to the ports of the queries. Open: as many to
a port that is open to all. Each source is another one. {cost}
beyond dropping at once, in XDP.""")
    if planned:
        print(f"""Planned for {count(planned['planned'])} flows. At twice the plan, of {count(planned['twice']['sent'])} answers and
{count(planned['twice']['others'])} unsolicited packets. Bytes of peers: without hash buckets, but for ipset.""")
    if "recent" in rows:
        print("xt_recent takes its number of addresses from a parameter of the "
              "module, 100 by default.")


def print_goals(rows, promise, instructions):
    """The goals are those of ours; the others are compared."""
    ours, peer = rows.get(promise, {}), rows.get(PEER, {})
    if "unsolicited_ns" not in ours or "unsolicited_ns" not in peer:
        return
    time, memory = (f" (goal: {goal:.2f})" if promise == "ours" else ""
                    for goal in (GOAL_NS, GOAL_MEMORY))
    cost = "instructions" if instructions else "time"
    print(f"{promise} to the nft set: {cost} "
          f"{ratio(ours, peer, 'unsolicited_ns')}{time}, memory "
          f"{ratio(ours, peer, 'entry_bytes')}{memory}")


def ratio(ours, peer, name):
    if not ours.get(name) or not peer.get(name):
        return "-"
    return f"{ours[name] / peer[name]:.2f}"


def judge(rows, promise, budget):
    if promise not in rows:
        print(f"demo-firewall: '{promise}' is to decide and did not run",
              file=sys.stderr)
        return 2
    wrong = list(faults(rows[promise], budget))
    for fault in wrong:
        print(f"FAILED: {promise}: {fault}", file=sys.stderr)
    if "late" in rows[promise] and not wrong:
        print(f"demo-firewall: {promise}: {rows[promise]['late']}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    directory, promise, budget, *names = \
        (a for a in sys.argv[1:] if a not in flags)
    instructions = "--instructions" in flags
    ran = [n for n in names if os.path.exists(f"{directory}/{n}.ask")]
    wrong = list(broken(directory, ran))
    for fault in wrong:
        print(f"demo-firewall: {fault}", file=sys.stderr)
    if wrong:
        return 2
    ask = load(f"{directory}/{BASE}.ask")
    base = (0, 0) if "open" not in ask else \
        (median(ask["open"]), median(ask["unsolicited"]))
    rows = {n: figures(directory, n, base) for n in ran if n != BASE}
    if "--json" in flags:
        json.dump({"base_ns": base, "instructions": instructions,
                   "firewalls": rows}, sys.stdout)
        print()
    else:
        print_table(rows, instructions)
        print_goals(rows, promise, instructions)
    return judge(rows, promise, float(budget))


if __name__ == "__main__":
    sys.exit(main())
