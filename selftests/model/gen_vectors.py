#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the known-answer vectors of the reference model, include/epf/vectors.h,
to standard output. The output is the same in every run.
"""

import textwrap

import hashes
import lanes
import packets
from frames import all_frames, control as control_frames, flow_frames
from hashes import M64

HEAD = """\
/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Known answers of the reference model in selftests/model/. Generated:
 *
 *   python3 selftests/model/gen_vectors.py > include/epf/vectors.h
 *
 * The model is written from the paper and the specification, not from the C.
 * kat.h says how the vectors are run and how results fold into digests.
 */
/* clang-format off */
#ifndef EPF_VECTORS_H
#define EPF_VECTORS_H

#include "shim.h"

#ifndef EPF_KAT_TABLE
#define EPF_KAT_TABLE static const /* where the platform keeps tables */
#endif
"""

KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
KEY_LENGTHS = 257
NH_BYTES = 1300
# All remainders of pairs of words; the last ones begin, fill and end blocks.
NH_LENGTHS = list(range(0, NH_BYTES, 13)) + [
    n + by for n in (64, 512, 1024) for by in (-16, -8, -1, 0, 1, 8, 16)]
FILTER_LINES = 64
TEST, INSERT, TEST_AND_INSERT, ROTATE, COVERED_INSERTS, COVERED_NS = range(6)


class Random:
    """Random numbers that are the same in every version of Python."""

    def __init__(self, seed):
        self.seed, self.n = seed, 0

    def below(self, n):
        self.n += 1
        return hashes.splitmix(self.seed, self.n) % n


class Fold:
    """Fold results to one number; kat.h does the same."""

    def __init__(self):
        self.value = 0

    def add(self, result):
        self.value = hashes.word((self.value + result) & M64, 1)


def hex64(v):
    return f"0x{v:x}ULL" if v >= 1 << 31 else str(v)


def table(kind, name, rows):
    """Return a C array, its elements packed into lines."""
    body = textwrap.wrap(", ".join(rows), 88, break_long_words=False)
    return "\n\t".join([f"EPF_KAT_TABLE {kind} {name}[] = {{"] + body) + \
        "\n};\n"


def pattern():
    """No two blocks of NH are equal."""
    return bytes(i % 251 for i in range(NH_BYTES + 1))


def hash_section(fold):
    key = pattern()
    text = [f"#define EPF_KAT_LENGTHS {KEY_LENGTHS}u\n"
            f"#define EPF_KAT_KEY0 {hex64(KEY[0])}\n"
            f"#define EPF_KAT_KEY1 {hex64(KEY[1])}\n"]
    rows = []
    for kind in hashes.SIPHASH13, hashes.SIPHASH24:
        for n in range(KEY_LENGTHS):
            d = hashes.digest(KEY, kind, key[:n])
            fold.add(d)
            rows.append(hex64(d))
    text.append(table("__u8", "epf_kat_key", [str(b) for b in key]))
    text.append("/* SipHash-1-3 of the first 0, 1, .. bytes of the key, then "
                "SipHash-2-4. */")
    return "\n".join(text + [table("__u64", "epf_kat_digest", rows)])


def nh_section(fold):
    rows = []
    for n in NH_LENGTHS:
        d = hashes.digest(KEY, hashes.NH, pattern()[:n])
        fold.add(d)
        rows.append(hex64(d))
    return "/* Of so many first bytes of the key. */\n" + \
        table("__u16", "epf_kat_nh_len", [str(n) for n in NH_LENGTHS]) + "\n" + \
        table("__u64", "epf_kat_nh", rows)


PER_SHAPE = 8
GEOMETRIES = [
    (64, 1, 1), (64, 1, 4), (64, 1, 15), (64, 2, 2), (64, 2, 30), (64, 4, 4),
    (64, 4, 60), (65, 1, 5), (68, 4, 8), (1000, 2, 10), (1000, 4, 12),
    (12345677, 1, 6), (99999998, 2, 28), (1 << 24, 4, 32), (1 << 29, 1, 5),
    ((1 << 29) - 1, 1, 11), (1 << 30, 2, 12), ((1 << 30) - 2, 2, 8),
    (1 << 31, 4, 16), ((1 << 31) - 4, 4, 20), (1 << 31, 4, 56),
]


def geometry_section(fold):
    text = [f"""\
#define EPF_KAT_PER_SHAPE {PER_SHAPE}u /* rows of epf_kat_geom */

struct epf_kat_shape {{
	__u32 nr_lines;
	__u16 parts;
	__u16 k;
}};

struct epf_kat_geom {{
	__u64 digest;
	__u32 line[4];
	__u64 mask[4];
}};
"""]
    shapes, rows = [], []
    for shape in GEOMETRIES:
        g = lanes.Geometry(*shape)
        shapes.append("{%du, %d, %d}" % shape)
        for i in range(PER_SHAPE):
            d = (0, 1, M64, 1 << 63)[i] if i < 4 else \
                hashes.splitmix(sum(shape), i)
            line = [g.line(d, j) for j in range(g.parts)]
            mask = [g.mask(d, j) for j in range(g.parts)]
            for pair in zip(line, mask):
                fold.add(pair[0])
                fold.add(pair[1])
            rows.append(f"{{{hex64(d)}, {{{', '.join(map(str, line))}}}, "
                        f"{{{', '.join(map(hex64, mask))}}}}}")
    return "\n".join(text + [
        table("struct epf_kat_shape", "epf_kat_shape", shapes),
        table("struct epf_kat_geom", "epf_kat_geom", rows)])


# parts, k, mode, first seen, W, T, strict hash
SCRIPTS = [
    (1, 5, lanes.COUNT, 0, 35, 0, 0),
    (2, 6, lanes.COUNT, 1, 40, 0, 0),
    (4, 16, lanes.COUNT, 0, 20, 0, 1),
    (1, 15, lanes.TIME, 1, 0, 700, 0),
    (2, 30, lanes.EITHER, 0, 43, 800, 0),
    (4, 24, lanes.BOTH, 1, 15, 500, 1),
]
OPS = 420
IDLE = range(200, 240)  # rotations with nothing inserted: tags come round


def script_ops(f, strict, seed):
    """Yield operations on f with their results: (op, key, dt, result)."""
    rnd = Random(seed)
    recent = []
    for n in range(OPS):
        op = (TEST, INSERT, TEST_AND_INSERT, TEST_AND_INSERT)[rnd.below(4)]
        dt = rnd.below(30)
        if n in IDLE:
            op = (ROTATE, TEST)[n % 5 == 4]
        elif n % 50 == 49:
            op = (COVERED_INSERTS, COVERED_NS, ROTATE)[n // 50 % 3]
        fresh = rnd.below(3) == 0 or not recent
        key = rnd.below(60000) if fresh else recent[-1 - rnd.below(
            min(len(recent), 60))]
        f.advance(dt)
        recent += [key] if op in (INSERT, TEST_AND_INSERT) else []
        yield op, key, dt, operate(f, op, hashes.digest(
            KEY, strict, key.to_bytes(4, "little")))


def operate(f, op, digest):
    if op in (TEST, TEST_AND_INSERT):
        age = f.age(digest) if op == TEST else f.test_and_insert(digest)
        return 0 if age is None else 1 + age
    if op in (INSERT, ROTATE):
        f.insert(digest) if op == INSERT else f.rotate()
        return f.number
    return f.covered_inserts() if op == COVERED_INSERTS else f.covered_ns()


def filter_section(fold):
    text = [f"""\
#define EPF_KAT_LINES {FILTER_LINES}u
#define EPF_KAT_OPS {OPS}u /* of each script */

/* @result: test: 0 or 1 + age; insert, rotate: the epoch afterwards; covered:
 * insertions, ns. Before each operation @dt ns pass, then the epoch ends if
 * that is due.
 */
enum epf_kat_code {{
	EPF_KAT_TEST, EPF_KAT_INSERT, EPF_KAT_TEST_AND_INSERT, EPF_KAT_ROTATE,
	EPF_KAT_COVERED_INSERTS, EPF_KAT_COVERED_NS
}};

struct epf_kat_op {{
	__u16 op;
	__u16 key;
	__u16 dt;
	__u16 result;
}};

struct epf_kat_script {{
	__u16 parts;
	__u16 k;
	__u16 mode;
	__u16 first_seen;
	__u16 inserts;
	__u16 ns;
	__u16 strict;
}};
"""]
    heads, rows = [], []
    for i, (parts, k, mode, first, w, t, strict) in enumerate(SCRIPTS):
        f = lanes.Filter(lanes.Geometry(FILTER_LINES, parts, k), mode, first,
                         w, t)
        heads.append(f"{{{parts}, {k}, {mode}, {first}, {w}, {t}, {strict}}}")
        for row in script_ops(f, strict, i + 1):
            fold.add(row[3])
            rows.append("{%d, %d, %d, %d}" % row)
        assert f.number > lanes.FIRST_EPOCH + 40
    return "\n".join(text + [
        table("struct epf_kat_script", "epf_kat_script", heads),
        table("struct epf_kat_op", "epf_kat_op", rows)])


SCOPE = 7, 0x0BADF00D  # interface, mark
PREFIX = 24 | 64 << 8


def flow_choices(number):
    """Options of keys made from flows; each frame has others besides the first few."""
    yield packets.FLOW, packets.REVERSE | packets.ERRORS, 0
    yield packets.FLOW, packets.FIRST, 0
    yield packets.CONVERSATION, packets.ERRORS, 0
    yield packets.PEER, 0, PREFIX
    yield packets.PEER_PORT, packets.ERRORS | packets.FIRST, 0
    scopes = packets.VLAN * (1 + number % 7)
    for key, most in ((packets.FLOW, 0), (packets.CONVERSATION, 0),
                      (packets.PEER, 31 | 127 << 8),
                      (packets.PEER_PORT, (8, 9, 17, 0)[number % 4] |
                       (8, 65, 0, 63)[number // 4 % 4] << 8)):
        flags = (packets.PASS_CONTROL, packets.REVERSE, packets.ERRORS,
                 packets.REVERSE | packets.ERRORS,
                 packets.ERRORS | packets.FIRST)[number % 5]
        if key == packets.CONVERSATION:
            flags &= ~packets.REVERSE
        if key == packets.PEER:
            flags &= ~packets.FIRST
        yield key, flags | scopes, most
        if number % 4 == key - packets.FLOW:
            zone = (0, 1, 255, 256, 65535)[number // 4 % 5]
            others = packets.VLAN * (number // 4 % 4)
            yield key, flags | packets.ZONE | others, most | zone << 16


def packet_choices(link, control):
    """Yield (key, flags, max_bytes) that are worth testing."""
    if control:
        for key in packets.FRAME, packets.PACKET, packets.FLOW:
            yield key, packets.PASS_CONTROL, 0
        return
    yield packets.FRAME, 0, 0
    yield packets.FRAME, 0, 33
    for flags in range(4 if link == packets.ETHER else 1):
        yield packets.PACKET, flags, 0
    yield packets.PACKET, packets.NO_MAC | packets.NO_VLAN, 27
    yield packets.FLOW, 0, 0
    yield packets.FLOW, packets.NONIP_FRAME, 0
    yield packets.FLOW, packets.PASS_CONTROL, 0


def packet_result(octets, link, choice):
    """Return (return code, digest)."""
    key, flags, max_bytes = choice
    try:
        text = packets.canonical(octets, key, link, flags, max_bytes, SCOPE)
    except packets.Truncated:
        return 1, 0
    except packets.Malformed:
        return 2, 0
    except packets.NotIp:
        return 3, 0
    except packets.Fragment:
        return 4, 0
    except packets.Control as told:
        return 16 + told.number, 0
    return 0, hashes.digest(KEY, 0, text)


def packet_section(fold):
    text = ["""\
#define EPF_KAT_IFACE %d
#define EPF_KAT_MARK 0x%x

/* @ret: 0, 1 ENODATA, 2 EBADMSG, 3 EPROTO, 4 ENOMSG, 16 + enum epf_control. The
 * frame is the @len bytes of epf_kat_frame at @at.
 */
struct epf_kat_pkt {
	__u16 at;
	__u16 len;
	__u8 key;
	__u8 link;
	__u16 flags;
	__u32 max_bytes;
	__u16 ret;
	__u64 digest;
};
""" % SCOPE]
    blob, rows, number = b"", [], 0
    control = control_frames()
    flows = flow_frames()
    for link, octets, lengths in all_frames() + flows:
        for n in lengths or (len(octets),):
            choices = list(flow_choices(number))
            number += 1
            if (link, octets, lengths) in flows:
                choices.append((packets.FLOW, 0, 0))
            else:
                choices += packet_choices(link, (link, octets, lengths)
                                          in control)
            for choice in choices:
                ret, digest = packet_result(octets[:n], link, choice)
                fold.add(ret or digest)
                rows.append("{%d, %d, %d, %d, %d, %d, %d, %s}" % (
                    len(blob), n, choice[0], link, *choice[1:], ret,
                    hex64(digest)))
        blob += octets
    return "\n".join(text + [
        table("__u8", "epf_kat_frame", [str(b) for b in blob]),
        table("struct epf_kat_pkt", "epf_kat_pkt", rows)])


def main():
    print(HEAD)
    total = Fold()
    sums = []
    for make in (hash_section, nh_section, geometry_section, filter_section,
                 packet_section):
        fold = Fold()
        print(make(fold))
        sums.append(fold.value)
        total.add(fold.value)
    print("/* What the results of each section fold to, and all of them. */")
    print(table("__u64", "epf_kat_sum", [hex64(v) for v in sums]))
    print(f"#define EPF_KAT_TOTAL {hex64(total.value)}\n")
    print("#endif /* EPF_VECTORS_H */")


main()
