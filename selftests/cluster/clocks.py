#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""An agent in a time namespace: its CLOCK_MONOTONIC is not that of packet programs, so it must
promise nothing. (Wrong clocks of the day need a machine for each host: the simulated cluster of
laws.c has them.)
"""

import cluster
import tap


def ahead():
    """an agent whose monotonic clock is ahead says so, and promises nothing"""
    with cluster.Cluster(2, ahead={0: 1000}) as c:
        fault = c.go_on(lambda: "time namespace" in (c.status(0)["trouble"] or "") or
                        c.covered([0]), "that the agent says so")
        return fault or (c.covered([0]) and "it promises") or c.for_seconds(2 * c.lag)


if __name__ == "__main__":
    cluster.require()
    tap.main(tap.chosen([(ahead.__doc__, ahead)]))
