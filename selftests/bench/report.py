#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Collect the measurements of run.sh as JSON and compare them with the targets.

usage: report.py DIRECTORY    (core.txt, kinds.txt, audit.txt, audit_end.txt,
                            snap.txt, dedup.txt, xdp.json, ebpf.json,
                            memory.json)
Writes report.json there and prints the summary. A missing part is left out.
"""

import json
import os
import re
import sys

CORE_SIZE = re.compile(r"(\d+) MiB, window (\d+) keys at (\d+) bits")
CORE_PLAN = re.compile(r"plan (equal bytes|equal error), L=(\d)")
CORE_ROW = re.compile(r"(test new|test known|insert)\s+(unbatched|batched)\s+"
                      r"lanes\s+([\d.]+) ns\s+classic\s+([\d.]+) ns\s+"
                      r"ratio\s+([\d.]+)")
KINDS_SIZE = re.compile(r"(\d+) MiB, (\d+) bits a key")
KINDS_ROW = re.compile(r"(\w+)\s+(x|[\d.]+\s+[\d.]+)((\s+([\d.]+|-)){6,7})$")
KINDS_OPS = ("absent", "absent batched", "present", "present batched",
             "insert", "insert batched", "rotate")
AUDIT_ROW = re.compile(r"\s*(\d+) MiB\s+threads (\w+)\s+(\w+)\s+([\d.]+) M keys/s"
                       r"\s+ratio\s+([\d.]+)")
END_ROW = re.compile(r"\s*(\d+) MiB  \d+ M digests .* ratio\s+([\d.]+)")
COPY_ROW = re.compile(r"\s*(\d+) MiB  copied word by word\s+[\d.]+ GB/s  memcpy"
                      r"\s+[\d.]+ GB/s  ratio\s+([\d.]+)")
SNAP_ROW = re.compile(r"(\d+) MiB  copy to memcpy ([\d.]+)  one batch in 1000 "
                      r"([\d.]+) times as long  longest batch ([\d.]+) ms, "
                      r"without a snapshot ([\d.]+) ms")
DEDUP_ROW = re.compile(r"(\w+)\s+(\d+)\s+([\d.]+) s\s+(\d+) packets/s")
DEDUP_RATIO = re.compile(r"(\w+): faster than editcap at (\d+)\s+([\d.]+)x")


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except FileNotFoundError:
        return ""


def core(text):
    rows, mib, bits, plan = [], 0, 0, None
    for line in text.splitlines():
        size, row = CORE_SIZE.match(line), CORE_ROW.match(line)
        plan = CORE_PLAN.match(line) or plan
        if size:
            mib, bits = int(size[1]), int(size[3])
        elif row:
            rows.append({"mib": mib, "classic_bits": bits, "equal": plan[1].split()[1],
                         "lines_per_key": int(plan[2]), "operation": row[1],
                         "batched": row[2] == "batched",
                         "lanes_ns": float(row[3]),
                         "classic_ns": float(row[4]), "ratio": float(row[5])})
    return rows


def kinds(text):
    rows, mib = {}, 0
    for line in text.splitlines():
        size, row = KINDS_SIZE.match(line), KINDS_ROW.match(line)
        if size:
            mib = int(size[1])
        elif row:
            figures = [None if v == "-" else float(v) for v in row[3].split()]
            of = rows.setdefault((mib, row[1]), {"mib": mib, "kind": row[1]})
            of["times_ge_paper" if row[2] == "x" else "ns"] = dict(
                zip(KINDS_OPS, figures))
    return list(rows.values())


def audit(text):
    return [{"mib": int(r[1]), "threads": r[2], "engine": r[3],
             "keys_per_s": float(r[4]) * 1e6, "ratio": float(r[5])}
            for r in map(AUDIT_ROW.match, text.splitlines()) if r]


def copies(text):
    return [{"mib": int(r[1]), "ratio": float(r[2])}
            for r in map(COPY_ROW.match, text.splitlines()) if r]


def audit_end(text):
    return [{"mib": int(r[1]), "ratio": float(r[2])}
            for r in map(END_ROW.match, text.splitlines()) if r]


def snap(text):
    return [{"mib": int(r[1]), "ratio": float(r[2]), "slow_ratio": float(r[3]),
             "worst_ms": float(r[4]), "worst_ms_without": float(r[5])}
            for r in map(SNAP_ROW.match, text.splitlines()) if r]


def dedup(text):
    lines = text.splitlines()
    ratios = {(r[1], r[2]): float(r[3])
              for r in map(DEDUP_RATIO.match, lines) if r}
    return [{"tool": r[1], "window": int(r[2]), "seconds": float(r[3]),
             "packets_per_s": float(r[4]),
             "times_editcap": ratios.get((r[1], r[2]))}
            for r in map(DEDUP_ROW.match, lines) if r]


def core_reach(rows):
    for row in rows:
        least = 2
        if row["equal"] != "bytes" or row["classic_bits"] != 14:
            continue
        if row["operation"] == "test new":
            least = 5 if row["mib"] < 64 else 8
        elif row["operation"] != "insert":
            continue
        if not row["batched"]:
            yield (f"{row['operation']}, {row['mib']} MiB, equal bytes: x times the "
                   "classic filter", row["ratio"], ">=", least)


def kinds_reach(rows):
    for row in rows:
        if (row["kind"], row["mib"]) == ("elastic", 1):
            for what, most in ("insert", 300), ("absent", 100), ("present", 100):
                yield f"elastic, 1 MiB, {what}: ns", row["ns"][what], "<=", most


def audit_reach(rows):
    for row in rows:
        least = {"avx512": 6, "avx2": 3}.get(row["engine"])
        if least and row["mib"] >= 70 and row["threads"] == "all":
            yield (f"audit, {row['mib']} MiB, {row['engine']}: x times faster "
                   "than scalar", row["ratio"], ">=", least)


def copies_reach(rows):
    for row in rows:
        if row["mib"] >= 512:
            yield (f"copy of {row['mib']} MiB of lines: speed to memcpy",
                   row["ratio"], ">=", 0.9)


def audit_end_reach(rows):
    for row in rows:
        yield (f"epfctl audit of a snapshot of {row['mib']} MiB, end to end: "
               "speed to the bare engine", row["ratio"], ">=", 0.8)


def snap_reach(rows):
    for row in rows:
        yield (f"snapshot of {row['mib']} MiB: speed of the copy to memcpy",
               row["ratio"], ">=", 0.9)


def xdp_reach(xdp):
    flow = {f["subject"]: f for f in xdp["figures"] if f["key"] == "flow"}
    null, lru = flow["null"], flow["lru"]
    for name in (n for n in flow if n.startswith("ours")):
        for stage, most in ("new", 1 / 3), ("repeat", 1):
            yield (f"{stage} flow, {name}: instructions above null, to LRU's",
                   (flow[name][stage] - null[stage]) /
                   (lru[stage] - null[stage]), "<=", most)


def ebpf_reach(rows):
    sizes = {}
    for row in rows:
        sizes.setdefault(row["mib"], {})[row["subject"]] = row
    for mib, of in sizes.items():
        for name in (n for n in of if n.startswith("filter")):
            what = f"pure BPF, {mib} MiB, {name[8:]}, %s: ns above null, to %s"
            if of[name]["open"]:
                yield f"pure BPF, {mib} MiB, {name[8:]}: was open", 1, "<=", 0
                continue
            for stage, peer, most in (("new", "LRU hash map", 1 / 3),
                                      ("new", "Bloom filter map", 1),
                                      ("repeat", "LRU hash map", 1),
                                      ("mixed", "LRU hash map", 1),
                                      ("apart", "LRU hash map", 1)):
                if peer in of:
                    null = of["null"][stage + "_ns"]
                    yield (what % (stage, peer.split()[0]),
                           (of[name][stage + "_ns"] - null) /
                           (of[peer][stage + "_ns"] - null), "<=", most)


def memory_reach(memory):
    yield (f"{memory['flows']} flows at {memory['budget']:g}: MiB",
           memory["planned"] / 2**20, "<=", 5)


def dedup_reach(rows):
    of = {(r["tool"], r["window"]): r["seconds"] for r in rows}
    ratios = {r["window"]: r["times_editcap"] for r in rows
              if r["tool"] == "exact"}
    if ratios.get(50000):
        yield ("dedup at 50000: x times faster than editcap", ratios[50000],
               ">=", 100)
    if ("exact", 1000000) in of:
        yield ("dedup, time at 1000000 to that at 1000",
               of["exact", 1000000] / of["exact", 1000], "<=", 2)


def main():
    folder = sys.argv[1]

    def text(name):
        return read(os.path.join(folder, name))

    parts = {"core": core(text("core.txt")),
             "kinds": kinds(text("kinds.txt")),
             "audit": audit(text("audit.txt")),
             "copies": copies(text("audit.txt")),
             "audit_end": audit_end(text("audit_end.txt")),
             "snap": snap(text("snap.txt")),
             "xdp": json.loads(text("xdp.json") or "null"),
             "ebpf": json.loads(text("ebpf.json") or "null"),
             "memory": json.loads(text("memory.json") or "null"),
             "dedup": dedup(text("dedup.txt"))}
    reach = []
    for part, of in (("core", core_reach), ("kinds", kinds_reach),
                     ("audit", audit_reach),
                     ("audit_end", audit_end_reach), ("copies", copies_reach),
                     ("snap", snap_reach),
                     ("xdp", xdp_reach), ("ebpf", ebpf_reach), ("memory", memory_reach),
                     ("dedup", dedup_reach)):
        reach += of(parts[part]) if parts[part] else []
    print("To be reached")
    for what, got, sign, limit in reach:
        met = got >= limit if sign == ">=" else got <= limit
        print(f"  {what:<62}{got:>8.2f} {sign} {limit:<5.3g}"
              f"{'' if met else '  not reached'}")
    parts["reach"] = [{"what": w, "got": g, "sign": s, "limit": n}
                      for w, g, s, n in reach]
    with open(os.path.join(folder, "report.json"), "w") as f:
        json.dump(parts, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
