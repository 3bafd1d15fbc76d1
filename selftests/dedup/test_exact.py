#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""epfctl dedup by the table of all keys: a packet is removed if and only if an equal one
precedes it in the file by at most N packets, or is at most T away by time stamps in either
direction; with --first-seen only kept packets count.

It also tests how both methods are sized: memory, to the byte, and the number of packets
when time stamps go back or are wrong.
"""

import functools
import json
import os
import socket
import subprocess
import sys

import ng
import oracle
import pcap
import tap
import tool
from test_laws import judge, made, one_kind, prefixes
from test_modes import first_difference, key_of, traffic

sys.path.insert(0, os.path.join(tool.TOP, "selftests/model"))
import frames  # noqa: E402
import packets as model  # noqa: E402

SMALL = 10
WRITE = 128 << 10


def stamp(p):
    return p.ns


def small(seed):
    """Few keys, short distances, and stamps of all sorts: equal, back, far. Some packets
    are cut, with several lengths on the wire.
"""
    rng = tap.drawn(seed)
    ns, out = rng.choice((0, 10**18)), []
    for _ in range(200):
        ns = max(0, ns + rng.choice((0, 0, 1, 1, 2, 3, 5, 20, 90, -1, -4, -30)
                                    ) * 1000)
        odd = rng.random()
        at = ns if odd > .02 else rng.choice((0, ns + 10**12, 2**32 * 10**9
                                              - 1000))
        data = rng.randbytes(1)[:1] * rng.randint(0, 3) if odd > .9 else \
            b"%d" % rng.randint(0, 12)
        out.append(pcap.Packet(at, data, len(data) + rng.choice((0, 0, 3, 4))))
    return out


def check(path, packets, options, want):
    out, report = tool.dedup(path, "--exact", *options)
    if report["method"] != "exact" or report["unsure"]:
        return f"{options}: {report}"
    if report["packets"]["removed"] != sum(want):
        return f"{options}: the report counts otherwise"
    if not any(want):
        return None if out.packets == packets else f"{options}: some removed"
    fault = first_difference(oracle.align(packets, out.packets), want)
    return f"{options}: {fault}" if fault else None


def check_numbers(path, options, want):
    """The same for a file whose packets are numbered: return which are kept."""
    run = tool.epfctl("dedup", "-j", "--exact", *options, path,
                      tool.tmp("o.pcapng"))
    if run.returncode:
        return f"{options}: {run}"
    report = json.loads(run.stdout)
    if report["method"] != "exact" or report["unsure"] or \
            report["packets"]["removed"] != sum(want):
        return f"{options}: {sum(want)} are to be removed: {report}"
    kept = set(ng.numbers(tool.tmp("o.pcapng")))
    fault = first_difference([i not in kept for i in range(len(want))], want)
    return f"{options}: {fault}" if fault else None


def small_captures(seed):
    """Every N, T on both sides of each distance, and both refresh modes."""
    packets = small(seed)
    path = ng.save_numbered(tool.tmp("small.pcapng"), packets)
    for first in False, True:
        seen = ("--first-seen",) if first else ()
        for n in 1, 2, 3, 5, 12, 60, 199, 200:
            fault = check_numbers(path, ("-D", n, *seen),
                                  oracle.near(packets, n, first))
            if fault:
                return fault
        for us in 1, 2, 3, 20, 29, 30, 31, 10**6, 10**10:
            want = oracle.near(packets, us * 1000, first, stamp)
            fault = check_numbers(path, ("-w", f"{us}us", *seen), want)
            if fault:
                return fault
    return None


@functools.lru_cache(None)
def large(disorder):
    """Sweeps, growth, and keys that come again in time and too late."""
    rng = tap.drawn(disorder)
    data, ns, out = [], 10**18, []
    for i in range(12000):
        ns += rng.choice((0, 1000, 1000, 3000))
        back = rng.choice((rng.randint(1, 60), rng.randint(1, 4000)))
        data.append(data[-back] if back <= i and rng.random() < .4 else
                    b"%d" % i)
        late = rng.randint(0, disorder) * 1000 if rng.random() < .3 else 0
        out.append(pcap.Packet(ns - late, data[-1]))
    return pcap.Capture(out).save(tool.tmp(f"large{disorder}.pcap"))


@functools.lru_cache(None)
def large_numbered(disorder):
    packets = pcap.load(large(disorder)).packets
    return packets, ng.save_numbered(tool.tmp(f"large{disorder}.pcapng"), packets)


def large_captures(disorder, options, apart, place):
    packets, path = large_numbered(disorder)
    first = "--first-seen" in options
    return check_numbers(path, options,
                         oracle.near(packets, apart, first, place))


def by_key(options, key, flags, max_bytes):
    """Packets without a key take a place, but are never repeats."""
    capture = traffic(model.ETHER)
    path = capture.save(tool.tmp("keys.pcap"))
    passed = dict.fromkeys(("truncated", "malformed", "not_ip"), 0)
    of = key_of(model.ETHER, key, flags, max_bytes, passed)
    return check(path, capture.packets, ("-D", 500, *options),
                 oracle.near(capture.packets, 500, key_of=of))


# captures that are cut

def cut_pairs():
    """Yield (options, two packets as (captured bytes, length on the wire), equal?)."""
    frame = frames.ether(0x0800, frames.ip4(17, frames.ports(1, 2) + bytes(60)))
    other = frames.ether(0x88B5, bytes(range(100)))
    whole, n = len(frame), ("--bytes", "34")
    packet, flow = ("--key", "packet"), ("--key", "flow")
    same, longer = (frame[:60], 1500), (frame[:60], 1501)
    return [
        ((), same, same, True), ((), same, longer, False),
        ((), (frame, whole), (frame, whole + 1), False),
        ((), (frame, whole), (frame[:-1], whole), False),
        ((), (frame[:60], 1500), (frame[:61], 1500), False),
        (n, same, same, True), (n, same, longer, False),
        (n, (frame[:34], 1500), (frame[:96], 1500), True),
        (n, (frame[:33], 1500), (frame[:96], 1500), False),
        (n, (frame[:34], whole), (frame, whole), True),
        (n, (frame[:34], 34), (frame, whole), False),
        (n, (frame, whole), (frame[:-1], whole - 1), False),
        (packet, (frame, whole), (frame, whole + 4), True),
        (packet, (frame[:60], whole), (frame[:60], whole), False),
        (packet, (other[:60], 114), (other[:60], 114), True),
        (packet, (other[:60], 114), (other[:60], 115), False),
        (packet, (other[:60], 114), (other[:61], 114), False),
        (packet + n, (other[:60], 114), (other[:60], 115), False),
        (flow, (frame[:60], 1500), (frame[:50], 60), True),
        (flow, (other[:60], 114), (other[:60], 114), False),
        (flow + ("--nonip", "frame"), (other[:60], 114), (other[:60], 114),
         True),
        (flow + ("--nonip", "frame"), (other[:60], 114), (other[:60], 115),
         False)]


@tap.twice
def cut_packets(method, window):
    """Packets are equal if the captured bytes of the key and the length on the wire are."""
    for options, a, b, equal in cut_pairs():
        for first, second in (a, b), (b, a):
            capture = pcap.Capture(pcap.Packet(10**18, data, length)
                                   for data, length in (first, second))
            for path in capture.save(tool.tmp("cut.pcap")), \
                    capture.save_ng(tool.tmp("cut.pcapng")):
                out, report = tool.dedup(path, method, *window, *options)
                tap.may_fail(2 * report.get("fpr_predicted", 0))
                if (len(out.packets) == 1) != equal:
                    return f"{options}, {first}, {second}: {equal} is right"
                cut = sum(len(data) < length for data, length in (a, b))
                if report["packets"]["cut"] != cut:
                    return f"{options}: {report['packets']}, not {cut} cut"
    return None


def cut_editcap():
    """editcap compares captured bytes only; otherwise it keeps the same packets.
"""
    rng = tap.drawn(9)
    packets = [pcap.Packet(i * 1000, b"%060d" % rng.randint(0, 30),
                           1500 + rng.randint(0, 1)) for i in range(2000)]
    path = pcap.Capture(packets).save(tool.tmp("cut.pcap"))
    theirs = oracle.align(packets, tool.editcap(path, "-D", 21).packets)
    ours = oracle.align(packets, tool.dedup(path, "-D", 20)[0].packets)
    if theirs != oracle.editcap(packets, 21):
        return "editcap is not what the oracle takes it for"
    want = [d is not None and d <= 20 for d in oracle.distances(packets)]
    if any(w and not t for w, t in zip(want, theirs)):
        return "editcap keeps what is equal"
    return first_difference(ours, want)


def cut_told():
    """The line of the summary, if any packets were skipped."""
    for length, want in (1500, True), (60, False):
        path = pcap.Capture(pcap.Packet(i, b"%060d" % i, length)
                            for i in range(9)).save(tool.tmp("cut.pcap"))
        text = tool.epfctl("dedup", path, tool.tmp("o.pcap")).stderr
        if (b"cut:     9 packets captured in part" in text) != want:
            return text.decode()
    return None


def cut_cases():
    out = [(f"cut packets: {method} {' '.join(window)}",
            functools.partial(cut_packets, method, window))
           for method in ("--exact", "--filter")
           for window in (("-D", "9"), ("-w", "9"))]
    return out + [("cut packets: editcap", cut_editcap),
                  ("cut packets: the summary", cut_told)]


def like_editcap(find, n):
    """Exact to the packet: the packet N back is the N+1st of its window."""
    path = find()
    ours, _ = tool.dedup(path, "-D", n)
    theirs = tool.editcap(path, "-D", n + 1)
    return None if ours.packets == theirs.packets else "the packets differ"


FAR = 50000 if os.environ.get("EPF_THOROUGH") else 20000


def far_packets():
    """Repeats at the distances where verdicts about FAR change. No more packets than
    needed, because editcap looks at the whole window for each.
"""
    rng = tap.drawn(FAR)
    end = 8 * oracle.ceil_div(FAR, 7)
    data = [b"%d" % i for i in range(end + 300)]
    for i in range(300):
        back = rng.choice((1, 2, FAR - 1, FAR, FAR + 1, end - 1, end, end + 1))
        data.append(data[-back] if i % 3 else b"new %d" % i)
    return [pcap.Packet(i * 1000, d) for i, d in enumerate(data)]


@tap.twice
def far_editcap():
    """A window that is full: the table removes exactly what editcap removes; the filter
    removes that too, and beyond it only true repeats within its reach.
"""
    packets = far_packets()
    path = pcap.Capture(packets).save(tool.tmp("far.pcap"))
    theirs = oracle.align(packets, tool.editcap(path, "-D", FAR + 1).packets)
    out, report = tool.dedup(path, "--exact", "-D", FAR)
    removed = oracle.align(packets, out.packets)
    if theirs != oracle.editcap(packets, FAR + 1) or removed != theirs:
        return first_difference(removed, theirs) or \
            "editcap is not what the oracle takes it for"
    if report["packets"]["removed"] != sum(theirs):
        return "the report counts otherwise"
    removed = oracle.align(packets, tool.filtered(path, "-D", FAR)[0].packets)
    return judge(packets, removed, FAR)


def sorted_copy(find):
    """In order of time, which editcap -w requires."""
    capture = pcap.load(find())
    capture.packets.sort(key=stamp)
    return capture.save(tool.tmp("sorted.pcap"))


def like_editcap_time(find, seconds):
    path = sorted_copy(find)
    ours, _ = tool.dedup(path, "-w", seconds)
    theirs = tool.editcap(path, "-w", seconds)
    if ours.packets != theirs.packets:
        return "in order of time the packets differ"
    path = find()
    packets = pcap.load(path).packets
    ours = oracle.align(packets, tool.dedup(path, "-w", seconds)[0].packets)
    theirs = oracle.align(packets,
                          tool.editcap(path, "-w", seconds).packets)
    missed = [i for i, (a, b) in enumerate(zip(theirs, ours)) if a and not b]
    return f"editcap removes {missed[:5]}, epfctl does not" if missed else None


# streams

def stream(capture, *options):
    path = capture.save(tool.tmp("stream.pcap"))
    with open(path, "rb") as f:
        run = tool.epfctl("dedup", *options, "-", tool.tmp("streamed.pcap"),
                          input=f.read())
    return run, path


def from_stream(disorder):
    run, _ = stream(pcap.load(large(disorder)), "-w", "100us")
    want, _ = tool.dedup(large(disorder), "-w", "100us")
    if run.returncode or b"go back further" in run.stderr:
        return f"{run}"
    got = pcap.load(tool.tmp("streamed.pcap")).packets
    return None if got == want.packets else "other packets than of the file"


def forgotten():
    """40,000 packets 10 us apart, then the first one again with its old stamp. A file is
    read in advance; on a stream the table has forgotten the packet, and reports that.
"""
    data = [b"%d" % i for i in range(40000)] + [b"0"]
    packets = [pcap.Packet(10**18 + i * 10000, d) for i, d in enumerate(data)]
    packets[-1].ns = 10**18
    run, path = stream(pcap.Capture(packets), "-w", "1ms")
    kept = len(pcap.load(tool.tmp("streamed.pcap")).packets)
    if run.returncode or b"1 packets go back further" not in run.stderr or \
            kept != 40001:
        return f"stream: {kept} kept, {run.stderr.decode()}"
    out, report = tool.dedup(path, "-w", "1ms")
    if len(out.packets) != 40000 or report["unsure"]:
        return f"file: {report}"
    return None


def remembered():
    """A stream may go back by a whole stretch of 8,192 packets, beyond one's beginning."""
    packets = [pcap.Packet(10**18 + i * 1000, b"%d" % i) for i in range(16400)]
    packets[16390] = packets[8000]
    run, _ = stream(pcap.Capture(packets), "-w", "100us")
    kept = len(pcap.load(tool.tmp("streamed.pcap")).packets)
    good = not run.returncode and kept == 16399 and b"go back further" not in run.stderr
    return None if good else f"{kept} kept, {run.stderr.decode()}"


def by_redirection():
    """Standard input is a file, so its size bounds the number of packets."""
    path = numbered(2000).save(tool.tmp("numbered.pcap"))
    for options in (), ("-w", "1ms"), ("--filter",), \
            ("-D", "99999999999", "--filter"):
        with open(path, "rb") as f:
            run = tool.epfctl("dedup", *options, "-", tool.tmp("o.pcap"),
                              stdin=f)
        if run.returncode or \
                pcap.load(tool.tmp("o.pcap")).packets != \
                pcap.load(path).packets:
            return f"{options}: {run}"
    return None


def stream_too_long():
    """More keys than the limit allows: one line of error, and no output."""
    packets = [pcap.Packet(10**18, b"%d" % i) for i in range(4000)]
    os.path.exists(tool.tmp("streamed.pcap")) and \
        os.unlink(tool.tmp("streamed.pcap"))
    run, _ = stream(pcap.Capture(packets), "-w", "1ms", "--memory", "100K")
    text = run.stderr.decode()
    # 2,048 slots of 32 bytes are allocated while 1,024 exist: 96 KiB; 3/4 of them are used.
    if run.returncode != 2 or text.count("\n") != 1 or \
            "packet 1537" not in text or "--memory" not in text:
        return text
    return "written" if os.path.exists(tool.tmp("streamed.pcap")) else None


# which method is chosen, and its size

def numbered(count, step_ns=1000):
    return pcap.Capture(pcap.Packet(10**18 + i * step_ns, b"%d" % i)
                        for i in range(count))


def memory_told(count, options, want_bytes):
    path = numbered(count).save(tool.tmp("numbered.pcap"))
    _, report = tool.dedup(path, *options)
    got = report["memory_bytes"]
    return None if (report["method"], got) == ("exact", want_bytes) else \
        f"{report['method']}, {got} bytes"


def fallback():
    """If the table does not fit, one line says so, and the filter is sized for the packets.
"""
    path = numbered(1540).save(tool.tmp("numbered.pcap"))
    run = tool.epfctl("dedup", "--memory", "100K", path, tool.tmp("o.pcap"))
    text = run.stderr.decode()
    if run.returncode or text.count("warning: ") != 1 or \
            "up to 1540 packets at once take 192 KiB" not in text or \
            "error:   1e-09 asked" not in text:
        return text
    _, exact = tool.dedup(path, "--memory", "192K")
    if exact["method"] != "exact":
        return "192 KiB are enough"
    forced = tool.epfctl("dedup", "--exact", "--memory", "191K", path,
                         tool.tmp("o.pcap"))
    if forced.returncode != 2:
        return "--exact went on"
    for count, want in (1024, 0), (1025, 2):  # half of 2,048 slots
        path = numbered(count).save(tool.tmp("numbered.pcap"))
        run = tool.epfctl("dedup", "--exact", "--memory", "96K", path,
                          tool.tmp("o.pcap"))
        if run.returncode != want:
            return f"{count} packets in 96 KiB: {run}"
    return None


def needed_size():
    """For a file the filter is sized for its packets, whatever N is."""
    path = numbered(1540).save(tool.tmp("numbered.pcap"))
    reports = [tool.filtered(path, "-D", n, "--memory", "100K", exact=False)[1]
               for n in (1540, 1541, 10**6, 10**11)]
    sizes = {(r["sized_for"], r["memory_bytes"]) for r in reports}
    if len(sizes) != 1 or reports[0]["sized_for"] != 1540:
        return f"{sizes}"
    small_one = tool.filtered(path, "-D", 1539, exact=False)[1]["sized_for"]
    return None if small_one == 1539 else f"{small_one} for 1539"


def unordered(seed, count):
    """Stamps that go back; some are wrong, with an odd seed also by being too low, so that
    no key can be forgotten.
"""
    rng = tap.drawn(seed)
    ns, out = 10**18, []
    for i in range(count):
        ns += rng.choice((0, 1000, 5000, 70000, 10**7))
        at = ns - rng.choice((0, 0, 0, 2000, 10**6, 3 * 10**7))
        if rng.random() < .01:
            at = rng.choice((0, 2**32 * 10**9 - 1000)[1 - seed % 2:])
        out.append(pcap.Packet(at, b"%d" % i))
    return pcap.Capture(out)


def busiest(packets, window_ns):
    """Return the most insertions in one epoch, by the model's clock."""
    span = oracle.ceil_div(window_ns, 7)
    times = oracle.Clock(packets, span).times
    # a packet that jumps is inserted together with the packet after it
    times = times if not times[-1][0] else times[:-1]
    epochs = [(ns - times[0][1]) // span for _, ns in times]
    return max(epochs.count(e) for e in set(epochs))


def sized_for(seed, window_ns):
    capture = unordered(seed, 900)
    path = capture.save(tool.tmp("unordered.pcap"))
    _, report = tool.filtered(path, "-w", f"{window_ns}ns", exact=False)
    want = 7 * busiest(capture.packets, window_ns)
    if abs(report["sized_for"] - want) > 1e-6 * want:
        return f"sized for {report['sized_for']}, not {want}"
    return None


def held_at_once(packets, window_ns):
    """Return the most packets that may be near one still to come."""
    stamps = [p.ns for p in packets]
    to_come = stamps[:]
    for i in range(len(stamps) - 1, 0, -1):
        to_come[i - 1] = min(to_come[i - 1], to_come[i])
    return max(sum(to_come[at] - ns <= window_ns for ns in stamps[:at + 1])
               for at in range(len(stamps)))


def at_once(seed, window_ns):
    """The predicted number of keys in the table decides whether it fits. It is exact up to
    4,096 packets.
"""
    capture = unordered(seed, 1200)
    path = capture.save(tool.tmp("unordered.pcap"))
    want = held_at_once(capture.packets, window_ns)
    run = tool.epfctl("dedup", "--exact", "-w", f"{window_ns}ns", "--memory",
                      "16K", path, tool.tmp("o.pcap"))
    text = run.stderr.decode()
    return None if run.returncode == 2 and \
        f"up to {want} packets at once" in text else f"{want}: {text}"


def stretches():
    """Above 4,096 packets the number is rounded up to stretches."""
    path = numbered(20000).save(tool.tmp("numbered.pcap"))
    run = tool.epfctl("dedup", "--exact", "-w", "100us", "--memory", "16K",
                      path, tool.tmp("o.pcap"))
    # stretches of 8 packets (8 us): the current one, and 13 that reach into it
    return None if b"up to 112 packets at once" in run.stderr else \
        run.stderr.decode()


# a wrong stamp

def wrong_stamp(options, at):
    """300 packets, a third of which repeat one from two windows ago, plus one with a wrong
    stamp: none may be removed.
"""
    packets = [pcap.Packet(10**18 + i * 10**9, b"%d" % (
        i - 200 if i % 3 == 0 and i >= 200 else i)) for i in range(300)]
    packets[at].ns = 0xFFFFFFFF * 10**9
    path = pcap.Capture(packets).save(tool.tmp("wrong.pcap"))
    out, report = tool.dedup(path, *options, "-w", "100")
    # no packet follows the last one
    if report.get("clock_ahead", at < 299) != (at < 299):
        return f"{report['clock_ahead']} stamps taken for wrong"
    return None if out.packets == packets else \
        f"{report['packets']['removed']} removed"


def after_2038():
    """Seconds in pcap are unsigned, in either byte order."""
    second = 10**9
    packets = [pcap.Packet(at * second, b"x") for at in
               (0, 2**31 - 1, 2**31, 2**31 + 2, 2**32 - 2, 2**32 - 1)]
    want = [packets[i] for i in (0, 1, 3, 4)]
    for order in "<", ">":
        path = pcap.Capture(packets).save(tool.tmp("late.pcap"), order)
        for options in ("--exact",), ("--filter", "--rate", "9"):
            out, report = tool.dedup(path, "-w", "1", *options)
            if out.packets != want or report["clock_back"]:
                return f"{order} {options}: {report}"
    return None


def write_sizes(order):
    """Output is written in pieces of 128 KiB, from the buffer that is read to or, what
    libpcap reads, from one of its own: each write is one message here.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = pcap.Capture(pcap.Packet(i * 1000, b"%04096d" % i)
                        for i in range(200)).save(tool.tmp("wide.pcap"), order)
    run = subprocess.Popen([tool.EPFCTL, "dedup", path, "-"], stdout=theirs,
                           stderr=subprocess.DEVNULL)
    theirs.close()
    sizes = []
    while sizes[-1:] != [0]:
        sizes.append(len(ours.recv(1 << 20)))
    if run.wait() or sum(sizes) != os.path.getsize(path):
        return f"{run.returncode}, {sum(sizes)} bytes"
    full = [s for s in sizes[:-2] if s < WRITE // 2]
    return f"{len(sizes) - 1} writes: {sizes}" if full or \
        len(sizes) - 1 > 1 + 2 * sum(sizes) // WRITE else None


def summary_text():
    path = numbered(2000).save(tool.tmp("numbered.pcap"))
    exact = tool.epfctl("dedup", "-D", "700", path, tool.tmp("o.pcap")).stderr
    other = tool.epfctl("dedup", "--filter", "-D", "700", path,
                        tool.tmp("o.pcap")).stderr
    timed = tool.epfctl("dedup", "--filter", "-w", "7ms", path,
                        tool.tmp("o.pcap")).stderr
    text = tool.epfctl("dedup", "--help").stdout.decode()
    if max(map(len, text.splitlines())) > 80:
        return "the help is wider than 80 columns"
    if b"exact:   96 KiB at most" not in exact or b"too" in exact:
        return exact.decode()
    if b"repeats of up to 800 packets back are removed too" not in other:
        return other.decode()
    if b"repeats of up to 8 ms back are removed too" not in timed:
        return timed.decode()
    return None if "8/7" in text and "--exact" in text else text


def method_cases():
    bind = functools.partial
    out = [(f"{count} packets {' '.join(map(str, options))}: "
            f"{slots} slots of 32 bytes",
            bind(memory_told, count, options, slots * 32))
           for count, options, slots in (
               (700, (), 1024), (768, (), 1024), (769, (), 3072),
               (1536, (), 3072), (1537, (), 6144),
               (20000, ("-D", 512), 1024), (20000, ("-D", 513), 3072),
               (20000, ("-w", "511us"), 1024),
               (20000, ("-w", "600us"), 3072))]
    out += [("the table does not fit", fallback),
            ("sized by what is needed", needed_size),
            ("standard input is a file", by_redirection),
            ("packets at once, in stretches", stretches)]
    for seed in range(4):
        for ns in 7000, 10**6, 10**8:
            out += [(f"time goes back: -w {ns}ns, sized for ({seed})",
                     bind(sized_for, seed, ns)),
                    (f"time goes back: -w {ns}ns, at once ({seed})",
                     bind(at_once, seed, ns))]
    for name, options in ("exact", ("--exact",)), ("filter", ("--filter",)), \
            ("filter, --rate", ("--filter", "--rate", "2")):
        for at in 0, 1, 150, 299:
            out.append((f"packet {at} stamped 0xffffffff: {name}",
                        bind(wrong_stamp, options, at)))
    return out + [("stamps after 2038", after_2038),
                  ("writes of 128 KiB, byte order <", bind(write_sizes, "<")),
                  ("writes of 128 KiB, byte order >", bind(write_sizes, ">")),
                  ("summary and help", summary_text)]


def cases():
    bind = functools.partial
    out = [(f"small capture {seed}: every N and T", bind(small_captures, seed))
           for seed in range(SMALL)]
    for disorder in 0, 50, 20000:
        for n in 1, 100, 700, 3000:
            for seen in (), ("--first-seen",):
                out.append((f"disorder {disorder}: -D {n} {' '.join(seen)}",
                            bind(large_captures, disorder, ("-D", n, *seen),
                                 n, None)))
        for us in 1, 100, 3000:
            out.append((f"disorder {disorder}: -w {us}us",
                        bind(large_captures, disorder, ("-w", f"{us}us"),
                             us * 1000, stamp)))
    for options, *key in ((("--key", "packet"), model.PACKET, 0, 0),
                          (("--key", "flow"), model.FLOW, 0, 0),
                          (("--bytes", "34"), model.FRAME, 0, 34)):
        out.append((" ".join(options), bind(by_key, options, *key)))
    finds = [(name, bind(tool.real, folder, name))
             for folder, name in tool.REAL]
    finds += [("one packet over and over", one_kind), ("prefixes", prefixes)]
    for name, find in finds + [("distances around 100", bind(made, 100))]:
        for n in 5, 1000:
            out.append((f"{name} -D {n}: editcap, to the packet",
                        bind(like_editcap, find, n)))
    out.append((f"window of {FAR}: editcap, to the packet", far_editcap))
    for name, find in finds:
        for seconds in "0.000001", "0.5":
            out.append((f"{name} -w {seconds}: editcap",
                        bind(like_editcap_time, find, seconds)))
    out += [(f"a stream, disorder {d}", bind(from_stream, d))
            for d in (0, 50)]
    return out + [("a stream that goes back to what is forgotten", forgotten),
                  ("a stream that goes back by a stretch", remembered),
                  ("a stream of too many keys", stream_too_long)] + \
        cut_cases() + method_cases()


if __name__ == "__main__":
    tool.need_epfctl()
    tap.main(tap.chosen(cases()))
