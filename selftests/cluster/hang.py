#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A thread of libnats that never comes back (hang.c): the agent ends with a failure, by itself after two
minutes, or after half of one when SIGTERM comes, and the next one joins the cluster again.
"""

import os
import signal
import sys
import tempfile

import hosts as h
import agent as a
import tap

TMP = tempfile.TemporaryDirectory()
LIBRARY = os.path.join(a.BUILD, "selftests/cluster/hang.so")
NAMES = ("h0", "h1")
FAILURE = 2


def whole(nodes):
    for node in nodes.values():
        a.poll(node.covered)


def run():
    server = h.Server(TMP.name)
    nodes = {name: h.Host(TMP.name, name, NAMES, f"nats://127.0.0.1:{server.port}") for name in NAMES}

    def hung():
        """The connection of h0 is lost, and made again in vain. Return its agent."""
        whole(nodes)
        hang = nodes["h0"].path("hang")
        os.mkdir(hang)
        server.stop()
        a.poll(lambda: not os.path.exists(hang))
        server.start()
        return nodes["h0"].agent

    def back():
        """It is started again, as its unit would do it."""
        nodes["h0"].start({"LD_PRELOAD": LIBRARY, "EPF_HANG": nodes["h0"].path("hang")})
        whole(nodes)

    def by_itself():
        status = hung().wait(a.PATIENCE)
        if status != FAILURE or b"a thread hangs" not in nodes["h0"].said():
            return f"exit {status}: {nodes['h0'].said()}"
        return back()

    def by_signal():
        hung()
        status = nodes["h0"].stop(signal.SIGTERM)
        return f"exit {status}" if status != FAILURE else back()

    for node in nodes.values():
        node.start({"LD_PRELOAD": LIBRARY, "EPF_HANG": node.path("hang")})
    status = tap.run(tap.chosen([("an agent whose thread hangs ends", by_itself),
                                 ("so it does after SIGTERM", by_signal)]))
    for node in nodes.values():
        node.end()
    server.stop()
    return status


if __name__ == "__main__":
    WHY = h.needs()
    if WHY:
        tap.skip_all(WHY)
    sys.exit(run())
