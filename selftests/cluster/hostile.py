#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Messages that a good host does not send: damaged, repeated, in another order, of another
key, from the future, of strangers, too many. They never make an answer wrong, are counted
under their reason, and hinder nobody else.
"""

import functools

import cluster
import ghost
import message
import tap
from ghost import SUBJECT

HOSTS, GHOST = 3, "ghost"


def of_peer(c, i, name):
    """What host i says about a peer."""
    return next(h for h in c.status(i)["hosts"] if h["host"] == name)


def refused(c, i, name, word):
    """How many messages of this peer host i refused for a reason with this word."""
    return sum(n for why, n in of_peer(c, i, name)["refused"].items() if word in why)


class Play:
    """A cluster with a ghost that lives: it sends a message in each round."""

    def __init__(self, c, line):
        self.c, self.line = c, line
        self.ghost = ghost.Ghost(c, GHOST, line)
        self.lag = None

    def rounds(self, until, what):
        """Rounds in which the ghost does its duty, until it is true. Return a fault."""
        def step():
            self.ghost.send(self.ghost.insert(self.c.random.randrange(4)))
            return until()
        return self.c.go_on(step, what)

    def covered(self):
        return self.rounds(self.c.covered, "full coverage")

    def refusal(self, name, word, send):
        """Send wrong messages in each round until all hosts have counted one of them; then all
        are covered."""
        before = [refused(self.c, i, name, word) for i in range(HOSTS)]

        def counted():
            send()
            return all(refused(self.c, i, name, word) > n for i, n in enumerate(before)
                       if self.c.names[i] != name)
        return self.rounds(counted, f"that '{word}' is counted") or self.covered()


def digests(p):
    """the digests of messages are those of the keys"""
    c = p.c
    key = c.fresh(1)[0]
    with ghost.connect(c) as line:
        line.subscribe(SUBJECT + "h0")
        c.oracle.insert(0, *c.hosts[0].ask("insert", [key])[0])
        while True:
            got = line.receive()
            if got != "PONG" and ghost.digest(key) in message.read(got[2])["digests"]:
                return None


def ordered(p):
    """a host whose messages come in order"""
    return p.covered() or p.c.until_answers()


def jumbled(p):
    """messages that come late, twice, and in another order"""
    c, held = p.c, []

    def step():
        held.extend(p.ghost.insert(c.random.randrange(4)) for _ in range(3))
        c.random.shuffle(held)
        while len(held) > 6:
            data = held.pop()
            p.ghost.send(data)
            if c.random.random() < .5:
                held.append(data)
        return len(sent) > 40 or sent.append(0)
    sent = []
    fault = c.go_on(step, "the end")
    for data in held:
        p.ghost.send(data)
    return fault or p.covered() or c.until_answers()


def repeated(p):
    """messages of other hosts, again"""
    c = p.c
    caught = ghost.listen(c, 40)
    c.random.shuffle(caught)
    before = [sum(h["repeats"] for h in c.status(i)["hosts"]) for i in range(HOSTS)]
    for subject, data in caught:
        p.ghost.send(data, subject)
    return p.rounds(lambda: all(sum(h["repeats"] for h in c.status(i)["hosts"]) > n
                                for i, n in enumerate(before)), "repeats") or p.covered()


def damaged(p):
    """messages with a wrong bit, cut, longer, empty"""
    random = p.c.random

    def send():
        data = bytearray(p.ghost.message())
        p.ghost.send(bytes(data))
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        for wrong in data, data[:at], data + b"x", b"":
            p.ghost.send(bytes(wrong))
    return p.refusal(GHOST, "damaged", send)


def other_key(p):
    """messages of another hash key: nothing of them is inserted"""
    c = p.c
    keys = [random | 1 << 61 for random in (c.random.getrandbits(48) for _ in range(8))]

    def send():
        f = p.ghost.fields
        data = message.write({**f, "seq": f["seq"] + 1, "digests": [ghost.digest(k) for k in keys]},
                             check0=f["check0"] ^ 1)
        p.ghost.send(data)
    fault = p.refusal(GHOST, "hash key", send)
    tap.may_fail(1e-6)
    if not fault and any(v == "present" for node in c.hosts for _, v, _, _ in node.ask("query", keys)):
        fault = "a digest of another key is present"
    return fault


def wrong(word, **fields):
    def send(p):
        f = p.ghost.fields
        p.ghost.send(message.write({**f, "seq": f["seq"] + 1, "digests": ()}, **{
            name: change(f[name]) for name, change in fields.items()}))
    return lambda p: p.refusal(GHOST, word, lambda: send(p))


FUTURE = wrong("end is in the future", to=lambda to: to + 3600 * 10**9)
FUTURE.__doc__ = "messages that end in an hour"
WINDOW = wrong("window", window=lambda w: w * 2)
WINDOW.__doc__ = "messages of another window"
SUBJECT_OF = wrong("subject", host=lambda _: b"h0")
SUBJECT_OF.__doc__ = "messages that name another host than their subject"


def stranger(p):
    """messages of a host that is not in the roster"""
    c = p.c
    before = [c.status(i)["strangers"] for i in range(HOSTS)]

    def counted():
        p.ghost.send(message.write({**p.ghost.fields, "host": b"nobody"}), SUBJECT + "nobody")
        return all(c.status(i)["strangers"] > n for i, n in enumerate(before))
    return p.rounds(counted, "that strangers are counted") or p.covered()


def not_its_subject(p):
    """the broker refuses what a host publishes for another one"""
    with ghost.connect(p.c, "h0") as line:
        try:
            line.publish(SUBJECT + "h1", b"x")
            line.flush()
        except ConnectionError as why:
            return None if "ermissions" in str(why) else f"{why}"
    return "it was accepted"


def flood(p):
    """a host that sends more than its rate is not covered, harms nobody, and comes back"""
    c = p.c
    junk = [c.random.getrandbits(64) for _ in range(1 << 14)]

    def send():
        for _ in range(8):
            p.ghost.send(p.ghost.message(junk))
    return p.refusal(GHOST, "more keys", send) or c.until_answers()


def ids(p):
    """a host that uses ids of another one's next messages in its own ones takes nothing away"""
    c, ahead, count = p.c, 20, 40
    with ghost.connect(c) as line:
        line.subscribe(SUBJECT + "h0")
        seq = 0
        while not seq:  # it knows the time
            seq = message.read(line.receive()[2])["seq"]
        name = line.headers.rsplit(b": ", 1)[1].rsplit(b".", 1)[0].decode()
    for number in range(seq + ahead, seq + ahead + count):
        p.line.publish(SUBJECT + GHOST, b"", Nats_Msg_Id=f"{name}.{number}")
    p.line.flush()
    others = [i for i in range(HOSTS) if c.names[i] != "h0"]

    def behind():
        with ghost.connect(c) as line:
            line.subscribe(SUBJECT + "h0")
            return message.read(line.receive()[2])["seq"] > seq + ahead + count
    fault = p.rounds(behind, "that the messages are sent")
    of = [of_peer(c, i, "h0") for i in others]
    if not fault and any(h["pending"] or h["gaps"] for h in of):
        fault = f"messages of h0 are missing: {of[0]}"
    return fault or p.covered()


def saturating(p):
    """a host that fills the filter of all within its rate is named, and nothing is called covered"""
    c = p.c

    def saturated():
        for _ in range(2):
            p.ghost.send(p.ghost.message([c.random.getrandbits(64) for _ in range(1 << 14)]))
        return all(c.status(i)["saturated"] for i in range(HOSTS))
    fault = p.covered() or p.rounds(saturated, "that it is saturated")
    of = [c.status(i) for i in range(HOSTS)]
    if not fault and any(s["covered"] or s["largest"]["host"] != GHOST for s in of):
        fault = f"{[(s['covered'], s['largest']) for s in of]}"
    return fault or p.covered()


def silent(p):
    """a host that is silent is named, and nothing is covered"""
    c = p.c

    def named():
        of = [of_peer(c, i, GHOST) for i in range(HOSTS)]
        return all(h["why"] == "silent" and not h["covered"] for h in of)
    fault = c.go_on(named, "that it is named")
    if not fault and any(c.each("covered")):
        fault = "covered without what it has to say"
    return fault or p.covered()


CASES = [digests, ordered, jumbled, repeated, damaged, other_key, FUTURE, WINDOW, SUBJECT_OF, stranger,
         not_its_subject, ids, saturating, flood, silent]


def main():
    cluster.require()
    with cluster.Cluster(HOSTS, roster=["h0", "h1", "h2", GHOST], nkeys=True,
                         **{"peer-rate": 100000}) as c:
        with ghost.connect(c) as line:
            p = Play(c, line)
            return tap.run(tap.chosen([(case.__doc__, functools.partial(case, p))
                                       for case in CASES]))


if __name__ == "__main__":
    raise SystemExit(main())
