#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The manual page of the C library: an overview, then the header's comments.

usage: manual.py OVERVIEW.rst HEADER [--names]

The result is reStructuredText for rst2man. Comments are kernel-doc: "NAME - what", "@argument:",
paragraphs, "Return:". --names prints the names of the functions instead.
"""
import re
import sys


def comments(text):
    """(kernel-doc comment, declaration that follows it), in the order of the header."""
    for m in re.finditer(r"/\*\*\n(.*?) \*/\n(.*?(?:;|\n\};))", text, re.S):
        yield [re.sub(r"^ \* ?", "", line) for line in m[1].splitlines()], m[2]


def split(lines):
    """The title, {argument: text}, and the rest as paragraphs."""
    title, args, rest, last = lines[0], {}, [], None
    for line in lines[1:]:
        m = re.match(r"@(\w+):\s*(.*)", line)
        if m:
            last = m[1]
            args[last] = m[2]
        elif last and line.startswith("\t"):
            args[last] += " " + line.strip()
        else:
            last = None
            rest.append(line)
    return title, args, "\n".join(rest).strip()


def escape(text):
    """Text without markup of reStructuredText; @argument in italics."""
    text = re.sub(r"[*`|\\]|_(?!\w)", lambda m: "\\" + m[0], text)
    return re.sub(r"@(\w+)(->\w+)?", lambda m: f"*{m[1]}*{m[2] or ''}", text)


def entry(lines, declaration):
    title, args, rest = split(lines)
    name, _, what = title.partition(" - ")
    out = [name.strip(), "-" * len(name.strip()), ""]
    if name.endswith("()"):
        prototype = declaration.replace("LIBEPF_API ", "")
        prototype = re.sub(r"\n\s+", "\n    ", prototype)
        out += ["::", "", "    " + prototype, ""]
    out += [escape(what[0].upper() + what[1:]) + ".", ""]
    for arg, text in args.items():
        out += [f"*{arg}*", f"    {escape(text)}", ""]
    return out + [escape(rest), ""]


def main():
    overview, header = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
    found = list(comments(header))
    if "--names" in sys.argv:
        for lines, _ in found:
            if "()" in lines[0]:
                print(lines[0].split("()")[0])
        return
    out = ["STRUCTS AND FUNCTIONS", "=====================", ""]
    for lines, declaration in found:
        out += entry(lines, declaration)
    print(overview.replace("@FUNCTIONS@", "\n".join(out)))


if __name__ == "__main__":
    main()
