#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Measure one firewall of the demo; firewall.sh has made namespaces and rules.

  ask   QUERIES queries wait for answers. Meanwhile a flood with SOURCES source
        addresses comes to an open port, and then one from source port 53 to the
        ports of the queries. Then the answers are sent.
  load  The client sends to twice as many addresses as the firewall is planned
        for, within the time that it remembers. Each is answered once, and then
        as many others come from source port 53.

Counts what reached UDP, which is behind every firewall: a socket whose filter
refuses all counts its packets as errors, and a connected one does not take a
stranger's packet, which counts as one without a port. All numbers are this
namespace's own.

usage: firewall_run.py ask|load OUTPUT NAME=VALUE...
"""

import ctypes
import json
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
SO_ATTACH_FILTER = 26
OPEN_PORT, FIRST_PORT, DNS, UPSTREAM = 4500, 20000, 53, 5353
CLIENT = "10.53.0.1"
SERVERS = 0x0A360000   # 10.54.0.0/16: the resolver has all of them
SPOOFED = "10.128.0.0"
ANSWERED = 0x0A400000  # 10.64.0.0: whom "load" sends to
HEADER = struct.Struct(">6H")
PATIENCE = 5           # seconds that a query may take to the resolver's upstream
QUIET = 2              # seconds without an answer after which none is expected
SENT_AT_ONCE = 64
SHARE = 0.7            # of the time that flows are remembered, in which they are sent

libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    """What this thread opens from now on belongs to @namespace."""
    with open(f"/run/netns/{namespace}", "rb") as f:
        if libc.setns(f.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def udp(address=None, port=0):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if address:
        s.bind((address, port))
    return s


def deaf(port):
    """A socket that takes packets, counts them as errors and keeps none."""
    s = udp()
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # ret 0
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                 struct.pack("HP", 1, ctypes.addressof(code)))
    s.bind((CLIENT, port))
    return s


def table(name):
    with open(f"/proc/thread-self/net/{name}") as f:
        return f.read()


def counters():
    """Packets that came to the interface, to strangers' ports, to deaf ones."""
    names, values = (line.split()[1:] for line in table("snmp").splitlines()
                     if line.startswith("Udp:"))
    udp_of = dict(zip(names, map(int, values)))
    came = int(re.search(r"fw0: *\d+ +(\d+)", table("dev"))[1])
    return {"came": came, "strangers": udp_of["NoPorts"],
            "deaf": udp_of["InErrors"]}


def question(number):
    name = f"q{number:05}".encode()
    return HEADER.pack(number & 0xFFFF, 0x0100, 1, 0, 0, 0) + \
        bytes([len(name)]) + name + b"\7example\0\0\1\0\1"


def answer(query):
    """One address, 192.0.2.1."""
    end = query.index(b"\0", HEADER.size) + 5
    return query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + query[HEADER.size:end] + \
        b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"


class Run:
    def __init__(self, options):
        self.o = options
        self.out = {}

    def number(self, name):
        return int(self.o[name])

    def flood(self, **options):
        """Send it and say what came of it."""
        before = counters()
        command = ["nsenter", f"--net=/run/netns/{self.o['resolver']}",
                   self.o["flood"], self.o["object"], "fw1", self.o["mac"],
                   CLIENT]
        command += [f"{k}={v}" for k, v in options.items()]
        said = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        after = counters()
        return json.loads(said.stdout) | {k: after[k] - before[k] for k in after}

    def ask(self):
        queries, sources = self.number("queries"), self.number("sources")
        enter(self.o["resolver"])
        upstream = udp("127.0.0.1", UPSTREAM)
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        enter(self.o["client"])
        opened = deaf(OPEN_PORT)
        sockets = [udp(CLIENT, FIRST_PORT + i) for i in range(queries)]
        waiting, started = {}, time.monotonic()
        for i, s in enumerate(sockets):
            s.connect((socket.inet_ntoa(struct.pack(">I", SERVERS + 1 + i)),
                       DNS))
            s.send(question(i))
            if (i + 1) % SENT_AT_ONCE == 0 or i + 1 == queries:
                self.collect(upstream, waiting, i + 1)
        flood = {"count": sources, "source": SPOOFED, "sources": sources}
        self.out["open"] = self.flood(port=OPEN_PORT, **flood)
        self.out["unsolicited"] = self.flood(sport=DNS, port=FIRST_PORT,
                                             ports=queries, **flood)
        for query, address in waiting.values():
            upstream.sendto(answer(query), address)
        self.out |= {"queries": queries, "replies": self.replies(sockets)}
        self.took(started)
        opened.close()

    @staticmethod
    def collect(upstream, waiting, wanted):
        """Take queries until there are so many: the resolver has them all."""
        upstream.settimeout(PATIENCE)
        while len(waiting) < wanted:
            try:
                query, address = upstream.recvfrom(512)
            except socket.timeout:
                sys.exit(f"firewall_run: the resolver asks {len(waiting)} of "
                         f"{wanted} queries")
            waiting[query[HEADER.size:]] = query, address

    @staticmethod
    def replies(sockets):
        """How many sockets get the answer to their own question."""
        wait = {s.fileno(): (i, s) for i, s in enumerate(sockets)}
        poll = select.poll()
        for fd in wait:
            poll.register(fd, select.POLLIN)
        got, quiet = 0, time.monotonic() + QUIET
        while wait and time.monotonic() < quiet:
            for fd, _ in poll.poll(100):
                i, s = wait.pop(fd)
                poll.unregister(fd)
                data = s.recv(512)
                got += data == answer(question(i))
                quiet = time.monotonic() + QUIET
        return got

    def load(self):
        planned = self.number("planned")
        within = float(self.o["within"] or SHARE * float(self.o["seconds"]))
        enter(self.o["client"])
        s = deaf(FIRST_PORT)
        before = settled(planned)
        started = time.monotonic()
        sent = self.send(s, ANSWERED, planned, within / 2)
        self.out["entry_bytes"] = grown(before, slabs(), planned)
        if self.o["state"]:
            said = subprocess.run(self.o["state"].split(), check=True,
                                  stdout=subprocess.PIPE)
            self.out["state"] = said.stdout.decode()
        sent += self.send(s, ANSWERED + planned, planned, within / 2)
        passed = self.flood(count=2 * planned, shuffle=0, sport=DNS,
                            source=socket.inet_ntoa(struct.pack(">I", ANSWERED)),
                            sources=1 << (2 * planned - 1).bit_length(),
                            port=FIRST_PORT)
        self.took(started)
        self.out |= {"planned": planned, "left": sent, "replies": passed}
        self.out["unsolicited"] = self.flood(
            count=planned, sport=DNS, source=SPOOFED, sources=1 << 20,
            port=FIRST_PORT)

    def took(self, started):
        """From the first query to the last answer, beside how long flows are remembered."""
        self.out |= {"took": time.monotonic() - started, "remembers": float(self.o["seconds"])}

    @staticmethod
    def send(s, first, count, seconds):
        """To @count addresses, evenly in @seconds. Return: how many left."""
        started, sent = time.monotonic(), 0
        for i in range(count):
            address = socket.inet_ntoa(struct.pack(">I", first + i))
            try:
                s.sendto(b"?", (address, DNS))
                sent += 1
            except PermissionError:
                pass  # the firewall refused it
            if i % SENT_AT_ONCE == 0:
                ahead = started + seconds * i / count - time.monotonic()
                if ahead > 0:
                    time.sleep(ahead)
        return sent


def slabs():
    """{cache: (objects in use, bytes of one)}"""
    with open("/proc/slabinfo") as f:
        rows = [line.split() for line in f.readlines()[2:]]
    return {r[0]: (int(r[1]), int(r[3])) for r in rows}


def settled(entries):
    """slabs(), once what the last firewall left is freed: that takes a while."""
    last = slabs()
    for _ in range(20):
        time.sleep(0.2)
        now = slabs()
        if all(n - now.get(name, (0, 0))[0] < entries / 64
               for name, (n, _) in last.items()):
            break
        last = now
    return now


def grown(before, after, entries):
    """Bytes for each entry, of caches that got at least a quarter as many
    objects: those of other programs come and go, but not as many. 0: none."""
    total = 0
    for name, (objects, size) in after.items():
        more = objects - before.get(name, (0, 0))[0]
        if more >= entries / 4:
            total += max(1, round(more / entries)) * size
    return total


def main():
    what, output, *options = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the flood, too
    run = Run(dict(o.split("=", 1) for o in options))
    {"ask": run.ask, "load": run.load}[what]()
    with open(output, "w") as f:
        json.dump(run.out, f)


if __name__ == "__main__":
    main()
