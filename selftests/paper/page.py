#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The side-by-side page. usage: page.py [--quick] OUTDIR SECTION...

Reads OUTDIR/SECTION.csv and lists OUTDIR/SECTION_*.csv and SECTION_*.svg;
writes page.html, page.md and verdicts.csv into OUTDIR. Differences and
verdicts are computed here and nowhere else, by the rule of each row:

  digits      ours rounded to the digits of paper equals paper
  within:X    |ours - paper| <= X * paper
  interval    low <= paper <= high
  exact       equal as numbers
  atmost      ours <= paper
  atleast     ours >= paper
  law         ours is 1
  misprint:C  the paper's own formula gives C, not what it prints: ours is C by
              digits of C
  report      shown only; skipped where there is no number of ours
  known:WHY   differs for that reason

Exit: 0, 1: a row FAILED or a section has no rows, 2: a file that breaks the
contract.
"""

import csv
import glob
import html
import os
import sys
from decimal import Decimal, InvalidOperation

HEADER = "group,item,paper,ours,low,high,rule,note".split(",")
TITLES = {
    "ge": "Guarded epochs (Alpay and Sarıoğlu 2026)",
    "aged": "Age-partitioned filters (Shtul, Baquero and Almeida 2020)",
    "tlbf": "Time-limited filters (Rodrigues, Shtul, Baquero and Almeida 2023)",
    "dict": "Dictionary (Naor and Yogev 2013)",
    "frontier": "All kinds side by side",
}
HALF = Decimal("0.5000000001")  # of the last digit; ours is a rounded double


class Broken(Exception):
    """A file that breaks the contract."""


def number(text):
    try:
        return Decimal(text.rstrip("%"))
    except InvalidOperation:
        raise Broken(f"'{text}' is no number") from None


def by_digits(ours, paper):
    last = Decimal(1).scaleb(number(paper).as_tuple().exponent)
    return abs(number(ours) - number(paper)) <= HALF * last


def within(row, share):
    off = abs(number(row["ours"]) - number(row["paper"]))
    return off <= number(share) * abs(number(row["paper"]))


CHECKS = {
    "digits": lambda row, _: by_digits(row["ours"], row["paper"]),
    "within": within,
    "interval": lambda row, _: number(row["low"]) <= number(row["paper"])
    <= number(row["high"]),
    "exact": lambda row, _: number(row["ours"]) == number(row["paper"]),
    "atmost": lambda row, _: number(row["ours"]) <= number(row["paper"]),
    "atleast": lambda row, _: number(row["ours"]) >= number(row["paper"]),
    "law": lambda row, _: number(row["ours"]) == 1,
}


def verdict(row):
    rule, _, value = row["rule"].partition(":")
    if rule == "report":
        return "reported" if row["ours"] else "skipped"
    if rule == "known" and value:
        number(row["paper"])
        number(row["ours"])
        return "differs: " + value
    if rule == "misprint":
        return "misprint" if by_digits(row["ours"], value) else "FAILED"
    if rule not in CHECKS:
        raise Broken(f"no rule '{row['rule']}'")
    return "agrees" if CHECKS[rule](row, value) else "FAILED"


def difference(row):
    if not row["paper"] or not row["ours"] or row["rule"] in ("law", "report"):
        return ""
    paper, ours = number(row["paper"]), number(row["ours"])
    if not paper:
        return f"{ours - paper:+.3g}" if ours else "0"
    return f"{100 * (ours - paper) / abs(paper):+.2f} %"


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        lines = csv.reader(f)
        if next(lines, None) != HEADER:
            raise Broken(f"{path}: the header is not {','.join(HEADER)}")
        rows = []
        for fields in lines:
            where = f"{path}:{lines.line_num}"
            if len(fields) != len(HEADER):
                raise Broken(f"{where}: {len(fields)} fields")
            row = dict(zip(HEADER, fields))
            try:
                row["verdict"] = verdict(row)
            except Broken as why:
                raise Broken(f"{where}: {why}") from None
            row["difference"] = difference(row)
            rows.append(row)
    return rows


def count(rows):
    """Rows by kind of verdict, in the words of the closing line."""
    kinds = [("agree", "agrees"), ("misprints", "misprint"),
             ("known differences", "differs"), ("reported", "reported"),
             ("FAILED", "FAILED")]
    if any(row["verdict"] == "skipped" for row in rows):
        kinds.insert(4, ("skipped", "skipped"))
    return ", ".join(
        f"{sum(row['verdict'].partition(':')[0] == v for row in rows)} {name}"
        for name, v in kinds)


class Section:
    def __init__(self, out, name):
        self.name = name
        self.title = TITLES.get(name, name)
        path = os.path.join(out, name + ".csv")
        self.rows = read(path) if os.path.exists(path) else []
        self.plots = self.files(out, "svg")
        self.tables = self.files(out, "csv")

    def files(self, out, ext):
        found = glob.glob(os.path.join(glob.escape(out), f"{self.name}_*.{ext}"))
        return sorted(os.path.basename(path) for path in found)

    def groups(self):
        found = {}
        for row in self.rows:
            found.setdefault(row["group"], []).append(row)
        return found.items()


COLUMNS = ("item", "paper", "ours", "difference", "verdict", "note")
STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 1120px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100%; margin: .5em 0 1.5em }
th, td { border-bottom: 1px solid #ddd; padding: .25em .6em; text-align: left; vertical-align: top }
td:nth-child(2), td:nth-child(3), td:nth-child(4) { font-variant-numeric: tabular-nums; white-space: nowrap }
td:nth-child(6) { color: #555 }
.agrees { color: #00603c } .misprint { color: #0053a0 } .differs { color: #8a4b00 }
.reported, .skipped { color: #666 } .FAILED { color: #fff; background: #b00020; font-weight: bold }
img { max-width: 100%; border: 1px solid #ddd; margin: .5em 0 }
"""


def shown(row, name):
    """What a cell says: with the interval, where ours is measured."""
    if name == "ours" and row["low"] and row["high"]:
        return f"{row['ours']} ({row['low']} .. {row['high']})"
    return row[name]


def html_page(sections, heading, total):
    def cell(row, name):
        mark = ""
        if name == "verdict":
            mark = f' class="{row["verdict"].partition(":")[0]}"'
        return f"<td{mark}>{html.escape(shown(row, name))}</td>"

    yield "<!doctype html><html lang=en><meta charset=utf-8>"
    yield f"<title>{heading}</title><style>{STYLE}</style>"
    yield f"<h1>{heading}</h1><p>{total}</p>"
    for s in sections:
        yield f"<h2 id={s.name}>{html.escape(s.title)}</h2><p>{count(s.rows)}</p>"
        for group, rows in s.groups():
            yield f"<h3>{html.escape(group)}</h3><table><tr>"
            yield "".join(f"<th>{name}</th>" for name in COLUMNS) + "</tr>"
            for row in rows:
                yield "<tr>" + "".join(cell(row, c) for c in COLUMNS) + "</tr>"
            yield "</table>"
        for plot in s.plots:
            yield f'<p><img src="{plot}" alt="{plot[:-4]}"></p>'
        yield "<p>Data: " + ", ".join(
            f'<a href="{t}">{t}</a>' for t in [s.name + ".csv"] + s.tables) + "</p>"
    yield "</html>"


def md_page(sections, heading, total):
    yield f"# {heading}\n\n{total}"
    for s in sections:
        yield f"\n## {s.title}\n\n{count(s.rows)}"
        for group, rows in s.groups():
            yield f"\n### {group}\n\n| " + " | ".join(COLUMNS) + " |"
            yield "|" + "---|" * len(COLUMNS)
            for row in rows:
                cells = (shown(row, c).replace("|", "\\|") for c in COLUMNS)
                yield "| " + " | ".join(cells) + " |"
        yield ""
        for plot in s.plots:
            yield f"![{plot[:-4]}]({plot})\n"
        yield "Data: " + ", ".join(
            f"[{t}]({t})" for t in [s.name + ".csv"] + s.tables)


def write(path, lines):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)


def write_verdicts(path, sections):
    names = ["group", "item", "paper", "ours", "difference", "verdict"]
    with open(path, "w", encoding="utf-8", newline="") as f:
        lines = csv.writer(f, lineterminator="\n")
        lines.writerow(["section"] + names)
        for s in sections:
            lines.writerows([s.name] + [row[n] for n in names] for row in s.rows)


def main(args):
    quick = args[:1] == ["--quick"]
    out, *names = args[1:] if quick else args
    try:
        sections = [Section(out, name) for name in names]
    except Broken as why:
        print(f"page: {why}", file=sys.stderr)
        return 2
    rows = [row for s in sections for row in s.rows]
    total = count(rows)
    heading = "Paper, ours, difference, verdict" + (" (quick form)" if quick else "")
    write(os.path.join(out, "page.html"), html_page(sections, heading, total))
    write(os.path.join(out, "page.md"), md_page(sections, heading, total))
    write_verdicts(os.path.join(out, "verdicts.csv"), sections)
    for s in sections:
        for row in s.rows:
            if row["verdict"] == "FAILED":
                print(f"FAILED {s.name}: {row['group']}: {row['item']}: paper "
                      f"{row['paper']}, ours {shown(row, 'ours')}, {row['rule']}")
        if not s.rows:
            print(f"FAILED {s.name}: no rows")
    print(total)
    failed = any(row["verdict"] == "FAILED" for row in rows)
    return int(failed or not all(s.rows for s in sections))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
