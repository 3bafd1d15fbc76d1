# SPDX-License-Identifier: GPL-2.0
"""What can go wrong in a cluster, as context managers: the fault lasts for the block. Each
takes the cluster and yields the hosts whose "absent" must expire meanwhile, at least.
"""

import contextlib
import select
import signal

import cable


def others(c, *hosts):
    return [i for i in range(len(c.hosts)) if i not in hosts]


def pick(c):
    return c.random.randrange(len(c.hosts))


@contextlib.contextmanager
def agent_killed(c):
    """an agent is killed"""
    i = pick(c)
    c.hosts[i].ask("signal", signal.SIGKILL)
    yield range(len(c.hosts))
    c.start_agent(i)


@contextlib.contextmanager
def agent_restarted(c):
    """an agent ends and is started at once"""
    i = pick(c)
    c.hosts[i].ask("signal", signal.SIGTERM)
    c.start_agent(i)
    yield []  # it may be back before a promise expires


@contextlib.contextmanager
def agents_killed(c):
    """all agents are killed"""
    for node in c.hosts:
        node.ask("signal", signal.SIGKILL)
    yield range(len(c.hosts))
    for i in range(len(c.hosts)):
        c.start_agent(i)


@contextlib.contextmanager
def agent_stopped(c):
    """an agent is stopped, and goes on"""
    i = pick(c)
    c.hosts[i].ask("signal", signal.SIGSTOP)
    try:
        yield range(len(c.hosts))
    finally:
        c.hosts[i].ask("signal", signal.SIGCONT)


@contextlib.contextmanager
def broker_killed(c):
    """the broker is killed, and its memory is lost"""
    c.node.ask("signal", signal.SIGKILL)
    yield range(len(c.hosts))
    c.start_broker()


@contextlib.contextmanager
def broker_stopped(c):
    """the broker is stopped, and goes on"""
    c.node.ask("signal", signal.SIGSTOP)
    try:
        yield range(len(c.hosts))
    finally:
        c.node.ask("signal", signal.SIGCONT)


@contextlib.contextmanager
def broker_flaps(c):
    """the broker is killed four times, at random moments"""
    for _ in range(3):
        c.node.ask("signal", signal.SIGKILL)
        c.start_broker()
        select.select([], [], [], c.random.random())
    with broker_killed(c) as hosts:
        yield hosts


@contextlib.contextmanager
def unplugged(c):
    """the cable of a host is pulled"""
    i = pick(c)
    c.hosts[i].link(False)
    yield range(len(c.hosts))
    c.hosts[i].link(True)


@contextlib.contextmanager
def broker_unplugged(c):
    """the cable of the broker is pulled"""
    c.node.link(False)
    yield range(len(c.hosts))
    c.node.link(True)


def bad_cable(name, **how):
    @contextlib.contextmanager
    def fault(c):
        with cable.Bad(c.hosts[pick(c)], **how):
            yield []
    fault.__doc__ = name
    return fault


LOSS = bad_cable("a cable loses 5 % of the frames", loss=.05)
DELAY = bad_cable("a cable takes 200 ms", delay=.2)
NARROW = bad_cable("a cable carries 1 Mbit/s", rate=1e6)
JUMBLE = bad_cable("a cable doubles and reorders frames", double=.2, jitter=.05)
WORST = bad_cable("a cable loses, delays, doubles, reorders, at 1 Mbit/s", loss=.05,
                  delay=.1, double=.05, jitter=.02, rate=1e6)

SHORT = [agent_killed, broker_killed, agent_stopped, unplugged]
ALL = [*SHORT, agent_restarted, agents_killed, broker_stopped, broker_flaps, broker_unplugged, LOSS,
       DELAY, NARROW, JUMBLE, WORST]


def endure(c, fault):
    """The law before, in and after a fault, and full coverage in the end. Return what is
    wrong."""
    wrong = c.until_covered() or c.for_seconds(c.random.random())
    if wrong:
        return f"before: {wrong}"
    with fault(c) as expire:
        wrong = c.go_on(lambda: not any(c.each("covered", of=expire)), "that promises expire") \
            if expire else c.for_seconds(4 * c.lag)
    if wrong:
        return f"meanwhile: {wrong}"
    wrong = c.until_covered() or c.until_answers()
    return f"after: {wrong}" if wrong else None
