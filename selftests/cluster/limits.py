#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A broker without memory, a stream that is too small, hosts that never come or may not: it
is said who or what is missing, and nothing is covered until it is there.
"""

import signal

import cluster
import keys
import tap

KEYS = 1 << 16  # two messages of so many fill the stream


def overwritten():
    """a stream that loses messages before a host has read them: the host notices"""
    with cluster.Cluster(3, rate=200000, **{"stream-bytes": "1MiB"}) as c:
        fault = c.until_covered()
        c.hosts[0].ask("signal", signal.SIGSTOP)
        fault = fault or c.for_seconds(c.lag)
        for _ in range(8):
            c.hosts[1].ask("load", KEYS)
            fault = fault or c.for_seconds(.3)
        c.hosts[0].ask("signal", signal.SIGCONT)
        return fault or c.go_on(lambda: gaps(c, 0), "that the hole is noticed") or \
            c.until_covered() or c.until_answers()


def trouble(c):
    """What the agent of host 0 says."""
    return c.status(0)["trouble"] or ""


def settings():
    """a stream with settings by which messages are lost is refused, and the setting is named"""
    name, subjects = f"epf-{cluster.NAME}", {"subjects": [f"epf.{cluster.NAME}.d.*"]}
    with cluster.Cluster(2) as c:
        c.hosts[1].ask("signal", signal.SIGTERM)
        c.make_stream(c.node, name="other", max_bytes=1 << 20, subjects=["other"])
        for wrong, said in [({"subjects": ["epf.else.>"]}, "has subject 'epf.else.>'"),
                            ({**subjects, "storage": "file", "max_bytes": 1 << 19}, "in files"),
                            ({**subjects, "discard": "new"}, "does not discard its oldest"),
                            ({**subjects, "retention": "workqueue"}, "does not discard its oldest"),
                            ({**subjects, "max_age": 10**9}, "keeps messages for 1000000000 ns"),
                            ({**subjects, "max_bytes": 1 << 20}, "fewer than stream-bytes"),
                            ({**subjects, "max_msgs": 99}, "limits the number of messages"),
                            ({"mirror": {"name": "other"}}, "mirrors other, not the hub's")]:
            c.hosts[0].ask("signal", signal.SIGTERM)
            c.ask_server(c.node, f"DELETE.{name}")
            c.make_stream(c.node, **wrong)
            c.start_agent(0)
            fault = c.go_on(lambda said=said: said in trouble(c), f"'{said}'")
            if fault or any(c.each("covered")):
                return f"{wrong}: {fault}, {trouble(c)}"
        c.ask_server(c.node, f"DELETE.{name}")
        c.start_agent(1)
        return c.until_covered()


def gaps(c, i):
    return sum(h["gaps"] for h in c.status(i)["hosts"])


def no_memory():
    """a broker without memory for the stream: the agent says so, and goes on when there is"""
    with cluster.Cluster(2) as c:
        c.node.ask("signal", signal.SIGKILL)
        c.start_broker(memory="64KB")
        fault = c.go_on(lambda: all("resources" in (c.status(i)["trouble"] or "") for i in (0, 1)),
                        "that the agents name the trouble")
        if fault or any(c.each("covered")):
            return fault or "covered without a stream"
        c.node.ask("signal", signal.SIGKILL)
        c.start_broker()
        return c.until_covered() or c.until_answers()


def never():
    """a host of the roster that never came is named, and nothing is covered"""
    with cluster.Cluster(2, roster=["h0", "h1", "late"]) as c:
        # Each host covers the other one, after a window.
        def complete(i):
            told = c.status(i)["hosts"]  # none when the agent begins
            return len(told) == 3 and all(h["covered"] for h in told if h["host"] != "late")
        fault = c.go_on(lambda: complete(0) and complete(1), "that the others are covered")
        told = next(h for h in c.status(0)["hosts"] if h["host"] == "late")
        if told["why"] != "never heard" or any(c.each("covered")) or c.said["absent"]:
            fault = fault or f"{told}, {c.said}"
        return fault


def other_authority():
    """a host with a certificate of another authority does not come in"""
    with cluster.Cluster(2) as c:
        c.hosts[1].ask("signal", signal.SIGTERM)
        keys.authority(c.dir, "other")
        keys.certificate(c.dir, "forged", c.hosts[1].address, "other")
        c.start_agent(1, **{"tls-cert": c.path("forged.pem"), "tls-key": c.path("forged.key")})
        fault = c.go_on(lambda: c.status(1)["trouble"], "that the agent names the trouble")
        if fault or any(c.each("covered")):
            return fault or "covered"
        c.hosts[1].ask("signal", signal.SIGTERM)
        c.start_agent(1)
        return c.until_covered()


if __name__ == "__main__":
    cluster.require()
    tap.main(tap.chosen([(case.__doc__, case) for case in
                         (overwritten, settings, no_memory, never, other_authority)]))
