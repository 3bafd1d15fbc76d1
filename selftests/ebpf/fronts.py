#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`epfctl attach --admit`, `--log-new` and `--hook` with filters of the module, in one guest:
of admit.py, log_new.py and nf.py what may differ from filters that are pure BPF; with
EPF_THOROUGH all.
"""

import atexit
import signal

import admit
import log_new
import nf
import nf_hosts
import reflex
import reflex_hosts as hosts
from reflex_hosts import tap

FRONTS = (("--admit", admit), ("--log-new", log_new), ("--hook", nf))


def cases():
    return [(f"{name}, {what}", case) for name, program in FRONTS
            for what, case in (program.cases() if reflex.THOROUGH else
                               program.of_module())]


if __name__ == "__main__":
    for s in signal.SIGTERM, signal.SIGHUP:
        signal.signal(s, reflex.ended)
    reflex.ahead()
    hosts.require()
    nf_hosts.make_c()
    nf_hosts.drop_pins()
    atexit.register(nf_hosts.sweep)
    tap.main(tap.chosen(cases()), retry="a socket may wait for long")
