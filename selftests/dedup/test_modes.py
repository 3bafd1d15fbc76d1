#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""epfctl dedup --filter: packet and flow keys, windows of time, first-seen, actions and
file formats, each verdict compared with the exact model.

The keys come from selftests/model/packets.py, which is written from the RFCs.
"""

import functools
import os
import subprocess
import sys

import oracle
import pcap
import tap
import tool

sys.path.insert(0, os.path.join(tool.TOP, "selftests/model"))
import frames  # noqa: E402
import packets as model  # noqa: E402

LINKS = {model.ETHER: pcap.EN10MB, model.IP: pcap.RAW, model.SLL: pcap.SLL,
         model.SLL2: pcap.SLL2}
MODEL_LINKS = {v: k for k, v in LINKS.items()}
MODEL_LINKS[pcap.IPV4] = MODEL_LINKS[pcap.IPV6] = model.IP

KEYS = [  # options, key, flags, max_bytes
    (("--key", "packet"), model.PACKET, 0, 0),
    (("--key", "packet", "--no-mac"), model.PACKET, model.NO_MAC, 0),
    (("--key", "packet", "--no-vlan"), model.PACKET, model.NO_VLAN, 0),
    (("--key", "packet", "--no-mac", "--no-vlan", "--bytes", "40"),
     model.PACKET, model.NO_MAC | model.NO_VLAN, 40),
    (("--key", "flow"), model.FLOW, 0, 0),
    (("--key", "flow", "--nonip", "frame"), model.FLOW, model.NONIP_FRAME, 0),
    (("--key", "frame", "--bytes", "34"), model.FRAME, 0, 34),
    (("--key", "flow", "--reverse", "--errors"), model.FLOW,
     model.REVERSE | model.ERRORS, 0),
    (("--key", "conversation", "--errors"), model.CONVERSATION, model.ERRORS, 0),
    (("--key", "peer", "--prefix", "24,64"), model.PEER, 0, 24 | 64 << 8),
    (("--key", "peer", "--zone", "40000", "--prefix", "24,64"), model.PEER,
     model.ZONE, 24 | 64 << 8 | 40000 << 16),
    (("--key", "peer-port", "--reverse", "--fragments", "pass", "--scope",
      "vlan", "--prefix", "32,65"), model.PEER_PORT,
     model.REVERSE | model.FIRST | model.VLAN, 65 << 8),
]


# packets that a router has forwarded

def fix_sum(header):
    total = sum(int.from_bytes(header[i:i + 2], "big")
                for i in range(0, len(header), 2) if i != 10)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + (total ^ 0xFFFF).to_bytes(2, "big") + header[12:]


def hop(frame):
    """Return an untagged Ethernet frame with IPv4 or IPv6, one router further."""
    ip = frame[14:]
    if frame[12:14] == b"\x08\x00" and len(ip) >= 20:
        size = (ip[0] & 15) * 4
        head = ip[:8] + bytes([(ip[8] - 1) % 256]) + ip[9:size]
        return frame[:14] + fix_sum(head) + ip[size:]
    if frame[12:14] == b"\x86\xdd" and len(ip) >= 40:
        return frame[:21] + bytes([(frame[21] - 1) % 256]) + frame[22:]
    return frame


def new_macs(frame):
    return bytes(range(12)) + frame[12:]


def tag(frame):
    return frame[:12] + b"\x81\x00\x00\x07" + frame[12:]


def pad(frame):
    return frame + b"\xa5" * 6


def last_bit(frame):
    return frame[:-1] + bytes([frame[-1] ^ 1]) if frame else b"\0"


def short(frame):
    return frame[:len(frame) * 2 // 3]


CHANGES = [bytes, bytes, hop, pad, last_bit, short]
ETHER_CHANGES = CHANGES + [new_macs, tag, lambda f: tag(hop(new_macs(f)))]


def traffic(link, count=4000, seed=3):
    """All sorts of frames, each again in several forms, at all distances; half of them were
    longer on the wire.
"""
    rng = tap.drawn(seed)
    pool = []
    for kind, frame, cuts in frames.all_frames():
        if kind == link:
            pool += [frame] + [frame[:n] for n in cuts]
    changes = ETHER_CHANGES if link == model.ETHER else CHANGES
    out = []
    for i in range(count):
        data = rng.choice(changes)(rng.choice(pool))
        if rng.random() < .3:  # its own flow and datagram
            data = data.replace(frames.V4[0], rng.randbytes(4))
        if len(data) > 20 and rng.random() < .3:
            data += bytes([i % 50])
        out.append(pcap.Packet((10**9 + i) * 1000, data,
                               len(data) + rng.choice((0, 0, 4, 40))))
    return pcap.Capture(out, LINKS[link])


def is_ip(frame, link):
    try:
        model.flow_bytes(frame, link)
    except model.NotIp:
        return False
    except (model.Truncated, model.Malformed):
        pass
    return True


def whole_key(packet, link, key, flags, max_bytes):
    """A frame, or a packet that is not IP, is the captured bytes that count and the length
    on the wire. IP has its own length.
"""
    if key == model.FRAME:
        return packet.data[:max_bytes or None], packet.length
    octets = model.canonical(packet.data, key, link, flags, max_bytes)
    return octets, 0 if is_ip(packet.data, link) else \
        packet.length - len(packet.data)


def key_of(link, key, flags, max_bytes, passed):
    def of(packet):
        try:
            return whole_key(packet, link, key, flags, max_bytes)
        except model.Truncated:
            passed["truncated"] += 1
        except model.Malformed:
            passed["malformed"] += 1
        except model.NotIp:
            passed["not_ip"] += 1
        except model.Fragment:
            passed["fragment"] += 1
        return None
    return of


def first_difference(got, want):
    for i, pair in enumerate(zip(got, want)):
        if pair[0] != pair[1]:
            return f"packet {i}: removed {pair[0]}, the model says {pair[1]}"
    return None


@tap.twice
def by_key(find, options, key, flags, max_bytes, n, first_seen=False):
    path = find()
    capture = pcap.load(path)
    passed = dict.fromkeys(("truncated", "malformed", "not_ip", "fragment"),
                           0)
    of = key_of(MODEL_LINKS[capture.link], key, flags, max_bytes, passed)
    want = oracle.verdicts(oracle.Window(packets=n, first_seen=first_seen),
                           capture.packets, of)
    seen = ("--first-seen",) if first_seen else ()
    out, report = tool.filtered(path, "-D", n, *options, *seen)
    counted = {k: report["packets"][k] for k in passed}
    if counted != passed:
        return f"passed {counted}, the model says {passed}"
    if not any(want):
        return None if out.packets == capture.packets else "something removed"
    return first_difference(oracle.align(capture.packets, out.packets), want)


@functools.lru_cache(None)
def made(link):
    return traffic(link).save(tool.tmp(f"traffic{link}.pcap"))


def forms():
    """The purpose of packet keys, one by one: (change, options, same?)."""
    frame = frames.ether(0x0800, frames.ip4(6, frames.ports(1, 2)))
    frame6 = frames.ether(0x86DD, frames.ip6(17, frames.ports(1, 2)))
    table = [(hop, (), True), (pad, (), True), (new_macs, (), False),
             (new_macs, ("--no-mac",), True), (tag, (), False),
             (tag, ("--no-vlan",), True), (last_bit, (), False),
             (lambda f: pad(tag(hop(new_macs(f)))), ("--no-mac", "--no-vlan"),
              True)]
    for change, options, same in table:
        for f in frame, frame6:
            path = pcap.Capture([pcap.Packet(0, f), pcap.Packet(1000,
                                                                change(f))]
                                ).save(tool.tmp("forms.pcap"))
            out, _ = tool.filtered(path, "--key", "packet", *options)
            if (len(out.packets) == 1) != same:
                return f"{change.__name__} {options}: same should be {same}"
    return None


# windows of time

@functools.lru_cache(None)
def bursts():
    """Pauses of all lengths between bursts, equal stamps, and steps back."""
    rng = tap.drawn(7)
    ns, data, out = 10**18, [], []
    for i in range(6000):
        ns += rng.choice((0, 0, 1, 10, 1000, 10**5, 10**7)) * 1000
        if rng.random() < .01:
            ns += rng.randint(1, 40) * 10**8
        if data and rng.random() < .5:
            data.append(data[-min(len(data), rng.randint(1, 300))])
        else:
            data.append(i.to_bytes(4, "big") * 15)
        stamp = ns - rng.randint(1, 10**7) * 1000 if rng.random() < .02 else ns
        out.append(pcap.Packet(stamp, data[-1]))
    return pcap.Capture(out).save(tool.tmp("bursts.pcap"))


def time_law(packets, removed, window_ns):
    """Every packet seen in the last T is removed, and none older than the property allows;
    a packet whose stamp jumps is kept.
"""
    span = oracle.ceil_div(window_ns, 7)
    last = {}
    for i, (jumps, ns) in enumerate(oracle.Clock(packets, span).times):
        data = oracle.frame(packets[i])
        back = ns - last[data] if data in last else None
        last[data] = ns
        if jumps and removed[i]:
            return f"packet {i} jumps and is removed"
        if jumps:
            continue
        if back is not None and back <= window_ns and not removed[i]:
            return f"packet {i} repeats one {back} ns back and is kept"
        if removed[i] and (back is None or back > 8 * span):
            return f"packet {i} is removed; equal packet {back} ns back"
    return None


@tap.twice
def by_time(find, text, window_ns, first_seen=False):
    path = find()
    packets = pcap.load(path).packets
    options = ("--first-seen",) if first_seen else ()
    out, report = tool.filtered(path, "-w", text, *options)
    removed = oracle.align(packets, out.packets)
    clock = oracle.Clock(packets, oracle.ceil_div(window_ns, 7))
    told = tuple(report[k] for k in ("clock_back", "clock_back_ns",
                                     "clock_ahead"))
    if told != (len(clock.back), max(clock.back, default=0), clock.ahead):
        return f"steps of time are counted otherwise: {told}"
    if report["packets"]["saturated"]:
        return "saturated, though the file was read beforehand"
    want = oracle.verdicts(oracle.Window(ns=window_ns, first_seen=first_seen),
                           packets)
    return first_difference(removed, want) or \
        (None if first_seen else time_law(packets, removed, window_ns))


def by_time_editcap(find, text):
    path = find()
    packets = pcap.load(path).packets
    ours = oracle.align(packets, tool.filtered(path, "-w", text,
                                                exact=False)[0].packets)
    theirs = oracle.align(packets, tool.editcap(path, "-w", text).packets)
    missed = [i for i, (a, b) in enumerate(zip(theirs, ours)) if a and not b]
    return f"editcap removes {missed[:5]}, epfctl does not" if missed else None


@tap.twice
def by_rate():
    """From a pipe, with a sufficient rate, the result is the same as from the file."""
    path = bursts()
    want, _ = tool.filtered(path, "-w", "1")
    with open(path, "rb") as f:
        run = tool.epfctl("dedup", "--filter", "-w", "1", "--rate", "1M",
                          "-", "-",
                          stdin=subprocess.PIPE if False else f)
    with open(tool.tmp("piped.pcap"), "wb") as f:
        f.write(run.stdout)
    return None if pcap.load(tool.tmp("piped.pcap")).packets == want.packets \
        else "the packets differ"


def saturation():
    """A thousand times the packets that it was sized for: it fails open, and removes true
    repeats only.
"""
    rng = tap.drawn(5)
    data = [rng.randbytes(60) for _ in range(20000)]
    data += data[-1000:]
    path = pcap.Capture(pcap.Packet(i * 1000, d) for i, d in enumerate(data)
                        ).save(tool.tmp("flood.pcap"))
    out, report = tool.filtered(path, "-w", "10s", "--rate", "2", exact=False)
    counts = report["packets"]
    tap.may_fail(1e-13)  # 3 of 20,000 false positives: it fails open above 2e-9
    if counts["saturated"] < 900:
        return f"{counts['saturated']} of 1000 repeats passed for saturation"
    false = oracle.align(pcap.load(path).packets[:20000],
                         out.packets[:20000 - counts["removed"]])
    return f"{sum(false)} packets wrongly removed" if sum(false) > 2 else None


# other options of the window, and the output

@tap.twice
def first_seen(n):
    rng = tap.drawn(n)
    data = [b"%d" % rng.randint(0, 3 * n) for _ in range(40 * n + 2000)]
    path = pcap.Capture(pcap.Packet(i * 1000, d) for i, d in enumerate(data)
                        ).save(tool.tmp("first.pcap"))
    packets = pcap.load(path).packets
    out, _ = tool.filtered(path, "-D", n, "--first-seen")
    want = oracle.verdicts(oracle.Window(packets=n, first_seen=True), packets)
    return first_difference(oracle.align(packets, out.packets), want)


@tap.twice
def action_count(find):
    path = find()
    out, report = tool.filtered(path, "-D", "100", "--action", "count")
    _, dropped = tool.filtered(path, "-D", "100")
    if out.packets != pcap.load(path).packets:
        return "packets are missing"
    if report["packets"]["repeats"] != dropped["packets"]["removed"]:
        return "repeats are counted otherwise than dropped"
    return "reported as removed" if report["packets"]["removed"] else None


def removed_file(find):
    path = find()
    packets = pcap.load(path).packets
    out, _ = tool.filtered(path, "-D", "100", "--removed", tool.tmp("rm.pcap"),
                           exact=False)
    gone = pcap.load(tool.tmp("rm.pcap")).packets
    missing = oracle.align(packets, out.packets)
    want = [p for p, m in zip(packets, missing) if m]
    return None if gone == want else "not what is missing from OUT"


@tap.twice
def strict(find):
    path = find()
    out, report = tool.filtered(path, "-D", "100", "--strict")
    if report["filter"]["hash"] != "siphash24":
        return f"hash {report['filter']['hash']}"
    plain, report = tool.filtered(path, "-D", "100")
    if report["filter"]["hash"] != "nh":
        return f"hash {report['filter']['hash']} without --strict"
    return None if out.packets == plain.packets else "other packets"


def few(link=pcap.EN10MB, nano=True, snaplen=262144):
    """Twenty packets, each twice, with ns time stamps."""
    return pcap.Capture((pcap.Packet(10**18 + 1001 * i, b"%040d" % (i // 2),
                                     1500) for i in range(40)),
                        link, nano, snaplen)


def same_as_few(path, nano, options=("--keep-going",)):
    want = few()
    if not nano:
        for p in want.packets:
            p.ns -= p.ns % 1000
    out, _ = tool.filtered(path, *options)
    if out.nano != nano:
        return f"nano {out.nano}"
    return None if out.packets == want.packets[::2] else "the packets differ"


def pcap_formats():
    for nano in False, True:
        for order in "<", ">":
            path = few(nano=nano).save(tool.tmp("few.pcap"), order)
            fault = same_as_few(path, nano)
            if fault:
                return f"nano {nano}, order {order}: {fault}"
    return None


def pcapng_formats():
    """us without the option and with 6; ns; 2^-20 s is finer than us."""
    for tsresol, nano in (None, False), (6, False), (9, True):
        fault = same_as_few(few().save_ng(tool.tmp("few.pcapng"), tsresol),
                            nano)
        if fault:
            return f"if_tsresol {tsresol}: {fault}"
    out, _ = tool.filtered(few().save_ng(tool.tmp("few.pcapng"), 128 + 20))
    return None if out.nano else "2^-20 s cut to us"


def headers_kept():
    for link in pcap.EN10MB, pcap.RAW, pcap.IPV4, pcap.SLL2, pcap.USER0:
        for snaplen in 96, 65535:
            path = few(link, False, snaplen).save(tool.tmp("few.pcap"))
            out, _ = tool.filtered(path)
            if (out.link, out.snaplen) != (link, snaplen):
                return f"{link}, {snaplen} became {out.link}, {out.snaplen}"
    return None


def pipes():
    with open(few().save(tool.tmp("few.pcap")), "rb") as f:
        whole = f.read()
    run = tool.epfctl("dedup", "-", "-", input=whole)
    with open(tool.tmp("piped.pcap"), "wb") as f:
        f.write(run.stdout)
    got = pcap.load(tool.tmp("piped.pcap")).packets
    return None if got == few().packets[::2] else "the packets differ"


def no_packets():
    out, report = tool.filtered(pcap.Capture().save(tool.tmp("none.pcap")))
    if out.packets or report["packets"]["read"]:
        return "packets from nothing"
    out, _ = tool.filtered(tool.tmp("none.pcap"), "-w", "1")
    return "packets from nothing" if out.packets else None


def cases():
    bind = functools.partial
    out = [("packet key: each change by itself", forms)]
    finds = [(f"made traffic, link type {LINKS[k]}", bind(made, k))
             for k in LINKS]
    finds += [(name, bind(tool.real, folder, name))
              for folder, name in tool.REAL]
    begun = [(name, bind(tool.beginning, folder, name)) for folder, name in tool.REAL]
    for name, find in finds[:len(LINKS)] + begun:
        for options, *key in KEYS:
            out.append((f"{name} {' '.join(options)}",
                        bind(by_key, find, options, *key, 500)))
    out.append(("made traffic, packet key, first-seen",
                bind(by_key, bind(made, model.ETHER), *KEYS[0], 100, True)))
    times = ("0.000001", 1000), ("0.5", 5 * 10**8), ("1s", 10**9), \
        ("1ms", 10**6), ("10m", 600 * 10**9)
    for name, find in [("bursts", bursts)] + finds[len(LINKS):]:
        for text, ns in times:
            out.append((f"{name} -w {text}", bind(by_time, find, text, ns)))
    out += [("bursts -w 1 --first-seen",
             bind(by_time, bursts, "1", 10**9, True)),
            ("1kxun.pcap -w 0.5: what editcap removes",
             bind(by_time_editcap, finds[len(LINKS)][1], "0.5")),
            ("-w --rate from a pipe", by_rate),
            ("saturation fails open", saturation)]
    out += [(f"-D {n} --first-seen", bind(first_seen, n))
            for n in (1, 2, 7, 8, 100, 1000)]
    one = bind(made, model.ETHER)
    out += [("--action count", bind(action_count, one)),
            ("--removed", bind(removed_file, one)),
            ("--strict", bind(strict, one)),
            ("pcap: both byte orders, us and ns", pcap_formats),
            ("pcapng: time stamp resolutions", pcapng_formats),
            ("link type and snap length are kept", headers_kept),
            ("standard input and output", pipes),
            ("a capture of no packets", no_packets)]
    return out


if __name__ == "__main__":
    tool.need_epfctl()
    tap.main(tap.chosen(cases()))
