#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Wrong clocks of agents. In a time namespace CLOCK_MONOTONIC is not that of packet programs, with which
the agent's promises are compared. The clock of the day may be wrong, and jump (day.c), without any harm; the same with
those of a whole machine, its broker's among them: day_vm.py.
"""

import cluster
import faults
import tap
from days import Days

HOUR = 3600


def namespaces():
    """agents in time namespaces, ahead and behind, promise by the clock of packet programs"""
    with cluster.Cluster(3, ahead={0: 1000, 1: -60}) as c:
        return c.until_covered() or c.until_answers() or faults.endure(c, faults.agent_stopped)


def days():
    """agents whose clocks of the day are wrong, each by another time, and jump by hours"""
    with Days([HOUR, 0, 30]) as day, cluster.Cluster(3, env=day.env()) as c:
        for wrong in None, [0, -HOUR, 3 * HOUR], [-2 * HOUR, 3, 0]:
            if wrong:
                day.set(wrong)
            fault = c.for_seconds(c.lag) or faults.endure(c, faults.agent_stopped)
            if fault:
                return f"wrong by {wrong or 'other times from the start'}: {fault}"
        if c.hosts[0].ask("message", {"op": "status"})["status"]["uptime_ns"] > -HOUR * 10**9:
            return "the clock of host 0 was not set back"
        told = [c.status(i)["trouble"] for i in range(3)]
        return f"trouble: {told}" if any(told) else None


def behind():
    """an agent whose clock of the day is before the certificates says so, and goes on when it is set"""
    with Days([-HOUR, 0]) as day, cluster.Cluster(2, env=day.env()) as c:
        fault = c.go_on(lambda: c.status(0)["trouble"] or c.covered([0]), "that the agent says so")
        fault = fault or (c.covered([0]) and "it promises") or c.for_seconds(c.lag)
        day.set([0, 0])
        return fault or c.until_covered() or c.until_answers()


if __name__ == "__main__":
    cluster.require()
    tap.main(tap.chosen([(case.__doc__, case) for case in (namespaces, days, behind)]))
