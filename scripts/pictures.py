#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Draw the pictures of docs/FIREWALL.md and docs/theory/lanes.md, as SVG.

usage: pictures.py [--check]
--check: compare with what is there, write nothing. Exit status: 0 the same, 1 not.
"""

import math
import os
import re
import sys
from xml.sax.saxutils import escape

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "../docs")
STYLE = """
  text { font: 14px sans-serif; text-anchor: middle; fill: #222 }
  .small { font-size: 12px }
  .code { font-family: monospace; font-size: 13px }
  .box { fill: #f4f4f4; stroke: #555 }
  .ours { fill: #dcebfa; stroke: #27639c }
  .way { stroke: #555; stroke-width: 2; fill: none; marker-end: url(#tip) }
  .key { stroke: #27639c; stroke-width: 2; fill: none; stroke-dasharray: 5 3; marker-end: url(#tip) }
  .lost { stroke: #b3261e; stroke-width: 2; fill: none; marker-end: url(#tip) }
"""


class Picture:
    """Sizes and positions in pixels, from the upper left corner."""

    def __init__(self, width, height, title):
        self.parts = []
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" role="img">\n'
            "<!-- SPDX-License-Identifier: GPL-2.0. Made by scripts/pictures.py. "
            f"-->\n<title>{escape(title)}</title>\n<style>{STYLE}</style>\n"
            '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" '
            'refY="4" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555"/>'
            "</marker></defs>\n"
            f'<rect width="{width}" height="{height}" fill="#fff"/>\n')

    def box(self, x, y, width, height, lines, kind="box"):
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" '
                          f'width="{width}" height="{height}" rx="6"/>')
        first = y + height / 2 + 5 - 9 * (len(lines) - 1)
        for i, line in enumerate(lines):
            self.text(x + width / 2, first + 18 * i, line)

    def text(self, x, y, line, kind=""):
        """A line that begins with a grave accent is set in a fixed-width font."""
        if line.startswith("`"):
            line, kind = line[1:], "code"
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">'
                          f"{escape(line)}</text>")

    def way(self, *points, kind="way"):
        self.parts.append(f'<polyline class="{kind}" points="' + " ".join(
            f"{x},{y}" for x, y in points) + '"/>')

    def __str__(self):
        return self.head + "\n".join(self.parts) + "\n</svg>\n"


def reflexive():
    p = Picture(860, 330, "What this host sends is learnt at tc egress; what it "
                "receives is asked for in XDP, with the key reversed")
    p.box(15, 40, 130, 220, ["processes:", "DNS resolver,", "NTP, QUIC"])
    p.box(335, 40, 190, 60, ["tc egress:", "insert the flow"], "ours")
    p.box(365, 130, 130, 40, ["filter peers"], "ours")
    p.box(335, 200, 190, 60, ["XDP: test the", "reversed flow"], "ours")
    p.box(690, 40, 70, 220, ["`eth0"])
    p.text(808, 145, "network")
    p.way((145, 70), (333, 70))
    p.text(238, 60, "query: port 20001 to 53", "small")
    p.way((525, 70), (688, 70))
    p.text(606, 60, "always passed", "small")
    p.way((760, 70), (850, 70))
    p.way((850, 230), (762, 230))
    p.way((690, 230), (527, 230))
    p.text(606, 220, "answer: port 53 to 20001", "small")
    p.way((335, 230), (147, 230))
    p.text(240, 220, "accepted: recent,", "small")
    p.text(240, 248, "or no port to match", "small")
    p.way((430, 100), (430, 128), kind="key")
    p.way((430, 170), (430, 198), kind="key")
    p.way((480, 260), (480, 300), kind="lost")
    p.text(606, 304, "absent: dropped (--else drop)", "small")
    p.way((380, 260), (380, 300), (80, 300), (80, 262))
    p.text(230, 290, "not known: accepted (--if-unknown accept)", "small")
    return p


def admit():
    p = Picture(860, 330, "Up to a rate all pass and are learnt; above it only what "
                "is known, and a few new ones")
    p.text(60, 145, "network")
    p.way((20, 160), (98, 160))
    p.box(100, 40, 70, 220, ["`eth0"])
    p.way((170, 150), (228, 150))
    p.box(230, 100, 150, 100, ["XDP: is the rate", "above --admit?"], "ours")
    p.way((305, 100), (305, 60), (688, 60))
    p.text(500, 50, "no: all pass", "small")
    p.box(470, 120, 160, 60, ["test the sender"], "ours")
    p.way((380, 150), (468, 150))
    p.text(424, 140, "yes", "small")
    p.way((630, 150), (688, 150))
    p.text(659, 140, "known", "small")
    p.box(470, 225, 160, 50, ["a token?", "(--new-rate)"], "ours")
    p.way((550, 180), (550, 223))
    p.text(590, 207, "not known", "small")
    p.way((630, 250), (688, 250))
    p.text(659, 240, "yes", "small")
    p.way((550, 275), (550, 315), kind="lost")
    p.text(660, 312, "no: dropped, not learnt", "small")
    p.box(690, 40, 150, 230, ["passed, and", "inserted into", "filter seen"])
    return p


def log():
    p = Picture(860, 250, "Each packet passes; the first of a flow leaves a record")
    p.text(60, 65, "network")
    p.way((20, 80), (98, 80))
    p.box(100, 40, 70, 80, ["`eth0"])
    p.way((170, 80), (248, 80))
    p.box(250, 40, 220, 80, ["XDP: test the flow,", "insert it"], "ours")
    p.way((470, 80), (688, 80))
    p.text(580, 70, "every packet passes", "small")
    p.box(690, 40, 150, 80, ["processes"])
    p.box(50, 170, 150, 50, ["filter logged"], "ours")
    p.way((300, 120), (200, 180), kind="key")
    p.box(310, 170, 130, 50, ["ring buffer"], "ours")
    p.way((375, 120), (375, 168))
    p.text(440, 150, "not there: a record", "small")
    p.way((440, 195), (548, 195))
    p.box(550, 170, 130, 50, ["`epfctl log"], "ours")
    p.way((680, 195), (738, 195))
    p.text(800, 200, "JSON, IPFIX", "small")
    return p


def frontier():
    """The table of docs/theory/lanes.md: memory over instructions."""
    rows = {}
    with open(os.path.join(PLACE, "theory/lanes.md")) as f:
        for line in f.read().split("**The frontier.**")[1].splitlines():
            cells = [c.strip() for c in line.strip("|").split("|")]
            if len(cells) == 4 and re.match(r"1e-\d|instr", cells[0]):
                rows[cells[0]] = [float(re.split(r"[ /]", c)[0].replace(",", ""))
                                  for c in cells[1:]]
    work = rows.pop("instructions")
    p = Picture(640, 420, "Memory of a key over instructions of a new key")

    def at(x, y):
        return 70 + (x - 140) * 3.6, 360 - (math.log2(y) - 4) * 36

    for bits in (16, 64, 256, 1024, 4096):
        _, y = at(0, bits)
        p.text(38, y + 5, f"{bits}", "small")
        p.parts.append(f'<path d="M70 {y:g}H610" stroke="#ccc"/>')
    p.text(110, 24, "bits for each key of the window", "small")
    for lines, x in zip((1, 2, 4), work):
        left, _ = at(x, 16)
        p.text(left, 382, f"{x:g}", "small")
        p.text(left, 400, f"L = {lines}", "small")
    p.text(596, 382, "instructions", "small")
    for error, bits in rows.items():
        points = [at(x, y) for x, y in zip(work, bits)]
        p.parts.append('<polyline fill="none" stroke="#27639c" stroke-width="2" points="' +
                       " ".join(f"{x:g},{y:g}" for x, y in points) + '"/>')
        for x, y in points:
            p.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="#27639c"/>')
        p.text(points[-1][0] + 34, points[-1][1] + 4, error, "small")
    return p


PICTURES = {"firewall/reflexive.svg": reflexive, "firewall/admit.svg": admit,
            "firewall/log.svg": log, "theory/lanes.svg": frontier}


def differs(path, text):
    try:
        with open(path) as f:
            return f.read() != text
    except FileNotFoundError:
        return True


def main():
    wrong = 0
    for name, draw in PICTURES.items():
        path, text = os.path.join(PLACE, name), str(draw())
        if "--check" not in sys.argv:
            with open(path, "w") as f:
                f.write(text)
        elif differs(path, text):
            print(f"pictures.py: docs/{name} is another: run "
                  "scripts/pictures.py", file=sys.stderr)
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
