#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""epfctl dedup on pcapng with several link types and sections: kept packets stay identical
bit by bit, with all blocks around them; conversion between formats reports what the output
format cannot hold; damage is reported wherever it is.
"""

import functools
import gzip
import json
import lzma
import os
import shutil
import struct
import subprocess

import ng
import oracle
import pcap
import tap
import tool
from tap import Skip

IP4, ETHER, SLL = ng.IP4, ng.ETHER, ng.SLL


def save(name, data):
    path = tool.tmp(name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def unlength(raw):
    """Sections of the output do not state their length."""
    return raw[:16] + b"\xff" * 8 + raw[24:] \
        if raw[:4] == b"\x0a\x0d\x0d\x0a" else raw


def whole(order):
    parts, again = ng.everything(order)
    path = save("all.pcapng", b"".join(parts))
    for options in ("--exact",), ("--filter",), ("--exact", "-w", "50000d"):
        run = tool.epfctl("dedup", *options, "--removed", tool.tmp("rm.pcapng"),
                          path, tool.tmp("out.pcapng"))
        if run.returncode:
            return run.stderr.decode()
        if b"no room" in run.stderr:
            return "something is said to be lost"
        kept = [unlength(p) for i, p in enumerate(parts) if i not in again]
        packets = {i for i, p in enumerate(ng.load(path)) if p.data is not None}
        gone = [unlength(p) for i, p in enumerate(parts)
                if i in again or i not in packets]
        for name, want in ("out", kept), ("rm", gone):
            got = [b.raw for b in ng.load(tool.tmp(f"{name}.pcapng"))]
            if got != want:
                at = next((i for i, pair in enumerate(zip(got, want))
                           if pair[0] != pair[1]), min(len(got), len(want)))
                return f"{options}, {name}: differs from block {at} on, of " \
                    f"{len(got)}, not {len(want)}"
    return None


def readable():
    """Wireshark's reader sees the same contents."""
    if not shutil.which("capinfos"):
        raise Skip("capinfos is not installed (wireshark-common)")
    w = ng.Writer()
    path = save("two.pcapng", w.section() + w.interface(pcap.EN10MB) +
                w.interface(pcap.RAW) + 3 * w.packet(0, 5, ETHER + IP4) +
                3 * w.packet(1, 6, IP4))
    run = tool.epfctl("dedup", path, tool.tmp("out.pcapng"))
    if run.returncode:
        return run.stderr.decode()
    text = subprocess.run(["capinfos", "-Mc", tool.tmp("out.pcapng")],
                          capture_output=True, check=True).stdout.decode()
    return None if text.split()[-1] == "2" else text


def across_links():
    """A packet is the same on Ethernet, cooked and raw links, except for its link header.
"""
    w = ng.Writer()
    frames = [(0, ETHER + IP4), (1, IP4), (2, SLL + IP4), (1, IP4)]
    path = save("links.pcapng", w.section() + w.interface(pcap.EN10MB) +
                w.interface(pcap.RAW) + w.interface(pcap.SLL) +
                b"".join(w.packet(i, 5, d) for i, d in frames))
    for options, kept in ((), 3), (("--key", "flow"), 1), \
            (("--key", "packet", "--no-mac"), 1), (("--key", "packet"), None):
        run = tool.epfctl("dedup", *options, path, tool.tmp("out.pcapng"))
        got = sum(b.data is not None for b in ng.load(tool.tmp("out.pcapng"))) \
            if not run.returncode else run.stderr.decode()
        if kept and got != kept:
            return f"{options}: {got} kept, not {kept}"
    return None


def odd_link():
    """A link type without a packet key is an error at its first packet."""
    w = ng.Writer()
    head = w.section() + w.interface(pcap.EN10MB) + w.interface(pcap.USER0) + \
        w.packet(0, 5, ETHER + IP4)
    out = tool.tmp("odd.out.pcapng")
    run = tool.epfctl("dedup", "--key", "packet", save("odd.pcapng", head), out)
    if run.returncode:
        return run.stderr.decode()
    os.unlink(out)
    run = tool.epfctl("dedup", "--key", "packet", "--keep-going",
                      save("odd.pcapng", head + w.packet(1, 5, b"?")), out)
    text = run.stderr.decode()
    return None if run.returncode == 2 and text.count("\n") == 1 and \
        "packet 2 has link type 147" in text and "--key frame" in text and \
        not os.path.exists(out) else f"{run}"


def two_links_as_pcap():
    """A valid file that pcap cannot hold: one line, with or without --keep-going, and no
    output file.
"""
    w = ng.Writer()
    path = save("two.pcapng", w.section() + w.interface(pcap.EN10MB) +
                w.interface(pcap.RAW) + w.packet(0, 5, ETHER + IP4) +
                w.packet(1, 6, IP4))
    for name, options in ("a.pcap", ()), ("a.pcap", ("--keep-going",)), \
            ("a", ("--format", "pcap")), \
            ("a.pcapng", ("--format", "pcap", "--keep-going")):
        run = tool.epfctl("dedup", *options, path, tool.tmp(name))
        text = run.stderr.decode()
        if run.returncode != 2 or text.count("\n") != 1 or \
                "--format pcapng" not in text or "RAW" not in text or \
                os.path.exists(tool.tmp(name)):
            return f"{options}: {run}"
    run = tool.epfctl("dedup", "--format", "pcapng", path, tool.tmp("b.pcap"))
    if run.returncode or len(ng.load(tool.tmp("b.pcap"))) != 5:
        return f"{run}"
    return None


def magic(name):
    with open(tool.tmp(name), "rb") as f:
        head = f.read(4)
    return "pcapng" if head == b"\x0a\x0d\x0d\x0a" else "pcap"


def formats():
    """The format is that of --format, else that of the file name, else that of the input."""
    capture = pcap.Capture([pcap.Packet(10**18, ETHER + IP4)] * 2)
    inputs = {"pcap": capture.save(tool.tmp("one.pcap")),
              "pcapng": capture.save_ng(tool.tmp("one.pcapng"))}
    for has, path in inputs.items():
        for name, options, want in (
                ("o", (), has), ("o.cap", (), has), ("o.pcap", (), "pcap"),
                ("o.pcapng", (), "pcapng"), ("o.pcapngx", (), has),
                ("o.pcapng", ("--format", "pcap"), "pcap"),
                ("o.pcap", ("--format", "pcapng"), "pcapng")):
            run = tool.epfctl("dedup", *options, "--removed",
                              tool.tmp("rm.pcapng"), path, tool.tmp(name))
            if run.returncode or magic(name) != want:
                return f"{has} to {name} {options}: {run}"
            rm = options[1] if options else "pcapng"
            if magic("rm.pcapng") != rm:
                return f"--removed of {name} {options}: not {rm}"
        run = tool.epfctl("dedup", path, "-")
        save("piped", run.stdout)
        if run.returncode or magic("piped") != has:
            return f"{has} to standard output: {magic('piped')}"
    return None


def to_pcapng(nano):
    capture = pcap.Capture([pcap.Packet(10**18 + 1001 * i, b"%d" % (i // 2),
                                        90 + i // 2) for i in range(40)],
                           pcap.RAW, nano, 1234)
    for order in "<", ">":
        path = capture.save(tool.tmp("one.pcap"), order)
        run = tool.epfctl("dedup", path, tool.tmp("o.pcapng"))
        blocks = ng.load(tool.tmp("o.pcapng"))
        got = [(b.link, b.data, b.ns) for b in blocks[2:]]
        want = [(pcap.RAW, p.data, p.ns - (0 if nano else p.ns % 1000))
                for p in capture.packets[::2]]
        face = ng.interface_of(ng.order_of(blocks[0].raw), blocks[1].raw[8:-4])
        if run.returncode or got != want or \
                face != (pcap.RAW, 1234, 9 if nano else 6, 0):
            return f"{order}: {face}, {run}"
        back, _ = tool.dedup(tool.tmp("o.pcapng"))
        if back.packets != pcap.load(path).packets[::2] or \
                (back.link, back.nano, back.snaplen) != (pcap.RAW, nano, 1234):
            return f"{order}: not the same when it comes back"
    run = tool.epfctl("dedup", pcap.Capture((), pcap.RAW).save(
        tool.tmp("none.pcap")), tool.tmp("o.pcapng"))
    blocks = ng.load(tool.tmp("o.pcapng"))
    return None if [b.kind for b in blocks] == [ng.SECTION, ng.INTERFACE] \
        else f"no packets: {blocks}"


def losses():
    """pcapng to pcap: one line about what the format cannot hold, and none if it holds all."""
    w = ng.Writer()
    plain = w.section() + w.interface(pcap.RAW) + w.packet(0, 5, IP4)
    fine = w.interface(pcap.RAW, (ng.TSRESOL, b"\x09"))
    table = [(plain, (0, 0, 0)),
             (w.section((4, b"x")) + w.interface(pcap.RAW, (2, b"x")) +
              w.packet(0, 5, IP4, (1, b"x")) + w.packet(0, 6, IP4 + b"x"),
              (0, 3, 0)),
             (plain + w.block(ng.STATS, bytes(12)) + w.block(9, b""),
              (2, 0, 0)),
             (w.section() + fine + w.packet(0, 5, IP4), (0, 0, 0)),
             (plain + fine + w.packet(1, 5001, b"a") + w.packet(1, 9000, b"b"),
              (0, 0, 1))]
    for data, want in table:
        path = save("loss.pcapng", data)
        _, report = tool.dedup(path)
        got = tuple(report["lost"][k] for k in ("blocks", "options", "stamps"))
        lines = tool.epfctl("dedup", path, tool.tmp("o.pcap")).stderr.decode()
        if got != want or ("no room" in lines) != (want[:2] != (0, 0)) or \
                ("cut to micro" in lines) != bool(want[2]):
            return f"{got}, not {want}: {lines}"
    return None


def stamps():
    """Windows in time use ns, whatever the units of the stamps."""
    rng = tap.drawn(5)
    w = ng.Writer()
    units = [None, 0, 3, 6, 9, 12, 128, 128 + 10, 128 + 20, 128 + 30, 128 + 40]
    for unit in units:
        options = [] if unit is None else [(ng.TSRESOL, bytes([unit]))]
        ticks = 10**6 if unit is None else \
            2**(unit & 127) if unit & 128 else 10**unit
        data = w.section()
        for offset in -3, 0, 9:
            data += w.interface(pcap.RAW, *options,
                                (ng.TSOFFSET, struct.pack("<q", offset)))
        for _ in range(200):
            at = 1000 * ticks + rng.randint(0, 30 * ticks)
            data += w.packet(rng.randint(0, 2), at, b"%d" % rng.randint(0, 20))
        path = save("units.pcapng", data)
        packets = [b for b in ng.load(path) if b.data is not None]
        for ns in 10**6, 10**9, 2 * 10**9:
            run = tool.epfctl("dedup", "-w", f"{ns}ns", path,
                              tool.tmp("o.pcapng"))
            got = [b.raw for b in ng.load(tool.tmp("o.pcapng"))][4:]
            want = [p.raw for p, gone in zip(packets, oracle.near(
                packets, ns, place=lambda p: p.ns)) if not gone]
            if run.returncode or got != want:
                return f"unit {unit}, {ns} ns: {len(got)} kept of " \
                    f"{len(packets)}, not {len(want)}"
    return None


def few_options():
    """The last option of an interface may end its block."""
    w = ng.Writer()
    offset = (ng.TSOFFSET, struct.pack("<q", -2))
    bare = w.block(ng.INTERFACE, struct.pack("<HHI", pcap.RAW, 0, 0) +
                   w.options(offset)[:-4])
    for face in bare, w.interface(pcap.RAW, offset):
        for first, second, kept in (2, 4, 1), (2, 5, 2), (4, 5, 1):
            path = save("early.pcapng", w.section() + face +
                        w.packet(0, first * 10**6, IP4) +
                        w.packet(0, second * 10**6, IP4))
            out, _ = tool.dedup(path, "-w", "2s")
            if len(out.packets) != kept or \
                    out.packets[0].ns != (first - 2) * 10**9:
                return f"{first}, {second}: {out.packets}"
    return None


# time stamps that pcap cannot hold, and stamps that 64 bits of ns cannot hold

def at_second(second, unit=0):
    """Return a section and an interface, and a packet of that second. @unit: as in
    if_tsresol; before 1970 by if_tsoffset.
"""
    w = ng.Writer()
    ticks = 2**(unit & 127) if unit & 128 else 10**unit
    offset = struct.pack("<q", min(0, second))
    return w.section() + w.interface(
        pcap.RAW, (ng.TSRESOL, bytes([unit])), (ng.TSOFFSET, offset)) + \
        w.packet(0, max(0, second) * ticks, IP4)


def not_pcap(path, *options):
    """One line of error, about packet 3, and no output."""
    out = tool.tmp("late.pcap")
    run = tool.epfctl("dedup", *options, path, out)
    text = run.stderr.decode()
    return run.returncode == 2 and text.count("\n") == 1 and \
        "packet 3 " in text and "--format pcapng" in text and \
        not os.path.exists(out)


def late_stamps():
    """pcap ends in 2106: a later stamp is an error there, but pcapng keeps it."""
    before = at_second(5) + ng.Writer().packet(0, 6, IP4)
    for second, fits in (0, True), (2**31, True), (2**32 - 1, True), \
            (2**32, False), (2**33 - 1, False), (10**10, False), \
            (2**40, False), (-1, False):
        for unit in 0, 3, 6, 128 + 10:
            data = before + at_second(second, unit)
            path = save("late.pcapng", data)
            if fits:
                out, _ = tool.dedup(path, "--action", "count")
                if out.packets[2].ns != second * 10**9:
                    return f"{second}, unit {unit}: {out.packets[2].ns}"
            elif not not_pcap(path, "--action", "count") or \
                    not not_pcap(path, "--action", "count", "--keep-going") or \
                    not not_pcap(path, "-w", "9s"):
                return f"{second}, unit {unit}: not refused"
            run = tool.epfctl("dedup", "--action", "count", path,
                              tool.tmp("o.pcapng"))
            got = b"".join(b.raw for b in ng.load(tool.tmp("o.pcapng")))
            if run.returncode or got != data:
                return f"{second}, unit {unit}: pcapng is not the same"
    return None


def late_repeat():
    """A stamp matters only for the file that its packet is written to."""
    path = save("late.pcapng", at_second(5) + ng.Writer().packet(
        0, 2**32, IP4) + ng.Writer().packet(0, 7, b"another"))
    out, _ = tool.dedup(path)
    run = tool.epfctl("dedup", "--removed", tool.tmp("rm.pcap"), path,
                      tool.tmp("o.pcap"))
    if len(out.packets) != 2 or run.returncode != 2 or \
            b"packet 2 " not in run.stderr or b"rm.pcap" not in run.stderr:
        return f"{run}"
    run = tool.epfctl("dedup", "--removed", tool.tmp("rm.pcapng"), path,
                      tool.tmp("o.pcap"))
    return None if run.returncode == 0 else f"{run}"


def around(base, seed):
    """Packets with few distinct keys, on both sides of @base ns."""
    rng = tap.drawn(seed)
    w = ng.Writer()
    stamps = sorted(rng.randint(base - 30 * 10**9, base + 30 * 10**9)
                    for _ in range(300))
    return w.section() + w.interface(pcap.RAW, (ng.TSRESOL, b"\x09")) + \
        b"".join(w.packet(0, min(ns, 2**64 - 1), b"%d" % rng.randint(0, 40))
                 for ns in stamps)


def kept_of(path, *options, stream=False):
    """Return (packets kept, report). @stream: through a pipe."""
    with open(path, "rb") as f:
        how = {"input": f.read()} if stream else {}
    run = tool.epfctl("dedup", "-j", *options, "-" if stream else path,
                      tool.tmp("o.pcapng"), **how)
    if run.returncode:
        raise RuntimeError(run.stderr.decode())
    return [b.raw for b in ng.load(tool.tmp("o.pcapng"))
            if b.data is not None], json.loads(run.stdout)


@tap.twice
def late_windows(base, method):
    """Windows in time where pcap's seconds end, and where 64-bit numbers end."""
    path = save("around.pcapng", around(base, 11))
    packets = [b for b in ng.load(path) if b.data is not None]
    for ns in 10**9, 5 * 10**9:
        got, report = kept_of(path, method, "-w", f"{ns}ns")
        if method == "--exact":
            want = oracle.near(packets, ns, place=lambda p: p.ns)
        else:
            tap.may_fail(len(packets) * report["fpr_predicted"])
            want = oracle.verdicts(oracle.Window(ns=ns), packets)
        if report["undated"] or report["clock_back"] or not any(want) or \
                got != [p.raw for p, gone in zip(packets, want) if not gone]:
            return f"{ns} ns: {len(got)} kept: {report}"
    return None


def outlier(second, stream, method, *options):
    """300 packets, a third of which repeat one from two windows ago; the 151st has a stamp
    far ahead. None is removed, and the clock goes on.
"""
    w = ng.Writer()
    parts = [w.packet(0, second if i == 150 else 10**9 + i,
                      b"%d" % (i - 200 if i % 3 == 0 and i >= 200 else i))
             for i in range(300)]
    parts += [w.packet(0, 10**9 + 299, b"a repeat")] * 2
    path = save("outlier.pcapng", w.section() + w.interface(
        pcap.RAW, (ng.TSRESOL, b"\0")) + b"".join(parts))
    got, report = kept_of(path, method, "-w", "100", *options, stream=stream)
    dated = second * 10**9 < 2**64
    told = report["undated"], report["clock_back"], report.get("clock_ahead", 0)
    want = not dated, dated and method == "--exact", \
        dated and method != "--exact"
    if told != want or report["clock_back_ns"] < 0:
        return f"{told}, not {want}"
    return None if got == parts[:-1] else f"{len(got)} packets kept"


def undated(method):
    """Stamps that 64 bits of ns cannot hold are not compared: equal packets a minute and a
    year apart are kept. Windows in packets are unaffected.
"""
    w = ng.Writer()
    path = save("undated.pcapng", w.section() + w.interface(
        pcap.RAW, (ng.TSRESOL, b"\0"), (ng.TSOFFSET, struct.pack("<q", -9))) +
        w.packet(0, 2**40, IP4) + w.packet(0, 2**40 + 60, IP4) +
        w.packet(0, 2**40 + 31536000, IP4) + w.packet(0, 3, IP4) +
        w.packet(0, 8, IP4) + w.packet(0, 9, IP4))
    got, report = kept_of(path, method, "-w", "10s")
    lines = tool.epfctl("dedup", method, "-w", "10s", path,
                        tool.tmp("o.pcapng")).stderr
    if len(got) != 6 or report["undated"] != 5 or \
            b"5 time stamps are before 1970 or after 2554" not in lines:
        return f"{len(got)} kept: {report}"
    got, report = kept_of(path, method, "-D", "9")
    return None if len(got) == 1 and not report["undated"] else f"{report}"


def time_cases():
    bind = functools.partial
    out = [("stamps that pcap cannot hold", late_stamps),
           ("stamps of repeats that pcap cannot hold", late_repeat)]
    for method in "--exact", "--filter":
        for base in 2**32 * 10**9, 2**63, 2**64 - 1:
            out.append((f"{method} around {base} ns",
                        bind(late_windows, base, method)))
        rate = ("--rate", "2") if method == "--filter" else ()
        for second in 2**33, 2**63 // 10**9, 2**64 // 10**9, 2**35, 2**62:
            out += [(f"{method}, one packet at {second} s",
                     bind(outlier, second, False, method)),
                    (f"{method}, a stream, one packet at {second} s",
                     bind(outlier, second, True, method, *rate))]
        out.append((f"{method}, stamps outside of 64 bits",
                    bind(undated, method)))
    return out


DBUS = 231


def snapped():
    """Yield (name, pcapng, snap length of a pcap file, of a stream)."""
    w = ng.Writer()
    face = functools.partial(w.interface, pcap.RAW)
    short, long = w.packet(0, 5, IP4), w.packet(1, 6, bytes(1500))
    two = w.section() + face(snaplen=60) + short + face(snaplen=2000) + long
    return [
        ("the first is larger", w.section() + face(snaplen=2000) +
         face(snaplen=60) + short, 2000, 262144),
        ("the second is larger", w.section() + face(snaplen=60) +
         face(snaplen=2000) + long, 2000, 262144),
        ("described behind a packet", two, 2000, 262144),
        ("of a second section", w.section() + face(snaplen=60) + short + two,
         2000, 262144),
        ("described behind all packets", w.section() + face(snaplen=60) +
         short + face(snaplen=70), 70, 262144),
        ("all of a packet", w.section() + face(snaplen=60) + short +
         face(snaplen=0) + long, 262144, 262144),
        ("above what is an int", w.section() + face(snaplen=0xFFFFFFFF) +
         short, 262144, 262144),
        ("a packet above it", w.section() + face(snaplen=60) + short +
         w.packet(0, 6, bytes(1500)), 1500, 262144),
        ("larger than most", w.section() + face(snaplen=300000) + short,
         300000, 300000),
        ("D-Bus", w.section() + w.interface(DBUS) + short +
         w.packet(0, 6, bytes(300000)), 128 << 20, 128 << 20),
        ("no packet", w.section() + face(snaplen=60), 60, 262144)]


def snap_lengths():
    """A pcap file gets the largest snap length of all interfaces and packets, including
    those after its first packet. A stream gets the largest that its link type may have,
    because its header cannot be rewritten.
"""
    for name, data, in_file, in_stream in snapped():
        path = save("snap.pcapng", data)
        want = [b.data for b in ng.load(path) if b.data is not None]
        run = tool.epfctl("dedup", "--action", "count", "--format", "pcap",
                          path, "-")
        save("stream.pcap", run.stdout)
        out = tool.dedup(path, "--action", "count")[0]
        for got, snaplen in (out, in_file), \
                (pcap.load(tool.tmp("stream.pcap")), in_stream):
            if got.snaplen != snaplen or [p.data for p in got.packets] != want:
                return f"{name}: {got.snaplen}, not {snaplen}"
    return None


def beyond(order, nano):
    """Records that are longer than the snap length of the header are read and written as a whole:
    two that differ behind it are two packets. The header of a file gets the largest length.
    """
    rng = tap.drawn(43)
    start = rng.randbytes(60)
    some = [pcap.Packet(10**18, start + rng.randbytes(40)) for _ in range(2)]
    some += [some[0], pcap.Packet(10**18, rng.randbytes(262144)), pcap.Packet(10**18, rng.randbytes(30))]
    want = some[:2] + some[3:]
    path = pcap.Capture(some, nano=nano, snaplen=50).save(tool.tmp("beyond.pcap"), order)
    with open(path, "rb") as f:
        data = f.read()
    for words in ["-D", 5], ["-D", 5, "--filter"], ["-w", 1]:
        for name in "o.pcap", "o.pcapng":
            run = tool.epfctl("dedup", *words, path, tool.tmp(name))
            if b"up to 262144 bytes are longer than the snap length of the header, 50" not in run.stderr:
                return f"{words}: {run.stderr}"
        out = pcap.load(tool.tmp("o.pcap"))
        blocks = ng.load(tool.tmp("o.pcapng"))
        if out.packets != want or out.snaplen != 262144 or \
                [b.data for b in blocks if b.data is not None] != [p.data for p in want] or \
                struct.unpack_from("=I", blocks[1].raw, 12) != (262144,):
            return f"{words}: {[len(p.data) for p in out.packets]}, {out.snaplen}"
        piped = tool.epfctl("dedup", *words, "--rate", 9, "-", "-", input=data) if "-w" in words else \
            tool.epfctl("dedup", *words, "-", "-", input=data)
        if pcap.load(save("o.pcap", piped.stdout)).packets != want:
            return f"{words}, by a pipe: {piped.stderr}"
    return None


def uncut_by_libpcap():
    """tcpdump reads every byte that was captured."""
    if not shutil.which("tcpdump"):
        raise Skip("tcpdump is not installed")
    for name, data, _, _ in snapped():
        path = save("snap.pcapng", data)
        want = [b.data for b in ng.load(path) if b.data is not None]
        for out in "o.pcap", "-":
            run = tool.epfctl("dedup", "--action", "count", "--format", "pcap",
                              path, out if out == "-" else tool.tmp(out))
            if out == "-":
                save("o.pcap", run.stdout)
            with open(tool.tmp("o.pcap"), "rb") as f:
                read = subprocess.run(["tcpdump", "-r", "-", "-w", "-"],
                                      stdin=f, capture_output=True,
                                      check=False)
            save("read.pcap", read.stdout)
            if b"Couldn't change to" in read.stderr:
                raise Skip("tcpdump cannot give up root in this user namespace")
            if read.returncode or want != [
                    p.data for p in pcap.load(tool.tmp("read.pcap")).packets]:
                return f"{name}: {read.stderr.decode()}"
    return None


def cut_off():
    """Cut around every end of a block and in between: --keep-going keeps the blocks before
    the cut, and prints a line unless the cut is at an end.
"""
    parts, _ = ng.everything("<")
    data = b"".join(parts)
    ends = {0}
    for p in parts:
        ends.add(max(ends) + len(p))
    around = {e + d for e in ends for d in (-1, 0, 1, 4, 11, 12, 13)}
    for cut in sorted(c for c in around if 4 <= c <= len(data)):
        path = save("cut.pcapng", data[:cut])
        if cut < len(parts[0]):
            run = tool.epfctl("dedup", "--keep-going", path,
                              tool.tmp("none.pcapng"))
            if run.returncode != 2 or b"not a readable" not in run.stderr or \
                    os.path.exists(tool.tmp("none.pcapng")):
                return f"no section, cut at {cut}: {run}"
            continue
        run = tool.epfctl("dedup", "--keep-going", "--action", "count", path,
                          tool.tmp("o.pcapng"))
        whole_parts = b"".join(b.raw for b in ng.load(tool.tmp("o.pcapng"))) \
            if run.returncode == 0 else b""
        last = max(e for e in ends if e <= cut)
        told = b"damaged after packet" in run.stderr
        if run.returncode or told == (cut in ends) or \
                len(whole_parts) != last:
            return f"cut at {cut}: {len(whole_parts)} bytes, not {last}: {run}"
    return None


DAMAGE = [  # text of the error; bytes after a section, interface and packet
    ("impossible length", struct.pack("<III", 6, 8, 8)),
    ("impossible length", struct.pack("<III", 6, 0, 0)),
    ("impossible length", struct.pack("<III", 6, 33, 0) + bytes(24)),
    ("impossible length", struct.pack("<III", 6, 0xFFFFFFFC, 0) + bytes(40)),
    ("impossible length", struct.pack("<III", 9, (16 << 20) + 4, 0)),
    ("ends inside", struct.pack("<III", 9, 16 << 20, 0)),
    ("ends inside", b"\x06"),
    ("two different lengths", struct.pack("<IIII", 9, 16, 7, 12)),
    ("no byte order", struct.pack("<IIIHHqI", ng.SECTION, 28, 5, 1, 0, -1,
                                       28)),
    ("version", struct.pack("<IIIHHqI", ng.SECTION, 28, 0x1A2B3C4D, 2, 0, -1,
                            28)),
    ("too short", struct.pack("<IIII", ng.SECTION, 16, 0x1A2B3C4D, 16)),
    ("too short", struct.pack("<III", 1, 12, 12)),
    ("too short", struct.pack("<III", 3, 12, 12)),
    ("too short", struct.pack("<III", 6, 12, 12)),
    ("too short", struct.pack("<II16xI", 6, 28, 28)),
    ("not described", ng.Writer().packet(1, 5, b"x")),
    ("not described", ng.Writer().section() + ng.Writer().simple(b"x")),
    ("longer than its block", ng.Writer().simple(b"x", length=5)),
    ("longer than its block", ng.Writer().packet(0, 5, b"x").replace(
        struct.pack("<II", 1, 1), struct.pack("<II", 5, 5))),
]


def damage(words, tail):
    w = ng.Writer()
    sound = w.section() + w.interface(pcap.RAW) + w.packet(0, 5, IP4)
    path, out = save("bad.pcapng", sound + tail), tool.tmp("bad.out.pcapng")
    run = tool.epfctl("dedup", path, out)
    text = run.stderr.decode()
    if run.returncode != 2 or text.count("\n") != 1 or words not in text or \
            "damaged after packet 1" not in text or os.path.exists(out):
        return f"{run}"
    run = tool.epfctl("dedup", "--keep-going", path, out)
    got = b"".join(b.raw for b in ng.load(out)) if not run.returncode else b""
    os.path.exists(out) and os.unlink(out)
    return None if got[:len(sound)] == sound else f"--keep-going: {run}"


def many_interfaces():
    """A section may have 65,536 interfaces, and no more."""
    w = ng.Writer()
    data = w.section() + w.interface(pcap.RAW) * 65536
    path = save("many.pcapng", data + w.packet(65535, 5, IP4))
    run = tool.epfctl("dedup", path, tool.tmp("o.pcapng"))
    if run.returncode or os.path.getsize(tool.tmp("o.pcapng")) != \
            os.path.getsize(path):
        return f"{run}"
    path = save("many.pcapng", data + w.interface(pcap.RAW))
    run = tool.epfctl("dedup", path, tool.tmp("o.pcapng"))
    return None if run.returncode == 2 and b"65536" in run.stderr else f"{run}"


def drip():
    """Read from a pipe that delivers a few bytes at a time."""
    parts, again = ng.everything(">")
    run = subprocess.Popen([tool.EPFCTL, "dedup", "-", tool.tmp("o.pcapng")],
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    data = b"".join(parts)
    for at in range(0, len(data), 3):
        os.write(run.stdin.fileno(), data[at:at + 3])
    text = run.communicate()[1]
    got = [b.raw for b in ng.load(tool.tmp("o.pcapng"))]
    want = [unlength(p) for i, p in enumerate(parts) if i not in again]
    return None if run.returncode == 0 and got == want else f"{text}"


def plain_records(nano):
    """A pcap file in this machine's byte order, which is read without libpcap, gives what
    its twin in the other order gives, which libpcap reads: also from a pipe, with packets
    longer than the header says behind ones that are not, and cut off anywhere.
    """
    rng = tap.drawn(41)
    sizes = [0, 1, 70000, 200001, 262144, 30, 131072 - 16, 15, 131072] + \
        [rng.randint(0, 1500) for _ in range(600)]
    last = pcap.Packet(10**18, rng.randbytes(100))
    many = [pcap.Packet(10**18 + i * 1001, rng.randbytes(n), n + i % 3)
            for i, n in enumerate(sizes)] + [last]
    few = many[-39:] # the first two are shorter than 900 bytes
    table = [(pcap.Capture(many, nano=nano), 0), (pcap.Capture(few, nano=nano, snaplen=900), 0)]
    table += [(pcap.Capture(few, nano=nano), cut) for cut in (1, 99, 100, 101, 115, 116, 117)]
    for capture, cut in table:
        got = []
        for order in "<>":
            path = capture.save(tool.tmp(f"twin{order}.pcap"), order)
            os.truncate(path, os.path.getsize(path) - cut)
            with open(path, "rb") as f:
                piped = tool.epfctl("dedup", "--keep-going", "-", tool.tmp("p.pcap"), input=f.read())
            run = tool.epfctl("dedup", "--keep-going", path, tool.tmp("o.pcap"))
            if run.returncode or piped.returncode:
                return f"{order}, cut {cut}: {run}, {piped}"
            out, through = (pcap.load(tool.tmp(n)) for n in ("o.pcap", "p.pcap"))
            if out.packets != through.packets:
                return f"{order}, cut {cut}: another output from a pipe"
            got.append((out.packets, b"damaged" in run.stderr, run.stderr.split(b"damaged")[1:]))
        kept = [p.data for p in capture.packets]
        if got[0] != got[1] or got[0][1] != (cut not in (0, 116)) or \
                [p.data for p in got[0][0]] != kept[:len(kept) - (cut > 0) - (cut > 116)]:
            return f"cut {cut}: the twins differ: {got[0][1:]}, {got[1][1:]}"
    return None


def runs():
    """Packets that are kept one after another are written as one run, and so are repeats:
    runs of one packet up to more than a buffer, in order, to both outputs, also to a pipe.
    """
    rng = tap.drawn(42)
    fresh, repeats, all_packets = [], [], []
    for length in [1, 1, 2, 3000, 1, 900, 2, 2] + [rng.randint(1, 9) for _ in range(2000)]:
        for kind, size in (fresh, length), (repeats, rng.choice((1, 1, 2, length))):
            for _ in range(size):
                data = rng.choice(fresh).data if kind is repeats else rng.randbytes(rng.randint(60, 200))
                kind.append(pcap.Packet(10**18 + len(all_packets) * 1000, data, len(data)))
                all_packets.append(kind[-1])
    path = pcap.Capture(all_packets).save(tool.tmp("runs.pcap"))
    removed = tool.tmp("removed.pcap")
    with open(path, "rb") as f:
        data = f.read()
    for ask in ("dedup", "--removed", removed, path), ("dedup", "--removed", removed, "-"):
        run = tool.epfctl(*ask, "-", input=data if ask[-1] == "-" else None)
        with open(tool.tmp("o.pcap"), "wb") as f:
            f.write(run.stdout)
        for name, want in (tool.tmp("o.pcap"), fresh), (removed, repeats):
            if pcap.load(name).packets != want:
                return f"{ask}: {os.path.basename(name)} differs"
    return None


def compressed(suffix, *options):
    """What is made of a compressed capture is what is made of the capture; windows in time
    and the filter read it twice.
    """
    plain = tool.tmp("plain" + suffix)
    capture = pcap.Capture([pcap.Packet(10**18 + i * 10**6, b"%040d" % (i * 7 % 300 + 10**9))
                            for i in range(3000)])
    if suffix == ".pcapng":
        capture.save_ng(plain)
    else:
        capture.save(plain)
    with open(plain, "rb") as f:
        data = f.read()
    if tool.epfctl("dedup", *options, plain, tool.tmp("want" + suffix)).returncode:
        return "the capture itself is refused"
    for name, pack in ("gz", gzip.compress), ("xz", lzma.compress):
        packed = save(f"plain.{name}", pack(data))
        ran = tool.epfctl("dedup", *options, packed, tool.tmp("got" + suffix))
        if ran.returncode:
            return ran.stderr.decode()
        with open(tool.tmp("got" + suffix), "rb") as got, \
                open(tool.tmp("want" + suffix), "rb") as want:
            if got.read() != want.read():
                return f"{name} differs"
    return None


def cases():
    bind = functools.partial
    out = [(f"all kinds of blocks, byte order {o}", bind(whole, o))
           for o in "<>"]
    out += [("two link types, read by wireshark", readable),
            ("one packet on several link types", across_links),
            ("a link type without packets", odd_link),
            ("two link types do not go into pcap", two_links_as_pcap),
            ("format of the output", formats),
            ("pcap to pcapng and back, us", bind(to_pcapng, False)),
            ("pcap to pcapng and back, ns", bind(to_pcapng, True)),
            ("what pcap has no room for", losses),
            ("units of time stamps", stamps),
            ("options that end their block", few_options),
            ("interfaces of several snap lengths", snap_lengths),
            ("several snap lengths, read by tcpdump", uncut_by_libpcap),
            *((f"packets longer than the header's snap length, {o} {n}", bind(beyond, o, n))
              for o in "<>" for n in (False, True)),
            ("pcapng cut off anywhere", cut_off),
            ("65,536 interfaces", many_interfaces),
            ("pcapng in small pieces", drip),
            ("plain records, us", bind(plain_records, False)),
            ("plain records, ns", bind(plain_records, True)),
            ("runs", runs)]
    out += [(f"compressed{suffix} {' '.join(options)}", bind(compressed, suffix, *options))
            for suffix in (".pcap", ".pcapng")
            for options in ((), ("-D", "100"), ("-w", "0.2"), ("-w", "0.2", "--filter"),
                            ("-D", "1000000000", "--filter"))]
    out += [(f"damage {i}: {words}", bind(damage, words, tail))
            for i, (words, tail) in enumerate(DAMAGE)]
    return out + time_cases()


if __name__ == "__main__":
    tool.need_epfctl()
    tap.main(tap.chosen(cases()))
