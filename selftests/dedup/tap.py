# SPDX-License-Identifier: GPL-2.0
"""TAP from a list of (name, function) cases. A case passes when it returns
nothing, fails with the text it returns or an exception, and raises Skip with
its reason.
"""

import functools
import sys
import traceback


class Skip(Exception):
    """The reason why a case cannot run here."""


def twice(case):
    """A case that a false positive may fail: one has another key the next
    time, a fault fails under both.
    """
    @functools.wraps(case)
    def tried(*args):
        fault = case(*args)
        if not fault:
            return None
        print(f"# under another key, after: {fault}")
        return case(*args)
    return tried


def run(cases, retry=""):
    """Runs all, prints TAP. Returns the exit status: 0, 1, or 4 (all skipped).
    @retry: what the cases depend on beside the code under test, for which a
    failure deserves a second attempt (docs/TESTING.md).
    """
    failed = skipped = 0
    print("TAP version 13")
    if retry:
        print(f"# retry: {retry}")
    print(f"1..{len(cases)}")
    for i, (name, case) in enumerate(cases, 1):
        try:
            fault = case()
            skip = ""
        except Skip as reason:
            fault, skip = None, f" # SKIP {reason}"
            skipped += 1
        except Exception:
            fault, skip = traceback.format_exc(), ""
        if fault:
            failed += 1
            print("\n".join("# " + line for line in fault.splitlines()))
        print(f"{'not ' if fault else ''}ok {i} - {name}{skip}", flush=True)
    if failed:
        return 1
    return 4 if cases and skipped == len(cases) else 0


def chosen(cases):
    """All, or those that have one of the arguments in their name."""
    wanted = sys.argv[1:]
    return [c for c in cases if not wanted or any(w in c[0] for w in wanted)]


def main(cases, retry=""):
    sys.exit(run(cases, retry))
