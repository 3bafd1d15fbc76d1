#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The text of the metrics: every number of every filter, exactly, by readers
that share nothing with the writer; and by Prometheus' own.
"""

import decimal
import json
import os
import re
import subprocess

import common
import openmetrics
import tap

decimal.getcontext().prec = 60
ONES = 2 ** 64 - 1


def expected(filters, there=None):
    want = common.of_device(filters, "1.2.3", there)
    if filters is not None:
        want["epochfilter_filters", frozenset()] = decimal.Decimal(len(filters))
    return want


def of_agent():
    """The numbers of an agent whose n-th number is ONES - n, in the order of stats.h."""
    order = ["done", "failed", "cancelled", "agent_requests_refused_total",
             "agent_keys_asked_total", "agent_keys_present_total",
             "agent_busy_seconds_total", "agent_files_total",
             "agent_cache_hits_total", "agent_cache_misses_total",
             "agent_queued_audits", "agent_clients", "agent_cache_bytes",
             "agent_start_time_seconds", "agent_mirrors",
             "agent_mirror_copies_total", "agent_audits_fallen_back_total",
             "agent_filters_held"]
    want = {}
    for n, name in enumerate(order):
        value = decimal.Decimal(ONES - n)
        if "seconds" in name:
            value = common.ns(ONES - n)
        if name.startswith("agent"):
            want["epochfilter_" + name, frozenset()] = value
        else:
            want["epochfilter_agent_audits_total",
                 frozenset({("result", name)})] = value
    return want


def of_clusters():
    """The numbers of a cluster with two other hosts, likewise."""
    orders = {(): ["covered", "joined", "saturated", "published_digests_total", "published_messages_total",
                   "published_lost_total", "waiting_bytes", "certificate_end_timestamp_seconds"],
              ("host0", "host1"): ["peer_covered", "peer_behind_seconds", "peer_digests_total",
                                   "peer_messages_total", "peer_gaps_total", "peer_lost_total",
                                   "peer_refused_total"]}
    want = {}
    for hosts, order in orders.items():
        for host in hosts or [None]:
            labels = {("cluster", "edge")} | ({("host", host)} if host else set())
            for n, name in enumerate(order):
                value = common.ns(ONES - n) if "seconds" in name else decimal.Decimal(ONES - n)
                want["epochfilter_cluster_" + name, frozenset(labels)] = value
    return want


def read(data, form):
    return (openmetrics.parse if form == "openmetrics" else
            openmetrics.parse_text)(data)[0]


def exact(case, form, *agent):
    """Check one case in one format."""
    def run():
        filters = json.loads(common.page(case, "raw"))
        want = expected(None if case in ("away", "closed") else filters,
                        case != "away")
        if agent:
            want.update(of_agent())
            want.update(of_clusters())
        return common.difference(read(common.page(case, form, *agent), form), want)
    return f"{case}, {form}{', with an agent' if agent else ''}: " \
        "every sample, and no other", run


def fails(case):
    def run():
        got = subprocess.run([f"{common.BIN}/page", case, "openmetrics"],
                             capture_output=True)
        if got.returncode != 1 or got.stdout or b"left" in got.stderr:
            return f"{got}"
        return None
    return f"{case}: an error, and no text", run


def metadata():
    """All families have base units, help, and types."""
    meta = openmetrics.parse(common.page("kinds", "openmetrics", "ones"))[1]
    faults = []
    for name, m in meta.items():
        unit = name.rsplit("_", 1)[-1]
        if unit in ("seconds", "ratio", "bytes") and m.get("UNIT") != unit:
            faults.append(f"{name}: no unit")
        if not m.get("HELP", "").endswith(".") or not m.get("TYPE"):
            faults.append(f"{name}: {m}")
        if not name.startswith("epochfilter_"):
            faults.append(name)
    return "\n".join(faults)


def bounded():
    """There are at most as many series as metrics.h and DESIGN say."""
    with open(os.path.join(common.ROOT, "user/metrics/metrics.h"), encoding="utf-8") as f:
        said = dict(re.findall(r"#define METRICS_(\w+) (\d+)", f.read()))
    with open(os.path.join(common.ROOT, "docs/DESIGN.md"), encoding="utf-8") as f:
        design = re.search(r"A filter makes (\d+) series at most, a cluster (\d+) and (\d+) "
                           r"for each other\s+host, all else (\d+);", f.read()).groups()
    samples = openmetrics.parse(common.page("ones", "openmetrics", "ones"))[0]
    labels = [dict(k[1]) for k in samples]
    own = sum("filter" in k for k in labels)
    peers = sum("host" in k for k in labels)
    clusters = sum("cluster" in k for k in labels) - peers
    # a pure BPF filter also has overdue_total; fake.c has none. There are two peers
    got = (own + 1, clusters, peers // 2, len(labels) - own - clusters - peers)
    want = [said[n] for n in ("OF_FILTER", "OF_CLUSTER", "OF_PEER", "OTHERS")]
    return None if [str(n) for n in got] == want == list(design) else f"{got}, {want}, {design}"


def escapes():
    """Names come back unchanged except bytes that are not printable."""
    samples = openmetrics.parse(common.page("names", "openmetrics"))[0]
    names = {dict(k[1]).get("filter") for k in samples} - {None}
    seen = set("".join(n[4:] for n in names))
    want = {"\n"} | {chr(b) for b in range(32, 127)}
    return None if seen == want and len(names) == 18 else f"{seen ^ want}"


def reader_is_strict():
    """The reader rejects what the specification forbids."""
    good = b"# TYPE a counter\n# HELP a Text.\na_total{x=\"1\"} 1\n# EOF\n"
    openmetrics.parse(good)
    bad = [good[:-1], good[:-6], good + b"a_total 1\n", good.replace(b"a_total", b"a"),
           good.replace(b" 1\n", b" -1\n"), good.replace(b" 1\n", b" nan\n"),
           good.replace(b" 1\n", b" NaN\n"), good.replace(b" 1\n", b"\n"),
           good.replace(b" 1\n", b" 0x1\n"), good.replace(b"Text.", b"\\x"),
           good.replace(b'"1"', b'"\n"'), good.replace(b'"1"', b'"\\t"'),
           good.replace(b'"1"', b'"""'), good.replace(b'x="1"', b'x="1",'),
           good.replace(b'x="1"', b'x="1",x="2"'), good.replace(b"counter", b"count"),
           good.replace(b"# HELP", b"# UNIT a s\n# HELP"), b"\n" + good,
           good.replace(b"# HELP", b"# TYPE a counter\n# HELP"),
           good.replace(b"# EOF", b'a_total{x="1"} 1\n# EOF'),
           good.replace(b"# EOF", b'# TYPE b gauge\nb 1\na_total{x="2"} 1\n# EOF'),
           good.replace(b"# EOF", b"# HELP a More.\n# EOF"),
           good.replace(b"# EOF", b"# TYPE b gauge\nb 1\n# UNIT a s\n# EOF"),
           good.replace(b"# EOF", b"# TYPE a_total gauge\na_total 1\n# EOF")]
    passed = []
    for text in bad:
        try:
            openmetrics.parse(text)
            passed.append(str(text))
        except openmetrics.Fault:
            pass
    return "\n".join(passed)


def epfctl():
    """The tool prints the same page once, or one line of error."""
    if os.path.exists("/dev/epochfilter"):
        raise tap.Skip("the module is loaded")

    def run(*args):
        return subprocess.run([common.EPFCTL, "--backend", "module", "metrics",
                               *args], capture_output=True)

    new, old = openmetrics.parse(run().stdout), openmetrics.parse_text(
        run("--text").stdout)
    if new[0] != old[0] or new[0]["epochfilter_up", frozenset()] != 0 or \
            len(new[0]) != 3:
        return f"{new} {old}"
    for args in (["-j"], ["again"], ["--frob"]):
        got = run(*args)
        if got.returncode != 2 or got.stdout or got.stderr.count(b"\n") != 1:
            return f"{got}"
    return None


def promtool(case):
    def run():
        path = common.tool("promtool")
        if not path:
            raise tap.Skip("no promtool: scripts/deps.sh test")
        got = subprocess.run([path, "check", "metrics"], capture_output=True,
                             input=common.page(case, "text", "ones"))
        if got.returncode or got.stdout or got.stderr:
            return f"{got.returncode} {got.stdout}\n{got.stderr}"
        return None
    return f"{case}: promtool finds nothing in the text format", run


if __name__ == "__main__":
    CASES = ["kinds", "zeros", "ones", "many", "names", "vanishing", "none",
             "away", "closed"]
    tap.main(
        [("the reader is strict", reader_is_strict)] +
        [exact(case, form, *agent) for case in CASES
         for form in ("openmetrics", "text") for agent in ((), ("ones",))] +
        [fails(case) for case in
         ("no_descriptor", "no_list", "no_filter", "no_info")] +
        [("units, help and types", metadata),
         ("as many series as said", bounded),
         ("names in labels", escapes),
         ("epfctl metrics, without the module", epfctl)] +
        [promtool(case) for case in ("kinds", "many", "names", "away")])
