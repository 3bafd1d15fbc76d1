#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""seeds.py DIR: first inputs of the fuzz targets, in DIR/TARGET. They are what
the targets' own descriptions of an input say; a long run starts from them.
"""

import os
import struct
import sys
import tempfile

for near in ("model", "dedup"):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", near))
sys.dont_write_bytecode = True

import frames
from packets import FLOW, FRAME, NO_MAC, NONIP_FRAME, PACKET
from pcap import EN10MB, RAW, SLL2, USER0, Capture, Packet


def le16(v):
    return v.to_bytes(2, "little")


def packet():
    """Each frame under each set of options, cut in three."""
    asked = [(PACKET, 0, 0), (FLOW, 0, 0), (FLOW, NONIP_FRAME, 0),
             (PACKET, NO_MAC, 0), (PACKET, 0, 40), (FRAME, 0, 60)]
    for i, (link, octets, _) in enumerate(frames.all_frames()):
        for key, flags, most in asked:
            yield bytes([key, link, flags]) + le16(most) + \
                bytes([2 | i % 2 << 7, 14 + i % 9, 20]) + octets


def header(name=b"sample", kind=(0, 0, 0, 0), shape=(2, 10, 64),
           window=(700, 0), rates=(10 ** 8, 2 * 10 ** 8), epochs=(8, 9),
           version=1):
    """struct epf_snap_header without its checksums."""
    size = 288
    out = struct.pack("<8sII", b"EEPFSNP", version, size) + \
        struct.pack("<32s4BHHQ", name, *kind, *shape) + \
        struct.pack("<6Q", *window, *rates, 1, 2) + \
        struct.pack("<4Q", *epochs, 123, 1700000000 * 10 ** 9)
    return out.ljust(size, b"\0")


def snap():
    """Headers of every kind, the file mended or not, and parts of them."""
    sound = [header(), header(kind=(0, 1, 1, 1), window=(0, 10 ** 9)),
             header(b"a.b-c_9", (0, 0, 2, 0), (1, 15, 65), (5, 5)),
             header(b"x", (0, 1, 3, 0), (4, 60, 128), (1, 1), (1, 10 ** 12))]
    odd = [header(b""), header(b".a"), header(b"a\x1b[2J"), header(b"a" * 32),
           header(shape=(3, 10, 66)), header(shape=(2, 31, 64)),
           header(window=(0, 0)), header(rates=(0, 0)), header(rates=(2, 1)),
           header(epochs=(9, 8)), header(epochs=(7, 8)), header(version=2),
           header(kind=(9, 0, 0, 0)), header(kind=(0, 9, 0, 0)),
           header(shape=(2, 10, 1 << 58)), header(shape=(1, 5, 63))]
    for octets in sound + odd:
        yield b"\7\0\1" + octets
    for how in range(7):
        yield bytes([how, 9, 2]) + sound[0] + bytes(64)
    for n in (0, 4, 8, 15, 16, 200):
        yield b"\7\0\1" + sound[0][:n]


TEXT, HEX, JSON, NUL, DIGESTS = 0, 1, 2, 8, 16


def keys():
    texts = {
        TEXT: [b"", b"one\ntwo\nthree", b"a\n\n", b"-", b"x" * 256 + b"\n",
               b"y" * 257, b"192.0.2.7\n2001:db8::1\n", bytes(range(11, 99))],
        HEX: [b"00ff\nABcd\n", b"0", b"zz", b"12" * 256, b"12" * 257],
        JSON: [b'"key"\n{"key":"k"}\n{"hex":"00fF"}', b'{"key":1}', b"{}",
               b'"\\u0000\\ud83d\\ude00\\n"', b'[{"hex":"00"}]', b"null",
               b'{"key":"a","hex":"00"}', b'"' + b"z" * 257 + b'"'],
    }
    for form, all_texts in texts.items():
        for text in all_texts:
            yield bytes([form, 3]) + text
            yield bytes([form | NUL, 200]) + text.replace(b"\n", b"\0")
    for text in (b"0123456789abcdef\nFEDCBA9876543210\n", b"0123"):
        yield bytes([TEXT | DIGESTS, 16]) + text
        yield bytes([HEX | DIGESTS, 1]) + text
    yield bytes([JSON | DIGESTS, 9]) + b'{"hex":"0123456789abcdef"}'


def captures():
    """Real frames, each twice, as pcap of both orders and precisions, pcapng."""
    some = [octets for link, octets, _ in frames.all_frames()
            if link == 0 and octets][:60:6]
    packets = [Packet(10 ** 9 * 1700000000 + i * 1001, octets)
               for i, octets in enumerate(some + some[::-1])]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "capture")
        for few in (packets[:2], packets[8:12], packets, []):
            for link in (EN10MB, RAW, SLL2, USER0):
                yield open(Capture(few, link).save(path), "rb").read()
            yield open(Capture(few, nano=True).save(path, ">"), "rb").read()
            for resol in (None, 9, 3, 0x80 | 20):
                yield open(Capture(few).save_ng(path, resol), "rb").read()


def capture():
    for i, octets in enumerate(captures()):
        yield bytes([i * 37 & 0xFF, i * 11 & 0xFF]) + octets
        yield bytes([i * 53 & 0xFF, i * 7 & 0xFF]) + octets[:-i - 1]
    for magic in (b"", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\xfd7zX"):
        yield b"\0\0" + magic


NUMBERS = 0x80


def options():
    lines = """
        plan -W 1M|plan -T 10s --rate 1e6 -b 100ppm -j|create a -W 1000000
        plan --window=7 --mode both --time 1h --rate 10k --memory 2GiB -p
        create x -T 500ms --lines 64 --lines-per-key 2 --bits-per-key 10
        create y --mode either -W 5 -T 1d --limit never --strict --first-seen
        create z -W 9 --key 000102030405060708090a0b0c0d0e0f --limit 0.1%
        list|list --names -j|show some|show 7 -j|show -f file|show -f 12345678
        destroy a --force|insert a one two|insert a --format hex 00ff -0
        insert a --digest 0123456789abcdef|test a k --insert -q|test none x
        test a -c --format json "k"|test a -j -|test a -f nowhere|rotate a -n 8
        clear a|swap a b|swap a none|save a file|restore a 12345678 --existing
        restore none 12345678|watch a|watch a -n 3 --interval 1s|doctor|--help
        attach eth0 --filter a|attach eth0 -f a --key packet --no-mac --no-vlan
        attach e -f a --action mark --mark 0x10 --mode native --prio 9
        attach e -f a --key flow --nonip frame --no-dispatcher|detach eth00
        dedup in out -D 5 --key packet --bytes 64 --removed r --keep-going
        dedup - out -w 1.5 --rate 9 --action count --strict --first-seen
        dedup in out -j --memory 64M --budget 1e-9|plan --help|help|-V|pla
        dedup --nonip pass in - --key flow|--json plan -W|plan --window
        status|plan -b 2 -W 1|create .x -W 1|attach e|swap a a|plan -x|""\
        """.replace("\n", "|").replace("\\", "").split("|")
    for i, line in enumerate(lines):
        yield bytes([i % 9 // 8 * (i % 6)]) + \
            line.strip().replace(" ", "\n").encode()
    for line in ("dedup in out -j --removed r", "save a f -j",
                 "show -j --file twelveletters"):  # names that are not UTF-8
        yield b"\0" + line.replace(" ", "\n").encode() + b"\xff\xfe"
    for text in ("1", "1000000", "1e6", "1M", "2GiB", "1.5kB", "10s", "500ms",
                 "0.000001s", "1e-4", "0.01%", "100ppm", "5ppb", "0x10", "-1",
                 "4611686018427387904ns", "1e99999", ".5", "1e-400", "name.x_-",
                 "000102030405060708090a0b0c0d0e0f", "1099511627775", "inf"):
        yield bytes([NUMBERS]) + text.encode()


TARGETS = {"packet": packet, "snap": snap, "keys": keys, "capture": capture,
           "options": options}


def main():
    for target, make in TARGETS.items():
        folder = os.path.join(sys.argv[1], target)
        os.makedirs(folder, exist_ok=True)
        for i, seed in enumerate(make()):
            with open(os.path.join(folder, f"seed-{i:03}"), "wb") as f:
                f.write(seed)


if __name__ == "__main__":
    main()
