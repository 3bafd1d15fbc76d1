# SPDX-License-Identifier: GPL-2.0
"""The exact oracle of a cluster: when each host inserted each key. All hosts are on this
machine, so CLOCK_MONOTONIC serves all of them, and the cluster's time passes as it does.
"""

NS = 1_000_000_000


class Oracle:
    """Window and lag in seconds. @inserted: by key the (host, before, after) in ns, which
    enclose the moment of insertion."""

    def __init__(self, window, lag):
        self.window_ns, self.lag_ns = int(window * NS), int(lag * NS)
        self.inserted = {}

    def insert(self, host, key, before, after):
        self.inserted.setdefault(key, []).append((host, before, after))

    def contradicts(self, key, first, last):
        """Who says at a moment from @first to @last that @key is absent and covered claims
        that nobody inserted it in (moment - window, moment - lag]. Return an insertion that
        was there for certain, else None."""
        for host, before, after in self.inserted.get(key, ()):
            if after <= first - self.lag_ns and before > last - self.window_ns:
                return host, before, after
        return None

    def judge(self, host, answers):
        """Faults of the answers (key, verdict, first, last) of a host."""
        faults = []
        for key, verdict, first, last in answers:
            if verdict != "absent":
                continue
            seen = self.contradicts(key, first, last)
            if seen:
                faults.append(f"host {host} says {key:#x} is absent and covered, and host "
                              f"{seen[0]} had inserted it {(first - seen[2]) / 1e9:.3f} s before")
        return faults

    def foreign(self, host, now, oldest, newest):
        """Keys that others inserted between @oldest and @newest seconds ago."""
        return [key for key, events in self.inserted.items()
                if all(e[0] != host for e in events) and
                any(now - oldest * NS < e[1] and e[2] < now - newest * NS for e in events)]

    def forget(self, now):
        """Drop what has left the window of every host for long."""
        end = now - 4 * self.window_ns
        self.inserted = {key: events for key, events in self.inserted.items()
                         if events[-1][2] > end}
