#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""epfctl plan --plot and audit --plot: what gnuplot is given are the figures of -j, and what
fails leaves nothing. A program in PATH stands in for gnuplot and keeps its input; later the real
one draws. And the picture of watch in the documents is what the view draws.
"""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own  # noqa: E402
from own import EPFCTL, begin, epf, good, tap  # noqa: E402

PLAN = ("plan", "--window", "1M", "--budget", "1e-4")
QUICK = (*PLAN, "--lines-per-key", "1")
COLUMNS = ("-F", "csv", "--fields", "1")
KEYS = "it's <a> & `touch x` $y {b}\n\udcff.csv"  # a name that is neither gnuplot, XML nor UTF-8
SVG = "{http://www.w3.org/2000/svg}"
dir = None


def path(name):
    return os.path.join(dir, name)


def stand_in(text, keeps=True):
    """Return an environment in which gnuplot is this script of sh."""
    os.makedirs(path("bin"), exist_ok=True)
    with open(path("bin/gnuplot"), "w") as f:
        f.write("#!/bin/sh\n" + (f"cat > '{path('script')}'\n" if keeps else "") + text + "\n")
    os.chmod(path("bin/gnuplot"), 0o755)
    return {**os.environ, "PATH": path("bin") + ":" + os.environ["PATH"]}


def data(name):
    """Return the rows of a block of the script that gnuplot was given."""
    with open(path("script"), encoding="utf-8") as f:
        block = re.search(rf"^\${name} << END\n(.*?)^END\n", f.read(), re.M | re.S)
    return [[float(word) for word in line.split()] for line in block[1].splitlines()]


def plotted(env, *args):
    """Return what is printed, while gnuplot's picture is in the file."""
    out = good(*args, "--plot", path("p.svg"), env=env)
    with open(path("p.svg")) as f:
        if f.read() != "<svg/>\n":
            raise AssertionError("another picture")
    os.unlink(path("p.svg"))
    return out


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-5)  # -j has six digits


def is_plan(row, *args):
    plan = json.loads(good("-j", *args, "--budget", f"{row[0]:.17g}"))
    return near(row[1], plan["predicted_fpr"]) and row[2] == plan["memory_bytes"]


def curve():
    for args, points in ((PLAN, 9), ((*PLAN, "--limit", "2e-4", "--memory", "5M"), 7),
                         (("plan", "--time", "10s", "--rate", "1k", "--kind", "dict"), 9)):
        out = plotted(stand_in("echo '<svg/>'"), "-j", *args)
        rows, chosen, plan = data("curve"), data("chosen"), json.loads(out)
        if out != good("-j", *args) or len(rows) != points or len(chosen) != 1 \
                or chosen[0] not in rows or not near(chosen[0][1], plan["predicted_fpr"]) \
                or chosen[0][2] != plan["memory_bytes"]:
            return f"{args}: {chosen}, {rows}, {out}"
        again = [word for word in args if word not in ("--limit", "2e-4")]
        for row in rows:
            if not is_plan(row, *again):
                return f"{args}: {row}"
        if any(a[0] >= b[0] or a[2] <= b[2] for a, b in zip(rows, rows[1:])):
            return f"memory does not fall: {rows}"
    return None


def ages():
    """The bars are the ages of the report, one picture for each file of keys."""
    env = stand_in("echo '<svg/>'")
    out = json.loads(plotted(env, "-j", "audit", path("day"), path(KEYS), *COLUMNS))
    rows = data("ages")
    if out["written"] != {"plot": path("p.svg")} or len(rows) != len(out["ages"]) \
            or sum(row[1] for row in rows) != out["present"] != 0:
        return f"{rows}: {out}"
    for row, age in zip(rows, out["ages"]):
        if row[:2] != [age["age"], age["keys"]] or \
                (row[2] != age["began_ago_ns"] if "began_ago_ns" in age else row[2] == row[2]):
            return f"{row}: {age}"
    plotted(env, "audit", path("day"), path("few"), *COLUMNS, "--resume", "-b", path("1"))
    if leftover({"1"}):
        return "--resume leaves something"
    text = good("audit", path("day"), path("few"), path("none"), *COLUMNS, "-b", path("1"), "-b",
                path("2"), "--plot", path("1.svg"), "--plot", path("2.svg"), env=env)
    if any(data("ages")[i][1] for i in range(8)) or text.count(" present ") != 2:
        return f"{data('ages')}: {text}"
    return leftover({"1", "2", "1.svg", "2.svg"})


def leftover(wanted=()):
    """What is in the folder beside what this test put there."""
    there = set(os.listdir(dir)) - {"bin", "script", "log", "day", KEYS, "few", "none", "empty",
                                    "d.svg", "f.svg"}
    for name in there:
        os.unlink(path(name))
    return f"left: {there}" if there != set(wanted) else None


def fails(said, *args, env=None, status=2):
    """One line that matches, and nothing else."""
    done = epf(*args, env=env)
    lines = done.stderr.splitlines()
    if done.returncode != status or done.stdout or len(lines) != 1 \
            or not re.search("^error: .*" + said, lines[0]):
        raise AssertionError(done)
    return leftover()


def both(said, name="p.svg", env=None):
    """Both verbs fail so, and keep what is there."""
    for args in (QUICK, ("audit", path("day"), path("few"), *COLUMNS, "-b", path("b"))):
        fault = fails(said, *args, "--plot", path(name), env=env)
        if fault:
            return f"{args}: {fault}"
    return None


def missing():
    os.makedirs(path("empty"), exist_ok=True)
    return both("gnuplot is missing: apt install gnuplot-nox",
                env={**os.environ, "PATH": path("empty")})


def broken():
    """A file that is there keeps its contents."""
    for text, said in (("echo half; echo >&2; echo '  line 0: oh' >&2; exit 3",
                        "gnuplot failed with status 3: line 0: oh$"),
                       ("echo half; exit 1", "gnuplot failed with status 1$"),
                       ("echo half; kill -SEGV $$", "signal 11 ended gnuplot$"),
                       ("exit 0", "gnuplot drew nothing$")):
        fault = both(said, env=stand_in(text))
        if fault:
            return fault
        with open(path("p.svg"), "w") as f:
            f.write("old")
        try:
            epf(*QUICK, "--plot", path("p.svg"), env=stand_in(text))
            with open(path("p.svg")) as f:
                if f.read() != "old":
                    return f"{text}: overwritten"
        finally:
            os.unlink(path("p.svg"))
    return None


def full():
    """Of a disk without room, as which a limit of sizes serves."""
    env = stand_in("head -c 100000 /dev/zero")
    done = subprocess.run(["prlimit", "--fsize=65536", EPFCTL, *QUICK, "--plot", path("p.svg")],
                          env=env, capture_output=True, encoding="utf-8")
    if done.returncode != 2 or "File too large" not in done.stderr:
        return f"{done}"
    return leftover()


def endings():
    for name in ("p", "p.pdf", "p.svg.gz", "p.SVG", "svg", "-"):
        fault = both("must end in .svg or .png$", name)
        if fault:
            return f"{name}: {fault}"
    return fails("leave out --compare", *PLAN, "--plot", path("p.svg"), "--compare") or \
        fails("leave out --lines", "plan", "--window", "1M", "--lines", "4096", "--lines-per-key",
              "4", "--bits-per-key", "16", "--plot", path("p.svg")) or \
        fails("give each output as often", "audit", path("day"), path("few"), path("none"),
              *COLUMNS, "--plot", path("p.svg")) or \
        fails("would be written twice", "audit", path("day"), path("few"), path("none"),
              *COLUMNS, "--plot", path("p.svg"), "--plot", path("p.svg"))


def unwritable():
    os.makedirs(path("d.svg"), exist_ok=True)
    os.mkfifo(path("f.svg"))
    env = stand_in("echo '<svg/>'")
    for name, said in (("none/p.svg", "Not a directory"), ("no/p.svg", "No such file"),
                       ("/sys/p.svg", "(Permission denied|Operation not permitted|Read-only)"),
                       ("d.svg", "Is a directory"), ("f.svg", "not a regular file")):
        fault = both(said, name, env)
        if fault:
            return f"{name}: {fault}"
    return None


def interrupt():
    """Ctrl-C ends a gnuplot that hangs, and nothing is left."""
    env = stand_in(f"[ ! -s '{path('script')}' ] || {{ echo $$ > '{path('pid')}'; exec sleep 99; }}")
    for args in (QUICK, ("audit", path("day"), path("few"), *COLUMNS, "-b", path("b"))):
        run = begin(*args, "--plot", path("p.svg"), env=env)
        for _ in range(own.PATIENCE * 100):
            if os.path.exists(path("pid")) and os.stat(path("pid")).st_size:
                break
            time.sleep(.01)
        with open(path("pid")) as f:
            pid = int(f.read())
        run.send_signal(signal.SIGINT)
        err = run.communicate(timeout=own.PATIENCE)[1]
        os.unlink(path("pid"))
        if run.returncode != 130 or "interrupted while gnuplot ran" not in err \
                or os.path.exists(f"/proc/{pid}"):
            return f"{args}: {run.returncode} {err}"
        if leftover():
            return f"{args}: files"
    return None


def need_gnuplot():
    if not shutil.which("gnuplot"):
        raise tap.Skip("gnuplot is missing")


def heights(points):
    """The second numbers of "1,2 L3,4"."""
    return [float(y) for y in re.findall(r"[\d.]+,([\d.]+)", points)]


def proportional(drawn, figures):
    """To the third of a pixel that the picture is rounded to."""
    scale = max(drawn, default=0) / max(figures)
    if len(drawn) == len(figures) and \
            all(abs(a - b * scale) < 0.3 for a, b in zip(drawn, figures)):
        return None
    return f"drawn {drawn} of {figures}"


def real_audit():
    """Of the real one: XML with a bar as high as its keys, and names as they are."""
    need_gnuplot()
    out = json.loads(good("-j", "audit", path("day"), path(KEYS), *COLUMNS, "--plot",
                          path("p.svg")))
    root = xml.etree.ElementTree.parse(path("p.svg")).getroot()
    texts = [text.text for text in root.iter(SVG + "text")]
    title = KEYS.replace("\n", "?").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if root.tag != SVG + "svg" or not any(text and title in text for text in texts):
        return f"{root.tag} {texts}"
    corners = [heights(bar.get("points")) for bar in root.iter(SVG + "polygon")]
    bars = [max(high) - min(high) for high in corners if len(high) == 4]
    keys = [age["keys"] for age in out["ages"] if age["keys"]]
    return proportional(bars, keys) or leftover({"p.svg"})


def real_plan():
    """Of the real one: a curve whose points are as high as their memory."""
    need_gnuplot()
    good(*PLAN, "--plot", path("p.svg"), env=stand_in("echo '<svg/>'"))
    rows = data("curve")
    good(*PLAN, "--plot", path("p.svg"))
    root = xml.etree.ElementTree.parse(path("p.svg")).getroot()
    marks = [mark.get("transform") for mark in root.iter(SVG + "use")]
    high = heights("".join(mark for mark in marks if mark))
    # the curve, its mark in the legend, the chosen point, its mark
    if len(high) != len(rows) + 3 or high[-2] != high[rows.index(data("chosen")[0])]:
        return f"{marks}"
    last = len(rows) - 1
    fault = proportional([high[last] - y for y in high[:last]],
                         [row[2] - rows[last][2] for row in rows[:last]])
    good(*PLAN, "--plot", path("p.png"))
    with open(path("p.png"), "rb") as f:
        if f.read(8) != b"\x89PNG\r\n\x1a\n":
            return "no PNG"
    return fault or leftover({"p.svg", "p.png"})


def view():
    """draw_view.c has the view of watch draw fixed numbers."""
    drawer = os.environ.get("EPF_DRAW_VIEW",
                            os.path.join(own.ROOT, "build/selftests/cli/draw_view"))
    if not os.access(drawer, os.X_OK):
        raise tap.Skip("draw_view is not built: libncurses-dev is missing")
    drawn = subprocess.run([drawer], capture_output=True, check=True).stdout
    xml.etree.ElementTree.fromstring(drawn)
    with open(os.path.join(own.ROOT, "docs/design/watch.svg"), "rb") as f:
        return None if f.read() == drawn else \
            "another picture: build/selftests/cli/draw_view > docs/design/watch.svg"


def prepare():
    """A snapshot of 3,000 keys in 91 s, with a window of 70 s."""
    with open(path("log"), "w") as f:
        f.writelines(f"k{i},{1700000000 + i * 0.0303:.3f}\n" for i in range(3000))
    for name, keys in ((KEYS, range(1000, 3300, 2)), ("few", range(2000, 2010)),
                       ("none", range(9000, 9010))):
        with open(path(name), "w") as f:
            f.writelines(f"k{i}\n" for i in keys)
    good("build", path("day"), "--time", "70s", "--rate", "50", "-F", "csv", "--fields", "1",
         "--stamp", "2", path("log"))


def main():
    global dir
    if not os.access(EPFCTL, os.X_OK):
        tap.skip_all("epfctl is not built")
    dir = tempfile.mkdtemp()
    try:
        prepare()
        return tap.run(tap.chosen([
            ("plan: the points are those of -j", curve),
            ("audit: the bars are the ages of -j", ages),
            ("without gnuplot: an error that says what to install", missing),
            ("a gnuplot that fails leaves nothing", broken),
            ("a full disk leaves nothing", full),
            ("endings and options that do not go with it", endings),
            ("places that cannot be written", unwritable),
            ("Ctrl-C ends gnuplot and leaves nothing", interrupt),
            ("the real gnuplot draws an audit", real_audit),
            ("the real gnuplot draws a plan", real_plan),
            ("docs/design/watch.svg is what the view draws", view),
        ]))
    finally:
        shutil.rmtree(dir)


if __name__ == "__main__":
    sys.exit(main())
