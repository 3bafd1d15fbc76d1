# SPDX-License-Identifier: GPL-2.0
"""The dashboard: its panels and expressions."""

import json
import os
import re

import common

STAND_INS = {"$__rate_interval": "5m", "$__interval": "1m", "$filter": ".*",
             "$instance": ".*"}


def load():
    with open(os.path.join(common.USER, "grafana.json"), encoding="utf-8") as f:
        return json.load(f)


def panels(dash):
    """Return all panels that are not rows."""
    return [p for p in dash["panels"] if p["type"] != "row"]


def targets(dash):
    return [(p, t) for p in panels(dash) for t in p["targets"]]


def expressions(dash):
    """Return all expressions, as Prometheus gets them."""
    exprs = [t["expr"] for _, t in targets(dash)]
    for v in dash["templating"]["list"]:
        if v["type"] == "query":
            exprs.append(re.fullmatch(r"label_values\((.*), \w+\)",
                                      v["query"]["query"])[1])
    for name, value in STAND_INS.items():
        exprs = [e.replace(name, value) for e in exprs]
    return exprs
