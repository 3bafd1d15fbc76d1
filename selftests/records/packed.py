#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compressed input, made by Python's gzip and lzma and by zstd: what is read from it is what
is read from its content, and from damaged input what lies before the damage.

usage: packed.py [FUNCTION]...
"""

import bz2
import gzip
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

from common import *
import flows
import pcap
import tap

E2BIG = 7


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


PACKERS = [("gzip", gzip.compress), ("xz", lzma.compress), ("zstd", zstd),
           ("gzip in blocks", lambda data: b"".join(
               gzip.compress(data[i:i + 7000]) for i in range(0, len(data), 7000))),
           ("xz in streams", lambda data: b"".join(
               lzma.compress(data[i:i + 9000]) + bytes(4) * (i % 3)
               for i in range(0, len(data), 9000))),
           ("zstd in frames", lambda data: struct.pack("<II", 0x184D2A53, 5) + b"hello" +
            b"".join(zstd(data[i:i + 9000]) for i in range(0, len(data), 9000)) +
            struct.pack("<II", 0x184D2A50, 0))]


def lines(n, seed=1):
    r = rng(seed)
    return [b"%d.%d,%d" % (i, r.randrange(10 ** 9), r.randrange(100)) for i in range(n)]


def text(n):
    return b"\n".join(lines(n)) + b"\n"


def captured(n=300):
    r = rng(5)
    frames = [bytes(r.randrange(256) for _ in range(60 + i % 40)) for i in range(n)]
    return struct.pack("<IHHiIII", pcap.MAGIC_US, 2, 4, 0, 0, 65535, pcap.EN10MB) + b"".join(
        struct.pack("<IIII", i, 0, len(frame), len(frame)) + frame
        for i, frame in enumerate(frames))


def nfdumped(n=400):
    return b"ts,te,sa,da,sp,dp,pr\n" + b"".join(
        b"x,x,10.0.%d.%d,10.9.9.9,%d,53,UDP\n" % (i // 250, i % 250, i) for i in range(n))


def exported(n=400):
    """IPFIX: a template, and records of it."""
    return flows.message(flows.template(256, *flows.PLAIN)) + b"".join(
        flows.message(flows.a_set(256, flows.plain(1000 + i) + flows.plain(9000 + i)))
        for i in range(n))


def told(n=400):
    return b"".join(b'{"a":"key %d"}\n' % i for i in range(n))


# (content, format, options)
CONTENTS = [(text(3000), "csv", ["fields=1"]), (text(2000), "csv", []),
            (told(), "auto", ["fields=a"]), (nfdumped(), "auto", ["key=flow"]),
            (captured(), "auto", ["key=frame"])]


def as_plain(packed, plain, form, options):
    """From a pipe and from a file, it reads as its content does."""
    want = read(plain, form, *options)
    with tempfile.TemporaryFile() as f:
        f.write(packed)
        f.seek(0)
        by_file = read(f, form, *options)
    by_pipe = read(packed, form, *options)
    return differ("records of the content", want.records > 100, True) or \
        differ("pipe", by_pipe.pairs == want.pairs, True) or \
        differ("file", by_file.pairs == want.pairs, True) or \
        differ("counts", (by_file.records, by_file.keyless, by_file.error),
               (want.records, want.keyless, 0)) or \
        differ("format", by_file.format, want.format) or \
        differ("prologue", by_file.prologue, want.prologue) or \
        differ("bytes of the file", by_file.bytes, len(packed))


def same():
    return first(as_plain(pack(plain), plain, form, options)
                 for plain, form, options in CONTENTS for _, pack in PACKERS)


def empty():
    """Nothing, compressed, is nothing."""
    return first(expect(read(pack(b""), "csv", "fields=1"), [])
                 for pack in (gzip.compress, lzma.compress, zstd)) or \
        first(expect(read(pack(b"") + pack(b"a,b\n"), "csv", "fields=1"), [b"a"])
              for pack in (gzip.compress, lzma.compress, zstd))


def before(got, keys):
    """What was read is a beginning of all keys."""
    return differ("keys", got.digests == [digest(k) for k in keys[:len(got.digests)]], True)


def unpacked(name, data):
    """How much of it a decoder of Python's gets out of a beginning."""
    if name.startswith("zstd"):
        return None
    d = zlib.decompressobj(31) if name == "gzip" else lzma.LZMADecompressor()
    return d.decompress(data)


def cut(name, pack):
    """Cut off after every 1000th byte: an error, and no whole line before it is lost."""
    keys = lines(4000)
    plain = b"\n".join(keys) + b"\n"
    packed = pack(plain)
    for end in range(1000, len(packed), 1000 * STRIDE):
        got = read(packed[:end], "csv")
        part = unpacked(name, packed[:end])
        fault = differ("error", got.error, EBADMSG) or before(got, keys) or \
            differ("offset", f"at byte {end}" in got.why and "cut off" in got.why, True) or \
            (part is not None and differ("records", got.records, part.count(b"\n")))
        if fault:
            return f"{name}, {end} bytes: {fault}: {got.why}"
    return None


def cut_anywhere():
    return next(filter(None, (cut(name, pack) for name, pack in PACKERS[:3])), None)


def flipped(name, pack):
    """A bit flipped: an error, or a flip that no checksum covers. Up to what a decoder
    passes on before it knows, the keys are those of the file.
    """
    keys = lines(4000)
    packed = pack(b"\n".join(keys) + b"\n")
    r = rng(3)
    errors, flips = 0, 150 // STRIDE
    for _ in range(flips):
        at = r.randrange(len(packed))
        bad = bytearray(packed)
        bad[at] ^= 1 << r.randrange(8)
        got = read(bytes(bad), "csv", "skip-bad", memory=512 << 20)
        if not got.error and got.bad == 0 and got.digests != [digest(k) for k in keys]:
            if at > 10:
                return f"{name}: bit of byte {at}: other keys without an error"
        errors += bool(got.error)
    return None if errors > flips * 0.8 else f"{name}: {errors} errors of {flips}"


def bits():
    return next(filter(None, (flipped(name, pack) for name, pack in PACKERS[:3])), None)


def garbage():
    """Bytes after the last member are damage, except for zeros after gzip's and xz's."""
    keys = [b"a", b"b"]
    more = b"garbage behind the end"
    for name, pack in PACKERS[:3]:
        packed = pack(b"a\nb\n")
        got = read(packed + more, "csv")
        at = re.search(r"at byte (\d+)", got.why)
        fault = expect(got, keys, EBADMSG) or \
            differ("offset", bool(at) and len(packed) <= int(at[1]) <= len(packed + more), True)
        if fault:
            return f"{name}: {fault}: {got.why}"
    return expect(read(gzip.compress(b"a\nb\n") + bytes(5000), "csv"), keys) or \
        expect(read(lzma.compress(b"a\nb\n") + bytes(4000), "csv"), keys)


def twice():
    return first(differ("why", "compressed twice" in
                        read(pack(gzip.compress(told())), "auto", "fields=a").why, True)
                 for _, pack in PACKERS[:3])


def repeated(piece, times):
    """Gzip of it so many times: blocks that need nothing of the ones before are made once."""
    d = zlib.compressobj(9, zlib.DEFLATED, -15)
    block, crc = d.compress(piece) + d.flush(zlib.Z_FULL_FLUSH), 0
    for _ in range(times):
        crc = zlib.crc32(piece, crc)
    return gzip.compress(b"")[:10] + block * times + d.flush() + \
        struct.pack("<II", crc, len(piece) * times)


def bomb():
    """1 GiB of one byte, in 64 MiB of memory: refused as a line that is too long; and blank
    lines, which are read.
    """
    piece = b"x" * (1 << 20)
    gz = repeated(piece, 1024)
    for packed in (gz, lzma.compress(piece * 256, preset=0), zstd(piece * 256)):
        got = read(packed, "csv", memory=64 << 20)
        fault = expect(got, [], EBADMSG) or differ("why", "longer than" in got.why, True)
        if fault:
            return fault
    blank = piece.replace(b"x", b"\n") * 64
    return first(expect(read(pack(blank), "csv", "fields=1", memory=64 << 20), [])
                 for pack in (gzip.compress, zstd))


def barren():
    """Members without content: above 16 MiB of them are an error."""
    none = gzip.compress(b"")
    few = none * 1000 + gzip.compress(b"a\n")
    many = none * ((17 << 20) // len(none))
    got = read(many, "csv")
    most, more = (struct.pack("<II", 0x184D2A50, n - 8) + bytes(n - 8)
                  for n in (16 << 20, (16 << 20) + 1))
    return expect(read(few, "csv"), [b"a"]) or \
        expect(got, [], EBADMSG) or \
        differ("why", "unpack to nothing" in got.why, True) or \
        expect(read(most, "csv"), []) or expect(read(more, "csv"), [], EBADMSG)


def wide():
    """A window above 128 MiB is refused with what unpacks it; one of 128 MiB is not, nor
    is more memory used than it takes.
    """
    huge, fine = (b"\x28\xb5\x2f\xfd\0" + bytes([(log2 - 10) << 3]) + b"\x11\0\0a\n"
                  for log2 in (28, 27))
    xz = lzma.compress(b"a\n", filters=[{"id": lzma.FILTER_LZMA2, "preset": 0,
                                         "dict_size": 256 << 20}])
    most = lzma.compress(b"a\n", filters=[{"id": lzma.FILTER_LZMA2, "preset": 0,
                                           "dict_size": 128 << 20}])
    for packed, how in (huge, "zstd -dc --long=31"), (xz, "xz -dc"):
        got = read(packed, "csv", memory=64 << 20)
        fault = expect(got, [], E2BIG) or \
            differ("why", "more than 128 MiB" in got.why and how in got.why, True)
        if fault:
            return fault
    return first(expect(read(packed, "csv", memory=256 << 20), [b"a"])
                 for packed in (fine, most))


def trickle():
    """What a pipe has flushed is read, though more is to come."""
    run = subprocess.Popen(command("csv"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    d = zlib.compressobj(6, zlib.DEFLATED, 31)
    for i in range(3):
        run.stdin.write(d.compress(b"key %d\n" % i) + d.flush(zlib.Z_SYNC_FLUSH))
        run.stdin.flush()
        for _ in range(1 if i else 3):
            line = run.stdout.readline()
        if int(line.split()[0], 16) != digest(b"key %d" % i):
            return f"record {i}: {line}"
    run.stdin.write(d.flush())
    run.communicate(timeout=60)
    return differ("exit", run.returncode, 0)


def bytewise():
    """Byte by byte through a socket of packets, the magic too."""
    import socket
    for name, pack in PACKERS[:3]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        for byte in pack(b"a\nb\n"):
            ours.send(bytes([byte]))
        ours.close()
        with theirs:
            fault = expect(read(theirs, "csv"), [b"a", b"b"])
        if fault:
            return f"{name}: {fault}"
    return None


def block(kind, body):
    """A block of pcapng."""
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size


def blocks(comment, n=3):
    """A pcapng file whose section header has a comment of so many bytes, a multiple of 4."""
    return block(0x0A0D0D0A, struct.pack("<IHHqHH", 0x1A2B3C4D, 1, 0, -1, 1, comment) +
                 b"x" * comment + bytes(4)) + \
        block(1, struct.pack("<HHI", pcap.EN10MB, 0, 65535)) + b"".join(
            block(6, struct.pack("<IIIII", 0, 0, 1 + i, 60, 60) + bytes([i] * 60)) for i in range(n))


def long_head():
    """The first block of a capture is longer than each buffer of its beginning."""
    return first(expect(read(pack(blocks(comment)), "auto", "key=frame"),
                        [bytes([i] * 60) for i in range(3)])
                 for comment in (4000, 4064, 4068, 4096, 10000, 65532)
                 for pack in [bytes] + [pack for _, pack in PACKERS])


def stepwise():
    """With one byte from each read, all is read; a read that a signal interrupts is an error
    behind the records before it, whichever read it is.
    """
    small = [(text(20), "csv", ["fields=1"]), (text(20), "csv", []),
             (told(20), "auto", ["fields=a"]), (nfdumped(20), "auto", ["key=flow"]),
             (captured(20), "auto", ["key=frame"]), (blocks(5000), "auto", ["key=frame"]),
             (exported(20), "auto", ["key=flow"])]
    for plain, form, options in small:
        want = read(plain, form, *options)
        for pack in [bytes] + [pack for _, pack in PACKERS]:
            packed = pack(plain)
            got = read(packed, form, "drip", *options)
            fault = differ("pairs", (got.pairs, got.error), (want.pairs, 0))
            for at in (1, 2, 3, len(packed) // 2, len(packed) + 1):
                got = read(packed, form, "drip", f"eintr={at}", *options)
                fault = fault or differ(f"error at {at}", got.error in (EINTR, EBADMSG), True) or \
                    differ("records before", got.pairs, want.pairs[:len(got.pairs)])
            if fault:
                return f"{form}, {options}: {fault}"
    return None


def not_compressed():
    """Text that begins like a magic is text: a part of it, and other compressions."""
    keys = [b"\x1f\x8b", b"\x28\xb5x", b"\xfd7zXZ", b"P", b"Q*M"]
    return first(expect(read(key + b"\n", "csv"), [key]) for key in keys) or \
        first(expect(read(key, "csv"), [key]) for key in keys) or \
        differ("bzip2", read(bz2.compress(told()), "auto").error, EBADMSG)


CASES = [
    ("records of all formats, by all that packs", same),
    ("nothing, compressed", empty),
    ("cut off at every 1000th byte", cut_anywhere),
    ("a flipped bit", bits),
    ("bytes behind the end", garbage),
    ("compressed twice", twice),
    ("a bomb", bomb),
    ("members without content", barren),
    ("windows above what is unpacked", wide),
    ("what trickles", trickle),
    ("byte by byte", bytewise),
    ("a long first block", long_head),
    ("one byte a read, and signals", stepwise),
    ("text that begins as if compressed", not_compressed),
]

if __name__ == "__main__":
    tap.main([case for case in CASES
              if case[1].__name__ in sys.argv[1:] or not sys.argv[1:]])
