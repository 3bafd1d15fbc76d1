#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A cluster of agents, a broker and filters that are pure BPF: who says that a key is
absent and that all hosts are covered is never contradicted by the exact oracle of all
hosts, whatever fails; and after it, full coverage returns. Three hosts and some faults;
faults.py and long.py have the rest.
"""

import functools
import time

import cluster
import faults
import tap

HOSTS = 3


def answers(c):
    """keys of other hosts are present, others absent"""
    return c.until_covered() or c.until_answers(40)


def latency(c):
    """a key of one host is present on all others"""
    key, before, after = c.hosts[0].ask("insert", c.fresh(1))[0]
    c.oracle.insert(0, key, before, after)

    def present():
        return all(node.ask("query", [key])[0][1] == "present" for node in c.hosts[1:])
    fault = c.go_on(present, "that it is present")
    print(f"# after {(time.monotonic_ns() - after) / 1e6:.0f} ms, asked between rounds")
    return fault


def run(size, chosen):
    with cluster.Cluster(size) as c:
        cases = [(case.__doc__, functools.partial(case, c)) for case in (answers, latency)]
        cases += [(fault.__doc__, functools.partial(faults.endure, c, fault)) for fault in chosen]
        status = tap.run(tap.chosen(cases), after=lambda: None)
        print(f"# answers: {c.said}")
    return status


def main():
    cluster.require()
    return run(HOSTS, faults.SHORT)


if __name__ == "__main__":
    raise SystemExit(main())
