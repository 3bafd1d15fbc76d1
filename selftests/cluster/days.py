# SPDX-License-Identifier: GPL-2.0
"""Clocks of the day that are wrong, for the agents of a cluster: a library is preloaded into
each (day.c), because a namespace for that clock does not exist. It does not reach
nats-server, which calls the kernel without the C library.
"""

import mmap
import os
import struct
import tempfile

import cluster

LIBRARY = os.path.join(cluster.host.BUILD, "selftests/cluster/day.so")


class Days:
    """@wrong: seconds that the clock of each host is wrong by; set() changes them at once."""

    def __init__(self, wrong):
        self.files = [tempfile.NamedTemporaryFile(prefix="epf-day-") for _ in wrong]
        for file in self.files:
            file.truncate(8)
        self.words = [mmap.mmap(file.fileno(), 8) for file in self.files]
        self.set(wrong)

    def set(self, wrong):
        for word, by in zip(self.words, wrong):
            word[:] = struct.pack("=q", by * 10**9)

    def add(self, by):
        self.set([struct.unpack("=q", word[:])[0] // 10**9 + by for word in self.words])

    def env(self):
        return {i: {"LD_PRELOAD": LIBRARY, "EPF_DAY": file.name}
                for i, file in enumerate(self.files)}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for file in self.files:
            file.close()
