#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""epfctl build: snapshots of logs, flows and captures, against an exact model of the window:
a key is as old as the epochs between the one of its last record and the last one.

usage: build.py [WORD]...: the cases with one of these words in their names
"""

import gzip
import json
import lzma
import os
import signal
import struct
import subprocess
import sys
import time

from common import *
from flows import NFDUMP, PLAIN, a_set, message, plain, template
import pcap
import tap
from tool import epfctl, tmp

T = 3600
EPOCH_NS = -(-T * 10**9 // 7)
START = 1_700_000_000
ABSENT = 255


def write(name, data):
    with open(tmp(name), "wb") as f:
        f.write(data)
    return tmp(name)


def drawn(n, seed=1, keys=1500, step=9.0):
    """[(ns, key)] in order of time, over several windows, some keys again and again."""
    r = rng(seed)
    at, records = START * 10**9, []
    for _ in range(n):
        at += int(r.random() * step * 1e6) * 1000
        records.append((at, b"key %d" % r.randrange(keys)))
    return records


def csv_of(records):
    return b"".join(b"%s,%d.%06d\n" % (key, ns // 10**9, ns % 10**9 // 1000)
                    for ns, key in records)


def json_of(records):
    return b"".join(b'{"k":"%s","t":{"at":"%s.%06dZ"}}\n' % (
        key, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)).encode(),
        ns % 10**9 // 1000) for ns, key in records)


CSV = ["--format", "csv", "--fields", "1", "--stamp", "2"]
JSON = ["--format", "json", "--fields", "k", "--stamp", "t.at"]
BUDGET = 1e-9  # the least: ages are compared exactly
SIZE = ["--time", f"{T}s", "--rate", "5", "--budget", BUDGET]


def built(out, *args, ok=True):
    ran = epfctl("build", "-j", tmp(out), *args)
    if ok and ran.returncode:
        raise RuntimeError(ran.stderr.decode())
    return json.loads(ran.stdout) if not ran.returncode else ran


def ages(snapshot, keys):
    """Of each key, as 'audit' tells them."""
    lines = write("keys", b"".join(key + b"\n" for key in keys))
    ran = epfctl("audit", "--no-agent", "--format", "csv", "--ages", tmp("ages"), "-j",
                 tmp(snapshot), lines)
    if ran.returncode:
        raise RuntimeError(ran.stderr.decode())
    with open(tmp("ages"), "rb") as f:
        return list(f.read())


def model(records, end=None, epoch=EPOCH_NS, first=None):
    """{key: age}, by the exact epochs: the first begins with the first record."""
    first = records[0][0] if first is None else first
    end = records[-1][0] if end is None else end
    last = {}
    for ns, key in records:
        if ns <= end:
            last[key] = max(last.get(key, 0), ns)
    now = (end - first) // epoch
    age = {key: now - (ns - first) // epoch for key, ns in last.items()}
    return {key: a for key, a in age.items() if a < 8}, \
        {key for key, ns in last.items() if end - ns <= T * 10**9}


def as_modelled(snapshot, records, **how):
    want, window = model(records, **how)
    keys = sorted({key for _, key in records}) + [b"never %d" % i for i in range(300)]
    got = dict(zip(keys, ages(snapshot, keys)))
    tap.may_fail(sum(key not in want for key in keys) * BUDGET)
    lost = [key for key in window if got[key] == ABSENT]
    return differ("keys of the window that are absent", lost, []) or \
        differ("ages", got, {key: want.get(key, ABSENT) for key in keys})


def exact():
    records = drawn(9000)
    report = built("a.epf", *SIZE, *CSV, write("a.csv", csv_of(records)))
    return as_modelled("a.epf", records) or \
        differ("records", report["records"]["keys"], 9000) or \
        differ("inserted", report["inserted"], 9000) or \
        differ("first", report["first_ns"], records[0][0]) or \
        differ("end", report["end_ns"], records[-1][0]) or \
        differ("late", report["records"]["late"], 0) or \
        (report["fpr"] > 2 * BUDGET and report["fpr"] or None)


def until():
    records = drawn(9000)
    end = records[6000][0] + 123_000
    report = built("u.epf", *SIZE, *CSV, "--until", "%d.%06d" % (
        end // 10**9, end % 10**9 // 1000), write("a.csv", csv_of(records)))
    fault = differ("after", report["records"]["after"], 2999) or \
        as_modelled("u.epf", records, end=end)
    if fault:
        return fault
    beyond = records[-1][0] // 10**9 + T // 2
    report = built("u.epf", *SIZE, *CSV, "--until", beyond, tmp("a.csv"))
    return differ("end", report["end_ns"], beyond * 10**9) or \
        as_modelled("u.epf", records, end=beyond * 10**9)


def aligned():
    """Epochs that end by the wall clock: the model's begin at the multiples of the pitch."""
    records = drawn(9000)
    pitch = EPOCH_NS + (EPOCH_NS >> 6) + 1
    built("al.epf", *SIZE, "--align", *CSV, write("a.csv", csv_of(records)))
    return as_modelled("al.epf", records, epoch=pitch, first=0)


def lines_of(snapshot):
    with open(tmp(snapshot), "rb") as f:
        data = f.read()
    return data[struct.unpack_from("<QII", data)[2]:]


def same_lines(name, *args):
    built(name, "--like", tmp("a.epf"), *args)
    return differ(name, lines_of(name) == lines_of("a.epf"), True)


def alike():
    """The same records in other forms, files and orders give the same bytes."""
    records = drawn(9000)
    plain = write("a.csv", csv_of(records))
    built("a.epf", *SIZE, *CSV, plain)
    parts = [write(f"part{i}.csv", csv_of(records[i * 3000:(i + 1) * 3000]))
             for i in range(3)]
    mixed = [write("odd.gz", gzip.compress(csv_of(records[1::2]))),
             write("even.xz", lzma.compress(csv_of(records[::2])))]
    r = rng(7)
    shuffled = list(records)
    for i in range(0, 9000, 500):
        piece = shuffled[i:i + 500]
        r.shuffle(piece)
        shuffled[i:i + 500] = piece
    return same_lines("again.epf", *CSV, plain) or \
        same_lines("gz.epf", *CSV, write("a.csv.gz", gzip.compress(csv_of(records)))) or \
        same_lines("json.epf", *JSON, write("a.json", json_of(records))) or \
        same_lines("back.epf", *CSV, *reversed(parts)) or \
        same_lines("mixed.epf", *CSV, *mixed) or \
        same_lines("shuffled.epf", *CSV, write("s.csv", csv_of(shuffled)))


def rotated():
    """Rotated logs, the youngest first, with more records than are held back."""
    records = drawn(150000, step=.5)
    whole = write("whole.csv", csv_of(records))
    parts = [write(f"log.{i}", csv_of(records[i * 75000:(i + 1) * 75000])) for i in (1, 0)]
    built("a.epf", "--time", f"{T}s", "--rate", "50", *CSV, whole)
    report = built("r.epf", "--like", tmp("a.epf"), *CSV, *parts)
    odd = [write(f"odd.{i}", b",%d\nbad\n" % START + csv_of(records[:9])) for i in (0, 1)]
    counts = built("o.epf", "--like", tmp("a.epf"), *CSV, "--skip-bad", *odd)["records"]
    return differ("late", report["records"]["late"] + report["records"]["expired"], 0) or \
        differ("of both files", [counts[k] for k in ("keys", "keyless", "bad")], [18, 2, 2]) or \
        differ("lines", lines_of("r.epf") == lines_of("a.epf"), True)


def flows():
    """A capture, and the same flows as nfdump prints them; packets in ns."""
    r = rng(9)
    at, packets, rows = START * 10**9, [], [b"ts,te,sa,da,sp,dp,pr"]
    for i in range(3000):
        at += r.randrange(20) * 10**9
        a, b = r.randrange(250), r.randrange(65536)
        udp = struct.pack(">HHHH", b, 53, 8, 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 1, 0, 64, 17, 0,
                         bytes([10, 0, 0, a]), bytes([10, 9, 9, 9]))
        packets.append(pcap.Packet(at, bytes(12) + b"\x08\0" + ip + udp))
        rows.append(b"%s,%s,10.0.0.%d,10.9.9.9,%d,53,UDP" % (
            b"2001-01-01 00:00:00",
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at // 10**9)).encode(), a, b))
    path = pcap.Capture(packets).save(tmp("f.pcap"))
    built("f.epf", *SIZE, "--key", "flow", path)
    text = write("f.nfdump", b"\n".join(rows) + b"\n")
    built("n.epf", "--like", tmp("f.epf"), text)
    packets = pcap.Capture(packets).save_ng(tmp("f.pcapng"))
    built("ng.epf", "--like", tmp("f.epf"), packets)
    several = built("b.epf", *SIZE, tmp("f.pcap"), text, ok=False)
    if isinstance(several, dict) or os.path.exists(tmp("b.epf")) or \
            "build a snapshot of each" not in several.stderr.decode():
        return f"files of other keys: {several}"
    ran = epfctl("audit", "--no-agent", "-j", tmp("f.epf"), text)
    return differ("nfdump", lines_of("n.epf") == lines_of("f.epf"), True) or \
        differ("pcapng", lines_of("ng.epf") == lines_of("f.epf"), True) or \
        differ("audit", ran.returncode, 0)


def late():
    """A late record counts as the latest before it; one older than the window is left out."""
    end = START + 5 * T
    rows = b"".join(b"fill %d,%d\n" % (i, START + i * T // 1000) for i in range(5001))
    # more than are held back
    rows += b"".join(b"then,%d\n" % end for _ in range(70000))
    rows += b"late,%d\ntoo late,%d\n" % (end - T // 2, end - 2 * T)
    path = write("l.csv", rows)
    report = built("l.epf", "--time", f"{T}s", "--rate", "50", "--budget", BUDGET, *CSV, path)
    got = ages("l.epf", [b"late", b"too late", b"fill 0", b"then"])
    return differ("counts", [report["records"][k] for k in ("late", "late_ns", "expired")],
                  [1, T // 2 * 10**9, 1]) or \
        differ("ages", got, [0, ABSENT, ABSENT, 0])


def exits():
    """'test --snapshot' exits like 'test'."""
    records = drawn(9000)
    built("a.epf", *SIZE, *CSV, write("a.csv", csv_of(records)))
    here = records[-1][1].decode()
    old = next(k for k in dict.fromkeys(k for _, k in records) if k not in model(records)[0]) \
        if len(model(records)[0]) < len({k for _, k in records}) else b"none"
    cases = [((here,), 0), ((here, "never"), 1), ((old.decode(),), 1),
             ((here, "--insert"), 2), ((here, "--within", "1"), 0)]
    for args, want in cases:
        ran = epfctl("test", "--snapshot", tmp("a.epf"), *args)
        if ran.returncode != want:
            return f"{args}: {ran.returncode} {ran.stderr.decode()}"
    ran = epfctl("test", "-j", "--snapshot", tmp("a.epf"), here)
    return differ("JSON", json.loads(ran.stdout)["present"], True) or \
        differ("no file", epfctl("test", "--snapshot", tmp("none"), "k").returncode, 2)


def too_many():
    """Above its limit nothing is written without --force, and what is written does not know."""
    rows = write("full.csv", csv_of([(START * 10**9 + i * 10**6, b"k%d" % i) for i in range(20000)]))
    few = ["--time", f"{T}s", "--rate", "0.01", *CSV]
    before = write("full.epf", b"as it was")
    ran = built("full.epf", *few, rows, ok=False)
    if not isinstance(ran, subprocess.CompletedProcess) or ran.returncode != 1 or \
            b"above the limit of 0.0002" not in ran.stderr or ran.stdout:
        return f"without --force: {ran}"
    with open(before, "rb") as f:
        if f.read() != b"as it was":
            return "the old file is gone"
    report = built("full.epf", *few, "--force", rows)
    if not report["saturated"] or report["fpr"] < 2e-4:
        return f"with --force: {report}"
    ran = epfctl("test", "--snapshot", tmp("full.epf"), "-c", "k19999", "k3", "never")
    if ran.returncode != 3 or ran.stdout != b"0 present, 0 absent, 3 unknown\n" or \
            b"above its limit of 0.0002" not in ran.stderr:
        return f"test: {ran}"
    shown = json.loads(epfctl("show", "-j", "--file", tmp("full.epf")).stdout)
    text = epfctl("show", "--file", tmp("full.epf")).stdout
    if not shown["saturated"] or shown["fpr"] < shown["limit"] or b"SATURATED" not in text or \
            b" false positives, estimated" not in text:
        return f"show: {shown} {text.decode()}"
    ran = epfctl("audit", "--no-agent", "-j", "--format", "csv", "--fields", "1",
                 tmp("full.epf"), rows)
    report = json.loads(ran.stdout)
    if not report["asked"]["saturated"] or report["asked"]["fpr"] < 2e-4 or \
            b"is saturated: what is absent here" not in ran.stderr or report["present"] != 20000:
        return f"audit: {report} {ran.stderr.decode()}"
    built("room.epf", "--time", f"{T}s", "--rate", "50", *CSV, rows)
    shown = json.loads(epfctl("show", "-j", "--file", tmp("room.epf")).stdout)
    return differ("with room", (shown["saturated"], 0 < shown["fpr"] <= 2e-4), (False, True)) or \
        differ("test", epfctl("test", "--snapshot", tmp("room.epf"), "k19999").returncode, 0)


def refused():
    """What makes no sense is an error that says what to do, and leaves OUT as it was."""
    plain = write("a.csv", csv_of(drawn(100)))
    before = write("kept.epf", b"as it was")
    cut = write("cut.gz", gzip.compress(csv_of(drawn(5000)))[:-900])
    cases = [
        ([*SIZE, "--format", "csv", "--fields", "1", plain], "--stamp"),
        ([*SIZE, "--format", "csv", "--stamp", "2", plain], "--fields"),
        ([*SIZE, *CSV, "--stamp-format", "days", plain], "--stamp-format"),
        ([*SIZE, *CSV, "--stamp-format", "%Y", plain], "line 1"),
        ([*SIZE, *CSV, "--until", "soon", plain], "--until"),
        ([*SIZE, *CSV, "--until", "1000", plain], "no record"),
        (["--window", "1000", *CSV, plain], "--time"),
        (["--time", "1h", *CSV, plain], "--rate"),
        ([*SIZE, *CSV, "--kind", "ge", plain], "--kind lanes"),
        ([*SIZE, "--like", plain, *CSV, plain], "--like"),
        ([*SIZE, *CSV, tmp("none.csv")], "none.csv"),
        ([*SIZE, *CSV, "-", "-"], "only once"),
        ([*SIZE, *CSV, cut], "cut.gz: cut off: the gzip data ends"),
        ([*SIZE, *CSV, before], "overwritten"),
    ]
    for args, word in cases:
        ran = built("kept.epf", *args, ok=False)
        if ran.returncode != 2 or word not in ran.stderr.decode():
            return f"{args}: {ran.returncode} {ran.stderr.decode()}"
    with open(before, "rb") as f:
        if f.read() != b"as it was":
            return "the old file is gone"
    report = built("cut.epf", *SIZE, *CSV, "--keep-going", cut)
    return differ("what was read before", 3000 < report["inserted"] < 5000, True)


def by_pipe(number, command, data):
    """Run it with an input that stays open until a signal comes, or that is cut off."""
    run = subprocess.Popen([epfctl.__globals__["EPFCTL"], *map(str, command)], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdin.write(data)
    run.stdin.flush()
    if number:
        time.sleep(.5)
        run.send_signal(number)
        run.wait(60) # the input stays open until then
    error = run.communicate(timeout=60)[1].decode()
    fault = differ("status", run.returncode, 128 + number if number else 2)
    return fault or (None if error.count("\n") == 1 else error)


def live():
    """An input that is a pipe cannot be read again: a signal or damage ends it, and what came before is
    written by build, and by audit.
    """
    records = drawn(5000)
    keys = [key for _, key in records]
    whole = csv_of(records)
    built("whole.epf", *SIZE, *CSV, write("whole.csv", whole))
    recent = {key for key, age in zip(keys, ages("whole.epf", keys)) if age != ABSENT}
    want = b"".join(line + b"\n" for line in whole.splitlines() if line.split(b",")[0] in recent)
    packed = gzip.compress(whole, mtime=0)
    for number, data in (signal.SIGINT, whole), (signal.SIGTERM, whole), (0, packed[:-9]):
        for name in "live.epf", "live.bits", "live.out":
            if os.path.exists(tmp(name)):
                os.unlink(tmp(name))
        fault = by_pipe(number, ["build", tmp("live.epf"), *SIZE, *CSV, "-"], data) or \
            (number and differ("ages", ages("live.epf", keys), ages("whole.epf", keys))) or \
            by_pipe(number, ["audit", "--no-agent", "--format", "csv", "--fields", "1", "-o", tmp("live.out"),
                             "-b", tmp("live.bits"), tmp("whole.epf"), "-"], data)
        if fault:
            return f"signal {number}: {fault}"
        with open(tmp("live.out"), "rb") as f:
            got = f.read()
        if not got or not want.startswith(got) or (number and got != want):
            return f"signal {number}: {len(got)} of {len(want)} bytes of records"
    return None


def stamps():
    """Forms of time stamps, and records without one."""
    forms = [("1700000000", None), ("1700000000.0", None), ("2023-11-14T22:13:20Z", None),
             ("2023-11-14 23:13:20+01:00", None), ("14/Nov/2023:22:13:20 +0000", None),
             ("[14/Nov/2023:22:13:20 +0000]", None), ("1700000000000", "ms"),
             ("1700000000000000", "us"), ("1700000000000000000", "ns"),
             ("20231114 221320 +0000", "%Y%m%d %H%M%S %z")]
    for text, form in forms:
        row = write("t.csv", f"k,{text}\n".encode())
        report = built("t.epf", *SIZE, *CSV, *(["--stamp-format", form] if form else []), row)
        fault = differ(text, report["end_ns"], START * 10**9)
        if fault:
            return fault
    access = b'1.2.3.4 - - [14/Nov/2023:22:13:20 +0000] "GET / HTTP/1.1" 200 5\nbad\n'
    report = built("t.epf", *SIZE, "--format", "csv", "--separator", " ", "--fields", "1",
                   "--stamp", "4,5", "--skip-bad", write("access.log", access))
    return differ("access log", (report["end_ns"], report["records"]["bad"]),
                  (START * 10**9, 1))


def end_of(name, data):
    """In ms; None: no record counts."""
    report = built("t.epf", *SIZE, "--key", "flow", write(name, data), ok=False)
    return report["end_ns"] / 10**6 if isinstance(report, dict) else None


def flow_ends():
    """A flow counts when it ended; else when it began and lasted, or was sent."""
    sent, most = START * 10**3, (1 << 62) // 10**6  # most: no time is as late
    for elements, ms, end in (((152, 153), (sent - 5, sent + 7), sent + 7),
                              ((153, 152), (sent - 6, sent + 5), sent - 6),
                              ((152,), (sent - 6,), sent - 6), ((152, 153), (sent - 6, 0), sent - 6),
                              ((), (), sent), ((152, 153), (0, 0), sent), ((153,), (most,), sent),
                              ((153,), (most - 1,), None)):
        data = message(template(256, *PLAIN, *[(e, 8) for e in elements]),
                       a_set(256, plain() + struct.pack(f">{len(ms)}Q", *ms)))
        fault = differ((elements, ms), end_of("t.ipfix", data), end)
        if fault:
            return fault
    at = "2023-11-14T22:13:20Z"
    for first, last, lasts, end in ((at, at, 9, sent), (at, "", "0.000", sent), (at, "", "", sent),
                                    (at, "", 1.5, sent + 1500), ("", at, "", sent),
                                    ("", "", 1.5, None)):
        line = f"{first},{last},{lasts},192.0.2.1,192.0.2.2,1,2,6,.\n"
        fault = differ(line, end_of("t.nf", (NFDUMP + line).encode()), end)
        if fault:
            return fault
    return None


def merged():
    """Two hosts' logs, built apart and merged: the keys of both."""
    records = drawn(9000)
    one, two = records[::2], records[1::2]
    built("m1.epf", *SIZE, "--align", *CSV, write("m1.csv", csv_of(one)))
    built("m2.epf", "--like", tmp("m1.epf"), "--align", *CSV, write("m2.csv", csv_of(two)))
    ran = epfctl("merge", "-o", tmp("m.epf"), tmp("m1.epf"), tmp("m2.epf"))
    if ran.returncode:
        return ran.stderr.decode()
    window = model(records)[1]
    got = dict(zip(sorted(window), ages("m.epf", sorted(window))))
    return differ("absent", [k for k in got if got[k] == ABSENT], [])


def restored():
    """Into a live filter, which has the same keys."""
    if os.geteuid():
        raise tap.Skip("not root")
    records = drawn(4000)
    built("a.epf", *SIZE, *CSV, write("a.csv", csv_of(records)))
    name = f"build{os.getpid()}"
    how = ["--backend", "bpf"]
    ran = epfctl("restore", *how, name, tmp("a.epf"))
    if ran.returncode:
        raise tap.Skip(ran.stderr.decode().strip()[:100])
    hold = subprocess.Popen([os.environ.get("EPFCTL", epfctl.__globals__["EPFCTL"]), "hold",
                             name, *how], stdout=subprocess.DEVNULL)
    try:
        keys = sorted(model(records)[1])
        for _ in range(50):
            ran = epfctl("test", *how, name, "-c", "-", input=b"\n".join(keys) + b"\n")
            if ran.returncode != 3:
                break
            time.sleep(.1)
        return differ("live", (ran.returncode, ran.stdout.split()[:1]),
                      (0, [b"%d" % len(keys)]))
    finally:
        hold.send_signal(signal.SIGTERM)
        hold.wait(20)
        epfctl("destroy", *how, name)


CASES = [
    ("every key has its age, by an exact model", exact),
    ("until a time", until),
    ("epochs by the wall clock", aligned),
    ("the same records in other forms and orders: the same bytes", alike),
    ("rotated logs: the same bytes", rotated),
    ("captures and flows", flows),
    ("late records", late),
    ("test --snapshot", exits),
    ("more keys than it is sized for", too_many),
    ("what is refused", refused),
    ("an input that is a pipe and ends early", live),
    ("forms of time stamps", stamps),
    ("when a flow ended", flow_ends),
    ("merged", merged),
    ("restored into a live filter", restored),
]

if __name__ == "__main__":
    if not os.path.exists(epfctl.__globals__["EPFCTL"]):
        tap.skip_all("epfctl is not built")
    tap.main(tap.chosen(CASES))
