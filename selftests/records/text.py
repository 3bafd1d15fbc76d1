#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""CSV, JSON lines and whole lines, against Python's own readers.

usage: text.py [FUNCTION]...
"""

import csv
import io
import json
import os
import socket
import subprocess
import tempfile

from common import *
import tap

# (text, options, keys, keyless)
CSV = [
    (b"a,b,c\nd,e,f\n", ["fields=2"], [b"b", b"e"], 0),
    (b"a,b,c\nd,e,f", ["fields=3,1"], [b"c,a", b"f,d"], 0),
    (b"a,b\r\nc,d\r\n", ["fields=2"], [b"b", b"d"], 0),
    (b"a,b\r\nc,d\r", ["fields=2"], [b"b", b"d"], 0),
    (b"\xef\xbb\xbfa,b\n", ["fields=1"], [b"a"], 0),
    (b"\xef\xbb\xbfx,y\n1,2\n", ["fields=x", "header"], [b"1"], 0),
    (b"\n\r\na,b\n\n\nc,d\n\n", ["fields=1"], [b"a", b"c"], 0),
    (b'"a\nb",c\n"d\r\ne",f\n', ["fields=1", "multiline"], [b"a\nb", b"d\r\ne"], 0),
    (b'"a\n\n\nb",c\n', ["fields=1", "multiline", "separator=,"], [b"a\n\n\nb"], 0),
    (b'"a""b","",c\n"""",x,y', ["fields=1"], [b'a"b', b'"'], 0),
    (b'"a,b",c\n', ["fields=1,2"], [b"a,b,c"], 0),
    (b" a , b \n\t,x\n", ["fields=1"], [b" a ", b"\t"], 0),
    (b"a\tb\tc\n", ["fields=2", "separator=\t"], [b"b"], 0),
    (b"a;b,c\n", ["fields=2", "separator=;"], [b"b,c"], 0),
    (b"a,b\n", ["fields=2,1", "joint=|"], [b"b|a"], 0),
    (b"a,b\n", ["fields=1,1"], [b"a,a"], 0),
    (b",b\na,b\n\"\",b\n", ["fields=1"], [b"a"], 2),
    (b",\n", ["fields=1,2"], [b","], 0),
    ("id,n\u00e4me\n1,\u20ac\n".encode(), ["fields=n\u00e4me", "header"],
     [b"\xe2\x82\xac"], 0),
    (b"a,b\n\r\r\nc,d\n\r\r", ["fields=1"], [b"a", b"c"], 0),
    (b'"x\ny",z\n1,2\n', ["fields=z", "header", "multiline"], [b"2"], 0),
    (b"2,1\na,b\n", ["fields=1", "header"], [b"b"], 0),
    (b"x,y\na,b\n", ["fields=2", "header"], [b"b"], 0),
    (b"a\x00b,c\n", ["fields=1"], [b"a\0b"], 0),
    (b"00fF,1\n", ["fields=1", "hex"], [b"\0\xff"], 0),
    (b"00ff,0102\n", ["fields=2,1", "hex"], [b"\1\2\0\xff"], 0),
    (b",0102\n,\n", ["fields=2,1", "hex"], [b"\1\2"], 1),
    (b"k" * 256 + b",x\n", ["fields=1"], [b"k" * 256], 0),
    (b"", ["fields=1"], [], 0),
    (b"\n\n", ["fields=1"], [], 0),
]


def of(case):
    text, options, keys, keyless = case
    return expect(read(text, "csv", *options), keys, 0, keyless, 0)


def csv_known():
    return first(map(of, CSV))


# (text, options, keys before the error, word of the error)
CSV_BAD = [
    (b'a"b,c\n', ["fields=1"], [], "line 1"),
    (b'a,b\n"x"y,c\nd,e\n', ["fields=1"], [b"a"], "line 2"),
    (b'a,b\n"x,c\nd,e\n', ["fields=1"], [b"a"], "line 2"),
    (b'"x\n\ny",1\n\n"', ["fields=2", "multiline"], [b"1"], "line 5"),
    (b'a,b\n"x\ny",2\n', ["fields=2"], [b"b"], "line 2: a quoted field does not end in its line"),
    (b'"x\ny",z\n1,2\n', ["fields=z", "header"], [], "header"),
    (b"a\rb,c\n", ["fields=1"], [], "line 1"),
    (b"a,b\nc\n", ["fields=2"], [b"b"], "line 2: it has 1 fields"),
    (b"k" * 257 + b",x\n", ["fields=1"], [], "longer than 256"),
    (b"k" * 200 + b"," + b"l" * 56, ["fields=1,2"], [], "longer than 256"),
    (b"0,x\n", ["fields=1", "hex"], [], "hex"),
    (b"zz,x\n", ["fields=1", "hex"], [], "hex"),
    (b"00" * 256 + b"0,x\n", ["fields=1", "hex"], [], "longer"),
    (b"00" * 256 + b",00\n", ["fields=1,2", "hex"], [], "longer"),
    (b"0123,x\n", ["fields=1", "digest"], [], "16 hex"),
    (b"", ["fields=1", "header"], [], "header"),
    (b"\n\n", ["fields=1", "header"], [], "header"),
    (b'"a\n', ["fields=1", "header"], [], "header"),
]


def refused(case):
    text, options, keys, why = case
    got = read(text, "csv", *options)
    return expect(got, keys, EBADMSG) or \
        (None if why in got.why else f"says {got.why}")


def csv_bad():
    return first(map(refused, CSV_BAD))


def csv_skipped():
    """A bad record is left out and counted, up to the end of its line."""
    text = b'a,1\nb"b,2\n"c"c,3\nd\n"e",5\n' + b"k" * 257 + b",6\ng,7\nh\rh,8\n"
    got = read(text, "csv", "fields=1,2", "skip-bad")
    return expect(got, [b"a,1", b"e,5", b"g,7"], 0, 0, 5)


LOG = b"".join(b"2026-11-01T10:00:0%d+00:00 sshd: invalid user %s from 192.0.2.%d port 22\n" %
               (i, user, i + 1)
               for i, user in enumerate([b"bob", b'"x', b"eve", b"eve", b'x"', b"bob"]))


def lines_apart():
    """A record of a log is a line: quotes that users have chosen hide no line between them, and
    of a record over several lines that is bad only the first line is lost.
    """
    got = read(LOG, "csv", "separator= ", "fields=7", "skip-bad")
    fault = expect(got, [b"192.0.2.%d" % i for i in (1, 3, 4, 6)], 0, 0, 2) or \
        differ("spanning", got.spanning, 0)
    if fault:
        return fault
    for text, keys, bad, spanning in (
            (b'"a\nb",1\nc,2\n"d\n\ne",3\n', [b"1", b"2", b"3"], 0, 2),
            (b'a,1\n"x,2\nb,3\nc,4\n', [b"1", b"3", b"4"], 1, 0),
            (b'a,1\n"x,2\nb,3\ny"z,4\nc,5\n', [b"1", b"3", b"5"], 2, 0),
            (b'a,1\n"x\nb,2\nc"\nd,3\n', [b"1", b"2", b"3"], 2, 0),
            (b'a,1\n"x,2\n' + b"b,3\n" * (LINE_MAX // 4), [b"1"] + [b"3"] * (LINE_MAX // 4), 1, 0)):
        got = read(text, "csv", "fields=2", "skip-bad", "multiline")
        fault = expect(got, keys, 0, 0, bad) or differ("spanning", got.spanning, spanning)
        if fault:
            return f"{text[:40]}: {fault}"
    return None


def csv_blank_apart():
    """A blank line that arrives alone does not count to the next record: each read from a
    packet socket returns one line.
"""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for part in b"a,b\r\n", b"\r\n", b"c,d\n", b"\n", b"e,f\n":
        ours.send(part)
    ours.close()
    with theirs:
        got = read(theirs, "csv", "fields=1")
    return expect(got, [b"a", b"c", b"e"], 0, 0, 0) or \
        differ("raw", got.raw, b"a,b\r\nc,d\ne,f\n")


def one_field(r):
    kind = r.random()
    if kind < .1:
        return "".join(r.choice('",\r\n x') for _ in range(r.randrange(9)))
    if kind < .15:
        return "\u20ac" * r.randrange(40)
    return str(r.randrange(10 ** r.randrange(1, 12)))


def csv_random():
    """Python writes and reads it; records span the reader's buffers."""
    r = rng(1)
    rows = [[one_field(r) for _ in range(4)] for _ in range(30000)]
    for i in range(0, 30000, 3000):
        rows[i][3] = "long " * r.randrange(100000)
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    text = out.getvalue().encode()
    csv.field_size_limit(LINE_MAX)
    again = list(csv.reader(io.StringIO(text.decode(), newline="")))
    keys = [f"{row[2]},{row[0]}".encode() for row in again]
    with tempfile.TemporaryFile() as f:
        f.write(text)
        f.seek(0)
        by_file = read(f, "csv", "fields=3,1", "multiline")
    by_pipe = read(text, "csv", "fields=3,1", "multiline")
    return expect(by_pipe, keys, 0, 0, 0) or \
        differ("file and pipe", by_file.pairs == by_pipe.pairs, True) or \
        differ("raw", by_pipe.raw == text, True) or \
        differ("bytes", by_pipe.bytes, len(text))


def digests():
    numbers = [0, 1, 0x0123456789ABCDEF, (1 << 64) - 1]
    text = "".join("x,%016x\n" % n for n in numbers).encode()
    lines = "".join("%016X\n" % n for n in numbers).encode()
    told = "".join('{"d":"%016x"}\n' % n for n in numbers).encode()
    return differ("csv", read(text, "csv", "fields=2", "digest").digests,
                  numbers) or \
        differ("lines", read(lines, "csv", "digest").digests, numbers) or \
        differ("json", read(told, "json", "fields=d", "digest").digests,
               numbers)


LINES = [
    (b"one\ntwo\nthree", [], [b"one", b"two", b"three"], 0),
    (b"one\r\n\ntwo\n", [], [b"one\r", b"two"], 1),
    (b'\xef\xbb\xbf"a\nb"\n', [], [b'\xef\xbb\xbf"a', b'b"'], 0),
    (b"00ff\nABcd\n", ["hex"], [b"\0\xff", b"\xab\xcd"], 0),
    (b"head\na,b\n", ["header"], [b"a,b"], 0),
    (b"a\0b\n", [], [b"a\0b"], 0),
]


def whole_lines():
    """As 'epfctl insert' reads them: only a newline ends a line."""
    return first(map(of, LINES)) or \
        expect(read(b"x" * 257 + b"\n", "csv"), [], EBADMSG)


# (line, fields, key or None for keyless, or "bad")
JSON = [
    (b'{"a":"x"}', "a", b"x"),
    (b' {"a" : "x"} \r', "a", b"x"),
    (b'{"a":"x","b":{"c":7}}', "a,b.c", b"x,7"),
    (b'{"b":{"c":{"d":"\xe2\x82\xac"}}}', "b.c.d", b"\xe2\x82\xac"),
    (b'{"a":"\\u20ac\\ud83d\\ude00"}', "a", "\u20ac\U0001F600".encode()),
    (b'{"a":"\\u0000"}', "a", b"\0"),
    (b'{"b.c":"whole","b":{"c":"parts"}}', "b.c", b"whole"),
    (b'{"a":"first","a":"last"}', "a", b"last"),
    (b'{"a":-9223372036854775808}', "a", b"-9223372036854775808"),
    (b'{"a":-0}', "a", b"-0"),
    (b'{"a":12345678901234567890}', "a", b"12345678901234567890"),
    (b'{"a":1.50}', "a", b"1.50"),
    (b'{"a":true,"b":-1E+2}', "a,b", b"true,-1E+2"),
    (b'{"t":12345678901234567890,"r":1e999,"s":"\\ud800","u":"\xff","x":"\\x","a":"k"}', "a", b"k"),
    (b'{"a":"k","\\ud800":1,"\xff":2}', "a", b"k"),
    (b'{"\\u0061":{"b\\u002ec":"k"}}', "a.b.c", b"k"),
    (b'{"b":{"c":"parts"},"b.c":"whole"}', "b.c", b"whole"),
    (b'{"b":{"c":"first"},"b":{"c":"last"}}', "b.c", b"last"),
    (b'{"b":{"c":"first"},"b":{"d":"last"}}', "b.c", None),
    (b'{"b":{"c":"first"},"b":7}', "b.c", None),
    (b'{"b":{"c":[{"c":1}, {"b":{"c":2}}]},"a":"k"}', "a", b"k"),
    (b'{"a":{"a":"deep"},"b":{"a":"other"}}', "a.a,b.a", b"deep,other"),
    (b'{"b":{},"c":[ ],"d":[1, {"e":null}],"a":"k"}', "a", b"k"),
    (b'{"b":' + b"[" * 2047 + b"]" * 2047 + b',"a":"k"}', "a", b"k"),
    (b'{"b":' + b"[" * 2048 + b"]" * 2048 + b',"a":"k"}', "a", "bad"),
    (b'{"a\\u0000":"x"}', "a", None),
    (b'{"a":"x",}', "a", "bad"),
    (b'{"a":"x" "b":1}', "a", "bad"),
    (b'{"a":"x","b"}', "a", "bad"),
    (b'{"a":"x","b":tru}', "a", "bad"),
    (b'{"a":"x","b":01}', "a", "bad"),
    (b'{"a":"x","b":1.}', "a", "bad"),
    (b'{"a":"x","b":+1}', "a", "bad"),
    (b'{"a":"x","b":1e}', "a", "bad"),
    (b'{"a":"x","b":[1,]}', "a", "bad"),
    (b'{"a":"x","b":[1}}', "a", "bad"),
    (b'{"a":"x","b":"\t"}', "a", "bad"),
    (b'{"a":"x","b":"\\', "a", "bad"),
    (b'{a:"x"}', "a", "bad"),
    (b'{"a":null}', "a", None),
    (b'{"b":1}', "a", None),
    (b'{"b":1}', "b.c", None),
    (b'[]', "a", None),
    (b'"a"', "a", None),
    (b'{"a":""}', "a", None),
    (b'{"a":"","b":""}', "a,b", b","),
    (b'{"a":[1]}', "a", "bad"),
    (b'{"a":{}}', "a", "bad"),
    (b'{"a":"x"', "a", "bad"),
    (b'{"a":"x"} x', "a", "bad"),
    (b'{"a":"\xff"}', "a", "bad"),
    (b'{"a":"\\ud800"}', "a", "bad"),
    (b'[' * 100000, "a", "bad"),
    (b'{"a":"' + b"k" * 257 + b'"}', "a", "bad"),
]


def json_line(case):
    line, fields, key = case
    bad = key == "bad"
    keys = [] if bad or key is None else [key]
    got = read(line + b"\n", "json", f"fields={fields}")
    more = read(b"\n" + line + b'\n \n{"a":"end","b":"end"}', "json",
                f"fields={fields}", "skip-bad")
    return expect(got, keys, EBADMSG if bad else 0, int(key is None)) or \
        differ("bad", more.bad, int(bad)) or \
        (bad and differ("line", "line 1" in got.why, True)) or \
        differ("raw", got.raw, line + b"\n" if keys else b"")


def json_known():
    return first(map(json_line, JSON))


def json_path(value, path):
    if isinstance(value, dict) and path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    if not dot or not isinstance(value, dict):
        return None
    return json_path(value.get(head), rest)


def json_random():
    r = rng(2)
    lines, keys = [], []
    for i in range(5000):
        value = {"n": r.randrange(-10 ** 15, 10 ** 15),
                 "o": {"s": "".join(chr(r.choice([34, 92, 65, 0x3B1, 0x1F600,
                                                  1, 10])) for _ in range(9)),
                       "x": [None, 1.5, {}]}}
        lines.append(json.dumps(value, ensure_ascii=bool(i % 2)).encode())
        again = json.loads(lines[-1])
        keys.append("{}/{}".format(json_path(again, "o.s"),
                                   json_path(again, "n")).encode())
    got = read(b"\r\n".join(lines), "json", "fields=o.s,n", "joint=/")
    return expect(got, keys, 0, 0, 0)


def json_insert():
    """Without fields: the JSON that 'epfctl insert' accepts."""
    text = b'"key"\n{"key":"k"}\n{"hex":"00fF"}\n\n{"x":12345678901234567890,"key":"\\u0000"}\n'
    bad = [b"7", b"null", b"{}", b'{"key":1}', b'{"key":"a","hex":"00"}',
           b'""', b'{"hex":"0"}', b'{"hex":""}']
    return expect(read(text, "json"), [b"key", b"k", b"\0\xff", b"\0"], 0) or \
        first(expect(read(b, "json"), [], EBADMSG) for b in bad) or \
        expect(read(b"\n".join(bad), "json", "skip-bad"), [], 0, 0, len(bad))


def begun(whole, got):
    """Tell whether @got is the beginning of @whole; its last record may be cut off."""
    return got.pairs == whole.pairs[:len(got.pairs)] or \
        got.pairs[:-1] == whole.pairs[:len(got.pairs) - 1] and \
        whole.pairs[len(got.pairs) - 1][1].startswith(got.pairs[-1][1])


SMALL = [
    (b'h,"k"\r\na,"b\n""c"""\r\n\r\nd,e\n', "csv", ["fields=2", "header", "multiline"]),
    (b'{"a":{"b":12}}\n{"a":{"b":"x"}}', "json", ["fields=a.b"]),
    (b"one\ntwo\r\n", "csv", []),
]


def cut_anywhere():
    for text, form, options in SMALL:
        whole = read(text, form, *options)
        for n in range(0, len(text), STRIDE):
            for more in ([], ["skip-bad"]):
                got = read(text[:n], form, *options, *more)
                if not begun(whole, got):
                    return f"{form}, {n} bytes: {got.pairs}"
    return None


def long_lines():
    """A line may have LINE_MAX bytes; one more is an error, whether or not all its bytes
    have arrived.
"""
    def of_length(n):
        return [(b"a," + b"x" * (n - 3) + b"\n", "csv", ["fields=1"]),
                (b'a,"' + b"x" * (n - 5) + b'"\n', "csv", ["fields=1", "multiline"]),
                (b'{"k":"a","x":"' + b"y" * (n - 17) + b'"}\n', "json",
                 ["fields=k"])]
    for n, error in ((LINE_MAX, 0), (LINE_MAX + 1, EBADMSG)):
        for text, form, options in of_length(n):
            assert len(text) == n
            got = read(b"".join([text, text]), form, *options, "skip-bad")
            fault = expect(got, [] if error else [b"a"] * 2, error)
            if fault:
                return f"{form}, {n} bytes: {fault}"
            if error and "line 1" not in got.why:
                return got.why
    rows = [b'a,"' + b"\n" * (n - 5) + b'"\n' for n in (LINE_MAX, LINE_MAX + 1)]
    return expect(read(rows[0] * 2, "csv", "fields=1", "multiline"), [b"a"] * 2, 0) or \
        refused((rows[1], ["fields=1", "multiline"], [], "line 1: a quoted field with ends of lines"))


def endless_line():
    """2 GiB without a newline: one error, and no more memory than a buffer."""
    with tempfile.TemporaryFile() as f:
        os.truncate(f.fileno(), 2 << 30)
        for form, options in (("csv", ["fields=1"]), ("csv", []),
                              ("json", ["fields=a"]), ("nfdump", ["key=flow"])):
            f.seek(0)
            got = read(f, form, *options, "skip-bad", memory=64 << 20)
            if got.error != EBADMSG or "1048576" not in got.why:
                return f"{form}: {got.error} {got.why}"
    return None


def trickle():
    """A record is returned as soon as it has arrived."""
    run = subprocess.Popen(command("csv", "fields=1"), stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
    for i in range(3):
        run.stdin.write(b"%d,x\n" % i)
        run.stdin.flush()
        for _ in range(1 if i else 3):
            line = run.stdout.readline()
        if int(line.split()[0], 16) != digest(b"%d" % i):
            return f"record {i}: {line}"
    run.communicate(timeout=60)
    return differ("exit", run.returncode, 0)


def without_sense():
    """(format, options) that give -EINVAL"""
    cases = [("column", []), ("csv", ["fields=1", "digest", "hex"]),
             ("csv", ["fields=1,2", "digest"]), ("csv", ["fields=0"]),
             ("csv", ["fields=x"]), ("csv", ["fields=-1"]),
             ("csv", ["fields= 1"]), ("csv", ["fields=1x"]),
             ("csv", ["fields=99999999999999999999"]), ("csv", ["fields="]),
             ("csv", ["fields=1048577"]), ("csv", ["fields=1,,2"]), ("csv", ["fields=1,"]),
             ("csv", ["fields=" + ",".join("1" * 17)]),
             ("csv", ["fields=y", "header"]), ("csv", ["fields=a", "header"]),
             ("csv", ["fields=1", 'separator="']),
             ("csv", ["fields=1", "separator=\n"]), ("json", ["hex"]),
             ("json", ["fields=a", "header"]),
             ("json", ["fields=a", "separator=;"]), ("json", ["fields=a", "multiline"]),
             ("csv", ["multiline"]), ("csv", ["fields=1", "separator=;", "multiline"]),
             ("nfdump", ["key=flow", "multiline"]),
             ("nfdump", ["key=flow", "fields=1"]), ("nfdump", ["key=frame"]),
             ("ipfix", ["key=packet"]), ("ipfix", ["key=flow", "hex"]),
             ("pcap", ["key=flow", "digest"])]
    return first(expect(read(b"a,b,a\n1,2,3\n", form, *options), [], EINVAL)
                 for form, options in cases)


def told_by_itself():
    text = [(b'{"a":"x"}\n', "json", ["fields=a"]),
            (b'\xef\xbb\xbf{"a":"x"}\n', "json", ["fields=a"]),
            (b"ts,te,td,sa,da,sp,dp,pr\n", "nfdump", ["key=flow"]),
            (b"\0\x0a\0\x10" + bytes(12), "ipfix", ["key=flow"])]
    unknown = [(b"", "empty"), (b"a,b,c\n", "--format csv"), (b"\n", "--format"),
               (b"sa,da,pr", "--format"), (b"\x1f\x8b\x08\0\0", "cut off"),
               (b"\x28\xb5\x2f\xfd\0", "cut off"),
               (b"\xfd7zXZ\0", "cut off"), (b"\x1f\x8b\x08\xff", "twice"),
               (b"\0" * 5000, "--format")]
    for data, form, options in text:
        if read(data, "auto", *options).format != form:
            return f"{form} is not seen"
    for data, why in unknown:
        got = read(data, "auto")
        if got.error != EBADMSG or why not in got.why:
            return f"{data[:9]}: {got.error} {got.why}"
    return None


CASES = [
    ("CSV as RFC 4180 has it", csv_known),
    ("CSV that is none: an error, with its line", csv_bad),
    ("a record of CSV is a line, whatever quotes it has", lines_apart),
    ("blank lines of CSV that come by themselves", csv_blank_apart),
    ("CSV that is none, passed over", csv_skipped),
    ("30000 random records of CSV, from a file and a pipe", csv_random),
    ("digests in hex", digests),
    ("whole lines", whole_lines),
    ("members of JSON", json_known),
    ("5000 random lines of JSON", json_random),
    ("JSON without fields", json_insert),
    ("text cut off anywhere", cut_anywhere),
    ("lines of 1 MiB, and of a byte more", long_lines),
    ("a line of 2 GiB", endless_line),
    ("records that trickle", trickle),
    ("what makes no sense", without_sense),
    ("formats that tell themselves, and others", told_by_itself),
]

if __name__ == "__main__":
    tap.main([case for case in CASES
              if case[1].__name__ in sys.argv[1:] or not sys.argv[1:]])
