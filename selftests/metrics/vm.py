#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The metrics of real filters, of every kind: the endpoint and epfctl metrics report the
same as epfctl list. Loads build/kmod/epochfilter.ko (or EPF_KO) in a VM; elsewhere it must
be loaded.
"""

import decimal
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import common
import openmetrics
import prometheus
import tap
from endpoint import Endpoint

KO = os.environ.get("EPF_KO", os.path.join(common.BUILD, "kmod/epochfilter.ko"))
MAKE_KIND = os.path.join(common.BUILD, "selftests/module/make_kind")
TMP = tempfile.TemporaryDirectory()
SOCKET = os.path.join(TMP.name, "socket")
ACCEPT = "application/openmetrics-text"
# Numbers that change by themselves without insertions.
MOVING = {"epochfilter_" + n for n in
          ("age_seconds", "covered_seconds", "covered_inserts", "rotations_total",
           "rotations_delayed_total", "scanned_lines_total", "epoch",
           "fill_ratio", "error_ratio", "memory_bytes", "slices", "users")}


FLOOD = 60000  # ten windows


def epfctl(*args, **more):
    return subprocess.run([common.EPFCTL, *args], check=True, capture_output=True,
                          **more).stdout


def insert(name, first, nr):
    keys = "".join(f"key {i}\n" for i in range(first, first + nr))
    epfctl("insert", name, "-", input=keys.encode())


def make_kind(name, kind):
    """The program does what epfctl does, which takes seconds to size some kinds in a guest."""
    if os.path.exists(MAKE_KIND):
        subprocess.run([MAKE_KIND, name, kind], check=True)
    else:
        epfctl("create", name, "--kind", kind, "--time", "10m", "--rate", "10", "-b", "1e-2")


def make_filters():
    """Make a filter of every kind, a full one, one that fails open, an empty one."""
    for kind in common.KINDS[1:]:
        make_kind(f"m-{kind}", kind)
        insert(f"m-{kind}", 0, 500)
        subprocess.run([common.EPFCTL, "test", "-c", f"m-{kind}", "key 1", "never"],
                       capture_output=True)
    epfctl("create", "m-empty", "-W", "7000")
    epfctl("create", "m-lanes", "-W", "7000", "-T", "1h", "--mode", "either")
    insert("m-lanes", 0, 5000)
    epfctl("create", "m-flood", "-T", "10m", "--rate", "10")
    for first in range(0, FLOOD, FLOOD // 3):
        insert("m-flood", first, FLOOD // 3)
    for _ in range(600):
        if listed()["m-flood"]["saturated"]:
            break
        time.sleep(0.1)
    subprocess.run([common.EPFCTL, "test", "-c", "m-flood", "key 1", "never"],
                   capture_output=True)


def listed():
    return {f["name"]: f for f in json.loads(epfctl("list", "-j"))}


def numbers(f):
    """Return what of_filter() does, for a filter of epfctl list -j. That rounds ratios, and
    the difference allowed here is the rounding.
"""
    s = f["stats"]
    fill = [[0, 0]] * 8
    for e in f["epochs"]:
        fill[e["age"]] = [e["epoch"], round(e["fill"] * 1e12)]
    return {
        "name": f["name"].encode().hex(), "id": f["id"],
        "kind": common.KINDS.index(f["kind"]),
        "flags": f["saturated"] | f["pinned"] << 1, "users": f["users"] + 1,
        "window_inserts": f.get("window_inserts", 0),
        "window_ns": f.get("window_ns", 0),
        "budget_ppt": round(f["budget"] * 1e12),
        "limit_ppt": round(f["limit"] * 1e12), "epoch": f["epoch"],
        "memory_bytes": f["memory_bytes"],
        "covered_inserts": f["covered_inserts"],
        "covered_ns": f["covered_ns"], "fpr_ppt": round(f["fpr"] * 1e12),
        "age_ns": f["age_ns"], "slices": f["slices"], "waits": f["waits"],
        "window_epochs": f["window_epochs"], "inserts": s["inserts"],
        "hits": s["hits"], "misses": s["misses"], "rotations": s["rotations"],
        "delayed": s["delayed"], "saturations": s["saturations"],
        "failed_open": s["failed_open"], "scanned": s["scanned"], "fill": fill}


def expected():
    want = {}
    for f in listed().values():
        want.update(common.of_filter(numbers(f)))
    return want


def near(a, b):
    """Are they equal to six digits?"""
    return abs(a - b) <= max(abs(a), abs(b)) * decimal.Decimal("5.1e-6")


def fits(ask):
    """ask() gives the same as epfctl list: exactly, or, for changing numbers, between a
    list before and one after.
"""
    def claim():
        before = expected()
        got = openmetrics.parse(ask())[0]
        after = expected()
        own = {k: v for k, v in got.items() if dict(k[1]).get("filter")}
        there = set(before) & set(after), set(before) | set(after)
        faults = [f"{k}: missing" for k in there[0] - set(own)]
        faults += [f"{k}: too many" for k in set(own) - there[1]]
        for k in there[0] & set(own):
            exact = k[0] not in MOVING
            low, high = sorted((before[k], after[k]))
            if not near(own[k], low) and not near(own[k], high) and \
                    (exact or not low <= own[k] <= high):
                faults.append(f"{k}: {own[k]}, not {low} to {high}")
        if got["epochfilter_filters", frozenset()] != len(listed()):
            faults.append("the number of filters")
        return "\n".join(faults[:8])
    return claim


def over(listen):
    def ask():
        with Endpoint(listen) as e:
            status, _, body = e.ask(Accept=ACCEPT)
        if status != 200:
            raise RuntimeError(status)
        return body
    return ask


def value(samples, name, filter_name):
    return [v for k, v in samples.items()
            if k[0] == "epochfilter_" + name and ("filter", filter_name) in k[1]]


def states():
    """The numbers count exactly what was done to the filters."""
    s = openmetrics.parse(epfctl("metrics"))[0]
    flood = [value(s, n, "m-flood")[0] for n in
             ("saturated", "saturations_total", "failed_open_total",
              "inserts_total", "hits_total", "misses_total")]
    if flood[0] != 1 or flood[1] < 1 or flood[2] < 2 or flood[3] != FLOOD:
        return f"m-flood: {flood}"
    if value(s, "error_ratio", "m-flood") <= value(s, "limit_ratio", "m-flood"):
        return "m-flood: the error is below the limit"
    empty = value(s, "inserts_total", "m-empty") + value(s, "error_ratio", "m-empty")
    return None if empty == [0, 0] else f"m-empty: {empty}"


def text_format():
    """An epoch that ends between the two reads adds a sample: read again."""
    for _ in range(5):
        got = openmetrics.parse_text(epfctl("metrics", "--text"))[0]
        new = openmetrics.parse(epfctl("metrics"))[0]
        if set(got) == set(new):
            return None
    return f"{set(got) ^ set(new)}"


def prometheus_collects():
    """A server has the insertions of every filter, and its kind."""
    if not common.tool("prometheus"):
        raise tap.Skip("no prometheus: scripts/deps.sh test")
    with Endpoint("127.0.0.1:0") as e, prometheus.Server([e.address()]) as server:
        server.until(server.collected)

        def collects():
            got = {(r["metric"]["filter"], r["metric"]["kind"]): int(r["value"][1])
                   for r in server.api(
                       "query", query="epochfilter_inserts_total")["result"]}
            return common.difference(got, want)
        want = {(f["name"], f["kind"]): f["stats"]["inserts"]
                for f in listed().values()}
        return prometheus.patient(collects)()


def while_destroyed():
    """Filters come and go while all are read: every answer is complete, and a forced
    destruction is soon done.
"""
    done, faults = threading.Event(), []

    def scrape():
        while not done.is_set():
            status, _, body = e.ask(Accept=ACCEPT)
            if status != 200:
                faults.append(f"{status} {body}")
            else:
                openmetrics.parse(body)

    with Endpoint(SOCKET) as e:
        t = threading.Thread(target=scrape)
        t.start()
        for n in range(40 if os.environ.get("EPF_THOROUGH") else 3):
            epfctl("create", f"m-short-{n}", "-W", "100")
            epfctl("destroy", "--force", f"m-short-{n}")
        done.set()
        t.join()
    return "\n".join(faults[:3])


def remove(module):
    """The memory of a destroyed filter is freed a moment later."""
    for _ in range(100):
        if not os.path.exists(f"/sys/module/{module}"):
            return
        subprocess.run(["rmmod", module], stderr=subprocess.DEVNULL)
        time.sleep(0.2)


def unloaded():
    """Without the module the endpoint continues and reports that; it notices when the
    module is back.
"""
    if "EPF_VM" not in os.environ:
        raise tap.Skip("not this machine's module")
    with Endpoint(SOCKET) as e:
        for name in listed():
            epfctl("destroy", "--force", name)
        remove("epochfilter_kinds")  # filters of other kinds had loaded it
        subprocess.run(["rmmod", "epochfilter"], check=True)
        ups = [openmetrics.parse(e.ask(Accept=ACCEPT)[2])[0]]
        subprocess.run(["insmod", KO], check=True)
        epfctl("create", "m-back", "-W", "700")
        ups.append(openmetrics.parse(e.ask(Accept=ACCEPT)[2])[0])
    got = [int(s["epochfilter_up", frozenset()]) for s in ups]
    return None if got == [0, 1] and value(ups[1], "users", "m-back") else f"{got}"


def sweep():
    for name in listed():
        if name.startswith("m-"):
            epfctl("destroy", "--force", name)


def main():
    if os.geteuid():
        why = "needs root"
    elif not os.path.exists(os.path.join(common.BIN, "serve")):
        why = "no libmicrohttpd"
    elif not os.path.exists("/dev/epochfilter") and (
            "EPF_VM" not in os.environ or
            subprocess.run(["insmod", KO]).returncode):
        why = "the module is not loaded"
    else:
        try:
            make_filters()
            cases = [
                ("a socket: what epfctl list tells", fits(over(SOCKET))),
                ("127.0.0.1: likewise", fits(over("127.0.0.1:0"))),
                ("epfctl metrics: likewise",
                 fits(lambda: epfctl("metrics"))),
                ("epfctl metrics --text: the same samples", text_format),
                ("saturated, failing open, empty", states),
                ("while filters are made and destroyed", while_destroyed),
                ("without the module, and with it again", unloaded)]
            if os.environ.get("EPF_THOROUGH"): # it takes long to start in a guest
                cases.insert(5, ("Prometheus collects them", prometheus_collects))
            return tap.run(cases)
        finally:
            sweep()
    return tap.skip_all(why)


if __name__ == "__main__":
    sys.exit(main())
