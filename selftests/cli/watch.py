#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""epfctl watch on a terminal of 80x24, interpreted by pyte: bars and figures are those of
show -j, keys choose, a new size is followed, and the terminal is restored however it ends.
On filters that are pure BPF; in a guest, with EPF_ALONE and EPF_BACKEND=module, on the module's.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own  # noqa: E402
from own import EPFCTL, good, make, tap  # noqa: E402

try:
    import pyte
except ImportError:
    tap.skip_all("needs python3-pyte")

EIGHTHS = " ▏▎▍▌▋▊▉█"
ROUNDED = 0.006  # percent: the view has two places of it, JSON has five digits
ONE, TWO, TINY = "cli-one", "cli-two", "cli-tiny"


class View:
    """watch in a pseudo terminal, and the screen that it draws."""

    def __init__(self, *args, rows=24, columns=80, **env):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.master, self.slave = pty.openpty()
        self.size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        env = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **env}
        self.it = subprocess.Popen([EPFCTL, "watch", "--interval", "100ms", *args],
                                   stdin=self.slave, stdout=self.slave,
                                   stderr=self.slave, env=env, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def size(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self):
        if select.select([self.master], [], [], 0.05)[0]:
            got = os.read(self.master, 65536)
            self.raw += got
            self.stream.feed(got)

    def until(self, true):
        """Draw until @true of the lines. Return them, or None."""
        end = time.monotonic() + own.PATIENCE / 10
        while time.monotonic() < end:
            self.read()
            if true(self.screen.display):
                return self.screen.display
        return None

    def keys(self, text):
        os.write(self.master, text)

    def ends(self):
        """Return the exit status and whether the terminal is as it was."""
        while self.it.poll() is None:
            self.read()
        while select.select([self.master], [], [], 0)[0]:
            self.read()
        same = termios.tcgetattr(self.slave) == self.before and b"\x1b[?1049l" in self.raw
        os.close(self.slave)
        os.close(self.master)
        return self.it.returncode, same


def eighths(text):
    """The length of the bar at the beginning of @text."""
    return sum(EIGHTHS.index(c) for c in re.match(f"[{EIGHTHS}]*", text.rstrip()).group())


def filled(name):
    make(name, "--budget", "1e-4")
    good("insert", name, "-", input="".join(f"{i}\n" for i in range(30000)))


def settled(lines):
    return any(re.match(r" +0 ", line) for line in lines)


def differs(lines, shown):
    """What the rows of @lines and @shown differ in; None: nothing."""
    if (", pure BPF, " in lines[2]) != own.BPF or (", the module, " in lines[2]) == own.BPF:
        return lines[2]
    rows = [line for line in lines if re.match(r" +\d+ +\d+ ", line)]
    if len(rows) != len(shown["epochs"]):
        return f"{lines}"
    for row, epoch in zip(rows, shown["epochs"]):
        fill = eighths(row[45:60]) - round(epoch["fill"] * 15 * 8)
        part = min(1, epoch["fpr"] / shown["limit"])
        error = eighths(row[70:]) - round(part * 10 * 8)
        percent = re.search(r" ([0-9]+\.[0-9]{2})%", row)
        if not percent:
            return f"{row} is not whole"
        percent = float(percent.group(1)) - 100 * epoch["fill"]
        if row.split()[1:3] != [str(epoch["epoch"]), str(epoch["inserts"])] \
                or abs(percent) > ROUNDED or abs(fill) > 1 or abs(error) > 1:
            return f"{fill} {error}: {row} is not {epoch}"
    return None if any("fails open above 0.0002" in line for line in lines) else f"{lines}"


def disagrees(view, name):
    """What a picture and show -j differ in. A picture comes in pieces, and errors are sampled anew
    now and then, so both are asked again.
    """
    for _ in range(4):
        shown = json.loads(good("-j", "show", name))
        if view.until(lambda lines: not differs(lines, shown)):
            return None
    return differs(view.screen.display, shown)


def as_shown():
    filled(ONE)
    view = View(ONE)
    fault = disagrees(view, ONE)
    view.keys(b"q")
    code, same = view.ends()
    return fault or (None if (code, same) == (0, True) else f"exit {code}, restored {same}")


def sparkline():
    """Insertions raise one of the signs; before there is the lowest alone."""
    view = View(ONE)
    quiet = view.until(lambda lines: any("insertions" in line and "▁▁▁" in line for line in lines))
    good("insert", ONE, "-", input="".join(f"n{i}\n" for i in range(1000)))
    loud = view.until(lambda lines: any(line.startswith("insertions") and "█" in line
                                        for line in lines))
    view.keys(b"q")
    return None if quiet and loud and view.ends() == (0, True) else f"{quiet}\n{loud}"


def chooses():
    filled(TWO)
    view = View()
    first = view.until(settled)
    second = third = None
    if first:
        names = [line[2:].split()[0] for line in first[1:3]]
        if sorted(names) != [ONE, TWO] or not first[1].startswith("> "):
            return f"{first}"
        view.keys(b"j")
        second = view.until(lambda lines: any(line.startswith(f"{names[1]} (id") for line in lines))
        view.keys(b"\x1bOA")
        third = view.until(lambda lines: any(line.startswith(f"{names[0]} (id") for line in lines))
    view.keys(b"q")
    ended = view.ends()
    return None if first and second and third and ended == (0, True) else \
        f"{ended}\n{first}\n{second}\n{third}"


def resizes():
    view = View(ONE)
    view.until(settled)
    view.size(30, 100)
    view.it.send_signal(signal.SIGWINCH)
    wide = view.until(lambda lines: any(line[73:81].strip() == "error" for line in lines))
    view.keys(b"q")
    return None if view.ends() == (0, True) and wide else f"{view.screen.display}"


FIXED = ("epfctl watch: 1 filter; q ends", "", f"{TINY} (id ", "covered    ",
         "error      ", "state      answers, fails open above 0.0002", "insertions ", "hits ",
         "misses ", "", "age       epoch insertions     since    fill")


def fits(lines, rows, columns):
    """What of @lines is not the upper left part of the picture; None: nothing."""
    for line, text in zip(lines, FIXED):
        if not line.startswith(text[:columns]):
            return f"{rows}x{columns}: {line!r} is not {text!r}"
    for line in lines[len(FIXED):]:
        # up to 56 columns there is no room for a bar of the fill
        if columns <= 56 and re.search(f"[{EIGHTHS[1:]}]", line[:46]):
            return f"{rows}x{columns}: {line!r}"
        if line.strip() and not re.match(r" +[0-7]( +\d+){0,2}", line):
            return f"{rows}x{columns}: {line!r}"
    return None


def small():
    """A terminal shows as much of the picture as it has room for, down to one sign, from the
    beginning and when it shrinks and grows; it is restored."""
    filled(TINY)
    sizes = [(1, 1), (2, 200), (5, 30), (10, 80), (24, 23), (24, 46), (24, 50), (24, 57), (3, 1)]
    for rows, columns in sizes:
        view = View(TINY, rows=rows, columns=columns)
        view.until(lambda lines: not fits(lines, rows, columns))
        fault = fits(view.screen.display, rows, columns)
        view.keys(b"q")
        ended = view.ends()
        if fault or ended != (0, True):
            return f"{fault} {ended}"
    view = View(TINY)
    for rows, columns in [*sizes, (24, 80)]:
        view.size(rows, columns)
        view.it.send_signal(signal.SIGWINCH)
        view.until(lambda lines: not fits(lines, rows, columns))
        fault = fits(view.screen.display, rows, columns)
        if fault:
            break
    fault = fault or disagrees(view, TINY)
    view.keys(b"q")
    ended = view.ends()
    return fault or (None if ended == (0, True) else f"{ended}")


def restores():
    for name, how in (("Ctrl-C", lambda v: v.keys(b"\x03")),
                      ("SIGTERM", lambda v: v.it.send_signal(signal.SIGTERM))):
        view = View(ONE)
        if not view.until(settled):
            return "nothing drawn"
        how(view)
        want = 130 if name == "Ctrl-C" else 143
        if view.ends() != (want, True):
            return name
    return None


def colours():
    for env, want in (({}, True), ({"NO_COLOR": "1"}, False)):
        view = View(ONE, **env)
        view.until(settled)
        view.keys(b"q")
        view.ends()
        if (re.search(rb"\x1b\[(\d+;)*3[12]m", view.raw) is not None) != want:
            return f"{env}"
    return None


def lines_only():
    """Lines with --plain, on a dumb terminal, and of a pipe."""
    for args, env in ((["--plain"], {}), ([], {"TERM": "dumb"})):
        view = View(ONE, *args, **env)
        if not view.until(lambda lines: any(f" {ONE} stats: epoch " in line for line in lines)):
            return f"{args} {env}"
        view.it.send_signal(signal.SIGTERM)
        view.it.wait()
        if b"\x1b[?1049h" in view.raw:
            return f"{args} {env}: a view"
    done = own.epf("watch", ONE, "--interval", "10ms", "-n", "2")
    return None if done.returncode == 0 and done.stdout.count(" stats: ") == 2 else f"{done}"


def run(_dir):
    return tap.run(tap.chosen([
        ("bars and figures are those of show -j", as_shown),
        ("insertions are in the sparkline", sparkline),
        ("keys choose a filter", chooses),
        ("a new size is followed", resizes),
        ("small terminals show what they have room for", small),
        ("Ctrl-C and SIGTERM restore the terminal", restores),
        ("NO_COLOR: no colours", colours),
        ("--plain, a dumb terminal and a pipe: lines", lines_only),
    ]))


if __name__ == "__main__":
    sys.exit(own.main(run))
