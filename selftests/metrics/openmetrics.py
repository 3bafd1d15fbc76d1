# SPDX-License-Identifier: GPL-2.0
"""A strict reader of OpenMetrics text 1.0.0, written from its specification
(Prometheus project, "OpenMetrics 1.0", sections on the text format and on the
types counter, gauge and info); and one of the samples of the older format.

Numbers are kept as exact decimals.
"""

import decimal
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ([^ ]+)")
PAIR = re.compile(rf'({LABEL})="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
SUFFIXES = {"counter": ["_total", "_created"], "gauge": [""], "info": ["_info"],
            "unknown": [""]}


class Fault(Exception):
    """Raise a fault of the text."""


def fail(line, why):
    raise Fault(f"{why}: {line!r}")


def labels_of(text, line):
    """Return the labels as a dict; their order does not matter."""
    labels, at = {}, 0
    while at < len(text):
        pair = PAIR.match(text, at)
        if not pair or (pair[3] == "," and pair.end() == len(text)):
            fail(line, "labels")
        if pair[1] in labels:
            fail(line, "a label twice")
        labels[pair[1]] = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]),
                                 pair[2])
        at = pair.end()
    return labels


def sample_of(line):
    """Return name, labels, exact value."""
    m = SAMPLE.fullmatch(line)
    if not m or not NUMBER.fullmatch(m[3]):
        fail(line, "not a sample")
    labels = labels_of(m[2] or "", line)
    return m[1], frozenset(labels.items()), decimal.Decimal(m[3])


class Family:
    def __init__(self, name):
        self.name = name
        self.meta = {}

    def add_meta(self, word, text, line):
        if word in self.meta:
            fail(line, "said twice")
        if word == "TYPE" and text not in SUFFIXES:
            fail(line, "no such type")
        if word == "UNIT" and not self.name.endswith("_" + text):
            fail(line, "the name does not end with the unit")
        if word == "UNIT" and self.type() == "info":
            fail(line, "info has no unit")
        if word == "HELP" and re.search(r'\\[^\\n"]|\\$', text):
            fail(line, "an escape that there is not")
        self.meta[word] = text

    def type(self):
        return self.meta.get("TYPE", "unknown")

    def owns(self, sample):
        return sample in (self.name + s for s in SUFFIXES[self.type()])

    def check(self, value, line):
        if self.type() == "counter" and value < 0:
            fail(line, "a counter below 0")
        if self.type() == "info" and value != 1:
            fail(line, "info is 1")


def claim(taken, family, line):
    """A family's name, or a sample's, must not be that of another family."""
    for name in {family.name + s for s in SUFFIXES[family.type()]} | {family.name}:
        if taken.setdefault(name, family.name) != family.name:
            fail(line, f"{name} is another family's")


def parse(data):
    """Parse OpenMetrics bytes. Return ({(sample, labels): value}, {family: meta}); raise
    Fault.
"""
    text = data.decode("utf-8")
    if "\r" in text or not text.endswith("# EOF\n"):
        fail(text[-40:], "no end")
    families, samples, taken = {}, {}, {}
    family, in_samples = None, False
    for line in text[:-len("# EOF\n")].split("\n")[:-1]:
        meta = re.fullmatch(rf"# (TYPE|UNIT|HELP) ({NAME}) (.*)", line)
        if meta:
            if not family or family.name != meta[2]:
                if meta[2] in families:
                    fail(line, "a family in two places")
                family, in_samples = Family(meta[2]), False
                families[meta[2]] = family
            if in_samples:
                fail(line, "behind samples")
            family.add_meta(meta[1], meta[3], line)
            continue
        name, labels, value = sample_of(line)
        if not family or not family.owns(name):
            fail(line, "not in its family")
        if (name, labels) in samples:
            fail(line, "a sample twice")
        in_samples = True
        claim(taken, family, line)
        family.check(value, line)
        samples[name, labels] = value
    for f in families.values():
        claim(taken, f, f.name)
    return samples, {f.name: f.meta for f in families.values()}


def parse_text(data):
    """Return the samples of the text format 0.0.4, and {name: type}."""
    samples, types = {}, {}
    for line in data.decode("utf-8").split("\n")[:-1]:
        meta = re.fullmatch(rf"# (TYPE|HELP) ({NAME}) (.*)", line)
        if meta and meta[1] == "TYPE":
            if meta[2] in types:
                fail(line, "said twice")
            types[meta[2]] = meta[3]
        elif not meta:
            name, labels, value = sample_of(line)
            if name not in types or (name, labels) in samples:
                fail(line, "without a type, or twice")
            samples[name, labels] = value
    if not data.endswith(b"\n") or set(types.values()) - {"counter", "gauge"}:
        fail(data[-40:], "no end, or another type")
    return samples, types
