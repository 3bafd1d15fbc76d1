#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Properties of epfctl dedup --filter -D N with key frame, on real and generated captures.

 1. Whatever `editcap -D N` removes is removed.
 2. Whatever else is removed is a true repeat, at most 8 * ceil(N/7) back.
 3. With N at least the length of the file, the same packets are kept.
 4. Every verdict is that of the exact model of the window.
"""

import functools

import oracle
import pcap
import tap
import tool

WINDOWS = 1, 2, 5, 7, 8, 100, 1000


def judge(packets, removed, n):
    """Check properties 1, 2 and 4 on a list of verdicts; return the text of the first
    violation."""
    furthest = 8 * oracle.ceil_div(n, 7)
    model = oracle.verdicts(oracle.Window(packets=n), packets)
    for i, back in enumerate(oracle.distances(packets)):
        if back is not None and back < n and not removed[i]:
            return f"packet {i} repeats one {back} back and is kept"
        if removed[i] and (back is None or back > furthest):
            return f"packet {i} is removed; equal packet {back} back"
        if removed[i] != model[i]:
            return f"packet {i} at {back}: removed {removed[i]}, model says " \
                f"{model[i]}"
    return None


@functools.lru_cache(maxsize=2)
def loaded(path):
    return pcap.load(path)


@tap.twice
def law(find, n):
    path = find()
    packets = loaded(path).packets
    out, report = tool.filtered(path, "-D", n)
    removed = oracle.align(packets, out.packets)
    if report["packets"]["removed"] != sum(removed):
        return "the report counts otherwise"
    if report["packets"]["read"] != len(packets):
        return "not all packets were read"
    return judge(packets, removed, n)


@functools.lru_cache(maxsize=1)
def by_editcap(path, n):
    return tool.editcap(path, "-D", n)


def law_editcap(find, n):
    """Property 1 again, against editcap itself."""
    path = find()
    packets = loaded(path).packets
    theirs = oracle.align(packets, by_editcap(path, n).packets)
    if theirs != oracle.editcap(packets, n):
        return "editcap is not what the oracle takes it for"
    ours = oracle.align(packets, tool.filtered(path, "-D", n, exact=False)[0].packets)
    missed = [i for i, (a, b) in enumerate(zip(theirs, ours)) if a and not b]
    return f"editcap removes {missed[:5]}, epfctl does not" if missed else None


@tap.twice
def law_whole(find, n):
    """Property 3: equal records. (editcap takes minutes for -D 1000000.)"""
    path = find()
    theirs = by_editcap(path, len(loaded(path).packets) + 1)
    ours, _ = tool.filtered(path, "-D", n)
    if (ours.link, ours.nano) != (theirs.link, theirs.nano):
        return "the headers differ"
    return None if ours.packets == theirs.packets else "the packets differ"


def made_packets(n, count, seed):
    """Repeats at the distances where verdicts change, and at others."""
    rng = tap.drawn(seed)
    end = 8 * oracle.ceil_div(n, 7)
    edges = [d for d in (1, 2, n - 1, n, n + 1, end - 1, end, end + 1)
             if d > 0]
    data = []
    for i in range(count):
        back = rng.choice(edges) if rng.random() < .5 else \
            rng.randint(1, 2 * end)
        if rng.random() < .5 and back <= i:
            data.append(data[i - back])
        else:
            data.append(i.to_bytes(4, "big") + rng.randbytes(
                rng.choice((0, 1, 7, 8, 56, 60, 1496))))
    return [pcap.Packet((10**9 + i) * 1000, d) for i, d in enumerate(data)]


def made(n):
    return pcap.Capture(made_packets(n, 3000 + 6 * n, n)).save(
        tool.tmp(f"made{n}.pcap"))


def one_kind():
    """The same packet over and over, then others, then the same again."""
    data = [b"x" * 60] * 500 + [bytes([i]) * 60 for i in range(100)] + \
        [b"x" * 60] * 10
    return pcap.Capture(pcap.Packet(i * 1000, d) for i, d in enumerate(data)
                        ).save(tool.tmp("one.pcap"))


def prefixes():
    """Packets that differ in length, or in the last bit, only."""
    data = [b"", b"\0", b"\0" * 2, b"\0" * 7, b"\0" * 8, b"\0" * 9]
    data += [b"\0" * n for n in (63, 64, 65)] + [b"\0" * 63 + b"\1"]
    return pcap.Capture(pcap.Packet(i * 1000, d)
                        for i, d in enumerate(data * 3)
                        ).save(tool.tmp("prefixes.pcap"))


def sources(real=tool.real):
    out = [(name, functools.partial(real, folder, name))
           for folder, name in tool.REAL]
    return out + [("one packet over and over", one_kind),
                  ("prefixes", prefixes)]


def cases():
    out = []
    for name, find in sources():
        for n in WINDOWS:
            out.append((f"{name} -D {n}: oracle",
                        functools.partial(law, find, n)))
            out.append((f"{name} -D {n}: editcap",
                        functools.partial(law_editcap, find, n)))
    for name, find in sources(tool.beginning):
        for n in (1000000, 99999999999):
            out.append((f"{name} -D {n}: the same packets as editcap",
                        functools.partial(law_whole, find, n)))
    for n in WINDOWS:
        find = functools.partial(made, n)
        out.append((f"distances around {n}: oracle",
                    functools.partial(law, find, n)))
        out.append((f"distances around {n}: editcap",
                    functools.partial(law_editcap, find, n)))
    return out


if __name__ == "__main__":
    tool.need_epfctl()
    tap.main(tap.chosen(cases()))
