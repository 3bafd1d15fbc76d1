#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`epfctl attach --log-new` and `epfctl log` on this machine, in the setup of
reflex_hosts.py. A sends frames of many flows to B. Each flow gives one record, for its
first packet, or is counted as left out; every packet is passed. No rate here needs a clock.
"""

import collections
import functools
import json
import os
import signal
import socket
import struct
import subprocess

import admit
import ingress_hosts as ingress
import reflex
import reflex_hosts as hosts
import reflex_spoilt as spoilt
import stage
from ingress_hosts import FOREVER, attached, bursts, flow, frames, send_in
from reflex_hosts import NAME, TWIN, Filter, Holder, arrived, net, tap

LOG = ["--log-new", "--log-rate", FOREVER]
RING = (1 << 20) // 72  # records of 64 bytes and a header of 8
TAGS = {"tagged": [5], "twice": [5, 6]}
PROGRAMS = "xdp_log_new", "epf_rule", "epf_counts", "epf_shared", "epf_ring", \
    "epf_held"


def log_command(*options):
    return [*net.inside(net.NS_B), net.EPFCTL, "log", net.B, *options]


def log(*options, code=0):
    """Read everything available now. Return: (records, number left out)."""
    done = net.run(*log_command("-j", "--no-wait", *options), check=False)
    if done.returncode != code:
        raise RuntimeError(f"log: exit {done.returncode}: {done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return ([l for l in lines if "left_out" not in l],
            [l for l in lines if "left_out" in l])


class Reader:
    """`epfctl log` in the background, once it has the lock."""

    def __enter__(self):
        self.out = open(net.tmp("log.json"), "w+")
        self.it = subprocess.Popen(log_command("-j"), stdout=self.out,
                                   stderr=subprocess.PIPE, text=True)
        if not net.eventually(lambda: net.run(*log_command("--no-wait"),
                                              check=False).returncode == 2,
                              hosts.PATIENCE):
            raise RuntimeError("epfctl log does not begin")
        return self

    def __exit__(self, *error):
        if self.it.poll() is None:
            self.it.terminate()
        self.errors = self.it.communicate()[1]
        self.out.close()

    def lines(self):
        with open(net.tmp("log.json")) as file:
            return [json.loads(l) for l in file.read().splitlines(keepends=True)
                    if l.endswith("\n")]

    def until(self, count):
        """Return its lines, once there are so many records."""
        def records():
            return [l for l in self.lines() if "left_out" not in l]
        net.eventually(lambda: len(records()) >= count, hosts.PATIENCE)
        return records()


def told(f, how, size):
    """Return the expected record of the frame, without its time."""
    kind = socket.AF_INET if f.version == 4 else socket.AF_INET6
    text = [socket.inet_ntop(kind, a) for a in (f.a, f.b)]
    return {"interface": net.B, "key": "flow", "source": text[0],
            "destination": text[1], "protocol": f.proto, "source_port": f.remote,
            "destination_port": f.port, "fragment": False,
            "vlans": TAGS.get(how, []), "bytes": size, "verdict": "pass"}


def timeless(records):
    return [{k: v for k, v in r.items() if k != "time"} for r in records]


def mixture(rng, count):
    """Return ([frame], [record], {reason: packets}): packets of flows, some repeated, and
    some without a key.
"""
    sent, records, seen = [], [], set()
    reasons = collections.Counter()
    for n in range(count):
        what = rng.choice(("dhcp", "not_ip", "malformed", "truncated"))
        if n % 9 == 0:
            make = ingress.wrong if n % 2 else ingress.passed_by
            what = what if (what in ("malformed", "truncated")) == bool(n % 2) else \
                ("malformed" if n % 2 else "dhcp")
            sent.append(make(what))
            reasons[what] += 1
            continue
        f = flow(rng.randrange(40), rng.randrange(10),
                 proto=rng.choice((ingress.UDP, ingress.TCP)))
        how = rng.choice(("plain", "options", "tagged", "twice"))
        sent.append(f.answer(how))
        key = f.version, f.proto, f.a, f.port
        reasons["recent" if key in seen else "absent"] += 1
        if key not in seen:
            records.append(told(f, how, len(sent[-1])))
        seen.add(key)
    return sent, records, reasons


def oracle(*options):
    """Every packet passes, and the records are those of the first packets, in order."""
    sent, want, reasons = mixture(tap.drawn(2), 900)
    tap.may_fail(1e-6)
    with Filter(), Holder(), attached(*LOG, *options) as on, Reader() as reader:
        got = send_in(sent)
        records = timeless(reader.until(len(want)))
        found = on.found()
    reasons["not_ip"] += bursts(sent)
    return net.unlike(passed=arrived(got, [ingress.shown(f) for f in sent]),
                      counters=(found, dict(reasons)), count=(len(records), len(want)),
                      records=(records == want, True))


def left_out():
    """There are as many records as tokens; the others are counted and reported."""
    sent = frames(0, 300)
    with Filter(), Holder(), attached("--log-new", "--log-rate", "0/50") as on, \
            Reader() as reader:
        got = send_in(sent), send_in(sent)
        records = reader.until(50)
        net.eventually(lambda: len(reader.lines()) > len(records), hosts.PATIENCE)
        found = on.found()
    # it reports the rest at its end
    missing = sum(l["left_out"] for l in reader.lines() if "left_out" in l)
    return net.unlike(passed=arrived(got[0] + got[1], 2 * sent),
                      records=(len(records), 50), missing=(missing, 250),
                      counters=((found["absent"], found["left_out"],
                                 found["recent"]), (50, 250, 300)))


def ring_full():
    """Without a reader the ring keeps what it has room for, and the rest is counted;
    packets pass. Then records continue.
"""
    count = RING + 500
    sent = [flow(n % 4000, n // 4000, version=4).answer() for n in range(count)]
    more = frames(20000, 20)
    with Filter("--time", "1h", "--rate", "100", "-b", "1e-9"), Holder(), \
            attached(*LOG) as on:
        got = send_in(sent)
        first, full = on.found(), on.status()["effects"]["ring_full"]
        records, missing = log()
        send_in(more)
        again = log()[0]
        found = on.found()
    all_of = first["absent"] - full, full
    return net.unlike(passed=arrived(got, sent), sum=(sum(all_of), count),
                      kept=(abs(all_of[0] - RING) < 8, True),
                      read=(len(records), all_of[0]), missing=(missing, []),
                      again=(len(again), 20),
                      counters=(found["absent"], count + 20))


def one_reader():
    """A second reader is refused in one line, until the first has ended."""
    with Filter(), Holder(), attached(*LOG):
        with Reader() as reader:
            done = net.run(*log_command("--no-wait"), check=False)
            send_in(frames(0, 3))
            first = len(reader.until(3))
        send_in(frames(10, 4))
        second = len(log()[0])
        third = net.run(*log_command("-n", "1"), check=True) if not \
            send_in(frames(20, 2)) == [] else None
        left = len(log()[0])
    return net.unlike(code=(done.returncode, 2), first=(first, 3), second=(second, 4),
                      said=("another process reads" in done.stderr, True),
                      lines=(len(done.stderr.splitlines()), 1),
                      third=(len(third.stdout.splitlines()), 1), left=(left, 1))


def ends():
    """A reader ends with the attachment, and by a signal."""
    with Filter(), Holder():
        with attached(*LOG), Reader() as stopped:
            pass
        with Reader2() as reader:
            code = reader.it.wait(hosts.PATIENCE)
    return net.unlike(stopped=(stopped.it.returncode, 128 + signal.SIGTERM),
                      code=(code, 2), said=("was detached" in reader.errors, True))


class Reader2(Reader):
    """A reader whose attachment is removed."""

    def __enter__(self):
        with attached(*LOG):
            return super().__enter__()


def unknown_case(reason, spoil):
    """A key that the filter cannot answer for passes without a record; a new key gives one,
    unless there is no filter at all.
"""
    known, other = frames(0, 100), frames(1000, 100)
    gone = reason == "no_filter"
    with spoil() as ruin, attached(*LOG) as on:
        send_in(known)
        ruin()
        got = send_in(known + other)
        found = on.found()
        records = len(log()[0])
    want = {"absent": 100 if gone else 200, reason: 200 if gone else 100,
            "not_ip": bursts(known) + bursts(known + other)}
    return net.unlike(passed=arrived(got, known + other), counters=(found, want),
                      records=(records, want["absent"]))


def reload():
    """Contents that are swapped in or restored decide which keys are new."""
    one = frames(0, 50)
    with Filter(), Filter(name=TWIN), Holder(NAME, TWIN), attached(*LOG):
        counts = []

        def send():
            send_in(one)
            counts.append(len(log()[0]))
        send()
        send()
        net.epfctl("save", NAME, net.tmp("one.epf"))
        net.epfctl("swap", NAME, TWIN)
        send()
        net.epfctl("clear", NAME)
        send()
        net.epfctl("restore", NAME, net.tmp("one.epf"))
        send()
    return net.unlike(counts=(counts, [50, 0, 50, 50, 0]))


def key(name, count, *options):
    """For each key there is one record: that of the first flow."""
    sent = [flow(n, port, version=4).answer() for port in range(3) for n in range(5)]
    with Filter(), Holder(), attached(*LOG, "--key", name, *options):
        send_in(sent)
        records = log()[0]
    return net.unlike(count=(len(records), count),
                      key=({r["key"] for r in records}, {name}),
                      ports=(records[0]["destination_port"], 1024))


def others():
    """Records of packets without ports."""
    a, b = ingress.peer(2), hosts.packets.B[4]
    ping = struct.pack(">BBHI", 8, 0, 0, 1) + bytes(8)
    sent = [hosts.packets.ether(0x0800, hosts.packets.ip4(proto, body, a, b, flags),
                                False)
            for proto, body, flags in ((1, ping, 0), (47, bytes(20), 0),
                                       (17, bytes(24), 0x2001))]
    with Filter(), Holder(), attached(*LOG):
        send_in(sent)
        records = log()[0]
        send_in([ingress.flow(4, 1).answer("tagged"), ingress.flow(3, 1).answer()])
        text = net.run(*log_command("--no-wait")).stdout.splitlines()
    what = [(r["protocol"], r.get("icmp_type"), r.get("source_port"), r["fragment"])
            for r in records]
    return net.unlike(what=(what, [(1, 8, None, False), (47, None, None, False),
                                   (17, None, None, True)]), lines=(len(text), 2),
                      four=("protocol 17 198.18.0.4:53 > 198.18.0.2:1025, VLAN 5, "
                            in text[0], True),
                      six=("[2001:db8:9:3::1]:53 > [2001:db8:2::2]:1025, " in text[1],
                           True))


def parsed(data):
    """Return [{element: bytes}] of IPFIX messages."""
    templates, out = {}, []
    while data:
        _, length = struct.unpack(">HH", data[:4])
        message, data = data[16:length], data[length:]
        while message:
            kind, size = struct.unpack(">HH", message[:4])
            body, message = message[4:size], message[size:]
            while kind == 2 and len(body) >= 4:
                number, fields = struct.unpack(">HH", body[:4])
                templates[number] = struct.unpack(f">{2 * fields}H",
                                                  body[4:4 + 4 * fields])
                body = body[4 + 4 * fields:]
            t = templates.get(kind, ())
            while t and len(body) >= sum(t[1::2]):
                record = {}
                for element, n in zip(t[::2], t[1::2]):
                    record[element], body = body[:n], body[n:]
                out.append(record)
    return out


def ipfix():
    """The file has the flows, as our own parser and `epfctl audit` read it."""
    sent = frames(0, 200) + frames(0, 100, proto=ingress.TCP)
    path = net.tmp("flows.ipfix")
    with Filter(), Holder(), attached(*LOG):
        send_in(sent)
        done = net.run(*log_command("--no-wait", "--format", "ipfix", "-o", path),
                       check=False)
        if "without libfixbuf" in done.stderr:
            raise tap.Skip("built without libfixbuf")
        found = json.loads(net.epfctl("-j", "audit", NAME, path, "--format", "ipfix",
                                      "--key", "flow").stdout)
    with open(path, "rb") as file:
        flows = [(r.get(8, r.get(27)), r.get(12, r.get(28)), r[4][0],
                  int.from_bytes(r[7], "big"), int.from_bytes(r[11], "big"),
                  int.from_bytes(r[1], "big"), int.from_bytes(r[2], "big"))
                 for r in parsed(file.read())]
    want = []
    for proto, count in (17, 200), (6, 100):
        for n in range(count):
            f = flow(n, proto=proto)
            want.append((f.a, f.b, proto, f.remote, f.port, len(f.answer()), 1))
    return net.unlike(exit=(done.returncode, 0), said=(done.stdout, ""),
                      flows=(flows == want, True),
                      audit=(audited(found), (300, 300)))


def audited(found):
    """Return (records, present) of an audit's report."""
    text = json.dumps(found)
    return (found.get("records") or found.get("keys") or text,
            found.get("present") if "present" in found else text)


def cycles():
    """Attached and detached repeatedly, nothing is left."""
    return admit.come_and_go(LOG, PROGRAMS)


def refusals():
    """One line for each names what is missing or invalid, and nothing is attached."""
    with Filter():
        for text, args in [
                ("--log-rate goes with --log-new", ["--log-rate", "5"]),
                ("exclude each other", LOG + admit.BELOW),
                ("--if-unknown and --if-malformed do not go", LOG + ["--if-unknown", "drop"]),
                ("--new-rate goes with --admit", LOG + ["--new-rate", "5"]),
                ("--log-rate", ["--log-new", "--log-rate", "5/"]),
                ("--key flow", LOG + ["--key", "packet"]),
                ("--action", LOG + ["--action", "count"]),
                ("--reflexive", LOG + ["--else", "drop"])]:
            fault = admit.refused(text, *args)
            if fault:
                return fault
        fault = admit.refused("--log-new needs --filter", *LOG, name=None)
        with attached(*LOG):
            fault = fault or admit.refused("an attachment by --log-new already", *LOG)
            for text, args in [("needs --output", ["--format", "ipfix"]),
                               ("--format ipfix only", ["-o", "x"]),
                               ("not ipfix", ["--format", "csv"]),
                               ("No such file", ["--format", "ipfix", "-o", "/no/x"])]:
                done = net.run(*log_command("--no-wait", *args), check=False)
                if done.returncode != 2 or text not in done.stderr:
                    fault = fault or f"{args}: {done.returncode} {done.stderr}"
        done = net.run(*log_command("--no-wait"), check=False)
        with attached(*admit.BELOW):
            wrong = net.run(*log_command("--no-wait"), check=False)
    return fault or net.unlike(none=("no flows of" in done.stderr, True),
                               wrong=("no flows of" in wrong.stderr, True))


def shown():
    """status shows the rule that was given."""
    with Filter(), attached("--log-new") as on:
        s, text = on.status(), net.epfctl("status", net.B).stdout
    return net.unlike(rates=(s["rates"], {"records": {"rate": 1000, "burst": 100}}),
                      action=(s["action"], "log-new"),
                      text=("key flow --log-new --log-rate 1000/100, log-new" in text,
                            True))


def of_kernel():
    """Cases that may differ between kernels."""
    return [("each flow has one record: by the oracle", oracle),
            ("left-out records are counted and reported", left_out),
            ("attached and detached, nothing is left", cycles)]


def of_module():
    """Cases that may differ from pure BPF filters."""
    return [("each flow has one record: by the oracle", oracle)]


def cases():
    of = functools.partial
    if os.environ.get("EPF_VM") and not reflex.THOROUGH:
        return of_kernel()
    out = [(reason, of(unknown_case, reason, spoil))
           for reason, spoil in spoilt.ways()]
    return of_kernel() + out + [
        ("generic: by the oracle", of(oracle, "--mode", "generic")),
        ("a full ring loses records, and counts them", ring_full),
        ("one reads at a time", one_reader),
        ("a reader ends with the attachment, and by a signal", ends),
        ("swap and restore under the program", reload),
        ("key flow", of(key, "flow", 15)),
        ("key peer", of(key, "peer", 5)),
        ("key peer of a prefix", of(key, "peer", 1, "--prefix", "24")),
        ("what has no ports; text", others),
        ("IPFIX", ipfix),
        ("the rule is shown as it was given", shown),
        ("refused", refusals),
    ]


if __name__ == "__main__":
    stage.main(cases, [hosts.require], hosts.sweep, hosts.nothing_left)
