# SPDX-License-Identifier: GPL-2.0
"""A host that the test plays: it publishes messages by hand, right or wrong ones."""

import os
import sys
import time

import broker
import cluster
import host
import message
import raw

sys.path.append(os.path.join(host.ROOT, "selftests/model"))

import hashes  # noqa: E402

KEY = 0x0706050403020100, 0x0f0e0d0c0b0a0908  # Cluster._make_hosts() writes it
SUBJECT = f"epf.{cluster.NAME}.d."


def digest(key):
    return hashes.nh_digest(KEY, key.to_bytes(8, "little"))


def connect(c, name=cluster.CHAOS):
    """A connection with the rights of this host."""
    return raw.Connection((c.node.address, broker.PORT), c.authority.tls(name),
                          c.authority.nkey(name) if c.nkeys else None)


def listen(c, count, of=None):
    """The next messages of the hosts, or of one, as (subject, data)."""
    out = []
    with connect(c) as line:
        line.subscribe(SUBJECT + (of or "*"))
        while len(out) < count:
            got = line.receive()
            if got != "PONG":
                out.append((got[0], got[2]))
    return out


class Ghost:
    """A host named @name. Times are those of the broker, which is on this machine."""

    def __init__(self, c, name, line):
        self.c, self.name, self.line = c, name, line
        real = message.read(listen(c, 1)[0][1])
        self.fields = {**real, "host": name.encode(), "seq": 0, "lost": 0, "incarnation":
                       c.random.getrandbits(63) | 1, "to": time.time_ns()}

    def insert(self, count):
        """Say that this host has inserted new keys. Return the message that tells it."""
        keys = self.c.fresh(count)
        now = time.monotonic_ns()
        for key in keys:
            self.c.oracle.insert(self.name, key, now, now)
        return self.message([digest(key) for key in keys])

    def message(self, digests=(), **other):
        f = self.fields
        f.update(seq=f["seq"] + 1, digests=digests, to=time.time_ns(), **{"from": f["to"]})
        return message.write(f, **other)

    def send(self, data, subject=None):
        self.line.publish(subject or SUBJECT + self.name, data)
        self.line.flush()
