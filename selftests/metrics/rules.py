#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The dashboard and the alerts, as Prometheus reads them: they only use exported metrics,
and the alerts fire when they should.
"""

import json
import os
import re
import subprocess
import tempfile

import common
import dashboard
import openmetrics
import tap

TMP = tempfile.TemporaryDirectory()
# labels added by the collector
ADDED = {"instance", "job"}


def exported():
    """{sample: its labels}"""
    labels = {}
    for name, pairs in openmetrics.parse(common.page("kinds", "openmetrics",
                                                     "ones"))[0]:
        labels.setdefault(name, set()).update(k for k, _ in pairs)
    # exported for pure BPF filters only, of which fake.c has none: ebpf/epfagent.py
    labels["epochfilter_overdue_total"] = {"filter", "kind", "backend"}
    return labels


def alerts():
    with open(os.path.join(common.USER, "alerts.yml"), encoding="utf-8") as f:
        return f.read()


def unknown(expr, labels, legend=""):
    """Return the names in an expression and a legend that are not exported."""
    names = re.findall(r"\bepochfilter_\w+", expr)
    if not names:
        return ["no metric"]
    faults = [n for n in names if n not in labels]
    for name, selector in re.findall(r"(\bepochfilter_\w+)\{([^}]*)\}", expr):
        faults += [f"{name}{{{label}}}" for label in
                   re.findall(r"(\w+)\s*[=!]~?\s*\"", selector)
                   if label not in labels.get(name, set()) | ADDED]
    wanted = re.findall(r"\{\{(\w+)\}\}", legend)
    wanted += re.findall(r"\bby \((\w+)\)", expr)
    faults += [f"{label} of {name}" for name in names for label in wanted
               if label not in labels.get(name, set()) | ADDED]
    return faults


def dashboard_asks():
    labels, dash = exported(), dashboard.load()
    faults = []
    for p, t in dashboard.targets(dash):
        faults += [f"{p['title']}: {f}" for f in
                   unknown(t["expr"], labels, t["legendFormat"])]
    for v in dash["templating"]["list"]:
        if v["type"] == "query":
            expr, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                       v["definition"]).groups()
            faults += unknown(expr, labels, "{{%s}}" % label)
            if v["definition"] != v["query"]["query"]:
                faults.append(f"{v['name']}: two queries")
    return "\n".join(faults)


def dashboard_sound():
    """Ids differ, panels do not overlap, and variables and sources are declared."""
    dash, faults, taken = dashboard.load(), [], set()
    ids = [p["id"] for p in dash["panels"]]
    declared = {v["name"] for v in dash["templating"]["list"]} | {
        "__rate_interval", "__interval"}
    if len(set(ids)) != len(ids) or dash["id"] is not None:
        faults.append("ids")
    for p in dash["panels"]:
        at = p["gridPos"]
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                if (x, y) in taken or x >= 24:
                    faults.append(f"{p['title']} overlaps at {x}, {y}")
                taken.add((x, y))
    for name in set(re.findall(r"\$\{?(\w+)", json.dumps(dash))) - declared:
        faults.append(f"${name} is not declared")
    for p, t in dashboard.targets(dash):
        for d in (p["datasource"], t["datasource"]):
            if d["uid"] != "${datasource}":
                faults.append(f"{p['title']}: {d}")
        if not p["description"]:
            faults.append(f"{p['title']}: not described")
    return "\n".join(faults[:8])


def dashboard_shows():
    """It shows every counter and gauge of filters and audits, except these."""
    left_out = {"epochfilter_build_info", "epochfilter_scanned_lines_total",
                "epochfilter_epoch", "epochfilter_users", "epochfilter_slices",
                "epochfilter_age_seconds", "epochfilter_readable",
                "epochfilter_agent_start_time_seconds"}
    shown = set(re.findall(r"epochfilter_\w+", json.dumps(dashboard.load())))
    missing = set(exported()) - shown - left_out
    return f"{missing} {shown & left_out}" if missing or shown & left_out else None


def promtool(*args):
    path = common.tool("promtool")
    if not path:
        raise tap.Skip("no promtool: scripts/deps.sh test")
    return subprocess.run([path, *args], capture_output=True, text=True)


def dashboard_parses():
    exprs = dashboard.expressions(dashboard.load())
    path = os.path.join(TMP.name, "dashboard.yml")
    with open(path, "w", encoding="utf-8") as f:  # JSON is YAML
        json.dump({"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel:{i}", "expr": e} for i, e in enumerate(exprs)]}]}, f)
    got = promtool("check", "rules", path)
    if got.returncode or f"{len(exprs)} rules found" not in got.stdout:
        return got.stdout + got.stderr
    return None


def alerts_ask():
    exprs = re.findall(r"expr: (?:>-\n)?((?:.*\n)(?: {10}.*\n)*)", alerts())
    labels, faults = exported(), []
    for e in exprs:
        faults += unknown(e, labels)
    return "\n".join(faults) or (None if len(exprs) == alerts().count("alert:")
                                 else "alerts without an expression")


def alerts_test(text):
    """Run promtool on a copy of the alerts."""
    with open(os.path.join(common.HERE, "alerts_test.yml"), encoding="utf-8") as f:
        test = f.read()
    for name, content in (("alerts.yml", text), ("alerts_test.yml", test)):
        with open(os.path.join(TMP.name, name), "w", encoding="utf-8") as f:
            f.write(content)
    return promtool("test", "rules", os.path.join(TMP.name, "alerts_test.yml"))


def alerts_parse():
    got = promtool("check", "rules", os.path.join(common.USER, "alerts.yml"))
    return got.stdout + got.stderr if got.returncode else None


def alerts_come():
    got = alerts_test(alerts())
    return got.stdout + got.stderr if got.returncode else None


def broken_alerts_are_noticed():
    faults = []
    for old, new in [("saturated == 1", "saturated == 0"), ("for: 1m", "for: 0s"),
                     ("total[5m]) > 0", "total[5m]) >= 0"),
                     ("_ratio > epochfilter_b", "_ratio >= epochfilter_b"),
                     ("for: 5m", "for: 0s"),
                     ("> 0.5 *", ">= 0.5 *"), ("0.5 *", "0.2 *"), ("0.5 *", "2 *"),
                     ('{kind="lanes"}', ""),
                     ("pinned == 1", "pinned == 0"), ("for: 30m", "for: 5m"),
                     ("up == 0", "up == 1"), ("readable == 0", "readable == 1"),
                     ("up == 1 and ", ""), ("critical", "warning")]:
        if old not in alerts():
            faults.append(f"{old} is not there")
        elif not alerts_test(alerts().replace(old, new)).returncode:
            faults.append(f"{old} -> {new}")
    return "\n".join(faults)


if __name__ == "__main__":
    tap.main([
        ("the dashboard asks for what is exported", dashboard_asks),
        ("the dashboard shows what is exported", dashboard_shows),
        ("the dashboard is sound", dashboard_sound),
        ("Prometheus parses all of its expressions", dashboard_parses),
        ("the alerts ask for what is exported", alerts_ask),
        ("Prometheus parses the alerts", alerts_parse),
        ("the alerts come when they should", alerts_come),
        ("broken alerts are noticed", broken_alerts_are_noticed),
    ])
