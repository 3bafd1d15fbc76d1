# SPDX-License-Identifier: GPL-2.0
"""Begin and end of programs with attached filters: their requirements, the CPU they run on,
and the cleanup after signals. The importer first sets the environment of xdp/net.py and the
path.
"""

import atexit
import os
import signal
import subprocess
import sys

import bpffs
import net
import sweep
import tap


def require(name, *make):
    """Skip everything unless filter @name can be made, and network namespaces by @make."""
    if os.geteuid():
        tap.skip_all("needs root")
    if not os.path.exists(net.EPFCTL):
        tap.skip_all("needs epfctl: make user")
    sweep.main()
    made = net.run(net.EPFCTL, "create", name, "-W", 1000, check=False)
    if made.returncode:
        tap.skip_all(f"no filters here: {made.stderr.strip()}")
    net.run(net.EPFCTL, "destroy", name)
    try:
        for step in net.make_net, *make:
            step()
    except (RuntimeError, OSError) as why:
        tap.skip_all(f"no network namespaces here: {str(why).strip()}")


class Holder:
    """`epfctl hold`, once it has begun; without a name nothing."""

    def __init__(self, *names):
        self.names = names
        self.it = None

    def __enter__(self):
        if not self.names:
            return self
        self.it = subprocess.Popen([net.EPFCTL, "hold", *self.names],
                                   stdout=subprocess.PIPE, text=True)
        if not self.it.stdout.readline().startswith("holding"):
            raise RuntimeError("epfctl hold does not begin")
        return self

    def __exit__(self, *error):
        if self.it:
            self.it.kill()
            self.it.wait()
            self.it.stdout.close()


def ahead(one_cpu):
    """With @one_cpu use one CPU, so that softirqs and processes meet on it and packets keep
    their order. A holder that waits a second for a CPU is overdue, so it gets a higher
    priority than other programs, if that is allowed.
"""
    if one_cpu:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass


def main(cases, begin, end, after, one_cpu=True, retry="a holder runs once a second"):
    """Run cases() between the @begin functions and end(), even if a signal ends it. after()
    returns what a case has left behind.
    """
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if not os.geteuid():
        bpffs.own()
    ahead(one_cpu)
    for step in begin:
        step()
    atexit.register(end)
    tap.main(tap.chosen(cases()), retry, after)
