#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A cluster behind two leaf nodes of the server, each with a mirror of the stream: the law of
law.py holds through them, promises expire while a leaf has no link, and full coverage returns.
How long a key takes, and what leaves the hub and a leaf, is printed.
"""

import contextlib
import functools
import json
import signal
import time

import broker
import cluster
import faults
import lan
import law
import tap

LEAVES, BEHIND = 2, 2  # hosts behind each leaf
PORT, PASSWORD = 7422, "of-leaves"
HUB = """
leafnodes {{
	port: {port}
	tls {{ cert_file: "{dir}/broker.pem", key_file: "{dir}/broker.key", ca_file: "{dir}/ca.pem", verify: true }}
	authorization {{ user: leaf, password: "{password}" }}
}}
"""


LEAF = """
leafnodes {{
	remotes: [ {{
		url: "tls://leaf:{password}@{hub}:{port}"
		tls {{ cert_file: "{dir}/{name}.pem", key_file: "{dir}/{name}.key", ca_file: "{dir}/ca.pem" }}
	}} ]
	reconnect: 1
}}
"""


class Cluster(cluster.Cluster):
    """Hosts that know the server of their rack alone, a leaf node of the hub with a
    mirror of the stream."""

    def __init__(self, **how):
        super().__init__(LEAVES * BEHIND, **how)
        self.leaves = [lan.Node(cluster.BROKER + 1 + i, broker.Broker) for i in range(LEAVES)]
        for i, leaf in enumerate(self.leaves):
            self.authority.add(f"leaf{i}", leaf.address)

    def __enter__(self):
        try:
            self.start_broker()
            for i in range(LEAVES):
                self.start_leaf(i)
                self.mirror(i)  # a leaf that starts again knows its streams, but not their messages
            return super().__enter__()
        except BaseException:
            self.close()
            raise

    def close(self):
        for leaf in getattr(self, "leaves", ()):
            leaf.close()
        super().close()

    def start_broker(self, **more):
        if not self.node.ask("running"):
            again = self.node.ask("pid")
            super().start_broker(**more)
            if not again:  # agents see the mirrors, and make no stream
                self.make_stream(self.node, subjects=[f"epf.{cluster.NAME}.d.*"])

    def broker_settings(self, **more):
        text = super().broker_settings(**more).replace("jetstream {", "jetstream {\n\tdomain: hub", 1)
        return text + HUB.format(port=PORT, dir=self.dir, password=PASSWORD)

    def leaf_settings(self, i):
        text = super().broker_settings().replace(self.path("broker"), self.path(f"leaf{i}"))
        text = text.replace(self.path("store"), self.path(f"store{i}"))
        text = text.replace("server_name: epf-1", f"server_name: leaf-{i}")
        text = text.replace("jetstream {", f"jetstream {{\n\tdomain: leaf{i}", 1)
        return text + LEAF.format(port=PORT, dir=self.dir, password=PASSWORD, name=f"leaf{i}",
                                  hub=self.node.address)

    def start_leaf(self, i):
        path = self.path(f"leaf{i}.conf")
        with open(path, "w") as f:
            f.write(self.leaf_settings(i))
        self.leaves[i].ask("start", path, self.path(f"leaf{i}.log"))

    def mirror(self, i):
        """A stream in the memory of the leaf with all that the hub's has."""
        self.make_stream(self.leaves[i], mirror={
            "name": f"epf-{cluster.NAME}",
            "external": {"api": "$JS.hub.API", "deliver": f"mirror.leaf{i}"}})

    def settings(self, i, **other):
        leaf = self.leaves[i // BEHIND]
        return super().settings(i, server=f"tls://{leaf.address}:{broker.PORT}", **other)


@contextlib.contextmanager
def leaf_unplugged(c):
    """a leaf is cut off, from the hub and from its hosts"""
    c.leaves[0].link(False)
    yield range(len(c.hosts))
    c.leaves[0].link(True)


@contextlib.contextmanager
def leaf_killed(c):
    """a leaf is killed, and its mirror is lost"""
    c.leaves[0].ask("signal", signal.SIGKILL)
    yield range(len(c.hosts))
    c.start_leaf(0)


@contextlib.contextmanager
def hub_killed(c):
    """the hub is killed and its stream is lost; the leaves start again after it"""
    c.node.ask("signal", signal.SIGKILL)
    yield range(len(c.hosts))
    c.start_broker()
    for i, leaf in enumerate(c.leaves):  # a mirror waits for the messages behind its last one
        leaf.ask("signal", signal.SIGKILL)
        c.start_leaf(i)


@contextlib.contextmanager
def hub_unplugged(c):
    """the leaves have no link to the hub, and their hosts have their leaf"""
    c.node.link(False)
    yield range(len(c.hosts))
    c.node.link(True)


def sent(node):
    """Bytes that a node has sent."""
    link = json.loads(lan.run("ip", "-j", "-s", "link", "show", node.port).stdout)[0]
    return link["stats64"]["rx"]["bytes"]


def waits(c, count=20):
    """a key of one host is present behind the same leaf, and behind the other one"""
    late = {i: [] for i in (1, BEHIND)}
    for _ in range(count):
        key, before, after = c.hosts[0].ask("insert", c.fresh(1))[0]
        c.oracle.insert(0, key, before, after)
        waiting = set(late)
        while waiting:
            for i in sorted(waiting):
                if c.hosts[i].ask("query", [key])[0][1] == "present":
                    late[i].append((time.monotonic_ns() - after) / 1e6)
                    waiting.remove(i)
            if time.monotonic_ns() - after > cluster.PATIENCE * 1e9:
                return f"it does not come to {waiting}"
    near, far = (sorted(late[i])[count // 2] for i in (1, BEHIND))
    print(f"# median {near:.0f} ms behind the same leaf, {far:.0f} ms behind the other one")
    return None


def costs(c, count=50000):
    """what leaves the hub and a leaf for each key"""
    before = [sent(n) for n in (c.node, *c.leaves, c.hosts[0])]
    for _ in range(10):
        c.hosts[0].ask("load", count // 10)
        fault = c.for_seconds(.2)
        if fault:
            return fault
    fault = c.for_seconds(c.lag)
    hub, near, far, host = (sent(n) - b for n, b in zip((c.node, *c.leaves, c.hosts[0]), before))
    print(f"# bytes for each key: {host / count:.1f} out of the host, {near / count:.1f} out of its "
          f"leaf, {hub / count:.1f} out of the hub, {far / count:.1f} out of the other leaf")
    return fault


def main():
    with Cluster(rate=100000) as c:
        cases = [(f.__doc__, functools.partial(f, c)) for f in (law.answers, waits, costs)]
        cases += [(f.__doc__, functools.partial(faults.endure, c, f)) for f in
                  (hub_unplugged, leaf_unplugged, leaf_killed, faults.agent_killed, hub_killed)]
        return tap.run(tap.chosen(cases))


if __name__ == "__main__":
    cluster.require()
    raise SystemExit(main())
