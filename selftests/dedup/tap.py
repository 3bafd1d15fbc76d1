# SPDX-License-Identifier: GPL-2.0
"""TAP from a list of (name, function) cases. A case passes when it returns nothing, fails
with the text it returns or an exception, and raises Skip with its reason. A case that may
fail by chance declares that with may_fail(); its point ends with "# chance" and the
probability (docs/TESTING.md).
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
    """The case cannot run here, for this reason."""


def drawn(n):
    """Return random numbers that are the same in each run with the same EPF_SEED."""
    return random.Random(n + (SEED << 32))


def may_fail(chance):
    """Add the probability that the running attempt fails by chance."""
    attempts[-1] = min(1.0, attempts[-1] + chance)


def twice(case):
    """Decorate a case that a false positive may fail, with a second attempt. It draws other
    keys, so a real fault fails both.
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
    """Two failures are no chance but a violated property."""
    chance = 0 if fault and len(attempts) > 1 else math.prod(attempts)
    return f" # chance {chance:.1e}" if chance else ""


def run(cases, retry="", after=None):
    """Run all cases and print TAP. Return the exit status: 0, 1, or 4 (all skipped).
    @retry: what the cases depend on besides the code under test, so that a failure deserves
    a second attempt (docs/TESTING.md). @after: called after each case that did not fail;
    what it returns is a fault of that case.
"""
    failed = skipped = 0
    print("TAP version 13")
    if retry:
        print(f"# retry: {retry}")
    print(f"1..{len(cases)}")
    for i, (name, case) in enumerate(cases, 1):
        attempts[:] = [0.0]
        try:
            fault = case() or (after and after())
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
    """Skip everything."""
    print(f"TAP version 13\n1..0 # SKIP {why}")
    sys.exit(4)


def chosen(cases):
    """Return all cases, or those whose names contain one of the arguments."""
    wanted = sys.argv[1:]
    return [c for c in cases if not wanted or any(w in c[0] for w in wanted)]


def main(cases, retry="", after=None):
    sys.exit(run(cases, retry, after))
