#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Known answers of kind elastic, selftests/core/elastic_vectors.h, to standard
output. Written from the description of the kind: a line is a list of items with
their epochs, and is converted to bits only for the comparison.
"""

import epochs
from hashes import M64, word

REMAINDER = 15
HEAD, WHOLE = 48, 8  # bits
AHEAD, SPREAD = 3, 7
CHUNKS, STAMPS = 256, 1024

SHAPES = [  # lines, words of a line, r, seed, operations
    (1, 8, 7, 1, 900), (1, 16, 7, 2, 900), (3, 16, 7, 3, 900),
    (2, 8, 2, 4, 600), (7, 16, 4, 5, 900), (300, 8, 7, 6, 600),
]


class Line:
    def __init__(self, words):
        self.buckets = 8 * words
        self.bits = 64 * words - self.buckets  # head, items, remainders
        self.clear()

    def clear(self):
        self.items = []  # (bucket, epoch, remainder), as in memory
        self.widths = {}
        self.whole = set()
        self.stamp = 0

    def room(self):
        return self.bits - HEAD - (WHOLE if self.whole else 0)

    def need(self, counts):
        return sum(n * (4 + self.widths[e]) for e, n in counts.items())

    def counts(self):
        counts = {}
        for _, epoch, _ in self.items:
            counts[epoch] = counts.get(epoch, 0) + 1
        return counts

    def drop(self, gone):
        """Drop the items of the epochs for which gone(epoch)."""
        self.items = [i for i in self.items if not gone(i[1])]

    def expire(self, last):
        """Drop items of this epoch and older ones."""
        self.drop(lambda e: e <= last)
        self.whole = {e for e in self.whole if e > last}

    def first_width(self):
        """Return the width of an epoch that begins."""
        counts = self.counts()
        least = min([self.widths[e] for e in counts], default=REMAINDER)
        n = len(self.items) // 4 + 1
        fits = [w for w in range(least + AHEAD, least + SPREAD + 1)
                if n * (4 + w) <= self.room() - self.need(counts)]
        return min(max(fits, default=least + AHEAD), REMAINDER)

    def narrow(self, now, more):
        """Make room for that many items of the current epoch."""
        while True:
            counts = self.counts()
            if now not in self.whole:
                counts[now] = counts.get(now, 0) + more
            if self.need(counts) <= self.room():
                return
            widest = max(self.widths[e] for e in counts)
            epoch = min(e for e in counts if self.widths[e] == widest)
            if widest:
                self.widths[epoch] -= 1
                self.items = [(b, e, r >> (e == epoch))
                              for b, e, r in self.items]
            else:
                self.whole.add(epoch)
                self.drop(lambda e: e == epoch)

    def insert(self, now, counted, bucket, key):
        begins = self.stamp != now or not (self.items or self.whole)
        if not begins:
            if now in self.whole:
                return
            shift = REMAINDER - self.widths[now]
            if (bucket, now, key >> shift) in self.items:
                return
            counts = self.counts()
            counts[now] += 1
        if begins or self.need(counts) > self.room():
            if begins:
                self.expire(now - counted)
                self.widths[now] = self.first_width()
            self.narrow(now, 1 + len(self.items) * 7 // 64 if begins else 2)
        if now not in self.whole:
            at = sum(b < bucket for b, _, _ in self.items)
            shift = REMAINDER - self.widths[now]
            self.items.insert(at, (bucket, now, key >> shift))
        self.stamp = now

    def age(self, now, counted, bucket, key):
        found = set(self.whole)
        for b, e, r in self.items:
            if b == bucket and r == key >> (REMAINDER - self.widths[e]):
                found.add(e)
        ages = [now - e for e in found if now - e < counted]
        return min(ages, default=None)

    def encode(self):
        """Return the line as one number."""
        if not (self.items or self.whole):
            return 0
        epochs_here = self.counts()
        least = min([self.widths[e] for e in epochs_here], default=REMAINDER)
        more = sum((self.widths[e] - least) << 3 * (e % 8)
                   for e in epochs_here)
        head = (bool(self.whole) << 1 | self.stamp % STAMPS << 2 |
                len(self.items) << 12 | least << 20 | more << 24 |
                sum(1 << e % 8 for e in self.whole) << HEAD)
        line = sum(1 << b for b in {b for b, _, _ in self.items})
        line |= head << self.buckets
        at = self.buckets + HEAD + (WHOLE if self.whole else 0)
        top = self.buckets + self.bits
        for i, (b, e, r) in enumerate(self.items):
            last = i + 1 == len(self.items) or self.items[i + 1][0] != b
            line |= (e % 8 << 1 | last) << at
            at += 4
            top -= self.widths[e]
            line |= r << top
        assert at <= top
        return line


class Filter:
    def __init__(self, lines, words, r):
        self.lines = [Line(words) for _ in range(lines)]
        self.words, self.r = words, r
        self.now, self.retired = 0, False

    def place(self, digest):
        line = self.lines[digest * len(self.lines) >> 64]
        x = word(digest, 1)
        bucket = x * line.buckets >> 64
        return line, bucket, (x * line.buckets % 2**64) >> (64 - REMAINDER)

    def counted(self):
        return self.r + (not self.retired)

    def insert(self, digest):
        line, bucket, key = self.place(digest)
        line.insert(self.now, self.counted(), bucket, key)

    def age(self, digest):
        line, bucket, key = self.place(digest)
        return line.age(self.now, self.counted(), bucket, key)

    def retire(self):
        self.retired = True

    def begin(self):
        self.retire()
        chunk, n = self.now % CHUNKS, len(self.lines)
        for line in self.lines[chunk * n // CHUNKS:(chunk + 1) * n // CHUNKS]:
            if self.now - line.stamp >= self.counted():
                line.clear()
        self.now += 1
        self.retired = False

    def fold(self):
        """Fold all words to one number."""
        value = 0
        for line in self.lines:
            bits = line.encode()
            for _ in range(self.words):
                value = word((value + bits) & M64, 1)
                bits >>= 64
        return value


def main():
    print(epochs.HEAD.format("elastic"))
    print("static const struct {\n\tunsigned long long nr_lines;\n"
          "\tunsigned int line_words, epochs, seed, steps;\n"
          "\tunsigned long long fold; /* of all words, at the end */\n"
          "\tconst char *answers;\n} elastic_scripts[] = {")
    for lines, words, r, seed, steps in SHAPES:
        f = Filter(lines, words, r)
        answers = epochs.answers(f, seed, steps)
        print(f"\t{{ {lines}, {words}, {r}, {seed}, {steps}, "
              f"0x{f.fold():x}ULL,")
        print(epochs.string(answers) + " },")
    print("};")


main()
