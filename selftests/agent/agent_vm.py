#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The agent and filters of the kernel. Its answers about a filter equal those of epfctl, by
name and by id, while the filter rotates, is queried by others, and is destroyed; the same
for a mirrored filter. Loads build/kmod/epochfilter.ko (or EPF_KO) in a VM; elsewhere it
must be loaded.
"""

import contextlib
import json
import os
import signal
import subprocess

import agent as a
import tap

KO = os.environ.get("EPF_KO", os.path.join(a.BUILD, "kmod/epochfilter.ko"))
KEYS = 3001
files = None
agent = None


def epfctl(*args, **more):
    return subprocess.run([a.EPFCTL, *args], check=True, capture_output=True,
                          **more).stdout


def keys(first, nr):
    """The column of mkaudit."""
    column = files.read("column")
    return [column[12 * i:12 * (i + 1)].decode() for i in range(first, first + nr)]


def insert(name, first, nr):
    epfctl("insert", name, "-", input="\n".join(keys(first, nr)).encode())


def ask(name, source="column", outputs=("bitmap",), on=None, **more):
    message, fds = files.request(source, outputs, **{"key_len": 12, **more})
    message["fds"].remove("snapshot")
    del fds[1]
    message["filter"] = name
    with a.Client(on or agent) as c:
        answer = c.audit(message, fds)
    files.close()
    return answer


def bits():
    data = files.read("bitmap.out")
    return [bool(data[i // 8] >> i % 8 & 1) for i in range(KEYS)]


def present():
    """1000 keys, and no others except by false positives."""
    tap.may_fail(1e-7)  # 0.2 are expected at most, and 6 make the test fail (Poisson)
    answer = ask("a-one", outputs=("bitmap", "ages"))
    if "done" not in answer:
        return f"answered {answer}"
    got = bits()
    if not all(got[:1000]) or sum(got[1000:]) > 5:
        return f"{sum(got[:1000])} of 1000, {sum(got[1000:])} of others"
    if answer["about"]["place"] != "copy":
        return f"answered {answer}"
    agents = files.read("bitmap.out"), files.read("ages.out")
    epfctl("audit", "--no-agent", "--key-len", "12", "-b", files.path("b"), "-a",
           files.path("a"), "a-one", files.path("column"))
    return None if agents == (files.read("b"), files.read("a")) else \
        "epfctl says something else"


def found_at_once():
    """Keys inserted before a query are found, each time."""
    for i in range(10):
        insert("a-one", 1000 + 10 * i, 10)
        answer = ask("a-one")
        if "done" not in answer or not all(bits()[:1010 + 10 * i]):
            return f"answered {answer}"
    return None


def by_id():
    number = str(json.loads(epfctl("show", "-j", "a-one"))["id"])
    answer = ask(number)
    return None if "done" in answer else f"answered {answer}"


def fresh():
    """A copy that may be used for an hour: the old copy answers again, but a new filter of
    the same name is a different one."""
    epfctl("create", "a-two", "-W", "70000")
    with a.Agent(files.dir, "--fresh", "1h", name="fresh") as g:
        marks = []
        for first in (0, 100):
            insert("a-two", first, 100)
            marks.append(ask("a-two", on=g)["done"]["mark"]["present"])
        epfctl("destroy", "a-two")
        epfctl("create", "a-two", "-W", "70000")
        marks.append(ask("a-two", on=g)["done"]["mark"]["present"])
        hits = g.status()["cache_hits"]
    return None if marks[0] == marks[1] >= 100 and marks[2] < 5 and hits >= 1 \
        else f"{marks}, {hits} hits"


def another_kind():
    tap.may_fail(1e-7)  # as in present()
    epfctl("create", "a-ge", "--kind", "ge", "-W", "7000", "--slack", "0.2")
    insert("a-ge", 0, 1000)
    answer = ask("a-ge")
    epfctl("destroy", "a-ge")
    return None if "done" in answer and all(bits()[:1000]) and \
        sum(bits()[1000:]) <= 5 else f"answered {answer}"


# The last fields of a snapshot's header: time, epochs, checksums.
MOMENTS = slice(-16 - 8 * 16 - 8, -16)


def hash_key():
    """Two filters that differ in their hash keys: the answers are the same, apart from
    their times."""
    seen = []
    for key in ("1" * 32, "2" * 32):
        with open(files.path("hash-key"), "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(key)
        epfctl("create", "a-key", "-W", "70000", "--key-file", f.name)
        insert("a-key", 0, 100)
        answer = ask("a-key", outputs=("bitmap", "ages"))
        epfctl("destroy", "a-key")
        header = bytearray.fromhex(answer["about"].pop("header"))
        header[MOMENTS] = b""
        seen.append((answer, header, files.read("bitmap.out"),
                     files.read("ages.out")))
    return None if seen[0] == seen[1] else f"{seen[0]}\nthen {seen[1]}"


def refusals():
    none = ask("a-none")
    if none.get("errno") != 2:
        return f"answered {none}"
    with a.Agent(files.dir, "--memory", "4096", name="small") as g:
        small = ask("a-one", on=g)
    return None if small.get("errno") == 95 and "memory" in small["error"] else \
        f"answered {small}"


def destroyed():
    """The filter is destroyed during an audit, which works on a copy and goes on."""
    epfctl("create", "a-three", "-W", "70000")
    insert("a-three", 0, 100)
    a.sparse(files.dir, "sparse", 1 << 18)
    with a.Agent(files.dir, "--step", "1024", "--memory", "16M",
                 name="slow") as g, a.Client(g) as c:
        message, fds = files.request("sparse", ())
        message["fds"], message["filter"] = ["keys"], "a-three"
        c.send(message, fds[:1])
        c.receive()
        epfctl("destroy", "--force", "a-three")
        answer = c.end()
        files.close()
    return None if "done" in answer else f"answered {answer}"


def by_tool():
    """If an agent runs, the tool uses it."""
    out = json.loads(epfctl("-j", "audit", "--agent", agent.path, "--key-len",
                            "12", "a-one", files.path("column")))
    return None if out["work"]["by_agent"] and out["present"] >= 1000 else \
        f"{out}"


def watched():
    own = files.path("watched")
    os.mkdir(own)
    with a.Agent(files.dir, "--watch", f"{own}=a-one:key-len=12", name="w") as g:
        a.write(os.path.join(own, "file"), files.read("column"))
        path = os.path.join(own, "file.audit.json")
        a.poll(lambda: os.path.exists(path))
        with open(path) as f:
            v = json.load(f)
        if g.stop(signal.SIGTERM):
            return "it did not end well"
    return None if v["done"]["mark"]["present"] >= 1000 and \
        v["asked"]["name"] == "a-one" else f"{v}"


# Mirrors


@contextlib.contextmanager
def mirroring(name="a-mir", order="", lines="4096", strict=False, **more):
    """A filter with 1000 keys, and an agent that mirrors it."""
    epfctl("create", name, "-W", "4000000", "--lines", lines, "--lines-per-key", "1",
           "--bits-per-key", "7", "--limit", "never", *["--strict"] * strict)
    insert(name, 0, 1000)
    args = [arg for pair in more.items() for arg in ("--" + pair[0], pair[1])]
    try:
        with a.Agent(files.dir, "--mirror", name + order, *args,
                     name="mirrors") as g:
            g.wait_log(f"^mirror of '{name}': started".encode())
            yield g
            if g.stop():
                raise AssertionError(f"it did not end well: {g.text()!r}")
    finally:
        sweep("a-mir")


def copies(g):
    return g.status()["mirror_copies"]


def finds(g, nr, name="a-mir"):
    """Return None if the first nr keys are found without a copy of the filter."""
    before = g.status()
    answer = ask(name, on=g)
    after = g.status()
    if "done" not in answer or not all(bits()[:nr]):
        return f"answered {answer}, {sum(bits()[:nr])} of {nr}"
    return None if after["cache_misses"] - before["cache_misses"] <= 1 and \
        after["mirrors"] == 1 else f"it was copied: {before}, {after}"


def as_the_module(strict=False):
    """Without insertions, ages and false positives agree too."""
    with mirroring(lines="64", strict=strict) as g:
        for epoch in range(3):
            epfctl("rotate", "a-mir")
            insert("a-mir", 1000 + 50 * epoch, 50)
        wrong = finds(g, 1150)
        ask("a-mir", on=g, outputs=("ages",))
        test = subprocess.run([a.EPFCTL, "test", "a-mir", "-"],
                              input="\n".join(keys(0, KEYS)).encode(),
                              capture_output=True).stdout.decode().splitlines()
        if wrong or copies(g) != 1:
            return wrong or f"{copies(g)} copies"
    said = bytes(255 if line.endswith(" absent") else int(line.split()[-1])
                 for line in test)
    return None if said == files.read("ages.out") and \
        bits() == [age != 255 for age in said] and \
        set(said) == {0, 1, 2, 3, 255} else f"{set(said)} by the module"


@contextlib.contextmanager
def flood(name):
    """Another process inserts all the time."""
    path = files.path("flood")
    with open(path, "w") as f:
        f.writelines(f"{i:012d}\n" for i in range(500))
    p = subprocess.Popen(["sh", "-c", f"while {a.EPFCTL} insert {name} -f {path}"
                          " > /dev/null; do :; done"])
    try:
        yield
    finally:
        p.kill()
        p.wait()


def mirror_in_flood():
    with mirroring() as g, flood("a-mir"):
        for i in range(10):
            insert("a-mir", 1000 + 10 * i, 10)
            wrong = finds(g, 1010 + 10 * i)
            if wrong:
                return wrong
    return None


def mirror_in_use():
    """The mirror is frozen for an audit; an audit that comes meanwhile misses no key."""
    a.sparse(files.dir, "long", 1 << 22)
    with mirroring(step="256", memory="16M") as g:
        with a.Client(g) as c:
            message, fds = files.request("long", ())
            message["fds"], message["filter"] = ["keys"], "a-mir"
            c.send(message, fds[:1])
            c.receive()
            insert("a-mir", 1000, 1000)
            answer = ask("a-mir", on=g)
            there = bits()
        g.settle()
        wrong = finds(g, 2000)
    return wrong if "done" in answer and all(there[:2000]) else \
        f"answered {answer}"


def overrun():
    """A journal of 16 records per CPU overflows: the agent reports it, and copies on
    demand."""
    with mirroring(order=":4") as g:
        insert("a-mir", 1000, 1000)
        g.wait_log(rb"^warning: mirror of 'a-mir': the journal overflowed")
        wrong = finds(g, 2000) or (copies(g) != 2 and f"{copies(g)} copies")
        insert("a-mir", 2000, 1000)
        return wrong or finds(g, 3000)


def other_contents():
    """After swap and restore the next audit sees the new contents."""
    with mirroring() as g:
        epfctl("create", "a-mir2", "-W", "9000")
        insert("a-mir2", 1000, 1000)
        epfctl("swap", "a-mir", "a-mir2")
        ask("a-mir", on=g)
        if not all(bits()[1000:2000]) or sum(bits()[:1000]) > 5:
            return "swapped: not what is there"
        epfctl("save", "a-mir2", files.path("saved"))
        epfctl("restore", "a-mir", files.path("saved"))
        wrong = finds(g, 1000)
        if wrong or sum(bits()[1000:2000]) > 500:
            return wrong or "restored: not what is there"
        insert("a-mir", 1000, 10)
        return finds(g, 1010)


def gone_and_back():
    """The agent holds what it mirrors, but a forced destruction succeeds."""
    with mirroring() as g:
        try:
            epfctl("destroy", "a-mir")
            return "it was destroyed without force"
        except subprocess.CalledProcessError:
            pass
        epfctl("destroy", "--force", "a-mir")
        g.wait_log(rb"^warning: mirror of 'a-mir': .*no such filter")
        gone = ask("a-mir", on=g)
        if gone.get("errno") != 2 or g.status()["mirrors"]:
            return f"answered {gone}, {g.status()}"
        epfctl("create", "a-mir", "-W", "9000")
        insert("a-mir", 0, 500)
        a.poll(lambda: g.status()["mirrors"] == 1)
        insert("a-mir", 500, 500)
        return finds(g, 1000)


def dropped():
    """SIGHUP adds and drops mirrors; the agent does not hold a filter it does not mirror."""
    path = files.path("conf")
    epfctl("create", "a-mir2", "-W", "9000")
    a.write(path, "mirror = a-mir2\n")
    with a.Agent(files.dir, "--config", path, name="reload") as g:
        a.poll(lambda: g.status()["mirrors"] == 1)
        used = g.status()["cache_bytes"]
        open(path, "w").close()
        g.process.send_signal(signal.SIGHUP)
        a.poll(lambda: g.status()["mirrors"] == 0)
        left = g.status()["cache_bytes"]
        epfctl("destroy", "a-mir2")
        epfctl("create", "a-mir3", "-W", "9000")
        a.write(path, "mirror = a-mir3:10\n")
        g.process.send_signal(signal.SIGHUP)
        a.poll(lambda: g.status()["mirrors"] == 1)
    sweep("a-mir")
    return None if used and not left else f"{used} bytes, then {left}"


def no_mirror():
    """Without memory, or for a filter of another kind: one log line, and audits copy."""
    epfctl("create", "a-mirge", "--kind", "ge", "-W", "7000", "--slack", "0.2")
    epfctl("create", "a-mir", "-W", "70000")
    insert("a-mir", 0, 100)
    with a.Agent(files.dir, "--mirror", "a-mirge", "--mirror", "a-mir",
                 "--memory", "4096", name="none") as g:
        g.wait_log(rb"^warning: mirror of 'a-mirge': the filter is not of kind lanes")
        g.wait_log(rb"^warning: mirror of 'a-mir': the filter is larger than")
        answer = ask("a-mir", on=g)
        said = g.text().count(b"mirror of")
    sweep("a-mir")
    return None if answer.get("errno") == 95 and said == 2 else \
        f"answered {answer}, {said} lines"


CASES = [
    ("keys of a filter: as epfctl audit answers", present),
    ("what was just inserted is found", found_at_once),
    ("a filter by its id", by_id),
    ("--fresh: a copy serves again, not another filter", fresh),
    ("a filter of another kind", another_kind),
    ("no answer depends on the hash key", hash_key),
    ("filters that are not there, too large", refusals),
    ("a filter destroyed under way", destroyed),
    ("epfctl audit by the agent", by_tool),
    ("a watched directory", watched),
    ("a mirror: as EPF_IOC_TEST answers", as_the_module),
    ("a mirror: likewise with SipHash-2-4", lambda: as_the_module(strict=True)),
    ("a mirror: what was just inserted, while others insert", mirror_in_flood),
    ("a mirror that another audit uses", mirror_in_use),
    ("a mirror whose journal is too small", overrun),
    ("a mirror of a filter that is swapped, restored", other_contents),
    ("a mirror of a filter destroyed by force, and made again", gone_and_back),
    ("mirrors come and go by SIGHUP", dropped),
    ("no memory for a mirror, another kind", no_mirror),
]


def sweep(start="a-"):
    for name in epfctl("list", "--names").decode().split():
        if name.startswith(start):
            epfctl("destroy", "--force", name)


def run(made):
    global files, agent
    files = made
    if os.geteuid() or not os.path.exists("/dev/epochfilter") and (
            "EPF_VM" not in os.environ or
            subprocess.run(["insmod", KO]).returncode):
        tap.skip_all("the module is not loaded")
    sweep()
    try:
        epfctl("create", "a-one", "-W", "70000")
        insert("a-one", 0, 1000)
        with a.Agent(files.dir) as agent:
            return tap.run(CASES)
    finally:
        sweep()


if __name__ == "__main__":
    raise SystemExit(a.main(KEYS, run))
