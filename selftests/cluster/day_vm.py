#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The clock of the day of a whole machine, of its agents and its broker, is set forward and back by hours
while they run. For a guest only: it needs no module.
"""

import functools
import os
import time

import cluster
import tap

HOUR = 3600


def jump(c, by):
    """The law while the clock is set, and full coverage after it."""
    time.clock_settime(time.CLOCK_REALTIME, time.time() + by)
    return c.for_seconds(2 * c.lag) or c.until_covered() or c.until_answers()


def main():
    with cluster.Cluster(3) as c:
        cases = [("it is covered", lambda: c.until_covered() or c.until_answers())]
        cases += [(f"the clock is set by {by:+d} s", functools.partial(jump, c, by))
                  for by in (HOUR, 3, -3, -2 * HOUR)]
        return tap.run(cases)


if __name__ == "__main__":
    if not os.environ.get("EPF_VM"):
        tap.skip_all("it sets the clock of the machine: for a guest only")
    cluster.require()
    raise SystemExit(main())
