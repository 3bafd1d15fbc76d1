#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The laws of the window through Python, for every kind, against exact oracles. The hash key is
fixed, so false positives are the same in every run, and no case fails by chance.
"""

import random
import sys
import threading
import time
from datetime import timedelta

from common import HASH_KEY, epf, first_fault, main, plan, raises, temp

W = 200
SECOND = 10**9


def wanted_of(kind, mode):
    """A plan with the first of these errors that the kind can have; None: no such window."""
    window = {"window_keys": W} if mode == "count" else {
        "window_keys": None, "window": timedelta(microseconds=W), "rate": 1e6}
    for error in 1e-6, 1e-5, 1e-4:
        try:
            made = plan(kind=kind, error=error, limit=1, **window)
            epf.plan_size(made)
            return made
        except epf.Error as why:
            if "time alone" in str(why):
                return None
    raise AssertionError(f"{kind}: no error is possible")


def law(kind, mode):
    """Keys drawn with repeats, one in a microsecond; the oracle is when each came last."""
    draw = random.Random(1)
    wanted = wanted_of(kind, mode)
    if not wanted:
        return None if mode == "count" else f"{kind} has no window of time"
    size = epf.plan_size(wanted)
    stay = W * (1 + size.slack) + size.epochs + 2  # epochs are rounded up
    last = {}
    with epf.Filter(wanted, time_ns=0) as seen:
        for i in range(10 * W):
            key = draw.randrange(3 * W)
            seen.insert(key, time_ns=1000 * i)
            last[key] = i
            asked = draw.sample(sorted(last), min(len(last), 12))
            for key, age in zip(asked, seen.test(asked, time_ns=1000 * i)):
                if i - last[key] < W and age >= epf.UNKNOWN:
                    return f"{kind}, {mode}: key {key}, {i - last[key]} insertions ago: {age}"
                if i - last[key] > stay and age != epf.ABSENT:
                    return f"{kind}, {mode}: key {key} has left: {i - last[key]}, {age}"
        inserts = seen.info(time_ns=1000 * i).inserts
    return None if inserts == 10 * W else f"{kind}, {mode}: {inserts} insertions"


def every_kind():
    """every kind: a key of the window is found; one that has left is absent"""
    kinds = epf.kinds()
    return first_fault(None if len(kinds) >= 9 and kinds[0] == "lanes" else f"kinds: {kinds}",
                       *(law(kind, mode) for kind in kinds for mode in ("count", "time")))


def time_window():
    """a window of time, as timedelta and as seconds: found until it is over, then absent"""
    for window in timedelta(minutes=1), 60, 60.0:
        wanted = plan(window_keys=None, window=window, rate=10)
        over = int(60 * SECOND * (1 + epf.plan_size(wanted).slack)) + SECOND
        with epf.Filter(wanted, time_ns=0) as seen:
            seen.insert("a", time_ns=5)
            ages = [seen.age("a", time_ns=5 + t * SECOND) for t in range(0, 61, 10)]
            if None in ages or ages != sorted(ages):
                return f"{window}: {ages}"
            if seen.age("a", time_ns=5 + over) is not None:
                return f"{window}: not gone"
            if seen.info().window_ns != 60 * SECOND:
                return f"{window}: {seen.info()}"
    return None


def own_time():
    """a filter with a time of its own stays there where a call has none"""
    with epf.Filter(plan(window_keys=None, window=60, rate=10), time_ns=0) as seen:
        new = [seen.add("a", time_ns=SECOND), "a" in seen, seen.add("a"), seen.age("a"),
               seen.age("a", time_ns=31 * SECOND), seen.age("a", time_ns=0), "b" in seen]
        if new[:4] != [True, True, False, 0] or not new[4] or new[5] != new[4] or new[6]:
            return f"{new}"
        seen.insert("b")
        return None if seen.test("b")[0] == 0 and seen.info().covered_ns < 120 * SECOND else "time"


def one_clock():
    """a filter keeps to one clock: a program's time is refused by one on CLOCK_MONOTONIC"""
    with epf.Filter(plan(window_keys=None, window=600, rate=10)) as seen:
        seen.add("a")
        path, now = temp("clock.epf"), time.time_ns()
        seen.save(path)
        calls = [lambda: seen.insert("b", time_ns=now), lambda: seen.test("b", time_ns=now),
                 lambda: seen.test_and_insert("b", time_ns=now), lambda: seen.age("b", time_ns=now),
                 lambda: seen.add("b", time_ns=now), lambda: seen.rotate(time_ns=now),
                 lambda: seen.info(time_ns=now), lambda: seen.save(path, time_ns=now),
                 lambda: seen.restore(path, time_ns=now)]
        fault = first_fault(*(raises(epf.ArgumentError, call, "goes by") for call in calls))
        if fault or "a" not in seen or "b" in seen:
            return fault or "a refused call changes the filter"
    with epf.Filter(plan(window_keys=None, window=60, rate=10), time_ns=0) as seen:
        seen.add("a", time_ns=time.time_ns())
        return None if seen.info().jumps == 1 else "a jump is not counted"


def batches():
    """batches of any size answer as single keys do, age by age"""
    draw = random.Random(2)
    keys = [draw.randbytes(draw.randint(1, 256)) for _ in range(300)]
    keys = [draw.choice(keys) for _ in range(3000)]
    one, many = epf.Filter(plan(), time_ns=0), epf.Filter(plan(), time_ns=0)
    single = [one._test_and_insert(epf._keys.one(key), 0)[0] for key in keys]
    batched, at = [], 0
    while at < len(keys):
        n = draw.randint(0, 200)
        batched += many.test_and_insert(keys[at:at + n], time_ns=0)
        at += n
    if single != batched:
        return f"{sum(a != b for a, b in zip(single, batched))} of {len(keys)} differ"
    ages = [None if age == epf.ABSENT else age for age in many.test(keys, time_ns=0)]
    if ages != [one.age(key, time_ns=0) for key in keys]:
        return "tests differ"
    return None if len(set(single)) > 3 else f"ages: {set(single)}"


def scalars():
    """add() says what is new; 'in' and age() agree with test()"""
    seen = epf.Filter(plan())
    keys = [b"x", "\u00e4", 7, bytearray(b"y"), 2**64 - 1]
    new = [seen.add(key) for key in keys + keys]
    if new != [True] * 5 + [False] * 5:
        return f"add: {new}"
    if not all(key in seen for key in keys) or any(key in seen for key in (b"z", 8, "a")):
        return "in"
    if [seen.age(key) for key in ("x", "\u00e4".encode(), bytes([7] + [0] * 7), 8)] != [0, 0, 0, None]:
        return "age, and the bytes of text and numbers"
    return None


def first_seen():
    """first_seen: a repeat does not restart the window of its key; otherwise it does"""
    for option in True, False:
        wanted = plan(first_seen=option)
        stay = int(1000 * (1 + epf.plan_size(wanted).slack)) + 1
        with epf.Filter(wanted) as seen:
            seen.add("a")
            seen.insert(range(900))
            if seen.add("a") or seen.info().first_seen != option:
                return "a repeat is new"
            seen.insert(range(10**6, 10**6 + stay - 900))
            if ("a" in seen) == option:
                return f"first_seen={option}: {seen.age('a')}"
    return None


def saturation():
    """above its limit a filter does not know, nor its snapshot: ages, in, add, info"""
    wanted = epf.Plan(window=timedelta(days=1000), rate=1e-6, error=1e-3, hash_key=HASH_KEY)
    with epf.Filter(wanted) as seen:
        seen.insert(range(20000))
        info = seen.info()
        if not info.saturated or info.estimate < info.limit or seen.age(7) != epf.UNKNOWN:
            return f"{info}"
        if 7 in seen or not seen.add(7):
            return "it claims to know"
        if seen.info().unknown != 3:
            return f"answers: {seen.info()}"
        seen.save(temp("full.epf"))
    with epf.Snapshot(temp("full.epf")) as full:
        info = full.info()
        if not info.saturated or info.estimate <= info.limit or 7 in full:
            return f"its snapshot: {info}"
        return None if list(full.test([7])) == [epf.UNKNOWN] and full.audit([7]).present == 1 \
            else "its snapshot claims to know"


def rotation():
    """rotate() ends an epoch; after all of them nothing is left"""
    seen = epf.Filter(plan(), time_ns=0)
    seen.insert("a", time_ns=0)
    ages = []
    for _ in range(seen.info(time_ns=0).epochs + 2):
        ages.append(seen.age("a", time_ns=0))
        seen.rotate(time_ns=0)
    return None if ages == list(range(len(ages) - 1)) + [None] else f"{ages}"


def two_windows():
    """both windows: ends says which boundary ends an epoch"""
    either, both = (epf.Filter(plan(window=100, rate=None if ends == "either" else 1e3, ends=ends),
                               time_ns=0) for ends in ("either", "both"))
    for seen in either, both:
        seen.insert("a", time_ns=0)
        seen.insert(range(5000), time_ns=SECOND)
    if both.age("a", time_ns=SECOND) is None:
        return "both: gone before its time is over"
    return "either: stays" if either.age("a", time_ns=SECOND) is not None else None


def threads():
    """threads share a filter, and none loses a key; Python runs while the library does"""
    seen = epf.Filter(plan(window_keys=10**6, error=1e-4))
    parts = [range(i * 10**6, i * 10**6 + 20000) for i in range(4)]
    workers = [threading.Thread(target=seen.insert, args=(part,)) for part in parts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lost = sum(age >= epf.UNKNOWN for part in parts for age in seen.test(part))
    return f"{lost} keys are lost" if lost else runs_beside(seen)


def runs_beside(seen):
    """With a switch interval this long another thread runs during a call only if that lets it."""
    count, stop, interval = [0], [False], sys.getswitchinterval()
    data = bytes(8 * 10**6)

    def work():
        while not stop[0]:
            count[0] += 1
            time.sleep(0)
    worker = threading.Thread(target=work)
    sys.setswitchinterval(1000)
    try:
        worker.start()
        for _ in range(100):
            before = count[0]
            seen.test(data, key_len=8)
            if count[0] > before:
                return None
        return "no other thread runs during a call"
    finally:
        stop[0] = True
        worker.join()
        sys.setswitchinterval(interval)


main(every_kind, time_window, own_time, one_clock, batches, scalars, first_seen, saturation, rotation, two_windows, threads)
