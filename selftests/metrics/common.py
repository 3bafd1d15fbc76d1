# SPDX-License-Identifier: GPL-2.0
"""What the programs of this directory share: the expected samples for the numbers of a
filter, written from the documentation and not from the C; and the paths of files.
"""

import decimal
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
BIN = os.environ.get("EPF_METRICS_BIN", os.path.join(BUILD, "selftests/metrics"))
USER = os.path.join(ROOT, "user/epfagent")

sys.path.insert(0, os.path.join(ROOT, "selftests/dedup"))

KINDS = ["lanes", "ge", "gebl", "apbf", "apbbf", "tlbf", "dict", "chain", "elastic"]
PLAIN = {  # sample: name of the filter's number
    "inserts_total": "inserts", "hits_total": "hits", "misses_total": "misses",
    "failed_open_total": "failed_open", "saturations_total": "saturations",
    "rotations_total": "rotations", "rotations_delayed_total": "delayed",
    "scanned_lines_total": "scanned", "memory_waits_total": "waits",
    "covered_inserts": "covered_inserts", "memory_bytes": "memory_bytes",
    "epoch": "epoch",
}
SECONDS = {"covered_seconds": "covered_ns", "age_seconds": "age_ns"}
RATIOS = {"error_ratio": "fpr_ppt", "budget_ratio": "budget_ppt",
          "limit_ratio": "limit_ppt"}
EPFCTL = os.environ.get("EPF_CTL", os.path.join(BUILD, "user/epfctl"))
AGENT = ["agent_start_time_seconds", "agent_keys_asked_total",
         "agent_keys_present_total", "agent_busy_seconds_total",
         "agent_requests_refused_total", "agent_files_total",
         "agent_cache_hits_total", "agent_cache_misses_total",
         "agent_queued_audits", "agent_clients", "agent_cache_bytes",
         "agent_mirrors", "agent_mirror_copies_total",
         "agent_audits_fallen_back_total", "agent_filters_held"]


def tool(name):
    """Return the path of a tool of Prometheus, or None."""
    return shutil.which(name, path=os.pathsep.join(
        [os.path.join(BUILD, "tools"), os.environ.get("PATH", "")]))


def page(*args):
    """Run page. Return bytes."""
    return subprocess.run([os.path.join(BIN, "page"), *args], check=True,
                          stdout=subprocess.PIPE).stdout


def ns(v):
    return decimal.Decimal(v).scaleb(-9)


def ppt(v):
    return decimal.Decimal(v).scaleb(-12)


def name_of(hexed):
    """Return a name as a label has it: printable characters and newlines stay."""
    return "".join(chr(b) if 32 <= b < 127 or b == 10 else "?"
                   for b in bytes.fromhex(hexed))


def of_filter(f):
    """Return {(sample, labels): value} for the numbers of one filter."""
    kind = KINDS[f["kind"]] if f["kind"] < len(KINDS) else "unknown"
    base = {"filter": name_of(f["name"]), "kind": kind}
    samples = {}

    def put(name, value, **more):
        samples["epochfilter_" + name,
                frozenset({**base, **more}.items())] = decimal.Decimal(value)

    for name, number in PLAIN.items():
        put(name, f[number])
    for name, number in SECONDS.items():
        put(name, ns(f[number]))
    for name, number in RATIOS.items():
        put(name, ppt(f[number]))
    put("saturated", f["flags"] & 1)
    put("rotation_pinned", f["flags"] >> 1 & 1)
    put("users", max(f["users"] - 1, 0))
    if f["window_inserts"]:
        put("window_inserts", f["window_inserts"])
    if f["window_ns"]:
        put("window_seconds", ns(f["window_ns"]))
    if f["slices"]:
        put("slices", f["slices"])
    for age, (epoch, fill) in enumerate(f["fill"]):
        if epoch:
            put("fill_ratio", ppt(fill), age=str(age))
    put("filter_info", 1, id=str(f["id"]), epochs=str(f["window_epochs"]))
    return samples


def of_device(filters, version, there=None):
    """The same for all; filters None: no device, or one that may not be opened."""
    there = filters is not None if there is None else there
    samples = {("epochfilter_up", frozenset()): decimal.Decimal(there),
               ("epochfilter_readable", frozenset()):
               decimal.Decimal(filters is not None),
               ("epochfilter_build_info",
                frozenset({("version", version)})): decimal.Decimal(1)}
    for f in filters or []:
        samples.update(of_filter(f))
    return samples


def difference(got, want):
    """Return None if they are equal, else some of the differences."""
    if got == want:
        return None
    faults = [f"missing: {k} {want[k]}" for k in want if k not in got]
    faults += [f"too many: {k} {got[k]}" for k in got if k not in want]
    faults += [f"{k}: {got[k]}, should be {want[k]}" for k in got
               if k in want and got[k] != want[k]]
    return "\n".join(faults[:8])
