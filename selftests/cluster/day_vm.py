#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The clock of the day is set forward and back while agents run: that of a whole machine, with
its agents and its broker, and that of the broker alone. For a guest only: it needs no module.
"""

import os
import time

import cluster
import faults
import tap
from days import Days

HOUR = 3600


def restarts(c):
    return [c.status(i)["clock"]["restarts"] for i in range(len(c.hosts))]


def jump(c, by, day=None):
    """The law while the clock is set, and full coverage after it. Every host notices an hour.
    @day: clocks of the agents, which keep the time that they have."""
    fault = c.until_covered()
    if fault:
        return f"before: {fault}"
    before = restarts(c)
    time.clock_settime(time.CLOCK_REALTIME, time.time() + by)
    if day:
        day.add(-by)
    fault = c.for_seconds(2 * c.lag)
    if not fault and abs(by) >= HOUR:
        fault = c.go_on(lambda: all(a > b for a, b in zip(restarts(c), before)), "that each host notices")
    return fault or faults.endure(c, faults.agent_stopped)


def whole_machine():
    """the clock of agents and broker is set by an hour, by 3 s, and back by two hours"""
    with cluster.Cluster(3) as c:
        for by in HOUR, 3, -3, -2 * HOUR:
            fault = jump(c, by)
            if fault:
                return f"by {by:+d} s: {fault}"


def broker_alone():
    """the broker's clock alone is set by an hour, and back by two"""
    with Days([0] * 3) as day, cluster.Cluster(3, env=day.env()) as c:
        return jump(c, HOUR, day) or jump(c, -2 * HOUR, day)


if __name__ == "__main__":
    if not os.environ.get("EPF_VM"):
        tap.skip_all("it sets the clock of the machine: for a guest only")
    cluster.require()
    tap.main(tap.chosen([(case.__doc__, case) for case in (whole_machine, broker_alone)]))
