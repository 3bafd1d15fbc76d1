#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Measure the cost of a packet in the programs of `attach --reflexive`, above that of an
empty program of the same type, by test runs of the attached programs: nanoseconds, which are
instructions in a guest that counts instructions. One repeated key; a window of a million.

usage: reflex_bench.py [REPEAT]; EPF_REFLEX_BACKEND=module or bpf
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../ebpf"))

import reflex_hosts as hosts  # noqa: E402
import reflex_packets as packets  # noqa: E402
from reflex_hosts import net  # noqa: E402

EMPTY = os.path.join(net.BUILD, "selftests/bench/empty.bpf.o")


def run(program, frame, repeat):
    path = net.tmp("frame")
    with open(path, "wb") as file:
        file.write(frame)
    done = json.loads(net.run("bpftool", "-j", "prog", "run", *program, "data_in", path,
                              "repeat", repeat).stdout)
    return done["duration"]


def empty(kind, frame, repeat):
    pin = "/sys/fs/bpf/reflex-bench"
    net.run("bpftool", "prog", "load", EMPTY, pin, "type", kind)
    try:
        return run(["pinned", pin], frame, repeat)
    finally:
        os.unlink(pin)


def main(repeat):
    flow, other = packets.Flow(4, 17, 1, 53), packets.Flow(4, 17, 2, 53)
    options = ["--window", "1000000", "-b", "1e-4"]
    none = {kind: empty(kind, flow.query(), repeat) for kind in ("xdp", "classifier")}
    print(f"empty: XDP {none['xdp']}, tc {none['classifier']}")
    with hosts.Filter(*options), hosts.Holder(), \
            hosts.Attached("--no-dispatcher") as on:
        sides = on.status()["reflexive"]
        learn, ask = (["id", sides[s]["program"]] for s in ("learn", "ask"))
        for what, program, frame, kind in (
                ("learn", learn, flow.query(), "classifier"),
                ("ask, recent", ask, flow.answer(), "xdp"),
                ("ask, absent", ask, other.answer(), "xdp"),
                ("ask, not matched", ask, packets.Flow(4, 17, 2, 54).answer(), "xdp")):
            print(f"{what}: {run(program, frame, repeat) - none[kind]}")


if __name__ == "__main__":
    hosts.require()
    main(sys.argv[1] if len(sys.argv) > 1 else 100000)
