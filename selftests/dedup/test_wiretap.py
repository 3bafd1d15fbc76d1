#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Captures in the formats of Wireshark, by epf-wiretap: the same answers as those of the
same packets in pcap; broken files, and no epf-wiretap.

usage: test_wiretap.py [WORD]...: the cases of these functions' names
"""

import contextlib
import gzip
import json
import os
import random
import shutil
import struct
import subprocess
import sys

import pcap
import tap
import tool
from ng import IP4, ETHER, Writer
from tap import Skip

THERE = os.environ.get("EPF_WIRETAP") or os.path.join(
    os.environ.get("BUILD") or os.path.join(tool.TOP, "build"), "user/epf-wiretap")
START = 1_700_000_000 * 10**9
ERF_ETH, ERF_IPV4, ERF_INFINIBAND, ERF_META = 2, 22, 21, 27
# Formats that editcap writes, with the resolution of their times in ns; 0: rounded, or of another
# day.
FORMATS = {"snoop": 1000, "netmon1": 10**6, "netmon2": 1000, "nettl": 1000, "visual": 10**6,
           "ngsniffer": 0, "ngwsniffer_2_0": 0, "5views": 1000, "k12text": 0,
           "lanalyzer": 0, "commview-ncf": 1000}
# Of these, those that libwiretap knows by a heuristic, and binary ones with a magic number.
HEURISTIC = ("k12text", "lanalyzer", "commview-ncf")
MAGIC = [form for form in FORMATS if form not in HEURISTIC]


@contextlib.contextmanager
def program(path):
    before = os.environ.get("EPF_WIRETAP")
    os.environ["EPF_WIRETAP"] = path
    try:
        yield
    finally:
        if before is None:
            del os.environ["EPF_WIRETAP"]
        else:
            os.environ["EPF_WIRETAP"] = before


def need():
    if not os.access(THERE, os.X_OK):
        raise Skip("epf-wiretap is not built: no libwireshark-dev")


def frame(i):
    return ETHER + IP4[:16] + struct.pack(">I", i) + IP4[20:]


def packets(count=400):
    """Every second packet is repeated two later."""
    return [pcap.Packet(START + i * 10**7, frame(i if i % 4 < 2 else i - 2 * (i % 2 == 0)))
            for i in range(count)]


def differ(what, got, want):
    return None if got == want else f"{what}: got {str(got)[:300]}, want {str(want)[:300]}"


def write(name, data):
    with open(tool.tmp(name), "wb") as f:
        f.write(data)
    return tool.tmp(name)


def erf(kind, data, ns=START):
    """A record: 16 bytes of header, for Ethernet an offset and a pad, the data."""
    stamp = (ns // 10**9 << 32) + (ns % 10**9 << 32) // 10**9
    body = (bytes(2) if kind == ERF_ETH else b"") + data
    return struct.pack("<Q", stamp) + struct.pack(">BBHHH", kind, 4, 16 + len(body), 0,
                                                  len(data)) + body


def convert(form, source):
    if not shutil.which("editcap"):
        raise Skip("no editcap")
    path = tool.tmp("in." + form)
    subprocess.run(["editcap", "-F", form, source, path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def build(source, form="auto", **how):
    return tool.epfctl("build", "-j", tool.tmp("b.epf"), "-F", form, "--time", "1h", "--rate",
                       "100", source, **how)


def built(source, form="pcap", **how):
    ran = build(source, form, **how)
    if ran.returncode:
        raise RuntimeError(ran.stderr.decode())
    return json.loads(ran.stdout)


def formats():
    """dedup and build say the same of each format, as files, in pipes and compressed."""
    need()
    source = pcap.Capture(packets()).save(tool.tmp("in.pcap"))
    want, report = tool.dedup(source, "-D", "5")
    keys = built(source)
    for form, tick in FORMATS.items():
        path = convert(form, source)
        got, told = tool.dedup(path, "-D", "5")
        counts = built(path)
        stamps = [p.ns // tick for p in got.packets] if tick else None
        fault = differ(f"{form}: packets", [p.data for p in got.packets],
                           [p.data for p in want.packets]) or \
            differ(f"{form}: removed", told["packets"], report["packets"]) or \
            differ(f"{form}: keys", counts["records"]["keys"], keys["records"]["keys"]) or \
            (tick and differ(f"{form}: times", stamps, [p.ns // tick for p in want.packets]))
        if fault:
            return fault
    snoop = tool.tmp("in.snoop")
    with open(snoop, "rb") as f:
        data = f.read()
    for what, path, how in (("pipe", "-", {"input": data}),
                            ("gzip", write("in.gz", gzip.compress(data)), {})):
        ran = tool.epfctl("dedup", "-D", "5", path, tool.tmp("p.pcap"), **how)
        if ran.returncode or pcap.load(tool.tmp("p.pcap")).packets != want.packets:
            return f"{what}: {ran.stderr.decode()}"
    return None


def detected():
    """The format is detected by magic numbers, with the same keys as in pcap; epf-wiretap is
    not asked about formats that are known without it."""
    need()
    source = pcap.Capture(packets()).save(tool.tmp("in.pcap"))
    want = built(source)["records"]["keys"]
    for form in MAGIC:
        path = convert(form, source)
        with open(path, "rb") as f:
            data = f.read()
        packed = write("in.gz", gzip.compress(data))
        for what, got in (("file", built(path, "auto")), ("gzip", built(packed, "auto")),
                          ("pipe", built("-", "auto", input=data))):
            if got["records"]["keys"] != want:
                return f"{form}, {what}: {got}"
        ran = tool.epfctl("audit", "--no-agent", "-j", tool.tmp("b.epf"), path)
        if ran.returncode or json.loads(ran.stdout)["keys"] != want:
            return f"{form}: {ran.stdout} {ran.stderr.decode()}"
    cut = write("cut", data[:-7])
    ran = build(cut)
    if ran.returncode != 2 or b"libwiretap: " not in ran.stderr:
        return f"cut: {ran.stderr.decode()}"
    with asked() as calls:
        built(source, "auto")
        built(pcap.Capture(packets(60)).save_ng(tool.tmp("in.pcapng")), "auto")
        return differ("asked", os.path.exists(calls), False)


@contextlib.contextmanager
def asked():
    """A program in place of epf-wiretap. It makes the file that is yielded, and knows every
    file as a capture."""
    calls, path = tool.tmp("asked"), tool.tmp("lax")
    empty = pcap.Capture(packets(1)).save_ng(tool.tmp("lax.pcapng"))
    with open(path, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\necho >{calls}\nexec cat {empty}\n")
    os.chmod(path, 0o755)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(calls)
    with program(path):
        yield calls


def texts():
    """No text is taken for a capture, nor a file by a heuristic."""
    need()
    source = pcap.Capture(packets(60)).save(tool.tmp("in.pcap"))
    log = b"2026-11-01 12:00:00 host \x1b[1mlogin\x1b[0m caf\xc3\xa9 from 10.0.0.1\n" * 40
    begin = [b"ETHERWATCH  V6.0\n", b"Session Transcript\n1.0\n", b"<?xml version='1.0'?>\n<dump>\n",
             b"-----BEGIN CERTIFICATE-----\n", b"", b"\r\n\f\v"]
    with asked() as calls:
        for text in [start + log for start in begin]:
            ran = build(write("log", text))
            if ran.returncode != 2 or b"cannot detect the format" not in ran.stderr or \
                    os.path.exists(calls):
                return f"{text[:40]}: {ran.stdout} {ran.stderr.decode()}"
    zeros = [start + bytes(64) + log for start in begin]
    draw = random.Random(5)
    noise = [draw.randbytes(4096) for _ in range(60 if os.environ.get("EPF_THOROUGH") else 6)]
    images = [b"\x89PNG\r\n\x1a\n" + bytes(64), b"\xff\xd8\xff" + bytes(64)]
    others = []
    for form in HEURISTIC:
        with open(convert(form, source), "rb") as f:
            others.append(f.read())
    for data in zeros + noise + images + others:
        ran = build(write("odd", data))
        if ran.returncode != 2 or b"cannot detect the format" not in ran.stderr:
            return f"{data[:20]}: {ran.stdout} {ran.stderr.decode()}"
    return None


def kinds():
    """Several link types become several interfaces; records that are not packets are
    counted; a link type without a number is one error."""
    need()
    mixed = [erf(ERF_ETH, frame(i), START + i * 10**9) + erf(ERF_IPV4, IP4, START + i * 10**9)
             for i in range(3)]
    path = write("in.erf", b"".join(mixed))
    ran = tool.epfctl("dedup", "-j", "-D", "1", path, tool.tmp("o.pcapng"))
    if ran.returncode or json.loads(ran.stdout)["packets"]["read"] != 6:
        return f"mixed: {ran.stdout} {ran.stderr.decode()}"
    again = tool.epfctl("dedup", "-j", "-D", "1", tool.tmp("o.pcapng"), tool.tmp("o.pcap"))
    if again.returncode != 2 or "link types EN10MB and RAW" not in again.stderr.decode():
        return f"again: {again.stderr.decode()}"
    meta = struct.pack(">HH", 0, 0) * 4
    path = write("meta.erf", mixed[0] + erf(ERF_META, meta) * 2)
    ran = tool.epfctl("dedup", "-j", path, tool.tmp("o.pcapng"))
    if ran.returncode or b"2 records that are not packets" not in ran.stderr:
        return f"meta: {ran.stderr.decode()}"
    path = write("one.erf", erf(ERF_ETH, frame(0)) + erf(ERF_META, meta) * 2)
    if built(path)["records"]["left_out"] != 2:
        return "meta: build does not count them"
    ran = tool.epfctl("build", "-j", tool.tmp("b2.epf"), "--like", tool.tmp("b.epf"), "-F", "pcap", path, path)
    if json.loads(ran.stdout)["records"]["left_out"] != 4:
        return f"meta: build counts those of one file: {ran.stdout}"
    ran = tool.epfctl("audit", "--no-agent", "-j", "-F", "pcap", tool.tmp("b.epf"), path)
    if ran.returncode or json.loads(ran.stdout)["left_out"] != 2 or \
            b"2 records that are not packets" not in ran.stderr:
        return f"audit: {ran.stdout} {ran.stderr.decode()}"
    path = write("odd.erf", mixed[0] + erf(ERF_INFINIBAND, bytes(64)))
    ran = tool.epfctl("dedup", path, tool.tmp("o.pcapng"))
    if ran.returncode != 2 or b"packet 3: pcapng has no number for" not in ran.stderr:
        return f"odd: {ran.stderr.decode()}"
    return None


def links():
    """Up to 64 link types of one file are taken."""
    need()

    def ran(links):
        ng = Writer()
        return subprocess.run([THERE, write("links.pcapng", ng.section() + b"".join(
            map(ng.interface, links)) + b"".join(
                ng.packet(i, 1, frame(i)) for i in range(len(links))))], capture_output=True)
    known = [link for link in range(200) if ran([link]).stdout[36:38] == struct.pack("<H", link)]
    most, more = ran(known[:64]), ran(known[:65])
    return differ("64", (most.returncode, most.stderr), (0, b"")) or \
        differ("65", (more.returncode, more.stderr), (1, b"packet 65: more than 64 link types\n"))


def whole(ran, left):
    """Is it done, or one error without an output?"""
    text = ran.stderr.decode()
    if ran.returncode == 0:
        return None
    if ran.returncode != 2 or text.count("\n") != 1 or "signal" in text or os.path.exists(left):
        return f"exit status {ran.returncode}: {text}"
    return None


def broken():
    """Files that are cut off or garbled are read, or are one error, of which --keep-going
    keeps what comes before."""
    need()
    draw = random.Random(3)
    source = pcap.Capture(packets(60)).save(tool.tmp("in.pcap"))
    thorough = bool(os.environ.get("EPF_THOROUGH"))
    for form in FORMATS if thorough else ("snoop", "netmon2"):
        with open(convert(form, source), "rb") as f:
            data = f.read()
        for i in range(40 if thorough else 6):
            bad = bytearray(data[:draw.randrange(8, len(data))] if i % 2 else data)
            for _ in range(0 if i % 2 else 5):
                bad[draw.randrange(4, len(bad))] ^= 1 << draw.randrange(8)
            out = tool.tmp("broken.pcapng")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(out)
            fault = whole(tool.epfctl("dedup", write("bad", bytes(bad)), out), out)
            if fault:
                return f"{form}, {i}: {fault}"
    with open(convert("snoop", source), "rb") as f:
        cut = write("cut", f.read()[:-7])
    ran = tool.epfctl("dedup", "-D", "5", cut, tool.tmp("none.pcap"))
    tool.epfctl("dedup", "-D", "5", "--keep-going", cut, tool.tmp("kept.pcap"))
    want, _ = tool.dedup(pcap.Capture(packets(59)).save(tool.tmp("in.pcap")), "-D", "5")
    return differ("cut", (ran.returncode, b"libwiretap: " in ran.stderr), (2, True)) or \
        differ("kept", pcap.load(tool.tmp("kept.pcap")).packets == want.packets, True)


def missing():
    """Without it, the package is named; pcap and pcapng do not need it."""
    source = pcap.Capture(packets(60)).save(tool.tmp("in.pcap"))
    packed = pcap.Capture(packets(60)).save_ng(tool.tmp("in.pcapng"))
    odd = write("odd.snoop", b"snoop\0\0\0" + bytes(64))
    with program(tool.tmp("nowhere")):
        ran = tool.epfctl("dedup", odd, tool.tmp("o.pcap"))
        named, auto = build(odd, "pcap"), build(odd)
        text = build(write("log", b"a text\n")).stderr
    if b"wiretap" in text:
        return f"text: {text}"
    for what, got in (("dedup", ran), ("build", named), ("detected", auto)):
        text = got.stderr.decode()
        if got.returncode != 2 or text.count("\n") != 1 or "epochfilter-wiretap" not in text:
            return f"{what}: {text}"
    with program("/bin/false"):
        for path in (source, packed):
            if tool.epfctl("dedup", path, tool.tmp("o.pcap")).returncode:
                return f"{path} is not read"
            built(path)
    return None


CASES = [
    ("every format as pcap: packets, times, keys; pipes and gzip", formats),
    ("every format with a magic number is detected", detected),
    ("no text is taken for a capture", texts),
    ("link types, records that are not packets", kinds),
    ("64 link types of a file, not 65", links),
    ("files that are cut off or garbled", broken),
    ("no epf-wiretap: its package; pcap does without", missing),
]

if __name__ == "__main__":
    with program(THERE):
        tap.main([case for case in CASES
                  if case[1].__name__ in sys.argv[1:] or not sys.argv[1:]])
