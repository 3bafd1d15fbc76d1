#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Draw the pictures of docs/FIREWALL.md, as SVG.

usage: pictures.py [--check]
--check: compare with what is there, write nothing. Exit status: 0 the same, 1 not.
"""

import os
import sys
from xml.sax.saxutils import escape

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "../docs/firewall")
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
        """In a fixed-width font if it begins with a grave accent."""
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


PICTURES = {"reflexive.svg": reflexive}


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
            print(f"pictures.py: docs/firewall/{name} is another: run "
                  "scripts/pictures.py", file=sys.stderr)
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
