#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Three servers: agents make a stream with three copies, and one server that dies, the one that leads
the stream, takes nothing away for longer than the choice of another leader.
"""

import os
import socket
import sys
import tempfile

import hosts as h
import agent as a
import login
import raw
import tap

NAMES = ("h0", "h1")
TMP = tempfile.TemporaryDirectory()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Servers:
    """Three of them, which login.Cluster ends together."""

    def __init__(self):
        ports = [free_port() for _ in range(3)]
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
        self.all = [h.Server(TMP.name, f'cluster {{ name: ha, listen: "127.0.0.1:{port}", '
                             f"routes: [ {routes} ] }}") for port in ports]

    def stop(self):
        for server in self.all:
            server.stop()

    def stream(self):
        with raw.Connection(("127.0.0.1", self.all[0].port)) as line:
            return line.request("$JS.API.STREAM.INFO.epf-edge")


def leader_dies():
    servers = Servers()
    url = " ".join(f"nats://127.0.0.1:{s.port}" for s in servers.all)
    with login.Cluster(os.path.join(TMP.name, "c"), servers, url, lambda _: "") as nodes:
        login.whole(nodes)
        stream = servers.stream()
        if stream["config"]["num_replicas"] != 3:
            return f"{stream['config']['num_replicas']} copies"
        if stream["config"]["max_consumers"] != 4 * len(NAMES):
            return f"{stream['config']['max_consumers']} consumers"
        leader = next(s for s in servers.all if stream["cluster"]["leader"] == f"s{s.port}")
        leader.stop()
        a.poll(lambda: not nodes["h0"].covered() or nodes["h0"].ask()[1]["published"]["waiting"] < 3)
        nodes["h1"].insert("another key")
        a.poll(lambda: nodes["h0"].has("another key"))
        for node in nodes.values():
            a.poll(node.covered)
    return None


if __name__ == "__main__":
    WHY = h.needs()
    if WHY:
        tap.skip_all(WHY)
    sys.exit(tap.run([("the server that leads the stream dies", leader_dies)]))
