#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Live clusters of real agents and a real nats-server: what one host inserts is found on the others,
and a host that is missing is noticed. Everything runs on the loopback interface, with pure BPF
filters in BPF file systems of their own.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

import hosts as h
import agent as a
import tap

NAMES = ("h0", "h1", "h2")
TMP = tempfile.TemporaryDirectory()
server = None
nodes = {}
number = 0


def fresh():
    """Return a key that nobody has inserted."""
    global number
    number += 1
    return f"key {number}"


def whole():
    """Wait until all hosts are covered on all."""
    for name in NAMES:
        try:
            a.poll(nodes[name].covered)
        except AssertionError as e:
            raise AssertionError(f"{name}: {nodes[name].ask()}, {nodes[name].said()}") from e


def arrives():
    """Keys of each host are found on all others, before there is any cover."""
    keys = {name: fresh() for name in NAMES}
    a.poll(lambda: all(nodes[n].ask()[1]["published"]["messages"] for n in NAMES))
    for name in NAMES:
        nodes[name].insert(keys[name])
    for name in NAMES:
        for other in NAMES:
            if name != other:
                a.poll(lambda: nodes[other].has(keys[name]))
            elif nodes[other].has(keys[name]):
                return f"{name}: its own key came back"
    return None


def becomes_whole():
    whole()
    for name in NAMES:
        status, cluster = nodes[name].ask()
        if status or cluster["trouble"] or not cluster["covered"]:
            return f"{status}, {cluster}"
        text = nodes[name].epfctl("cluster", "status", "--agent", nodes[name].path("sock")).stdout
        if "edge: covered" not in text or any(n not in text for n in NAMES):
            return text
    return None


def promises():
    """The promise is moved on, and ends within the lag."""
    first = nodes["h0"].promise_ns()
    a.poll(lambda: nodes["h0"].promise_ns() > first)
    until, now = nodes["h0"].promise_ns(), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return f"{until - now} ns" if until > now + h.LAG_MS * 10**6 else None


def notices_the_stopped():
    """Peers of an agent that stands still are not covered; it is itself neither, without a doing
    of its own.
    """
    nodes["h1"].send(signal.SIGSTOP)
    try:
        for name in ("h0", "h2"):
            a.poll(lambda: not nodes[name].covered())
            a.poll(lambda: nodes[name].peer("h1")["why"] == "silent")
            if not nodes[name].peer("h2" if name == "h0" else "h0")["covered"]:
                return f"{name}: {nodes[name].ask()}"
            a.poll(lambda: not nodes[name].promise_ns())
        a.poll(lambda: nodes["h1"].promise_ns() < time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    finally:
        nodes["h1"].send(signal.SIGCONT)
    key = fresh()
    nodes["h1"].insert(key)
    a.poll(lambda: nodes["h0"].has(key))
    whole()
    return None


def survives_the_server():
    """A server that is killed loses its stream. What is inserted meanwhile arrives later."""
    server.stop()
    for name in NAMES:
        a.poll(lambda: not nodes[name].covered())
    a.poll(lambda: "not connected" in (nodes["h0"].ask()[1]["trouble"] or ""))
    key = fresh()
    nodes["h2"].insert(key)
    server.start()
    a.poll(lambda: nodes["h0"].has(key) and nodes["h1"].has(key))
    whole()
    return None


def joins_again():
    """A killed agent that starts again is covered a window later, and covers the others."""
    nodes["h2"].stop(signal.SIGKILL)
    a.poll(lambda: not nodes["h0"].covered())
    nodes["h2"].start()
    whole()
    key = fresh()
    nodes["h2"].insert(key)
    a.poll(lambda: nodes["h0"].has(key))
    return None


def withdraws():
    """An agent that ends, or whose section is gone, leaves no promise."""
    nodes["h0"].configure("# nothing\n")
    nodes["h0"].reload()
    if nodes["h0"].promise_ns():
        return "reload: a promise is left"
    if nodes["h0"].ask()[0] != 2:
        return f"{nodes['h0'].ask()}"
    nodes["h0"].configure(nodes["h0"].section)
    nodes["h0"].reload()
    whole()
    status = nodes["h1"].stop()
    if status or nodes["h1"].promise_ns():
        return f"exit {status}, a promise is left"
    nodes["h1"].start()
    whole()
    return None


def notices_lost_contents():
    """A filter of all that is cleared has everything again, and one with other contents is another
    one: until then there is no cover.
    """
    node, key = nodes["h0"], fresh()
    nodes["h2"].insert(key)
    a.poll(lambda: node.has(key))
    node.epfctl("clear", "all")
    a.poll(lambda: node.has(key))
    whole()
    node.epfctl("create", "spare", "--time", f"{h.WINDOW_S}s", "--rate", "10k", "--key-file",
                node.path("key"))
    node.epfctl("swap", "all", "spare")
    a.poll(lambda: b"have other contents now" in node.said())
    whole()
    return None


def tells_of_saturation():
    """A saturated filter takes new keys for repeats and does not publish them: no cover."""
    subprocess.run(nodes["h2"].inside(a.EPFCTL, "insert", "local", "-"),
                   input="".join(f"many {i}\n" for i in range(500000)), text=True, check=True,
                   capture_output=True, env={**os.environ, "EPF_BACKEND": "bpf"})
    a.poll(lambda: nodes["h0"].peer("h2")["lost"])
    a.poll(lambda: not nodes["h0"].covered())
    return None


def refuses_another_key():
    """A host with another hash key is refused by name, and never covered."""
    old = nodes.pop("h2")
    old.end()
    nodes["h2"] = h.Host(os.path.join(TMP.name, "other"), "h2", NAMES, url(), key="ff" * 16)
    nodes["h2"].start()
    a.poll(lambda: sum((nodes["h0"].peer("h2") or {"refused": {}})["refused"].values()))
    key = fresh()
    nodes["h2"].insert(key)
    a.poll(lambda: nodes["h2"].ask()[1]["published"]["digests"])
    a.poll(lambda: not nodes["h0"].peer("h2")["covered"])
    if nodes["h0"].has(key):
        return "its key is there"
    text = nodes["h0"].epfctl("cluster", "status", "--agent", nodes["h0"].path("sock"),
                              status=3).stdout
    return None if "refused" in text and "h2" in text else text


def complains():
    """What cannot work is named, and begins when it can."""
    node = nodes["h1"]
    for section, why in (
            (node.section.replace("all = all", "all = none"), "filter 'none'"),
            (node.section.replace("all = all", "all = local"), ""),
            (node.section + "password = /etc/hostname\n", "others can read")):
        node.configure(section)
        node.reload()
        a.poll(lambda: (node.ask()[1] or {}).get("trouble") not in (None, "starting"))
        trouble = node.ask()[1]["trouble"]
        if why not in trouble:
            return f"{trouble}"
    node.configure(node.section + "peer-rate = 1M\n")
    node.reload()
    a.poll(lambda: b"2 hosts of peer-rate 1000000 saturate filter 'all'" in node.said())
    node.configure(node.section)
    node.reload()
    a.poll(lambda: node.ask()[1]["trouble"] is None)
    return None


def conf_errors():
    """Sections with mistakes are refused in one line, and change nothing."""
    node = nodes["h1"]
    for old, new, why in (("host = h1", "host = h9", "roster"),
                          ("lag = 1000ms", "lag = 1ms", "200ms"),
                          ("filter = local", "frob = local", "unknown key 'frob'"),
                          ("all = all", "all = all\nthreads = 0", "too small"),
                          ("all = all", "all = all\nthreads = 33", "at most 32"),
                          ("roster = h0 h1 h2", "roster = h0 h1 h0", "twice"),
                          ("host = h1", "host = h.1", "letters"),
                          ("all = all", "tls-cert = /x\nall = all", "go together")):
        write_and_check = node.section.replace(old, new)
        node.configure(write_and_check)
        node.reload()
        if why not in node.said().decode().rsplit("error:", 1)[-1]:
            return f"{new}: {node.said().decode()[-400:]}"
    node.configure(node.section)
    node.reload()
    return None if node.ask()[1] else "the cluster is gone"


def url():
    return f"nats://127.0.0.1:{server.port}"


def main():
    global server
    reason = h.needs()
    if reason:
        print(f"TAP version 13\n1..0 # SKIP {reason}")
        return 4
    server = h.Server(TMP.name)
    os.mkdir(os.path.join(TMP.name, "other"))
    try:
        for name in NAMES:
            nodes[name] = h.Host(TMP.name, name, NAMES, url())
            nodes[name].start()
        return tap.run([
            ("what a host inserts is found on the others, and does not come back", arrives),
            ("all hosts are covered a window later", becomes_whole),
            ("the promise goes on, and never beyond the lag", promises),
            ("an agent that stands still is missed", notices_the_stopped),
            ("a server is killed and comes back", survives_the_server),
            ("an agent is killed and comes back", joins_again),
            ("no promise is left behind", withdraws),
            ("a filter of all that loses its contents", notices_lost_contents),
            ("wrong sections are refused", conf_errors),
            ("what cannot work is told", complains),
            ("a host whose filter is saturated is not covered", tells_of_saturation),
            ("a host with another hash key is refused", refuses_another_key),
        ])
    finally:
        for node in nodes.values():
            node.end()
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
