#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Figures of a cluster on this machine: three hosts and a broker in network namespaces, as in
selftests/cluster. For each rate of new keys on one host: latency until a key is present on
another host, bytes on the wire, CPU of the agents and of the broker. A report that asserts
nothing; figures depend on what else the machine does.

usage: cluster.py [--seconds N] [RATE]...    (10 s; 10000 100000 1000000)
"""

import json
import os
import random
import select
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../cluster"))

import cluster  # noqa: E402
import host  # noqa: E402
import lan  # noqa: E402

RATES = 10_000, 100_000, 1_000_000
PROBE_S = 0.05
PROBES = 1 << 62  # first key of the probes
HZ = os.sysconf("SC_CLK_TCK")
WINDOW = 10
BATCH = 8192
RACK = 32  # hosts behind a leaf node
HEADS = "new keys/s", "p50 ms", "p99 ms", "bytes/key", "publishing", "applying", "broker"


class Measured(host.Host):
    """A host that inserts at a rate, or looks for probes."""

    def load(self, rate, seconds, seed):
        """Insert new keys at this rate. Return how many there were."""
        draw, done, begin = random.Random(seed), 0, time.monotonic()
        while time.monotonic() < begin + seconds:
            due = int((time.monotonic() - begin) * rate) - done
            if due:
                due = min(due, 1 << 16)
                self.seen.insert(draw.randbytes(8 * due), key_len=8)
                done += due
            select.select([], [], [], 0.01)
        return done

    def insertion_ns(self):
        """Least time of an insertion without and with a publisher, in batches by a system
        call."""
        lan.run(host.EPFCTL, "--backend", host.BACKEND, "create", "plain", "-T", f"{WINDOW}s",
                "--rate", 2 * max(RATES), "-b", "1e-9")
        plain = host.library().KernelFilter("plain", backend=host.BACKEND)
        return [min(self.batch_ns(f) for _ in range(20)) for f in (plain, self.seen)]

    @staticmethod
    def batch_ns(filter):
        keys = os.urandom(8 * BATCH)
        begin = time.monotonic_ns()
        filter.insert(keys, key_len=8)
        return (time.monotonic_ns() - begin) / BATCH

    def probe(self, first, seconds):
        """Insert a probe now and then. Return when each was inserted."""
        out, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            self.seen.add(first + len(out))
            out.append(time.monotonic_ns())
            select.select([], [], [], PROBE_S * (.5 + random.random()))
        return out

    def find(self, first, seconds):
        """Wait for probes. Return when each was present."""
        out, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            if self.all.test([first + len(out)])[0] in (self.nothing, self.unknown):
                select.select([], [], [], 0.0005)
            else:
                out.append(time.monotonic_ns())
        return out


def cpu(pid):
    """Seconds of CPU that a process has used."""
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / HZ


def sent(node):
    """Bytes that a node has sent."""
    link = json.loads(lan.run("ip", "-j", "-s", "link", "show", node.port).stdout)[0]
    return link["stats64"]["rx"]["bytes"]


def share(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] if times else float("nan")


def at_rate(c, broker, rate, seconds, first):
    """Host 0 inserts, host 1 inserts the probes, host 2 finds both."""
    pids = c.pids[0], c.pids[2], broker
    before, bytes = [cpu(p) for p in pids], sent(c.hosts[0])
    c.hosts[0].begin("load", rate, seconds, rate)
    c.hosts[1].begin("probe", first, seconds)
    c.hosts[2].begin("find", first, seconds + 3)
    keys, put, found = (node.end() for node in c.hosts)
    used = [cpu(p) - b for p, b in zip(pids, before)]
    late = [(b - a) / 1e6 for a, b in zip(put, found)]
    return {"rate": rate, "keys_per_s": keys / seconds, "latency_p50_ms": share(late, .5),
            "latency_p99_ms": share(late, .99), "probes": len(late), "probes_lost":
            len(put) - len(found), "bytes_per_key": (sent(c.hosts[0]) - bytes) / keys,
            **{f"{what}_keys_per_cpu_s": keys / max(u, 1 / HZ)
               for what, u in zip(("published", "applied", "broker"), used)}}


def table(figures):
    print("  ".join(f"{h:>11}" for h in HEADS))
    for f in figures:
        print("  ".join(f"{v:>11}" for v in (
            f"{f['keys_per_s']:,.0f}", f"{f['latency_p50_ms']:.0f}", f"{f['latency_p99_ms']:.0f}",
            f"{f['bytes_per_key']:.2f}", f"{f['published_keys_per_cpu_s'] / 1e6:.2f} M/s",
            f"{f['applied_keys_per_cpu_s'] / 1e6:.2f} M/s",
            f"{f['broker_keys_per_cpu_s'] / 1e6:.2f} M/s")))
    print("(the last three: keys for each second of CPU)")


def extrapolated(f):
    """What 10 to 1,000 hosts take together, from the figures of the largest rate."""
    print(f"\n{'':>38}{'each host':^30}{'broker, Gbit/s out':^32}")
    heads = ("hosts", "new keys/s of all", "in, Mbit/s", "applying, CPUs", "alone",
             f"with {RACK} hosts a leaf node")
    print("  ".join(heads))
    for hosts in 10, 100, 1000:
        for total in 1e6, 1e7:
            wire = f["bytes_per_key"] * 8 * total / 1e9
            row = (hosts, f"{total:,.0f}", f"{wire * 1e3:,.0f}",
                   f"{total / f['applied_keys_per_cpu_s']:.2f}", f"{wire * hosts:,.1f}",
                   f"{wire * -(-hosts // RACK):,.1f}")
            print("  ".join(f"{v:>{len(h)}}" for v, h in zip(row, heads)))


def arguments():
    words, seconds = sys.argv[1:], 10
    if words[:1] == ["--seconds"]:
        seconds, words = float(words[1]), words[2:]
    return seconds, [int(w) for w in words] or RATES


def main():
    seconds, rates = arguments()
    cluster.require()
    with cluster.Cluster(3, window=WINDOW, kind=Measured, rate=max(rates) * 2) as c:
        fault = c.until_covered()
        if fault:
            sys.exit(fault)
        broker = c.node.ask("pid")
        figures = [at_rate(c, broker, rate, seconds, PROBES + (i << 32))
                   for i, rate in enumerate(rates)]
        bare, journal = c.hosts[0].ask("insertion_ns")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} CPUs, load {load:.1f}, {seconds:g} s for each rate\n")
    table(figures)
    print(f"\nan insertion by a system call: {bare:.0f} ns, with a publisher {journal:.0f} ns")
    extrapolated(figures[-1])
    out = os.environ.get("EPF_OUT")
    if out:
        with open(os.path.join(out, "cluster.json"), "w") as f:
            json.dump({"load": load, "figures": figures, "insertion_ns": bare,
                       "insertion_published_ns": journal}, f)


if __name__ == "__main__":
    main()
