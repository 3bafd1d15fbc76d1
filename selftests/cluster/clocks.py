#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Wrong clocks of agents. In a time namespace CLOCK_MONOTONIC is not that of packet programs, so the agent
must promise nothing. The clock of the day may be wrong, and jump (day.c), without any harm; the same with
those of a whole machine, its broker's among them: day_vm.py.
"""

import os
import struct

import cluster
import tap

DAY = os.path.join(cluster.host.BUILD, "selftests/cluster/day.so")
HOUR = 3600


def ahead():
    """an agent whose monotonic clock is ahead says so, and promises nothing"""
    with cluster.Cluster(2, ahead={0: 1000}) as c:
        fault = c.go_on(lambda: "time namespace" in (c.status(0)["trouble"] or "") or
                        c.covered([0]), "that the agent says so")
        return fault or (c.covered([0]) and "it promises") or c.for_seconds(2 * c.lag)


class Days:
    """The clocks of the day of hosts, in seconds that they are wrong by."""

    def __init__(self, folder, wrong):
        self.paths = [os.path.join(folder, f"epf-day-{os.getpid()}-{i}") for i in range(len(wrong))]
        self.set(wrong)

    def set(self, wrong):
        for path, by in zip(self.paths, wrong):
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.pwrite(fd, struct.pack("=q", by * 10**9), 0)
            os.close(fd)

    def env(self):
        return {i: {"LD_PRELOAD": DAY, "EPF_DAY": path} for i, path in enumerate(self.paths)}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for path in self.paths:
            os.unlink(path)


def days():
    """agents whose clocks of the day are wrong, each by another time, and jump by hours"""
    with Days("/dev/shm", [HOUR, 0, 30]) as day, cluster.Cluster(3, env=day.env()) as c:
        fault = c.until_covered() or c.until_answers()
        for wrong in [0, -HOUR, 3 * HOUR], [-2 * HOUR, 3, 0]:
            day.set(wrong)
            fault = fault or c.for_seconds(c.lag) or c.until_covered() or c.until_answers()
            if fault:
                return f"wrong by {wrong} s: {fault}"
        if c.hosts[0].ask("message", {"op": "status"})["status"]["uptime_ns"] > -HOUR * 10**9:
            return "the clock of host 0 was not set back"
        told = [c.status(i)["trouble"] for i in range(3)]
        return f"trouble: {told}" if any(told) else None


if __name__ == "__main__":
    cluster.require()
    tap.main(tap.chosen([(case.__doc__, case) for case in (ahead, days)]))
