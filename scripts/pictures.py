#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Draw the pictures of DESIGN.md, FIREWALL.md, CLUSTER.md and theory/lanes.md in docs/, as SVG.

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
  .stale { fill: #e6e6e6; stroke: #555 }
  .head { font-weight: bold }
  .guide { stroke: #999; fill: none; stroke-dasharray: 3 3 }
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
            "<!-- SPDX-License-Identifier: GPL-2.0 -->\n"
            "<!-- Made by scripts/pictures.py. "
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


def line_and_lanes():
    """Epoch 21 is current, so lane 21 mod 8 = 5 is, and lane 6 has the oldest epoch."""
    p = Picture(860, 400, "A key has one line in each part; a line has eight lanes; "
                "a lane has a tag and 62 positions")
    p.box(15, 70, 150, 60, ["key", "`SipHash -> digest"])
    for part in range(4):
        y = 20 + 42 * part
        p.text(215, y + 20, f"part {part}", "small")
        for i in range(12):
            mine = i == (7, 2, 9, 4)[part]
            p.box(245 + 40 * i, y, 38, 30, [], "ours" if mine else "box")
        p.way((165, 100), (190, 100), (190, y + 34), (264 + 40 * (7, 2, 9, 4)[part], y + 34),
              (264 + 40 * (7, 2, 9, 4)[part], y + 31), kind="key")
    p.text(810, 90, "one line", "small")
    p.text(810, 106, "in each part", "small")
    p.text(50, 240, "a line,", "small")
    p.text(50, 256, "64 bytes", "small")
    for lane in range(8):
        epoch = 16 + lane if lane <= 5 else 8 + lane
        kind = "ours" if lane == 5 else "stale" if lane == 6 else "box"
        p.box(100 + 92 * lane, 220, 90, 50, [f"lane {lane}", f"epoch {epoch}"], kind)
    p.text(605, 212, "current", "small")
    p.text(697, 212, "oldest: guard", "small")
    p.parts.append('<path class="guide" d="M560 270 L100 310 M650 270 L838 310"/>')
    p.text(50, 330, "a lane,", "small")
    p.text(50, 346, "64 bits", "small")
    p.box(100, 310, 132, 50, ["tag: 2 bits", "21/8 mod 4 = 2"])
    p.box(232, 310, 606, 50, [])
    for i in range(62):
        if i in (9, 23, 24, 47):
            p.parts.append(f'<rect x="{234 + 9.73 * i:.1f}" y="312" width="10" height="46" '
                           'fill="#27639c"/>')
    p.text(524, 385, "62 positions; the key's fields in this part name up to k/L of them", "small")
    return p


def epoch_life():
    p = Picture(860, 390, "An epoch e: inserted into, asked for, stale, emptied")
    left, step = 90, 47

    def x(epoch):
        return left + step * epoch

    for i, name in ((0, "e"), (1, "e+1"), (7, "e+7"), (8, "e+8"), (9, "e+9"), (15.5, "e+32")):
        p.parts.append(f'<path class="guide" d="M{x(i)} 40V330"/>')
        p.text(x(i), 30, name, "small")
    p.text(45, 30, "epoch:", "small")
    p.text(x(12.2), 30, "...", "small")
    p.box(x(0), 50, step, 44, ["insert"], "ours")
    p.text(x(0) + 23, 110, "age 0", "small")
    p.box(x(1), 50, 6 * step, 44, ["lookups find its keys: age 1 to 6"])
    p.box(x(7), 50, step, 44, ["guard"], "stale")
    p.text(x(7) + 23, 110, "age 7", "small")
    p.text(x(3.5), 110, "whole epochs of the window", "small")
    p.box(x(1), 130, 4 * step, 40, ["grace period"], "ours")
    p.way((x(5), 150), (x(8) - 2, 150), kind="key")
    p.text(x(6.5), 142, "must end by e+8", "small")
    p.text(x(3), 188, "all sections that have read epoch e end", "small")
    p.box(x(8), 205, 7.5 * step, 40, ["stale: tag differs, counts as empty"], "stale")
    p.text(x(3.9), 222, "the lane now belongs to epoch e+8:", "small")
    p.text(x(3.9), 238, "its first inserter replaces the word by CAS", "small")
    p.box(x(8), 270, 7.5 * step, 40, ["scan: 1/16 of the lines an epoch"], "ours")
    p.text(x(4.4), 287, "what no inserter replaces the scan empties:", "small")
    p.text(x(4.4), 303, "every line at least once in 24 epochs", "small")
    p.way((x(15.5), 350), (x(15.5), 332), kind="lost")
    p.text(x(12.6), 372, "from e+32 on the tag would read as current again", "small")
    return p


def steps(p, y, boxes):
    """Boxes from left to right, each joined to the next; the first and the last are grey."""
    at = 15
    for i, (width, lines) in enumerate(boxes):
        p.box(at, y, width, 66, lines, "box" if i in (0, len(boxes) - 1) else "ours")
        if i < len(boxes) - 1:
            p.way((at + width, y + 33), (at + width + 18, y + 33))
        at += width + 20


def packet_way():
    p = Picture(890, 420, "A packet's way: digest, probe, test, insertion, verdict; "
                "with the module and in pure BPF")
    p.text(195, 24, "With the module: one call of a kernel function", "head")
    boxes = [(85, ["XDP:", "packet"]), (122, ["digest: headers", "to key, SipHash"]),
             (112, ["probe: L lines,", "L masks"]), (160, ["test: lane of the", "current epoch,",
                                                           "then all eight"]),
             (150, ["insert: OR or CAS,", "epoch read again"]), (100, ["verdict"])]
    steps(p, 45, boxes)
    p.parts.append('<rect class="guide" x="110" y="36" width="616" height="84" rx="6"/>')
    p.text(410, 138, "in the module, under RCU; no lock, no sleep, no allocation", "small")
    p.way((652, 111), (652, 160), kind="key")
    p.box(560, 162, 164, 50, ["count of the CPU,", "then of the epoch"], "ours")
    p.way((560, 187), (522, 187), kind="key")
    p.box(340, 162, 180, 50, ["epoch full: trylock,", "rotate; else worker"], "ours")
    p.text(810, 150, "absent: XDP_PASS", "small")
    p.text(810, 167, "present: XDP_DROP", "small")
    p.text(810, 184, "unknown, control,", "small")
    p.text(810, 201, "malformed: XDP_PASS", "small")
    p.text(232, 250, "In pure BPF: the same core, compiled into the program", "head")
    boxes[1] = (122, ["slot of contents;", "digest"])
    boxes[2] = (112, ["probe: lines by", "map look-up"])
    steps(p, 270, boxes)
    p.parts.append('<rect class="guide" x="110" y="261" width="616" height="84" rx="6"/>')
    p.text(410, 363, "in the program; lines and words are BPF maps", "small")
    p.text(810, 363, "as above; and found", "small")
    p.text(810, 380, "after the deadline:", "small")
    p.text(810, 397, "unknown", "small")
    p.way((652, 336), (652, 366), kind="key")
    p.box(520, 368, 204, 44, ["count; keys against the", "limit (open_at)"], "ours")
    p.way((482, 390), (518, 390), kind="key")
    p.box(240, 368, 240, 44, ["epochs are ended by the holder", "process or a BPF timer"], "ours")
    return p


# Who touches a shared word: the word, then a cell for each of the columns.
COLUMNS = ("word", "packet path, batch", "rotation", "worker", "ioctl", "mmap reader",
           "pure BPF program")
WORDS = (
    ("epoch", "load, load again", "store", "load", "load", "through ioctl", "load, load again"),
    ("lane", "load, OR, CAS", "", "scan: CAS to 0", "snapshot: load", "load", "load, OR, CAS"),
    ("epoch's count", "CAS", "store", "load", "load", "through ioctl", "CAS"),
    ("counts of a CPU", "own CPU: cmpxchg", "load", "load", "load", "through ioctl",
     "own CPU: store, add"),
    ("trigger", "load, cmpxchg", "store", "", "", "", "(open_at) load"),
    ("answer", "load, cmpxchg: open", "", "cmpxchg", "load", "", "(keys) add"),
    ("ring of epochs", "", "store", "load", "load", "through ioctl", ""),
    ("scanned", "", "load", "store", "load", "through ioctl", ""),
    ("journal ring", "add, CAS, store", "add, CAS, store", "", "", "load", "none"),
    ("table pointer", "load under RCU", "", "", "swap: store", "", "(active) load"),
)


def live():
    p = Picture(860, 400, "Each host publishes the digests of its new keys and inserts those "
                "of all others; packets ask both filters")
    for x, name in ((20, "h1"), (560, "h2")):
        p.parts.append(f'<rect class="stale" x="{x}" y="20" width="280" height="250" rx="6"/>')
        p.text(x + 30, 42, name, "head")
        p.box(x + 80, 35, 120, 46, ["XDP, firewall"], "ours")
        p.box(x + 20, 125, 105, 46, ["local filter:", "own keys"], "ours")
        p.box(x + 155, 125, 105, 46, ["filter of all:", "others' keys"], "ours")
        p.box(x + 90, 212, 100, 44, ["epfagent"])
        p.way((x + 115, 81), (x + 80, 123), kind="key")
        p.text(x + 44, 107, "1. test, insert", "small")
        p.way((x + 165, 81), (x + 200, 123), kind="key")
        p.text(x + 232, 107, "2. else test", "small")
        p.way((x + 75, 171), (x + 105, 210))
        p.text(x + 45, 195, "journal", "small")
        p.way((x + 175, 210), (x + 205, 173))
        p.text(x + 228, 195, "insert", "small")
    p.box(330, 320, 200, 60, ["NATS with JetStream:", "a window in memory"])
    p.way((140, 256), (140, 340), (328, 340))
    p.text(255, 332, "new keys, each 100 ms", "small")
    p.way((328, 366), (180, 366), (180, 258))
    p.text(250, 382, "those of others", "small")
    p.way((680, 256), (680, 366), (532, 366))
    p.text(610, 382, "new keys", "small")
    p.way((532, 340), (720, 340), (720, 258))
    p.text(626, 332, "those of others", "small")
    return p


def promise():
    p = Picture(860, 215, "What 'absent' says at time T, and how long it may be said")
    p.way((20, 110), (830, 110))
    p.text(790, 132, "cluster time", "small")
    p.box(150, 80, 460, 60, ["keys that any host inserted here are present"], "ours")
    for x, what in ((150, "T - window"), (610, "T - lag"), (705, "T")):
        p.way((x, 66), (x, 154), kind="guide")
        p.text(x, 58, what, "small head")
    p.text(655, 100, "may be missing", "small")
    p.text(80, 100, "may have left", "small")
    p.text(420, 182, "The packet path compares its clock with one word. The agent moves it on, "
           "by the oldest host's data", "small")
    p.text(420, 198, 'plus the lag; whatever fails, the word stays, and "absent" becomes '
           '"do not know" by itself.', "small")
    return p


def access():
    p = Picture(880, 440, "Which shared words each of them reads and writes")
    wide, high = (114, 136, 108, 132, 108, 108, 144), 34

    def row(y, cells, head):
        at = 15
        for i, (cell, width) in enumerate(zip(cells, wide)):
            writes = any(w in cell for w in ("OR", "CAS", "store", "cmpxchg", "add,", ") add"))
            kind = "stale" if head or i == 0 else "ours" if writes else "box"
            p.parts.append(f'<rect class="{kind}" x="{at}" y="{y}" width="{width}" '
                           f'height="{high}"/>')
            p.text(at + width / 2, y + high / 2 + 5, cell,
                   "small head" if head or i == 0 else "small")
            at += width

    row(12, COLUMNS, True)
    for i, cells in enumerate(WORDS):
        row(12 + high * (i + 1), cells, False)
    p.text(440, 412, "Blue: writes. Rotation and scan hold the table's lock, which packet paths "
           "only try; restore stores the table pointer as swap does.", "small")
    p.text(440, 430, "In brackets: the word that pure BPF has in its place; there user space "
           "holds flock on the filter's directory.", "small")
    return p


PICTURES = {"design/line.svg": line_and_lanes, "design/epoch.svg": epoch_life,
            "design/packet.svg": packet_way, "design/access.svg": access,
            "cluster/live.svg": live, "cluster/promise.svg": promise,
            "firewall/reflexive.svg": reflexive, "firewall/admit.svg": admit,
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
