# SPDX-License-Identifier: GPL-2.0
"""TAP from a list of (name, function) cases. A case passes when it returns
nothing, fails with the text it returns or an exception, and raises Skip with
its reason. A case that may fail by luck says so by may_fail(); its point ends with
"# chance", how often it does (docs/TESTING.md).
"""

import functools
import math
import os
import random
import sys
import traceback

SEED = int(os.environ.get("EPF_SEED") or 0)
attempts = [0.0]  # chances to fail by luck of the case that runs


class Skip(Exception):
    """The reason why a case cannot run here."""


def drawn(n):
    """Random numbers of the run: the same at each run with one EPF_SEED."""
    return random.Random(n + (SEED << 32))


def may_fail(chance):
    """The attempt that runs fails by luck so often, beside what else it said."""
    attempts[-1] = min(1.0, attempts[-1] + chance)


def twice(case):
    """A case that a false positive may fail: one has another key the next
    time, a fault fails under both.
    """
    @functools.wraps(case)
    def tried(*args):
        fault = case(*args)
        if not fault:
            attempts.append(attempts[-1])
            return None
        print(f"# under another key, after: {fault}")
        attempts.append(0.0)
        return case(*args)
    return tried


def told_chance(fault):
    """Of a case that failed twice nothing: that is no luck, and a law."""
    chance = 0 if fault and len(attempts) > 1 else math.prod(attempts)
    return f" # chance {chance:.1e}" if chance else ""


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
        attempts[:] = [0.0]
        try:
            fault = case()
            comment = told_chance(fault)
        except Skip as reason:
            fault, comment = None, f" # SKIP {reason}"
            skipped += 1
        except Exception:
            fault, comment = traceback.format_exc(), ""
        if fault:
            failed += 1
            print("\n".join("# " + line for line in fault.splitlines()))
        print(f"{'not ' if fault else ''}ok {i} - {name}{comment}", flush=True)
    if failed:
        return 1
    return 4 if cases and skipped == len(cases) else 0


def skip_all(why):
    """Nothing can run here."""
    print(f"TAP version 13\n1..0 # SKIP {why}")
    sys.exit(4)


def chosen(cases):
    """All, or those that have one of the arguments in their name."""
    wanted = sys.argv[1:]
    return [c for c in cases if not wanted or any(w in c[0] for w in wanted)]


def main(cases, retry=""):
    sys.exit(run(cases, retry))
