#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""No data that a client gets, or that is written beside a watched file, depends on the hash
key. Everything is done twice, with two snapshots that differ only in the hash key and hence
in their lines. Keys are chosen so that the verdicts are the same; then all messages,
results, logs and numbers must be the same too.

Left out are times, process and file numbers, which differ between any two runs.
"""

import json
import os
import re
import shutil
import struct

import agent as a
import tap

KEYS = 5003
HASH_KEYS = ("0x0123456789abcdef", "0xfedcba9876543210")
MTIME = 1700000000
NUMBERS = {"busy_ns", "uptime_ns", "mtime_ns", "inode", "version"}
sides = []  # Files, one for each hash key


def masked(json_value):
    """Remove the members that differ between any two runs."""
    if isinstance(json_value, dict):
        return {k: "-" if k in NUMBERS else masked(v)
                for k, v in json_value.items()}
    if isinstance(json_value, list):
        return [masked(v) for v in json_value]
    return json_value


def same(run):
    """Check that run(Files), which returns all output it has seen, sees the same for both."""
    one, two = (run(files) for files in sides)
    if not one:
        return "nothing was seen"
    for i, (x, y) in enumerate(zip(one, two)):
        if x != y:
            return f"{i}: {x!r:.1000}\nunder another key: {y!r:.1000}"
    return None if len(one) == len(two) else f"{len(one)}, {len(two)} things"


def as_client(g):
    if os.geteuid():
        return a.Client(g)
    os.chmod(g.path, 0o666)
    return a.as_user(g, 4242)


AUDITS = [
    ("column", {"key_len": 12}),
    ("column", {"key_len": 7}),     # an error
    ("column", {"key_len": 4}),     # none of them is present
    ("keys.csv", {"records": {"format": "csv", "header": True,
                              "fields": "key"}}),
    ("keys.csv", {"records": {"format": "csv", "fields": "9"}}),
    ("keys.json", {"records": {"format": "json", "fields": "key"}}),
    ("keys.json", {"records": {"format": "json", "fields": "key",
                               "digest": True}}),
    ("keys.pcap", {"records": {"format": "pcap"}}),
    ("keys.pcap", {"records": {"format": "json"}}),
]


def outputs_of(more):
    column = more.get("records", {}).get("format", "column") == "column"
    return ("bitmap", "ages") if column else ("bitmap", "ages", "records")


def messages(files):
    seen = []
    with a.Agent(files.dir) as g, as_client(g) as c:
        for keys, more in AUDITS:
            outputs = outputs_of(more)
            seen.append(masked(c.audit(*files.request(keys, outputs, **more))))
            seen += [files.read(name + ".out") for name in outputs]
        files.close()
        seen.append(masked(c.ask({"op": "status"})))
        seen.append(re.sub(rb"process \d+", b"", g.text()).replace(
            files.dir.encode(), b""))
    return seen


def bad_snapshots(files):
    """Answers about a damaged snapshot."""
    whole = files.read("snap")
    at = len(whole) // 2
    seen = []
    with a.Agent(files.dir) as g, as_client(g) as c:
        for name, data in (("cut", whole[:-1]), ("head", whole[:100]),
                           ("spoilt", whole[:at] + bytes([whole[at] ^ 1]) +
                            whole[at + 1:]),
                           ("header", whole[:200] + bytes([whole[200] ^ 1]) +
                            whole[201:])):
            a.write(files.path(name), data)
            message, fds = files.request("column", (), key_len=12)
            fds[1] = files.fd(name)
            seen.append(masked(c.audit(message, fds)))
        files.close()
    return seen


def watched(files):
    own = files.path("watched")
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own)
    option = f"{own}={files.path('snap')}:key-len=12,ages"
    with a.Agent(files.dir, "--watch", option):
        shutil.copy(files.path("column"), os.path.join(own, "column"))
        path = os.path.join(own, "column.audit.json")
        a.poll(lambda: os.path.exists(path))
    with open(path) as f:
        verdict = masked(json.load(f))
    verdict["filter"] = ""  # a path
    return [verdict, files.read("watched/column.bitmap"),
            files.read("watched/column.ages")]


def nothing_of_header():
    """Neither key nor checksum of the snapshot occurs in any answer."""
    files = sides[0]
    header = files.read("snap")[:496]
    with a.Agent(files.dir) as g, as_client(g) as c:
        answer = c.audit(*files.request("column", (), key_len=12))
        files.close()
    about = bytes.fromhex(answer["about"]["header"])
    key = struct.pack("<2Q", int(HASH_KEYS[0], 16), 12)
    if key not in header or len(about) > len(header):
        return "the header is laid out otherwise"
    secrets = [key[:8], header[len(about) - 16:len(about) - 8],
               header[len(about) - 8:len(about)]]
    text = json.dumps(answer)
    for secret in secrets:
        if secret in about or secret.hex() in text or \
                secret[::-1].hex() in text:
            return f"answered {answer}"
    return None


CASES = [
    ("answers, outputs, status and log", lambda: same(messages)),
    ("what is said of damaged snapshots", lambda: same(bad_snapshots)),
    ("results of a watched directory", lambda: same(watched)),
    ("neither key nor checksum of the header", nothing_of_header),
]


def run(made):
    for key in HASH_KEYS:
        dir = made.path(key)
        os.mkdir(dir)
        os.chmod(dir, 0o755)
        sides.append(a.Files(dir, KEYS, key))
        for name in os.listdir(dir):
            os.utime(os.path.join(dir, name), (MTIME, MTIME))
    if sides[0].read("snap") == sides[1].read("snap") or \
            sides[0].read("bitmap") != sides[1].read("bitmap"):
        raise AssertionError("the two snapshots are not what they should be")
    return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(3, run))
