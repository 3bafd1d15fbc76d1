#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Fair scheduling, by the order of events: a small audit ends before a large one, whatever
others have queued; the audits of a client that disconnects are dropped; limits; shutdown
with audits under way.

A large audit has a sparse column, so that its steps are many and small. The agent is
stopped until both requests wait in its sockets.
"""

import contextlib
import os
import re
import resource
import signal
import subprocess

import agent as a
import tap

STEP = 65536
BIG = 1 << 40  # so large that it cannot end before the test does, however long the machine stalls
KEYLESS = {"format": "json", "fields": "key"}
files = None


PIECES = 32  # steps of slow work: slow.c


class Held:
    """Stop the agent for the duration of the block."""

    def __init__(self, agent):
        self.agent = agent

    def __enter__(self):
        os.kill(self.agent.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.agent.pid, signal.SIGCONT)


@contextlib.contextmanager
def agent(*args):
    with a.Agent(files.dir, "--step", str(STEP), "--memory", "16M", *args) as g:
        yield g
        files.close()


def big(outputs=()):
    return files.request("sparse", outputs)


def still_going(c):
    """So far only progress was received. The rest is still to come."""
    c.socket.setblocking(False)
    try:
        while True:
            if a.is_last(c.receive()):
                return False
    except BlockingIOError:
        return True
    finally:
        c.socket.settimeout(a.PATIENCE)


def small_first():
    """Two connections of one user."""
    with agent() as g, a.Client(g) as much, a.Client(g) as little:
        with Held(g):
            much.send(*big())
            little.send(*files.request("digests", ("bitmap",)))
        answer = little.end()
        if not still_going(much):
            return "the big one was done first"
    return None if "done" in answer else f"answered {answer}"


def keyless():
    """Reading for keys that do not exist takes turns as well; the agent's log gives the
    order in which both finish."""
    with open(files.path("keyless"), "wb") as f:
        for _ in range(16):
            f.write(b'{"a":1}\n' * (1 << 18))
    with agent() as g, a.Client(g) as much, a.Client(g) as little:
        with Held(g):
            much.send(*files.request("keyless", (), records=KEYLESS))
            little.send(*files.request("digests", ("bitmap",)))
        answer = little.end()
        rest = much.end()
        order = re.findall(rb"^user .*: (\d+) keys, ", g.text(), re.M)
    if order != [b"5000", b"0"]:
        return f"in this order: {order}"
    if "done" not in answer or rest["done"]["keyless"] != 16 << 18:
        return f"answered {answer}, {rest}"
    return None


def dear(name, format, skip_bad=False):
    """A file without keys that takes long to read although it is shorter than a turn's
    limit of bytes: the order is taken from the log, too."""
    records = {"format": format, "key": 2, "skip_bad": skip_bad}
    with agent() as g, a.Client(g) as much, a.Client(g) as little:
        with Held(g):
            much.send(*files.request(name, (), records=records))
            little.send(*files.request("digests", ("bitmap",)))
        answer = little.end()
        rest = much.end()
        order = re.findall(rb"^user .*: (\d+) keys, ", g.text(), re.M)
    if order != [b"5000", b"0"] or "done" not in answer or "done" not in rest:
        return f"in this order: {order}, answered {answer}, {rest}"
    return None


def dear_templates():
    a.write(files.path("templates"), a.ipfix_templates(256, 1000, 20))
    return dear("templates", "ipfix")


def dear_blocks():
    a.sparse_pcapng(files.path("blocks"), 48, 1 << 23)
    return dear("blocks", "pcap")


def dear_to_nobody():
    """A TiB without a packet, and its client disconnects, or SIGTERM comes."""
    a.sparse_pcapng(files.path("vast"), 256, (1 << 32) - 4)
    records = {"format": "pcap"}
    with agent() as g:
        with a.Client(g) as c:
            c.send(*files.request("vast", (), records=records))
            c.receive()
        a.poll(lambda: g.status()["audits_cancelled"] == 1)
        with a.Client(g) as c:
            c.send(*files.request("vast", (), records=records))
            c.receive()
            g.process.send_signal(signal.SIGTERM)
            answer = c.end()
        status = g.process.wait(a.PATIENCE)
    if status or answer.get("errno") != 125:
        return f"exit status {status}, answered {answer}"
    return None


def user_by_user():
    """One user has 12 audits of 256 turns, another one of the same size, asked for last:
    by the agent's log the latter ends first."""
    a.needs_other_users()
    a.sparse(files.dir, "medium", 256 * STEP)
    with agent() as g:
        os.chmod(g.path, 0o666)
        clients = [a.as_user(g, 4242) for _ in range(12)] + [a.as_user(g, 4243)]
        with Held(g):
            for c in clients:
                c.send(*files.request("medium", ()))
        ends = [c.end() for c in clients]
        for c in clients:
            c.socket.close()
        g.settle()
        users = re.findall(rb"^user (\d+), ", g.text(), re.M)
    if any("done" not in e for e in ends) or len(users) != 13:
        return f"answered {ends}"
    return None if users[0] == b"4243" else f"in this order: {users}"


def leaves():
    """Of three clients two hang up: one that waits, and one whose audit is under way."""
    with agent() as g, a.Client(g) as stays:
        stays.ask({"op": "ping"})
        before = g.nr_fds()
        gone = [a.Client(g), a.Client(g)]
        for c in gone:
            c.send(*big(("bitmap",)))
        for c in gone:
            c.receive()
            c.socket.close()
        answer = stays.audit(*files.request("digests", ("bitmap",)))
        a.poll(lambda: g.status()["audits_cancelled"] == 2)
        a.poll(lambda: g.status()["queue"] == 0)
        # two copies are cached: the snapshot, the column
        a.poll(lambda: g.nr_fds() <= before + 2)
    return None if "done" in answer else f"answered {answer}"


def killed():
    with agent() as g:
        child = os.fork()
        if child == 0:
            try:
                c = a.Client(g)
                c.send(*big())
                c.receive()
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        a.poll(lambda: g.status()["audits_cancelled"] == 1)
    return None


def share():
    """Without clients-per-user a user has half of the connections, rounded up."""
    a.needs_other_users()
    faults = []
    for all_of_them, most in (1, 1), (5, 3), (6, 3):
        with agent("--clients", str(all_of_them)) as g:
            os.chmod(g.path, 0o666)
            clients = [a.as_user(g, 4242) for _ in range(most + 1)]
            clients += [a.as_user(g, 4243) for _ in range(all_of_them - most + 1)]
            got = ["version" in (c.ask({"op": "ping"}) or {}) for c in clients]
            for c in clients:
                c.socket.close()
        want = [True] * most + [False] + [True] * (all_of_them - most) + [False]
        if got != want:
            faults.append(f"{all_of_them}: {got}")
    return "\n".join(faults)


def limited():
    with agent("--jobs-per-user", "2", "--clients-per-user", "4") as g:
        clients = [a.Client(g) for _ in range(4)]
        for c in clients[:2]:
            c.send(*big())
            c.receive()
        third = clients[2].audit(*files.request("digests"))
        fifth = a.Client(g).receive()
        for c in clients:
            c.socket.close()
        g.settle()
        with a.Client(g) as c:
            again = c.audit(*files.request("digests"))
    if third.get("errno") != 16 or fifth.get("errno") != 16:
        return f"answered {third}, {fifth}"
    return None if "done" in again else f"answered {again}"


def stopped():
    """SIGTERM: waiting clients are told, and the socket is removed."""
    with agent() as g:
        clients = [a.Client(g) for _ in range(3)]
        for c in clients:
            c.send(*big(("bitmap",)))
            c.receive()
        g.process.send_signal(signal.SIGTERM)
        ends = [c.end() for c in clients]
        status = g.process.wait(a.PATIENCE)
        for c in clients:
            if c.receive() is not None:
                return "still connected"
    if status or os.path.exists(g.path):
        return f"exit status {status}, socket: {os.path.exists(g.path)}"
    if any(e.get("errno") != 125 for e in ends):
        return f"answered {ends}"
    return None


def reloaded():
    """SIGHUP during an audit: it goes on, under new limits; with an invalid file everything
    stays."""
    conf = files.path("conf")
    a.write(conf, "# limits\njobs-per-user = 1\n")
    with agent("--config", conf) as g, a.Client(g) as much, \
            a.Client(g) as other:
        much.send(*big())
        much.receive()
        first = other.audit(*files.request("digests"))
        a.write(conf, "jobs-per-user = 5\n")
        g.reload()
        second = other.audit(*files.request("digests"))
        a.write(conf, "jobs-per-user = none\n")
        g.reload(rb"^warning: settings not changed")
        third = other.audit(*files.request("digests"))
        if not still_going(much):
            return "the big one did not go on"
        if not b"error: " + conf.encode() + b":1: jobs-per-user" in g.text():
            return f"the agent said {g.text()}"
    if first.get("errno") != 16 or "done" not in second or "done" not in third:
        return f"answered {first}, {second}, {third}"
    return None


def too_many_clients():
    """SIGHUP with more clients than there are descriptors for changes nothing."""
    conf = files.path("conf")
    a.write(conf, "clients = 8\njobs-per-user = 5\n")
    with agent("--config", conf) as g:
        resource.prlimit(g.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        a.write(conf, "clients = 4096\n")
        g.reload(rb"^warning: settings not changed|^settings reloaded")
        if not re.search(rb"^error: 4096 clients may need \d+ descriptors, but the "
                         rb"limit is 1024: ", g.text(), re.M):
            return f"the agent said {g.text()}"
        if b"settings reloaded" in g.text():
            return "they were taken"
    return None


class Slow:
    """An agent whose reads of large mappings take one turn for each of PIECES: for a filter
    that is copied, a mirror that is built, a snapshot that is checked. The first piece is
    held until release()."""

    def __init__(self, *args):
        if "EPF_SANITIZED" in os.environ:
            raise tap.Skip("what is preloaded comes before the sanitizer")
        self.events = files.path("slow")
        self.fake = files.path("device")
        inject, slow = (os.path.join(a.BIN, name) for name in ("inject.so", "slow.so"))
        if not os.path.exists(self.fake):
            os.mkdir(self.fake)
            self.run(inject, "create", "big", "-W", "4000000", "--lines",
                     str(PIECES << 14), "--lines-per-key", "1", "--bits-per-key", "7",
                     "--limit", "never")
            self.run(inject, "save", "big", files.path("bigsnap"))
        for name in (self.events, self.events + ".hold"):
            open(name, "w").close()
        self.agent = a.Agent(files.dir, "--memory", "256M", *args, env={
            "LD_PRELOAD": f"{slow}:{inject}", "EPF_SLOW": self.events,
            "EPF_FAKE": self.fake})

    def run(self, inject, *args):
        subprocess.run([a.EPFCTL, *args], check=True, capture_output=True,
                       env={**os.environ, "LD_PRELOAD": inject, "EPF_FAKE": self.fake})

    def __enter__(self):
        return self, self.agent.__enter__()

    def __exit__(self, *what):
        self.agent.__exit__(*what)
        files.close()

    def lines(self):
        with open(self.events) as f:
            return f.read().split()

    def held(self):
        a.poll(lambda: self.lines())

    def release(self):
        os.unlink(self.events + ".hold")


def slow_snapshot():
    message, fds = files.request("digests", ())
    fds[1] = files.fd("bigsnap")
    return message, fds


def slow_filter():
    message, fds = files.request("digests", ())
    message["fds"], message["filter"] = ["keys"], "big"
    return message, fds[:1]


def small_meanwhile(request, *args):
    """Slow work is under way when a small audit comes, which ends before the last piece."""
    with Slow(*args) as (slow, g), a.Client(g) as much, a.Client(g) as little:
        if request:
            much.send(*request())
        slow.held()
        little.send(*files.request("digests"))
        a.poll(lambda: g.status()["queue"] == 1 + bool(request))
        slow.release()
        answer = little.end()
        events = slow.lines()
    before = events[:events.index("asked")].count("piece")
    if "done" not in answer or not before < PIECES:
        return f"answered {answer} after {before} of {PIECES} pieces"
    return None


def ends_meanwhile(request):
    """At the first piece the client disconnects, or SIGTERM comes."""
    with Slow() as (slow, g):
        with a.Client(g) as c:
            c.send(*request())
            slow.held()
        a.poll(lambda: g.status()["clients"] == 1)
        slow.release()
        a.poll(lambda: g.status()["audits_cancelled"] == 1)
        gone = slow.lines().count("piece")
    with Slow() as (slow, g), a.Client(g) as c:
        c.send(*request())
        slow.held()
        g.process.send_signal(signal.SIGTERM)
        a.poll(lambda: "joined" in slow.lines())
        slow.release()
        answer = c.end()
        status = g.process.wait(a.PATIENCE)
        stopped = slow.lines().count("piece")
    if not (gone < PIECES and stopped < PIECES):
        return f"{gone} and {stopped} of {PIECES} pieces"
    if status or answer.get("errno") != 125:
        return f"exit status {status}, answered {answer}"
    return None


def mirror_stopped():
    with Slow("--mirror", "big") as (slow, g):
        slow.held()
        g.process.send_signal(signal.SIGTERM)
        a.poll(lambda: "joined" in slow.lines())
        slow.release()
        status = g.process.wait(a.PATIENCE)
        pieces = slow.lines().count("piece")
    return None if not status and pieces < PIECES else \
        f"exit status {status}, {pieces} of {PIECES} pieces"


def mirror_waited_for():
    """An audit that needs the mirror gets it when it is built."""
    with Slow("--mirror", "big") as (slow, g), a.Client(g) as c:
        slow.held()
        c.send(*slow_filter())
        a.poll(lambda: g.status()["queue"] == 1)
        slow.release()
        answer = c.end()
        status = g.status()
    return None if "done" in answer and status["mirror_copies"] == 1 and \
        status["cache_misses"] <= 1 else f"answered {answer}, {status}"


def copied_in_turn():
    """Two clients want the same filter, which has one snapshot at a time."""
    with Slow() as (slow, g), a.Client(g) as one, a.Client(g) as other:
        one.send(*slow_filter())
        slow.held()
        other.send(*slow_filter())
        a.poll(lambda: g.status()["queue"] == 2)
        slow.release()
        answers = one.end(), other.end()
        pieces = slow.lines().count("piece")
    return None if all("done" in answer for answer in answers) and \
        pieces == 2 * PIECES else f"answered {answers} after {pieces} pieces"


CASES = [
    ("a small audit is done before a big one that began first", small_first),
    ("so it is before one that finds no keys", keyless),
    ("and before one that defines templates again and again", dear_templates),
    ("and before one of a sparse capture without packets", dear_blocks),
    ("a long read ends when its client is gone, and at SIGTERM", dear_to_nobody),
    ("users take turns, not audits", user_by_user),
    ("clients that hang up cost nothing", leaves),
    ("a client that is killed costs nothing", killed),
    ("limits of audits and connections are one line each", limited),
    ("a user has half of the connections", share),
    ("SIGTERM with audits under way: all are told, nothing stays", stopped),
    ("SIGHUP: new limits, audits go on; a bad file changes nothing", reloaded),
    ("SIGHUP: more clients than descriptors", too_many_clients),
    ("a small audit is done while a snapshot is checked",
     lambda: small_meanwhile(slow_snapshot)),
    ("and while a filter is copied", lambda: small_meanwhile(slow_filter)),
    ("and while a mirror is built",
     lambda: small_meanwhile(None, "--mirror", "big")),
    ("a check ends when its client is gone, and at SIGTERM",
     lambda: ends_meanwhile(slow_snapshot)),
    ("so does a copy", lambda: ends_meanwhile(slow_filter)),
    ("building a mirror ends at SIGTERM", mirror_stopped),
    ("an audit waits for the mirror that it needs", mirror_waited_for),
    ("copies of one filter are made one after another", copied_in_turn),
]


def run(made):
    global files
    files = made
    a.sparse(files.dir, "sparse", BIG)
    return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(5000, run))
