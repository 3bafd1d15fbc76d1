#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""seeds.py DIR: write the first inputs of the fuzz targets to DIR/TARGET. They follow the
description of the input in each target; a long run starts from them.
"""

import json
import lzma
import os
import re
import struct
import sys
import tempfile
import zlib

for near in ("model", "dedup"):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", near))
sys.dont_write_bytecode = True

import frames
from ng import everything
from packets import CONVERSATION, ERRORS, FIRST, FLOW, FRAME, MARK, NO_MAC, \
    NONIP_FRAME, PACKET, PEER, PEER_PORT, REVERSE, SCOPES, ZONE
from pcap import EN10MB, RAW, SLL2, USER0, Capture, Packet


def le16(v):
    return v.to_bytes(2, "little")


def packet():
    """Each frame with each set of options, cut in three."""
    asked = [(PACKET, 0, 0), (FLOW, 0, 0), (FLOW, NONIP_FRAME, 0),
             (PACKET, NO_MAC, 0), (PACKET, 0, 40), (FRAME, 0, 60)]
    made = [(FLOW, REVERSE | ERRORS, 0), (CONVERSATION, ERRORS | FIRST, 0),
            (PEER, SCOPES & ~ZONE, 16), (PEER_PORT, ERRORS | FIRST, 0x4018),
            (FLOW, MARK | REVERSE, 0x107)]  # odd: a zone (packet.c)
    for i, (link, octets, _) in enumerate(frames.all_frames() +
                                          frames.flow_frames()):
        for key, flags, most in asked + made:
            yield bytes([key, link | flags // REVERSE * 4, flags % REVERSE]) + \
                le16(most) + \
                bytes([2 | i % 2 << 7, 14 + i % 9, 20]) + octets


def header(name=b"sample", kind=(0, 0, 0, 0), shape=(2, 10, 64),
           window=(700, 0), rates=(10 ** 8, 2 * 10 ** 8), epochs=(8, 9),
           version=3, keys=None):
    """Return struct epf_snap_header without its checksums; keys: how the keys are made."""
    size = 288 if keys is None else 296
    out = struct.pack("<8sII", b"EEPFSNP", version, size) + \
        struct.pack("<32s4BHHQ", name, *kind, *shape) + \
        struct.pack("<6Q", *window, *rates, 1, 2) + \
        struct.pack("<4Q", *epochs, 123, 1700000000 * 10 ** 9)
    out = out.ljust(288, b"\0")
    return out if keys is None else out + struct.pack("<BBHI", *keys)


def locked(words, now, *shape):
    """Return the beginning of struct epf_snap_locked; the rest is zero."""
    return struct.pack("<IIQ", 16528, 0, words) + \
        struct.pack(*shape).ljust(64, b"\0") + struct.pack("<2Q", 9, now)


def snap():
    """Headers of every kind, with and without correction of the file, and parts of them."""
    sound = [header(), header(kind=(0, 1, 1, 1), window=(0, 10 ** 9)),
             header(b"a.b-c_9", (0, 0, 2, 0), (1, 15, 65), (5, 5)),
             header(b"x", (0, 1, 3, 0), (4, 60, 128), (1, 1), (1, 10 ** 12))]
    odd = [header(b""), header(b".a"), header(b"a\x1b[2J"), header(b"a" * 32),
           header(shape=(3, 10, 66)), header(shape=(2, 31, 64)),
           header(window=(0, 0)), header(rates=(0, 0)), header(rates=(2, 1)),
           header(epochs=(9, 8)), header(epochs=(7, 8)), header(version=4),
           header(kind=(9, 0, 0, 0)), header(kind=(0, 9, 0, 0)),
           header(shape=(2, 10, 1 << 58)), header(shape=(1, 5, 63))]
    made = [header(version=4, keys=keys) for keys in (
        (1, 0, 0, 0), (2, 0, 0, 0), (2, 1, 3, 64), (2, 2, 4, 0), (3, 0, 0, 0),
        (4, 0, 0, 0), (5, 0, 0, 0), (0, 0, 0, 0), (6, 0, 0, 0), (1, 1, 0, 0),
        (5, 0, 0, 1), (2, 3, 0, 0), (2, 0, 1, 0), (2, 2, 0, 64), (2, 1, 8, 0))]
    for octets in sound + odd + made:
        yield b"\7\0\1" + octets
    ge = locked(8, 1, "<Q4I", 64, 2, 1, 0, 0)
    words = locked(96, 2, "<2Q6I", 10, 2, 5, 3, 7, 16, 1, 0)
    for number, state in ((1, ge), (6, words), (1, words), (6, ge), (5, ge)):
        yield b"\7\0\1" + header(kind=(number, 0, 0, 0),
                                 shape=(0, 0, 0)) + state
    yield b"\7\0\1" + header(kind=(6, 0, 0, 0), shape=(0, 0, 0), version=4,
                             keys=(2, 1, 0, 0)) + words
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
    """Real frames, each twice, as pcap of both byte orders and precisions, and as pcapng;
    and pcapng with all types of blocks.
"""
    for order in "<>":
        yield b"".join(everything(order)[0])
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
    for i, octets in enumerate(packed(next(captures()))):
        yield bytes([4 * (i % 2), 0]) + octets
    for magic in (b"", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\xfd7zX"):
        yield b"\0\0" + magic


NUMBERS, PURE = 0x80, 0x40


def options():
    lines = """
        plan -W 1M|plan -W 9 --plot x.svg|plan -T 1m --rate 1M --cluster 9|plan -T 10s --rate 1e6 -b 100ppm -j|create a -W 1000000
        plan --window=7 --mode both --time 1h --rate 10k --memory 2GiB -p
        create x -T 500ms --lines 64 --lines-per-key 2 --bits-per-key 10
        create y --mode either -W 5 -T 1d --limit never --strict --first-seen
        create w -T 10s --rate 10k --align|merge -o all 123456789 abcdefghi
        merge --loose --limit never -o all 123456789|merge -o a a bc --limit 1e-6
        create z -W 9 --key 000102030405060708090a0b0c0d0e0f|create z -W 9 --key-file /dev/null --limit 0.1%
        list|list --names -j|show some|show 7 -j|show -f file|show -f 12345678
        destroy a --force|insert a one two|insert a --format hex 00ff -0
        insert a --digest 0123456789abcdef|test a k --insert -q|test none x|test a k --within 2 -c|test a k --within 10s
        test a -c --format json "k"|test a -j -|test a -f nowhere|rotate a -n 8
        clear a|swap a b|swap a none|save a file|restore a 12345678 --existing
        restore none 12345678|watch a|watch a -n 3 --interval 1s|doctor|--help
        attach eth0 --filter a|attach eth0 -f a --key packet --no-mac --no-vlan
        attach e -f a --action mark --mark 0x10 --mode native --prio 9|attach e -f a --action mark --mark 8/0xf
        attach e -f a --key flow --nonip frame --mirror --no-dispatcher
        attach e -f a --key frame --mirror --vlan-offload off|attach e -f a
        attach e -f a --reflexive --match udp:sport=53,7-9 --else mark=1/3 --ask tc --within 3
        attach e -f a --cluster c --key flow --mirror
        attach e -f a --cluster c --reflexive --else drop --if-unknown drop --fragments pass
        attach e -f a --reflexive --match any --within 1500ms --else drop --if-unknown drop --fragments pass
        attach e -f a --reflexive --match udp --else drop --if-unknown drop --if-malformed pass --fragments pass --no-control
        attach --hook nf:prerouting:-310 -f a --else drop --if-unknown drop --if-malformed pass --fragments drop --no-control
        attach --hook nf:prerouting:-310 -f a --reverse --else drop --if-unknown drop --fragments drop
        attach --hook nf:output:5:ip6 -f a --out e --key peer --learn --if-new --if-recent drop --if-unknown accept
        attach --hook nf:input:filter-1:ip -f a --match udp:dport=53,7-9 --within 3 --scope mark|detach --hook nf:input:0
        attach e -f a --admit 100k --new-rate 50/7 --if-unknown drop --prefix 24 --zone 7
        attach e -f a --admit 0/5 --new-rate 0 --if-unknown accept --key flow --if-malformed pass
        attach e -f a --log-new --log-rate 50/7 --key conversation
        attach e -f a --log-new --no-dispatcher --mode generic
        attach e -f a --key peer --prefix 24,64 --reverse --scope vlan,iface
        attach e --key conversation --errors --fragments pass --action count
        audit a k -F pcap --key peer-port --prefix ,48 --fragments id --zone 0
        detach eth00
        dedup in out -D 5 --key packet --bytes 64 --removed r --keep-going
        dedup - out -w 1.5 --rate 9 --action count --strict --first-seen
        dedup in out -j --memory 64M --budget 1e-9|plan --help|help|-V|pla
        dedup --nonip pass in - --key flow|--json plan -W|plan --window
        status|plan -b 2 -W 1|create .x -W 1|attach e|swap a a|plan -x|""\
        """.replace("\n", "|").replace("\\", "").split("|")
    for i, line in enumerate(lines):
        yield bytes([i % 9 // 8 * (i % 6)]) + \
            line.strip().replace(" ", "\n").encode()
        if line.strip().startswith("attach"):
            yield bytes([PURE]) + line.strip().replace(" ", "\n").encode()
    for line in ("dedup in out -j --removed r", "save a f -j",
                 "show -j --file twelveletters"):  # names that are not UTF-8
        yield b"\0" + line.replace(" ", "\n").encode() + b"\xff\xfe"
    for text in ("1", "1000000", "1e6", "1M", "2GiB", "1.5kB", "10s", "500ms",
                 "0.000001s", "1e-4", "0.01%", "100ppm", "5ppb", "0x10", "-1",
                 "4611686018427387904ns", "1e99999", ".5", "1e-400", "name.x_-",
                 "000102030405060708090a0b0c0d0e0f", "1099511627775", "inf"):
        yield bytes([NUMBERS]) + text.encode()


ODD = 245  # 35 * 7, see take_spec() of records.c
GZIP, XZ, ZSTD = 1, 2, 3
TWO, EMPTY, SKIP, CRC64, FLIP, CUT = 4, 8, 16, 32, 64, 128


def packed(octets):
    """By each codec, in one piece and in several, whole and damaged; see pack.h."""
    for codec in (GZIP, XZ, ZSTD):
        for how, where in ((0, 0), (TWO | EMPTY | SKIP | CRC64, 0), (CUT, 200), (CUT | TWO, 90),
                           (FLIP, 4), (FLIP, 128), (FLIP, 250), (FLIP | SKIP, 1)):
            yield b"PACK" + bytes([codec | how, where]) + octets


def formats():
    """Return {name: number} of enum rec_format, as the targets compile it."""
    path = os.path.join(os.path.dirname(__file__), "../../user/records/records.h")
    with open(path, encoding="ascii") as f:
        body = re.search(r"^enum rec_format \{\n(.*?)^\};", f.read(), re.M | re.S).group(1)
    names = re.findall(r"^\tREC_(\w+),", body, re.M)
    assert len(names) == body.count("\n"), "a name with a number of its own"
    return {name: i for i, name in enumerate(names)}


FORMAT = formats()
AUTO, CSV, JSON_LINES, NFDUMP, IPFIX, PCAP = (
    FORMAT[name] for name in ("AUTO", "CSV", "JSON", "NFDUMP", "IPFIX", "PCAP"))


def ipfix_message(*sets):
    body = b"".join(struct.pack(">HH", n, 4 + len(b)) + b for n, b in sets)
    return struct.pack(">HHIII", 10, 16 + len(body), 0, 0, 1) + body


def records():
    """A format and how, then the file; see selftests/fuzz/records.c."""
    for text in (b'a,"b\n""c""",d\r\n\n1,2,3', b"x,y\nz\n", b'"a', b'a"b,c\n',
                 b"\xef\xbb\xbfa,00ff\n0123456789abcdef,1\n", b"k" * 600):
        for how in (0, 1, 2, 4, 8, 16, 32 + 8):
            yield bytes([CSV, how, 9]) + text
    for text in (b'{"a":"x","b":{"c":7}}\n\n{"a":null}\n"k"', b"[[[[", b"{}\n",
                 b'{"hex":"00ff"}\n{"key":"\\u0000"}', b'{"a.b":1.5}\n'):
        for how in (0, 1, 2, 8, 16):
            yield bytes([JSON_LINES, how, 5]) + text
    lines = b"ts,te,td,sa,da,sp,dp,pr\nt,t,0,192.0.2.1,192.0.2.2,1,2,TCP\n" \
        b"t,t,0,::1,::2,0,1.4,ICMP6\nt,t,0,::1,::2,0,2048,58\nSummary\n" \
        b"proto,srcAddr,dstAddr\n47,::1,::2\n"
    yield bytes([NFDUMP, 8, 20]) + lines
    yield bytes([NFDUMP, 24, 20]) + lines
    yield bytes([NFDUMP, 24, 20]) + lines.replace(b"t,t,", b"2026-03-01 12:00:00,2026-03-01 12:00:01,")
    yield bytes([AUTO, 0, 3]) + lines
    plain = struct.pack(">10H", 8, 4, 12, 4, 7, 2, 11, 2, 4, 1)
    data = bytes(range(13))
    for sets in ([(2, struct.pack(">HH", 256, 5) + plain), (256, data * 2)],
                 [(2, struct.pack(">6H", 257, 2, 82, 65535, 8, 4)),
                  (257, b"\3abcdefg"), (2, struct.pack(">HH", 257, 0))],
                 [(3, struct.pack(">7H", 300, 2, 1, 149, 4, 8, 4)),
                  (300, data)], [(256, data)], [(1, data)],
                 [(2, struct.pack(">HHHHI", 256, 1, 0x8008, 4, 29305))]):
        octets = ipfix_message(*sets)
        for how in (0, 8, 16):
            yield bytes([IPFIX, how, 100]) + octets + octets
            yield bytes([IPFIX, how, 3]) + octets[:-2]
    for i, octets in enumerate(captures()):
        yield bytes([PCAP if i % 2 else AUTO, i % 3 * 64 | i % 2 * 16, 200]) + octets
    for octets in packed(b"k,v\n" * 40 + bytes(range(48, 90)) + b"\n"):
        yield bytes([CSV, 8, 70]) + octets
    for format in range(len(FORMAT)):
        for i in range(24):  # options that do not go together
            yield bytes([ODD + format, 0, 1 << i % 8 | i // 8, i * 37 & 0xFF, i * 11 & 0xFF,
                         200]) + lines
    for long in (b"a" * (1100 << 10), b'"' + b",\n" * (600 << 10), b"\n" * 70000):
        yield bytes([CSV, 0, 255]) + lzma.compress(long)
        yield bytes([JSON_LINES, 0, 255]) + lzma.compress(long)
    for wide in (1 << 28, 1 << 30):
        yield bytes([CSV, 0, 255]) + lzma.compress(b"k\n", filters=[
            {"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": wide, "mf": lzma.MF_HC3}])
    yield bytes([CSV, 0, 255]) + b"\xfd7zXZ\0\x0f\x0f" + struct.pack(
        "<I", zlib.crc32(b"\x0f\x0f")) + bytes(40)
    for octets in packed(lines):
        yield bytes([AUTO, 0, 255]) + octets


HEADER, HEX_FIELDS, STAMPS, SKIP_BAD, SEMICOLON = 16, 8, 32, 64, 64
WHOLE, ONE, TWO_ONE, A = 0, 2, 4, 6


def parts():
    """How, two bytes, and three cuts, then the file; see selftests/fuzz/parts.c."""
    cuts = bytes([60, 128, 190])
    lines = b"k,1700000000.25\r\nsome key,1700000001\n\n\"q\",3\nx;y,4\nlast,5"
    for how in (WHOLE, ONE, TWO_ONE, ONE | HEX_FIELDS):
        for more in (0, SEMICOLON, 128):
            yield bytes([how | SKIP_BAD, more]) + cuts + lines
            yield bytes([how, more]) + cuts + lines
    yield bytes([WHOLE, 0, 64, 128, 192]) + b"abcd,12\n" * 8  # cut where lines begin
    yield bytes([1, 0, 64, 128, 192]) + b"[12345]\n" * 8
    yield bytes([A | HEADER, 0]) + cuts + b"a,t\n" + lines
    yield bytes([A | HEADER, 0]) + cuts + b"\xef\xbb\xbf" + b"a,t\n" + lines * 5
    forms = ((0, (b"1700000000", b"1700000000.123456789012", b"2026-03-01 12:00:00.5",
                  b"2026-03-01T12:00:00Z", b"2026-03-01 12:00:00,25+01:30", b"2026-03-01",
                  b"[01/Mar/2026:12:00:00 +0100]", b"01/Xxx/2026:12:00:00", b"2026-13-01 00:00:00",
                  b"4611686018427387904", b" 1 ", b"-1", b"", b"2026-02-30T25:61:61",
                  b"2026-03-01 12:00:00 -0500", b"1e9")),
             (1, (b"1.5", b"99999999999999999999")), (2, (b"1700000000123.25", b"x")),
             (3, (b"7.1234", b"1700000000123456")), (4, (b"1700000000123456789", b"0")),
             (5, (b"2026-03-01 12:00:00", b"2026-03-01 12:00:00.5", b"no")),
             (6, (b"01/Mar/2026:12:00:00 +0100", b"01/Mar/2026")), (7, (b"12:00:00",)))
    for form, texts in forms:
        some = b"".join(b"k%d,%s\n" % (i, text) for i, text in enumerate(texts))
        yield bytes([ONE | STAMPS | SKIP_BAD, form]) + cuts + some
        yield bytes([WHOLE | STAMPS | SKIP_BAD, form]) + cuts + some
        yield bytes([A | HEADER | STAMPS | SKIP_BAD, form | 8]) + cuts + b"a,t\n" + some
        some = b"".join(b'{"a":"k%d","t":"%s"}\n' % (i, text) for i, text in enumerate(texts))
        yield bytes([1 | A | STAMPS | SKIP_BAD, form | 8]) + cuts + some
        for text in texts:
            yield bytes([ONE | STAMPS, form]) + cuts + b"k,%s\n" % text
    text = b'{"a":1,"t":1700000000.5,"b":{"c":2}}\n{"a":[1],"t":true}\n{"t":7}\n"x"\n'
    for how in (1, 1 | A, 1 | A | STAMPS, 1 | A | HEX_FIELDS):
        for more in (8, 24, 128):
            yield bytes([how | SKIP_BAD, more]) + cuts + text


def merge():
    """Window, flags, time, steps; see selftests/fuzz/merge.c."""
    steps = bytes(8 | i % 3 | i * 5 % 16 << 4 for i in range(40))
    slow = bytes(12 + 16 * (i % 2) for i in range(150))
    for window in range(6):
        for how in (0, 1, 2, 4, 8 | 4, 32 | 8, 32 | 4, 64 | 2, 128 | 4, 128 | 8 | 32, 1 | 2 | 64):
            yield bytes([window, how, 7 * window, how]) + steps
    for how in (8, 0, 8 | 32):
        yield bytes([0, how, 1, 2]) + slow
        yield bytes([2, how, 9, 200]) + b"\x04\xf8\xf4" * 30
    for i in range(36):
        change = bytes([1 + i % 3]) + bytes([i, i * 29 & 0xFF, i * 3, i * 7 % 48]) * 3
        yield bytes([i % 6, 16 | i % 2 * 8 | 2, 3, i]) + steps[:20] + change * 3


AGENT = """\
# a comment
socket = /run/a.sock
group = root
allow-uid = root
allow-gid = 0
memory = 64MiB
fresh = 2s
mirror = f:keep
hold = yes
jobs = 9
jobs-per-user = 3
clients = 9
clients-per-user = 3
step = 4096
threads = 2
metrics = 127.0.0.1:9
watch = /a=f
watch = /var/b\\:c=/x/snapshot:format=csv:fields=1,3:ages=yes:records=no:mode=640:group=root
watch = /c=f:keep-time=30d:keep-bytes=1GiB:hook=/bin/true:skip-bad=yes:threads=2
[watch edge]
dir = /var/spool/edge
filter = seen
format = csv
fields = 1,3
header = yes
ages = yes
mode = 640
group = root
keep-time = 30d
keep-bytes = 10GiB
hook = /usr/local/bin/report --quiet
user = nobody
[cluster edge]
server = tls://nats1.example:4222 tls://nats2.example:4222
host = h0
roster = h0 h1 h2
filter = seen
all = seen-all
lag = 1s
peer-rate = 10k
buffer = 64MiB
stream-bytes = 1GiB
journal = 17
threads = 2
subject = a.b
tls-ca = /etc/ca.pem
tls-cert = /etc/h0.pem
tls-key = /etc/h0.key
nkey = /etc/nkey
"""

DECLARED = """\
[filter seen]
time = 10s
rate = 10k
strict = yes
save = 5m
[filter quiet]
time = 1m
budget = 1e-6
save = no
[attach eth0]
filter = seen
key = flow
drop = yes
reverse = no
[attach nf:input:0]
filter = quiet
hook = nf:input:0
[pin /sys/fs/bpf/f]
filter = seen
timer = 1s
bpf = yes
"""

BATCH = """\
# all of them
create a -W 1000
insert a "a b" 'it''s' c\\ d \\
  more # not a word
test a "\\"q\\"" '\\' x#y

\tlist\t
"""


def changed(text):
    """The text, and for each line of it: without it, twice, with another value, without any."""
    yield text
    lines = text.splitlines(True)
    for i, line in enumerate(lines):
        name = line.split("=")[0].rstrip()
        for other in ("", line + line, name + " = no\n", name + " =\n", name + "\n", "no" + line,
                      name + " = 0\n", name + " = a/b\x1b\n", name + " = /" + "x" * 300 + "\n"):
            yield "".join(lines[:i]) + other + "".join(lines[i + 1:])


def conf():
    """Which, then the file; see selftests/fuzz/conf.c."""
    for which, text in enumerate((AGENT, DECLARED, BATCH)):
        for one in changed(text):
            yield bytes([which]) + one.encode()
    for part in AGENT.split("["):
        for one in changed("[" * (not part.startswith("#")) + part):
            yield b"\0" + one.encode()
    for line in ("watch = /a=f:prefix=8", "watch = /a=f:key=peer:prefix=24,64:scope=vlan:zone=7",
                 "watch = a", "watch = /a=f:format=pcap:key=packet", "watch = /a=f:key=none",
                 "watch = /a=f:key=conversation:errors=yes:reverse=yes:fragments=id",
                 "watch = /a=f:" + "x=y:" * 50, "mirror = f:ring", "mirror = f", "hold = f",
                 "[cluster ]", "[other]", "[watch]", "x" * 4000, "\0", "memory = 1 2"):
        yield b"\0" + line.encode()
    for line in ("ages", "records", "absent", "digest", "hex", "header", "skip-bad", "multiline", "reverse",
                 "errors", "key-len=8", "key-len=0", "separator=tab", "separator=;", "separator=ab",
                 "joint=|", "engine=scalar", "engine=none", "hook-time=5s", "user=root", "user=",
                 "hook=/bin/true a", "format=column", "format=none", "fields=" + "x" * 2000,
                 "mode=999", "group=nobody-here", "keep-bytes=x", "key=packet", "none", "none=1"):
        yield b"\0watch = /a=f:format=csv:" + line.encode() + b"\n"
        yield b"\0[watch a]\ndir = /a\nfilter = f\n" + line.replace("=", " = ").encode() + b"\n"
    for lines in ("hold = f\nhold = g\n", "hold = yes\nhold = f\n", "mirror = f\n" * 70,
                  "hold = f\n" * 70, "watch = /a=f\n" * 20, "allow-uid = 0\n" * 40,
                  "[watch a]\ndir = /a\nfilter = f\n" * 2, "[other]\na = b\n", "[watch a\n",
                  "".join(f"[watch a{i}]\ndir = /a\nfilter = f\n" for i in range(20)),
                  "".join(f"[cluster a{i}]\nhost = a\nfilter = f\n" for i in range(6)), "= 1\n",
                  "[" + "s" * 300 + "]\na = b\n"):
        yield b"\0" + lines.encode()
    for lines in ("[other a]\nx = y\n", "[filter a]\ntime = 1s\n" * 2, "[pin a]\nfilter = f\n",
                  "[pin /a]\nbpf = yes\n", "[attach e]\nfilter = f\nfilter = g\n",
                  "[attach nf:no]\nfilter = f\n", "[filter a]\nkey = 00\n", "[filter ]\nx=1\n",
                  "[filter a]\ntime = 1s\n[filter b]\ntime = 2s\n[pin /p]\nfilter = a\n"):
        yield b"\1" + lines.encode()
    yield b"\3" + DECLARED.encode()
    yield b"\3" + b"[filter a]\n"
    for line in ("'", '"', "a\\", "a \\\n b", "x" * 5000, "y " * 500, "a\0b", "#", "a'b\"c'\"d'\""):
        yield b"\2" + line.encode() + b"\nlist\n"


def build():
    """Options, see selftests/fuzz/build.c; then the file."""
    lines = b"".join(b"170000%04d,k%d,%d\n" % (i * 7 % 50 + i * 9, i % 17, i) for i in range(60))
    for b in (0, 2, 4, 8, 16, 32, 64, 2 | 4 | 16, 128):
        for c in (0, 8, 16 | 1, 2 | 8 | 16):
            yield bytes([CSV, b, c, 1 + b // 2 % 2 | 8 * (b // 4 % 2)]) + lines
    yield bytes([CSV, 128, 0, 3]) + b"t,a\n" + lines
    yield bytes([CSV, 2 | 8, 0, 1]) + b"999,a\n1001,b\n1000,c\n99999999999,d\nx,e\n"
    yield bytes([CSV, 32 | 2, 0, 1]) + b"999,a\n1001,b\n1000,c\n"
    many = b"".join(b"1700000000,%d\n" % i for i in range(600))
    for c in (8, 8 | 32):  # above the limit; --force
        yield bytes([CSV, 0, c, 1]) + many
    some = b"".join(b'{"t":170000%04d,"a":"k%d"}\n' % (i * 11, i % 5) for i in range(40))
    for b in (0, 2, 4, 64):
        yield bytes([JSON_LINES, b, b, 3]) + some
        yield bytes([AUTO, b, b, 3]) + some
    for octets in packed(lines):
        for b in (0, 4, 64):
            yield bytes([CSV, b, 1, 1]) + octets
    flows = b"ts,te,td,sa,da,sp,dp,pr\n" + b"".join(
        b"2026-03-01 12:00:%02d,2026-03-01 12:01:%02d,0,192.0.2.%d,192.0.2.2,1,2,TCP\n" %
        (i, i * 7 % 60, i) for i in range(20))
    for first in (NFDUMP, AUTO):
        for b in (0, 1, 4):
            yield bytes([first, b, 0, 0]) + flows
    for i, octets in enumerate(captures()):
        yield bytes([PCAP if i % 2 else AUTO, i % 8, i % 3, 0]) + octets


def wire():
    """Which message, descriptors, then JSON; see selftests/fuzz/wire.c."""
    ages = [1, 0, 2] + [0] * 252
    mark = {"keys": 9, "present": 3, "ages": ages, "record_bytes": 5}
    column = {"format": "column"}
    spec = {"format": "csv", "digest": False, "hex": True, "header": True, "skip_bad": True,
            "separator": 59, "joint": 10, "key": 1, "link": 0, "flags": 0, "max_bytes": 0,
            "fields": "a,b", "as_filter": True, "any_keys": True, "multiline": True}
    audit = {"op": "audit", "fds": ["keys", "bitmap", "ages", "records"], "records": spec,
             "key_len": 16, "absent": True, "threads": 4, "from": mark, "filter": "f",
             "engine": "scalar"}
    snapshot = {"op": "audit", "fds": ["snapshot", "keys"], "records": column}
    changes = [{}, {"threads": 1 << 20}, {"threads": -1}, {"key_len": 257}, {"filter": "a\x1b"},
               {"filter": "f" * 99}, {"engine": "none"}, {"fds": []}, {"fds": ["keys"] * 4},
               {"fds": ["keys", "no", "ages", "records"]}, {"fds": "keys"}, {"more": 1},
               {"m\nore": 1}, {"from": {"keys": 1}}, {"from": mark | {"present": 4}},
               {"from": mark | {"keys": -1}}, {"from": mark | {"ages": ages[1:]}},
               {"from": mark | {"ages": [-1] * 255}}, {"from": mark | {"ages": [1.5] * 255}},
               {"from": mark | {"ages": [9] * 255}}, {"records": spec | {"format": "none"}},
               {"records": spec | {"key": 99}}, {"records": spec | {"separator": 128}},
               {"records": spec | {"fields": "x" * 2000}}, {"records": spec | {"flags": 65536}},
               {"records": spec | {"max_bytes": -1}}, {"records": {}}, {"records": 1}]
    for change in changes:
        yield b"\0\4" + json.dumps(audit | change).encode()
    for change in ({}, {"filter": "f"}, {"fds": ["snapshot", "bitmap"]}, {"fds": ["keys", "ages"]}):
        yield b"\0\2" + json.dumps(snapshot | change).encode()
    about = {"place": "copy", "saturated": True, "fpr_ppt": 5, "header": header().hex(),
             "desc": [2, 1, 0, 64]}
    for change in ({}, {"place": "file"}, {"desc": [1, 0, 0, 0]}, {"desc": [9, 0, 0, 0]},
                   {"desc": [256, 0, 0, 0]}, {"desc": [1]}, {"header": "00"}, {"fpr_ppt": -1},
                   {"header": "zz" * 288}):
        yield b"\1\0" + json.dumps(about | change).encode()
    del about["desc"]
    yield b"\1\0" + json.dumps(about).encode()
    state = {"mark": mark, "keys_all": 9, "bytes": 6, "bytes_all": 6, "keyless": 0, "bad": 1,
             "left_out": 0, "spanning": 0, "bitmap_xxh3": "0123456789abcdef", "format": "csv",
             "engine": "scalar", "why": "no GPU", "fallen": "no GPU"}
    for change in ({}, {"fallen": "x"}, {"engine": "none"}, {"format": "none"}, {"mark": {}},
                   {"bitmap_xxh3": "0"}, {"bad": -1}, {"why": "\u00e4" * 300}):
        yield b"\2\0" + json.dumps(state | change).encode()


def cluster():
    """Operations of selftests/fuzz/cluster.c: echoes, time, messages, and looks at it all."""
    head = struct.pack("<4sHHQQIIQ64sQQQQQII", b"EPFC", 1, 152, 1, 2, 1, 2, 2 * 10 ** 9, b"a", 1,
                       1, 1 << 60, (1 << 60) + 5, 0, 0, 0) + bytes(range(16))
    raw = b"\3" + struct.pack("<H", len(head)) + head
    echo, look = b"\1\2", b"\2"

    def wait(ms):
        return b"\0" + struct.pack("<H", ms)

    def message(host, how=0, seq=2, late=0, long=50, lost=1, count=3):
        return bytes([5, host, how, seq, late]) + struct.pack("<H", long) + bytes([lost, count, 0])

    def tell(**change):
        return b"".join(message(host, **change) for host in (1, 2, 3))
    steady = echo + tell(long=4000) + look + (wait(50) + echo + tell() + look) * 3
    yield raw
    yield raw[:60]
    yield echo + tell(long=1500) + look
    yield steady
    yield steady + wait(500) + look + echo + tell(long=600) + look
    for change in ({"seq": 3}, {"seq": 0}, {"how": 0x40}, {"how": 12}, {"how": 3}, {"how": 48},
                   {"lost": 0}, {"late": 200}, {"how": 1}, {"long": 0}):
        yield steady + (wait(40) + echo + tell(**change) + look) * 3 + \
            (wait(40) + echo + tell() + look) * 3
    yield steady + (wait(40) + echo + tell(seq=3) + look) * 70
    yield steady + b"\4\xff\0\0" + (wait(100) + echo + tell() + look) * 30


TARGETS = {"packet": packet, "snap": snap, "keys": keys, "capture": capture,
           "options": options, "records": records,
           "parts": parts,
           "merge": merge, "build": build, "conf": conf, "wire": wire, "cluster": cluster}


def main():
    for target, make in TARGETS.items():
        folder = os.path.join(sys.argv[1], target)
        os.makedirs(folder, exist_ok=True)
        for i, seed in enumerate(make()):
            with open(os.path.join(folder, f"seed-{i:03}"), "wb") as f:
                f.write(seed)


if __name__ == "__main__":
    main()
