#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""epfctl agent: what the agent says about itself and its audits, and the end of one
of them. Who may see and cancel what, and clients that ask for it without end.
"""

import errno
import json
import os
import signal
import subprocess

import agent as a
import tap

KEYS = 5000
VAST = 1 << 40  # its audit is not over before anything else that is done
CANCELLED = errno.ECANCELED
files = None
agent = None


def epfctl(*args, at=None, status=0):
    done = subprocess.run([a.EPFCTL, "agent", *args, "--agent", (at or agent).path],
                          capture_output=True, text=True, timeout=a.PATIENCE)
    if done.returncode != status:
        raise AssertionError(f"{args}: {done}")
    return done


def jobs(at=None):
    return json.loads(epfctl("-j", "jobs", at=at).stdout)


def status(at=None):
    return json.loads(epfctl("-j", "status", at=at).stdout)


def busy(client):
    """The client's audit has no end; returns its number."""
    known = {j["job"] for j in jobs()}
    client.send(*files.request("vast", ()))
    found = []

    def there():
        found[:] = [j["job"] for j in jobs() if j["job"] not in known]
        return found
    a.poll(there)
    files.close()
    return found[0]


def tells_about_itself():
    s = status()
    want = {"version", "uptime_ns", "queue", "audits_done", "watches", "filters",
            "holds", "last_error", "clients"}
    if want - set(s) or s["uptime_ns"] <= 0 or s["last_error"] is not None:
        return f"it says {s}"
    later = status()["uptime_ns"]
    if later <= s["uptime_ns"]:
        return f"up for {s['uptime_ns']}, then for {later}"
    text = epfctl("status").stdout
    return None if "up for" in text and "last message none" in text else text


def keeps_the_last_error():
    with open(files.path("nosnap"), "wb") as f:
        f.write(b"x" * 4096)
    message = {"op": "audit", "fds": ["keys", "snapshot"],
               "records": {"format": "column"}}
    with a.Client(agent) as c:
        end = c.audit(message, [files.fd("digests"), files.fd("nosnap")])
    files.close()
    last = status()["last_error"]
    if "error" not in end or not last or end["error"] not in last["text"] or \
            last["kind"] != "warning" or last["ago_ns"] < 0:
        return f"{end}, then {last}"
    return None if "ago" in epfctl("status").stdout else "the text has no time"


def lists_and_cancels():
    with a.Client(agent) as first, a.Client(agent) as second:
        one, two = busy(first), busy(second)
        a.poll(lambda: all(j.get("keys") for j in jobs()))
        before = {j["job"]: j["keys"] for j in jobs()}
        if list(before) != [one, two]:
            return f"jobs {before}, wanted {one}, {two}"
        a.poll(lambda: all(j["keys"] > before[j["job"]] for j in jobs()))
        told = jobs()[0]
        if told["uid"] != os.geteuid() or told["pid"] != os.getpid() or \
                not told["running"] or "engine" not in told or told["percent"] > 100:
            return f"it says {told}"
        if len(epfctl("jobs").stdout.splitlines()) != 3:
            return "the text has not two jobs"
        if json.loads(epfctl("cancel", str(one), "-j").stdout) != {"cancelled": one}:
            return "another answer to cancel"
        end = first.end()
        if end.get("errno") != CANCELLED or "cancelled" not in end["error"]:
            return f"the client was told {end}"
        if [j["job"] for j in jobs()] != [two]:
            return f"left: {jobs()}"
        kept = jobs()[0]["keys"]
        a.poll(lambda: jobs()[0]["keys"] > kept)
        epfctl("cancel", str(one), status=2)
        epfctl("cancel", str(two))
        second.end()
    agent.settle()
    return None if status()["audits_cancelled"] == 2 else f"{status()}"


def pages():
    """More jobs than one reply has."""
    clients = [a.Client(agent) for _ in range(20)]
    for c in clients:
        c.send(*files.request("vast", ()))
    files.close()
    a.poll(lambda: len(jobs()) == 20)
    numbers = [j["job"] for j in jobs()]
    with a.Client(agent) as c:
        page = c.ask({"op": "jobs", "after": numbers[3]})
    for c in clients:
        c.socket.close()
    agent.settle()
    if numbers != sorted(set(numbers)):
        return f"jobs {numbers}"
    got = [j["job"] for j in page["jobs"]]
    if got != numbers[4:12] or not page["more"]:
        return f"a page has {got}"
    return f"left: {jobs()}" if jobs() else None


def users():
    if os.geteuid():
        raise tap.Skip("needs root to be other users")
    os.chmod(agent.path, 0o666)
    with a.Client(agent) as ours, a.as_user(agent, 4242) as theirs, \
            a.as_user(agent, 4242) as asks:
        mine = busy(ours)
        yours = busy(theirs)
        seen = asks.ask({"op": "jobs"})
        if [j["job"] for j in seen["jobs"]] != [yours]:
            return f"user 4242 sees {seen}"
        refused = asks.ask({"op": "cancel", "job": mine})
        if refused.get("errno") != errno.ESRCH:
            return f"user 4242 cancels the job of root: {refused}"
        if "last_error" in asks.ask({"op": "status"})["status"]:
            return "user 4242 sees messages about others"
        if asks.ask({"op": "cancel", "job": yours}) != {"cancelled": yours}:
            return "user 4242 cannot cancel his own job"
        theirs.end()
        if [j["job"] for j in jobs()] != [mine]:
            return f"left: {jobs()}"
    agent.settle()
    return None


def rubbish():
    """Each gets one line; numbers of other types and ranges, and descriptors."""
    messages = [{"op": "jobs", "after": x} for x in (-1, 1.5, "1", None, [], 1 << 63)]
    messages += [{"op": "cancel", "job": x} for x in
                 (0, -1, 1.5, "1", None, {}, True, (1 << 63) - 1)]
    messages += [{"op": "cancel"}, {"op": "jobs", "x": 1}, {"op": "cancel", "job": 1, "x": 1}]
    with a.Client(agent) as c:
        for m in messages:
            answer = c.ask(m)
            if "error" not in answer or "\n" in answer["error"] or \
                    answer["errno"] not in (errno.ESRCH, errno.EINVAL):
                return f"{m}: {answer}"
        for op in ("jobs", "cancel"):
            answer = c.ask({"op": op, "job": 1} if op == "cancel" else {"op": op},
                           [files.fd("digests")])
            files.close()
            if answer.get("errno") != errno.EINVAL:
                return f"{op} with a descriptor: {answer}"
        return None if "jobs" in c.ask({"op": "jobs"}) else "no jobs"


def floods():
    """30 clients that ask without end and never read: another client is served, and an
    audit goes on."""
    def ask_more(c):
        try:
            while True:
                c.socket.send(b'{"op":"jobs"}')
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            return

    deaf = [a.Client(agent) for _ in range(30)]
    for d in deaf:
        d.socket.settimeout(0)
    with a.Client(agent) as c:
        number = busy(c)
        for _ in range(20):
            for d in deaf:
                ask_more(d)
            before = jobs()[0]["keys"]
            a.poll(lambda: jobs()[0]["keys"] > before)
        grown = agent.rss_kib()
        epfctl("cancel", str(number))
        c.end()
    for d in deaf:
        d.socket.close()
    agent.settle()
    if "EPF_SANITIZED" not in os.environ and grown - base_kib > 48 * 1024:
        return f"grown by {grown - base_kib} KiB"
    return None


def watched():
    """A cancelled audit of a watched file leaves nothing, and is done again."""
    own = os.path.join(files.dir, "watched")
    os.mkdir(own)
    a.sparse(own, "keys", VAST)
    with a.Agent(files.dir, "--watch", f"{own}={files.path('snap')}", name="w") as g:
        a.poll(lambda: jobs(g))
        job = jobs(g)[0]
        if job.get("file") != os.path.join(own, "keys") or "uid" in job:
            return f"the job is {job}"
        epfctl("cancel", str(job["job"]), at=g)
        a.poll(lambda: not jobs(g))
        left = sorted(os.listdir(own))
        if left != ["keys"]:
            return f"left: {left}"
        g.process.send_signal(signal.SIGHUP)
        a.poll(lambda: jobs(g))
        if jobs(g)[0]["job"] == job["job"]:
            return "the same job again"
    return None


def nobody():
    """No agent, and one that says nothing."""
    gone = subprocess.run([a.EPFCTL, "-j", "agent", "status", "--agent",
                           files.path("none")], capture_output=True, text=True)
    why = json.loads(gone.stderr)
    if gone.returncode != 2 or why["errno"] != "ENOENT" or why["verb"] != "agent" or \
            why["status"] != 2 or gone.stdout:
        return f"without an agent: {gone}"
    with a.socket.socket(a.socket.AF_UNIX, a.socket.SOCK_SEQPACKET) as s:
        s.bind(files.path("mute"))
        s.listen()
        mute = subprocess.run([a.EPFCTL, "agent", "jobs", "--agent", files.path("mute")],
                              capture_output=True, text=True, timeout=a.PATIENCE)
    if mute.returncode != 2 or "does not answer" not in mute.stderr:
        return f"of an agent that says nothing: {mute}"
    return None


CASES = [
    ("it tells about itself", tells_about_itself),
    ("it keeps the last error", keeps_the_last_error),
    ("audits are listed with their progress, and one is cancelled", lists_and_cancels),
    ("more audits than a reply has", pages),
    ("users see and cancel only their own audits", users),
    ("requests of wrong types and ranges", rubbish),
    ("clients that ask without end and never read", floods),
    ("a watched file's audit is listed and cancelled", watched),
    ("no agent, and one that does not answer", nobody),
]


def run(f):
    global files, agent, base_kib
    files = f
    a.sparse(files.dir, "vast", VAST)
    with a.Agent(files.dir, "--hold", "no") as agent:
        agent.settle()
        base_kib = agent.rss_kib()
        return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(KEYS, run))
