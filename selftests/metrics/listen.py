#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The endpoint of the metrics: where it listens, and what it answers."""

import contextlib
import json
import os
import re
import select
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

import common
import openmetrics
import tap
from endpoint import Endpoint

LOOPBACK = "127.0.0.1:0"
OPENMETRICS = "application/openmetrics-text"
# of Prometheus 2.42
ACCEPT = (OPENMETRICS + ";version=1.0.0," + OPENMETRICS + ";version=0.0.1;q=0.75,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
TMP = tempfile.TemporaryDirectory()


def path_of(name):
    return os.path.join(TMP.name, name)


def needs_root():
    if os.geteuid():
        raise tap.Skip("needs root, whose connections are not counted, to be other users")


def same(got, want):
    return None if got == want else f"got {got}, wanted {want}"


def filters_of(samples):
    return {k: v for k, v in samples.items() if dict(k[1]).get("filter")}


def told(listen):
    """Return complete OpenMetrics from this address."""
    def run():
        want = {}
        for f in json.loads(common.page("kinds", "raw")):
            want.update(common.of_filter(f))
        with Endpoint(listen, "kinds") as e:
            status, headers, body = e.ask(Accept=ACCEPT)
        samples = openmetrics.parse(body)[0]
        return same((status, headers["Content-Type"]), (
            200, OPENMETRICS + "; version=1.0.0; charset=utf-8")) or \
            common.difference(filters_of(samples), want) or \
            same(samples["epochfilter_agent_keys_asked_total", frozenset()], 1000)
    return run


def told_where():
    with Endpoint("127.0.0.1:0") as four, Endpoint("[::1]:0") as six, \
            Endpoint(path_of("where")) as unix:
        return same([four.where.rsplit(":", 1)[0], six.where.rsplit(":", 1)[0],
                     unix.where],
                    ["http://127.0.0.1", "http://[::1]", path_of("where")])


def old_format():
    with Endpoint(LOOPBACK, "kinds") as e:
        answers = [e.ask(), e.ask(Accept="*/*"), e.ask(Accept="text/plain")]
    for status, headers, body in answers:
        openmetrics.parse_text(body)
        if status != 200 or headers["Content-Type"] != \
                "text/plain; version=0.0.4; charset=utf-8":
            return f"{status} {headers}"
    return None


def other_requests():
    with Endpoint(LOOPBACK, "kinds") as e:
        got = [e.ask("/")[0], e.ask("/metrics/")[0], e.ask("/etc/passwd")[0],
               e.ask("/metrics?x=1")[0], e.ask(method="HEAD")[0],
               e.ask(method="POST", body="x" * 100000)[0],
               e.ask(method="DELETE")[0], e.ask(body="x" * 100000)[0],
               e.ask("/x" * 100000)[0]]
        allow = e.ask(method="PUT")[1]["Allow"]
        page = e.ask("/")[2]
    return same(got, [200, 404, 404, 200, 200, 405, 405, 200, 414]) or \
        same((allow, b'href="/metrics"' in page), ("GET, HEAD", True))


def head():
    with Endpoint(LOOPBACK, "many") as e:
        whole, none = e.ask(), e.ask(method="HEAD")
    return same((none[1]["Content-Length"], none[2]),
                (str(len(whole[2])), b""))


def errors():
    """If the numbers cannot be read the answer is 500, and the endpoint continues."""
    with Endpoint(LOOPBACK, "no_filter") as e:
        return same([e.ask()[0], e.ask()[0], e.ask("/")[0]], [500, 500, 200])


def without_module():
    if os.path.exists("/dev/epochfilter"):
        raise tap.Skip("the module is loaded")
    with Endpoint(LOOPBACK) as e:
        samples = openmetrics.parse(e.ask(Accept=ACCEPT)[2])[0]
    return same((samples["epochfilter_up", frozenset()],
                 samples["epochfilter_readable", frozenset()], filters_of(samples)),
                (0, 0, {}))


def without_permission():
    """This error differs from that for a missing module."""
    with Endpoint(LOOPBACK, "closed") as e:
        samples = openmetrics.parse(e.ask(Accept=ACCEPT)[2])[0]
    return same((samples["epochfilter_up", frozenset()],
                 samples["epochfilter_readable", frozenset()], filters_of(samples)),
                (1, 0, {}))


def refused():
    """Only this machine's own addresses, and valid paths, are accepted."""
    faults = []
    for listen, why in [
            ("0.0.0.0:0", "only"), ("[::]:0", "only"), (":9464", "only"),
            ("*:9464", "only"), ("localhost:9464", "only"), ("9464", "only"),
            ("127.0.0.2:9464", "only"), ("192.0.2.1:9464", "only"),
            ("[::ffff:0.0.0.0]:1", "only"), ("", "only"), ("relative", "only"),
            ("127.0.0.1:", "a port is"), ("127.0.0.1:65536", "a port is"),
            ("127.0.0.1:-1", "a port is"), ("127.0.0.1:1x", "a port is"),
            ("[::1]:000000", "a port is"), ("127.0.0.1:1:0.0.0.0:1", "a port is"),
            ("/" + "x" * 108, "has at most 107 bytes"),
            (path_of("none/x"), "No such file")]:
        status, said = Endpoint(listen, "kinds").stop()
        if status != 1 or not said.startswith("error: '") or \
                why not in said or said.count("\n") != 1:
            faults.append(f"{listen}: {status} {said}")
    return "\n".join(faults)


def loopback_only():
    """It does not listen on another address of this machine."""
    with Endpoint(LOOPBACK, "kinds") as e:
        port = int(e.address().rsplit(":", 1)[1])
        try:
            socket.create_connection(("127.0.0.2", port)).close()
            return "127.0.0.2 is answered"
        except OSError:
            return None


def taken():
    with Endpoint(LOOPBACK, "kinds") as e:
        return same(Endpoint(e.address(), "kinds").stop(),
                    (1, f"error: '{e.address()}': "
                        "Address already in use\n"))


def socket_file():
    """The socket has mode 0660 whatever the umask, and is removed at the end."""
    path = path_of("mode")
    old = os.umask(0o077)
    try:
        with Endpoint(path, "kinds"):
            mode = stat.S_IMODE(os.stat(path).st_mode)
    finally:
        os.umask(old)
    return same((mode, os.path.exists(path)), (0o660, False))


def stale_socket():
    path = path_of("stale")
    with Endpoint(path, "kinds") as e:
        e.process.kill()
        e.process.wait()
    if not os.path.exists(path):
        return "no socket was left"
    with Endpoint(path, "kinds") as e:
        return same(e.ask()[0], 200)


def not_replaced():
    """Neither a socket in use nor any other file is replaced."""
    with open(path_of("file"), "w") as f:
        f.write("text")
    os.symlink(path_of("file"), path_of("link"))
    with Endpoint(path_of("live"), "kinds") as e:
        got = [Endpoint(path_of(n), "kinds").stop()[0]
               for n in ("file", "link", "live")]
        answer = e.ask()[0]
    with open(path_of("file")) as f:
        return same((got, answer, f.read()), ([1, 1, 1], 200, "text"))


def at_once():
    """Forty clients of root, more than there are connections, all get the complete page."""
    needs_root()
    with Endpoint(LOOPBACK, "many") as e:
        first, bodies = e.ask()[2], []
        threads = [threading.Thread(target=lambda: bodies.append(e.ask()[2]))
                   for _ in range(40)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    return same(len([b for b in bodies if b == first]), 40)


def idle_clients():
    """Silent clients, as many as there are connections, are disconnected."""
    with Endpoint(LOOPBACK, "kinds") as e:
        idle = [e.socket() for _ in range(16)]
        status = e.ask()[0]
        for s in idle:
            s.close()
    return same(status, 200)


class Drip(threading.Thread):
    """A client that sends its request byte by byte, until it is disconnected or stopped."""

    def __init__(self, endpoint, pause, stop):
        super().__init__(daemon=True)
        self.endpoint, self.pause, self.stop = endpoint, pause, stop
        self.socket = endpoint.socket()

    def run(self):
        with contextlib.suppress(OSError):
            while not self.stop.wait(self.pause):
                self.socket.send(b"G")
        self.socket.close()


def limited(listen, head_ms=None, rest_ms=None):
    """An endpoint with other time limits of a request's head and of its rest."""
    limits = {"EPF_HEAD_MS": head_ms, "EPF_REQUEST_MS": rest_ms}
    os.environ.update({name: str(ms) for name, ms in limits.items() if ms})
    try:
        return Endpoint(listen, "kinds")
    finally:
        for name in limits:
            os.environ.pop(name, None)


def first_request(s):
    """Send one request, and read its answer."""
    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    text = s.recv(65536)
    head = text.split(b"\r\n\r\n")[0]
    left = int(re.search(rb"Content-Length: (\d+)", head)[1]) - len(text) + len(head) + 4
    while left > 0:
        left -= len(s.recv(65536))


def dripping_clients(begin=None, **limits):
    """Sixteen clients that send their request, or what follows @begin, byte by byte do not
    block a scrape. They continue until it is answered; if it is not, the time limit of this
    test ends them."""
    def run():
        stop = threading.Event()
        with limited(LOOPBACK, **limits) as e:
            drips = [Drip(e, 0.2, stop) for _ in range(16)]
            for d in drips:
                if begin:
                    begin(d.socket)
                d.start()
            status = e.ask_until_answered()[0]
            stop.set()
            for d in drips:
                d.join()
        return same(status, 200)
    return run


def head_of_body(s):
    s.sendall(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n")


def as_user(e, uid, *option):
    os.seteuid(uid)
    try:
        return e.socket(*option)
    finally:
        os.seteuid(0)


def is_shut(s):
    try:
        return not s.recv(1)
    except ConnectionResetError:
        return True


def share(listen):
    """A user may hold eight of the sixteen connections; root and other users are answered."""
    bound = (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo") if listen == LOOPBACK else ()

    def run():
        needs_root()
        with limited(listen, head_ms=3600000) as e:
            if listen.startswith("/"):
                os.chmod(TMP.name, 0o711)
                os.chmod(listen, 0o666)
            held = [as_user(e, 4242) for _ in range(8)]
            shut = [is_shut(as_user(e, 4242, *option)) for option in ((), bound)]
            for s in [*held, as_user(e, 4243)]:
                first_request(s)
            status = e.ask()[0]
            held.pop().close()
            answered = False
            while not answered:
                with contextlib.suppress(OSError, TypeError):  # the end of the other is not seen yet
                    first_request(as_user(e, 4242))
                    answered = True
        return same((shut, status), ([True, True], 200))
    return run


def connections():
    """Sixteen connections are served. One more waits, and is served when another ends."""
    needs_root()
    with limited(LOOPBACK, head_ms=3600000) as e:
        held = [e.socket() for _ in range(16)]
        last = e.socket()
        last.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        for s in held * 2:  # new connections are accepted before each of the second answers
            first_request(s)
        waits = not select.select([last], [], [], 0)[0]
        held.pop().close()
        return same((waits, last.recv(4)), (True, b"HTTP"))


def closed_clients():
    """The time limit of a connection ends with it: nothing is shut down then (serve.c)."""
    with limited(LOOPBACK, 100, 100) as e:
        for _ in range(40):
            e.socket().close()
        time.sleep(.5)
        status = e.ask_until_answered()[0]
        return same((status, e.stop()), (200, (0, "")))


def weights():
    """The client's preferred format is used; OpenMetrics must be named."""
    om, plain, faults = OPENMETRICS, "text/plain", []
    with Endpoint(LOOPBACK, "kinds") as e:
        for accept, want in [
                (om + ";q=0", plain), (om + "; q=0.000," + plain, plain),
                (om + ";version=1.0.0; Q=0", plain), ("*/*," + om + ";q=0", plain),
                (om + ";q=0.5," + plain + ";q=0.6", plain),
                (plain + ";version=0.0.4," + om + ";q=0.9", plain),
                (om + ";q=0.001", om), (om + ";q=0.6, " + plain + ";q=0.5", om),
                (om + ";q=0.5," + plain + ";q=0.5", om),
                (om + ";q=0,  " + om + ";version=1.0.0;q=0.75", om),
                ("text/html, " + om, om), (om + ";q=1.000", om),
                (om + " ;q=0.9", om), (om + "\t; q=1", om),
                (om + ";q=0.5x", plain), (om + ";q=1x", plain),
                ("x/" + om, plain), (om + "x", plain), (om + ";q=", plain),
                (";;q=,,;" + om, plain), ("," * 5000, plain), (ACCEPT, om)]:
            got = e.ask(Accept=accept)[1]["Content-Type"]
            if not got.startswith(want + ";"):
                faults.append(f"{accept[:60]}: {got}")
    return "\n".join(faults)


def half_clients():
    """A client that disconnects during an answer does no harm."""
    with Endpoint(LOOPBACK, "many") as e:
        for _ in range(20):
            s = e.socket()
            with contextlib.suppress(ConnectionError):  # the machine stalled
                s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                s.recv(10)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            s.close()
        return same(e.ask()[0], 200)


def signals():
    """The endpoint's thread takes no signals, even if the other threads block them."""
    with Endpoint(LOOPBACK, "kinds") as e:
        for command in "su":
            e.process.stdin.write(command)
            e.process.stdin.flush()
            for _ in range(20):
                e.ask()
        return same(e.process.stdout.readline(), "main\n")


def ends_while_asked():
    """It ends with status 0 while clients are connected."""
    e = Endpoint(LOOPBACK, "many")
    s = e.socket()
    with contextlib.suppress(ConnectionError):  # the machine stalled
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    status = e.stop()
    s.close()
    return same(status, (0, ""))


def agent():
    """epfagent has such an endpoint, with additional numbers."""
    program = os.path.join(os.path.dirname(common.EPFCTL), "epfagent")
    if not os.path.exists(program):
        raise tap.Skip("epfagent is not built")
    e = Endpoint.__new__(Endpoint)
    e.where = path_of("agent-metrics")
    e.process = subprocess.Popen([program, "--socket", path_of("agent"),
                                  "--metrics", e.where], stderr=subprocess.PIPE)
    try:
        e.process.stderr.readline()  # it is ready
        samples = openmetrics.parse(e.ask(Accept=ACCEPT)[2])[0]
    finally:
        e.process.terminate()
        e.process.communicate()
    own = sorted(k[0][12:] for k in samples if k[0].startswith("epochfilter_agent"))
    return same(own, sorted(common.AGENT + ["agent_audits_total"] * 3)) or \
        same(os.path.exists(e.where), False)


CASES = [
    ("127.0.0.1: all filters, as OpenMetrics", told(LOOPBACK)),
    ("[::1]: likewise", told("[::1]:0")),
    ("a socket: likewise", told(path_of("socket"))),
    ("it says where it is", told_where),
    ("the older format where OpenMetrics is not asked for", old_format),
    ("other paths, methods, bodies", other_requests),
    ("HEAD is GET without the text", head),
    ("filters that cannot be read: 500", errors),
    ("without the module: up is 0", without_module),
    ("without permission: up is 1, readable 0", without_permission),
    ("other addresses are refused, in one line", refused),
    ("only the loopback address is listened on", loopback_only),
    ("an address that is taken", taken),
    ("a socket's mode, and its end", socket_file),
    ("a socket that was left behind is replaced", stale_socket),
    ("what is in use, or no socket, is not", not_replaced),
    ("40 clients at once", at_once),
    ("16 clients that say nothing", idle_clients),
    ("16 clients that drip a request", dripping_clients(rest_ms=3600000)),
    ("16 clients that drip a second request",
     dripping_clients(first_request, head_ms=2000, rest_ms=3600000)),
    ("16 clients that drip a body", dripping_clients(head_of_body, head_ms=3600000, rest_ms=2000)),
    ("a user has 8 connections by TCP, not 9", share(LOOPBACK)),
    ("a user has 8 connections by IPv6, not 9", share("[::1]:0")),
    ("a user has 8 connections of the socket, not 9", share(path_of("share"))),
    ("16 connections are served, not 17", connections),
    ("clients that were there", closed_clients),
    ("the format by weights", weights),
    ("clients that go away", half_clients),
    ("signals are the caller's", signals),
    ("it ends while it is asked", ends_while_asked),
    ("epfagent has it", agent),
]

if __name__ == "__main__":
    # with arguments, only these
    tap.main([c for c in CASES if not sys.argv[1:] or c[0] in sys.argv[1:]],
             retry="other processes answer, when they are let")
