# SPDX-License-Identifier: GPL-2.0
"""What the programs of this directory share: an agent, clients that speak its
protocol by hand, and a snapshot with keys and their answers (cli/mkaudit.c).
"""

import array
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
BIN = os.environ.get("EPF_AGENT_BIN", os.path.join(BUILD, "selftests/agent"))
AGENT = os.environ.get("EPF_AGENT", os.path.join(BUILD, "user/epfagent"))
EPFCTL = os.environ.get("EPF_CTL", os.path.join(BUILD, "user/epfctl"))
# seconds until a test gives up
PATIENCE = int(os.environ.get("EPF_PATIENCE", 600))
AGES = 255  # in a checkpoint: EPF_AGES_MAX

sys.path.insert(0, os.path.join(ROOT, "selftests/dedup"))
import tap  # noqa: E402


class Agent:
    """A running agent with a socket of its own, until the end of a 'with'."""

    def __init__(self, dir, *args, env=None, name="sock"):
        self.path = os.path.join(dir, name)
        self.log = open(os.path.join(dir, name + ".log"), "w+b")
        self.process = subprocess.Popen(
            [AGENT, "--config", "/dev/null", "--socket", self.path, *args],
            stderr=self.log, env={**os.environ, **(env or {})})
        self.pid = self.process.pid

    def __enter__(self):
        self.wait_log(rb"^epfagent ")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)

    def text(self):
        return os.pread(self.log.fileno(), 1 << 20, 0)

    def wait_log(self, regex, more=lambda: False):
        """Wait until a line of the log matches, or more() is true."""
        poll(lambda: re.search(regex, self.text(), re.M) or more() or
             self.process.poll() is not None)
        if not (re.search(regex, self.text(), re.M) or more()):
            raise AssertionError(f"the agent said {self.text()!r}")

    def reload(self, regex=rb"^settings reloaded"):
        """Have it read its settings again, and wait until it says so."""
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(regex)

    def stop(self, number=signal.SIGTERM):
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def status(self):
        with Client(self) as c:
            return c.ask({"op": "status"})["status"]

    def nr_fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def rss_kib(self):
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])

    def peak_kib(self):
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self):
        """Wait until only this process is connected, and nothing is queued."""
        def settled():
            with Client(self) as c:  # it may be one connection too many
                s = (c.ask({"op": "status"}) or {}).get("status")
            return s and s["clients"] == 1 and s["queue"] == 0
        poll(settled)


def write(path, data):
    with open(path, "wb" if isinstance(data, bytes) else "w") as f:
        f.write(data)


def needs_other_users():
    if os.geteuid():
        raise tap.Skip("needs root to be other users")


def poll(true):
    """Poll until it is true, or for PATIENCE seconds."""
    for _ in range(PATIENCE * 100):
        if true():
            return
        select.select([], [], [], 0.01)
    raise AssertionError("it does not happen")


def is_last(answer):
    """Is this answer the end of an audit, not progress?"""
    return answer is None or "state" not in answer or "error" in answer


class Client:
    def __init__(self, agent):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(agent.path)
        self.socket.settimeout(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, message, fds=()):
        """message: bytes, or an object that becomes JSON. An agent that has hung up may
        have said why."""
        if not isinstance(message, bytes):
            message = json.dumps(message).encode()
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                    array.array("i", fds))] if fds else []
        try:
            self.socket.sendmsg([message], control)
        except BrokenPipeError:
            pass

    def receive(self):
        """Return the next answer; None: the agent hung up."""
        try:
            text = self.socket.recv(1 << 16)
        except ConnectionResetError:
            text = self.socket.recv(1 << 16)
        return json.loads(text) if text else None

    def ask(self, message, fds=()):
        self.send(message, fds)
        return self.receive()

    def end(self):
        """Return the last answer of an audit."""
        while True:
            answer = self.receive()
            if is_last(answer):
                return answer

    def audit(self, message, fds):
        self.send(message, fds)
        return self.end()


class Files:
    """A folder with the output of mkaudit for n keys, and files that are opened by name and
    closed at the end.
"""

    def __init__(self, dir, n, *hash_key):
        self.dir = dir
        self.n = n
        self.open_fds = []
        subprocess.run([os.path.join(BIN, "mkaudit"), dir, str(n), *hash_key],
                       check=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def fd(self, name, flags=os.O_RDONLY):
        fd = os.open(self.path(name), flags, 0o600)
        self.open_fds.append(fd)
        return fd

    def out(self, name):
        return self.fd(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    def close(self):
        while self.open_fds:
            os.close(self.open_fds.pop())

    def request(self, keys="digests", outputs=("bitmap",), **more):
        """A valid audit of the snapshot: request and descriptors. Output X goes to the file
        X.out.
"""
        message = {"op": "audit", "fds": ["keys", "snapshot", *outputs],
                   "records": {"format": "column"}, **more}
        fds = [self.fd(keys), self.fd("snap")]
        fds += [self.out(name + ".out") for name in outputs]
        return message, fds

    def answered(self):
        """Check X.out. Return None, or what is wrong."""
        for name in ("bitmap", "ages"):
            if os.path.exists(self.path(name + ".out")) and \
                    self.read(name + ".out") != self.read(name):
                return f"{name} is not what it should be"
        return None


def ipfix_templates(first, fields, times=1, domain=1):
    """Return messages of 16 templates with so many fields each, one element 16 times."""
    element = [struct.pack(">HH", 1 + i // 16, 4) for i in range(fields)]
    sets = b"".join(struct.pack(">HH", first + i, fields) + b"".join(element)
                    for i in range(16))
    return (struct.pack(">HHIII", 10, 20 + len(sets), 1700000000, 0, domain) +
            struct.pack(">HH", 2, 4 + len(sets)) + sets) * times


def sparse_pcapng(path, blocks, bytes):
    """Return a file with one interface, no packets, and many blocks of an unknown type; it
    is sparse."""
    head = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) + \
        struct.pack("<IIHHII", 1, 20, 1, 0, 1 << 18, 20)
    with open(path, "wb") as f:
        f.write(head)
        for i in range(blocks):
            at = len(head) + i * bytes
            os.pwrite(f.fileno(), struct.pack("<II", 0xBAD, bytes), at)
            os.pwrite(f.fileno(), struct.pack("<I", bytes), at + bytes - 4)


def sparse(dir, name, keys):
    """Return the path of a sparse column of so many digests, all 0."""
    path = os.path.join(dir, name)
    with open(path, "wb") as f:
        f.truncate(keys * 8)
    return path


def folder():
    """Return a temporary folder that other users may search, in a file system whose files
    the agent accepts."""
    there = subprocess.run(["stat", "-f", "-c", "%T", tempfile.gettempdir()],
                           check=True, capture_output=True).stdout
    dir = tempfile.TemporaryDirectory(
        prefix="epfagent-", dir="/dev/shm" if b"overlay" in there else None)
    os.chmod(dir.name, 0o755)
    return dir


def become(uid, gids):
    os.setgroups(gids)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def as_user(agent, uid):
    """A client whose connection belongs to another user."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    if os.fork() == 0:
        try:
            become(uid, [])
            c = Client(agent)
            socket.send_fds(theirs, [b"x"], [c.socket.fileno()])
        finally:
            os._exit(0)
    fds = socket.recv_fds(ours, 1, 1)[1]
    os.wait()
    c = Client.__new__(Client)
    c.socket = socket.socket(fileno=fds[0])
    c.socket.settimeout(PATIENCE)
    return c


def chosen(cases):
    """Run all cases; with arguments, only those of these names."""
    unknown = set(sys.argv[1:]) - {c[0] for c in cases}
    if unknown:
        sys.exit(f"no case of this name: {', '.join(sorted(unknown))}")
    return [c for c in cases if not sys.argv[1:] or c[0] in sys.argv[1:]]


def main(keys, run):
    """Call run(Files) in a folder of its own. Return an exit status."""
    if not os.access(AGENT, os.X_OK):
        tap.skip_all("epfagent is not built")
    with folder() as dir:
        return run(Files(dir, keys))
