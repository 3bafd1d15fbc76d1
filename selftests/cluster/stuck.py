#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What libnats does not do for an agent. A server takes connections and then is silent for ever, in the TLS
handshake or right after it: the library waits without a limit, so the agent must end the connection, make
another one, and be covered when that one works; and SIGTERM must end the agent meanwhile. A message comes
while the consumer is given up: the library uses what the agent frees, unless the agent waits (reader.c).
"""

import os
import signal
import sys

import hosts as h
import agent as a
import login
import proxy
import tap

READER = os.path.join(a.BUILD, "selftests/cluster/reader.so")


class Cluster(login.Cluster):
    """Two hosts. h0 reaches the server by a proxy."""

    def __init__(self, name):
        self.server = login.example_server(f"server-{name}")
        self.proxy = proxy.Proxy(self.server.port)
        super().__init__(name, self.server, f"tls://localhost:{self.server.port}", login.tls_keys)
        node = self.nodes["h0"]
        node.section = node.section.replace(f":{self.server.port}", f":{self.proxy.port}")
        node.configure(node.section)

    def __enter__(self):
        super().__enter__()
        return self


def silent(mode):
    def case():
        with Cluster(mode) as c:
            login.whole(c.nodes)
            c.proxy.become(mode)
            a.poll(lambda: c.proxy.silent > 1)
            c.proxy.become(proxy.PASS)
            login.whole(c.nodes)
    return case


def ends():
    with Cluster("ends") as c:
        login.whole(c.nodes)
        for mode in proxy.HANDSHAKE, proxy.ANSWER:
            c.proxy.become(mode)
            a.poll(lambda: c.proxy.silent)
            status = c.nodes["h0"].stop(signal.SIGTERM)
            if status:
                return f"{mode}: exit {status}"
            c.nodes["h0"].start()
    return None


def reads():
    with Cluster("reads") as c:
        node, times = c.nodes["h0"], 3
        waits = node.path("waits")
        node.stop()
        node.start({"LD_PRELOAD": READER, "EPF_READER": waits})
        for _ in range(times):
            login.whole(c.nodes)
            os.mkdir(waits)
            c.proxy.become(proxy.PASS)
            a.poll(lambda: node.agent.poll() is not None or
                   not os.path.exists(waits) and node.covered())
            if node.agent.poll() is not None:
                return f"the agent ends: {node.agent.returncode}"
        return login.whole(c.nodes)


def main():
    reason = h.needs()
    if reason:
        print(f"TAP version 13\n1..0 # SKIP {reason}")
        return 4
    login.certificates()
    return tap.run(tap.chosen([
        ("a server that is silent in a handshake", silent(proxy.HANDSHAKE)),
        ("a server that is silent after a handshake", silent(proxy.ANSWER)),
        ("SIGTERM meanwhile", ends),
        ("a message that comes while a consumer is given up", reads),
    ]))


if __name__ == "__main__":
    sys.exit(main())
