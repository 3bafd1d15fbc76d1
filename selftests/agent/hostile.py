#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Clients that lie, send garbage, pass descriptors that are no files, truncate files while
they are read, flood, or never read answers: each gets one line or is disconnected; the
agent survives, leaks no descriptor and does not grow.
"""

import copy
import errno
import gzip
import json
import lzma
import os
import resource
import signal
import socket
import struct
import subprocess
import time

import agent as a
import tap

KEYS = 5000
BIG = 1 << 24
VAST = 1 << 40  # so large that its audit does not end before anything else that happens
MESSAGE_MAX = 16384
files = None
agent = None


def refused(answer, what):
    """Check that the answer is one line with a reason. Return None, or what is wrong."""
    if answer is None:
        return None  # hung up
    text, number = answer.get("error"), answer.get("errno")
    if not isinstance(text, str) or not text or "\n" in text or \
            len(text) > 300 or not 0 < number < 4096:
        return f"{what}: answered {answer}"
    return None


def alive():
    with a.Client(agent) as c:
        if c.ask({"op": "ping"}).get("protocol") != 1:
            return "no answer to ping"
    return None


def each(messages, fds=()):
    """Each is refused, on its own connection and on a shared one."""
    with a.Client(agent) as one:
        for what, message in messages:
            with a.Client(agent) as c:
                c.send(message, fds)
                fault = refused(c.receive(), what)
            if fault:
                return fault
            one.send(message, fds)
            fault = refused(one.receive(), what)
            if fault:
                return fault
    return alive()


def rubbish():
    r = tap.drawn(1)
    sound = json.dumps(files.request()[0]).encode()
    files.close()
    messages = [
        ("no JSON", b"\x00"), ("a word", b"audit"), ("a list", b"[]"),
        ("null", b"null"), ("no op", b"{}"), ("op 7", b'{"op": 7}'),
        ("op none", b'{"op": "none"}'), ("more", b'{"op": "ping", "x": 1}'),
        ("deep", b"[" * MESSAGE_MAX), ("deep objects", b'{"a":' * 3000),
        ("not UTF-8", b'{"op": "\xff\xfe"}'), ("NUL", b'{"op": "a\\u0000b"}'),
        ("twice", b'{"op": "ping", "op": "ping"}'),
        ("number", b'{"op": 1e999}'), ("digits", b'{"op": ' + b"9" * 9000 + b"}"),
        ("after", b'{"op": "ping"} {"op": "ping"}'),
        ("open", b'{"op": "ping"'),
        ("newlines", b'{"op": "audit", "a\\nb\\u001b": 1}'),
    ]
    for i in range(300):
        text = bytearray(sound)
        for _ in range(r.randrange(1, 4)):
            text[r.randrange(len(text))] = r.randrange(256)
        messages.append((f"sound but for a byte, {i}", bytes(text[:-1])))
    return each(messages)


def too_long():
    room = MESSAGE_MAX - len(b'{"op": "ping"}')
    with a.Client(agent) as c:
        if "version" not in c.ask(b'{"op": "ping"}' + b" " * room):
            return "the longest message was refused"
    return each([(f"{n} bytes more", b'{"op": "ping"}' + b" " * (room + n))
                 for n in (1, 2, 1000, 100000)])


BAD = [None, True, -1, 1 << 32, (1 << 63) - 1, -(1 << 63), 1.5, "", "x" * 2000,
       "a\nb", [], {}, [[]], ["keys"] * 9, {"x": 1}]
# values of BAD that are valid in these places
SOUND = {("absent", True), ("engine", ""), ("filter", ""), ("records.digest", True),
         ("records.hex", True), ("records.header", True),
         ("records.skip_bad", True), ("records.multiline", True), ("records.fields", ""),
         ("from.record_bytes", 1 << 32),
         ("from.record_bytes", (1 << 63) - 1)}


def members(message):
    """Yield (name, value, message): valid messages with one member replaced."""
    whole = copy.deepcopy(message)
    whole.update(key_len=0, absent=False, threads=1, engine="scalar", filter="")
    whole["from"] = {"keys": 0, "present": 0, "ages": [0] * a.AGES,
                     "record_bytes": 0}
    whole["records"].update(digest=False, hex=False, header=False,
                            skip_bad=False, multiline=False, separator=44, joint=44, key=0,
                            link=0, flags=0, max_bytes=0, fields="1")
    for path in [(k,) for k in whole] + [("records", k)
                                         for k in whole["records"]] + \
            [("from", k) for k in whole["from"]]:
        for bad in BAD:
            m = copy.deepcopy(whole)
            at = m
            for k in path[:-1]:
                at = at[k]
            at[path[-1]] = bad
            yield ".".join(path), bad, m


def wrong_members():
    message, fds = files.request()
    fault = None
    with a.Client(agent) as c:
        for name, bad, m in members(message):
            answer = c.audit(m, fds)
            sound = isinstance(bad, (str, bool, int)) and (name, bad) in SOUND
            if sound != ("done" in answer):
                fault = f"{name} = {bad!r:.40}: answered {answer}"
            fault = fault or (not sound and refused(answer, name)) or None
    files.close()
    return fault or alive()


def descriptors():
    """0, 1, and 253 descriptors; words other than descriptors; two of the same word."""
    message, fds = files.request()
    for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 253):
        lies = [fds[i % 3] for i in range(n)]
        if n != 3:
            fault = each([(f"{n} descriptors", message)], lies)
            if fault:
                return fault
    fault = each([(f"{names}", {**message, "fds": names})
                  for names in ([], ["keys"], ["keys"] * 3, [1, 2, 3],
                                ["keys", "snapshot", "other"],
                                ["bitmap", "snapshot", "ages"])], fds)
    files.close()
    return fault or each([(f"{op}", {"op": op}) for op in ("ping", "status")],
                         [0])


def no_files():
    """Descriptors that are not regular files, or not open in the required mode."""
    message, fds = files.request()
    keys, snap, bitmap = fds
    pipe, end = os.pipe()
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    others = {
        "a directory": os.open("/", os.O_RDONLY),
        "a device": os.open("/dev/zero", os.O_RDWR),
        "a terminal": os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY),
        "a pipe": pipe, "a socket": theirs.fileno(),
        "an O_PATH": os.open(files.path("digests"), os.O_PATH),
        "memory": os.open("/proc/self/mem", os.O_RDWR),
        "an eventfd": os.eventfd(0),
    }
    wrong = {
        0: {**others, "only for writing": files.fd("w", os.O_WRONLY | os.O_CREAT)},
        1: {**others, "only for writing": files.fd("w", os.O_WRONLY)},
        2: {**others, "only for reading": files.fd("digests"),
            "for appending": files.fd("w", os.O_RDWR | os.O_APPEND)},
    }
    fault = None
    for place, cases in wrong.items():
        for what, fd in cases.items():
            lies = list(fds)
            lies[place] = fd
            fault = fault or each([(f"{what} for {message['fds'][place]}",
                                    message)], lies)
    for fd in [*others.values()][:3] + [pipe, end, others["an O_PATH"],
                                        others["memory"], others["an eventfd"]]:
        os.close(fd)
    ours.close()
    theirs.close()
    files.close()
    return fault


def other_file_systems():
    """Regular files of the kernel or of a process."""
    message, fds = files.request()
    fault = None
    for place, path, flags in ((0, "/sys/kernel/uevent_seqnum", os.O_RDONLY),
                               (1, "/proc/version", os.O_RDONLY),
                               (2, "/proc/self/oom_score_adj", os.O_RDWR)):
        lies = list(fds)
        lies[place] = os.open(path, flags)
        with a.Client(agent) as c:
            answer = c.ask(message, lies)
        os.close(lies[place])
        if answer.get("errno") != 95 or "file system" not in answer["error"]:
            fault = f"{path}: answered {answer}"
    files.close()
    return fault


def bad_contents():
    """Valid requests with invalid files."""
    def audit(keys="digests", snap="snap", **more):
        message, fds = files.request(keys, **more)
        fds[1] = files.fd(snap)
        with a.Client(agent) as c:
            answer = c.audit(message, fds)
        files.close()
        return answer
    whole = files.read("snap")
    for name, data in (("empty", b""), ("short", whole[:1000]),
                       ("cut", whole[:-1]), ("long", whole + b"x"),
                       ("spoilt", whole[:-1] + bytes([whole[-1] ^ 1])),
                       ("zeros", bytes(len(whole)))):
        a.write(files.path(name), data)
        fault = refused(audit(snap=name), name)
        if fault or "error" not in audit(snap=name):
            return fault or f"{name}: accepted"
    for what, more in (("not whole keys", {"key_len": 7}),
                       ("no CSV", {"records": {"format": "csv", "fields": "9"}}),
                       ("no capture", {"records": {"format": "pcap"}}),
                       ("too far", {"from": {
                           "keys": 1 << 60, "present": 0, "ages": [0] * a.AGES,
                           "record_bytes": 0}}),
                       ("no such engine", {"engine": "none"})):
        answer = audit(**more)
        if refused(answer, what) or "error" not in answer:
            return f"{what}: answered {answer}"
    return alive()


def compressed():
    """Compressed records: windows above the agent's limit are refused, and the memory of a
    window counts. A long block of a capture ends."""
    wide = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 64 << 20}]
    cut = gzip.compress(files.read("keys.csv"))[:-9]
    for memory, what, number, data in (
            ("64M", "cut off", errno.EBADMSG, cut),
            ("64M", "more than 8 MiB", errno.E2BIG, lzma.compress(b"a\n", filters=wide)),
            ("17M", "needs 18 MiB", errno.EOPNOTSUPP, cut)):
        with open(files.path("packed"), "wb") as f:
            f.write(data)
        with a.Agent(files.dir, "--memory", memory, name="packing") as g, a.Client(g) as c:
            answer = c.audit(*files.request("packed", records={"format": "csv"}))
        files.close()
        if answer.get("errno") != number or what not in answer["error"]:
            return f"{what}: answered {answer}"
    a.write(files.path("packed"), gzip.compress(pcapng(60000)))
    with a.Agent(files.dir, "--memory", "512M", name="packing") as g, a.Client(g) as c:
        answer = c.audit(*files.request("packed", records={"format": "pcap"}))
    files.close()
    if answer.get("done", {}).get("mark", {}).get("keys") != 1:
        return f"a block longer than what is read ahead: answered {answer}"
    return alive()


def pcapng(comment):
    """One frame, behind a section header with a comment of so many bytes, a multiple of 4."""
    def block(kind, body):
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size
    return block(0x0A0D0D0A, struct.pack("<IHHqHH", 0x1A2B3C4D, 1, 0, -1, 1, comment) +
                 bytes(comment + 4)) + block(1, struct.pack("<HHI", 1, 0, 65535)) + \
        block(6, struct.pack("<IIIII", 0, 0, 1, 60, 60) + bytes(60))


def own_marks():
    """A checkpoint that the client made up. Its bitmap has more than the checkpoint says,
    also in the byte in which the checkpoint ends, which is answered again; its records are
    fewer than the checkpoint says, or as many."""
    want, fault = files.read("bitmap"), None
    csv = {"format": "csv", "header": True, "fields": "key"}

    def go_on(source, mark, **more):
        start = {"keys": mark, "present": 0, "ages": [0] * a.AGES,
                 "record_bytes": 0}
        message, fds = files.request(source, **more, **{"from": start})
        known = bytearray(want[:(mark + 7) // 8])
        if mark % 8:
            known[-1] |= 0xFF << mark % 8 & 0xFF
        os.pwrite(fds[2], known + b"\xff" * 50, 0)
        with a.Client(agent) as c:
            answer = c.audit(message, fds)
        files.close()
        return answer
    with a.Client(agent) as c:
        whole = c.audit(*files.request("column", key_len=12))
    files.close()
    for source, more in (("column", {"key_len": 12}),
                         ("keys.csv", {"records": csv})):
        for mark in (1, 7, 8, 1003, KEYS - 401, KEYS - 1, KEYS):
            answer = go_on(source, mark, **more)
            got = files.read("bitmap.out")[:len(want)]
            if "error" in answer or got != want or \
                    answer["done"]["bitmap_xxh3"] != \
                    whole["done"]["bitmap_xxh3"]:
                return f"{source} from {mark}: {answer}"
        answer = go_on(source, KEYS + 1, **more)
        if answer.get("errno") != 22 or "fewer" not in answer["error"]:
            fault = fault or f"{source}, too few: {answer}"
    return fault or alive()


def far_on():
    """It resumes after 2^43 keys, with a bitmap that takes long to read: others are served
    meanwhile, and it ends when its client is gone. There are no more records than bytes."""
    far = {"keys": 1 << 43, "present": 0, "ages": [0] * a.AGES,
           "record_bytes": 0}
    os.truncate(a.sparse(files.dir, "long", 0), (1 << 43) + 64)
    message, fds = files.request("long", key_len=1, **{"from": far})
    os.truncate(fds[2], far["keys"] // 8)
    with a.Client(agent) as c:
        c.send(message, fds)
        if "state" not in c.receive():
            return "it did not begin"
        with a.Client(agent) as other:
            answer = other.audit(*files.request(outputs=()))
        if "done" not in answer:
            return f"another audit: {answer}"
    agent.settle()
    message, fds = files.request("keys.csv", records={"format": "csv"},
                                 **{"from": far})
    os.truncate(fds[2], far["keys"] // 8)
    with a.Client(agent) as c:
        answer = c.audit(message, fds)
    files.close()
    os.unlink(files.path("long"))
    return refused(answer, "records") or alive()


def taken_away(place, keys, format="column"):
    """A file is truncated at once, and during the audit."""
    whole = None if place == "vast" else files.read(place)
    for early in (True, False):
        message, fds = files.request(keys, records={"format": format})
        with a.Client(agent) as c:
            c.send(message, fds)
            first = None if early else c.receive()
            os.truncate(files.path(place), 0)
            answer = c.end() if early or not a.is_last(first) else first
        files.close()
        if place == "vast":
            os.truncate(files.path(place), VAST * 8)
        else:
            a.write(files.path(place), whole)
        if answer is None or ("error" in answer and refused(answer, place)):
            return f"answered {answer}"
        if place == "vast" and not early and "error" not in answer:
            return f"answered {answer}"
    return alive()


def outputs_taken_away():
    message, fds = files.request("sparse", ("bitmap", "ages"))
    with a.Client(agent) as c:
        c.send(message, fds)
        for _ in range(20):
            answer = c.receive()
            if answer is None or "done" in answer or "error" in answer:
                break
            os.ftruncate(fds[2], 0)
            os.ftruncate(fds[3], 1)
    files.close()
    return alive()


def flood():
    """More connections than the limit: one line for each, and the others work."""
    clients = [a.Client(agent) for _ in range(300)]
    answers = [c.ask({"op": "ping"}) for c in clients]
    taken = sum("version" in (answer or {}) for answer in answers)
    refused = sum((answer or {}).get("errno") == 16 for answer in answers)
    if not 0 < taken <= 64 or taken + refused != 300:
        return f"{taken} were taken, {refused} refused"
    for c in clients:
        c.socket.close()
    agent.settle()
    return alive()


def deaf():
    """A client that sends requests without end, one of them an audit, and never reads an
    answer."""
    with a.Client(agent) as c:
        c.send(*files.request("sparse"))
        c.socket.setblocking(False)
        for op in ("ping", "status", "none"):
            try:
                for _ in range(100000):
                    c.send({"op": op})
                return "the agent took everything"
            except BlockingIOError:
                pass
        fault = alive()
        with a.Client(agent) as other:
            answer = other.audit(*files.request())
        files.close()
    if "done" not in answer:
        return f"answered {answer}"
    agent.settle()
    return fault


def hangs_up():
    """Disconnect at every moment: with a request unread, with answers unread."""
    r = tap.drawn(2)
    for i in range(300):
        message, fds = files.request()
        c = a.Client(agent)
        n = r.randrange(1, 4)
        for _ in range(n):
            c.send(message, fds)
        for _ in range(min(r.randrange(3), n)):  # only one answer for each is certain
            c.receive()
        c.socket.close()
        files.close()
    agent.settle()
    return alive()


def itself():
    """A client passes its own connection as a descriptor, which would be a cycle if it were
    kept."""
    message, fds = files.request()
    for _ in range(100):
        with a.Client(agent) as c:
            lies = [c.socket.fileno()] * 3
            fault = refused(c.ask(message, lies), "itself")
            c.send(message, lies)
        if fault:
            return fault
    files.close()
    return alive()


def strangers():
    """A user not on the list gets one line. On it, by one of 1024 groups, the user gets an answer."""
    a.needs_other_users()

    def asks(uid, gids):
        end, child_end = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                a.become(uid, gids)
                answer = a.Client(g).ask({"op": "ping"})
                os.write(child_end, json.dumps(answer).encode())
            finally:
                os._exit(0)
        os.close(child_end)
        os.waitpid(child, 0)
        answer = json.loads(os.read(end, 4096))
        os.close(end)
        return answer
    with a.Agent(files.dir, "--allow-uid", "4242", "--allow-gid", "4343",
                 name="listed") as g:
        os.chmod(g.path, 0o666)
        if "version" not in asks(4242, []) or "version" not in asks(4, [5, 4343]):
            return "one on the list was refused"
        others = list(range(10000, 11023))
        if "version" not in asks(4, [*others, 4343]):
            return "one of 1024 groups was refused"
        if any(asks(*user).get("errno") != 13 for user in ((4243, [4344]), (4, [4, 4343, *others]))):
            return "one not on the list, or of 1025 groups, was not refused"
    with a.Agent(files.dir, name="mode") as g:
        if os.stat(g.path).st_mode & 0o777 != 0o660:
            return "the socket has another mode"
    return None


def beyond_limits():
    """Settings one beyond the valid range are refused, and the one before is accepted."""
    for good, bad, why in (
            (("--allow-uid", "4294967294"), ("--allow-uid", "4294967295"),
             "there is no such user"),
            (("--mirror", "x:24"), ("--mirror", "y:25"), "too large: at most 24"),
            (("--jobs", "65536"), ("--jobs", "65537"), "at most 65536"),
            (("--clients", "4096"), ("--clients", "4097"), "at most 4096")):
        ran = subprocess.run([a.AGENT, "--config", "/dev/null", "--socket",
                              files.path("none"), *good, *bad],
                             capture_output=True, timeout=a.PATIENCE)
        text = ran.stderr.decode()
        if not ran.returncode or text.count("\n") != 1 or why not in text or \
                bad[1].split(":")[-1] not in text:
            return f"{bad}: {ran}"
    return None


class Lingering:
    """A connection without a reader whose last close() blocks until the end of a 'with':
    more is to be sent than the other side ever reads."""

    def __enter__(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.mine = socket.create_connection(server.getsockname())
            self.other = server.accept()[0]
        self.mine.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 1 << 20))
        self.mine.setblocking(False)
        try:
            while True:
                self.mine.send(bytes(1 << 16))
        except BlockingIOError:
            return self

    def given_to(self, client, message, times=1):
        client.send(message, [self.mine.fileno()] * times)
        self.mine.close()

    def __exit__(self, *_):
        self.other.close()


def slow_to_close():
    """Descriptors that block the agent's close(): of a request that is refused, of one with
    too many descriptors, of one that is never read, because its connection is one too many.
    All other clients are answered, and the culprit has fewer connections until they are
    closed."""
    with a.Agent(files.dir, "--clients-per-user", "4", name="slow") as g, \
            Lingering() as one, Lingering() as many, Lingering() as unread:
        os.kill(g.pid, signal.SIGSTOP)  # a close() does not block beyond the agent's end
        held = [a.Client(g) for _ in range(3)]
        one.given_to(held[0], {"op": "ping"})
        many.given_to(held[1], {"op": "ping"}, 100)
        with a.Client(g) as c, a.Client(g) as refused:
            unread.given_to(refused, {"op": "ping"})
            os.kill(g.pid, signal.SIGCONT)
            if "version" not in c.ask({"op": "ping"}):
                return "another client is not answered"
            if refused.receive().get("errno") != 16:
                return "a fifth connection is not refused"
            if "done" not in c.audit(*files.request()):
                return "an audit is not done"
            for client in held:
                client.socket.close()
            a.poll(lambda: c.ask({"op": "status"})["status"]["clients"] == 3)
            for lingering in (one, many):
                lingering.other.close()
            a.poll(lambda: c.ask({"op": "status"})["status"]["clients"] == 1)
        files.close()
        status = g.stop()
    return f"exit status {status}" if status else None


def no_longer_allowed():
    """A user connects while on the list, and is not on it after SIGHUP: one line."""
    a.needs_other_users()
    conf = files.path("allow.conf")
    a.write(conf, "allow-uid = 4242\n")
    with a.Agent(files.dir, "--config", conf, name="sighup") as g:
        os.chmod(g.path, 0o666)
        with a.as_user(g, 4242) as c:
            if "version" not in c.ask({"op": "ping"}):
                return "one on the list was refused"
            a.write(conf, "allow-uid = 4243\n")
            g.reload()
            for op in ("status", "audit"):
                answer = c.ask({"op": op})
                if answer.get("errno") != 13:
                    return f"{op}: answered {answer}"
    return None


def without_descriptors():
    """No descriptor is left for a waiting connection: the agent does not spin meanwhile,
    and accepts it when there are some."""
    with a.Agent(files.dir, name="few") as g:
        limit = resource.prlimit(g.pid, resource.RLIMIT_NOFILE)
        low = max(map(int, os.listdir(f"/proc/{g.pid}/fd"))) + 1
        resource.prlimit(g.pid, resource.RLIMIT_NOFILE, (low, limit[1]))
        with a.Client(g) as c:
            before = g.cpu_seconds()
            try:  # nothing arrives: this time shows what the agent does meanwhile
                c.socket.settimeout(3)
                return f"answered {c.ask({'op': 'ping'})}"
            except TimeoutError:
                spent = g.cpu_seconds() - before
            resource.prlimit(g.pid, resource.RLIMIT_NOFILE, limit)
            c.socket.settimeout(a.PATIENCE)
            if "version" not in c.receive():
                return "no answer when there are descriptors"
    return f"{spent} s of CPU" if spent > 1 else None


def without_threads():
    """No descriptor is left for what a client sends: the agent does not spin meanwhile, and
    answers when there are some, even if no other client sends anything."""
    if "EPF_SANITIZED" in os.environ:
        raise tap.Skip("what is preloaded comes before the sanitizer")
    scarce = files.path("no-threads")
    env = {"LD_PRELOAD": os.path.join(a.BIN, "die.so"), "EPF_NO_THREADS": scarce}
    with a.Agent(files.dir, name="threads", env=env) as g, a.Client(g) as c:
        with open(scarce, "w"):  # before the first work item, whose thread might go on
            before = g.cpu_seconds()
        try:  # nothing arrives: this time shows what the agent does meanwhile
            c.socket.settimeout(3)
            return f"answered {c.ask({'op': 'ping'})}"
        except TimeoutError:
            spent = g.cpu_seconds() - before
        os.unlink(scarce)
        c.socket.settimeout(a.PATIENCE)
        if "version" not in c.receive():
            return "no answer when there are threads"
    return f"{spent} s of CPU" if spent > 1 else None


def none_for_files():
    """No descriptor is left for those of a request: the answer says so."""
    with a.Agent(files.dir, name="none") as g, a.Client(g) as c:
        c.ask({"op": "ping"})
        limit = resource.prlimit(g.pid, resource.RLIMIT_NOFILE)
        low = max(map(int, os.listdir(f"/proc/{g.pid}/fd"))) + 1
        resource.prlimit(g.pid, resource.RLIMIT_NOFILE, (low, limit[1]))
        answer = c.ask(*files.request())
        resource.prlimit(g.pid, resource.RLIMIT_NOFILE, limit)
        again = c.audit(*files.request())
    files.close()
    if answer.get("errno") != 24 or "done" not in again:
        return f"answered {answer}, {again}"
    return None


def readers_share():
    """Readers count against the memory limit, those of one user against half of it: of six
    audits of one user four run, and another user's audit runs too."""
    a.needs_other_users()
    a.sparse_pcapng(files.path("endless"), 256, (1 << 32) - 4)
    endless = {"format": "pcap"}
    csv = {"format": "csv", "header": True, "fields": "key"}
    with a.Agent(files.dir, "--memory", "66M", name="share") as g:
        os.chmod(g.path, 0o666)
        clients = [a.as_user(g, 4242) for _ in range(6)]
        for c in clients:
            c.send(*files.request("endless", (), records=endless))
        first = [c.receive() for c in clients]
        held = g.status()["cache_bytes"]
        with a.as_user(g, 4243) as c:
            other = c.audit(*files.request("keys.csv", (), records=csv))
        for c in clients:
            c.socket.close()
        g.settle()
        left = g.status()["cache_bytes"]
    files.close()
    run = sum("error" not in answer for answer in first)
    busy = sum(answer.get("errno") == 16 for answer in first)
    if (run, busy) != (4, 2) or "done" not in other:
        return f"{run} run, {busy} are refused: {first}, {other}"
    if held < 4 << 23 or left >= 1 << 23:
        return f"{held} bytes held, {left} left"
    return None


def copies_bounded():
    """Small files, each asked for once: the cache keeps 256 copies, so that descriptors do
    not run out."""
    names = [files.path(f"small{i}") for i in range(300)]
    for name in names:
        a.write(name, files.read("digests")[:8])
    with a.Agent(files.dir, name="small") as g, a.Client(g) as c:
        a.poll(lambda: time.time() > os.stat(names[-1]).st_ctime + 3)
        c.ask({"op": "ping"})
        before = g.nr_fds()
        for name in names:
            answer = c.audit(*files.request(os.path.basename(name), ()))
            files.close()
            if "done" not in answer:
                return f"answered {answer}"
        a.poll(lambda: g.nr_fds() - before <= 256)  # those of the last request are closed later
        kept = g.nr_fds() - before
    return None if kept == 256 else f"{kept} descriptors more"


def readers_bounded():
    """Five clients with 4 MB of templates each, all of which must be remembered."""
    with open(files.path("templates"), "wb") as f:
        for i in range(63):
            f.write(a.ipfix_templates(256 + 16 * i, 1000))
    with a.Agent(files.dir, name="bounded") as g:
        clients = [a.Client(g) for _ in range(5)]
        clients[0].audit(*files.request())  # memory that the first audit allocates once
        before = g.peak_kib()
        for c in clients:
            c.send(*files.request("templates", (), records={
                "format": "ipfix", "key": 2, "skip_bad": True}))
        ends = [c.end() for c in clients]
        grown = g.peak_kib() - before
        for c in clients:
            c.socket.close()
    files.close()
    if any("limit" not in end.get("error", "") for end in ends):
        return f"answered {ends}"
    if "EPF_SANITIZED" not in os.environ and grown > 5 * 8192:
        return f"grown by {grown} KiB; a reader has 8 MiB at most"
    return None


def nothing_kept():
    """Check the agent after all of the above."""
    agent.settle()
    if agent.nr_fds() > base_fds + 8:  # copies that are cached
        return f"{base_fds} descriptors became {agent.nr_fds()}"
    grown = agent.rss_kib() - base_kib
    if "EPF_SANITIZED" not in os.environ and grown > 48 * 1024:
        return f"grown by {grown} KiB; copies are 16 MiB at most"
    if agent.process.poll() is not None:
        return "it is gone"
    status = agent.stop()
    if status:
        return f"exit status {status}: {agent.text()[-2000:]}"
    return None


CASES = [
    ("copies of many small files", copies_bounded),
    ("settings beyond their limits", beyond_limits),
    ("rubbish, and sound requests with a wrong byte", rubbish),
    ("messages that are too long", too_long),
    ("members of every wrong type and range", wrong_members),
    ("more and fewer descriptors than announced", descriptors),
    ("descriptors of what is no file, or open for something else", no_files),
    ("files that are no data", other_file_systems),
    ("snapshots and keys that are not sound", bad_contents),
    ("compressed records", compressed),
    ("marks of a client's own making", own_marks),
    ("a long way behind where an audit goes on", far_on),
    ("a column truncated while it is read in pieces",
     lambda: taken_away("vast", "vast")),
    ("a column truncated while it is copied",
     lambda: taken_away("digests", "digests")),
    ("a snapshot truncated while it is copied or asked",
     lambda: taken_away("snap", "sparse")),
    ("records truncated while they are read",
     lambda: taken_away("keys.csv", "keys.csv", "csv")),
    ("outputs truncated while they are written", outputs_taken_away),
    ("300 connections", flood),
    ("a client that never reads", deaf),
    ("clients that hang up at any moment", hangs_up),
    ("its own connection as a file", itself),
    ("users that are not allowed", strangers),
    ("users that are not allowed any more", no_longer_allowed),
    ("descriptors that take for ever to close", slow_to_close),
    ("no descriptor for a connection", without_descriptors),
    ("no descriptor for a request's files", none_for_files),
    ("no thread for what a client sends", without_threads),
    ("memory of readers, shared among users", readers_share),
    ("files of templates: memory that a reader has", readers_bounded),
    ("no descriptor and no memory is left, and it ends well", nothing_kept),
]


def run(made):
    global files, agent, base_fds, base_kib
    files = made
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    a.sparse(files.dir, "sparse", BIG)
    a.sparse(files.dir, "vast", VAST)
    with a.Agent(files.dir, "--memory", "16M", "--step", "65536") as agent:
        with a.Client(agent) as c:  # memory that the first audit allocates once
            c.audit(*files.request("sparse"))
        files.close()
        agent.settle()
        base_fds, base_kib = agent.nr_fds(), agent.rss_kib()
        return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(KEYS, run))
