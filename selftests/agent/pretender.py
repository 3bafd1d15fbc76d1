#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What listens at the socket is no agent, and lies: headers that no filter has, texts that a
terminal obeys, rates above 1, more keys done than there are. epfctl ends with one line that has
no control character, and prints nothing else.
"""

import copy
import json
import os
import socket
import subprocess
import sys
import threading

import agent as a
import tap

HEADER = 288
NAME, NAME_LEN = 16, 32      # places in the header
KIND, LINES = 48, 56
EPOCH_BEGIN, EPOCH_END = 112, 120
ONE = 10 ** 12               # EPF_RATE_ONE
files = None


def truth():
    """An answer that is taken."""
    mark = {"keys": 3, "present": 1, "ages": [1] + [0] * (a.AGES - 1), "record_bytes": 0}
    done = {"mark": mark, "keys_all": 3, "bytes": 6, "bytes_all": 6, "keyless": 0,
            "bad": 0, "left_out": 0, "bitmap_xxh3": "0123456789abcdef",
            "format": "column", "engine": "scalar", "why": "told"}
    about = {"place": "copy", "saturated": True, "fpr_ppt": ONE,
             "header": files.read("snap")[:HEADER].hex(), "desc": [0, 0, 0, 0]}
    return {"about": about, "done": done}


def answered(answer):
    """Run an audit that gets this answer."""
    path = files.path("pretender")
    if os.path.exists(path):
        os.unlink(path)

    def pretend(server):
        with server.accept()[0] as c:
            _, fds, _, _ = socket.recv_fds(c, 1 << 16, 8)
            for fd in fds:
                os.close(fd)
            c.send(json.dumps(answer).encode())

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(path)
        server.listen()
        thread = threading.Thread(target=pretend, args=(server,), daemon=True)
        thread.start()
        ran = subprocess.run([a.EPFCTL, "audit", "--agent=" + path, "filter",
                              files.path("column"), "--key-len", "12"],
                             capture_output=True, timeout=a.PATIENCE)
        if ran.returncode == 2 and thread.is_alive():  # it did not ask
            server.shutdown(socket.SHUT_RDWR)
        thread.join(a.PATIENCE)
    return ran


def lie(place, value):
    """The truth, but for the member at this place."""
    whole = copy.deepcopy(truth())
    at = whole
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    return whole


def header(at, data):
    whole = bytearray(files.read("snap")[:HEADER])
    whole[at:at + len(data)] = data
    return lie(("about", "header"), bytes(whole).hex())


def refused(*answers):
    for answer in answers:
        ran = answered(answer)
        if ran.returncode != 2 or ran.stdout or b"invalid reply" not in ran.stderr or \
                ran.stderr.count(b"\n") != 1 or any(c < 32 for c in ran.stderr[:-1]):
            return f"{answer!r:.300}: {ran}"
    return None


def taken():
    ran = answered(truth())
    if ran.returncode == 2 or b"invalid" in ran.stderr or b"saturated" not in ran.stderr:
        return f"the truth: {ran}"
    return None


def number(n):
    return n.to_bytes(8, sys.byteorder)


def names():
    bell = b"\x1b]0;title\x07"
    return refused(header(NAME, b"A" * NAME_LEN), header(NAME, b"A" * (HEADER - NAME)),
                   header(NAME, bytes(NAME_LEN)), header(NAME, bell + bytes(NAME_LEN - len(bell))),
                   header(NAME, b"a/b\0"), header(NAME, b"\xc2\x9b1m\0"))


def shapes():
    return refused(header(KIND, b"\xff"), header(LINES, number(1)), header(EPOCH_BEGIN, number(0)),
                   header(EPOCH_END, number(0)))


def texts():
    return refused(*(lie(("done", name), text) for name in ("why", "fallen")
                     for text in ("\x1b[31mred", "two\nlines", "\x7f", "\x9b31mred", "x" * 5000)))


def rates():
    return refused(lie(("about", "fpr_ppt"), ONE + 1), lie(("about", "fpr_ppt"), -1),
                   lie(("about", "fpr_ppt"), (1 << 63) - 1))


def marks():
    return refused(lie(("done", "keys_all"), 2), lie(("done", "mark", "present"), 4),
                   lie(("done", "mark", "keys"), 4))


CASES = [
    ("an answer that is no lie is taken", taken),
    ("names that no filter has", names),
    ("parameters and epochs that no filter has", shapes),
    ("texts that a terminal obeys, or that are too long", texts),
    ("rates outside of 0 to 1", rates),
    ("more keys done than there are", marks),
]


def run(made):
    global files
    files = made
    return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(5000, run))
