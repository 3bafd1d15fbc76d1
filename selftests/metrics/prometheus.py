#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A Prometheus server collects from the endpoint, and answers with the numbers of the
device; it accepts every expression of the dashboard, and the alerts.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import common
import dashboard
import tap
from endpoint import LIMIT_S, Endpoint

# A complete page must arrive within the interval, even on a busy machine.
CONFIG = """global:
  scrape_interval: 10s
  evaluation_interval: 1s
rule_files: [{alerts}]
scrape_configs:
  - job_name: epochfilter
    static_configs: [targets: [{targets}]]
"""
TARGETS = {"127.0.0.1:0": "kinds", "[::1]:0": "many"}


def kept_port():
    """A socket that keeps its port from other programs; a program that reuses addresses, as
    servers in Go do, may still listen there."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    return s


class Server:
    """Prometheus, which collects from some endpoints until it is closed."""

    def __init__(self, targets):
        self.dir = tempfile.TemporaryDirectory()
        self.port = kept_port()
        self.base = f"http://127.0.0.1:{self.port.getsockname()[1]}"
        self.log = open(os.path.join(self.dir.name, "log"), "w+b")
        with open(os.path.join(self.dir.name, "config.yml"), "w",
                  encoding="utf-8") as f:
            f.write(CONFIG.format(
                alerts=os.path.join(common.USER, "alerts.yml"),
                targets=", ".join(f"'{t}'" for t in targets)))
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM",
             common.tool("prometheus"), f"--config.file={f.name}",
             f"--storage.tsdb.path={self.dir.name}/data",
             f"--web.listen-address={self.base[7:]}"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
            cwd=self.dir.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.port.close()
        self.log.close()
        self.dir.cleanup()

    def api(self, path, **query):
        url = f"{self.base}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
            return json.load(answer)["data"]

    def until(self, ready):
        """Wait until ready() is true for a server that answers."""
        for _ in range(LIMIT_S * 25):
            with contextlib.suppress(OSError):
                if ready():
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        self.log.seek(0)
        raise RuntimeError(self.log.read().decode()[-2000:])

    def collected(self):
        """Every target was scraped, and its answer was valid."""
        targets = self.api("targets")["activeTargets"]
        return targets and all(t["health"] == "up" for t in targets)


def patient(claim):
    """After a scrape that was too late there is no data until the next one: look up to 60
    times, a second apart.
"""
    def looks():
        for _ in range(59):
            with contextlib.suppress(OSError):
                if not claim():
                    return None
            time.sleep(1)
        return claim()
    return looks


def run(server, endpoints):
    """Return the test cases."""
    def of_case(case):
        return next(e for e in endpoints if e.case == case)

    def equal(case):
        """Values as doubles, which is what Prometheus stores."""
        def claim():
            got = {}
            for r in server.api("query", query='{__name__=~"epochfilter_.*",'
                                f'instance="{of_case(case).address()}",'
                                'filter!=""}')["result"]:
                labels = dict(r["metric"])
                name = labels.pop("__name__")
                del labels["instance"], labels["job"]
                got[name, frozenset(labels.items())] = float(r["value"][1])
            want = {}
            for f in json.loads(common.page(case, "raw")):
                want.update(common.of_filter(f))
            return common.difference(got, {k: float(v) for k, v in want.items()})
        return claim

    def healthy():
        bad = [f"{t['scrapeUrl']}: {t['lastError']}"
               for t in server.api("targets")["activeTargets"]
               if t["health"] != "up"]
        return "\n".join(bad)

    def units():
        """Only OpenMetrics has these, so it was requested and used."""
        got = {name: (m[0]["type"], m[0]["unit"])
               for name, m in server.api("metadata").items()}
        want = {"epochfilter_age_seconds": ("gauge", "seconds"),
                "epochfilter_error_ratio": ("gauge", "ratio"),
                "epochfilter_memory_bytes": ("gauge", "bytes"),
                "epochfilter_agent_busy_seconds": ("counter", "seconds"),
                "epochfilter_inserts": ("counter", ""),
                "epochfilter_filter": ("info", "")}
        return common.difference({k: got.get(k) for k in want}, want)

    def samples():
        """A bounded number of samples, all of them accepted."""
        got = server.api("query", query="max(scrape_samples_scraped)")
        nr = float(got["result"][0]["value"][1])
        return None if 1024 * 24 < nr <= 1024 * 32 + 17 else f"{nr}"

    def panels():
        for e in dashboard.expressions(dashboard.load()):
            server.api("query", query=e)  # raises on an error

    def alerts():
        groups = server.api("rules")["groups"]
        bad = [r["name"] for g in groups for r in g["rules"]
               if r["health"] == "err"]
        names = {r["name"] for g in groups for r in g["rules"]}
        with open(os.path.join(common.USER, "alerts.yml"), encoding="utf-8") as f:
            there = set(re.findall(r"^ +- alert: (\w+)$", f.read(), re.M))
        return None if there and names == there and not bad else f"{names ^ there} {bad}"

    def filters():
        got = server.api("label/filter/values", **{
            "match[]": 'epochfilter_filter_info{instance="%s"}'
            % of_case("kinds").address()})
        return None if got == [f"kind-{k}" for k in range(len(common.KINDS) + 1)] else f"{got}"

    claims = [("it collects without an error", healthy),
              ("every number of every kind", equal("kinds")),
              ("every number of 1,024 filters", equal("many")),
              ("as many samples as there may be", samples),
              ("it took OpenMetrics: types and units", units),
              ("every expression of the dashboard is answered", panels),
              ("the dashboard's variable lists the filters", filters),
              ("the alerts are evaluated without an error", alerts)]
    return [(name, patient(claim)) for name, claim in claims]


def main():
    if not common.tool("prometheus"):
        tap.skip_all("no prometheus: scripts/deps.sh test")
    with contextlib.ExitStack() as stack:
        endpoints = []
        for listen, case in TARGETS.items():
            endpoints.append(stack.enter_context(Endpoint(listen, case)))
            endpoints[-1].case = case
        server = stack.enter_context(Server([e.address() for e in endpoints]))
        server.until(server.collected)
        server.until(lambda: all(
            r.get("lastEvaluation", "0001") > "0002"
            for g in server.api("rules")["groups"] for r in g["rules"]))
        return tap.run(run(server, endpoints),
                       retry="a server of others collects, when it is let")


if __name__ == "__main__":
    raise SystemExit(main())
