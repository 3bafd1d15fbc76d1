# SPDX-License-Identifier: GPL-2.0
"""Run epfctl and editcap, and find the captures."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile

import pcap
import tap
from tap import Skip

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
EPFCTL = os.environ.get("EPFCTL", os.path.join(TOP, "build/user/epfctl"))
DATA = os.environ.get("EPF_DATA", os.path.join(TOP, "../shared/data"))
FETCHED = os.path.join(TOP, "build/data")
REAL = [(DATA, "1kxun.pcap"), (DATA, "reddit.pcap"),
        (DATA, "forticlient.pcap"), (DATA, "KakaoTalk_talk.pcap"),
        (FETCHED, "real.pcap")]

TMP = tempfile.mkdtemp(prefix="epf-dedup-")
atexit.register(shutil.rmtree, TMP, ignore_errors=True)


def tmp(name):
    return os.path.join(TMP, name)


def real(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise Skip(f"{name} is not in {os.path.relpath(folder, TOP)}")
    return path


@functools.lru_cache(None)
def beginning(folder, name):
    """The first packets of a real capture; with EPF_THOROUGH all of it."""
    path = real(folder, name)
    if os.environ.get("EPF_THOROUGH"):
        return path
    capture = pcap.load(path)
    capture.packets = capture.packets[:2000]
    return capture.save(tmp(f"beginning-{name}"))


def epfctl(*args, **how):
    how.setdefault("timeout", 300)
    return subprocess.run([EPFCTL, *map(str, args)], capture_output=True,
                          **how)


def dedup(source, *options, out="out.pcap"):
    """Remove repeats from a capture. Return (output, report)."""
    run = epfctl("dedup", "-j", *options, source, tmp(out))
    if run.returncode:
        raise RuntimeError(run.stderr.decode())
    return pcap.load(tmp(out)), json.loads(run.stdout)


def filtered(source, *options, exact=True, **how):
    """The same with the filter. @exact: a false positive makes the case fail; each packet
    is one with the predicted probability.
"""
    out, report = dedup(source, "--filter", *options, **how)
    if exact:
        tap.may_fail(report["packets"]["read"] * report["fpr_predicted"])
    return out, report


def editcap(source, *options):
    program = shutil.which("editcap")
    if not program:
        raise Skip("editcap is not installed (wireshark-common)")
    subprocess.run([program, "-F", "pcap", *map(str, options), source,
                    tmp("editcap.pcap")], check=True, capture_output=True)
    return pcap.load(tmp("editcap.pcap"))


def need_epfctl():
    if not os.path.exists(EPFCTL):
        raise SystemExit(f"{EPFCTL} is not built: run 'make user', or set "
                         "EPFCTL")
